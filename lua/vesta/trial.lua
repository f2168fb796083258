--- vesta.trial -- prepares the inputs of trial runs of a policy: the ctx of a function, values from texts, records of
-- worker ids, and the situations of vesta.hooks.
local engine = require "vesta.engine"
local hooks = require "vesta.hooks"
local nearest = require "vesta.nearest"

local match, gmatch = string.match, string.gmatch -- a policy's state has no text:match

local trial = {}

local ROWS = 4 -- records in a situation
local ROWS_MAX = 10000
local DIGITS_MAX = 23
local ORDINAL_DIGITS_MAX = 9 -- as in csrc/os/host.c
local MINUTE_MS = 60000

local KINDS, VALUES, MAY_BE_ABSENT = {}, {}, {} -- by field of ctx
for _, row in ipairs(hooks.fields) do
  KINDS[row[1]], VALUES[row[1]], MAY_BE_ABSENT[row[1]] = row[2], row[4], row[5] == "absent"
end
trial.KINDS = KINDS

local FORMS = {
  integer = "a whole number", text = "a text",
  moment = "a whole number of milliseconds or a text such as 2026-01-31T02:00:00Z",
  range = "two whole numbers such as 0-923",
  records = "a list of records", peers = "a list of { worker = 3, seen_ms = 1767225600000 }",
}

---------------------------------------------------------------- values

local function read_integer(text)
  local number = #text <= DIGITS_MAX and match(text, "^%-?%d+$") and tonumber(text)
  if not number or math.type and math.type(number) ~= "integer" then return nil end
  return number
end

--- Describes a field's value for a message.  `absent` is the caller's word for an absent value.
function trial.form(field, absent)
  return FORMS[KINDS[field]] .. (MAY_BE_ABSENT[field] and ", or " .. absent .. " for a server that has none" or "")
end

--- Returns whether a text marks a field as absent, which is allowed only for some fields.
function trial.is_absent(field, text) return text == "nil" and MAY_BE_ABSENT[field] end

local function is_range(value)
  return type(value.first) == "number" and type(value.last) == "number" and value.first <= value.last
end

-- Returns the days from 1970-01-01 to a day of the Gregorian calendar.
local function day_number(year, month, day)
  if month <= 2 then year, month = year - 1, month + 12 end
  return 365 * year + math.floor(year / 4) - math.floor(year / 100) + math.floor(year / 400)
    + math.floor((153 * (month - 3) + 2) / 5) + day - 719469
end

-- Returns the Unix milliseconds of "2026-01-31T02:00:00Z", with or without a fraction.  Returns nil if the text has a
-- different form.
local function read_moment(text)
  local year, month, day, hour, min, sec, fraction =
    match(text, "^(%d%d%d%d)%-(%d%d)%-(%d%d)T(%d%d):(%d%d):(%d%d)(%.?%d*)Z$")
  if not year or fraction ~= "" and not match(fraction, "^%.%d%d?%d?$") then return nil end
  if month < "01" or month > "12" or day < "01" or day > "31" or hour > "23" or min > "59" or sec > "59" then
    return nil
  end
  local days = day_number(tonumber(year), tonumber(month), tonumber(day))
  local ms = fraction == "" and 0 or tonumber((fraction:sub(2) .. "00"):sub(1, 3))
  return ((days * 24 + tonumber(hour)) * 60 + tonumber(min)) * 60000 + tonumber(sec) * 1000 + ms
end

--- Checks a field's value, where false means absent.  Returns the value, with moments as numbers, or nil and a
-- description of the expected value.
function trial.value(field, value)
  local kind = KINDS[field]
  if kind == "moment" and type(value) == "string" then value = read_moment(value) or value end
  local is_good
  if value == false then
    is_good = MAY_BE_ABSENT[field]
  elseif kind == "text" then
    is_good = type(value) == "string"
  elseif kind == "integer" or kind == "moment" then
    is_good = type(value) == "number" and value % 1 == 0
  else
    is_good = type(value) == "table" and (kind ~= "range" or is_range(value))
  end
  if is_good then return value end
  return nil, trial.form(field, "false")
end

--- Returns the ordinal in a host's name, as a server reads it: 7 for "orders-7.example.com".  Returns nil without one.
function trial.ordinal_of(host)
  local digits = match(match(host, "^[^.]*"), ".*%-(%d+)$")
  return digits and #digits <= ORDINAL_DIGITS_MAX and tonumber(digits) or nil
end

--- Reads a field's value from a text: "1000", "0-923" or "host-0".  Returns nil if the text has a different form.
function trial.read(field, text)
  local kind = KINDS[field]
  if kind == "text" then return text end
  if kind ~= "range" then return read_integer(text) end
  local first, last = match(text, "^(%d+)%-(%-?%d+)$")
  if not first then return nil end
  first, last = read_integer(first), read_integer(last)
  return first and last and first <= last and { first = first, last = last } or nil
end

