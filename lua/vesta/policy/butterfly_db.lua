--- butterfly_db -- chooses worker ids like Butterfly on a database: the lowest released worker id, else the lowest
-- expired worker id, else the highest used worker id plus 1.
--
-- No options.  For the rest of Butterfly's behaviour, set pacing = "history" and lease = "autonomous", as for
-- butterfly.
--
-- Kept from the original (Butterfly 1.0.1 to 1.1.2: DbWorkerIdHandler, table butterfly_uuid_generator): the order,
-- which keeps worker ids low.
--
-- Defects of the original that it avoids:
--   - A clean stop deletes the worker id's row, and the worker id is not used again, so restarts climb to 8192.
--   - Each host's own clock decides about expiry.  Here the store's clock decides.
--   - A failed heartbeat stops all further heartbeats.

local function choose_worker(ctx)
  local first, last = ctx.range.first, ctx.range.last
  local found = survey(ctx, first, last)
  local record = found.released or found.expired
  if record then return record.worker end
  local worker = found.next or found.unused or found.later and found.later.worker
  if worker then return worker end
  return nil, ("the worker ids %d to %d are all held"):format(first, last)
end

return { api = 1, name = "butterfly_db", options = {}, choose_worker = choose_worker }
