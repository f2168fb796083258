--- whole.lua -- checks that the keys of a config do not contradict each other, and adds notes about valid but unusual
-- settings.
local access = require "config.access"
local ask = require "config.ask"
local effective = require "config.effective"
local keys = require "config.keys"
local namespaces = require "config.namespaces"
local policy = require "config.policy"
local segments = require "config.segments"
local stores = require "config.stores"

---------------------------------------------------------------- secrets that other users may read

local function note_secret_file(reading, uri)
  local path = uri and ask.secret_file(uri)
  local others = path and ask.open_to(path)
  if others then
    reading.note("others may %s %s, a store's secret_file: chmod o= on it", others, ask.shown(path))
  end
end

local function stands_in(text, part)
  return part and part ~= "" and text:find(part, 1, true) ~= nil
end

-- Returns whether the file's text contains a secret.  Secrets from env() or file() are not in it.
local function has_secret(reading)
  local function is_written(row, value)
    if value == nil then return false end
    local text = effective.text(value)
    if keys.is_secret(row) then return stands_in(reading.text, text) end
    return type(text) == "string" and text:find("://", 1, true) and stands_in(reading.text, ask.password(text))
  end
  for _, row in ipairs(keys.top) do
    if reading.origin[row.key] == "file" and is_written(row, reading.file[row.key]) then return true end
  end
  for _, part in ipairs(keys.parts) do
    for _, name in ipairs(reading[part.group].names) do
      local entry = reading[part.group].at[name]
      for _, row in ipairs(part.rows) do
        if is_written(row, rawget(entry, row.name)) then return true end
      end
    end
  end
  return false
end

local function note_secrets(reading)
  for _, name in ipairs(reading.stores.names) do note_secret_file(reading, reading.stores.at[name].uri) end
  for _, name in ipairs(reading.namespaces.names) do note_secret_file(reading, reading.namespaces.at[name].store) end
  local others = reading.path and ask.open_to(reading.path)
  if others and has_secret(reading) then
    reading.note("others may %s %s, which contains a secret: chmod o= on it, or read the secret with file()",
      others, reading.shown)
  end
end

local function note_names(reading)
  local user, group = reading.top.user, reading.top.group
  if user and not ask.user(user) then reading.note("user: there is no user %s on this machine", user) end
  if group and not ask.group(group) then reading.note("group: there is no group %s on this machine", group) end
end

return function(reading)
  stores.check(reading)
  namespaces.check(reading)
  policy.check(reading)
  segments.check(reading)
  access.check_clients(reading)
  access.check_listens(reading)
  access.check_tls(reading)
  access.check_sites(reading)
  stores.note_unused(reading)
  note_secrets(reading)
  if not reading.top["http.state"] and #reading.top["admin.listen"] == 0 and not reading.is_handed then
    reading.note "http.state is false and admin.listen is off, so /metrics, /readyz and /version cannot be requested"
  end
  if reading.path then note_names(reading) end
end
