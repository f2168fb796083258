--- effective.lua -- packs the values of a config and their origins into one text, which the config keeps.  --effective
-- shows them, and a reload compares two such texts.  Defaults are not packed, because the schema has them.
local keys = require "config.keys"

local effective = {}

local ORIGIN = "\30"    -- separates a key from its origin
local SEPARATOR = "\31" -- separates the texts of a list, which contain no control characters

---------------------------------------------------------------- packing

--- Returns a value as text, or nil.
function effective.text(value)
  if type(value) == "table" then
    if value.name then return value.options and value.name .. " " .. value.options or value.name end
    return value[1] and table.concat(value, ", ")
  end
  return value ~= nil and tostring(value) or nil
end

local function text_of(value)
  if type(value) == "table" and not value.name then return table.concat(value, SEPARATOR) end
  return effective.text(value) or ""
end

-- Appends the key and the text of each value to `out`, then "".  A key is followed by its origin if that is not the
-- file.
local function pack_values(out, rows, entry, origin)
  local count = #out
  for key, value in next, entry do
    if rows[key] then
      local other = origin and origin(key)
      out[count + 1] = other and other ~= "file" and key .. ORIGIN .. other or key
      out[count + 2] = type(value) == "string" and value or text_of(value)
      count = count + 2
    end
  end
  out[count + 1] = ""
end

--- Packs the values that a file, a variable or a flag set.  Each text ends with a NUL, which no value contains.  The
-- order is: values outside of parts, then for each part its names, each with its values, then "".
function effective.pack(reading)
  local out, top = {}, {}
  for key in next, reading.origin do top[key] = reading.top[key] end
  pack_values(out, keys.row, top, function(key) return reading.origin[key] end)
  for _, part in ipairs(keys.parts) do
    local list = reading[part.group]
    local first = list.names[1] -- flags apply to a single namespace
    local function origin(key) return reading.origin[keys.path(part.row[key], first)] end
    for _, name in ipairs(list.names) do
      out[#out + 1] = name
      pack_values(out, part.row, list.at[name], #list.names == 1 and origin or nil)
    end
    out[#out + 1] = ""
  end
  out[#out + 1] = ""
  return table.concat(out, "\0")
end

local WITH_ORIGIN = "^(.*)" .. ORIGIN .. "(.*)$"

-- Unpacks a text into top[key], [group].names and [group].at[name][key], all texts, and origin[path] for values that
-- are not from the file.
local function unpack(packed)
  local said = { top = {}, origin = {} }
  local read = packed:gmatch "([^\0]*)\0"
  local function read_values(into, rows, name)
    for key in read do
      if key == "" then break end
      local plain, origin = key:match(WITH_ORIGIN)
      into[plain or key] = read()
      if origin then said.origin[keys.path(rows[plain], name)] = origin end
    end
    return into
  end
  read_values(said.top, keys.row)
  for _, part in ipairs(keys.parts) do
    local list = { names = {}, at = {} }
    for name in read do
      if name == "" then break end
      list.names[#list.names + 1] = name
      list.at[name] = read_values({}, part.row, name)
    end
    said[part.group] = list
  end
  return said
end

-- Returns the text of a value, or nil.  The entries of a list are joined with `separator`, if it is not nil.
local function value_of(said, row, name, separator)
  local entry = name and said[row.group].at[name] or said.top
  local text = entry[row.name] or row.default or ""
  if text == "" then return nil end
  return separator and text:gsub(SEPARATOR, separator) or text
end

--- Unpacks a text for effective.value.  [group].names has the names of a part.
effective.open = unpack

--- Returns the value of a key as text, or nil.  The entries of a list are joined with commas.  For a key of a part,
-- `name` is the name or index of the entry.
function effective.value(said, key, name)
  local row = keys.row[key]
  return value_of(said, row, name, (row.kind == "list" or row.kind == "secrets") and ", ")
end

---------------------------------------------------------------- every value

local function list_of(text)
  local list = {}
  for entry in (text or ""):gmatch("[^" .. SEPARATOR .. "]+") do list[#list + 1] = entry end
  return list
end

local BARE = { integer = true, switch = true } -- kinds of values that need no quotes in JSON

local function visit_row(said, row, name, visit)
  local path = keys.path(row, name)
  local entry = name and said[row.group].at[name] or said.top
  local origin, by, variable, list = entry[row.name] and "file" or "default", nil, row.env, nil
  if said.origin[path] then
    origin, by = said.origin[path]:match "^(%a+):(.*)$"
    if origin == "env" then variable, by = by, nil end
  end
  if row.kind == "list" then list = list_of(value_of(said, row, name)) end
  visit(path, effective.value(said, row.key, name), row.without, list, origin, variable, by, keys.is_secret(row),
    BARE[row.kind])
end

--- Calls visit(path, text, absent, list, origin, variable, by, is_secret, is_bare) for each value, in the schema's
-- order.
function effective.each(packed, visit)
  local said, done = unpack(packed), {}
  for _, row in ipairs(require("config.schema").rows) do
    if not row.part then
      visit_row(said, row, nil, visit)
    elseif not done[row.part] then
      done[row.part] = true
      for _, name in ipairs(said[row.group].names) do
        for _, one in ipairs(row.part.rows) do visit_row(said, one, name, visit) end
      end
    end
  end
end

---------------------------------------------------------------- two configs

local function compare(old, new, rows, name, add)
  for _, row in ipairs(rows) do
    if not row.live and value_of(old, row, name) ~= value_of(new, row, name) then add(keys.path(row, name)) end
  end
end

-- Adds the entries of a part that only one of the configs has.
local function add_strangers(list, other, group, add)
  for _, name in ipairs(list.names) do
    if not other.at[name] then add(group .. "." .. name) end
  end
end

local function names_of(old, new)
  local names = {}
  local function add(path) names[#names + 1] = path end
  for _, part in ipairs(keys.parts) do
    add_strangers(old[part.group], new[part.group], part.group, add)
    add_strangers(new[part.group], old[part.group], part.group, add)
    for _, name in ipairs(new[part.group].names) do
      if old[part.group].at[name] then compare(old, new, part.rows, name, add) end
    end
  end
  compare(old, new, keys.top, nil, add)
  return names
end

-- Joins as many whole names as fit into a buffer of `size` bytes, and appends "..." if names are left out.
local function fitting(names, size)
  local all = table.concat(names, ", ")
  if #all < size then return all end
  local used = 0
  for i = 1, #names do
    local length = #table.concat(names, ", ", 1, i)
    if length >= size then break end
    used = length
  end
  return size >= 4 and all:sub(1, math.min(used, size - 4)) .. "..." or ""
end

--- Returns the names of the keys that differ and take effect only after a restart, as one text that is cut to `size`
-- bytes including a NUL, and the number of these keys.
function effective.differences(old, new, size)
  local names = names_of(unpack(old), unpack(new))
  return fitting(names, size), #names
end

return effective
