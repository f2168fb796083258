--- source.lua -- examines a config file as text: finds the line of a key, and recognizes files that are not Lua.  It
-- recognizes Lua's comments and strings, but does not parse Lua.
local source = {}

-- Returns the position after "[==[ ... ]==]" at `at`, or nil.
local function skip_long(text, at)
  local level = text:match("^%[(=*)%[", at)
  if not level then return nil end
  local _, last = text:find("]" .. level .. "]", at + #level + 2, true)
  return (last or #text) + 1
end

local function skip_quoted(text, at)
  local quote = text:sub(at, at)
  at = at + 1
  while at <= #text do
    local c = text:sub(at, at)
    if c == quote then return at + 1 end
    if c == "\n" then return at end
    at = at + (c == "\\" and 2 or 1)
  end
  return #text + 1
end

local function skip_comment(text, at)
  return skip_long(text, at + 2) or text:find("\n", at, true) or #text + 1
end

local function assigns(text, at) return text:find("^[ \t\r\n]*=[^=]", at) or text:find("^[ \t\r\n]*=$", at) end

-- Returns the position after the token at `at`, and whether the token is `key`, written as a key of a table.
local function next_token(text, at, key)
  local word = text:match("^[%a_][%w_]*", at)
  if word then return at + #word, word == key and assigns(text, at + #word) ~= nil end
  if text:find("^%d", at) then return at + #text:match("^[%w_]+", at), false end
  if text:find("^%-%-", at) then return skip_comment(text, at), false end
  local behind = skip_long(text, at)
  if behind then return behind, false end
  if not text:find("^[\"']", at) then return at + 1, false end
  behind = skip_quoted(text, at)
  local close = text:match("^[ \t\r\n]*%]()", behind)
  return behind, close ~= nil and text:sub(at + 1, behind - 2) == key and assigns(text, close) ~= nil
end

local function line_at(text, at)
  local _, count = text:sub(1, at - 1):gsub("\n", "")
  return count + 1
end

--- Returns the line of a key that is in the file exactly once, or nil.
function source.line_of(text, key)
  if not text:find(key, 1, true) then return nil end
  local at, found = 1, nil
  while at <= #text do
    local behind, is_key = next_token(text, at, key)
    if is_key and found then return nil end
    if is_key then found = line_at(text, at) end
    at = behind
    if text:find("^[%s]", at) then at = text:find("[^%s]", at) or #text + 1 end
  end
  return found
end

---------------------------------------------------------------- other formats

local TABLE = ", but a config is a Lua file that returns a table: return { threads = 2 }"

-- Matches "name:", "name: value" and "- name:".
local function like_yaml(text, at)
  return text:find("^[%w_][%w_-]*:[ \t\r\n]", at) or text:find("^[%w_][%w_-]*:$", at)
    or text:find("^%- [%w_]+:", at)
end

local function line_of_number(text, number)
  for line in text:gmatch "([^\n]*)\n?" do
    number = number - 1
    if number <= 0 then return line end
  end
  return ""
end

local function like_comment(line)
  line = line:match "^[ \t]*(.*)$"
  if line:find "^%-[^-]" or line == "-" then return true end
  local hash, dashes = line:find "#", line:find("--", 1, true)
  local slashes = line:find("//", 1, true)
  local first = math.min(hash or math.huge, slashes or math.huge)
  return first < (dashes or math.huge)
end

-- Returns the position of the first text outside of comments, which may begin with --, # or //.
local function first_word(text)
  local at = 1
  while true do
    at = text:find("[^ \t\r\n]", at) or #text + 1
    if text:find("^%-%-", at) then
      at = skip_comment(text, at)
    elseif text:find("^#", at) or text:find("^//", at) then
      at = text:find("\n", at, true) or #text + 1
    else
      return at
    end
  end
end

--- Returns a hint about the format of a file that Lua rejected, or nil.  `line`: the line of Lua's error.
function source.hint(text, line)
  local at = first_word(text)
  if text:find('^{[ \t\r\n]*["}]', at) or text:find("^{[ \t\r\n]*$", at) then return "this looks like JSON" .. TABLE end
  if text:find("^{", at) then return "write return in front of the table" end
  if text:find("^%[[%a_]", at) then return "this looks like TOML or INI" .. TABLE end
  if text:find("^%[", at) then return "this looks like JSON" .. TABLE end
  if like_yaml(text, at) then return "this looks like YAML" .. TABLE end
  if text:find("^<", at) then return "this looks like XML, but a config is a Lua file that returns a table" end
  if like_comment(line_of_number(text, line)) then return "Lua comments start with --" end
  return nil
end

return source
