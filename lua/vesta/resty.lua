--- vesta.resty -- waits for ids and keeps leases inside nginx (OpenResty, or nginx with the Lua module).
-- An nginx worker must never sleep in C.  If the phase allows it, a pause is spent in ngx.sleep, and otherwise the
-- caller gets the error.  An nginx worker uses no stores other than file:.  If the generator file names another
-- store, a server on this machine must keep the lease, and a request for ids here wakes that server's keeper.
local resty = {}

-- Phases in which nginx can suspend the handler.
local SLEEPS = {
  rewrite = true, server_rewrite = true, access = true, content = true, timer = true, preread = true,
  ssl_cert = true, ssl_session_fetch = true, ssl_client_hello = true,
}
local SLEEP_S_MIN = 0.001  -- the resolution of nginx's timers
local ANSWER_POLL_S = 0.25 -- how often a worker checks whether its keeper waits for a choice
local REPORT_S = 2         -- how long a worker waits for a lease before it logs why there is none
local VERDICTS_MAX = 3     -- maximum policy verdicts for one call
local REQUEST_ID_MAX = 64  -- characters of a client's X-Request-Id
local BATCH_MAX = 10000

local wait_s_max = setmetatable({}, { __mode = "k" })
local chooses = setmetatable({}, { __mode = "k" }) -- whether the generator's policy chooses worker ids

-- A C function.  It returns the seconds to sleep or nil, and whether to wake the keeper, which runs in an nginx worker
-- or in the server.
local pause_step

-- Calls the generator's policy about a pause that is longer than the call may wait.  Returns the same as wait_out.
local function judged(gen, phase, patience)
  if patience.verdicts == VERDICTS_MAX then return nil end
  patience.verdicts = patience.verdicts + 1
  local wait_ms, message = patience.judge(gen)
  if not wait_ms then return nil, message end
  if wait_ms == 0 then return true end
  patience.verdicts = VERDICTS_MAX -- the policy set the time to wait, so it is not called again for this call
  if not SLEEPS[phase] then return nil end
  patience.left_s = wait_ms / 1000
  return true
end

--- Waits for one pause if the phase and the remaining time allow it, and otherwise calls the policy.  Returns true to
-- retry, or nil and the policy's message, if any.  `patience` has the remaining time and the verdicts of this call.
local function wait_out(gen, code, wait_s, patience)
  local phase = ngx.get_phase()
  if not SLEEPS[phase] then patience.left_s = 0 end
  local step_s, wakes_keeper = pause_step(code, wait_s, patience.left_s)
  -- The phase init starts no keeper, because nginx forks its workers later, and threads do not survive a fork.
  if wakes_keeper and phase ~= "init" then gen:keep() end
  if code == "choose" then -- the keeper waits for the policy's choice before it claims
    local answered, message = patience.judge(gen)
    if not answered then return nil, message end
  end
  if not step_s then
    if not wait_s then return nil end
    return judged(gen, phase, patience)
  end
  local sleep_s = math.max(step_s, SLEEP_S_MIN)
  ngx.sleep(sleep_s)
  patience.left_s = patience.left_s - sleep_s
  return true
end

local function new_patience(gen, judge)
  return { left_s = wait_s_max[gen] or 0, verdicts = 0, judge = judge }
end

local function waiting_next(next_now, class, judge)
  return function(self, ...)
    if getmetatable(self) ~= class then return next_now(self, ...) end -- raises at the caller's line
    local patience
    while true do
      local id, message, code, wait_s = next_now(self, ...)
      if id then return id end
      patience = patience or new_patience(self, judge)
      local again, said = wait_out(self, code, wait_s, patience)
      if not again then return nil, said or message, code, wait_s end
    end
  end
end

