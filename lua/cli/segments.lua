--- segments.lua -- `vesta segments`: lists the counters of stores with their positions and rates.  Subcommands change
-- one counter.
local cli = require "cli.lib.cli"
local places = require "cli.lib.segments_places"
local screen = require "screen"
local store = require "store"
local stores = require "cli.lib.stores"
local tables = require "cli.lib.tables"
local term = require "term"
local watch = require "cli.lib.watch"
local where = require "where"

local STEP_DEFAULT = 1000
local TAKE_MAX = 65536
local DATABASES_MAX = store.DATABASES_MAX

---------------------------------------------------------------- looking

-- A look is a table of counters that is read repeatedly:
--     place               the table's place (segments_places.lua)
--     list, at_ms         the last reading, and its time
--     before, before_ms   the reading before the last, and its time
--     passed, strange     how many rows have names that are not valid tags, and one of these names
--     is_old              true if the store was unreachable at the last attempt

-- Reads the counters.  Returns true, or nil and a message.
local function look_at(look)
  local list, passed, strange = look.place.store:counters(look.place.table)
  look.is_old = not list
  if not list then return nil, places.trouble(look.place, nil, passed, strange) end
  if look.before then look.before:close() end
  look.before, look.before_ms = look.list, look.at_ms
  look.list, look.at_ms, look.passed, look.strange = list, term.now_ms(), passed, strange
  return true
end

-- Returns the numbers per second that were granted between the last two readings, or nil.
local function speed(look, row)
  local before = look.before and look.before:find(row.tag)
  if not before or before.why or look.at_ms <= look.before_ms or row.max < before.max then return nil end
  return (row.max - before.max) * 1000 / (look.at_ms - look.before_ms)
end

---------------------------------------------------------------- for people

local COLUMNS = { { "TAG", -24, -16 }, { "NEXT RANGE AT", 26, 19 }, { "STEP", 13, 7 }, { "GRANTED/S", 10, 9 },
  { "UPDATED", -24, -20 } }

-- Formats a number, with commas if the column is wide enough.
local function number(n, room, is_narrow)
  if n < 0 then return "below 0" end
  local text = term.grouped(n)
  return is_narrow and #text > room and ("%d"):format(n) or text
end

local function print_row(look, row, is_narrow)
  if row.why then
    cli.printf("%-24s  ", row.tag)
    return term.fitted("unusable: " .. row.why, 26, 26)
  end
  local ms, a_second = row.updated_ms, speed(look, row)
  local updated = ms and term.iso(is_narrow and ms - ms % 1000 or ms) or "-"
  if row.delta ~= 1 then updated = ("%s  delta %d, remainder %d"):format(updated, row.delta, row.remainder) end
  tables.row(COLUMNS, { row.tag, number(row.max, 19, is_narrow), number(row.step, 7, is_narrow),
    a_second and ("%.0f"):format(a_second) or "-", updated })
end

local function print_table(look)
  local list, place, is_narrow = look.list, look.place, tables.is_narrow(COLUMNS)
  tables.print(COLUMNS)
  for i = 1, #list do print_row(look, list:row(i), is_narrow) end
  term.fitted(("%d %s in %s%s"):format(#list, #list == 1 and "tag" or "tags", place.shown,
    place.table and ", table " .. place.table or ""), 2, 0)
  if look.passed > 0 then
    term.fitted(("%d %s skipped, because the names are not valid tags, such as '%s'"):format(look.passed,
      look.passed == 1 and "row is" or "rows are", look.strange), 2, 0)
  end
  if look.is_old then
    cli.printf("%sthe store is unreachable: these rows are from %s%s\n", term.paint "yellow",
      term.iso(look.at_ms), term.paint "plain")
  end
end

---------------------------------------------------------------- for programs

local function row_json(look, row)
  local members = { { "tag", row.tag }, { "max", ("%d"):format(row.max) }, { "step", row.step }, { "delta", row.delta },
    { "remainder", row.remainder } }
  local a_second = speed(look, row)
  if row.updated_ms then table.insert(members, { "updated_ms", row.updated_ms }) end
  if a_second then table.insert(members, { "granted_s", cli.raw("%.1f", a_second) }) end
  return cli.encode(cli.object(members))
end

