--- policy.lua -- reads the policies of a config: converts their options to text, checks their variables, and test-runs
-- them.
local ask = require "config.ask"
local keys = require "config.keys"
local schema = require "config.schema"
local values = require "config.values"
local wrong = require "config.wrong"

local policy = {}

local OPTIONS_BYTES_MAX = 60000 -- maximum bytes of the options as Lua text, which the policy's Lua state runs
local WRITTEN_BYTES_MAX = 10 * OPTIONS_BYTES_MAX -- maximum bytes written, because shared tables repeat
local OPTIONS_DEPTH_MAX = 8
local OPTIONS_KEYS_MAX = 1024   -- maximum keys of one table
local PATH_MAX = 511

---------------------------------------------------------------- options as Lua text

local function quoted(text)
  return '"' .. text:gsub('[%c"\\\128-\255]', function(c) return ("\\%03d"):format(c:byte()) end) .. '"'
end

-- Formats a number as Lua text.  The smallest integer is written in hexadecimal, because Lua would read its decimal
-- digits as a float.  A float is written with an exponent, so that Lua reads it as a float.
local function number_text(value)
  if math.type(value) == "integer" then return (value == math.mininteger and "0x%x" or "%d"):format(value) end
  if value ~= value or value == math.huge or value == -math.huge then
    return nil, ("has an option that is %s, which must be a finite number"):format(values.shown(value))
  end
  return ("%.17e"):format(value)
end

local table_text
local written = 0 -- bytes of the values that table_text has written so far

local function text_of(value, depth)
  local kind = type(value)
  if kind == "boolean" then return tostring(value) end
  if kind == "number" then return number_text(value) end
  if kind == "string" then return quoted(value) end
  if kind == "table" then return table_text(value, depth + 1) end
  return nil, ("has an option that is %s, which must be a text, a number, true, false or a table"):format(
    values.shown(value))
end

local function value_text(value, depth)
  if written > WRITTEN_BYTES_MAX then
    return nil, ("has options of more than %d bytes, but at most %d are allowed"):format(WRITTEN_BYTES_MAX,
      OPTIONS_BYTES_MAX)
  end
  local is_table = type(value) == "table"
  if is_table then written = written + #"{}," end
  local text, why = text_of(value, depth)
  if text and not is_table then written = written + #text + 1 end
  return text, why
end

-- Converts a table to Lua text: list entries first, then names in order, so that equal options have equal texts.  At
-- depth 0 it skips the first entry, which is the policy's name, and `shadow`.
function table_text(value, depth)
  local places = #value
  local why = values.wrong_names(value, OPTIONS_KEYS_MAX, places)
  if depth > OPTIONS_DEPTH_MAX or places > OPTIONS_KEYS_MAX then
    return nil, ("has too many options: at most %d levels of tables with %d entries each are allowed"):format(
      OPTIONS_DEPTH_MAX, OPTIONS_KEYS_MAX)
  end
  if why then return nil, why end
  if depth == 0 and places > 1 then return nil, "has an option without a name, [2]: write options as NAME = VALUE" end
  local out = { "{" }
  for i = depth == 0 and 2 or 1, places do
    local text, problem = value_text(value[i], depth)
    if not text then return nil, problem end
    out[#out + 1] = text .. ","
  end
  for _, name in ipairs(values.names(value)) do
    if depth > 0 or name ~= "shadow" then
      local text, problem = value_text(value[name], depth)
      if not text then return nil, problem end
      out[#out + 1] = "[" .. quoted(name) .. "]=" .. text .. ","
    end
  end
  out[#out + 1] = "}"
  return table.concat(out)
end

-- Makes the relative path of a policy's file relative to the config's folder.
local function beside(reading, name)
  local is_file = name:find("/", 1, true) or #name > 4 and name:find "%.lua$"
  if not is_file or name:find "^/" or not reading.folder then return name end
  return (reading.folder .. name):sub(1, PATH_MAX)
end

--- Reads the value of a policy key.  Returns the policy and its row, which is the row of shadow_policy if the value has
-- `shadow = true`.  Returns nil and a message after an error.
function policy.read(reading, row, value)
  if type(value) == "string" then
    local good, problem = values.policy(row, beside(reading, value))
    return good, good and row or problem
  end
  if type(value) ~= "table" then return values.wrong_type(row, value) end
  if type(value[1]) ~= "string" then
    return nil, 'does not begin with a policy\'s name: { "borrow", borrow_ms_max = 500 }'
  end
  if value.shadow ~= nil and type(value.shadow) ~= "boolean" then
    return nil, "has shadow, which must be true or false"
  end
  if value.shadow then row = keys.row["namespaces.*.shadow_policy"] end
  written = 0
  local options, why = table_text(value, 0)
  if not options then return nil, why end
  if #options > OPTIONS_BYTES_MAX then
    return nil, ("has options of %d bytes, but at most %d are allowed"):format(#options, OPTIONS_BYTES_MAX)
  end
  local good, problem = values.policy(row, beside(reading, value[1]), options ~= "{}" and options or nil)
  return good, good and row or problem
end

---------------------------------------------------------------- trying policies

local function is_value(secret, text)
  if type(secret) ~= "table" then return secret == text end
  for _, entry in ipairs(secret) do
    if entry == text then return true end
  end
  return false
end

local function is_value_of(reading, row, text)
  if not row.part then return is_value(reading.top[row.key], text) end
  for _, name in ipairs(reading[row.group].names) do
    if is_value(reading[row.group].at[name][row.name], text) then return true end
  end
  return false
end

-- Returns the key of the secret that a variable sets or contains, or nil.
local function secret_of(reading, name)
  local text = ask.getenv(name)
  for _, row in ipairs(schema.rows) do
    if keys.is_secret(row) and (row.env == name or text and is_value_of(reading, row, text)) then
      return row.key
    end
  end
  return nil
end

-- Returns the environment of a policy.  Rejects variables that contain a secret, because a policy can log them.
local function environment(reading, name, names)
  if not names then return nil end
  for _, variable in ipairs(names) do
    local secret = secret_of(reading, variable)
    if secret then
      wrong.key(reading, "namespaces.*.policy_env", name, "names %s, which contains the secret %s: remove it, because "
        .. "policies must not read secrets", ask.quote(variable), secret)
    end
  end
  local text, why = ask.policy_env(names)
  if not text then wrong.key(reading, "namespaces.*.policy_env", name, why) end
  return text
end

local function try(reading, name, key, env)
  local asked = reading.namespaces.at[name][key]
  if not asked then return end
  local text, why = ask.policy(asked.name, asked.options, env, name)
  if not text then wrong.key(reading, "namespaces.*." .. key, name, "cannot be used: %s", why) end
  asked.text = text
end

--- Loads and test-runs every policy with the limits of a server.  The server need not test-run them again.
function policy.check(reading)
  for _, name in ipairs(reading.namespaces.names) do
    local env = environment(reading, name, reading.namespaces.at[name].policy_env)
    try(reading, name, "policy", env)
    try(reading, name, "shadow_policy", env)
  end
end

return policy
