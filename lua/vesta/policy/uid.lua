--- uid -- behaves like UidGenerator: each start takes a worker id that was never used, and ids may run ahead of the
-- clock.
--
--     options.first, options.last   the worker ids to use (default: the layout's)
--     options.borrow_ms_max         how far ids may be ahead of the clock, in milliseconds (default: 8000, max: 60000)
--
-- Each start adds a record, and each choice reads all records.  If the field is wide and starts are frequent, set
-- `last`.
--
-- Kept from the original (uid-generator: DisposableWorkerIdAssigner with its table WORKER_NODE, CachedUidGenerator):
--   - the worker id that is used once
--   - the ring buffer's eight seconds of ids ahead of the clock, which also bridge a clock that goes back
--
-- Defects of the original that it avoids:
--   - After the last worker id, no process can start.  Here the worker id that has been free for the
--     longest time is reused.
--   - A large worker id overflows into the time.
--   - The clock is read only at the start, so ids drift ahead without limit.

local function choose_worker(ctx)
  local least, most, given = ctx.range.first, ctx.range.last, ctx.options
  local wrong = judge_option(ctx, "first", least, most) or judge_option(ctx, "last", least, most)
  if wrong then return nil, wrong end
  local first, last = given.first or least, given.last or most
  if first > last then return nil, ("the option first is %d, and last is %d"):format(first, last) end
  local found = survey(ctx, first, last)
  local free = found.oldest or found.later
  local worker = found.next or found.unused or free and free.worker
  if worker then return worker end
  return nil, ("the worker ids %d to %d are all held"):format(first, last)
end

local function on_exhausted(ctx) return "borrow", ctx.options.borrow_ms_max end

local function on_clock_back(ctx)
  local most_ms = ctx.options.borrow_ms_max
  if ctx.back_ms <= most_ms then return "borrow", most_ms end
  return "refuse", ("the clock is back by %d ms, and ids may be at most %d ms ahead"):format(ctx.back_ms, most_ms)
end

local OPTIONS = {
  first = { 0, 2 ^ 53, about = "the first worker id to use, by default the layout's first" },
  last = { 0, 2 ^ 53, about = "the last worker id to use, by default the layout's last" },
  borrow_ms_max = { 0, 60000, default = 8000, unit = "ms", about = "how far ids may be ahead of the clock" },
}

return { api = 1, name = "uid", options = OPTIONS,
  choose_worker = choose_worker, on_clock_back = on_clock_back, on_exhausted = on_exhausted }
