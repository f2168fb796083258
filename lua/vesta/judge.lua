--- vesta.judge -- calls the policy of a generator if a pause is longer than the call may wait.
-- csrc/rock/gen.c calls this module in plain Lua, and vesta.resty calls it inside nginx.  A call that gets its id at
-- once never calls it.  If a policy fails, the fixed rules apply.
local engine = require "vesta.engine"
local policies = require "vesta.policy"

local HOOK_OF = { clock_back = "on_clock_back", full = "on_exhausted", ahead = "on_exhausted" }
local WAIT_MS_MAX = 60000 -- the wait if a policy returns "wait" without a time
local SWITCH_WAIT_MS = 1000 -- the wait after "switch", in which the keeper claims another worker id or fails

local policy_of = setmetatable({}, { __mode = "k" }) -- by generator

local judge = {}

local function refused_start(policy, reason)
  return ("policy %s refuses to start: %s"):format(policy.name, reason or "it gave no reason")
end

judge.warn = policies.warn

-- Warns once per policy, because a faulty policy fails at every pause.
local function warn_of(policy, problem)
  if policy.warned then return end
  policy.warned = true
  judge.warn(("vesta: policy %s: %s. The fixed rules apply, and this is logged once"):format(policy.name, problem))
end

--- Returns whether a policy chooses worker ids.
function judge.names_worker(policy) return policies.has(policy, "choose_worker") end

--- Returns whether the keeper must ask a policy before it claims.
function judge.chooses(policy) return judge.names_worker(policy) or policies.has(policy, "on_lease_lost") end

--- Loads the policy of vesta.open's options, and calls its on_start.  Returns the policy, or nil, message, code.
function judge.start(options, now_ms)
  local policy, message, code = policies.load(options.policy, { policy_env = options.policy_env })
  if not policy then return nil, message, code end
  -- If the policy chooses worker ids, on_start is called later, when the records of the peers are known.
  if not policies.has(policy, "on_start") or judge.chooses(policy) then return policy end
  local ok, word, _, reason = policies.ask(policy, "on_start", { now_ms = now_ms, peers = {} })
  if not ok then
    warn_of(policy, word)
  elseif word == "refuse" then
    return nil, refused_start(policy, reason), "refused"
  end
  return policy
end

--- Assigns a policy to a generator.  The policy then decides about its pauses.
function judge.keep(gen, policy) policy_of[gen] = policy end

local function refusal(policy, reason) return reason and ("%s (policy %s)"):format(reason, policy.name) end

---------------------------------------------------------------- worker ids, as in csrc/policy/control/leases.c

-- Returns the other holders of worker ids, with the current times of their clocks.
local function peers_of(choice)
  local peers = {}
  for _, record in ipairs(choice.records) do
    if record.held and not record.expired and record.identity ~= choice.identity then
      peers[#peers + 1] = { worker = record.worker, seen_ms = record.seen_ms + choice.now_ms - record.written_ms }
    end
  end
  return peers
end

local function last_of(choice)
  local last_ms
  for _, record in ipairs(choice.records) do
    if record.identity == choice.identity then last_ms = math.max(last_ms or record.seen_ms, record.seen_ms) end
  end
  return last_ms
end

-- Returns the verdict and the reason of a policy's function, or nil if the policy lacks it or fails.
local function word_of(policy, hook, ctx)
  if not policies.has(policy, hook) then return nil end
  local ok, word, _, reason = policies.ask(policy, hook, ctx)
  if ok then return word, reason end
  warn_of(policy, word)
end

-- Calls on_start and on_lease_lost if they are due.  If the policy rejects a lease, sets policy.over to the reason.
local function ask_first(policy, namespace, choice, now_ms)
  if not policy.started then
    policy.started = true
    local word, reason = word_of(policy, "on_start",
      { namespace = namespace, now_ms = now_ms, last_ms = last_of(choice), peers = peers_of(choice) })
    if word == "refuse" then policy.over = refused_start(policy, reason) end
  end
  if choice.lost and not policy.lost then
    local word, reason = word_of(policy, "on_lease_lost",
      { namespace = namespace, now_ms = now_ms, worker = choice.lost })
    if word == "stop" then
      policy.over = ("policy %s stops after the loss of worker id %d: %s")
        :format(policy.name, choice.lost, reason or "it gave no reason")
    end
  end
  policy.lost = choice.lost
end

-- Passes the policy's choice to the keeper of this process, if the keeper waits for it.  Returns the same as
-- judge.judge.
local function choose(policy, core, gen)
  local choice = core.choice(gen)
  if not choice then return 0 end -- another call has already passed the choice to the keeper
  local info = gen:info()
  ask_first(policy, info.namespace, choice, core.now_ms())
  if policy.over then
    core.choose(gen, nil, policy.over)
    return nil, policy.over
  end
  if choice.is_fixed or not judge.names_worker(policy) then return core.choose(gen) and 0 end
  local ctx = engine.ctx("choose_worker", { namespace = info.namespace }, choice)
  local ok, worker, _, reason = policies.ask(policy, "choose_worker", ctx)
  if ok and not worker then
    reason = ("%s (policy %s)"):format(reason or "it chose no worker id", policy.name)
    core.choose(gen, nil, reason)
    return nil, reason
  end
  if ok and core.choose(gen, worker, nil, engine.is_fixed(policy, choice.ordinal ~= nil)) then return 0 end
  warn_of(policy, ok and ("choose_worker returned %.0f, but worker ids are %.0f to %.0f")
    :format(worker, choice.range.first, choice.range.last) or worker)
  return core.choose(gen) and 0
end

--- Passes the policy's choice to the keeper, if the keeper waits for it.  Call it from a timer, because a process may
-- have no calls for ids.
function judge.answer(core, gen)
  local policy = policy_of[gen]
  if policy and judge.chooses(policy) then choose(policy, core, gen) end
end

---------------------------------------------------------------- pauses

--- Decides about a generator's last pause.  Returns how many milliseconds to wait, where 0 means to retry at once.
-- Returns nil, and the policy's reason if there is one, if the call must fail.
function judge.judge(core, gen)
  local pause = core.pause(gen)
  local policy, hook = policy_of[gen], pause and HOOK_OF[pause.code]
  if policy and pause.code == "choose" then return choose(policy, core, gen) end
  if not policy or not hook or not policies.has(policy, hook) then return nil end
  local ctx = engine.ctx(hook, pause, gen:info()) -- the same as pause_ctx in csrc/policy/control/judge.c
  local ok, word, amount_ms, reason = policies.ask(policy, hook, ctx)
  if not ok then
    warn_of(policy, word)
  elseif word == "wait" then
    return amount_ms or WAIT_MS_MAX
  elseif word == "borrow" then
    core.borrow(gen, amount_ms)
    return 0
  elseif word == "switch" and core.switch(gen) then
    return SWITCH_WAIT_MS
  else
    return nil, refusal(policy, reason)
  end
end

return judge
