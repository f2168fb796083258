--- wait -- lets requests wait, so that the times in ids stay exact.
--
--     options.wait_ms_max   how long a request may wait, in milliseconds (default: 5000)
--
-- Use it if the clock sometimes goes back a little, as with NTP, and a late id is better than no id or an id with a
-- time in the future.  If the clock went back by more than wait_ms_max, requests are rejected at once, so that callers
-- can use another server.

local function on_clock_back(ctx)
  local wait_ms_max = ctx.options.wait_ms_max
  if ctx.back_ms > wait_ms_max then
    return "refuse", "the clock is back by " .. ctx.back_ms .. " ms, and the longest wait is " .. wait_ms_max
  end
  return "wait", wait_ms_max
end

-- The ids of the time unit are exhausted, or the latest id is ahead of the clock.
local function on_exhausted(ctx)
  return "wait", ctx.options.wait_ms_max
end

local OPTIONS = {
  wait_ms_max = { 0, 86400000, default = 5000, unit = "ms", about = "how long a request may wait" },
}

return { api = 1, name = "wait", options = OPTIONS, on_clock_back = on_clock_back, on_exhausted = on_exhausted }
