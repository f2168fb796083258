--- ip_list -- uses the position of this host's address in a list that is the same on all hosts.  The first address gets
-- the first worker id of the range.
--
--     options.ips   required: IPv4 addresses in an order that never changes (add new addresses at the end)
--
-- Kept from the original (vesta-id-generator: IpConfigurableMachineIdProvider, vesta.ips): the position, counted from
-- 0, and the error if the host's address is not in the list.
--
-- Defects of the original that it avoids:
--   - A blank after a comma makes an address unknown.
--   - The list may contain duplicates, or exceed the field.
--   - Two processes on a host share a worker id.  Here the second process waits until the first process ends.

-- Returns a map from address to position, or nil and an error about the list.
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
  return nil, ("this host's address %s is not among the %d addresses of the option ips")
    :format(ctx.ip or "(there is none)", #ips)
end

local OPTIONS = {
  ips = { list = true, needed = true,
    about = "IPv4 addresses in an order that never changes (add new addresses at the end)" },
}

return { api = 1, name = "ip_list", options = OPTIONS, fixed = true, choose_worker = choose_worker }
