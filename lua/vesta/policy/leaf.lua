--- leaf -- chooses worker ids like Leaf-snowflake: a generator always gets its own worker id again.
--
--     options.peers_ms_max   how far this clock may differ from the mean of its peers at the start (default: 10000 ms)
--
-- The identity replaces Leaf's ip:port, so set a unique identity for each generator.  A new generator gets the highest
-- used worker id plus 1, as from ZooKeeper's sequence.
--
-- Kept from the original (Leaf: SnowflakeZookeeperHolder, SnowflakeIDGenImpl.  The mean of the peers is in Meituan's
-- article, but not in the code):
--   - the permanent worker id
--   - the failed start if the clock is behind the recorded time
--   - the wait if the clock went back by at most 5 ms, which is twice as long as the step back
--
-- Defects of the original that it avoids:
--   - After a failed start, it continues with a worker id from a local file.
--   - Worker ids run out because none is ever reused.  Here, once all were used, the worker id
--     that has been free for the longest time is reused.
--   - Two processes that start together both get worker id 0.
--   - A second process with the same name runs without any error.

local STEP_MS_MAX = 5

local function choose_worker(ctx)
  local first, last = ctx.range.first, ctx.range.last
  local found = survey(ctx, first, last)
  local own = found.own or found.own_later
  if own then return own.worker end
  local free = found.oldest or found.later
  local worker = found.next or found.unused or free and free.worker
  if worker then return worker end
  return nil, ("the worker ids %d to %d are all held"):format(first, last)
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
    about = "how far this clock may differ from the mean of its peers at the start" },
}

return { api = 1, name = "leaf", options = OPTIONS,
  choose_worker = choose_worker, on_start = on_start, on_clock_back = on_clock_back }
