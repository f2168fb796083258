--- borrow -- issues ids ahead of the clock, up to a limit.  No request waits, but ids can contain times that are
-- slightly in the future.
--
--     options.borrow_ms_max   how far ahead an id's time may be, in milliseconds (default: 1000)
--
-- Use it for a service that must always answer.  The ids are still unique and ascending, because the clock will reach
-- the borrowed time.  The limit counts from the latest time that was seen.  For example, if the clock is set back by
-- 3 s and the limit is 1 s, the ids of 1 s are issued, and then requests wait until the clock has caught up.

local function borrow(ctx)
  return "borrow", ctx.options.borrow_ms_max
end

local OPTIONS = {
  borrow_ms_max = { 0, 86400000, default = 1000, unit = "ms",
    about = "how far an id's time may be ahead of the latest time that the generator has seen" },
}

return { api = 1, name = "borrow", options = OPTIONS, on_clock_back = borrow, on_exhausted = borrow }
