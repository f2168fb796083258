--- cli.lua -- functions for all commands: ending with an exit code, reading operands, printing text and JSON.
--
--   cli.usage(format, ...)    prints a message and ends the command with exit code 2: the command line is wrong
--   cli.fail(format, ...)     prints a message and ends the command with exit code 1
--   cli.check(value, text, code)   returns value; if it is nil, reports the library's error and ends the command
--   cli.go(value, ...)        returns its arguments; if value is nil, the second is an exit code that ends the command
--   cli.exit(code)            ends the command with this exit code, without a message
--   cli.printf(format, ...)   prints to stdout
--   cli.json(value)           prints one line of JSON
local core = require "vesta.core"
local term = require "term"

local cli = {}

function cli.exit(code) error({ exit_code = code }, 0) end -- csrc/modules/host.c catches it

local exit = cli.exit

function cli.usage(format, ...)
  exit(term.usage(format:format(...)))
end

--- Ends a command because `word` is none of its subcommands.
function cli.no_word(word, words)
  local near = term.nearest(word, words)
  if near then cli.usage("there is no subcommand %s, did you mean %s?", term.shown(word), near) end
  cli.usage("there is no subcommand %s: use %s%s", term.shown(word), #words > 1 and "one of " or "",
    table.concat(words, ", "))
end

--- Ends a command that takes no operands, if the command line has one.
function cli.no_operands(operands)
  if operands[1] then
    cli.usage("unexpected operand %s: this command takes only options", term.shown(operands[1]))
  end
end

function cli.fail(format, ...)
  term.say(format:format(...))
  exit(1)
end

function cli.check(value, text, code)
  if value == nil then exit(term.report(text, code)) end
  return value
end

--- Returns the values of a function.  If they are nil and an exit code, the function has printed a message, and the
-- command ends with this code.
function cli.go(value, ...)
  if value == nil then exit(...) end
  return value, ...
end

local RATE_MAX = 1e15 -- more than any layout can issue, but finite
local YEARS_MAX = 1e6
local PER_SECOND = { [""] = 1, ["/s"] = 1, ["/ms"] = 1000, ["/min"] = 1 / 60, ["/h"] = 1 / 3600, ["/day"] = 1 / 86400 }
local THOUSANDS = { [""] = 1, k = 1e3, M = 1e6 }

-- Returns the number at the start of a text, and the rest of the text.
local function number_at(text)
  local digits, exponent, rest = text:match "^(%d+%.?%d*)([eE]?[+-]?%d*)(.*)$"
  if not digits then return nil end
  local number = tonumber(digits .. exponent)
  if number then return number, rest end
  return tonumber(digits), exponent .. rest
end

--- Returns ids per second from "50k/s".  `flag`: the option that messages name.
function cli.rate(flag, text)
  local rate, rest = number_at(text)
  local thousands, unit = (rest or ""):match "^([kM]?)(.*)$"
  local factor = rate and rate > 0 and rate <= RATE_MAX and PER_SECOND[unit]
  if not factor then
    cli.usage("%s is %s, which must be ids per time, such as 50000/s, 50k/s or 200/ms", flag, term.shown(text))
  end
  return rate * THOUSANDS[thousands] * factor + 0.0
end

--- Returns a number of years above 0, from the value of option `flag`.
function cli.years(flag, text)
  local years, rest = number_at(text)
  if not years or rest ~= "" or years <= 0 or years > YEARS_MAX then
    cli.usage("%s is %s, which must be a number above 0, such as 30", flag, term.shown(text))
  end
  return years + 0.0
end

