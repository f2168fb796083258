--- segments_import.lua -- `vesta segments import`: imports the counters from a table of tinyid, Leaf or a ticket
-- server, or from a sequence of PostgreSQL.  Each counter continues above every number that was issued.  All databases
-- of a counter are read together, because each database issues different numbers.
local cli = require "cli.lib.cli"
local places = require "cli.lib.segments_places"
local screen = require "screen"
local store = require "store"
local stores = require "cli.lib.stores"
local term = require "term"
local wire = require "wire"

local SOURCES_MAX = 16
local STEP_DEFAULT = 1000
local LOOK_AGAIN_MS = 500 -- time between two readings, which show whether writers still change the counters

-- An import has:
--     options
--     sources, targets   lists of places
--     lists              for each source: its rows as last read
--     rows               how many rows are imported
--     left               left[tag] is true if the tag is not imported, because one of its rows is unusable
--     done               how many counters were added, raised, or already there
local Import = {}
Import.__index = Import

---------------------------------------------------------------- reading

local function fail_unusable(place, tag, why)
  cli.fail("%s: the row of tag '%s' cannot be used: %s. vesta cannot know which numbers it issued. Set its row above "
    .. "all of them, or choose other tags by --tag", place.shown, tag, why)
end

function Import:read_sources()
  local lists = {}
  for i, source in ipairs(self.sources) do
    local list, passed, strange = places.done(source, nil, source.store:counters(source.table))
    lists[i] = { rows = list, passed = passed, strange = strange }
  end
  self.lists = lists
end

-- Iterates over the rows to import: index of the source, row.
function Import:each_row()
  return coroutine.wrap(function()
    for i, list in ipairs(self.lists) do
      for k = 1, #list.rows do
        local row = list.rows:row(k)
        local is_asked = not self.options.tag or row.tag == self.options.tag
        if is_asked and not self.left[row.tag] then coroutine.yield(i, row) end
      end
    end
  end)
end

-- Returns why a row cannot be imported, or nil.
local function fault_of(row)
  if row.why then return row.why end
  if row.max < 0 or row.max == math.maxinteger then
    return ("it is at %d, which leaves no numbers above it"):format(row.max)
  end
  if row.delta < 1 or row.remainder < 0 or row.remainder >= row.delta then
    return ("it has a delta of %d and a remainder of %d, which contradict each other"):format(row.delta, row.remainder)
  end
end

-- Reports unusable rows, and excludes their tags from the import.
function Import:leave_unusable()
  for i, row in self:each_row() do
    local why = fault_of(row)
    if why then
      self.left[row.tag], self.has_left = true, true
      term.say(("%s: the row of tag '%s' cannot be used: %s. The tag is not imported, because vesta cannot know which "
        .. "numbers it issued. Set its row above all of them, and import it by --tag %s"):format(self.sources[i].shown,
        row.tag, why, row.tag))
      if self.options.json then cli.json(cli.object { { "tag", row.tag }, { "deed", "left" }, { "why", why } }) end
    end
  end
end

-- Combines the rows of a tag in all sources into { tag, from, step }, where `from` is above every number that was
-- issued.  Returns nil if an earlier source has the tag, so that each tag is imported once.
function Import:gather(index, tag)
  local from, step, databases, delta = 0, self.options.step, 0, 1
  for i, list in ipairs(self.lists) do
    local row = list.rows:find(tag)
    if row and i < index then return nil end
    if row then
      databases, delta, from = databases + 1, math.max(delta, row.delta), math.max(from, row.max)
      if not step and row.step > 0 and row.step <= store.RANGE_MAX then step = row.step end
    end
  end
  if databases < delta then
    cli.fail("%s has a delta of %d but is in only %d of the databases: the others also issue its numbers, so name all "
      .. "%d databases", tag, delta, databases, delta)
  end
  local ahead = self.options.ahead or 0
  if ahead >= store.NUMBER_MAX - from then cli.fail("%s is at %d: --ahead exceeds 2^63 - 1, lower it", tag, from) end
  return { tag = self.options.as or tag, from = from + ahead, step = step or STEP_DEFAULT }
end

local function check_still(source, row, before)
  local was = before and before:find(row.tag)
  if row.why then fail_unusable(source, row.tag, row.why) end
  local then_max = was and was.max
  if then_max == row.max then return end
  cli.fail("%s: %s still increases, from %d to %d within a moment: stop its writers first, or use --ahead N to "
    .. "begin so far above it that they cannot catch up", source.shown, row.tag, then_max or 0, row.max)
end

-- Ends the command if the sources still issue numbers, because vesta would issue the same numbers.
function Import:check_rest(wait_ms)
  if self.options.ahead then return end
  local before = self.lists
  wire.wait({}, false, wait_ms)
  self:read_sources()
  for i, row in self:each_row() do check_still(self.sources[i], row, before[i].rows) end
end

---------------------------------------------------------------- writing

