--- ip_list -- the place of this machine's address in a list that all of them have: the first is the range's first.
--
--     options.ips   the addresses, IPv4, in an order that does not change: add at the end; needed
--
-- Of the original (vesta-id-generator: IpConfigurableMachineIdProvider, vesta.ips) it keeps the place, counted from 0,
-- and the refusal where the own address is not in the list.  Defects it has not: a blank behind a comma that makes an
-- address unknown; an address that stands there twice; two processes of one machine with one number (the second waits
-- until the first is gone); a list that is longer than the field is wide.

-- The places by address, or nil and what is wrong with the list.
local function read_list(ips, range)
  local place, count = {}, #ips
  if count == 0 then return nil, "the option ips has no address" end
  if count > range.last - range.first + 1 then
    return nil, ("the option ips has %d addresses, but worker ids are %.0f to %.0f")
      :format(count, range.first, range.last)
  end
  for i = 1, count do
    local ip = ips[i]
    if type(ip) ~= "string" or not ip4(ip) then
      return nil, ("the option ips has at place %d no IPv4 address: %s")
        :format(i, type(ip) == "string" and '"' .. ip:sub(1, 40) .. '"' or type(ip))
    end
    if place[ip] then return nil, ("the option ips has %s twice, at places %d and %d"):format(ip, place[ip], i) end
    place[ip] = i
  end
  return place
end

local function choose_worker(ctx)
  local ips = ctx.options.ips
  local place, reason = read_list(ips, ctx.range)
  if not place then return nil, reason end
  if place[ctx.ip or ""] then return ctx.range.first + place[ctx.ip] - 1 end
  return nil, ("this machine's address %s is not among the %d of the option ips")
    :format(ctx.ip or "(there is none)", #ips)
end

local OPTIONS = {
  ips = { list = true, needed = true, about = "IPv4 addresses in an order that does not change: add at the end" },
}

return { api = 1, name = "ip_list", options = OPTIONS, fixed = true, choose_worker = choose_worker }
