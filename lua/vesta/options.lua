--- vesta.options -- checks of options that vesta.open, vesta.client and vesta.segment share.
-- Each check returns the value for vesta.core, or nil and the expected form.
local nearest = require "vesta.nearest"

local options = {}

local WAIT_MS_LIMIT = 24 * 3600 * 1000
local EXACT_MAX = 2 ^ 53

function options.text(value)
  if type(value) ~= "string" then return nil, "a string" end
  if value:find("\0", 1, true) then return nil, "a string without a NUL byte" end
  return value
end

function options.flag(value)
  if type(value) ~= "boolean" then return nil, "true or false" end
  return value
end

function options.is_whole(value, max)
  return type(value) == "number" and value >= 0 and value <= max and value % 1 == 0
end

function options.whole(value)
  if not options.is_whole(value, EXACT_MAX) then return nil, "a whole number of 0 or more" end
  return value
end

function options.wait(value)
  if type(value) ~= "number" or not (value >= 0 and value <= WAIT_MS_LIMIT) then
    return nil, "milliseconds from 0 to a day"
  end
  return value
end

function options.whole_ms(value)
  if not options.is_whole(value, WAIT_MS_LIMIT) then return nil, "whole milliseconds from 0 to a day" end
  return value
end

-- Checks for one of the words of the option's row, such as "clock|history".  A number counts as its digits: 2 is "2".
function options.word(value, row)
  if options.is_whole(value, EXACT_MAX) then value = ("%.0f"):format(value) end
  if type(value) == "string" and not value:find("|", 1, true)
    and ("|" .. row.values .. "|"):find("|" .. value .. "|", 1, true) then return value end
  return nil, 'one of "' .. row.values:gsub("|", '", "') .. '"'
end

--- Formats a value for a message.
function options.shown(value)
  return type(value) == "number" and ("%.17g"):format(value)
    or type(value) == "string" and ('"%s"'):format(value:sub(1, 32):gsub("%c", "?"))
    or type(value)
end

local function unknown(key, rows)
  if type(key) ~= "string" then return ("options must have names as keys, not %s"):format(type(key)) end
  return "unknown option " .. nearest(key, rows)
end

--- Checks the options of a function by their rows, { name = { check =, kind = }, ... }, and returns the checked values.
-- Raises at `level` (default: 3, the caller of the function).
function options.check(call, given, rows, level)
  level = level or 3
  if type(given) ~= "table" then
    error(("%s: a table of options is expected, not %s"):format(call, type(given)), level)
  end
  local checked = {}
  for key, value in pairs(given) do
    local row = rows[key]
    if not row then error(("%s: %s"):format(call, unknown(key, rows)), level) end
    local good, expected = row.check(value, row)
    if good == nil then
      local found = row.kind == "secret" and type(value) or options.shown(value)
      error(("%s: option %s must be %s, not %s"):format(call, key, expected, found), level)
    end
    checked[key] = good
  end
  return checked
end

return options
