--- twitter -- as Twitter's snowflake: the number stands in the configuration, and a clock that is off does not start.
--
--     options.worker         the number; needed
--     options.peers_ms_max   how far this clock may be from the mean of its peers' at the start; 10000 unless given
--
-- The data centre is a field of the layout `twitter`, and set with it.
--
-- Of the original (snowflake-2010: SnowflakeServer, IdWorker) it keeps the configured number, which is claimed all the
-- same and refused to a second one, the start-up check against the peers, and the refusal of every step back.
-- Defects it has not: a number that others may take once the session is lost, while ids go on; one peer that does not
-- answer and stops all starts (here the peers' clocks are in the store); two processes of one configuration.

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
  worker = { 0, 2 ^ 53, needed = true, about = "the worker number" },
  peers_ms_max = { 0, 86400000, default = 10000, unit = "ms",
    about = "how far this clock may be from the mean of its peers' at the start" },
}

return { api = 1, name = "twitter", options = OPTIONS, fixed = true,
  choose_worker = choose_worker, on_start = on_start, on_clock_back = on_clock_back }
