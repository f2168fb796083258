--- Runs the rock's vesta.client by the commands in README:  lua5.4 drive.lua FOLDER_OF_MODULES
local here = arg[0]:match "^(.*)/" or "."
package.path = ("%s/../../lua/?.lua;%s/../../lua/?/init.lua;"):format(here, here) .. package.path
package.cpath = arg[1] .. "/?.so;" .. package.cpath
local vesta = require "vesta"

local CALLS = { size = "block_max", ttl = "ttl_ms", timeout = "timeout_ms", wait = "wait_ms_max" }
local client, fallback

local function close()
  if client then client:close() end
  if fallback then fallback:close() end
  client, fallback = nil, nil
  return "ok"
end

-- NAME=VALUE, the value in '...' or without spaces.
local function generator(text)
  local options = {}
  for key, _, value in (text .. " "):gmatch "(%w+)=('?)(.-)%2 " do options[key] = value end
  options.worker = tonumber(options.worker)
  return assert(vesta.open(options))
end

local function open(text)
  close()
  local options = { servers = {} }
  for key, value in text:gmatch "([%w_]+)=(%S*)" do
    value = value:gsub("%%(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end)
    if key == "servers" then
      for one in value:gmatch "[^,]+" do table.insert(options.servers, one) end
    elseif key == "fallback" then
      fallback = generator(value)
      options.fallback = fallback
    elseif key == "tls_unverified" then
      options[key] = value == "yes"
    else
      options[CALLS[key] or key] = CALLS[key] and math.tointeger(value) or value
    end
  end
  options.block_min = options.block_max
  local ok, made, message = pcall(vesta.client, options)
  if not (ok and made) then return "error " .. tostring(ok and message or made) end
  client = made
  return "ok"
end

-- Returns ids until the first error, and that error.
local function take(count)
  local got = { "ids" }
  for _ = 1, count do
    if not client then return table.concat(got, " ") .. " error closed" end
    local id, message = client:next()
    if not id then return table.concat(got, " ") .. " error " .. message end
    table.insert(got, id)
  end
  return table.concat(got, " ")
end

local function uuids(count)
  local got = { "uuids" }
  for _ = 1, count do
    local uuid, message = client:next_uuid()
    if not uuid then return "error " .. message end
    table.insert(got, uuid)
  end
  return table.concat(got, " ")
end

local function info()
  local told, errors = client:info(), {}
  for i, server in ipairs(told.servers) do errors[i] = ("%s:%d"):format(server.address, server.errors) end
  return ("info blocks=%d requests=%d drops=%d errors=%s"):format(told.blocks, told.requests, told.drops,
    table.concat(errors, ","))
end

local function answer(line)
  local word, rest = line:match "^(%S*)%s*(.*)$"
  if word == "open" then return open(rest) end
  if word == "next" then return take(tonumber(rest)) end
  if word == "uuids" then return uuids(tonumber(rest)) end
  if word == "at_once" then -- in turn, because Lua has no threads
    local threads, count = rest:match "(%d+) (%d+)"
    return take(threads * count)
  end
  if word == "info" then return info() end
  if word == "fork" or word == "defaults" then return "none" end
  if word == "close" then return close() end
  return "error no command " .. word
end

for line in io.lines() do
  io.write((answer(line):gsub("\n", " ")), "\n")
  io.flush()
end
