--- secure.lua -- TLS options of the commands that connect to a server.
local cli = require "cli.lib.cli"
local term = require "term"

local secure = {}

-- redis-cli uses the same names.
secure.OPTIONS = {
  { name = "tls", kind = "switch", help = "connect with TLS, like an address that begins with tls:" },
  { name = "cacert", value = "FILE", help = "the CA certificates to trust (default: the system's)" },
  { name = "cert", value = "FILE", help = "the client certificate, if the server requests one" },
  { name = "key", value = "FILE", help = "the private key of --cert (default: in the file of --cert)" },
  { name = "insecure", kind = "switch", help = "do not verify the server's certificate" },
}

local NEEDS_TLS = { "cacert", "cert", "key", "insecure" }

--- Returns the parameter `tls` of wire.ask and redis.open for an address.  Ends the command if the options contradict
-- each other.
function secure.of_options(options, address)
  local is_tls = options.tls or address:find "^tls:" ~= nil
  for _, name in ipairs(NEEDS_TLS) do
    if options[name] and not is_tls then cli.usage("--%s needs TLS: add --tls", name) end
  end
  if is_tls and address:find "^unix:" then
    cli.usage("%s is a Unix socket, which has no TLS: leave out --tls", term.shown(address))
  end
  if options.key and not options.cert then cli.usage "--key needs --cert, the certificate that the key belongs to" end
  if options.insecure and options.cacert then
    cli.usage "--insecure and --cacert contradict each other: leave out one"
  end
  return { tls = is_tls, cacert = options.cacert, cert = options.cert, key = options.key, insecure = options.insecure }
end

--- Returns the parameter `tls` for a server that a config describes.  The server must present that config's
-- certificate.
function secure.of_config(options, described)
  if options.cacert or options.insecure then return secure.of_options(options, "tls:") end
  local own = described.tls and described.tls.certificate
  return { tls = true, cert = options.cert, key = options.key, pinned = own }
end

--- Returns what to do about an untrusted certificate, or nil for any other error.
function secure.remedy(trouble, tls)
  if not trouble:find("certificate is rejected", 1, true) then return nil end
  if tls and tls.pinned then return "the server's certificate is not the one in the config" end
  return "name the CA that signed it with --cacert FILE"
end

--- Returns the error message, with the remedy if there is one.
function secure.explained(trouble, tls)
  local remedy = secure.remedy(trouble, tls)
  return remedy and trouble .. ": " .. remedy or trouble
end

return secure
