--- fit.lua -- `vesta fit`: proposes a layout for given requirements.
local cli = require "cli.lib.cli"
local core = require "vesta.core"
local facts = require "facts"
local term = require "term"

-- The default epoch: recent, and easy to remember.
local function year_start_ms()
  return cli.check(term.time(os.date "!%Y-01-01T00:00:00Z"))
end

local function propose(need, unit)
  return core.fit(need.rate, need.nodes, need.years, need.epoch_ms, unit, need.bits)
end

local function why_unit(fit, need, was_given)
  if was_given then return "you chose it with --unit" end
  if facts.layout(fit.layout).unit_us == 1000 then
    return "the clocks of hosts do not agree better, and most systems store dates in milliseconds"
  end
  local _, trouble = propose(need, "1ms")
  return "with 1ms " .. (trouble or "")
end

local function print_fit(fit, need, why, unit)
  cli.printf("%s\n\n", fit.layout)
  term.draw_layout(fit.layout)
  local function row(what, needed, possible) cli.printf("  %-26s  %14s  %14s", what, needed, possible) end
  term.out "\n"
  row("", "needed", "possible")
  term.out "\n"
  row("ids per second and node", term.grouped(math.floor(need.rate + 0.5)), term.grouped(math.floor(fit.rate_max)))
  term.out "\n"
  row("nodes", term.grouped(need.nodes), term.grouped(fit.nodes_max))
  term.out "\n"
  row("years", ("%.1f"):format(need.years), ("%.1f"):format(fit.years_max))
  cli.printf("  until %s\n\n  ", term.iso(fit.end_ms))
  term.fitted(("The unit is %s: %s."):format(unit, why), 2, 2)
end

local function read_need(options)
  for _, name in ipairs { "rate", "years", "nodes" } do
    if not options[name] then cli.usage("--%s is missing: --rate, --nodes and --years are required", name) end
  end
  local need = { rate = cli.rate("--rate", options.rate), nodes = options.nodes,
    years = cli.years("--years", options.years), bits = options.bits }
  need.epoch_ms = options.epoch and cli.check(term.time(options.epoch)) or year_start_ms()
  if options.unit and not facts.unit(options.unit) then
    cli.usage("--unit is %s, which must be %s", term.shown(options.unit), facts.UNITS)
  end
  return need
end

local function run(options, operands)
  cli.no_operands(operands)
  local need = read_need(options)
  local fit, trouble = propose(need, options.unit)
  if not fit then cli.fail("%s", trouble) end
  local unit, why = facts.layout(fit.layout).unit, why_unit(fit, need, options.unit)
  if not options.json then return print_fit(fit, need, why, unit) end
  cli.json(cli.object { { "text", fit.layout }, { "rate_max", cli.raw("%.0f", fit.rate_max) },
    { "nodes_max", fit.nodes_max }, { "years_max", cli.raw("%.2f", fit.years_max) }, { "end", term.iso(fit.end_ms) },
    { "unit", unit }, { "why", why } })
end

return {
  order = 60,
  line = "propose a layout for a given rate, node count and lifetime",
  usage = "fit --rate N/s --nodes N --years N [OPTION...]",
  about = [[
Splits 63 bits, or --bits, so that each node can issue --rate ids per second, --nodes nodes can run at the
same time, and the time field lasts --years years.  Spare bits are divided among the three fields.

The time unit is a millisecond if that is sufficient.  Otherwise it is 10 ms, 100 ms or 1 s, or else 100, 10
or 1 us.  The output states the reason.  JavaScript numbers represent ids of up to 53 bits exactly.
More: docs/layouts.md.

  $ vesta fit --rate 50k/s --nodes 4000 --years 30 --epoch 2026-01-01T00:00:00Z
  sign:1=0 time:41 seq:8 worker:14 unit=1ms epoch=2026-01-01T00:00:00Z
  ...

  $ vesta fit --bits 53 --rate 1000/s --nodes 50 --years 20 --json
  {"text":"zero:11=0 time:40 seq:7 worker:6 unit=1ms ...
]],
  options = {
    { name = "rate", value = "N/s",
      help = "ids per second that each node must be able to issue: 50000/s, 50k/s, 200/ms" },
    { name = "nodes", kind = "count", value = "N", min = 1,
      help = "maximum number of workers that run at the same time" },
    { name = "years", value = "N", help = "how many years the time field must last" },
    { name = "epoch", value = "TIME", help = "the instant of time 0 (default: January 1 of this year)" },
    { name = "unit", value = "UNIT", help = "the time unit, from 1us to 1s (default: 1ms if it is sufficient)" },
    { name = "bits", kind = "count", value = "N", min = 32, max = 63,
      help = "maximum bits of an id, for example 53 for JavaScript numbers (default: 63)" },
    { name = "json", kind = "switch", help = "print a JSON object" },
  },
  run = run,
}
