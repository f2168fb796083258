--- read.lua -- reads a config: combines the file's table, the environment and the flags into one table of values.
--
-- C passes a table:
--   path, shown, folder   the path, the path for messages, and the folder with a slash (all nil without a file)
--   text                  the file's text
--   given, count          the file's first return value, and the number of return values
--   open_files            [contents] = "PATH, which others may read", for secrets that file() read
--   flags                 { "--threads", "threads", "2" }, in order
--   options, namespace    without a file: the options of the only namespace by member, and its name
--   store_variable        the variable that options.store comes from, or nil if a flag set it
--   is_handed             whether a service manager passes the sockets
-- The function adds:
--   top                   values by key, including defaults
--   namespaces, stores, segments   { names = { ... }, at = { [name] = values }, defaults }
--   notes, said           the notes, and the text of effective.pack
--   unnumbered, closed    why passed sockets that other machines can reach are not served, or nil
local access = require "config.access"
local ask = require "config.ask"
local checks = require "config.checks"
local effective = require "config.effective"
local keys = require "config.keys"
local namespaces = require "config.namespaces"
local schema = require "config.schema"
local values = require "config.values"
local walk = require "config.walk"
local whole = require "config.whole"
local wrong = require "config.wrong"

local NOTES_MAX = 64
local NOTE_BYTES_MAX = 511

---------------------------------------------------------------- before the file

local function defaults(rows)
  local list = {}
  for _, row in ipairs(rows) do
    if row.default then
      local value, why = values.written(row, row.default, true)
      if value == nil then error(("the default of %s %s"):format(row.key, why)) end
      list[row.name] = value
    end
  end
  return list
end

local function prepare(reading)
  reading.top = defaults(keys.top)
  reading.file, reading.origin, reading.notes = {}, {}, {}
  reading.store_rows, reading.store_checks, reading.lifetimes = {}, {}, {}
  for _, part in ipairs(keys.parts) do
    local list = defaults(part.rows)
    reading[part.group] = { names = {}, at = {}, defaults = list, meta = { __index = list } }
  end
  function reading.note(text, ...)
    if #reading.notes == NOTES_MAX then return end
    if select("#", ...) > 0 then text = text:format(...) end
    reading.notes[#reading.notes + 1] = text:sub(1, NOTE_BYTES_MAX)
  end
end

---------------------------------------------------------------- the sources, from the lowest precedence to the highest

local function read_file(reading)
  if reading.count == 0 then wrong.line(reading, nil, "returns nothing: a config ends with return { ... }") end
  if reading.count > 1 then
    wrong.line(reading, nil, ("returns %d values, which must be one table"):format(reading.count))
  end
  walk(reading)
  for key, value in next, reading.file do
    reading.top[key], reading.origin[key] = value, "file"
  end
end

-- If the config has neither namespaces nor segments, adds the namespace of the flags, or `default`.
local function need_namespace(reading)
  local list = reading.namespaces
  if #list.names + #reading.segments.names > 0 then return end
  local name = reading.namespace or "default"
  local why = checks.namespace(name)
  if why then ask.fail(why) end
  list.names[1], list.at[name] = name, setmetatable({}, list.meta)
  reading.has_given = reading.options ~= nil
  for _, row in ipairs(schema.rows) do
    local value = row.option and reading.options and reading.options[row.name]
    if value then
      list.at[name][row.name] = value
      local is_variable = row.name == "store" and reading.store_variable
      reading.origin[keys.path(row, name)] = is_variable and "env:" .. is_variable or "flag:--" .. row.option
    end
  end
end

local function put(reading, row, name, origin, text)
  local path = keys.path(row, name)
  reading.origin[path] = origin
  local value, why = values.written(row, text, origin:find "^flag:" ~= nil)
  if value == nil then wrong.value(reading, row, name, why) end
  local into = name and reading[row.group].at[name] or reading.top
  into[row.name] = value
end

local function read_environment(reading)
  for _, row in ipairs(keys.top) do
    local text = row.env and ask.getenv(row.env)
    if text then put(reading, row, nil, "env:" .. row.env, text) end
  end
end

local function read_flags(reading)
  for _, flag in ipairs(reading.flags) do
    local row = keys.row[flag[2]]
    put(reading, row, row.part and reading.namespaces.names[1], "flag:" .. flag[1], flag[3])
  end
end

return function(reading)
  prepare(reading)
  if reading.path then read_file(reading) end
  need_namespace(reading)
  read_environment(reading)
  read_flags(reading)
  whole(reading)
  if reading.is_handed then -- C decides later, when it knows the addresses of the passed sockets
    reading.unnumbered, reading.closed = namespaces.unnumbered(reading), access.closed(reading)
  end
  reading.said = effective.pack(reading)
  return reading
end
