--- helpers -- additional globals of policies: split, hash32 and ip4, because policies have neither patterns nor bit
-- operators, and read_options, judge_option, is_free, survey and judge_peers for common tasks.
-- They work the same in every Lua from 5.1 on, and their time is linear in the length of their texts.
local nearest = require "vesta.nearest"

-- Raises at the policy's line, which is level 3.
local function check_text(name, value)
  if type(value) ~= "string" then error(name .. ": a string is expected, not " .. type(value), 3) end
end

--- Splits a text at a plain separator: split("a,,b", ",") -> { "a", "", "b" }.
local function split(text, separator)
  check_text("split", text)
  check_text("split", separator)
  if separator == "" then error("split: the separator must not be empty", 2) end
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

-- Returns h with its lowest 8 bits exclusive-ored with a byte.
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

--- Returns the FNV-1a hash of a text, from 0 to 2^32 - 1.
local function hash32(text)
  check_text("hash32", text)
  local h = 2166136261
  for i = 1, #text do
    h = xor_byte(h, text:byte(i))
    -- Multiplies by 16777619 = 2^24 + 403, in steps that a double represents exactly.
    h = (h * 403 + h % 256 * 16777216) % 4294967296
  end
  return h
end

-- Reads a number from "0" to "255" without leading zeros.  Returns nil for any other text.
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

--- Returns an IPv4 address as a number: ip4 "10.0.3.7" -> 167772935; nil if the text is no IPv4 address.
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

---------------------------------------------------------------- options

local SHOWN_MAX = 40
local OPTIONS_MAX = 64 -- declared options of a policy

