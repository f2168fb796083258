--- tour.lua MODULE PORT [PASSWORD] -- the tour of clients.py with lua-redis ("redis") or, inside nginx,
-- lua-resty-redis ("nginx.redis").
local module, port, password = arg[1], tonumber(arg[2]), arg[3]
local put = ngx and ngx.say or print

local function say(step, ids) put(step .. " " .. table.concat(ids, " ")) end

local function repeated(count, fn)
  for _ = 1, count do fn() end
end

local function with_lua_redis(redis)
  local client = redis.connect("127.0.0.1", port)
  if password then client:auth(password) end
  local function get(on) on:get("default") end
  say("id", { client:get("default") })
  say("batch", client:mget("default", "default", "default", "default", "default"))
  say("pipeline", (client:pipeline(function(p) repeated(10, function() get(p) end) end)))
  say("multi", (client:transaction(function(t) repeated(3, function() get(t) end) end)))
  local _, message = pcall(client.get, client, "nowhere")
  put("error " .. message)
  say("id", { client:get("default") })
end

local function with_resty_redis(redis)
  local client = redis:new()
  assert(client:connect("127.0.0.1", port))
  if password then assert(client:auth(password)) end
  local function get() return assert(client:get("default")) end
  say("id", { get() })
  say("batch", assert(client:mget("default", "default", "default", "default", "default")))
  client:init_pipeline()
  repeated(10, function() client:get("default") end)
  say("pipeline", assert(client:commit_pipeline()))
  assert(client:multi())
  repeated(3, get)
  say("multi", assert(client:exec()))
  local _, message = client:get("nowhere")
  put("error " .. message)
  say("id", { get() })
  assert(client:close())
end

local redis = require(module)
local ok, message = pcall(module == "redis" and with_lua_redis or with_resty_redis, redis)
put(ok and "done" or message)
