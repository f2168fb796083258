--- ip_bits -- the low bits of this machine's IPv4 address: 10.0.3.7 with 10 bits is 775.
--
--     options.bits     how many; as many as the range has room for unless given
--     options.offset   added to them; the range's first number unless given
--
-- Right where one network hands the addresses out and is no larger than the field: a /22 has 10 bits.
-- Of the original (sonyflake's default machine id: the low 16 bits of the private address) it keeps the bits.  Defects
-- it has not: two networks, or two processes of a machine, that meet in one number without noticing (the claim is the
-- store's, the second waits and says who holds it); an address that is none counting as 0.  A sum over the address's
-- characters, as articles have it, is no such number: 10.0.0.12 and 10.0.0.21 are the same there.

local BITS_MAX = 32

-- How many low bits make numbers that all lie in a range of so many.
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
  if not address then return nil, ("this machine has no IPv4 address: %s"):format(ctx.ip or "none at all") end
  local worker = address % 2 ^ bits + offset
  if worker <= last then return worker end
  return nil, ("the low %.0f bits of %s and offset %.0f make %.0f, but worker ids are %.0f to %.0f")
    :format(bits, ctx.ip, offset, worker, first, last)
end

local OPTIONS = {
  bits = { 1, BITS_MAX, about = "how many of the address's bits; as many as the range has room for unless given" },
  offset = { 0, 2 ^ 53, about = "added to them; the range's first number unless given" },
}

return { api = 1, name = "ip_bits", options = OPTIONS, fixed = true, choose_worker = choose_worker }
