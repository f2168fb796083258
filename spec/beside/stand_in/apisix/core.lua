-- Replaces apisix.core: the functions that the plugin calls, with the behavior of APISIX's own files.
return {
  schema = { check = require "fields".check },
  request = {
    header = function(_, name)
      local value = ngx.req.get_headers()[name]
      return type(value) == "table" and value[1] or value
    end,
    set_header = function(_, name, value) ngx.req.set_header(name, value) end,
  },
  response = { set_header = function(name, value) ngx.header[name] = value end },
  log = { error = function(...) ngx.log(ngx.ERR, ...) end },
}
