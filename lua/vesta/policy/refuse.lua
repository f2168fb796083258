--- refuse -- rejects requests at once, with the reason.  No request waits, and no id is ahead of the clock.
--
-- Use it if callers can use another server or retry, or if a clock that goes back must not go unnoticed.  The fixed
-- rules apply first: ids may still run ahead by ahead_ms_max, and a call still waits up to wait_ms_max.

local function on_clock_back(ctx)
  return "refuse", "the clock is back by " .. ctx.back_ms .. " ms"
end

local function on_exhausted()
  return "refuse", "more ids are requested than the clock allows"
end

return { api = 1, name = "refuse", options = {}, on_clock_back = on_clock_back, on_exhausted = on_exhausted }
