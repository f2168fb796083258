--- vesta.resty.client -- ids from vesta servers inside nginx (OpenResty, or nginx with the Lua module): no C, no disk.
--
--     local client = require "vesta.resty.client"
--     local ids = client.new { servers = { "10.0.0.1:8089", "10.0.0.2:8089" }, name = "orders" }
--     local id, message, code, wait_s = ids:next()
--
-- With credentials and TLS, if nginx has `lua_ssl_trusted_certificate /etc/shop/ca.pem`:
--
--     client.new { servers = { "rediss://shop@ids1:8089" }, name = "orders", secret_file = "/etc/shop/ids.secret" }
--
-- Each nginx worker takes ids from two blocks: a timer fetches the next block while the current one is used.  No id is
-- issued twice, because a block belongs to one nginx worker, and nothing yields between reading a block's cursor and
-- advancing it.  It needs LuaJIT's FFI for exact 64-bit integers and a monotonic clock, but not the rest of the rock.
-- docs/blocks.md describes the protocol, and docs/openresty.md is the manual.
local is_luajit, ffi = pcall(require, "ffi")
if not is_luajit then error "vesta.resty.client needs LuaJIT with its FFI, as ngx_lua does since 0.10.16" end
local bit = require "bit"
local semaphore = require "ngx.semaphore"
local access = require "vesta.resty.access"

local band, bor, lshift, rshift = bit.band, bit.bor, bit.lshift, bit.rshift
local max, min = math.max, math.min

local client = { _VERSION = "0.2.0" }
local methods = {}
local class = { __index = methods }

local BATCH_MAX = 10000
local REST_S_MIN, REST_S_MAX = 0.1, 6.4 -- pause after a server failed, which doubles with each consecutive failure
local START_S_MAX = 1                   -- a timer that starts later was dropped because of lua_max_running_timers
local IDLE_MS = 60000                   -- how long an idle connection is kept for the next block
local REPLY_BYTES_MAX = 8192
local SAID_MAX = 200                    -- maximum characters of a server's text in a message

-- Phases in which nginx can suspend the handler.
local SLEEPS = {
  rewrite = true, server_rewrite = true, access = true, content = true, timer = true, preread = true,
  ssl_cert = true, ssl_session_fetch = true, ssl_client_hello = true,
}
-- Temporary errors.  Any other error is returned to the caller at once.
local PASSES = { TRYAGAIN = true, LOADING = true, OOM = true }
local OLD_SECRET = { NOAUTH = true, NOPERM = true }

---------------------------------------------------------------- time, and 64 bits

ffi.cdef [[int vesta_client_clock(int clock, long *time) __asm__("clock_gettime");]]
local CLOCK_BOOTTIME = 7 -- includes the time in which the machine is suspended
local time = ffi.new "long[2]"

local function now()
  ffi.C.vesta_client_clock(CLOCK_BOOTTIME, time)
  return tonumber(time[0]) + tonumber(time[1]) * 1e-9
end

local uint64 = ffi.typeof "uint64_t"
local WIDE_MAX = "18446744073709551615"

local function wide(text)
  text = tostring(text)
  if not text:find "^%d+$" or #text > #WIDE_MAX or (#text == #WIDE_MAX and text > WIDE_MAX) then return nil end
  return uint64(tonumber(text:sub(1, -11)) or 0) * uint64(1e10) + tonumber(text:sub(-10))
end

local function whole(value, least, most)
  return type(value) == "number" and value >= least and value <= most and value % 1 == 0
end

-- Makes a server's text safe for a log.
local function plain(text)
  return (tostring(text):sub(1, SAID_MAX):gsub("%c", "?"))
end

---------------------------------------------------------------- blocks

