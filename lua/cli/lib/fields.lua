--- fields.lua -- reads fields from ids, and from the operands of a command.
local cli = require "cli.lib.cli"
local core = require "vesta.core"
local facts = require "facts"
local term = require "term"

local fields = {}

--- Returns the value of a field (a row of facts.layout) in an id.
function fields.get(field, id)
  local low_width = field.low_width or 0
  local low = id >> (field.low_shift or 0) & (1 << low_width) - 1
  return (id >> field.shift & field.max >> low_width) << low_width | low
end

--- Returns the Unix milliseconds at which a time unit of a layout begins.
function fields.time_ms(layout, time)
  return layout.epoch_ms + time // 1000 * layout.unit_us + time % 1000 * layout.unit_us // 1000
end

-- Returns the time unit that contains the time of an RFC 3339 text.
local function time_of(layout, text)
  local unix_ms = cli.check(term.time(text))
  if unix_ms < layout.epoch_ms then
    cli.usage("time %s is before the layout's epoch, %s", term.shown(text), term.iso(layout.epoch_ms))
  end
  local since_ms, unit_us = unix_ms - layout.epoch_ms, layout.unit_us
  return since_ms // unit_us * 1000 + since_ms % unit_us * 1000 // unit_us
end

-- Returns a decimal text's unsigned 64-bit value as a Lua integer, which is negative from 2^63 on; nil if the text is
-- no such number.
local function bits_of(text)
  local digits = core.parse(text)
  if not digits then return nil end
  local bits = 0
  for digit in digits:gmatch "%d" do bits = bits * 10 + tonumber(digit) end
  return bits
end

local function value_of(layout, name, text)
  local is_time = name == "time"
  if is_time and text:find "^%d%d%d%d%-%d%d%-%d%d$" then text = text .. "T00:00:00Z" end
  if is_time and text:find("T", 1, true) then return time_of(layout, text) end
  local value = bits_of(text)
  if not value then
    cli.usage("%s is %s, which must be a whole number%s", term.shown(name), term.shown(text),
      is_time and " or a time like 2026-01-01T00:00:00Z" or "")
  end
  return value
end

--- Reads the name=value operands from index `first` on.  Returns a list of { name, value }, for ids.make and ids.range.
function fields.read(layout, operands, first)
  local values, count = {}, #operands - first + 1
  if count > 2 * facts.FIELDS_MAX then cli.usage("%d values: no layout has so many fields", count) end
  for i = first, #operands do
    local name, text = operands[i]:match "^([^=]+)=(.*)$"
    if not name then cli.usage("%s is not of the form field=value", term.shown(operands[i])) end
    values[#values + 1] = { name, value_of(layout, name, text) }
  end
  return values
end

return fields
