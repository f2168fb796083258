--- checks.lua -- checks texts of keys.  Each function returns nil, or the part of an error message after the key:
-- "is 'x', which must be ...".  C checks layouts, stores and time zones (config.ask).
local ask = require "config.ask"

local checks = {}

local STORE_NAME_MAX = 63
local HOST_BYTES_MAX = 253 -- maximum bytes of a DNS name, so that an origin fits in a response head

local good_layouts = {} -- caches checked layouts, because thousands of namespaces may have the same layout

function checks.layout(text)
  if good_layouts[text] then return nil end
  local why = ask.layout(text)
  good_layouts[text] = not why
  return why and "is a " .. why
end

--- Rejects relative paths, which would depend on the working directory of the service.
function checks.path(text)
  if text:find "^/" and not text:find "/$" then return nil end
  return ("is '%s', which must be the path of a file that begins with /"):format(ask.quote(text))
end

--- Accepts the file of a mask's key, with its version.
function checks.key_file(text)
  local version, path = text:match "^(%d):(.*)$"
  if version ~= "0" and (path or text):find "^/[^%c]*[^/]$" then return nil end
  return ("has '%s', which must be the path of a file that begins with /, or \"VERSION:FILE\" with a version from 1 to "
    .. "9"):format(ask.quote(text))
end

function checks.address(text)
  if not text:find "^unix:" or text:find "^unix:/" then return nil end
  return ("has '%s': after unix: the path must begin with /"):format(ask.quote(text))
end

--- Accepts a URI of a store of this build, or of a store with a missing module, which stores.lua reports.
function checks.uri(text)
  local store = ask.store(text)
  if store and store.is_formed or not store and ask.is_known(text) then return nil end
  local scheme = text:match "^[^:]*"
  local rest = text:sub(#scheme + 1)
  local is_path = store and store.is_local or rest:find "^:/[^/]" and not rest:find("[:@]", 2) or rest == ":/"
  local shown = is_path and text or text:sub(1, #scheme + (rest ~= "" and 1 or 0)) -- hides a possible password
  local schemes = {}
  for known in ask.store_forms:gmatch "(%l+):" do schemes[#schemes + 1] = known end
  local near = rest ~= "" and not store and ask.nearest(scheme, schemes)
  return ("is '%s', which must be %s%s"):format(ask.quote(shown), ask.store_forms,
    near and (". Did you mean %s:?"):format(near) or "")
end

function checks.mode(text)
  if text:find "^0?[0-7][0-7][0-7]$" then return nil end
  return ("is '%s', which must be three octal digits, such as \"0660\""):format(ask.quote(text))
end

function checks.word(text)
  if text:find "^[%w_-]*$" then return nil end
  return ("is '%s', which must consist of A-Z a-z 0-9 _ -"):format(ask.quote(text))
end

function checks.store_name(text)
  if #text <= STORE_NAME_MAX and text:find "^[%w_-]+$" then return nil end
  return ("'%s' is not a store's name: use 1 to %d of A-Z a-z 0-9 _ -"):format(ask.quote(text), STORE_NAME_MAX)
end

function checks.host(text)
  if text == "*" or #text <= HOST_BYTES_MAX and text:find "^[%w_.-]*[%w_-]$" then return nil end
  return ("has '%s', which must be a name without a port, such as ids.example.com, or \"*\""):format(ask.quote(text))
end

function checks.proxy(text) return ask.proxy(text) end

--- Requires an origin in the form that browsers send, because origins are compared as texts.
function checks.origin(text)
  if #text <= HOST_BYTES_MAX and text:find "^[a-z-]+://[a-z0-9_.:%[%]-]+$" then return nil end
  return ("has '%s', which must be an origin as browsers write it, such as https://shop.example.com: lower case, with "
    .. "a port only if it is not the scheme's, and without a path"):format(ask.quote(text))
end

function checks.namespace(text) return ask.namespace(text) end

function checks.tag(text)
  if text == "*" or not ask.namespace(text) then return nil end
  return ("has '%s', which is not a tag: use \"*\" for all, or 1 to 64 of A-Z a-z 0-9 _ . : -%s"):format(
    ask.quote(text), text:find("[, ]") and ': write several tags as { "a", "b" }' or "")
end

function checks.form(text)
  local why = ask.form(text)
  return why and "is a " .. why
end

function checks.zone(text)
  local why = ask.zone(text)
  return why and "cannot be used: " .. why
end

return checks
