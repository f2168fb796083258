--- ordinal -- the number behind the last - of the host's name: orders-7 of a StatefulSet is worker 7.
--
--     options.offset   is added to it; 0 unless given.  For several sets in one namespace
--
-- What people do by hand in start scripts, with its mistakes taken out: a name without a number is refused and not 0,
-- a number beyond the range is refused and not cut to its low bits, and two pods of one name, old and new, do not
-- share the number: the second waits until the first is gone.  A pod that was killed has its number back as soon as
-- the window of its last lease is over.

local function choose_worker(ctx)
  local range, offset = ctx.range, ctx.options.offset
  local wrong = judge_option(ctx, "offset", 0, range.last)
  if wrong then return nil, wrong end
  if not ctx.ordinal then
    return nil, ("the host's name %s ends in no - and a number"):format(ctx.host or "(there is none)")
  end
  local worker = ctx.ordinal + offset
  if worker >= range.first and worker <= range.last then return worker end
  return nil, ("ordinal %.0f and offset %.0f make %.0f, but worker ids are %.0f to %.0f")
    :format(ctx.ordinal, offset, worker, range.first, range.last)
end

local OPTIONS = {
  offset = { 0, 2 ^ 53, default = 0, about = "added to the host's number; for several sets in one namespace" },
}

return { api = 1, name = "ordinal", options = OPTIONS, fixed = true, choose_worker = choose_worker }
