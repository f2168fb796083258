--- any -- the choice that is made without a policy, in Lua: to read, and to begin with.
--
-- One's own number first; then one that was never used, at random, so that a hundred who begin together rarely meet;
-- then the one free for longest; then one's own, whose last lease ends ahead of the clock.  No options.
-- It decides as csrc/lease/choose.c does, number for number; a spec holds them together.

local SKEW_MS = 10000 -- how far clocks may be apart: a number that was given back and ends so far ahead is ready

local function is_ready(ctx, record)
  return record.until_ms <= ctx.now_ms + (record.held and 0 or SKEW_MS)
end

-- The k-th number that no record has.
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
  return nil, ("the numbers %.0f to %.0f are all held"):format(ctx.range.first, ctx.range.last)
end

return { api = 1, name = "any", options = {}, choose_worker = choose_worker }
