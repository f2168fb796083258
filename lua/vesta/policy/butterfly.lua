--- butterfly -- chooses worker ids like Butterfly on ZooKeeper: it starts at a hash, and takes the next free slot.
--
-- It starts with 16 slots, and doubles them if none is free, up to the end of the layout (8192).  No options.  For the
-- rest of Butterfly's behaviour, set in the namespace's config: pacing = "history" (ids count their own time, which
-- lags the clock and allows bursts) and lease = "autonomous" (a worker id lasts a day without the store).
--
-- Kept from the original (Butterfly 1.0.1 to 1.1.2: ZookeeperWorkerIdHandler, PaddedLong's clock check):
--   - the start at a hash, the linear probe and the doubling
--   - the reuse of released, expired and own slots
--   - the limit on clocks that went back: if the clock went back by at most 2 s, requests wait for at most twice that
--     time, and otherwise they fail
--
-- Defects of the original that it avoids:
--   - Two processes can take the same slot at once.
--   - All processes that found 16 slots held start again at slot 16.
--   - A failed heartbeat counts as successful.
--   - After an error, ids run into the next time unit.
--
-- The original draws a new uuid at each start.  Here the identity replaces it, so that a process finds its slot again.

local SLOTS = 16
local AHEAD_MS_MAX = 2000

-- Returns the first free slot of [first, last], beginning at the hash and wrapping around, or nil.
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
  return nil, ("the worker ids %d to %d are all held"):format(ctx.range.first, ctx.range.last)
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
