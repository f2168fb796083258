--- vesta.judge -- between a pause that outlasts what a call may wait and the policy of its generator.
-- Asked by C in plain Lua (csrc/lua/gen.c) and by vesta.resty inside nginx, only where there is no id: a call that
-- gets its id at once never comes near.  A policy that fails leaves things as they are without one.
local policies = require "vesta.policy"

local HOOK_OF = { clock_back = "on_clock_back", full = "on_exhausted", ahead = "on_exhausted" }
local WAIT_MS_MAX = 60000 -- where a policy says "wait" and not for how long

local policy_of = setmetatable({}, { __mode = "k" }) -- by generator

local judge = {}

--- One line for whoever runs this program.
function judge.warn(line)
  if type(ngx) == "table" and ngx.log then ngx.log(ngx.WARN, line) else io.stderr:write(line, "\n") end
end

-- Once for a policy: it fails again with every pause.
local function warn_of(policy, problem)
  if policy.warned then return end
  policy.warned = true
  judge.warn(("vesta: policy %s: %s; the fixed rules hold, this is said once"):format(policy.name, problem))
end

--- Loads the policy of vesta.open's options and asks whether to start.  Gives it, or nil, message, code.
function judge.start(options, now_ms)
  local policy, message, code = policies.load(options.policy)
  if not policy then return nil, message, code end
  if policies.has(policy, "choose_worker") and not options.worker and not options.any_worker then
    return nil, ("policy %s: choose_worker is not asked in this version: give worker, or any_worker = true")
      :format(policy.name), "bad_option"
  end
  if not policies.has(policy, "on_start") then return policy end
  local ok, word, _, reason = policies.ask(policy, "on_start", { now_ms = now_ms, peers = {} })
  if not ok then
    warn_of(policy, word)
  elseif word == "refuse" then
    return nil, ("policy %s refuses to start: %s"):format(policy.name, reason or "it does not say why"), "refused"
  end
  return policy
end

--- From now on the pauses of this generator are this policy's.
function judge.keep(gen, policy) policy_of[gen] = policy end

local function refusal(policy, word, reason)
  if word == "switch" then
    return ("policy %s says switch, which is refused: another worker number must be leased from a shared store, "
      .. "and this version has none"):format(policy.name)
  end
  return reason and ("%s (policy %s)"):format(reason, policy.name)
end

--- What to do about a generator's last pause: for how many milliseconds to wait on (0: something was done about it,
-- ask again), or nil and, where the policy gave one, a reason.
function judge.judge(core, gen)
  local pause = core.pause(gen)
  local policy, hook = policy_of[gen], pause and HOOK_OF[pause.code]
  if not policy or not hook or not policies.has(policy, hook) then return nil end
  local info = gen:info()
  local ok, word, amount_ms, reason = policies.ask(policy, hook, { -- as vs_pause_ctx in csrc/host/judge.c
    namespace = info.namespace, now_ms = core.now_ms(), worker = info.worker, ahead_ms_max = info.ahead_ms_max,
    back_ms = hook == "on_clock_back" and pause.back_ms or nil,
    ahead_ticks = hook == "on_exhausted" and pause.ahead_ticks or nil,
  })
  if not ok then
    warn_of(policy, word)
  elseif word == "wait" then
    return amount_ms or WAIT_MS_MAX
  elseif word == "borrow" then
    core.borrow(gen, amount_ms)
    return 0
  else
    return nil, refusal(policy, word, reason)
  end
end

return judge
