--- The configuration of the plugin vesta-id.
local typedefs = require "kong.db.schema.typedefs"
local resty_client = require "vesta.resty.client"

local function check(config) -- validates the addresses, and sends nothing
  local ok, message = pcall(resty_client.new, { servers = config.servers, name = config.name, user = config.user,
    secret_file = config.secret_file, password = config.password })
  if not ok then return nil, message end
  return true
end

return {
  name = "vesta-id",
  fields = {
    { protocols = typedefs.protocols_http },
    { config = {
      type = "record",
      custom_validator = check,
      fields = {
        { servers = { type = "array", required = true, len_min = 1, len_max = 16, elements = { type = "string" } } },
        { name = { type = "string", required = true, default = "default" } },
        { header_name = { type = "string", required = true, default = "X-Request-Id" } },
        { echo_downstream = { type = "boolean", required = true, default = true } },
        { wait = { type = "integer", required = true, between = { 0, 10000 }, default = 100 } }, -- milliseconds
        { user = { type = "string", required = false } },
        { secret_file = { type = "string", required = false } },
        { password = { type = "string", required = false, encrypted = true, referenceable = true } },
      },
    } },
  },
}
