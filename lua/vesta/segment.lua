--- vesta.segment -- counters whose numbers come from a database: the options of vesta.segment, checked.
local nearest = require "vesta.nearest"

local WAIT_MS_MAX = 2000 -- how long plain Lua waits for a range unless told otherwise: a database is asked
local WAIT_MS_LIMIT = 24 * 3600 * 1000
local STEP_MAX = 2 ^ 32
local STORES_MAX = 8

-- Each check gives the value as vesta.core wants it, or nil and what was expected.

local function text(value)
  if type(value) ~= "string" or value:find("\0", 1, true) then return nil, "a string without a NUL byte" end
  return value
end

local function texts(value)
  local list = type(value) == "string" and { value } or value
  local expected = ("a string, or a list of 1 to %d strings"):format(STORES_MAX)
  if type(list) ~= "table" or #list < 1 or #list > STORES_MAX then return nil, expected end
  local copy = {}
  for key, one in pairs(list) do
    if type(key) ~= "number" or not list[key] or key > #list or not text(one) then return nil, expected end
    copy[key] = one
  end
  return copy
end

local function step(value)
  if type(value) ~= "number" or not (value >= 1 and value <= STEP_MAX) or value % 1 ~= 0 then
    return nil, "a whole number from 1 to 4294967296"
  end
  return value
end

local function order(value)
  if value ~= "trend" and value ~= "strict" then return nil, '"trend" or "strict"' end
  return value
end

local function wait(value)
  if type(value) ~= "number" or not (value >= 0 and value <= WAIT_MS_LIMIT) then
    return nil, "milliseconds from 0 to a day"
  end
  return value
end

local OPTIONS = {
  store = texts, secret = texts, tag = text, table = text, group = text, order = order, step = step, step_max = step,
  wait_ms_max = wait,
}

local function shown(key, value)
  if key == "secret" then return type(value) end
  return type(value) == "number" and ("%.17g"):format(value)
    or type(value) == "string" and ('"%s"'):format(value:sub(1, 32):gsub("%c", "?"))
    or type(value)
end

-- Level 4: the caller of vesta.segment.
local function check(options)
  if type(options) ~= "table" then
    error(("vesta.segment: a table of options is expected, not %s"):format(type(options)), 4)
  end
  local checked = {}
  for key, value in pairs(options) do
    local good, expected
    if type(key) ~= "string" then
      error(("vesta.segment: options must have names as keys, not %s"):format(type(key)), 4)
    end
    if not OPTIONS[key] then error("vesta.segment: unknown option " .. nearest(key, OPTIONS), 4) end
    good, expected = OPTIONS[key](value)
    if good == nil then
      error(("vesta.segment: option %s must be %s, not %s"):format(key, expected, shown(key, value)), 4)
    end
    checked[key] = good
  end
  for _, key in ipairs { "store", "tag" } do
    if not checked[key] then error(("vesta.segment: option %s is needed"):format(key), 4) end
  end
  checked.stores, checked.secrets = checked.store, checked.secret
  return checked
end

--- Opens a counter.  Called by vesta itself; `resty` is vesta.resty inside nginx.
return function(core, resty, options)
  local checked = check(options)
  if resty then return resty.open_segment(core, checked) end
  checked.wait_ms_max = checked.wait_ms_max or WAIT_MS_MAX
  return core.segment(checked)
end
