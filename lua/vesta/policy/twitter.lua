--- twitter -- behaves like Twitter's snowflake: the config sets the worker id, and a generator with a wrong clock
-- does not start.
--
--     options.worker         required: the worker id
--     options.peers_ms_max   how far this clock may differ from the mean of its peers at the start (default: 10000 ms)
--
-- The data centre is a field of the layout `twitter`, so set it with `fields`.
--
-- Kept from the original (snowflake-2010: SnowflakeServer, IdWorker):
--   - the configured worker id, which is still claimed so that a second process is rejected
--   - the check of the clock against its peers at the start
--   - the error whenever the clock goes back
--
-- Defects of the original that it avoids:
--   - After a lost session, another process takes the worker id while the first process still uses it.
--   - A single unreachable peer prevents all starts.  Here the peers' clocks are in the store.
--   - Two processes can have the same config.

local function choose_worker(ctx)
  local wrong = judge_option(ctx, "worker", ctx.range.first, ctx.range.last)
  if wrong then return nil, wrong end
  return ctx.options.worker
end

local function on_start(ctx)
  return judge_peers(ctx, ctx.options.peers_ms_max)
end

local function on_clock_back(ctx)
  return "refuse", ("the clock is back by %d ms"):format(ctx.back_ms)
end

local OPTIONS = {
  worker = { 0, 2 ^ 53, needed = true, about = "the worker id" },
  peers_ms_max = { 0, 86400000, default = 10000, unit = "ms",
    about = "how far this clock may differ from the mean of its peers at the start" },
}

return { api = 1, name = "twitter", options = OPTIONS, fixed = true,
  choose_worker = choose_worker, on_start = on_start, on_clock_back = on_clock_back }
