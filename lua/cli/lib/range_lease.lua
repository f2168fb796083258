--- range_lease.lua -- `vesta range lease`: leases the ids of past dates for an import, or prints one for each row.
local cli = require "cli.lib.cli"
local past = require "past"
local stores = require "cli.lib.stores"
local term = require "term"

local COUNT_MAX = 1 << 62

local function read_time(options, name)
  local text = options[name]
  if not text then cli.usage("--%s is missing: give a time, such as 2019-01-01", name) end
  return (cli.time(text, term.now_ms()))
end

local function lease(options)
  local from_ms, until_ms = read_time(options, "from"), read_time(options, "until")
  local place = stores.find(options, true, true)
  if not place.uri then stores.no_store() end
  local range, text, code = past.lease { uri = place.uri, namespace = place.name, secret = place.secret,
    layout = options.layout or place.is_named and place.layout or nil, fallback = stores.LAYOUT_DEFAULT,
    fields = options.fields or place.fields, method = place.method, from_ms = from_ms, until_ms = until_ms,
    count = options.count, worker = options.worker }
  if not range then
    term.say(("no range was leased: %s"):format(text))
    cli.exit((code == "bad_option" or code == "bad_field" or code == "bad_layout" or code == "epoch_end") and 2 or 1)
  end
  return range, place
end

---------------------------------------------------------------- the lease

local function rows_of(info, place, base)
  return { { "namespace", place.name }, { "worker", info.worker }, { "from", term.iso(info.from_ms) },
    { "until", term.iso(info.until_ms) }, { "count", info.count }, { "min", cli.id(info.min, base) },
    { "max", cli.id(info.max, base) }, { "others", info.others }, { "lease", info.lease } }
end

local function print_lease(info, place, options)
  local rows = rows_of(info, place, options.format or "dec")
  if options.json then
    for _, row in ipairs { { "layout", info.layout }, { "base", cli.unsigned(info.base) },
        { "first", cli.unsigned(info.first) } } do
      table.insert(rows, row)
    end
    return cli.json(cli.object(rows))
  end
  for _, row in ipairs(rows) do term.out(("%s\t%s\n"):format(row[1], tostring(row[2]))) end
end

---------------------------------------------------------------- ids for rows

local function release(range, count)
  local released, text, code = range:release()
  if released or code == "not_now" then return true end
  term.say(("%d ids were printed, and the rest of the range was not returned: %s"):format(count, text))
  return code ~= "mismatch"
end

local function print_ids(range, options)
  local count, text, code, partly = range:fill(options.times, options.format or "dec", options.shape)
  term.flush()
  local is_well = release(range, count or partly)
  if not count then
    term.say(partly > 0 and ("%s. %s ids were printed before it"):format(text, term.grouped(partly)) or text)
    cli.exit((code == "bad_option" or code == "bad_field") and 2 or 1)
  end
  return is_well and 0 or 1
end

local function run(options, operands)
  cli.no_operands(operands)
  if options.times and options.json then cli.usage "--json prints the lease, and --times prints ids: leave one out" end
  if options.shape and not options.times then
    cli.usage "--shape needs --times: ids of 128 bits are made from the ids of rows"
  end
  if options.shape and options.format then
    cli.usage "--format is for ids of 64 bits: leave it out, or leave out --shape"
  end
  local range <close>, place = lease(options)
  if options.times then return print_ids(range, options) end
  print_lease(range:info(), place, options)
end

return {
  name = "lease",
  options = cli.rows {
    { name = "from", value = "TIME", help = "the start of the range" },
    { name = "until", value = "TIME", help = "the end of the range, exclusive, and not after now" },
    { name = "times", value = "FILE",
      help = "read a row's time from each line of FILE (-: stdin), sorted by time, and print its id. The text after "
        .. "the line's first tab follows the id" },
    { name = "count", kind = "count", value = "N", min = 1, max = COUNT_MAX,
      help = "lease nothing if the range has fewer than N ids" },
    { name = "worker", kind = "count", value = "N", max = COUNT_MAX - 1, help = "lease this worker id only" },
    { name = "layout", value = "TEXT|PRESET",
      help = "the layout of a namespace that does not exist yet (default: vesta-second). If the namespace exists, it "
        .. "must have this layout" },
    { name = "fields", value = '"NAME=N ..."',
      help = "values of the layout's other fields (default: the config's, else 0)" },
    stores.OPTIONS,
    cli.format_option "how ids are written",
    { name = "shape", kind = "choice", value = "uuid7|uuid8|ulid|hex32", help = "with --times: print ids of 128 bits" },
    { name = "json", kind = "switch", help = "print the lease as a JSON object" },
  },
  run = run,
}
