--- range.lua -- `vesta range`: prints the smallest and largest ids that an interval of time can have.
local cli = require "cli.lib.cli"
local facts = require "facts"
local fields = require "cli.lib.fields"
local ids = require "ids"
local term = require "term"
local where = require "where"

-- Returns the number of times among the operands.  Times come before the name=value operands.
local function count_times(operands)
  for i, operand in ipairs(operands) do
    if operand:find("=", 1, true) then return i - 1 end
  end
  return #operands
end

local function read_times(operands, count)
  if count < 1 then cli.usage "give a time first, such as 2026-01-01, -1h or Unix milliseconds" end
  if count > 2 then cli.usage("unexpected operand %s: a range has one or two times", term.shown(operands[3])) end
  local now_ms = term.now_ms()
  local from_ms, length_ms = cli.time(operands[1], now_ms)
  if count == 1 then return from_ms, from_ms + length_ms end
  local until_ms = cli.time(operands[2], now_ms)
  if until_ms <= from_ms then
    cli.usage("%s is not after %s: put the earlier time first", term.shown(operands[2]), term.shown(operands[1]))
  end
  return from_ms, until_ms
end

-- Adds the namespace's current value of each field above the time for which the caller gave no value.
local function add_issued(issuer, values)
  local is_given, added = {}, ""
  for _, value in ipairs(values) do is_given[value[1]] = true end
  for _, value in ipairs(cli.check(ids.issued(issuer.layout, issuer.fields, issuer.method))) do
    if not is_given[value[1]] then
      values[#values + 1] = value
      added = added .. (" %s=%s"):format(value[1], cli.unsigned(value[2]))
    end
  end
  if added ~= "" then term.say(("only ids with%s, as issued now (see also --all)"):format(added)) end
end

local function print_pairs(layout, pairs, options)
  local base = options.format or "dec"
  for _, pair in ipairs(pairs) do
    local min, max = cli.id(pair.min, base), cli.id(pair.max, base)
    local line, object = { min .. " " .. max }, { { "min", min }, { "max", max } }
    for i = 1, layout.time - 1 do -- the fields above the time distinguish the pairs
      local field = layout.fields[i]
      if not field.constant then
        local value = fields.get(field, pair.min)
        line[#line + 1] = ("%s=%s"):format(field.name, cli.unsigned(value))
        object[#object + 1] = { field.name, cli.count(value) }
      end
    end
    if options.json then cli.json(cli.object(object)) else term.out(table.concat(line, "  ") .. "\n") end
  end
end

-- Prints the smallest and the largest id of 128 bits.
local function print_wide(issuer, options, operands)
  if count_times(operands) < #operands then
    cli.usage("a range of a shape has no fields: leave out the operand %s", term.shown(operands[#operands]))
  end
  if options.format then cli.usage "--format is for ids of 64 bits: leave it out, or leave out --shape" end
  local from_ms, until_ms = read_times(operands, #operands)
  local shape = options.shape or "uuid7"
  if options["type-prefix"] and not shape:find "^uuid" then
    cli.usage("--type-prefix cannot be combined with --shape %s: a TypeID is a uuid7 or uuid8", shape)
  end
  local min, max, code = ids.wide_range(shape, options["type-prefix"], issuer.layout, from_ms, until_ms)
  cli.check(min, max, code)
  if options.json then
    cli.json(cli.object { { "min", min }, { "max", max } })
  else
    term.out(min .. " " .. max .. "\n")
  end
end

local function run(options, operands)
  local issuer = cli.go(where.layout(options))
  if options.shape or options["type-prefix"] then return print_wide(issuer, options, operands) end
  local layout = cli.check(facts.layout(issuer.layout))
  local times = count_times(operands)
  local from_ms, until_ms = read_times(operands, times)
  local values = fields.read(layout, operands, times + 1)
  if not options.all and not options.layout then add_issued(issuer, values) end
  print_pairs(layout, cli.check(ids.range(issuer.layout, from_ms, until_ms, values)), options)
end

local options = cli.rows {
  { name = "layout", value = "TEXT|PRESET", help = "the ids' layout (default: the namespace's, else vesta-second)" },
  { name = "all", kind = "switch",
    help = "print one pair for each combination of the fields above the time, as with --layout" },
  where.OPTIONS,
  cli.format_option "how the ids are written",
  { name = "shape", kind = "choice", value = "uuid7|uuid8|ulid|hex32", help = "print ids of 128 bits" },
  { name = "type-prefix", value = "PREFIX", help = "write ids of 128 bits as TypeIDs, such as order_01h455vb4p..." },
  { name = "json", kind = "switch", help = "print one JSON object per line" },
}

return {
  order = 40,
  line = "print the smallest and largest id of an interval, for a query",
  usage = "range [OPTION...] T0 [T1] [FIELD=VALUE...]\n       vesta range lease --from TIME --until TIME [OPTION...]\n"
    .. "       vesta range release (--last ID | --unused) [OPTION...] LEASE",
  about = [[
Prints the smallest and the largest id that can be generated from T0 to just before T1, for a query with
WHERE id BETWEEN.  Without T1, the interval is the day T0, or the time unit that contains the instant T0.

A time is a UTC day (2026-01-31, today), now, an offset from now such as -1h (units: ms, s, m, h, d, w),
an RFC 3339 time, or Unix milliseconds.

If a layout has fields above the time, the ids of an interval form several ranges.  With --layout or --all,
you get one pair for each combination of the fields that you do not set.  Otherwise you get only ids that the
namespace issues with its current fields and method (default: 2).  If it used a different method before, or
if other programs generated ids, use --all.  With --shape you get the UUIDs or ULIDs of the interval.  More:
docs/layouts.md, docs/uuids.md.

lease leases the ids of past dates for an import.  They sort into these dates, and never equal other ids.
release returns those that were not used.  More: docs/past-ids.md.

  $ vesta range --layout snowflake 2026-01-01T00:00:00Z 2026-01-02T00:00:00Z
  2006515713438646272 2006878101304246271

  $ vesta range 2026-01-01T00:00:00Z
  vesta range: only ids with version=0 method=2, as issued now (see also --all)
  2678628990637309952 2678628991711051775  version=0  method=2

  $ vesta range --shape uuid7 2026-01-01
  019b76da-a800-7000-8000-000000000000 019b7c01-03ff-7fff-bfff-ffffffffffff

  $ vesta range lease --from 2019-01-01 --until 2020-01-01 --count 1000000
  namespace  default
  ...
]],
  options = options,
  run = run,
  words = { require "cli.lib.range_lease", require "cli.lib.range_release" },
}
