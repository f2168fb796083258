-- vesta.lua -- gives each request in HAProxy (2.4 or newer) an id from vesta servers.
--
--     setenv VESTA_IDS "NAME HOST:PORT"       a namespace or tag, and an address of the Redis protocol
--     lua-load /etc/haproxy/vesta.lua
--     http-request lua.vesta_id               sets txn.request_id: the request's X-Request-Id if valid, else an id
--
-- A background task fetches ids a hundred at a time, before they are needed, and a request takes one from memory.
-- HOST:PORT is a `listen` section of HAProxy, which chooses a healthy server.  If no id arrives in time, txn.request_id
-- stays unset, and the configuration defines a replacement.
local told = os.getenv "VESTA_IDS" or ""
local name, host, port = told:match "^([%w_.:-]+) +(%S+):(%d+)$"
if not name then error(('vesta.lua: setenv VESTA_IDS "NAME HOST:PORT" is expected, not "%s"'):format(told), 0) end

local BATCH = 100      -- ids of one reply
local TTL_S = 10       -- for how long they may be used: the time in an id is that of its fetching
local TIMEOUT_S = 2    -- for one reply; longer than a server lets a request wait (1.5 s)
local WAIT_MS_MAX = 50 -- for which a request waits where there is no id
local POLL_MS = 5
local REST_MS = 100    -- after an error, twice as long with each in a row
local REST_MS_MAX = 6400

local current, following = {}, nil -- lists of ids in descending order, each with the time `until_s` at which it expires
local failures = 0

local function now_s() return core.now().sec end

-- Reads the reply to VESTA.NEXT, an array of bulk strings.  Returns nil and a message for any other reply.
local function read(socket)
  local until_s = now_s() + TIMEOUT_S
  local head = socket:receive "*l"
  if head ~= "*" .. BATCH then return nil, head or "no reply" end
  local ids = {}
  for i = BATCH, 1, -1 do -- reversed, because take() removes ids from the end
    local length, id = socket:receive "*l", socket:receive "*l"
    if not id or length ~= "$" .. #id or not id:find "^%d+$" then return nil, "the reply contains an invalid id" end
    if now_s() > until_s then return nil, "the reply takes too long" end
    ids[i] = id
  end
  ids.until_s = until_s - TIMEOUT_S + TTL_S
  return ids
end

local function fetch()
  local socket = core.tcp()
  socket:settimeout(TIMEOUT_S)
  local ids, message
  if socket:connect(host, tonumber(port)) and socket:send(("VESTA.NEXT %s %d\r\n"):format(name, BATCH)) then
    ids, message = read(socket)
  end
  socket:close()
  return ids, message or "no connection"
end

-- Fetches the next list when half of the current one is used.  Without requests, it fetches nothing.
core.register_task(function()
  while true do
    if following or (#current > BATCH / 2 and now_s() < current.until_s) then
      core.msleep(POLL_MS)
    else
      local ids, message = fetch()
      if ids then
        following, failures = ids, 0
      else
        failures = failures + 1
        if failures == 1 then core.Alert(("vesta: no ids of %s from %s:%s: %s"):format(name, host, port, message)) end
        core.msleep(math.min(REST_MS * 2 ^ (failures - 1), REST_MS_MAX) // 1)
      end
    end
  end
end)

local function take()
  if #current == 0 or now_s() >= current.until_s then
    if not following then return nil end
    current, following = following, nil
    if now_s() >= current.until_s then
      current = {}
      return nil
    end
  end
  return table.remove(current)
end

-- Returns whether a request id is short and safe in logs and headers.  The rule is the same as in vesta.resty.
local function is_request_id(text) return #text <= 64 and text:find "^[%w_.:+/=-]+$" ~= nil end

core.register_action("vesta_id", { "http-req" }, function(txn)
  local given = txn.http:req_get_headers()["x-request-id"] -- the list's first index is 0
  local id = given and not given[1] and is_request_id(given[0]) and given[0] or take()
  local waited_ms = 0
  while not id and waited_ms < WAIT_MS_MAX do
    core.msleep(POLL_MS)
    waited_ms = waited_ms + POLL_MS
    id = take()
  end
  if id then txn:set_var("txn.request_id", id) end
end, 0)
