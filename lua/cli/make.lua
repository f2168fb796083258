--- make.lua -- `vesta make`: builds an id from its fields, or a business number from its form.
local cli = require "cli.lib.cli"
local facts = require "facts"
local fields = require "cli.lib.fields"
local ids = require "ids"
local numbers = require "numbers"
local where = require "where"

local function run(options, operands)
  local base = options.format or "dec"
  if options.form then
    if options.layout or base ~= "dec" then
      cli.usage "--form cannot be combined with --layout or --format: the form defines how a business number is written"
    end
    return numbers.make(options.form, options.zone, operands, options.json)
  end
  if options.zone then cli.usage "--zone needs --form" end
  local text = cli.go(where.layout(options)).layout
  local layout = cli.check(facts.layout(text))
  if not operands[1] then
    local worker = layout.fields[layout.worker]
    cli.usage("give the fields of the id: time=N seq=N %s=N", worker and worker.name or "...")
  end
  local id = cli.check(ids.make(text, fields.read(layout, operands, 1)))
  local digits = cli.id(id, base)
  if options.json then cli.json(cli.object { { "id", digits } }) else cli.printf("%s\n", digits) end
end

local options = cli.rows {
  { name = "layout", value = "TEXT|PRESET", help = "the id's layout (default: the namespace's, else vesta-second)" },
  where.OPTIONS,
  cli.format_option "how the id is written",
  { name = "json", kind = "switch", help = "print a JSON object" },
  { name = "form", value = "TEXT",
    help = "build a business number with this form instead of an id, from number=N and time=TIME" },
  { name = "zone", value = "NAME", help = "the time zone of the business number's days (default: UTC)" },
}

return {
  order = 30,
  line = "build one id from its fields",
  usage = "make [OPTION...] FIELD=VALUE...",
  about = [[
Builds an id from its fields, the inverse of `vesta explain`.  The time, the sequence and the worker are
required.  Every other field defaults to its constant, or to 0.  time= takes a number of time units, a day,
or an RFC 3339 time.

The id is not reserved, so another process can issue the same id.  For new ids, use `vesta gen`.
More: docs/cli.md, and docs/numbers.md for --form.

  $ vesta make time=12758739 seq=0 machine=1022 method=2
  2319542600899494910

  $ vesta make --layout snowflake time=2026-01-01T00:00:00Z seq=0 worker=7
  2006515713438674944
]],
  options = options,
  run = run,
}