-- Returns the i-th id of a block, from 0 on.  docs/blocks.md describes the fields of a block.
local function id_of(block, i)
  local id = block.first + block.stride * i
  if block.base then
    local tick = id
    id = bor(block.base, lshift(rshift(tick, block.seq_bits), block.time_shift),
      lshift(rshift(band(tick, block.seq_mask), block.low_bits), block.seq_shift),
      lshift(band(tick, block.low_mask), block.low_shift))
  end
  return tostring(id):sub(1, -4) -- without "ULL"
end

-- Reads the shifts of a block of ticks.  Returns nil, or an error.
local function read_shifts(block, value)
  block.base = wide(value.base)
  if not block.base then return "a block that has no base" end
  for _, shift in ipairs { "seq_bits", "time_shift", "seq_shift", "low_bits", "low_shift" } do
    if not whole(value[shift], 0, 63) then return ("a block that has no %s from 0 to 63"):format(shift) end
    block[shift] = value[shift]
  end
  block.seq_mask = lshift(uint64(1), block.seq_bits) - 1
  block.low_mask = lshift(uint64(1), block.low_bits) - 1
  if block.low_bits > block.seq_bits then return "a block whose ids do not fit into 64 bits" end
  local times, seen = uint64(0), block.base
  while times < rshift(block.last, block.seq_bits) do times = bor(lshift(times, 1), uint64(1)) end
  for _, part in ipairs {
    { times, block.time_shift }, { rshift(block.seq_mask, block.low_bits), block.seq_shift },
    { block.low_mask, block.low_shift },
  } do
    local at = lshift(part[1], part[2])
    if rshift(at, part[2]) ~= part[1] then return "a block whose ids do not fit into 64 bits" end
    if band(at, seen) ~= 0 then return "a block that has bits that overlap" end -- its ids could be duplicates
    seen = bor(seen, at)
  end
end

-- Returns a block from the names and values of a reply, or nil and an error.
local function block_of(reply, name, size)
  local value = {}
  for i = 1, #reply - 1, 2 do value[reply[i]] = reply[i + 1] end
  if value.ns ~= name then return nil, "a reply that is about another name" end
  if value.kind ~= "ticks" and value.kind ~= "numbers" then
    return nil, ("a block of kind '%s', which this client does not know"):format(plain(value.kind))
  end
  if not whole(value.count, 1, size) then return nil, ("a block that has no count from 1 to %d"):format(size) end
  local first, stride = wide(value.first), value.kind == "ticks" and uint64(1) or wide(value.stride)
  if not first then return nil, "a block that has no first number" end
  if not stride or stride == 0 then return nil, "a block that has no stride" end
  if (uint64(0) - 1 - first) / stride < value.count - 1 then return nil, "a block whose ids do not fit into 64 bits" end
  local block = { first = first, last = first + stride * (value.count - 1), stride = stride, count = value.count,
    used = 0, mark = math.floor(value.count / 10) }
  local wrong = value.kind == "ticks" and read_shifts(block, value)
  if wrong then return nil, wrong end
  return block
end

-- Returns whether two blocks have a common id.  Only a server that is faulty or lost its state sends such blocks.
local function overlap(a, b)
  if not b or a.base ~= b.base or a.stride ~= b.stride or a.first > b.last or b.first > a.last then return false end
  return (a.first > b.first and a.first - b.first or b.first - a.first) % a.stride == 0
end

---------------------------------------------------------------- the Redis protocol

