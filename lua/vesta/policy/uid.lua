--- uid -- as UidGenerator: a number that nobody ever had, at each start; and ids ahead of the clock where they run out.
--
--     options.first, options.last   the numbers to use; the layout's unless given
--     options.borrow_ms_max         how far ahead of the clock ids may be; 8000 unless given, 60000 at most
--
-- Each start leaves a record behind, and a choice reads them all: with a wide field and many starts give a `last`.
--
-- Of the original (uid-generator: DisposableWorkerIdAssigner with its table WORKER_NODE, CachedUidGenerator) it keeps
-- the number that is used once, and the ring's eight seconds of ids ahead of the clock, which a step back uses up too.
-- Defects it has not: the last number used means the end (here the one free for longest follows); a number too wide
-- runs into the time; the clock is read once and never again, so that ids drift ahead for as long as it lasts.

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
  return nil, ("the numbers %d to %d are all held"):format(first, last)
end

local function on_exhausted(ctx) return "borrow", ctx.options.borrow_ms_max end

local function on_clock_back(ctx)
  local most_ms = ctx.options.borrow_ms_max
  if ctx.back_ms <= most_ms then return "borrow", most_ms end
  return "refuse", ("the clock is back by %d ms, and ids are borrowed for %d at most"):format(ctx.back_ms, most_ms)
end

local OPTIONS = {
  first = { 0, 2 ^ 53, about = "the first number to use; the layout's unless given" },
  last = { 0, 2 ^ 53, about = "the last number to use; the layout's unless given" },
  borrow_ms_max = { 0, 60000, default = 8000, unit = "ms", about = "how far ahead of the clock ids may be" },
}

return { api = 1, name = "uid", options = OPTIONS,
  choose_worker = choose_worker, on_clock_back = on_clock_back, on_exhausted = on_exhausted }
