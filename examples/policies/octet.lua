-- octet.lua -- uses the last octet of the host's IPv4 address as the worker id, unless a list excludes it.
local function choose_worker(ctx)
  local address = ctx.ip and ip4(ctx.ip)
  if not address then return nil, "the host has no IPv4 address: " .. (ctx.ip or "none at all") end
  local octet = address % 256
  for _, refused in ipairs(ctx.options.refuse) do
    if octet == refused then return nil, ("%s ends in %d, which is rejected"):format(ctx.ip, octet) end
  end
  if octet > ctx.range.last then
    return nil, ("%s ends in %d, and the largest worker id is %d"):format(ctx.ip, octet, ctx.range.last)
  end
  return octet
end

return {
  api = 1, fixed = true, choose_worker = choose_worker,
  options = { refuse = { list = true, default = { 0, 1, 255 }, about = "octets that are not used as worker ids" } },
}
