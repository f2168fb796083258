--- vesta -- 64-bit ids that never repeat, sort by time, can be read back and can be made by hand.
-- The friendly side of vesta.core: checks options, chooses LuaJIT's fast calls and nginx's way of waiting.
-- A wrong type raises at the caller's line; whatever else fails is nil, message, code (and seconds to wait).
local core = require "vesta.core"

local vesta = {
  VERSION = core.VERSION,
  presets = core.presets, -- () -> { { name =, text =, about = }, ... }
  guess = core.guess,     -- (id [, now]) -> { { preset =, about =, parts = {...} }, ... }, likeliest first
  format = core.format,   -- (id [, base]) -> text; base is "decimal", "hex", "base32" or "base62"
  parse = core.parse,     -- (text [, base]) -> id
  layout = core.layout,   -- (text) -> layout with explain, make, time, range, fits, text, fields, ends
}

local WAIT_MS_MAX = 100             -- how long plain Lua waits for an id unless told otherwise
local LEASE_WAIT_MS_MAX = 2000      -- and where a lease must be claimed first: several writes that reach a disk
local WAIT_MS_LIMIT = 24 * 3600 * 1000
local EXACT_MAX = 2 ^ 53
local PACING = { clock = 1, history = 2 }

local in_nginx = type(ngx) == "table" and ngx.get_phase ~= nil
local resty = in_nginx and require "vesta.resty"

---------------------------------------------------------------- the calls of this Lua

if not core.dressed then -- once for a Lua state, even where package.loaded.vesta was cleared
  core.dressed = true
  if resty then resty.install(core) end
  local has_ffi = type(jit) == "table" and pcall(require, "ffi")
  if has_ffi then require "vesta.fast" (core) end
end

---------------------------------------------------------------- options

-- Each check gives the value as vesta.core wants it, or nil and what was expected.

local function text(value)
  if type(value) ~= "string" then return nil, "a string" end
  if value:find("\0", 1, true) then return nil, "a string without a NUL byte" end
  return value
end

local function flag(value)
  if type(value) ~= "boolean" then return nil, "true or false" end
  return value
end

local function is_whole(value, max)
  return type(value) == "number" and value >= 0 and value <= max and value % 1 == 0
end

local function whole(value)
  if not is_whole(value, EXACT_MAX) then return nil, "a whole number from 0 on" end
  return value
end

local function wait(value)
  if type(value) ~= "number" or not (value >= 0 and value <= WAIT_MS_LIMIT) then
    return nil, "milliseconds from 0 to a day"
  end
  return value
end

local function ahead(value)
  if not is_whole(value, WAIT_MS_LIMIT) then return nil, "whole milliseconds from 0 to a day" end
  return value == 0 and -1 or value -- 0 means "not at all" here and "the default" there
end

local function pacing(value)
  local number = PACING[value]
  if not number then return nil, '"clock" or "history"' end
  return number
end

local function layout(value)
  if type(value) == "userdata" and getmetatable(value) == core.layout_class then return value:text() end
  if type(value) ~= "string" then return nil, "a layout text, a preset's name or a vesta.layout" end
  return text(value)
end

-- { method = 1, version = 0 } -> "method=1 version=0"
local function fields(value)
  if type(value) ~= "table" then return nil, "a table like { method = 1 }" end
  local words = {}
  for name, number in pairs(value) do
    if type(name) ~= "string" or not name:find "^[%w_]+$" then return nil, "a table with field names as keys" end
    if not is_whole(number, EXACT_MAX) then return nil, "a table whose values are whole numbers from 0 on" end
    words[#words + 1] = ("%s=%.0f"):format(name, number)
  end
  table.sort(words)
  return table.concat(words, " ")
end

local OPTIONS = {
  layout = layout, path = text, store = text, namespace = text, fields = fields, group = text,
  worker = whole, any_worker = flag, pacing = pacing, ahead_ms_max = ahead, wait_ms_max = wait,
  unsafe_private = flag,
}

-- Levenshtein's distance, one row at a time.
local function distance(a, b)
  local row = {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local corner = row[0]
    row[0] = i
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      corner, row[j] = row[j], math.min(row[j] + 1, row[j - 1] + 1, corner + cost)
    end
  end
  return row[#b]
end

local function unknown_option(key)
  if type(key) ~= "string" then return ("options must have names as keys, not %s"):format(type(key)) end
  local best, best_distance
  for name in pairs(OPTIONS) do
    local d = #key >= 3 and name:sub(1, #key) == key and 0 or distance(key:sub(1, 32), name)
    if not best or d < best_distance or (d == best_distance and name < best) then best, best_distance = name, d end
  end
  local hint = best_distance <= 3 and (', did you mean "%s"?'):format(best) or ""
  return ('unknown option "%s"%s'):format(key:sub(1, 32):gsub("%c", "?"), hint)
end

local function shown(value)
  return type(value) == "number" and ("%.17g"):format(value)
    or type(value) == "string" and ('"%s"'):format(value:sub(1, 32):gsub("%c", "?"))
    or type(value)
end

-- Level 3: the caller of vesta.open.
local function check_options(options)
  if type(options) ~= "table" then
    error(("vesta.open: a table of options is expected, not %s"):format(type(options)), 3)
  end
  local checked = {}
  for key, value in pairs(options) do
    local check = OPTIONS[key]
    if not check then error("vesta.open: " .. unknown_option(key), 3) end
    local good, expected = check(value)
    if good == nil then
      error(("vesta.open: option %s must be %s, not %s"):format(key, expected, shown(value)), 3)
    end
    checked[key] = good
  end
  return checked
end

---------------------------------------------------------------- opening

local warned

local function warn_private()
  if warned then return end
  warned = true
  local line = "vesta: unsafe_private: ids of this generator may repeat; for tests only"
  if in_nginx then ngx.log(ngx.WARN, line) else io.stderr:write(line, "\n") end
end

--- Opens, or makes, a generator.  See docs/lua.md for the options.
function vesta.open(options)
  local checked = check_options(options)
  if checked.unsafe_private then warn_private() end
  if resty then return resty.open(core, checked) end
  checked.lease_wait_ms_max = checked.wait_ms_max or LEASE_WAIT_MS_MAX
  checked.wait_ms_max = checked.wait_ms_max or WAIT_MS_MAX
  return core.open(checked)
end

--- Proposes a layout for a need: ids per second and node, nodes, years from epoch on.
function vesta.fit(need)
  if type(need) ~= "table" then
    error("vesta.fit: a table like { rate = 50000, nodes = 100, years = 30 } is expected, not " .. type(need), 2)
  end
  for _, name in ipairs { "rate", "nodes", "years" } do
    local n = need[name]
    if type(n) ~= "number" or not (n > 0 and n <= EXACT_MAX) then
      error(("vesta.fit: %s must be a number above 0, not %s"):format(name, shown(n)), 2)
    end
  end
  if need.nodes % 1 ~= 0 then
    error(("vesta.fit: nodes must be a whole number, not %s"):format(shown(need.nodes)), 2)
  end
  return core.fit(need.rate, need.nodes, need.years, need.epoch or "2026-01-01T00:00:00Z")
end

return vesta
