--- borrow

local BORROW_MS_MAX = 1000

local function borrow(ctx)
  return "borrow", ctx.options.borrow_ms_max or BORROW_MS_MAX
end

return { api = 1, name = "borrow", on_clock_back = borrow, on_exhausted = borrow }
