--- borrow -- goes on ahead of the clock, within a bound: nobody waits, ids are a little early.
--
--     options.borrow_ms_max   how far ahead an id's time may be, in milliseconds; 1000 unless given
--
-- For a service that must answer.  The ids are as unique as ever and still ascend: what is borrowed is time that the
-- clock will reach.  It counts from the latest time that was seen, so a clock that is set back by 3 s and a bound of
-- 1 s give ids for as long as 1 s holds ids, and pauses after that until the clock has caught up.

local function borrow(ctx)
  return "borrow", ctx.options.borrow_ms_max
end

local OPTIONS = {
  borrow_ms_max = { 0, 86400000, default = 1000, unit = "ms",
    about = "how far ahead of the latest time that was seen an id's time may be" },
}

return { api = 1, name = "borrow", options = OPTIONS, on_clock_back = borrow, on_exhausted = borrow }
