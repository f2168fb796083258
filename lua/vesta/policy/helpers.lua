--- helpers -- what stands among a policy's globals: split, hash32 and ip4 in place of patterns and bit operators,
-- read_options, judge_option, is_free, survey and judge_peers for what many policies do with their ctx.
-- Pure, and the same on every Lua from 5.1 on: where policies run, nothing may search for longer than its text is long.
local nearest = require "vesta.nearest"

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

---------------------------------------------------------------- options

local SHOWN_MAX = 40
local OPTIONS_MAX = 64 -- that a policy declares

local function shown(value)
  if type(value) == "table" then return "a table" end
  if type(value) ~= "string" then return tostring(value) end
  return '"' .. (#value > SHOWN_MAX and value:sub(1, SHOWN_MAX) .. "..." or value) .. '"'
end

-- What a rule allows, for people.
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
  if near then return ("there is no option %s; did you mean %s?"):format(shown(name), near) end
  return ("there is no option %s; there %s"):format(shown(name),
    #names == 0 and "are none" or (#names == 1 and "is " or "are ") .. table.concat(names, ", "))
end

-- { least, most }, { "word", "other" } or { list = true }.
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

-- What is wrong with rules, which a policy may have built in any way.
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

--- ctx.options whole, as the rules allow them, or nil and what is wrong:
-- read_options(ctx, { last = { 0, 31, default = 7 } }); what is `needed` must be there.
-- Hosts call it when they load a policy that declares its options.
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

--- What is wrong with an option that must lie between what only a call knows, such as the layout's numbers; nil where
-- it does, or is not given.
local function judge_option(ctx, name, least, most)
  local value, rule = ctx.options[name], { least, most }
  if value == nil or is_allowed(value, rule) then return nil end
  return ("the option %s must be %s, not %s"):format(name, expected(rule), shown(value))
end

---------------------------------------------------------------- records

--- Whether a number may be claimed, now or once its `until_ms` is over: given back, silent for too long, or one's own,
-- but for the one that is to be left.
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

--- What is to be had between two numbers, nil where there is none: the numbers `unused` (the lowest that was never
-- used) and `next` (behind the highest that was); the records `own` (this identity's), `released` and `expired` (the
-- lowest of each), `oldest` (free for longest).  Those end by now; `own_later` and `later` end ahead of the clock.
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

--- What on_start answers where a clock may be so far from the mean of its peers': "go", or "refuse" and why.
local function judge_peers(ctx, peers_ms_max)
  local off_ms, now_ms = 0, ctx.now_ms + 0.0 -- a float: a clock may say anything, and integers wrap
  for _, peer in ipairs(ctx.peers) do off_ms = off_ms + (peer.seen_ms - now_ms) / #ctx.peers end
  if math.abs(off_ms) <= peers_ms_max then return "go" end
  return "refuse", ("the clock is %.0f ms off the mean of its peers', at most %.0f are allowed")
    :format(math.abs(off_ms), peers_ms_max)
end

return {
  split = split, hash32 = hash32, ip4 = ip4,
  read_options = read_options, judge_option = judge_option,
  is_free = is_free, survey = survey, judge_peers = judge_peers,
}
