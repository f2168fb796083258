--- segments.lua -- what must hold for the rows of segments.
local ask = require "config.ask"
local keys = require "config.keys"
local stores = require "config.stores"
local wrong = require "config.wrong"

local segments = {}

local function has(segment, tag)
  for _, one in ipairs(segment.tags) do
    if one == tag then return true end
  end
  return false
end

-- A tag has one table.  It may have the name of a namespace, because Leaf's clients use one key for both.
local function check_tags(reading, place, segment)
  local function fail(text, ...) wrong.key(reading, "segments.#.tags", place, text, ...) end
  if not segment.tags then fail("is missing: %s", keys.row["segments.#.tags"].help) end
  if #segment.tags > 1 and has(segment, "*") then fail "has '*' beside other tags; it means all of them" end
  local tags = {}
  for _, tag in ipairs(segment.tags) do tags[tag] = true end
  for _, name in ipairs(reading.namespaces.names) do
    if tags[name] then
      reading.note("segments[%s].tags has '%s', which is a namespace, too: GET %s means the namespace, and INCR %s "
        .. "means the tag", place, name, name, name)
    end
  end
  for _, other in ipairs(reading.segments.names) do
    if other == place then break end
    for _, tag in ipairs(segment.tags) do
      if segment.tags[1] ~= "*" and has(reading.segments.at[other], tag) then
        fail("has '%s', and so has segments[%s].tags; each tag has one table", tag, other)
      end
    end
  end
end

local function check_form(reading, place, segment)
  local is_periodic = false
  if segment.form then
    local _, periodic = ask.form(segment.form)
    is_periodic = periodic
  end
  local function fail(text) wrong.key(reading, "segments.#.form", place, text) end
  if segment.zone and not is_periodic then
    wrong.key(reading, "segments.#.zone", place, "is set, and there is no form with a day, month or year for it")
  end
  if segment.form and segment.order == "dense" then
    fail "is not for order dense, whose numbers are reserved in digits"
  end
  if not is_periodic then return end
  if segment.order ~= "strict" then
    fail('has a day, month or year, and needs order = "strict": in trend a range is taken long before its numbers are '
      .. "given, so they would bear a day that is over")
  end
  if segment.tags[1] == "*" then
    fail("has a day, month or year, and needs tags by name: their counters are raised with each, and '*' has those of "
      .. "others too")
  end
end

local function check_row(reading, place, segment)
  local function fail(key, text, ...) wrong.key(reading, "segments.#." .. key, place, text, ...) end
  if segment.store and segment.stores then fail("store", "and stores are both set; only one may be") end
  if not segment.store and not segment.stores then fail("store", "is missing; set it, or stores") end
  segment.uris, segment.secrets = {}, {}
  for _, name in ipairs(segment.stores or { segment.store }) do
    stores.resolve_segment(reading, place, segment, name)
  end
  if segment.order == "strict" and #segment.uris > 1 then
    fail("stores", "are several, and strict is of one: two databases agree on no order")
  end
  if segment.order == "dense" and #segment.uris > 1 then
    fail("stores", "are several, and dense is of one: over several there would be gaps")
  end
  if segment.step and segment.step > segment.step_max then
    fail("step", "is %d, and step_max is %d", segment.step, segment.step_max)
  end
  check_tags(reading, place, segment)
  check_form(reading, place, segment)
end

function segments.check(reading)
  for _, place in ipairs(reading.segments.names) do check_row(reading, place, reading.segments.at[place]) end
end

return segments
