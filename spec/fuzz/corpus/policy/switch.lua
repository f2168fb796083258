--- switch

local WAIT_MS_MAX = 10

local function on_clock_back(ctx)
  local wait_ms_max = ctx.options.wait_ms_max or WAIT_MS_MAX
  if ctx.back_ms <= wait_ms_max then return "wait", wait_ms_max end
  return "switch"
end

return { api = 1, name = "switch", on_clock_back = on_clock_back }
