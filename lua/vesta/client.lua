--- vesta.client -- gets ids from vesta servers.  This file only checks the options.  csrc/rock/client.c and its thread
-- fetch and issue the ids.
local options = require "vesta.options"

local WAIT_MS_MAX = 5000 -- long enough to try the next server if one does not reply

local function servers(value)
  if type(value) == "string" then return value end
  if type(value) ~= "table" or #value == 0 then return nil, 'a list like { "ids1:8089", "unix:/run/ids.sock" }' end
  for key, address in pairs(value) do
    if type(key) ~= "number" or type(address) ~= "string" or address:find "[,%z]" then
      return nil, "a list of addresses, each a string without a comma"
    end
  end
  return table.concat(value, ",")
end

local function generator(value)
  if type(value) ~= "userdata" then return nil, "a generator that vesta.open returned" end
  return value
end

local function size(value)
  if not options.is_whole(value, 100000) or value == 0 then return nil, "a whole number of ids from 1 to 100000" end
  return value
end

local function limit_ms(most, what)
  return function(value)
    if not options.is_whole(value, most) or value == 0 then return nil, "whole milliseconds from 1 to " .. what end
    return value
  end
end

local OPTIONS = {
  servers = { check = servers }, name = { check = options.text }, password = { check = options.text, kind = "secret" },
  user = { check = options.text }, secret_file = { check = options.text }, tls_ca = { check = options.text },
  tls_certificate = { check = options.text }, tls_key = { check = options.text },
  tls_unverified = { check = options.flag },
  fallback = { check = generator }, block_min = { check = size }, block_max = { check = size },
  ttl_ms = { check = limit_ms(24 * 3600 * 1000, "a day") }, timeout_ms = { check = limit_ms(60000, "a minute") },
  wait_ms_max = { check = options.wait },
}

return function(core, in_nginx)
  return function(given)
    local checked = options.check("vesta.client", given, OPTIONS)
    checked.wait_ms_max = checked.wait_ms_max or (in_nginx and 0 or WAIT_MS_MAX)
    return core.client(checked)
  end
end
