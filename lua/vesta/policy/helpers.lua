--- helpers -- what a policy has in place of patterns and bit operators: split, hash32 and ip4 stand among its globals.
-- Pure, and the same on every Lua from 5.1 on: where policies run, nothing may search for longer than its text is long.

-- Where `level` 3 is the policy's own line.
local function check_text(name, value)
  if type(value) ~= "string" then error(name .. ": a string is expected, not " .. type(value), 3) end
end

--- The parts of a text between a separator, which is plain text: split("a,,b", ",") -> { "a", "", "b" }.
local function split(text, separator)
  check_text("split", text)
  check_text("split", separator)
  if separator == "" then error("split: a separator is at least one character", 2) end
  local parts, from = {}, 1
  local first, last = text:find(separator, from, true)
  while first do
    parts[#parts + 1] = text:sub(from, first - 1)
    from = last + 1
    first, last = text:find(separator, from, true)
  end
  parts[#parts + 1] = text:sub(from)
  return parts
end

-- h with its lowest eight bits exclusive-ored with those of a byte.
local function xor_byte(h, byte)
  local low, bit = h % 256, 1
  local result = h - low
  for _ = 1, 8 do
    local a, b = low % 2, byte % 2
    if a ~= b then result = result + bit end
    low, byte, bit = (low - a) / 2, (byte - b) / 2, bit * 2
  end
  return result
end

--- A number from 0 to 2^32 - 1 that depends on every byte of a text: FNV-1a.
local function hash32(text)
  check_text("hash32", text)
  local h = 2166136261
  for i = 1, #text do
    h = xor_byte(h, text:byte(i))
    -- times 16777619 = 2^24 + 403, in steps that a double holds exactly
    h = (h * 403 + h % 256 * 16777216) % 4294967296
  end
  return h
end

-- "0" to "255" without leading zeros, or nil.
local function octet(text)
  local n = 0
  if text == "" or #text > 3 or (#text > 1 and text:byte(1) == 48) then return nil end
  for i = 1, #text do
    local digit = text:byte(i) - 48
    if digit < 0 or digit > 9 then return nil end
    n = n * 10 + digit
  end
  return n <= 255 and n or nil
end

--- An IPv4 address as a number: ip4 "10.0.3.7" -> 167772935; nil where the text is no such address.
local function ip4(text)
  check_text("ip4", text)
  if #text > 15 then return nil end
  local parts, address = split(text, "."), 0
  if #parts ~= 4 then return nil end
  for i = 1, 4 do
    local n = octet(parts[i])
    if not n then return nil end
    address = address * 256 + n
  end
  return address
end

return { split = split, hash32 = hash32, ip4 = ip4 }
