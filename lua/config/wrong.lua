--- wrong.lua -- raises the error that ends the reading of a config.  The message names the file and line, or the flag
-- or variable, then the key, then the problem with its value.
local ask = require "config.ask"
local keys = require "config.keys"
local source = require "config.source"

local wrong = {}

local function join(front, text)
  local needs_colon = text:sub(1, 1) == "'" and front:sub(-1) ~= ":"
  return front .. (needs_colon and ": " or " ") .. text
end

--- Raises an error about the file.  `text` follows the file's name, and the line if it is not nil.
function wrong.line(reading, line, text)
  ask.fail(join(line and ("%s:%d:"):format(reading.shown, line) or reading.shown .. ":", text))
end

--- Raises an error about a path.  `text` follows the path, which need not be the path of a known key.
function wrong.path(reading, path, text)
  text = join(path, text)
  if not reading.path then ask.fail(text) end
  wrong.line(reading, source.line_of(reading.text, path:match "[^.]*$"), text)
end

--- Raises an error about the value of a row's key.  `text` follows the key.  `name` is the entry of the part.
function wrong.value(reading, row, name, text)
  local path = keys.path(row, name)
  local origin, by = (reading.origin[path] or ""):match "^(%a+):(.*)$"
  if origin == "env" or origin == "flag" then ask.fail(join(by, text)) end
  wrong.path(reading, path, text)
end

--- Like wrong.value, for the row of a key in the schema.  Formats `text`.
function wrong.key(reading, key, name, text, ...)
  if select("#", ...) > 0 then text = text:format(...) end
  wrong.value(reading, keys.row[key], name, text)
end

return wrong
