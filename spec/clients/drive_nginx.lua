--- Runs lua/vesta/resty/client.lua inside nginx by the commands in README, which drive_nginx.py passes on.
local client = require "vesta.resty.client"
local drive = {}
local ids
local MS = { size = true, ttl = true, timeout = true, wait = true }

local function open(pairs_text)
  if ids then ids:close() end
  local options = { servers = {}, name = "" }
  for key, value in pairs_text:gmatch "([%w_]+)=(%S*)" do
    value = ngx.unescape_uri((value:gsub("%+", "%%2B")))
    if key == "servers" then
      for one in value:gmatch "[^,]+" do table.insert(options.servers, one) end
    elseif key == "tls_unverified" then
      options[key] = value == "yes"
    elseif key ~= "tls_ca" then -- nginx has lua_ssl_trusted_certificate instead
      options[key] = MS[key] and tonumber(value) or value
    end
  end
  local ok, made = pcall(client.new, options)
  if not ok then return "error " .. made end
  ids = made
  return "ok"
end

-- Returns ids until the first error, and that error.
local function take(count)
  local got = {}
  for i = 1, count do
    local id, message, code = ids:next()
    if not id then return table.concat(got), (" error %s (%s)"):format(message, code) end
    got[i] = " " .. id
  end
  return table.concat(got), ""
end

local function at_once(threads, count)
  local spawned, got, wrong = {}, "", ""
  for i = 1, threads do spawned[i] = ngx.thread.spawn(take, count) end
  for i = 1, threads do
    local _, some, error = ngx.thread.wait(spawned[i])
    got = got .. some
    if error ~= "" then wrong = error end
  end
  return "ids" .. got .. wrong
end

local function info()
  local told, errors = ids:info(), {}
  for i, server in ipairs(told.servers) do errors[i] = ("%s:%d"):format(server.address, server.errors) end
  return ("info blocks=%d requests=%d drops=%d errors=%s"):format(told.blocks, told.requests, told.drops,
    table.concat(errors, ","))
end

--- Returns the reply to a command.
function drive.answer(line)
  local word, rest = line:match "^(%S*)%s*(.*)$"
  local a, b = rest:match "^(%d+)%s*(%d*)$"
  if word == "open" then return open(rest) end
  if word == "next" then
    local got, wrong = take(tonumber(a))
    return "ids" .. got .. wrong
  end
  if word == "at_once" then return at_once(tonumber(a), tonumber(b)) end
  if word == "info" then return info() end
  if word == "fork" then return "none" end
  if word == "defaults" then
    local held = client.defaults
    return ("defaults size=%d ttl=%d timeout=%d wait=%d"):format(held.size, held.ttl, held.timeout, held.wait)
  end
  if word == "close" then
    ids:close()
    return "ok"
  end
  return "error no command " .. word
end

return drive
