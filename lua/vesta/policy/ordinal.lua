--- ordinal -- uses the number after the last - of the host's name: orders-7 of a StatefulSet is worker id 7.
--
--     options.offset   the number to add, for several sets in one namespace (default: 0)
--
-- It avoids common mistakes of start scripts: a name without a number is an error and not 0, a number outside of the
-- range is an error and not truncated, and the old and the new pod of a name never share the worker id, because the new
-- pod waits until the old one has ended.  A pod that was killed gets its worker id again after the window of its last
-- lease.

local function choose_worker(ctx)
  local range, offset = ctx.range, ctx.options.offset
  local wrong = judge_option(ctx, "offset", 0, range.last)
  if wrong then return nil, wrong end
  if not ctx.ordinal then
    return nil, ("the host's name %s does not end in - and a number"):format(ctx.host or "(there is none)")
  end
  local worker = ctx.ordinal + offset
  if worker >= range.first and worker <= range.last then return worker end
  return nil, ("ordinal %.0f and offset %.0f make %.0f, but worker ids are %.0f to %.0f")
    :format(ctx.ordinal, offset, worker, range.first, range.last)
end

local OPTIONS = {
  offset = { 0, 2 ^ 53, default = 0,
    about = "the number to add to the number in the host's name, for several sets in one namespace" },
}

return { api = 1, name = "ordinal", options = OPTIONS, fixed = true, choose_worker = choose_worker }
