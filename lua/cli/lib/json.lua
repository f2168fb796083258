--- json.lua -- reads JSON from a server.  Invalid or truncated JSON raises no error: its readable part is returned.
--
--   json.read(text)          the value: a text, an integer, true, false, json.null, or a container
--   json.get(value, name)    a member of an object, or nil
--   json.each(value)         iterates over the items of an array or object in their order: index, value, name
--   json.number(value)       an integer, also from a text; otherwise 0
--   json.span(value)         json.number, clamped so that the difference of two spans does not overflow
--   json.text(value, max)    a text of at most max bytes (default: 199); otherwise ""
--
-- docs/dependencies.md explains why this is not a library.
local json = {}

local DEPTH_MAX = 32       -- deeper containers become null
local VALUES_MAX = 200000  -- values after this many are not read; a server's reply has fewer
local TEXT_MAX = 199
local FAR = 1 << 60

json.null = {}

local ESCAPES = { n = "\n", r = "\r", t = "\t", b = "\b", f = "\f" }
local QUOTE, COLON, OPEN_LIST, CLOSE_LIST, OPEN, CLOSE = ('":[]{}'):byte(1, -1)

-- Decodes an escape sequence.  NUL and surrogates become "?".
local function unescape(letter, hex)
  if letter ~= "u" then return (ESCAPES[letter] or letter) .. hex end
  local code = #hex == 4 and tonumber(hex, 16) or 0
  return (code == 0 or code >= 0xd800 and code <= 0xdfff) and "?" or utf8.char(code)
end

-- Returns the position after the text with the opening quote at `at`.
local function after_text(text, at)
  while true do
    at = text:find('["\\]', at + 1)
    if not at then return #text + 1 end
    if text:byte(at) == QUOTE then return at + 1 end
    at = at + 1 -- the escaped byte
  end
end

local function after_container(text, at)
  local depth = 0
  repeat
    at = text:find('["%[%]{}]', at)
    if not at then return #text + 1 end
    local byte = text:byte(at)
    if byte == QUOTE then
      at = after_text(text, at)
    else
      depth = depth + ((byte == OPEN or byte == OPEN_LIST) and 1 or -1)
      at = at + 1
    end
  until depth == 0
  return at
end

local function word(token)
  if token == "true" then return true end
  if token == "false" then return false end
  if token == "null" then return json.null end
  return json.number(token)
end

--- Reads a value.  A container holds its items by index.  An object also has `names` (the names of its items, by index)
-- and `members` (its items by name).
function json.read(text)
  local left = VALUES_MAX
  local read

  local function read_container(at, depth)
    local items, count = {}, 0
    if text:byte(at) == OPEN then items.names, items.members = {}, {} end
    at = at + 1
    while left > 0 do
      at = text:match("^[ \t\r\n,]*()", at)
      local byte = text:byte(at)
      if not byte then return items, at end
      if byte == CLOSE or byte == CLOSE_LIST then return items, at + 1 end
      local value, name
      value, at = read(at, depth)
      local colon = byte == QUOTE and text:match("^[ \t\r\n]*()", at)
      if colon and text:byte(colon) == COLON then
        name = value
        value, at = read(text:match("^[ \t\r\n]*()", colon + 1), depth)
      end
      count = count + 1
      items[count] = value == nil and json.null or value
      if items.names and name then
        items.names[count] = name
        if items.members[name] == nil then items.members[name] = value end
      end
    end
    return items, #text + 1
  end

  -- Returns the value at `at` or nil, and the position after it.
  function read(at, depth)
    local byte = text:byte(at)
    left = left - 1
    if byte == QUOTE then
      local behind = after_text(text, at)
      local value = text:sub(at + 1, behind - 2)
      if value:find("\\", 1, true) then value = value:gsub("\\(.)(%x?%x?%x?%x?)", unescape) end
      return value, behind
    end
    if byte == OPEN or byte == OPEN_LIST then
      if depth >= DEPTH_MAX then return json.null, after_container(text, at) end
      return read_container(at, depth + 1)
    end
    local token, behind = text:match("^([^,%]}]*)()", at)
    if token == "" then return nil, behind end
    return word(token:match "^(.-)%s*$"), behind
  end

  return (read(text:match("^[ \t\r\n]*()", 1), 0))
end

function json.get(value, name)
  if type(value) == "table" and value.members then return value.members[name] end
end

local function next_item(container, i)
  local value = container[i + 1]
  if value ~= nil then return i + 1, value, container.names and container.names[i + 1] or "" end
end

function json.each(value)
  return next_item, type(value) == "table" and value or json.null, 0
end

function json.number(value)
  if math.type(value) == "integer" then return value end
  local digits = type(value) == "string" and value:match "^-?%d+"
  return digits and math.tointeger(tonumber(digits)) or 0
end

function json.span(value)
  return math.max(-FAR, math.min(FAR, json.number(value)))
end

function json.text(value, max)
  return type(value) == "string" and value:sub(1, max or TEXT_MAX) or ""
end

return json
