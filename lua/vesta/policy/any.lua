--- any -- chooses worker ids like a server without a policy.  Read it, and use it as a starting point.
--
-- It chooses the first of these that exists:
--   1. the generator's own worker id
--   2. a random worker id that was never used, so that many hosts that start together rarely collide
--   3. the worker id that has been free for the longest time
--   4. the generator's own worker id, if its last lease ends in the future
--
-- It has no options.  A spec checks that it chooses exactly as csrc/lease/choose.c.

local SKEW_MS = 10000 -- a released worker id is free this long before its until_ms, because clocks may differ

local function is_ready(ctx, record)
  return record.until_ms <= ctx.now_ms + (record.held and 0 or SKEW_MS)
end

-- Returns a random worker id without a record, or nil.
local function unused(ctx, records)
  local first = ctx.range.first
  local count = ctx.range.last - first + 1 - #records
  if count < 1 then return nil end
  local worker = first + ctx.random % count
  for _, record in ipairs(records) do
    if record.worker > worker then break end
    worker = worker + 1
  end
  return worker
end

local function choose_worker(ctx)
  local records, own, own_later, freed = {}, nil, nil, nil
  for _, record in ipairs(ctx.records) do
    local is_own = ctx.identity and record.identity == ctx.identity
    if record.worker >= ctx.range.first and record.worker <= ctx.range.last then
      records[#records + 1] = record
      if is_own and is_ready(ctx, record) then
        if not own or record.written_ms > own.written_ms then own = record end
      elseif is_own then
        own_later = record
      elseif not record.held or record.expired then
        if not freed or record.until_ms < freed.until_ms then freed = record end
      end
    end
  end
  if own then return own.worker end
  local worker = unused(ctx, records)
  if worker then return worker end
  freed = freed or own_later
  if freed then return freed.worker end
  return nil, ("the worker ids %.0f to %.0f are all held"):format(ctx.range.first, ctx.range.last)
end

return { api = 1, name = "any", options = {}, choose_worker = choose_worker }