-- Prints usable rows first.
local function print_json(look)
  if look.is_old then return end
  local list, unusable, comma = look.list, {}, ""
  local members = { { "store", look.place.shown } }
  if look.place.table then table.insert(members, { "table", look.place.table }) end
  term.out(cli.encode(cli.object(members)):sub(1, -2) .. ',"tags":[')
  for i = 1, #list do
    local row = list:row(i)
    if row.why then
      table.insert(unusable, cli.object { { "tag", row.tag }, { "why", row.why } })
    else
      term.out(comma .. row_json(look, row))
      comma = ","
    end
  end
  term.out("]," .. cli.encode(cli.object { { "unusable", unusable }, { "passed_over", look.passed } }):sub(2) .. "\n")
end

---------------------------------------------------------------- the list

local function list(options, operands)
  if operands[1] then cli.no_word(operands[1], { "add", "step", "take", "import", "resume" }) end
  local looks = {}
  for i, place in ipairs(places.open(options)) do looks[i] = { place = place } end

  -- Returns whether any place could be read, and the first error message, or nil.
  local function look(report)
    local is_seen, trouble = false, nil
    for _, one in ipairs(looks) do
      local is_fine, text = look_at(one)
      is_seen = is_seen or is_fine ~= nil
      trouble = trouble or text
      if text and report then report(text) end
    end
    return is_seen, trouble
  end
  local function print()
    local is_next = false
    for _, one in ipairs(looks) do
      if one.at_ms then
        if is_next and not options.json then term.out "\n" end
        is_next = true;
        (options.json and print_json or print_table)(one)
      end
    end
  end

  if options.watch then return watch.run(look, print, not options.json and screen.is_shown()) end
  local _, trouble = look(term.say)
  print()
  return trouble and 1 or 0
end

---------------------------------------------------------------- add, step

-- Changes each database in turn.  If one fails, reports the error and changes the remaining databases.  Returns the
-- exit code.
local function change_all(options, tag, change, is_new)
  local code = 0
  for _, place in ipairs(places.open(options, tag, is_new)) do
    stores.warn(place.shown, place.store)
    local is_done, text, outcome = change(place)
    if not is_done then
      term.say(places.trouble(place, tag, text, outcome))
      code = 1
    end
  end
  return code
end

local function add(options, operands)
  local tag = places.read_tag("add", operands)
  local from, step = options.from or 1, options.step or STEP_DEFAULT
  local code = change_all(options, tag, function(place) return place.store:add(place.table, tag, from, step) end,
    true)
  if code == 0 then cli.printf("%s begins with %s, in steps of %s\n", tag, term.grouped(from), term.grouped(step)) end
  return code
end

local function set_step(options, operands)
  if #operands ~= 2 then cli.usage "name a tag and its step: vesta segments step TAG N" end
  local tag, step = places.check_tag(operands[1]), cli.number(operands[2], store.RANGE_MAX)
  if not step or step == 0 then
    cli.usage("the step is %s, which must be a whole number from 1 to %d", term.shown(operands[2]), store.RANGE_MAX)
  end
  local code = change_all(options, tag, function(place) return place.store:set_step(place.table, tag, step) end)
  if code == 0 then cli.printf("%s has steps of %s\n", tag, term.grouped(step)) end
  return code
end

---------------------------------------------------------------- take

-- Prints all numbers or none.  The largest number is formatted first, because if it fits the form, all numbers fit.
local function print_numbers(tag, form, from, stop, json)
  local function text_of(n)
    if not form then return cli.unsigned(n) end
    local text, trouble = form:write(n)
    if not text then cli.fail("%s: %s", tag, trouble) end
    return text
  end
  text_of(stop - 1)
  for n = from, stop - 1 do
    local text = text_of(n)
    if json then
      cli.json(cli.object { { "text", text }, { "counter", cli.unsigned(n) } })
    else
      term.out(text .. "\n")
    end
  end
end

