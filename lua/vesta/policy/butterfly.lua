--- butterfly -- as Butterfly on ZooKeeper: a hash says where to begin, and the next free slot is taken.
--
-- Sixteen slots at first; where none is free twice as many, up to the layout's end (8192).  No options.  To have the
-- rest of Butterfly: pacing = "history" (ids follow a time of their own, which lags the clock and bursts beyond its
-- rate) and lease = "autonomous" (a number lasts a day without the store), both in the namespace's config.
--
-- Of the original (Butterfly 1.0.1 to 1.1.2: ZookeeperWorkerIdHandler, PaddedLong's clock check) it keeps the start at
-- a hash, the linear probe, the doubling, slots that are free once released or expired or one's own, and the bounds on
-- time that runs ahead of the clock: up to 2 s are waited for, twice as long as it takes, and more is refused.
-- Defects it has not: a slot that is taken without looking whether somebody was faster; all who found 16 slots full
-- beginning again at slot 16; a heartbeat that failed and counted as done; ids after a refusal that ran into the next
-- time's.  A new uuid for each start is here the identity, so that who comes back finds his slot.

local SLOTS = 16
local AHEAD_MS_MAX = 2000

-- The first slot of [first, last] from a hash on, around its end, that is to be had; `by_worker` has the records.
local function probe(ctx, by_worker, first, last, hash)
  local slots = last - first + 1
  for i = 0, slots - 1 do
    local worker = first + (hash + i) % slots
    local record = by_worker[worker]
    if not record or is_free(ctx, record) and record.until_ms <= ctx.now_ms then return worker end
  end
end

local function choose_worker(ctx)
  local hash, by_worker = ctx.identity and hash32(ctx.identity) or ctx.random, {}
  for _, record in ipairs(ctx.records) do by_worker[record.worker] = record end
  local from, slots = ctx.range.first, SLOTS
  while from <= ctx.range.last do
    local last = math.min(ctx.range.first + slots - 1, ctx.range.last)
    local worker = probe(ctx, by_worker, from, last, hash)
    if worker then return worker end
    from, slots = last + 1, slots * 2
  end
  local later = survey(ctx, ctx.range.first, ctx.range.last).later
  if later then return later.worker end
  return nil, ("the numbers %d to %d are all held"):format(ctx.range.first, ctx.range.last)
end

local function on_clock_back(ctx)
  if ctx.back_ms <= AHEAD_MS_MAX then return "wait", 2 * ctx.back_ms end
  return "refuse", ("the clock is back by %d ms, and the longest wait is %d"):format(ctx.back_ms, AHEAD_MS_MAX)
end

local function on_exhausted() return "wait", 2 * AHEAD_MS_MAX end

return {
  api = 1, name = "butterfly", options = {},
  choose_worker = choose_worker, on_clock_back = on_clock_back, on_exhausted = on_exhausted,
}