local function request(...)
  local parts = { ("*%d\r\n"):format(select("#", ...)) }
  for _, word in ipairs { ... } do parts[#parts + 1] = ("$%d\r\n%s\r\n"):format(#word, word) end
  return table.concat(parts)
end

-- Parses the reply at `at`.  Returns its value and the position after it.  Returns nil if the reply is incomplete, and
-- false if it is invalid.  The value of an error is { said = text }, and the value of an array is a list of values.
local function parse(bytes, at)
  local stop = bytes:find("\r\n", at, true)
  if not stop then return nil end
  local kind, head = bytes:sub(at, at), bytes:sub(at + 1, stop - 1)
  at = stop + 2
  if kind == "+" then return head, at end
  if kind == "-" then return { said = head }, at end
  local number = #head <= 14 and head:find "^%-?%d+$" and tonumber(head)
  if kind == ":" and number then return number, at end
  if not number or number < 0 or number > REPLY_BYTES_MAX then return false end
  if kind == "$" then
    if #bytes < at + number + 1 then return nil end
    return bytes:sub(at + number, at + number + 1) == "\r\n" and bytes:sub(at, at + number - 1), at + number + 2
  end
  if kind ~= "*" then return false end
  local values = {}
  for i = 1, number do
    local value
    value, at = parse(bytes, at)
    if value == nil then return nil end
    if not value or type(value) == "table" then return false end
    values[i] = value
  end
  return values, at
end

-- Sends a request.  Returns the reply, or nil, a message, and whether the server had closed the connection.
local function exchange(sock, words, until_s)
  local ok, message = sock:send(words)
  if not ok then return nil, message, message ~= "timeout" end
  local bytes = ""
  while true do
    local left_ms = (until_s - now()) * 1000
    if left_ms < 1 then return nil, "timeout" end
    sock:settimeout(left_ms)
    local more, failure = sock:receiveany(4096)
    if not more then return nil, failure, bytes == "" and failure ~= "timeout" end
    bytes = bytes .. more
    local value, at = parse(bytes, 1)
    if value and at == #bytes + 1 then return value end
    if value ~= nil or #bytes > REPLY_BYTES_MAX then return nil, "a reply that is not of the Redis protocol" end
  end
end

---------------------------------------------------------------- servers

-- Returns the block in a reply.  Without a valid block, returns nil, a message, whether a retry may succeed, and
-- whether the reply was valid.
local function judge(self, reply)
  if type(reply) ~= "table" then return nil, "a reply that is not a block", true, false end
  if reply.said then
    local passes = PASSES[reply.said:match "^%u+"] or false
    return nil, plain(reply.said), passes, passes
  end
  local block, wrong = block_of(reply, self.name, self.size)
  if block and (overlap(block, self.block) or overlap(block, self.before)) then
    block, wrong = nil, "a block that was issued before"
  end
  return block, wrong, true, block ~= nil
end

-- Authenticates.  Returns true, or nil, a message, and whether a retry may succeed.
local function greet(self, server, sock, until_s)
  local hello, failure = access.greeting(self.who, server)
  if hello == nil then return true end
  if not hello then return nil, failure, true end
  local reply, message = exchange(sock, request(unpack(hello)), until_s)
  if reply == "OK" then return true end
  if type(reply) ~= "table" or not reply.said then return nil, message or "a greeting not answered with OK", true end
  if reply.said:find(hello[#hello]:sub(1, 8), 1, true) then -- a Redis without AUTH repeats the arguments
    return nil, "its reply to AUTH is not shown, because it repeats the secret", false
  end
  return nil, plain(reply.said), PASSES[reply.said:match "^%u+"] or false
end

-- Returns a connection for requests, or nil, a message, and whether a retry may succeed.
local function connect(self, server, until_s)
  local sock, passes = ngx.socket.tcp(), true
  sock:settimeout(max(1, (until_s - now()) * 1000))
  local ok, failure = sock:connect(unpack(server.where))
  if not ok or sock:getreusedtimes() > 0 then return ok and sock, failure, true end
  if server.is_tls then ok, failure, passes = access.secure(self.who, server, sock) end
  if ok then ok, failure, passes = greet(self, server, sock, until_s) end
  if ok then return sock end
  sock:close()
  return nil, failure, passes
end

-- Fetches a block from one server.  Returns the block, or nil, a message, and whether a retry may succeed.
local function ask(self, server)
  local until_s = now() + self.timeout_s
  while true do
    local sock, failure, may_pass = connect(self, server, until_s)
    if not sock then return nil, failure, may_pass end
    local is_new = sock:getreusedtimes() == 0
    self.requests = self.requests + 1
    local reply, message, is_gone = exchange(sock, self.request, until_s)
    local block, wrong, passes, is_understood = judge(self, reply)
    -- The secret of a pooled connection may have been replaced since the connection was opened.
    local is_old_secret = not is_new and type(reply) == "table" and reply.said and OLD_SECRET[reply.said:match "^%u+"]
    if is_understood then
      sock:setkeepalive(IDLE_MS, 1)
    else
      sock:close() -- a late reply would be read as the reply to the next request
    end
    if is_new or not (is_gone or is_old_secret) then return block, message or wrong, passes end
  end -- retry on a new connection: the server closed the pooled connection or no longer accepts its secret
end

-- Returns the servers that are not in a pause after a failure, beginning with the server that last sent a block.  If
-- all are in a pause, returns the server with the earliest end.
local function candidates(self)
  local found, soonest = {}, nil
  self.at = self.at or (ngx.worker.id() or 0) % #self.servers + 1 -- spreads the nginx workers over the servers
  for i = 0, #self.servers - 1 do
    local server = self.servers[(self.at + i - 1) % #self.servers + 1]
    if server.rests_until <= now() then found[#found + 1] = server end
    if not soonest or server.rests_until < soonest.rests_until then soonest = server end
  end
  return found[1] and found or { soonest }
end

-- Fetches a block from any server.  Returns nil if every server fails.
local function fetch_block(self, fetch)
  for _, server in ipairs(candidates(self)) do
    local asked_s = now()
    fetch.until_s = asked_s + 2 * self.timeout_s + START_S_MAX
    local block, message, may_pass = ask(self, server)
    if block then
      server.rest_s, server.rests_until, server.refuses, self.at = 0, 0, false, server.number
      server.is_well = true
      block.expires_s = asked_s + self.ttl_s -- from the time of the request, which is before the server's grant
      block.half_s = asked_s + self.ttl_s / 2
      return block
    end
    server.errors, server.message, server.refuses, server.is_well = server.errors + 1, message, not may_pass, false
    server.rest_s = may_pass and min(max(server.rest_s * 2, REST_S_MIN), REST_S_MAX) or REST_S_MAX
    server.rests_until = now() + server.rest_s
  end
end

-- Returns a message with the last result of each server, and the code: "refused" only if all servers reject the
-- request.
local function why_none(self)
  local said, code = {}, "refused"
  for i, server in ipairs(self.servers) do
    said[i] = ("%s: %s"):format(server.address,
      server.is_well and "replied, but its next block has not arrived yet" or server.message or "not asked yet")
    if not server.refuses then code = "no_block" end
  end
  return ("no block of '%s': %s"):format(self.name, table.concat(said, "; ")), code
end

---------------------------------------------------------------- fetching in the background

local function run_fetch(_, self, fetch) -- runs also while the nginx worker exits, because it may still have requests
  local ok, block = pcall(fetch_block, self, fetch)
  if self.fetch == fetch then self.fetch = nil end
  if ok and block and not self.is_closed then
    self.spare, self.blocks, self.asks_at = block, self.blocks + 1, 0
  elseif not (ok and block) then
    self.asks_at = now() + REST_S_MIN -- no caller starts a fetch before this time
  end
  if not ok then ngx.log(ngx.ERR, "vesta.resty.client: ", block) end
  local waiting = self.ready and -self.ready:count() or 0
  if waiting > 0 then self.ready:post(waiting) end
end

-- Starts a fetch unless one is running.  Returns true, or nil, message, code, wait_s.  Never yields.
local function start_fetch(self, now_s)
  if self.is_closed then return nil, "the client is closed", "closed" end
  if self.fetch and now_s < self.fetch.until_s then return true end
  if now_s < self.asks_at then
    local message, code = why_none(self)
    return nil, message, code, self.asks_at - now_s
  end
  local fetch = { until_s = now_s + START_S_MAX }
  local may, ok, message = pcall(ngx.timer.at, 0, run_fetch, self, fetch)
  if may and ok then
    self.fetch = fetch
    return true
  end
  return nil, ("no timer to fetch a block of '%s': %s"):format(self.name, may and message or ok), "no_block", REST_S_MIN
end

---------------------------------------------------------------- ids

-- Returns the next id, or nil if no block is valid.  Never yields.
local function take(self)
  local now_s, block = now(), self.block
  while not block or block.used == block.count or now_s >= block.expires_s do
    if not block and not self.spare then return nil end
    if block and block.used < block.count then self.drops = self.drops + 1 end
    self.before, self.block, self.spare = block or self.before, self.spare, nil
    block = self.block
  end
  local i = block.used
  block.used = i + 1
  if not self.spare and (i >= block.mark or now_s >= block.half_s) then start_fetch(self, now_s) end
  return id_of(block, i)
end

-- Waits for a block if the phase allows it.  Returns true to try again, or nil, message, code, wait_s.
local function wait(self, until_s)
  local now_s = now()
  local is_coming, message, code, wait_s = start_fetch(self, now_s)
  local may_wait = now_s < until_s and SLEEPS[ngx.get_phase()]
  if is_coming and may_wait then
    -- client.new must not create the semaphore, because a reload of nginx frees the log of a semaphore that was created
    -- in init_by_lua.
    self.ready = self.ready or semaphore.new()
    self.ready:wait(max(min(until_s, self.fetch.until_s) - now_s, 0.001))
    return true
  end
  if is_coming then
    return nil, (why_none(self)), "no_block", REST_S_MIN
  end
  if not (may_wait and code == "no_block") then return nil, message, code, wait_s end
  ngx.sleep(max(min(until_s - now_s, wait_s), 0.001))
  return true
end

local function take_or_wait(self, until_s)
  while true do
    local id = take(self)
    if id then return id end
    local again, message, code, wait_s = wait(self, until_s)
    if not again then return nil, message, code, wait_s end
  end
end

--- Returns the next id as a decimal string.  After an error, returns nil, message, code (`no_block`, `refused` or
-- `closed`), wait_s.
function methods:next()
  local id = take(self)
  if id then return id end
  return take_or_wait(self, now() + self.wait_s_max)
end

--- Returns a list of n ids.  After an error, returns nil, message, code, wait_s.  The ids taken so far are lost.
function methods:batch(n)
  if not whole(n, 1, BATCH_MAX) then
    error(("client:batch: n must be a whole number from 1 to %d, not %s"):format(BATCH_MAX, plain(n)), 2)
  end
  local ids, until_s = {}, now() + self.wait_s_max
  for i = 1, n do
    local id, message, code, wait_s = take_or_wait(self, until_s)
    if not id then return nil, message, code, wait_s end
    ids[i] = id
  end
  return ids
end

--- Returns the state of this nginx worker's client: docs/openresty.md lists the fields.
function methods:info()
  local servers, left = {}, 0
  for i, server in ipairs(self.servers) do
    servers[i] = { address = server.address, errors = server.errors, message = server.message,
      rests_s = max(0, server.rests_until - now()) }
  end
  for _, block in pairs { self.block, spare = self.spare } do left = left + block.count - block.used end
  return { name = self.name, left = left, blocks = self.blocks, requests = self.requests, drops = self.drops,
    is_fetching = self.fetch ~= nil, servers = servers }
end

--- Discards the blocks of this nginx worker.  Later calls return the code "closed".
function methods:close()
  self.block, self.spare, self.is_closed = nil, nil, true
end

---------------------------------------------------------------- options

local clients = 0 -- the pools of clients are separate, because clients may have different passwords

local function servers(list)
  if type(list) ~= "table" or #list < 1 or #list > 16 then return nil end
  clients = clients + 1
  local found = {}
  for i, text in ipairs(list) do
    local server = access.server(text)
    if not server then return nil end
    server.where[#server.where + 1] = { pool = ("vesta-%d-%s"):format(clients, server.address) }
    server.number, server.errors, server.rest_s, server.rests_until = i, 0, 0, 0
    found[i] = server
  end
  return found
end

local function text(pattern, length_max)
  return function(value)
    return type(value) == "string" and #value <= length_max and value:find(pattern) and value or nil
  end
end

local function milliseconds(least, most)
  return function(value) return type(value) == "number" and value >= least and value <= most and value or nil end
end

-- Maps each option's name to the function that reads its value, the expected value for messages, and the default.
local OPTIONS = {
  servers = { servers, '1 to 16 addresses like "10.0.0.1:8089", "[::1]:8089", "unix:/run/vesta/resp.sock" or '
    .. '"redis://name:secret@host:port", or rediss:// for TLS, with %XX for special characters in a name or a secret' },
  name = { text("^[%w_.:-]+$", 64), "1 to 64 characters of A-Za-z0-9_.:-" },
  size = { function(n) return whole(n, 1, 100000) and n or nil end, "a whole number from 1 to 100000", 1000 },
  ttl = { milliseconds(1, 86400000), "milliseconds from 1 to a day", 10000 },
  timeout = { milliseconds(1, 86400000), "milliseconds from 1 to a day", 2000 },
  wait = { milliseconds(0, 86400000), "milliseconds from 0 to a day", 5000 },
  user = { text("^%C+$", 255), "1 to 255 characters of one line", false },
  password = { text("^%C+$", 512), "1 to 512 characters of one line", false },
  secret_file = { text("^%C+$", 4095), "a path", false },
  tls_certificate = { text("^%C+$", 4095), "a path", false },
  tls_key = { text("^%C+$", 4095), "a path", false },
  tls_name = { text("^[%w_.-]+$", 255), "a host's name", false },
  tls_unverified = { function(is) return type(is) == "boolean" and is or nil end, "true, if it is set", false },
}

--- The default of each option, by name.  Times are in milliseconds.
client.defaults = {}
local names = {}
for key, row in pairs(OPTIONS) do
  client.defaults[key] = row[3] or nil
  names[#names + 1] = key
end
table.sort(names)

local SECRETS = { user = true, password = true }

local function checked(options)
  if type(options) ~= "table" then error("client.new: a table of options is expected, not " .. type(options), 3) end
  local found = {}
  for key in pairs(options) do
    if not OPTIONS[key] then
      error(("client.new: unknown option %s: use one of %s"):format(plain(key), table.concat(names, ", ")), 3)
    end
  end
  for key, row in pairs(OPTIONS) do
    local value = options[key]
    found[key] = row[3]
    if value ~= nil or row[3] == nil then found[key] = row[1](value) end
    if found[key] == nil then
      local shown = SECRETS[key] and type(value) or plain(access.shown(value))
      error(("client.new: option %s must be %s, not %s"):format(key, row[2], shown), 3)
    end
  end
  return found
end

--- Creates a client, in any phase.  The first request for an id sends the first request to a server.  Raises if an
-- option is invalid.
function client.new(options)
  local o = checked(options)
  local who, wrong = access.of(o, o.servers)
  if not who then error("client.new: " .. wrong, 2) end
  return setmetatable({
    name = o.name, size = o.size, servers = o.servers,
    ttl_s = o.ttl / 1000, timeout_s = o.timeout / 1000, wait_s_max = o.wait / 1000,
    request = request("VESTA.BLOCK", o.name, ("%d"):format(o.size)),
    who = who,
    blocks = 0, requests = 0, drops = 0, asks_at = 0,
  }, class)
end

return client
