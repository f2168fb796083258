-- pod.lua -- uses a pod's ordinal as the worker id.  A host without an ordinal takes a free worker id above the pods'.
local function choose_worker(ctx)
  local pods = ctx.options.pods
  if ctx.ordinal and ctx.ordinal < pods then return ctx.ordinal end
  if ctx.ordinal then return nil, ("%s: only ordinals below %d have a worker id"):format(ctx.host, pods) end
  local free = survey(ctx, pods, ctx.range.last)
  local record = free.own or free.released or free.expired
  local worker = record and record.worker or free.unused
  if worker then return worker end
  return nil, ("no worker id from %d to %d is free"):format(pods, ctx.range.last)
end

return {
  api = 1, fixed = "ordinal", choose_worker = choose_worker,
  options = { pods = { 1, 4096, default = 512, about = "worker ids below this one are for pods" } },
}
