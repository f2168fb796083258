--- wrong.lua -- ends the reading with an error: the file and line, or the flag or variable, then the key, then what is
-- wrong with its value.
local ask = require "config.ask"
local keys = require "config.keys"
local source = require "config.source"

local wrong = {}

local function join(front, text)
  local needs_colon = text:sub(1, 1) == "'" and front:sub(-1) ~= ":"
  return front .. (needs_colon and ": " or " ") .. text
end

--- `text` goes on from the file's name, and the line if there is one.
function wrong.line(reading, line, text)
  ask.fail(join(line and ("%s:%d:"):format(reading.shown, line) or reading.shown .. ":", text))
end

--- `text` goes on from a path: a key's, or one that is no key.
function wrong.path(reading, path, text)
  text = join(path, text)
  if not reading.path then ask.fail(text) end
  wrong.line(reading, source.line_of(reading.text, path:match "[^.]*$"), text)
end

--- `text` goes on from the key of a row; `name`: of the part's entry.
function wrong.value(reading, row, name, text)
  local path = keys.path(row, name)
  local origin, by = (reading.origin[path] or ""):match "^(%a+):(.*)$"
  if origin == "env" or origin == "flag" then ask.fail(join(by, text)) end
  wrong.path(reading, path, text)
end

--- The same, of the key with that path in the schema.
function wrong.key(reading, key, name, text, ...)
  if select("#", ...) > 0 then text = text:format(...) end
  wrong.value(reading, keys.row[key], name, text)
end

return wrong