local function take(options, operands)
  local tag = places.read_tag("take", operands)
  if options.zone and not options.form then cli.usage "--zone needs --form" end
  local form = options.form and cli.check(store.form(options.form, options.zone or "UTC"))
  local list_of_places = places.open(options, tag)
  local place = list_of_places[1]
  if #list_of_places > 1 then
    cli.usage("the numbers of %s come from %d databases in turn, and this command asks one: take them from a server, "
      .. "for example by redis-cli INCR %s", tag, #list_of_places, tag)
  end
  local mask = place.config and cli.go(where.mask(place.config, tag, place.row))
  if mask and form then cli.usage("--form cannot be combined with the mask of %s: leave it out", tag) end
  stores.warn(place.shown, place.store)
  local from, stop, delta = places.done(place, tag, place.store:take(place.table, tag, options.count or 1, form))
  if delta ~= 1 then
    cli.fail("%s has a delta of %s: its numbers are spread over several databases", tag, cli.unsigned(delta))
  end
  print_numbers(tag, mask or form, from, stop, options.json)
end

---------------------------------------------------------------- resume

local function resume(options, operands)
  if #operands ~= 1 then cli.usage "give one tag: vesta segments resume TAG" end
  local tag, is_resumed, code = operands[1], false, 1
  local list_of_places = places.open(options, tag)
  if #list_of_places > DATABASES_MAX then
    cli.usage("%s is in more than one row of the config: name its --store", term.shown(tag))
  end
  for _, order in ipairs(#list_of_places == 1 and { "trend", "strict" } or { "trend" }) do
    local done, text, name = store.resume(list_of_places, list_of_places[1].table, tag, order, options["even-lower"])
    if done == nil then code = term.report(text, name) end
    is_resumed = is_resumed or done == true
  end
  if is_resumed then return cli.printf("%s was resumed\n", tag) end
  term.say(("%s was not stopped: no process of this user on this machine saw it go back"):format(term.shown(tag)))
  return code
end

---------------------------------------------------------------- the command

return {
  order = 180,
  line = "list and manage the counters of a store",
  usage = "segments [OPTION...]\n       vesta segments add TAG [--from N] [--step N] [OPTION...]\n"
    .. "       vesta segments step TAG N [OPTION...]\n"
    .. "       vesta segments resume TAG [--even-lower] [OPTION...]\n"
    .. "       vesta segments take TAG [-n N] [--form TEXT [--zone NAME]] [OPTION...]\n"
    .. "       vesta segments import TABLE URI... [OPTION...]",
  about = [[
Lists the counters of a store's table: the first number of each counter's next range, its step, and the time
of its last update.  With --watch you also see how many numbers per second are granted.  Listing changes
nothing.  More: docs/counters.md.

  add      creates a counter.  Its first number is --from.
  step     sets how many numbers a range has.
  take     prints numbers.  With --form they are business numbers.  If the
           config has a mask for the counter, they are masked.  Each call takes
           one range from the database.
  resume   resumes a counter that stopped because its database went back to an
           older state.  Repair the database first.
  import   imports the counters from a table of tinyid, Leaf or a ticket
           server, or from a sequence of PostgreSQL.  Each counter continues
           above every number that was issued.  Without --yes it only shows
           the changes.  `vesta help segments import` lists its options.

  $ vesta segments add orders --step 500 --store sqlite:/var/lib/vesta/v.db
  orders begins with 1, in steps of 500

  $ vesta segments --store sqlite:/var/lib/vesta/v.db
  TAG        NEXT RANGE AT         STEP  GRANTED/S  UPDATED
  orders                 1          500          -  2026-11-22T20:10:00.123Z
  1 tag in sqlite:/var/lib/vesta/v.db
]],
  options = cli.rows {
    places.OPTIONS,
    { name = "watch", kind = "switch", help = "refresh every second until interrupted" },
    { name = "json", kind = "switch", help = "print a JSON object for each table (with --watch, every second)" },
  },
  run = list,
  words = {
    {
      name = "add",
      options = cli.rows {
        { name = "from", kind = "count", value = "N", min = 0, max = store.NUMBER_MAX - 1,
          help = "the counter's first number (default: 1)" },
        { name = "step", kind = "count", value = "N", min = 1, max = store.RANGE_MAX,
          help = "how many numbers a range has (default: 1000)" },
        places.OPTIONS,
      },
      run = add,
    },
    { name = "step", options = places.OPTIONS, run = set_step },
    {
      name = "take",
      options = cli.rows {
        { name = "count", letter = "n", kind = "count", value = "N", min = 1, max = TAKE_MAX,
          help = "how many numbers to take (default: 1)" },
        { name = "form", value = "TEXT", help = "the format of the numbers: 'INV-{day:%Y%m%d}-{number:6}-{luhn}'" },
        { name = "zone", value = "NAME", help = "the time zone of the form's days (default: UTC)" },
        { name = "json", kind = "switch", help = "print a JSON object for each number" },
        places.OPTIONS,
      },
      run = take,
    },
    {
      name = "resume",
      options = cli.rows {
        { name = "even-lower", kind = "switch",
          help = "resume even if the next numbers are lower, so that some may be issued twice" },
        places.OPTIONS,
      },
      run = resume,
    },
    require "cli.lib.segments_import",
  },
}
