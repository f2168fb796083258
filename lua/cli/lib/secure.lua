--- secure.lua -- TLS to a server, for the commands that ask one: their options, and what they mean together.
local cli = require "cli.lib.cli"
local term = require "term"

local secure = {}

-- redis-cli has the same names.
secure.OPTIONS = {
  { name = "tls", kind = "switch", help = "connect by TLS, as an address that begins with tls: does" },
  { name = "cacert", value = "FILE", help = "the certificates that may sign the server's (default: the system's)" },
  { name = "cert", value = "FILE", help = "the certificate to show, if the server asks for one" },
  { name = "key", value = "FILE", help = "its key (default: in the same file)" },
  { name = "insecure", kind = "switch", help = "do not verify the server's certificate" },
}

local NEEDS_TLS = { "cacert", "cert", "key", "insecure" }

--- What wire.ask and redis.open take as `tls`, for an address.  Ends the command if the options contradict each other.
function secure.of_options(options, address)
  local is_tls = options.tls or address:find "^tls:" ~= nil
  for _, name in ipairs(NEEDS_TLS) do
    if options[name] and not is_tls then cli.usage("--%s needs TLS: add --tls", name) end
  end
  if is_tls and address:find "^unix:" then
    cli.usage("%s is a socket of this machine, and has no TLS: leave out --tls", term.shown(address))
  end
  if options.key and not options.cert then cli.usage "--key needs --cert, the certificate that it is the key of" end
  if options.insecure and options.cacert then
    cli.usage "--insecure and --cacert contradict each other: leave out one"
  end
  return { tls = is_tls, cacert = options.cacert, cert = options.cert, key = options.key, insecure = options.insecure }
end

--- The same for a server that a config describes: it must show the certificate of that config.
function secure.of_config(options, described)
  if options.cacert or options.insecure then return secure.of_options(options, "tls:") end
  local own = described.tls and described.tls.certificate
  return { tls = true, cert = options.cert, key = options.key, pinned = own }
end

--- What a person can do about a certificate that was not trusted; nil: the trouble is another.
function secure.remedy(trouble, tls)
  if not trouble:find("certificate is refused", 1, true) then return nil end
  if tls and tls.pinned then return "the config names another certificate than the server has" end
  return "name the CA that signed it with --cacert FILE"
end

function secure.explained(trouble, tls)
  local remedy = secure.remedy(trouble, tls)
  return remedy and trouble .. "; " .. remedy or trouble
end

return secure
