--- ip_bits -- uses the low bits of this host's IPv4 address as the worker id: 10.0.3.7 with 10 bits is 775.
--
--     options.bits     number of address bits to use (default: as many as fit the range)
--     options.offset   the number to add to the bits (default: the first worker id of the range)
--
-- Use it if all hosts are in one network that is not larger than the field: a /22 network has 10 bits.
-- Kept from the original (sonyflake's default machine id, the low 16 bits of the private address): the bits.
--
-- Defects of the original that it avoids:
--   - Hosts of two networks, or two processes on a host, can share a worker id without any error.  Here the second
--     process waits and reports the holder.
--   - A missing address counts as 0.
--
-- A sum over the characters of the address, as some articles propose, is not unique: 10.0.0.12 and 10.0.0.21 have the
-- same sum.

local BITS_MAX = 32

-- Returns how many bits fit into a range of `count` worker ids.
local function bits_of(count)
  local bits = 0
  while bits < BITS_MAX and 2 ^ (bits + 1) <= count do bits = bits + 1 end
  return bits
end

local function choose_worker(ctx)
  local first, last = ctx.range.first, ctx.range.last
  local wrong = judge_option(ctx, "offset", first, last)
  if wrong then return nil, wrong end
  local bits = ctx.options.bits or math.max(bits_of(last - first + 1), 1)
  local offset = ctx.options.offset or first
  local address = ctx.ip and ip4(ctx.ip)
  if not address then return nil, ("this host has no IPv4 address: %s"):format(ctx.ip or "no address") end
  local worker = address % 2 ^ bits + offset
  if worker <= last then return worker end
  return nil, ("the low %.0f bits of %s and offset %.0f make %.0f, but worker ids are %.0f to %.0f")
    :format(bits, ctx.ip, offset, worker, first, last)
end

local OPTIONS = {
  bits = { 1, BITS_MAX, about = "how many bits of the address are used, by default as many as fit the range" },
  offset = { 0, 2 ^ 53, about = "the number to add to the bits, by default the first worker id of the range" },
}

return { api = 1, name = "ip_bits", options = OPTIONS, fixed = true, choose_worker = choose_worker }
