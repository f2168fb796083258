--- wait

local WAIT_MS_MAX = 5000

local function on_clock_back(ctx)
  local wait_ms_max = ctx.options.wait_ms_max or WAIT_MS_MAX
  if ctx.back_ms > wait_ms_max then
    return "refuse", "the clock is back by " .. ctx.back_ms .. " ms, and nobody waits longer than " .. wait_ms_max
  end
  return "wait", wait_ms_max
end

-- More ids are wanted than the clock gives, or the cursor is ahead of it.
local function on_exhausted(ctx)
  return "wait", ctx.options.wait_ms_max or WAIT_MS_MAX
end

return { api = 1, name = "wait", on_clock_back = on_clock_back, on_exhausted = on_exhausted }