-- Returns a batch function that waits.  It retains ids across its waits, because a batch may need more ids than a time
-- unit has.
local function waiting_batch(batch_now, class, take, judge)
  return function(self, n)
    local is_count = type(n) == "number" and n >= 1 and n <= BATCH_MAX and n % 1 == 0
    if not is_count or getmetatable(self) ~= class then return batch_now(self, n) end
    local ids, patience = {}, nil
    while true do
      local more, message, code, wait_s = take(self, n - #ids)
      for _, id in ipairs(more or {}) do ids[#ids + 1] = id end
      if #ids == n then return ids end
      if not more then
        patience = patience or new_patience(self, judge)
        local again, said = wait_out(self, code, wait_s, patience)
        if not again then return nil, said or message, code, wait_s end
      end
    end
  end
end

-- Like waiting_next, but for a segment, which pauses only until a range arrives.
local function waiting_for_range(call, class)
  return function(self, n)
    local left_s
    while true do
      local got, message, code, wait_s = call(self, n)
      if got or code ~= "range" or getmetatable(self) ~= class then return got, message, code, wait_s end
      left_s = left_s or (SLEEPS[ngx.get_phase()] and wait_s_max[self] or 0)
      local step_s = pause_step(code, wait_s, left_s)
      if not step_s then return nil, message, code, wait_s end
      local sleep_s = math.max(step_s, SLEEP_S_MIN)
      ngx.sleep(sleep_s)
      left_s = left_s - sleep_s
    end
  end
end

local answer_keeper

--- Replaces the generators' methods by methods that wait.  The module vesta calls it with judge.judge and judge.answer
-- of vesta.judge.
function resty.install(core, judge, answer)
  answer_keeper, pause_step = answer, core.pause_step
  local methods = core.gen.__index
  methods.next = waiting_next(methods.next, core.gen, judge)
  methods.next_uuid = waiting_next(methods.next_uuid, core.gen, judge)
  methods.batch = waiting_batch(methods.batch, core.gen, core.take, judge)
  local class = core.segment_class
  class.__index.next = waiting_for_range(class.__index.next, class)
  class.__index.batch = waiting_for_range(class.__index.batch, class)
end

--- Opens a generator inside nginx.  Called by vesta.open with checked options.
function resty.open(core, options)
  if options.store and not options.store:find "^file:" then
    return nil, ('store "%s" cannot be used inside nginx: let a server keep the lease '):format(options.store)
      .. "(vesta serve --path FILE --store URI) and open the same path here", "bad_option"
  end
  local wait_ms_max = options.wait_ms_max or 0
  options.wait_ms_max = nil -- C must not wait, and starts a keeper only in gen:keep
  options.file_keeper = true
  local gen, message, code = core.open(options)
  if not gen then return nil, message, code end
  wait_s_max[gen] = wait_ms_max / 1000
  chooses[gen] = options.chooses
  return gen
end

--- Opens a segment inside nginx.  Called by vesta.segment with checked options.  Nginx workers use only file: stores,
-- because a connection to a database would block.
function resty.open_segment(core, options)
  for _, store in ipairs(options.stores) do
    if not store:find "^file:" then
      return nil, ('store "%s" cannot be used inside nginx: let a server fetch the ranges '):format(store)
        .. "(vesta serve) and ask it, with vesta.resty.client", "bad_option"
    end
  end
  local wait_ms_max = options.wait_ms_max or 0
  options.wait_ms_max = nil -- C must not wait
  options.file_keeper = true
  local seg, message, code = core.segment(options)
  if not seg then return nil, message, code end
  wait_s_max[seg] = wait_ms_max / 1000
  return seg
end

-- Logs that a generator has no lease.  A generator that is only a fallback gets no requests until its servers fail, and
-- then it is too late to notice.
local function report(premature, gen)
  local info = not premature and gen:info()
  if not info or info.holds_lease or info.keeper == "" then return end
  ngx.log(ngx.ERR, ("vesta: no lease for %s: %s"):format(info.path, info.keeper))
end

--- Starts the keeper of this nginx worker.  Call it in init_worker_by_lua of every worker: one keeper is active at a
-- time.  It does not start a keeper if a server's keeper holds the generator file.
function resty.keep(gen)
  if ngx.get_phase() == "init" then
    error("vesta.resty.keep belongs in init_worker_by_lua: a thread started in init_by_lua is lost in the fork", 2)
  end
  -- A timer passes the policy's choice to the keeper, because this nginx worker may get no requests.
  if chooses[gen] then
    ngx.timer.every(ANSWER_POLL_S, function(premature)
      if not premature then answer_keeper(gen) end
    end)
  end
  if ngx.get_phase() == "init_worker" then ngx.timer.at(REPORT_S, report, gen) end
  return gen:keep()
end

--- Returns whether a client's request id can be passed on: it must be short and safe in logs and headers.
function resty.is_request_id(text)
  return type(text) == "string" and #text <= REQUEST_ID_MAX and text:find "^[%w_.:+/=-]+$" ~= nil
end

--- Returns the client's X-Request-Id if it is valid, or else a new id (or nil, message, code, wait_s).
function resty.request_id(gen)
  local given = ngx.req.get_headers()["x-request-id"] -- a table if the client sent several
  if resty.is_request_id(given) then return given end
  return gen:next()
end

return resty
