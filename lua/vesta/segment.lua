--- vesta.segment -- opens counters, which issue numbers from a database.  This file checks the options.
local options = require "vesta.options"

local WAIT_MS_MAX = 2000 -- the default wait for a range from the database in plain Lua
local STEP_MAX = 2 ^ 32
local STORES_MAX = 8

-- Each check returns the value for vesta.core, or nil and the expected form.

local function texts(value)
  local list = type(value) == "string" and { value } or value
  local expected = ("a string, or a list of 1 to %d strings"):format(STORES_MAX)
  if type(list) ~= "table" or #list < 1 or #list > STORES_MAX then return nil, expected end
  local copy = {}
  for key, one in pairs(list) do
    if type(key) ~= "number" or not list[key] or key > #list or not options.text(one) then return nil, expected end
    copy[key] = one
  end
  return copy
end

local function step(value)
  if not options.is_whole(value, STEP_MAX) or value == 0 then return nil, "a whole number from 1 to 4294967296" end
  return value
end

local function order(value)
  if value ~= "trend" and value ~= "strict" then return nil, '"trend" or "strict"' end
  return value
end

local OPTIONS = {
  store = { check = texts }, secret = { check = texts, kind = "secret" }, tag = { check = options.text },
  table = { check = options.text }, group = { check = options.text }, order = { check = order },
  step = { check = step }, step_max = { check = step }, wait_ms_max = { check = options.wait },
}

-- Raises at the caller of vesta.segment.
local function check(given)
  local checked = options.check("vesta.segment", given, OPTIONS, 4)
  for _, key in ipairs { "store", "tag" } do
    if not checked[key] then error(("vesta.segment: option %s is required"):format(key), 3) end
  end
  checked.stores, checked.secrets = checked.store, checked.secret
  return checked
end

-- `resty` is the module vesta.resty inside nginx, and otherwise nil.
return function(core, resty)
  return function(given)
    local checked = check(given)
    if resty then return resty.open_segment(core, checked) end
    checked.wait_ms_max = checked.wait_ms_max or WAIT_MS_MAX
    return core.segment(checked)
  end
end
