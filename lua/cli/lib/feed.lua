--- feed.lua -- a client of a server's admin listener.  It reads a stream of the server's state, with an event every
-- second, and sends single requests ("questions").  read() never blocks: it reads the bytes that have arrived.
--
-- `server` is { address = ..., token = text or nil, tls = options of wire.ask or nil }.
local json = require "cli.lib.json"
local secure = require "cli.lib.secure"
local wire = require "wire"

local CONNECT_MS = 2000
local BYTES_MAX = 8 << 20     -- a server's replies are shorter
local QUESTION_MS = 5000      -- a question fails after this time without a byte
local STREAM_MS = 10000       -- a stream fails after this time without a byte
local AGAIN_MS = 1000         -- minimum time between two attempts to connect
local CUT = "the server closed the connection before its answer was whole"

---------------------------------------------------------------- one answer

local Answer = {}
Answer.__index = Answer

local function ask(server, request)
  local token = server.token and ("Authorization: Bearer %s\r\n"):format(server.token) or ""
  local connection, trouble = wire.ask(server.address, ("%s HTTP/1.1\r\nHost: vesta\r\n"
    .. "Accept: application/json, text/event-stream\r\nConnection: close\r\n%s\r\n"):format(request, token), CONNECT_MS,
    server.tls)
  if not connection then return nil, secure.explained(trouble, server.tls) end
  return setmetatable({ connection = connection, bytes = "", heard_ms = wire.clock_ms() }, Answer)
end

-- Reads the bytes that have arrived.  Returns false if the reply is too long to be a server's.
function Answer:read()
  local bytes, has_ended, why = self.connection:read(BYTES_MAX)
  if bytes ~= "" then self.bytes, self.heard_ms = self.bytes .. bytes, wire.clock_ms() end
  self.has_ended, self.cut = has_ended, why and "the server ended TLS: " .. why or CUT
  return #self.bytes <= BYTES_MAX - 65536
end

--- Removes the response head from the bytes.  Returns the status code, 0 if the head is not HTTP, or nil if it has not
-- arrived completely.
function Answer:take_head()
  local _, stop = self.bytes:find("\r\n\r\n", 1, true)
  if not stop then return nil end
  local head = self.bytes:sub(1, stop)
  self.first_line = head:match "^[^\r\n]*"
  self.length = math.tointeger(tonumber(head:match "\r\nContent%-Length: (%d+)"))
  self.bytes = self.bytes:sub(stop + 1)
  return tonumber(head:match "^HTTP/1%.. (%d%d%d)" or 0)
end

function Answer:is_whole()
  return not self.length or self.length == #self.bytes
end

-- Cuts received bytes at the first NUL, because C functions read strings only up to a NUL.
local function until_nul(bytes) return bytes:match "^[^\0]*" end

---------------------------------------------------------------- questions

local Question = {}
Question.__index = Question

local feed = {}

function feed.question() return setmetatable({ trouble = "", body = "" }, Question) end

function Question:finish(trouble)
  if self.answer then self.answer.connection:close() end
  self.answer, self.trouble = nil, trouble
end

--- Sends a request, and abandons the previous one.
function Question:ask(server, request)
  self:finish ""
  local answer, trouble = ask(server, request)
  self.answer, self.trouble, self.body, self.status = answer, trouble or "", "", nil
end

function Question:connection() return self.answer and self.answer.connection or false end

-- Returns why the server rejected a request.  If the server lacks the route, it is older than this program.
local function why_refused(status, body)
  local value = json.read(body)
  local code, detail = json.text(json.get(value, "code"), 31), json.text(json.get(value, "detail"))
  if status == 404 and code ~= "unknown_name" then
    return "the server does not report this: it is older than this program"
  end
  if detail ~= "" then return detail end
  return status > 0 and ("the server answered with status %d"):format(status) or "the server's reply is not HTTP"
end

