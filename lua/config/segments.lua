--- segments.lua -- checks the rows of segments.
local ask = require "config.ask"
local keys = require "config.keys"
local masks = require "config.masks"
local stores = require "config.stores"
local wrong = require "config.wrong"

local segments = {}

local function has(segment, tag)
  for _, one in ipairs(segment.tags) do
    if one == tag then return true end
  end
  return false
end

-- Checks that no two rows have the same tag.  A tag may have the name of a namespace, because Leaf's clients use one
-- key for both.
local function check_tags(reading, place, segment)
  local function fail(text, ...) wrong.key(reading, "segments.#.tags", place, text, ...) end
  if not segment.tags then fail("is missing: %s", keys.row["segments.#.tags"].help) end
  if #segment.tags > 1 and has(segment, "*") then
    fail "has '*' and other tags: remove the other tags, because '*' includes them"
  end
  local tags = {}
  for _, tag in ipairs(segment.tags) do tags[tag] = true end
  for _, name in ipairs(reading.namespaces.names) do
    if tags[name] then
      reading.note("segments[%s].tags has '%s', which is also a namespace: GET %s uses the namespace, and INCR %s uses "
        .. "the tag", place, name, name, name)
    end
  end
  for _, other in ipairs(reading.segments.names) do
    if other == place then break end
    for _, tag in ipairs(segment.tags) do
      if segment.tags[1] ~= "*" and has(reading.segments.at[other], tag) then
        fail("has '%s', which segments[%s].tags also has: a tag can have only one table", tag, other)
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
    wrong.key(reading, "segments.#.zone", place, "is set, but there is no form with a day, month or year")
  end
  if segment.form and segment.order == "dense" then
    fail "cannot be used with order dense, whose numbers are plain digits"
  end
  if not is_periodic then return end
  if segment.order ~= "strict" then
    fail('has a day, month or year, and needs order = "strict": with trend a range is taken long before its numbers '
      .. "are issued, so that they would show a past day")
  end
  if segment.tags[1] == "*" then
    fail("has a day, month or year, and needs tags by name: each new day raises the counters of the tags, and '*' "
      .. "includes tags of other users of the table")
  end
end

local function check_mask(reading, place, segment)
  if not masks.check(reading, "segments", place, segment) then return end
  local function fail(text) wrong.key(reading, "segments.#.mask.digits", place, text) end
  if segment.form then fail "and form are both set: remove one, because each defines the text of the numbers" end
  if segment.order == "dense" then fail "cannot be used with order dense, whose numbers are plain digits" end
end

local function check_row(reading, place, segment)
  local function fail(key, text, ...) wrong.key(reading, "segments.#." .. key, place, text, ...) end
  if segment.store and segment.stores then fail("store", "and stores are both set: remove one of them") end
  if not segment.store and not segment.stores then fail("store", "is missing: set it, or stores") end
  segment.uris, segment.secrets = {}, {}
  for _, name in ipairs(segment.stores or { segment.store }) do
    stores.resolve_segment(reading, place, segment, name)
  end
  if segment.order == "strict" and #segment.uris > 1 then
    fail("stores", "has several stores, but order strict needs one store, because two databases have no common order")
  end
  if segment.order == "dense" and #segment.uris > 1 then
    fail("stores", "has several stores, but order dense needs one store, because several would leave gaps")
  end
  if segment.step and segment.step > segment.step_max then
    fail("step", "is %d, which must be at most step_max, %d", segment.step, segment.step_max)
  end
  check_tags(reading, place, segment)
  check_form(reading, place, segment)
  check_mask(reading, place, segment)
end

function segments.check(reading)
  for _, place in ipairs(reading.segments.names) do check_row(reading, place, reading.segments.at[place]) end
end

return segments