local function shown(value)
  if type(value) == "table" then return "a table" end
  if type(value) ~= "string" then return tostring(value) end
  return '"' .. (#value > SHOWN_MAX and value:sub(1, SHOWN_MAX) .. "..." or value) .. '"'
end

-- Returns the values that a rule allows, for a message.
local function expected(rule)
  if rule.list then return "a list" end
  if type(rule[1]) == "number" then return ("a whole number from %.0f to %.0f"):format(rule[1], rule[2]) end
  return '"' .. table.concat(rule, '" or "') .. '"'
end

local function is_allowed(value, rule)
  if rule.list then return type(value) == "table" end
  if type(rule[1]) == "number" then
    return type(value) == "number" and value % 1 == 0 and value >= rule[1] and value <= rule[2]
  end
  for _, word in ipairs(rule) do
    if value == word then return true end
  end
  return false
end

local function unknown_option(name, rules)
  local names = {}
  for known in pairs(rules) do names[#names + 1] = known end
  table.sort(names)
  local near = type(name) == "string" and select(2, nearest(name, rules))
  if near then return ("there is no option %s, did you mean %s?"):format(shown(name), near) end
  return ("there is no option %s: %s"):format(shown(name),
    #names == 0 and "this policy has no options"
    or "use " .. (#names == 1 and "" or "one of ") .. table.concat(names, ", "))
end

-- Checks for { least, most }, { "word", "other" } or { list = true }.
local function is_rule(rule)
  if type(rule) ~= "table" then return false end
  if rule.list then return true end
  local least, most = rule[1], rule[2]
  if type(least) == "number" then
    if type(most) ~= "number" or least > most then return false end
    return true
  end
  for _, word in ipairs(rule) do
    if type(word) ~= "string" then return false end
  end
  return rule[1] ~= nil
end

-- Returns an error about the rules that a policy declares, or nil.
local function wrong_rule(rules)
  local count = 0
  if type(rules) ~= "table" then return "options must be a table of rules, not " .. shown(rules) end
  for name, rule in pairs(rules) do
    if type(name) ~= "string" or not is_rule(rule) then
      return ("options has no rule for %s: { least, most }, { \"word\", ... } or { list = true }"):format(shown(name))
    end
    for _, key in ipairs { "about", "unit" } do
      if rule[key] ~= nil and type(rule[key]) ~= "string" then
        return ("the option %s: %s must be a string, not %s"):format(name, key, shown(rule[key]))
      end
    end
    count = count + 1
  end
  if count > OPTIONS_MAX then return ("options has more than %d rules"):format(OPTIONS_MAX) end
end

--- Checks ctx.options by rules, and returns them with defaults, or nil and an error:
-- read_options(ctx, { last = { 0, 31, default = 7 } }).  An option with `needed` is required.
-- For a policy that declares its options, the host calls this function when it loads the policy.
local function read_options(ctx, rules)
  local given, wrong = {}, wrong_rule(rules)
  if wrong then return nil, wrong end
  for name in pairs(ctx.options) do
    if type(name) ~= "string" or not rules[name] then return nil, unknown_option(name, rules) end
  end
  for name, rule in pairs(rules) do
    local value = ctx.options[name]
    if value == nil then value = rule.default end
    if value == nil and rule.needed then return nil, ("the option %s is missing: %s"):format(name, expected(rule)) end
    if value ~= nil and not is_allowed(value, rule) then
      return nil, ("the option %s must be %s, not %s"):format(name, expected(rule), shown(value))
    end
    given[name] = value
  end
  return given
end

--- Returns an error if an option is outside of a range that is known only in a call, such as the layout's worker ids;
-- nil if it is inside, or absent.
local function judge_option(ctx, name, least, most)
  local value, rule = ctx.options[name], { least, most }
  if value == nil or is_allowed(value, rule) then return nil end
  return ("the option %s must be %s, not %s"):format(name, expected(rule), shown(value))
end

---------------------------------------------------------------- records

--- Returns whether a worker id may be claimed, now or after its `until_ms`: it was released, it has expired, or it
-- belongs to this generator.  The worker id that the generator must leave is never free.
local function is_free(ctx, record)
  if record.worker == ctx.leaving then return false end
  return not record.held or record.expired or (ctx.identity and record.identity == ctx.identity) == true
end

local function take_own(found, record, is_ready)
  local name = is_ready and "own" or "own_later"
  if not found[name] or record.written_ms > found[name].written_ms then found[name] = record end
end

local function take_free(found, record, is_ready)
  local name, kind = is_ready and "oldest" or "later", record.held and "expired" or "released"
  if not found[name] or record.until_ms < found[name].until_ms then found[name] = record end
  if is_ready and not found[kind] then found[kind] = record end
end

--- Returns the worker ids between first and last that may be claimed.  Absent members are nil:
--     unused, next        worker ids without a record: the lowest one, and the highest used one plus 1
--     own                 this generator's record
--     released, expired   the lowest record of each kind
--     oldest              the record that has been free for the longest time
--     own_later, later    like own and oldest, but their until_ms is in the future
local function survey(ctx, first, last)
  local found, unused, highest = {}, first, first - 1
  for _, record in ipairs(ctx.records) do
    if record.worker >= first and record.worker <= last then
      local is_ready = record.until_ms <= ctx.now_ms
      if record.worker == unused then unused = unused + 1 end
      highest = record.worker
      if is_free(ctx, record) then
        take_free(found, record, is_ready)
        if ctx.identity and record.identity == ctx.identity then take_own(found, record, is_ready) end
      end
    end
  end
  found.unused = unused <= last and unused or nil
  found.next = highest < last and highest + 1 or nil
  return found
end

--- A result for on_start: "go", or "refuse" and why if this clock differs from the mean of its peers by too much.
local function judge_peers(ctx, peers_ms_max)
  local off_ms, now_ms = 0, ctx.now_ms + 0.0 -- a float, because a clock may show any time and integers wrap
  for _, peer in ipairs(ctx.peers) do off_ms = off_ms + (peer.seen_ms - now_ms) / #ctx.peers end
  if math.abs(off_ms) <= peers_ms_max then return "go" end
  return "refuse", ("the clock differs from the mean of its peers by %.0f ms, but at most %.0f are allowed")
    :format(math.abs(off_ms), peers_ms_max)
end

return {
  split = split, hash32 = hash32, ip4 = ip4,
  read_options = read_options, judge_option = judge_option,
  is_free = is_free, survey = survey, judge_peers = judge_peers,
}
