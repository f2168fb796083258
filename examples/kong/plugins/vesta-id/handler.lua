--- vesta-id -- a plugin for Kong that adds an id of vesta servers to each request and its response.
-- A request that already has a valid id keeps it.  If no id is available, the request continues without one.
local resty_client = require "vesta.resty.client"
local is_request_id = require "vesta.resty".is_request_id

local handler = { PRIORITY = 100001, VERSION = "0.2.0" } -- runs before correlation-id and loggers

local clients = {} -- of this nginx worker, by configuration: routes with the same servers share a client

local function client_of(conf)
  local key = table.concat({ conf.name, conf.wait, conf.user or "", conf.secret_file or "", conf.password or "",
    table.concat(conf.servers, " ") }, "\n")
  clients[key] = clients[key]
    or resty_client.new { servers = conf.servers, name = conf.name, wait = conf.wait, user = conf.user,
      secret_file = conf.secret_file, password = conf.password }
  return clients[key]
end

function handler:access(conf)
  local id = kong.request.get_header(conf.header_name)
  if not is_request_id(id) then
    local message
    id, message = client_of(conf):next()
    if not id then
      kong.log.err("vesta-id: ", message)
      kong.service.request.clear_header(conf.header_name) -- removes an invalid id
      return
    end
    kong.service.request.set_header(conf.header_name, id)
  end
  kong.ctx.plugin.id = id
end

function handler:header_filter(conf)
  if conf.echo_downstream and kong.ctx.plugin.id then kong.response.set_header(conf.header_name, kong.ctx.plugin.id) end
end

return handler
