--- wait -- sits it out: callers wait, ids stay true to the clock.
--
--     options.wait_ms_max   how long a caller may be kept waiting, in milliseconds; 5000 unless given
--
-- For a clock that is stepped back by a little now and then (NTP does that), where late is better than wrong or not at
-- all.  A step that is longer than anybody may wait is refused at once: the caller can ask elsewhere meanwhile.

local function on_clock_back(ctx)
  local wait_ms_max = ctx.options.wait_ms_max
  if ctx.back_ms > wait_ms_max then
    return "refuse", "the clock is back by " .. ctx.back_ms .. " ms, and the longest wait is " .. wait_ms_max
  end
  return "wait", wait_ms_max
end

-- More ids are wanted than the clock gives, or the cursor is ahead of it.
local function on_exhausted(ctx)
  return "wait", ctx.options.wait_ms_max
end

local OPTIONS = {
  wait_ms_max = { 0, 86400000, default = 5000, unit = "ms", about = "how long a caller may be kept waiting" },
}

return { api = 1, name = "wait", options = OPTIONS, on_clock_back = on_clock_back, on_exhausted = on_exhausted }
