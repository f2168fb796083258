--- values.lua -- checks a value by its row: a Lua value of the file, or the text of a flag, a variable or a default.
-- Errors are nil and the part of a message after the key: "is 65, which must be a whole number from 1 to 64".
--
-- A checked value is a text, an integer, true or false, a word of a choice, a list of texts, or a policy's
-- { name, options }.
local ask = require "config.ask"
local checks = require "config.checks"
local keys = require "config.keys"

local values = {}

local ENTRY_BYTES_MAX = 250   -- maximum bytes of a list's entry, such as an address or a tag
local FIELDS_MAX = 16
local FIELD_NAME_MAX = 15

---------------------------------------------------------------- shapes of values

--- Formats a value for a message: 65, the text 'abc', true, a table.
function values.shown(value)
  local kind = type(value)
  if kind == "number" then
    if math.type(value) == "integer" then return ("%d"):format(value) end
    return value ~= value and "nan" or ("%.14g"):format(value)
  end
  if kind == "string" then return ("the text '%s'"):format(ask.quote(value:sub(1, 30))) end
  if kind == "boolean" or kind == "nil" then return tostring(value) end
  if kind == "table" or kind == "function" then return "a " .. kind end
  return "not data"
end

local function wrong_type(row, value)
  if row.kind == "secret" then return nil, "is not a text" end -- a message never shows the value of a secret
  if row.kind == "secrets" then return nil, "is not a list of texts" end
  local is_quoted = type(value) == "string" and (row.kind == "integer" or row.kind == "switch")
  return nil, ("is %s, which must be %s%s"):format(values.shown(value), keys.expected(row),
    is_quoted and ", without quotes" or "")
end

--- Returns an error message if a table has keys that are not names, or more than `max` names.  Returns nil otherwise.
-- The indexes 1 to `places` are allowed and not counted.
function values.wrong_names(value, max, places)
  local count = 0
  for name in next, value do
    if type(name) == "string" then
      if name:find("\0", 1, true) then return "has a name with a NUL byte in it" end
      count = count + 1
      if count > max then return ("has more than %d entries"):format(max) end
    elseif math.type(name) ~= "integer" or name < 1 or name > places then
      return ("has an entry without a name, [%s]: write entries as NAME = VALUE"):format(values.shown(name))
    end
  end
  return nil
end

--- Returns an error message if a table is not a list of 1 to `max` entries.  Returns nil otherwise.
function values.wrong_list(value, max)
  local length, count = #value, 0
  for index in next, value do
    if math.type(index) ~= "integer" or index < 1 or index > length then count = -1 break end
    count = count + 1
  end
  if count ~= length then return "is not a list: its keys must be 1, 2, 3 and so on, without gaps" end
  if count == 0 then return "is an empty list" end
  if count > max then return ("has %d entries, but at most %d are allowed"):format(count, max) end
  return nil
end

--- Returns the names of a table, sorted.
function values.names(value)
  local names = {}
  for name in next, value do
    if type(name) == "string" then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

---------------------------------------------------------------- texts, numbers, lists

local CONTROLS = "[\0-\31\127]"

