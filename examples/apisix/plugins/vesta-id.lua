--- vesta-id -- a plugin for Apache APISIX that adds an id of vesta servers to each request and its response.
-- A request that already has a valid id keeps it.  If no id is available, the request continues without one.
local core = require "apisix.core"
local resty_client = require "vesta.resty.client"
local is_request_id = require "vesta.resty".is_request_id

local schema = {
  type = "object",
  properties = {
    servers = { type = "array", minItems = 1, maxItems = 16, items = { type = "string" } },
    name = { type = "string", pattern = "^[A-Za-z0-9_.:-]{1,64}$", default = "default" },
    header_name = { type = "string", minLength = 1, default = "X-Request-Id" },
    include_in_response = { type = "boolean", default = true },
    wait = { type = "integer", minimum = 0, maximum = 10000, default = 100 }, -- milliseconds; other requests continue
    user = { type = "string", minLength = 1 },
    secret_file = { type = "string", minLength = 1 },
    password = { type = "string", minLength = 1 },
  },
  required = { "servers" },
  encrypt_fields = { "password" },
}

local plugin = { version = 0.1, priority = 12016, name = "vesta-id", schema = schema } -- before request-id

local clients = {} -- of this nginx worker, by configuration: routes with the same servers share a client

local function client_options(conf)
  return { servers = conf.servers, name = conf.name, wait = conf.wait, user = conf.user,
    secret_file = conf.secret_file, password = conf.password }
end

local function client_of(conf)
  local key = table.concat({ conf.name, conf.wait, conf.user or "", conf.secret_file or "", conf.password or "",
    table.concat(conf.servers, " ") }, "\n")
  clients[key] = clients[key] or resty_client.new(client_options(conf))
  return clients[key]
end

function plugin.check_schema(conf)
  local ok, message = core.schema.check(schema, conf)
  if not ok then return false, message end
  ok, message = pcall(resty_client.new, client_options(conf)) -- validates the addresses, and sends nothing
  if not ok then return false, message end
  return true
end

function plugin.rewrite(conf, ctx)
  local id = core.request.header(ctx, conf.header_name)
  if not is_request_id(id) then
    local message
    id, message = client_of(conf):next()
    if not id then
      core.log.error("vesta-id: ", message)
      core.request.set_header(ctx, conf.header_name, nil) -- removes an invalid id
      return
    end
    core.request.set_header(ctx, conf.header_name, id)
  end
  ctx.vesta_id = id
end

function plugin.header_filter(conf, ctx)
  if conf.include_in_response and ctx.vesta_id then core.response.set_header(conf.header_name, ctx.vesta_id) end
end

return plugin
