--- butterfly_db -- as Butterfly on a database: the lowest number that was given back, else the lowest whose holder is
-- silent, else the one behind the highest.
--
-- No options.  pacing = "history" and lease = "autonomous" make the rest of Butterfly; see butterfly.
--
-- Of the original (Butterfly 1.0.1 to 1.1.2: DbWorkerIdHandler, table butterfly_uuid_generator) it keeps the order,
-- which keeps the numbers low.  Defects it has not: a number whose row was deleted on a clean stop and lay below the
-- highest is taken again, so that restarts do not climb to 8192; expiry is decided by the store's clock, not by each
-- machine's; one failed heartbeat does not end all later ones.

local function choose_worker(ctx)
  local first, last = ctx.range.first, ctx.range.last
  local found = survey(ctx, first, last)
  local record = found.released or found.expired
  if record then return record.worker end
  local worker = found.next or found.unused or found.later and found.later.worker
  if worker then return worker end
  return nil, ("the numbers %d to %d are all held"):format(first, last)
end

return { api = 1, name = "butterfly_db", options = {}, choose_worker = choose_worker }
