--- leaf -- as Leaf-snowflake: who was here before gets the number that he had, for good.
--
--     options.peers_ms_max   how far this clock may be from the mean of its peers' at the start; 10000 unless given
--
-- The identity stands for Leaf's ip:port: give each generator its own.  A new one gets the number behind the highest,
-- as ZooKeeper's sequence gave it.
--
-- Of the original (Leaf: SnowflakeZookeeperHolder, SnowflakeIDGenImpl; the peers' mean is in Meituan's article, not in
-- the code) it keeps the number that stays, the refusal where the clock is behind what was recorded, and the wait of
-- twice the step for steps up to 5 ms.  Defects it has not: a refused start that goes on with the number out of a
-- local file; numbers that run out because none is ever taken over (here those free for longest, once all were used);
-- worker 0 for two who begin together; a second process of the same name that works along unseen.

local STEP_MS_MAX = 5

local function choose_worker(ctx)
  local first, last = ctx.range.first, ctx.range.last
  local found = survey(ctx, first, last)
  local own = found.own or found.own_later
  if own then return own.worker end
  local free = found.oldest or found.later
  local worker = found.next or found.unused or free and free.worker
  if worker then return worker end
  return nil, ("the numbers %d to %d are all held"):format(first, last)
end

local function on_start(ctx)
  if ctx.last_ms and ctx.last_ms > ctx.now_ms then
    return "refuse", ("the clock is %.0f ms behind what this generator has recorded"):format(ctx.last_ms - ctx.now_ms)
  end
  return judge_peers(ctx, ctx.options.peers_ms_max)
end

local function on_clock_back(ctx)
  if ctx.back_ms <= STEP_MS_MAX then return "wait", 2 * ctx.back_ms end
  return "refuse", ("the clock is back by %d ms, and the longest wait is %d"):format(ctx.back_ms, STEP_MS_MAX)
end

local OPTIONS = {
  peers_ms_max = { 0, 86400000, default = 10000, unit = "ms",
    about = "how far this clock may be from the mean of its peers' at the start" },
}

return { api = 1, name = "leaf", options = OPTIONS,
  choose_worker = choose_worker, on_start = on_start, on_clock_back = on_clock_back }