--- Returns the ctx for a trial run of a function.
function trial.ctx(hook, now_ms)
  local ctx = {}
  for _, name in ipairs(engine.TOLD[hook]) do
    if KINDS[name] == "records" or KINDS[name] == "peers" then ctx[name] = {} end
    if VALUES[name] then ctx[name] = trial.read(name, VALUES[name]) end
    if KINDS[name] == "moment" then ctx[name] = ctx[name] + now_ms end
  end
  return ctx
end

---------------------------------------------------------------- records of worker ids

local EXPECTED = { number = "a whole number of 0 or more", moment = "a whole number", text = "a text",
  flag = "true or false" }
local ABSENT = { number = 0, moment = 0, flag = false }
local TYPES = { number = "number", moment = "number", text = "string", flag = "boolean" }

local MEMBERS = {}
for _, row in ipairs(hooks.records) do MEMBERS[row[1]] = row[2] end

local function is_whole(number, least)
  return number % 1 == 0 and number >= least and number < 2 ^ 63
end

local function record_of(number, given)
  if type(given) ~= "table" then
    error(("row %d: a table is expected, not a %s"):format(number, type(given)), 0)
  end
  for key in pairs(given) do
    local word = type(key) == "string" and key or ""
    if not MEMBERS[word] then
      local _, near = nearest(word, MEMBERS)
      error(("row %d: a record has no '%s'%s"):format(number, engine.cut(word, 48),
        near and ", did you mean '" .. near .. "'?" or ""), 0)
    end
  end
  local record = {}
  for name, kind in pairs(MEMBERS) do
    local value = given[name]
    if value == nil then value = ABSENT[kind] end
    if value ~= nil and (type(value) ~= TYPES[kind]
      or TYPES[kind] == "number" and not is_whole(value, kind == "number" and 0 or -2 ^ 63)) then
      error(("row %d: %s must be %s, not a %s"):format(number, name, EXPECTED[kind], type(value)), 0)
    end
    record[name] = value
  end
  return record
end

--- Returns ctx.records for a list of rows.  Adds missing fields.  Raises a message with the row and field of an error.
function trial.records(list)
  if type(list) ~= "table" then error("a list of records is expected, not a " .. type(list), 0) end
  if #list > ROWS_MAX then error(("more than %d records"):format(ROWS_MAX), 0) end
  local records = {}
  for i = 1, #list do records[i] = record_of(i, list[i]) end
  return records
end

--- Returns ctx.peers for records.
function trial.peers(records)
  local peers = {}
  for i, record in ipairs(records) do peers[i] = { worker = record.worker, seen_ms = record.seen_ms } end
  return peers
end

---------------------------------------------------------------- situations

-- Returns the records of a situation:
--     "all"    all are held
--     "some"   one is held, one expired, one released with a future until_ms, and one released
--     "ours"   like "some", but the first belongs to this host
local function rows_of(word, now_ms)
  local records = {}
  for i = 1, ROWS do
    local is_held = word == "all" or i <= 2
    local is_expired = word ~= "all" and i == 2
    local is_later = (is_held or i == 3) and not is_expired
    local written_ms = now_ms - (is_expired and 100 or 1) * MINUTE_MS
    records[i] = {
      worker = i - 1, epoch = 1, holder = "host-1 pid 1", identity = word == "ours" and i == 1 and "host-0" or "host-1",
      held = is_held, expired = is_expired, until_ms = is_later and now_ms + MINUTE_MS or written_ms,
      written_ms = written_ms, seen_ms = written_ms,
    }
  end
  return records
end

local function peers_of(now_ms)
  local peers = {}
  for i = 1, ROWS do peers[i] = { worker = i - 1, seen_ms = now_ms } end
  return peers
end

local function set(ctx, name, text, now_ms)
  if KINDS[name] == "records" then
    ctx[name] = rows_of(text, now_ms)
  elseif KINDS[name] == "peers" then
    ctx[name] = peers_of(now_ms)
  elseif text == "nil" then
    ctx[name] = nil
  else
    ctx[name] = trial.read(name, text)
  end
end

--- Prepares a policy for the i-th situation of vesta.hooks.  Returns a sentence for an error message, or false if the
-- policy lacks the function, or nil if there are no more situations.
function trial.prepare(policy, i, namespace, now_ms)
  local row = hooks.situations[i]
  if not row then return nil end
  local hook, name, otherwise = row[1], row[2], row[3]
  if not engine.has(policy, hook) then return false end
  local ctx = trial.ctx(hook, now_ms)
  ctx.namespace = namespace
  for field, text in gmatch(otherwise, "(%S+)=(%S+)") do set(ctx, field, text, now_ms) end
  policy.situation = { hook = hook, ctx = ctx }
  return hook .. " fails when it is tried " .. name
end

--- Calls the policy in the prepared situation.  Returns the same as engine.ask.
function trial.perform(policy)
  return engine.ask(policy, policy.situation.hook, policy.situation.ctx)
end

return trial
