--- admin.lua -- finds the admin listener of a server from the options of a command.
local cli = require "cli.lib.cli"
local config = require "config"
local secure = require "cli.lib.secure"
local term = require "term"

local admin = {}

admin.OPTIONS = {
  { name = "config", letter = "c", value = "FILE",
    help = "the server's config, which contains the address and the token" },
  { name = "admin", value = "ADDR", help = "the server's admin listener: HOST:PORT, tls:HOST:PORT or unix:PATH" },
  { name = "token-file", value = "FILE",
    help = "a file with the token on its only line (default: $VESTA_ADMIN_TOKEN, or none)" },
}

admin.EFFECTIVE = { name = "effective", kind = "switch", help = "only print the effective values and their sources" }

--- Returns { address, token, tls } of the server's admin listener, from the same flags, variables and config as the
-- server's.  Returns nil and an exit code after --effective or after an error message.
function admin.find(options, operands)
  if operands[1] then
    cli.usage("unexpected operand %s: name the server with --admin or -c", term.shown(operands[1]))
  end
  local token, code
  if options["token-file"] then
    token, code = term.secret("--token-file", options["token-file"])
    if not token then return nil, code end
  end
  local path, variable = options.config, os.getenv "VESTA_CONFIG"
  if not path and not options.admin and variable ~= "" then path = variable end
  local flags = {}
  -- tls: is removed, because config.admin reads the address as a server does, which needs a certificate for tls:.
  local plain = options.admin and options.admin:gsub("^tls:", "")
  if plain then table.insert(flags, { "--admin", "admin.listen", plain }) end
  if token then table.insert(flags, { "--token-file", "admin.token", token }) end
  if options.effective then
    return nil, config.show_some(path, flags, options.config and "--config" or "VESTA_CONFIG", options.json,
      "admin.listen admin.token ")
  end
  local address, secret, certificate = config.admin(path, flags)
  if address == false then return nil, secret end
  if not address then
    cli.usage "no admin listener is named: --admin ADDR, VESTA_ADMIN, or -c FILE with admin.listen"
  end
  address = options.admin or address
  local is_described = not options.admin and address:find "^tls:" -- the address is from the config or a variable
  local tls = is_described and secure.of_config(options, { tls = { certificate = certificate } })
    or secure.of_options(options, address)
  return { address = address, token = secret, tls = tls }
end

--- Ends the command with a message that begins with the server's address.
function admin.fail(server, trouble)
  local address = server.address
  local is_named = trouble:sub(1, #address + 1) == address .. ":"
  cli.fail("%s", term.clean(is_named and trouble or address .. ": " .. trouble))
end

return admin