--- Formats a remaining time: "11:59", "23:10:05" or "120 days".
function cli.left(ms)
  local s = math.max(ms // 1000, 0)
  if s >= 100 * 86400 then return ("%d days"):format(s // 86400) end
  if s >= 3600 then return ("%d:%02d:%02d"):format(s // 3600, s // 60 % 60, s % 60) end
  return ("%d:%02d"):format(s // 60, s % 60)
end

--- Reads a time: now, today, -1h, a day, RFC 3339 or Unix milliseconds.  Returns its Unix milliseconds and its length
-- in milliseconds, which is a day's for a day and otherwise 0.
function cli.time(text, now_ms) return cli.go(term.time_operand(text, now_ms)) end

--- Returns a whole number from 0 to max that is written in digits only, or nil.
function cli.number(text, max)
  local number = text:find "^%d+$" and math.tointeger(tonumber(text))
  if number and number <= max then return number end
end

--- Joins option rows and lists of option rows into one list.
function cli.rows(parts)
  local rows = {}
  for _, part in ipairs(parts) do
    local list = part.name and { part } or part
    table.move(list, 1, #list, #rows + 1, rows)
  end
  return rows
end

--- Returns the row of --format for a command that prints ids.
function cli.format_option(help)
  return { name = "format", kind = "choice", value = "dec|hex|base32|base62", help = help .. " (default: dec)" }
end

--- Formats an id in the base of --format.
function cli.id(id, base)
  return core.format(id, base ~= "dec" and base or "decimal")
end

--- Formats an unsigned 64-bit count.  From 2^63 on, Lua's integers are negative.
function cli.unsigned(count)
  if count >= 0 then return ("%d"):format(count) end
  local tenth = (count >> 1) // 5
  return ("%d%d"):format(tenth, count - tenth * 10)
end

--- Groups digits: "1,048,576".
function cli.grouped(digits)
  return (digits:reverse():gsub("%d%d%d", "%0,"):reverse():gsub("^,", ""))
end

function cli.printf(format, ...)
  term.out(format:format(...))
end

---------------------------------------------------------------- JSON

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\b"] = "\\b", ["\f"] = "\\f", ["\n"] = "\\n", ["\r"] = "\\r",
  ["\t"] = "\\t" }

local function text_of(text)
  if not text:find '[%c"\\\127]' then return '"' .. text .. '"' end
  return '"' .. text:gsub('[%c"\\\127]', function(c) return ESCAPES[c] or ("\\u%04x"):format(c:byte()) end) .. '"'
end

-- JSON has neither infinity nor NaN: both become null.
local function number_of(number)
  if math.type(number) == "integer" then return ("%d"):format(number) end
  if number ~= number or number == math.huge or number == -math.huge then return "null" end
  return ("%.17g"):format(number)
end

local Object = {}

--- Returns an object that keeps the order of its keys: cli.object { { "id", "7" }, { "ok", true } }.
function cli.object(pairs) return setmetatable(pairs, Object) end

--- A value that is printed as this text, for example a number with its own format.
local Raw = {}
function cli.raw(format, ...) return setmetatable({ text = format:format(...) }, Raw) end

cli.null = cli.raw "null"

--- Returns an unsigned 64-bit count.
function cli.count(count) return cli.raw("%s", cli.unsigned(count)) end

local function write(value, out)
  local class = getmetatable(value)
  if type(value) == "string" then
    out[#out + 1] = text_of(value)
  elseif type(value) == "number" then
    out[#out + 1] = number_of(value)
  elseif class == Raw then
    out[#out + 1] = value.text
  elseif type(value) == "table" then
    out[#out + 1] = class == Object and "{" or "["
    for i, item in ipairs(value) do
      if i > 1 then out[#out + 1] = "," end
      if class == Object then
        out[#out + 1] = text_of(item[1]) .. ":"
        item = item[2]
      end
      write(item, out)
    end
    out[#out + 1] = class == Object and "}" or "]"
  else
    out[#out + 1] = tostring(value) -- true, false
  end
end

--- Returns the JSON of a value, without a newline.
function cli.encode(value)
  local out = {}
  write(value, out)
  return table.concat(out)
end

function cli.json(value) term.out(cli.encode(value) .. "\n") end

return cli