--- Reads the bytes that have arrived.  Returns whether the question is finished.  If so, `body` is the response
-- body, or `trouble` is an error message (otherwise "").  `status` is the status code, or nil.
function Question:read()
  local answer = self.answer
  if not answer then return self.trouble ~= "" end
  if not answer:read() then
    self:finish "the reply is longer than a vesta server sends"
  elseif answer.has_ended then
    local status = answer:take_head()
    self.status = status
    if not status or not answer:is_whole() then
      self:finish(answer.cut)
    elseif status ~= 200 and status ~= 202 then
      self:finish(why_refused(status, answer.bytes))
    else
      self.body = until_nul(answer.bytes)
      self:finish ""
    end
  elseif wire.clock_ms() > answer.heard_ms + QUESTION_MS then
    self:finish "no byte arrived for 5 s"
  end
  return not self.answer
end

---------------------------------------------------------------- the stream

-- polls        true if the server offers no stream, or no further stream, so the client requests the state every second
-- is_refused   true if the server rejects the request permanently
local Stream = {}
Stream.__index = Stream

function feed.stream(server) return setmetatable({ server = server, trouble = "" }, Stream) end

function Stream:connection() return self.answer and self.answer.connection or false end

function Stream:lose(trouble)
  if self.answer then self.answer.connection:close() end
  self.answer, self.has_head, self.trouble = nil, false, trouble
end

--- Connects if there is no connection, at most once a second.  Closes a connection that has been silent for too long.
function Stream:connect()
  local now_ms = wire.clock_ms()
  if self.answer and now_ms > self.answer.heard_ms + STREAM_MS then self:lose "no byte arrived for 10 s" end
  if self.answer or self.tried_ms and now_ms < self.tried_ms + AGAIN_MS then return end
  self.tried_ms = now_ms
  local answer, trouble = ask(self.server, self.polls and "GET /admin/status" or "GET /admin/events")
  if answer then
    self.answer = answer
  else
    self:lose(trouble)
    self.polls = false -- tries the stream again, because a restarted server may be a newer version
  end
end

-- Handles an error status.  An older server has no stream, and a server with the maximum number of streams rejects
-- another one.  Both still return their state to single requests.
function Stream:take_refusal(status)
  if status ~= 401 and not self.polls then
    self.polls, self.tried_ms = true, nil
    return self:lose ""
  end
  self.is_refused = status < 500 -- a proxy sends 5xx if it cannot reach the server at the moment
  self:lose(status == 401 and "the token is missing or wrong: use --token-file, VESTA_ADMIN_TOKEN or -c"
    or "this is not the admin listener of a vesta server: it answered " .. self.answer.first_line:sub(1, 60))
end

-- Returns the newest complete event of a stream, and skips older ones.
function Stream:take_event()
  local bytes, at, last = self.answer.bytes, 1, nil
  while true do
    local stop = bytes:find("\n\n", at, true)
    if not stop then break end
    local data = until_nul(bytes:sub(at, stop - 1):match "data: (.+)" or "")
    if data ~= "" then last = data end
    at = stop + 2
  end
  self.answer.bytes = bytes:sub(at)
  if last then self.trouble = "" end
  return last
end

function Stream:take_state()
  local state = until_nul(self.answer.bytes)
  local is_there = self.answer:is_whole() and state ~= ""
  self:lose(is_there and "" or self.answer.cut)
  return is_there and state or nil
end

--- Reads the bytes that have arrived.  Returns the newest complete event as JSON, or nil.
function Stream:read()
  local answer = self.answer
  if not answer then return nil end
  if not answer:read() then
    self:lose "an event is longer than a vesta server sends"
    return nil
  end
  if not self.has_head then
    local status = answer:take_head()
    if status and status ~= 200 then
      self:take_refusal(status)
      return nil
    end
    self.has_head = status ~= nil
  end
  if self.polls and self.has_head then return answer.has_ended and self:take_state() or nil end
  local event = self.has_head and self:take_event() or nil
  if answer.has_ended then self:lose(answer.cut ~= CUT and answer.cut or "the server closed the connection") end
  return event
end

return feed
