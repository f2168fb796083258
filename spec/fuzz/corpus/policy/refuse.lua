--- refuse

local function on_clock_back(ctx)
  return "refuse", "the clock is back by " .. ctx.back_ms .. " ms"
end

local function on_exhausted()
  return "refuse", "more ids are asked for than the clock gives"
end

return { api = 1, name = "refuse", on_clock_back = on_clock_back, on_exhausted = on_exhausted }