local function write(place, counter, deed)
  if deed == "raise" then
    places.done(place, counter.tag, place.store:raise(place.table, counter.tag, counter.from))
  elseif deed == "add" then
    places.done(place, counter.tag, place.store:add(place.table, counter.tag, counter.from, counter.step))
  end
end

function Import:print(place, counter, deed)
  if self.options.json then
    return cli.json(cli.object { { "store", place.shown }, { "tag", counter.tag }, { "deed", deed },
      { "from", cli.unsigned(counter.from) }, { "step", counter.step }, { "written", self.options.yes == true } })
  end
  cli.printf("%-24s  %-5s  ", counter.tag, deed)
  term.fitted(("%s%s, in steps of %s"):format(deed == "same" and "is at or past " or "begins with ",
    term.grouped(counter.from), term.grouped(counter.step)), 33, 33)
end

function Import:import_one(place, counter, there)
  local row = there:find(counter.tag)
  if row and row.why then fail_unusable(place, counter.tag, row.why) end
  if not store.is_tag(counter.tag) then cli.usage("--as is %s, which is not a valid tag", term.shown(counter.tag)) end
  if row and (row.max < 0 or row.delta ~= 1) then
    cli.fail("%s: %s exists with a delta, or below 0: import into a different table", place.shown, counter.tag)
  end
  local deed = not row and "add" or row.max >= counter.from and "same" or "raise"
  if self.options.yes then write(place, counter, deed) end
  self.done[deed] = self.done[deed] + 1
  self:print(place, counter, deed)
end

function Import:import_into(place)
  stores.warn(place.shown, place.store)
  local there = places.done(place, nil, place.store:counters(place.table))
  local is_shown, looked_at = screen.is_shown(), 0
  for i, row in self:each_row() do
    local counter = self:gather(i, row.tag)
    if counter then self:import_one(place, counter, there) end
    looked_at = looked_at + 1
    if not is_shown then term.progress("tags", looked_at, self.rows) end -- on a terminal the lines show the progress
  end
  term.progress_end()
end

---------------------------------------------------------------- the run

function Import:check_rows()
  for i, list in ipairs(self.lists) do
    if list.passed > 0 then
      term.say(("%s: %d rows are skipped because their names are no tags, such as '%s'"):format(self.sources[i].shown,
        list.passed, list.strange))
    end
  end
  self:leave_unusable()
  self.rows = 0
  for _ in self:each_row() do self.rows = self.rows + 1 end
  local options = self.options
  if self.rows == 0 then
    if self.has_left then cli.exit(1) end
    cli.fail("there is no tag to import%s", options.tag and " of that name: " .. options.tag or "")
  end
  if options.as and not options.tag and self.rows > #self.sources then
    cli.usage "--as names one tag, but there are several: choose one by --tag"
  end
end

function Import:run()
  local options, done = self.options, self.done
  self:read_sources()
  self:check_rows()
  self:check_rest(LOOK_AGAIN_MS)
  for _, place in ipairs(self.targets) do self:import_into(place) end
  if options.yes then self:check_rest(0) end -- the writers may have started in the meantime
  if options.json then return self.has_left and 1 or 0 end
  term.fitted(("%d to add, %d to raise, %d already there: %s"):format(done.add, done.raise, done.same,
    options.yes and "done" or "nothing was written, add --yes to write"), 2, 0)
  return self.has_left and 1 or 0
end

local function open_sources(operands)
  if #operands < 2 then cli.usage "name the table and its database: vesta segments import TABLE URI..." end
  if #operands - 1 > SOURCES_MAX then
    cli.usage("%d databases: a counter has at most %d", #operands - 1, SOURCES_MAX)
  end
  local sources = {}
  for i = 2, #operands do sources[i - 1] = places.open_one { uri = operands[i], table = operands[1] } end
  return sources
end

local function run(options, operands)
  local sources = open_sources(operands)
  local import = setmetatable({ options = options, sources = sources, left = {},
    done = { add = 0, raise = 0, same = 0 }, targets = places.open(options, options.as or options.tag) }, Import)
  return import:run()
end

return {
  name = "import",
  options = cli.rows {
    places.OPTIONS,
    { name = "tag", value = "TAG", help = "import only this tag (default: all)" },
    { name = "as", value = "TAG", help = "the tag's new name (default: its old name)" },
    { name = "step", kind = "count", value = "N", min = 1, max = store.RANGE_MAX,
      help = "how many numbers a range has (default: the source's, else 1000)" },
    { name = "ahead", kind = "count", value = "N", min = 1, max = store.NUMBER_MAX,
      help = "begin N above the source, which may still issue numbers (default: the source must have no writers)" },
    { name = "yes", kind = "switch", help = "write the changes instead of only showing them" },
    { name = "dry-run", kind = "switch", help = "only show what would be written (the default)" },
    { name = "json", kind = "switch", help = "print a JSON object for each tag" },
  },
  run = run,
}
