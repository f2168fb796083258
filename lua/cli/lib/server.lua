--- server.lua -- the description of a server, so that all commands that examine or ask a server use the same one.
--
-- csrc/modules/describe.h lists the members of a description.
local cli = require "cli.lib.cli"
local config = require "config"

local server = {}

--- The description of the server of a config, or the end of the command after a message.  `path` may be nil, and
-- `flags` is a list of { "--http", "http.listen", text }.
function server.of_config(path, flags)
  local described, code = config.describe(path, flags or {})
  if described == false then cli.exit(code) end
  return described
end

--- The address that this machine can ask over HTTP: one without TLS if there is one, and one of the admin routes only
-- if HTTP is off.  nil: there is none.
function server.http(described)
  local best
  for _, row in ipairs(described.addresses) do
    local is_better = not best or (best.is_tls and not row.is_tls and row.protocol == best.protocol)
    if row.protocol ~= "resp" and is_better then best = row end
  end
  return best
end

return server