-- Returns an error that applies to the text of any key, or nil.
local function wrong_text(row, text)
  if text == "" then return "is empty: leave the key out instead" end
  local at = text:find(CONTROLS)
  if at then
    local byte = text:byte(at)
    return ("has the control character \\x%02x at byte %d%s"):format(byte, at,
      byte == 10 and ": it must be one line" or "")
  end
  if row.kind ~= "list" and row.kind ~= "secrets" and #text > row.max then
    return ("has %d bytes, but at most %d are allowed"):format(#text, row.max)
  end
  return nil
end

-- Checks a text and returns it.  row.check is skipped for flags, because the code that uses a flag reports its errors.
local function keep(row, text, is_flag)
  if text == "" or #text > row.max or text:find(CONTROLS) then -- a list's max is a count, so wrong_text checks again
    local why = wrong_text(row, text)
    if why then return nil, why end
  end
  local why = row.check and not is_flag and checks[row.check](text)
  if why then return nil, why end
  return text
end

local function put_text(row, text, is_flag)
  if not row.words then return keep(row, text, is_flag) end
  local words, list = keys.words(row)
  if not words[text] then
    local near = ask.nearest(text, list)
    return nil, ("is '%s', which must be %s%s"):format(ask.quote(text), keys.expected(row),
      near and (". Did you mean %s?"):format(near) or "")
  end
  return text
end

local function put_integer(row, value)
  if value < row.min or value > row.max then
    return nil, ("is %d, which must be %s"):format(value, keys.expected(row))
  end
  return value
end

local function put_list(row, list, is_flag)
  local kept, place = {}, {}
  for i, text in ipairs(list) do
    if i > row.max then return nil, ("has more than %d entries"):format(row.max) end
    if #text > ENTRY_BYTES_MAX then
      return nil, ("has an entry of %d bytes, but at most %d are allowed"):format(#text, ENTRY_BYTES_MAX)
    end
    local good, why = keep(row, text, is_flag)
    if not good then return nil, why end
    if place[text] and row.kind == "secrets" then
      return nil, ("has duplicate entries at places %d and %d"):format(place[text], i)
    elseif place[text] then
      return nil, ("has '%s' twice"):format(ask.quote(text))
    end
    kept[i], place[text] = text, i
  end
  return kept
end

---------------------------------------------------------------- values of the file, by kind

local read = {}

function read.text(row, value)
  if type(value) ~= "string" then return wrong_type(row, value) end
  return put_text(row, value)
end
read.secret, read.choice = read.text, read.text

--- Reads a word.  An integer is accepted as a word of digits: method = 2 means method = "2".
function read.word(row, value)
  local text = math.type(value) == "integer" and ("%d"):format(value)
  return read.text(row, text and keys.words(row)[text] and text or value)
end

function read.integer(row, value)
  local whole = type(value) == "number" and math.tointeger(value) -- 1e3 is accepted; 1.5, nan and 2^63 are not
  if not whole then return wrong_type(row, value) end
  return put_integer(row, whole)
end

function read.switch(row, value)
  if type(value) ~= "boolean" then return wrong_type(row, value) end
  return value
end

function read.list(row, value)
  if type(value) == "string" then return put_list(row, { value }) end
  if type(value) ~= "table" then return wrong_type(row, value) end
  local why = values.wrong_list(value, row.max)
  if why then return nil, why end
  for i, text in ipairs(value) do
    if type(text) ~= "string" then
      return nil, ("has %s at place %d, which must be a text"):format(
        row.kind == "secrets" and "something" or values.shown(text), i)
    end
  end
  return put_list(row, value)
end
read.secrets = read.list

--- Converts { version = 1, method = 2 } to "method=2 version=1".
function read.fields(row, value)
  if type(value) ~= "table" then return wrong_type(row, value) end
  local why = values.wrong_names(value, FIELDS_MAX, 0)
  if why then return nil, why end
  local parts = {}
  for i, name in ipairs(values.names(value)) do
    local number = type(value[name]) == "number" and math.tointeger(value[name])
    if not number or number < 0 then
      return nil, ("has '%s' = %s, which must be a whole number of 0 or more"):format(ask.quote(name),
        values.shown(value[name]))
    end
    if #name > FIELD_NAME_MAX or name:find "[= \t\r\n]" then
      return nil, ("has '%s', which is not a field's name"):format(ask.quote(name))
    end
    parts[i] = ("%s=%d"):format(name, number)
  end
  if #parts == 0 then return nil, "is an empty table: leave the key out instead" end
  return put_text(row, table.concat(parts, " "))
end

--- values.read[kind](row, value) checks the value of a key in the file.  policy.lua reads policies.
values.read = read
values.wrong_type = wrong_type

--- Returns a policy as { name, options }.  `options` is Lua text or nil.
function values.policy(row, name, options, is_flag)
  local good, why = keep(row, name, is_flag)
  if not good then return nil, why end
  return { name = name, options = options }
end

--- Reads a value from the text of a default, a variable or a flag: digits, true, false, or a list with commas.
function values.written(row, text, is_flag)
  local kind = row.kind
  if kind == "integer" then
    local number = text:find "^%d+$" and math.tointeger(tonumber(text))
    if number then return put_integer(row, number) end
  elseif kind == "switch" then
    if text == "true" or text == "false" then return text == "true" end
  elseif kind == "list" or kind == "secrets" then
    local list = {}
    for entry in (text .. ","):gmatch "([^,]*)," do list[#list + 1] = entry end
    return put_list(row, list, is_flag)
  elseif kind == "policy" then
    return values.policy(row, text, nil, is_flag)
  else
    return put_text(row, text, is_flag)
  end
  return nil, ("is '%s', which must be %s"):format(ask.quote(text), keys.expected(row))
end

return values
