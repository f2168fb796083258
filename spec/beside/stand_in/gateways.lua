-- Replaces the two gateways: checks a plugin's configuration, and calls the plugin in nginx's phases with a context
-- that lasts for the request.  Nginx, its cosockets, vesta's client and the servers are real.
local fields = require "fields"
local gateways = { apisix = {}, kong = {} }

local CONF = loadstring("return " .. (os.getenv "PLUGIN_CONF" or "{}"))

---------------------------------------------------------------- APISIX

local apisix = require "apisix.plugins.vesta-id"
local apisix_conf = CONF()
assert(apisix.check_schema(apisix_conf))
assert(type(apisix.name) == "string" and type(apisix.version) == "number" and type(apisix.priority) == "number")

function gateways.apisix.rewrite() apisix.rewrite(apisix_conf, ngx.ctx) end

function gateways.apisix.header_filter() apisix.header_filter(apisix_conf, ngx.ctx) end

---------------------------------------------------------------- Kong

kong = { -- luacheck: ignore 111 (Kong has one global)
  request = {
    get_header = function(name)
      local value = ngx.req.get_headers()[name]
      return type(value) == "table" and value[1] or value
    end,
  },
  service = { request = { set_header = ngx.req.set_header, clear_header = ngx.req.clear_header } },
  response = { set_header = function(name, value) ngx.header[name] = value end },
  log = { err = function(...) ngx.log(ngx.ERR, ...) end },
  ctx = { plugin = setmetatable({}, { -- for this request and plugin
    __index = function(_, key) return ngx.ctx[key] end,
    __newindex = function(_, key, value) ngx.ctx[key] = value end,
  }) },
}

local schema = require "kong.plugins.vesta-id.schema"
local handler = require "kong.plugins.vesta-id.handler"
local record = schema.fields[2].config
local kong_conf = CONF()
assert(fields.check_record(record, kong_conf))
assert(type(handler.PRIORITY) == "number" and handler.VERSION:find "^%d+%.%d+%.%d+$")

function gateways.kong.access() handler:access(kong_conf) end

function gateways.kong.header_filter() handler:header_filter(kong_conf) end

---------------------------------------------------------------- both

function gateways.checked(which, conf)
  local config = assert(loadstring("return " .. conf))()
  local ok, message
  if which == "kong" then
    ok, message = fields.check_record(record, config)
  else
    ok, message = apisix.check_schema(config)
  end
  return ok and "accepted" or message
end

return gateways
