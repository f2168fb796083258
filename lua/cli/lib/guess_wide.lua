--- guess_wide.lua -- ranks the kinds that ids of 128 bits could have.
local cli = require "cli.lib.cli"
local ids = require "ids"
local term = require "term"

local wide = {}

local RFC_VARIANT = 2
local YEAR_2000_MS, DAY_MS = 946684800000, 86400000
local TITLES = { uuid = "UUID", ulid = "ULID", hex32 = "32 hex digits", typeid = "TypeID" }
local ABOUT = { [2] = "DCE security", [3] = "a hash of a name", [4] = "random", [5] = "a hash of a name",
  [8] = "fields of the issuer's choice" }

local function all(facts, test)
  for _, fact in ipairs(facts) do
    if not test(fact) then return false end
  end
  return true
end

-- Returns the earliest and the latest of the times with this key.
local function span(facts, key)
  local first, last = math.maxinteger, math.mininteger
  for _, fact in ipairs(facts) do first, last = math.min(first, fact[key]), math.max(last, fact[key]) end
  return first, last
end

-- Returns the kind for ids whose version and variant are those of a UUID, or nil.
local function uuid_kind(facts)
  local version = facts[1].version
  if version < 1 or version > 8 then return nil end
  local function is_alike(fact) return fact.version == version and fact.variant == RFC_VARIANT end
  if not all(facts, is_alike) then return nil end
  local kind = { kind = "uuid" .. version, about = ABOUT[version] }
  if facts[1].unix_ms then kind.from_ms, kind.until_ms = span(facts, "unix_ms") end
  return kind
end

-- Returns the kind for UUIDs of version 8 that vesta made with one of the layouts, or nil.  They contain the layout's
-- fingerprint, so this is no guess.
local function own_kind(facts, texts, suspects)
  if facts[1].version ~= 8 then return nil end
  for _, suspect in ipairs(suspects) do
    local kind = { kind = "uuid8", layout = suspect.name, from_ms = math.maxinteger, until_ms = math.mininteger }
    for i, text in ipairs(texts) do
      local id, unix_ms = ids.from_uuid8(text, suspect.text)
      if not id then kind = nil break end
      kind.from_ms, kind.until_ms = math.min(kind.from_ms, unix_ms), math.max(kind.until_ms, unix_ms)
      if i == 1 and #texts == 1 then kind.id = cli.unsigned(id) end
    end
    if kind then return kind end
  end
end

-- Returns the kinds that all of the ids, which have the same text, could have, likeliest first.
local function kinds_of(facts, texts, g)
  local kinds = {}
  local is_hex = facts[1].text == "hex32"
  local function add(kind) kinds[#kinds + 1] = kind end
  local first_ms, last_ms = span(facts, "first_ms")
  local is_recent = first_ms >= YEAR_2000_MS and last_ms <= g.now_ms + DAY_MS
  local ulid = { kind = "ulid", from_ms = first_ms, until_ms = last_ms }
  local is_ulid = facts[1].text == "ulid"
  local uuid = own_kind(facts, texts, g.suspects) or uuid_kind(facts)
  if is_ulid and is_recent then add(ulid) end
  if uuid then add(uuid) end
  if is_hex and is_recent and not (uuid and uuid.from_ms) then
    add { kind = "hex32", from_ms = first_ms, until_ms = last_ms, about = "a trace id that begins with a time" }
  end
  if is_hex and not (uuid and uuid.from_ms) then add { kind = "hex32", about = "a random trace id" } end
  if not is_ulid and not uuid and is_recent then
    ulid.about = "a ULID in another form"
    add(ulid)
  end
  if is_ulid and not is_recent then add(ulid) end
  return kinds
end

local function print_kind(kind, g)
  local words = {}
  if kind.layout then words[#words + 1] = "made by vesta with layout " .. kind.layout end
  if kind.id then words[#words + 1] = "from " .. kind.id end
  if kind.about then words[#words + 1] = kind.about end
  if kind.from_ms then
    words[#words + 1] = term.iso(kind.from_ms)
    if kind.until_ms > kind.from_ms then words[#words] = words[#words] .. " to " .. term.iso(kind.until_ms) end
    words[#words + 1] = term.ago(kind.from_ms, g.now_ms)
  end
  cli.printf("  %-6s  ", kind.kind)
  term.fitted(table.concat(words, ", "), 10, 10)
end

local function print_json(texts, kinds)
  local guesses = {}
  for i, kind in ipairs(kinds) do
    local object = { { "kind", kind.kind } }
    for _, key in ipairs { "layout", "id", "about", "from_ms", "until_ms" } do
      if kind[key] then object[#object + 1] = { key, kind[key] } end
    end
    guesses[i] = cli.object(object)
  end
  cli.json(cli.object { #texts == 1 and { "id", texts[1] } or { "ids", #texts }, { "guesses", guesses } })
end

--- Splits a list of ids of 128 bits into one list for each of the four texts.
function wide.groups(texts)
  local groups, by_text = {}, {}
  for _, text in ipairs(texts) do
    local key = ids.wide(text).text
    if not by_text[key] then
      by_text[key] = {}
      groups[#groups + 1] = by_text[key]
    end
    table.insert(by_text[key], text)
  end
  return groups
end

--- Prints the guess for ids of 128 bits, which are a group of wide.groups, and returns an exit code: 1 if nothing fits.
function wide.judge(texts, g)
  local facts = {}
  for i, text in ipairs(texts) do facts[i] = ids.wide(text) end
  local kinds = kinds_of(facts, texts, g)
  if g.is_json then
    print_json(texts, kinds)
  else
    local title = #texts == 1 and ("%s  %s"):format(texts[1], TITLES[facts[1].text])
      or term.grouped(#texts) .. " ids of 128 bits"
    if #kinds == 0 then
      cli.printf("%s, of no kind that vesta knows\n", title)
    else
      cli.printf("%s, could be, likeliest first:\n", title)
      for _, kind in ipairs(kinds) do print_kind(kind, g) end
    end
  end
  return #kinds > 0 and 0 or 1
end

return wide
