--- refuse -- says no at once, and why: nobody waits, no id is ahead of the clock.
--
-- For callers that have somewhere else to ask (a second server, a retry of their own), and for those who would rather
-- be woken than have a clock that goes back unnoticed.  The fixed rules have had their say before: what the ids may
-- run ahead (ahead_ms_max) and how long a call waits anyway (wait_ms_max).

local function on_clock_back(ctx)
  return "refuse", "the clock is back by " .. ctx.back_ms .. " ms"
end

local function on_exhausted()
  return "refuse", "more ids are requested than the clock allows"
end

return { api = 1, name = "refuse", options = {}, on_clock_back = on_clock_back, on_exhausted = on_exhausted }
