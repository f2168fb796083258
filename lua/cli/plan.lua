--- plan.lua -- `vesta plan`: calculates the layouts, worker ids, leases and store load for given requirements.
-- Every figure follows from a formula, and the formulas are printed below the figures.
local cli = require "cli.lib.cli"
local facts = require "facts"
local tables = require "cli.lib.tables"
local term = require "term"
local vesta = require "vesta"

local MS_PER_YEAR = 31556952000.0
local DAY_S = 86400
local PEAK_UNLESS_GIVEN = 10  -- as a multiple of the average
local START_REQUESTS = 3      -- a start lists the worker ids, claims one and renews its lease
local TOGETHER_S = 5          -- retries after an outage are spread over at least this time
local LEASES = { "strict", "balanced", "autonomous" }
local MADE = "(made for it)"

local FORMULAS = {
  "IDS/S EACH = 2^seq / unit",
  "USED = busiest / IDS/S EACH, where busiest = peak / issuers, or --busiest",
  "WAITS = E[max(0, N - 2^seq)] / E[N], N Poisson with mean busiest x unit: a request that finds the unit used up "
    .. "waits for the next one, less than a unit",
  "UNTIL = epoch + 2^time x unit",
  "fenced = issuers x restarts / 86,400 s x lease: Little's law, for issuers that end without releasing their worker "
    .. "id and return with another (none if worker ids are assigned by hand)",
  "WORKER IDS = issuers x (1 + surge) + fenced + 3 x sqrt(fenced)",
  "WRITES/S = issuers / renewal while they issue ids. IDLE = issuers / idle renewal while they issue none",
  "STARTS/S = issuers x restarts / 86,400 s x 3: a listing, a claim, a renewal",
  "ALL AT ONCE = issuers x 2 / 5 s: after an outage each reads once and writes once, spread over 5 s",
  "OUTAGE = the shorter of window and deadline (autonomous: the deadline), less one idle renewal",
}

---------------------------------------------------------------- formulas

-- The complementary error function to seven digits (Numerical Recipes, erfcc).
local function erfc(x)
  local z = math.abs(x)
  local t = 1 / (1 + z / 2)
  local sum = 0
  for _, factor in ipairs { 0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418,
    0.37409196, 1.00002368 } do
    sum = factor + t * sum
  end
  local result = t * math.exp(-z * z - 1.26551223 + t * sum)
  return x >= 0 and result or 2 - result
end

-- Returns E[max(0, N - room)] for a Poisson N.  A small mean is summed, a large one uses the normal approximation.
local function excess(mean, room)
  if mean <= 0 then return 0 end
  if mean > 700 then
    local sigma = math.sqrt(mean)
    local z = (room - mean) / sigma
    return math.max(0, sigma * (math.exp(-z * z / 2) / math.sqrt(2 * math.pi) - z * erfc(z / math.sqrt(2)) / 2))
  end
  local p, short, n = math.exp(-mean), 0, 0 -- short is E[max(0, room - N)], a finite sum
  while n < room and n < mean + 60 * math.sqrt(mean) + 60 do
    short = short + (room - n) * p
    n = n + 1
    p = p * mean / n
  end
  return math.max(0, mean - room + short)
end

local function verdict_of(fit, need, numbers)
  local layout = fit.layout
  if layout.read_only then return "read-only" end
  if fit.years <= 0 then return "its time is over" end
  if fit.used > 1 then return ("ids/s: %.1f x too slow"):format(fit.used) end
  if layout.workers < numbers then
    return ("worker ids: %s of %s"):format(term.grouped(layout.workers), term.grouped(numbers))
  end
  if fit.years < need.years then return ("years: %.1f of %g"):format(fit.years, need.years) end
  return "fits", true
end

local function fit_of(name, text, need, numbers)
  local layout = cli.check(facts.layout(text))
  local per_second = layout.per_second < 0 and 2.0 ^ 64 or layout.per_second -- the library's largest number
  local mean = need.busiest * layout.per_unit / per_second
  local fit = { name = name, text = text, layout = layout, capacity = per_second, used = need.busiest / per_second,
    years = (layout.end_ms - need.now_ms) / MS_PER_YEAR }
  fit.late = mean > 0 and math.min(1, excess(mean, layout.per_unit) / mean) or 0
  if fit.late < 1e-9 then fit.late = 0 end -- a smaller value is a rounding error
  fit.verdict, fit.fits = verdict_of(fit, need, numbers)
  return fit
end

local function load_of(name, need)
  local timing = facts.lease(name, need.given)
  local starts = need.issuers * need.restarts / DAY_S
  local fenced = need.given and 0 or starts * timing.lease_ms / 1000
  local idle_ms = timing.idle_ms > 0 and not need.given and timing.idle_ms or timing.renew_ms
  local lasts_ms = name == "autonomous" and timing.deadline_ms or math.min(timing.deadline_ms, timing.window_ms)
  return { name = name, fenced = fenced,
    numbers = math.ceil(need.issuers * (1 + need.surge / 100) + fenced + 3 * math.sqrt(fenced)),
    giving = need.issuers * 1000 / timing.renew_ms, idle = need.issuers * 1000 / idle_ms,
    starts = starts * START_REQUESTS, together = need.issuers * 2 / TOGETHER_S,
    outage_ms = lasts_ms - timing.idle_ms }
end

-- Returns a layout designed for the need, or nil and the reason why there is none.
local function made_for(need, numbers)
  local epoch = need.epoch_ms
  local years = (need.now_ms + need.years * MS_PER_YEAR - epoch) / MS_PER_YEAR
  local fit, trouble = vesta.fit { rate = need.busiest, nodes = numbers, years = years, epoch = epoch }
  return fit and fit.layout, trouble
end

local function plan_of(need, options)
  local plan = { need = need, loads = {}, fits = {} }
  for i, name in ipairs(LEASES) do
    plan.loads[i] = load_of(name, need)
    if name == need.lease then plan.load = plan.loads[i] end
  end
  local function add(name, text) table.insert(plan.fits, fit_of(name, text, need, plan.load.numbers)) end
  for _, text in ipairs(options.layout or {}) do add(text, text) end
  if options.layout then return plan end
  plan.made, plan.trouble = made_for(need, plan.load.numbers)
  if plan.made then add(MADE, plan.made) end
  for _, preset in ipairs(vesta.presets()) do
    if preset.may_issue then add(preset.name, preset.text) end
  end
  return plan
end

---------------------------------------------------------------- for people

local function rate(n)
  if n >= 10 then return term.grouped(math.floor(n + 0.5)) end
  return (n >= 1 and "%.1f" or n > 0 and "%.3g" or "0"):format(n)
end

local function percent(share)
  if share >= 10 then return ">999 %" end
  if share > 0 and share < 0.001 then return "<0.1 %" end
  return (share >= 0.1 and "%.0f %%" or "%.1f %%"):format(share * 100)
end

-- Prints a line.  Its first 13 columns are its title, and wrapped lines are indented by 13.
local function line(format, ...)
  term.fitted(format:format(...), 13, 0)
end

local function print_need(plan)
  local need, load = plan.need, plan.load
  line("ids a second %s on average, %s at the peak, of which %s by the busiest of %s issuers", rate(need.rate),
    rate(need.peak), rate(need.busiest), term.grouped(need.issuers))
  line("worker ids   %s: %s issuers, %d %% twice while replaced, %s fenced on average under %s",
    term.grouped(load.numbers), term.grouped(need.issuers), need.surge, rate(load.fenced), load.name)
  line("memory       %s bytes of /dev/shm on each host, and in the store at most %s bytes for all worker ids",
    term.grouped(facts.MAP_BYTES), term.grouped(load.numbers * facts.RECORD_BYTES_MAX))
  line("connections  at most %s to the store: one for each issuer that renews", term.grouped(need.issuers))
  if need.clock_ms > 0 then
    line("clock        if it is set back by %s ms, an issuer issues nothing for that time. The busiest issuer's %s "
      .. "requests wait, or are rejected after wait_ms_max, unless a policy borrows or pacing is history",
      term.grouped(need.clock_ms), rate(need.busiest * need.clock_ms / 1000))
  end
  if plan.trouble then line("no layout    can be made for this need: %s", plan.trouble) end
end

local FIT_COLUMNS = { { "LAYOUT", -19, -14 }, { "T/W/S", -8, -8 }, { "IDS/S EACH", 13, 0 }, { "USED", 7, 7 },
  { "WAITS", 7, 7 }, { "UNTIL", -10, -10 }, { "VERDICT", -30, -22 } }

local function print_fits(plan)
  local fitting, others = {}, {}
  for _, fit in ipairs(plan.fits) do
    local l = fit.layout
    table.insert(fit.fits and fitting or others, { fit.name,
      ("%d/%d/%d"):format(l.time_bits, l.worker_bits, l.seq_bits), rate(fit.capacity), percent(fit.used),
      percent(fit.late), (term.iso(l.end_ms):gsub("T.*", "")), fit.verdict })
  end
  term.out("\n")
  tables.print(FIT_COLUMNS, table.move(others, 1, #others, #fitting + 1, fitting))
  if plan.made then
    term.out("\n" .. MADE .. "  ")
    term.fitted(plan.made, 15, 15)
  end
end

local LOAD_COLUMNS = { { "LEASE", -10, -10 }, { "WORKER IDS", 10, 10 }, { "WRITES/S", 9, 9 }, { "IDLE", 9, 9 },
  { "STARTS/S", 9, 9 }, { "ALL AT ONCE", 11, 11 }, { "OUTAGE", -10, -10 } }

local function print_loads(plan)
  local rows = {}
  for i, load in ipairs(plan.loads) do
    rows[i] = { load.name, term.grouped(load.numbers), rate(load.giving), rate(load.idle), rate(load.starts),
      rate(load.together), term.span(load.outage_ms), paint = load == plan.load and { "cyan" } or nil }
  end
  term.out("\n")
  tables.print(LOAD_COLUMNS, rows)
end

local function print_plan(plan)
  print_need(plan)
  print_fits(plan)
  print_loads(plan)
  term.out("\n")
  for _, formula in ipairs(FORMULAS) do term.fitted(formula, 2, 0) end
end

---------------------------------------------------------------- for programs

local function fit_object(fit)
  local l = fit.layout
  return cli.object { { "layout", fit.name }, { "text", fit.text }, { "time_bits", l.time_bits },
    { "worker_bits", l.worker_bits }, { "seq_bits", l.seq_bits }, { "ids_s", cli.raw("%.3f", fit.capacity) },
    { "used", cli.raw("%.6f", fit.used) }, { "waits", cli.raw("%.6f", fit.late) }, { "numbers", l.workers },
    { "years", cli.raw("%.3f", fit.years) }, { "fits", fit.fits or false }, { "verdict", fit.verdict } }
end

local function load_object(load)
  return cli.object { { "lease", load.name }, { "numbers", load.numbers }, { "fenced", cli.raw("%.3f", load.fenced) },
    { "writes_s", cli.raw("%.3f", load.giving) }, { "idle_writes_s", cli.raw("%.3f", load.idle) },
    { "starts_s", cli.raw("%.4f", load.starts) }, { "all_at_once_s", cli.raw("%.3f", load.together) },
    { "outage_ms", load.outage_ms } }
end

local function each(list, convert)
  local made = {}
  for i, item in ipairs(list) do made[i] = convert(item) end
  return made
end

local function print_json(plan)
  local need, load = plan.need, plan.load
  cli.json(cli.object { { "rate", cli.raw("%.3f", need.rate) }, { "peak", cli.raw("%.3f", need.peak) },
    { "busiest", cli.raw("%.3f", need.busiest) }, { "issuers", need.issuers },
    { "years", cli.raw("%.3f", need.years) }, { "lease", load.name }, { "numbers", load.numbers },
    { "fenced", cli.raw("%.3f", load.fenced) }, { "map_bytes", facts.MAP_BYTES },
    { "record_bytes_max", facts.RECORD_BYTES_MAX }, { "clock_ms", need.clock_ms },
    { "clock_waits", cli.raw("%.3f", need.busiest * need.clock_ms / 1000) },
    { "layouts", each(plan.fits, fit_object) }, { "leases", each(plan.loads, load_object) } })
end

---------------------------------------------------------------- the command

local function read_need(options)
  for _, name in ipairs { "rate", "issuers", "years" } do
    if not options[name] then cli.usage("--%s is missing: --rate, --issuers and --years are required", name) end
  end
  local need = { issuers = options.issuers, restarts = options.restarts or 1, surge = options.surge or 25,
    clock_ms = options["clock-ms"] or 0, given = options.given, lease = options.lease or "balanced",
    now_ms = term.now_ms() }
  need.rate = cli.rate("--rate", options.rate)
  need.peak = options.peak and cli.rate("--peak", options.peak) or need.rate * PEAK_UNLESS_GIVEN
  if need.peak < need.rate then
    cli.usage("--peak is %s, which is less than the average, --rate %s", term.shown(options.peak),
      term.shown(options.rate))
  end
  local even = need.peak / need.issuers
  need.busiest = options.busiest and cli.rate("--busiest", options.busiest) or even
  if need.busiest < even * (1 - 1e-9) or need.busiest > need.peak then
    cli.usage("--busiest is %s, which must be from %g/s, the peak over all issuers, to the peak, %g/s",
      term.shown(options.busiest), even, need.peak)
  end
  need.years = cli.years("--years", options.years)
  need.epoch_ms = options.epoch and cli.check(term.time(options.epoch)) or need.now_ms
  return need
end

local function run(options, operands)
  cli.no_operands(operands)
  local plan = plan_of(read_need(options), options)
  if options.json then print_json(plan) else print_plan(plan) end
  for _, fit in ipairs(plan.fits) do
    if fit.fits then return 0 end
  end
  return 1
end

return {
  order = 70,
  line = "calculate layouts, worker ids and store load for your setup",
  usage = "plan --rate N/s --issuers N --years N [OPTION...]",
  about = [[
Calculates your needs from the rate of ids, the number of issuers, and the lifetime in years:

  - which layouts fit, and which field of each other layout is too small
  - the number of worker ids, including those that are fenced after restarts
  - how often each lease preset reads and writes the store
  - memory and connections

The formulas are printed below the figures.  The exit code is 1 if no layout fits.  More: docs/layouts.md.

  $ vesta plan --rate 20k/s --peak 200k/s --issuers 500 --years 20
  ids a second 20,000 on average, 200,000 at the peak, ...
  worker ids   636: 500 issuers, 25 % twice while replaced, 4.2 fenced ...
  ...

  $ vesta plan --rate 5M/day --issuers 100000 --years 10 --json
  {"rate":57.870,...
]],
  options = {
    { name = "rate", value = "N/s",
      help = "ids per second of all issuers together, averaged over a day: 20k/s, 5M/day" },
    { name = "peak", value = "N/s",
      help = "ids per second of all issuers in the busiest second (default: ten times --rate)" },
    { name = "busiest", value = "N/s",
      help = "ids per second of the busiest issuer in that second (default: --peak divided by --issuers)" },
    { name = "issuers", kind = "count", value = "N", min = 1, max = 1000000000,
      help = "hosts, pods or generator files that hold a worker id at the same time" },
    { name = "years", value = "N", help = "how many years from now the layout must last" },
    { name = "restarts", kind = "count", value = "N", max = 86400,
      help = "how often per day an issuer exits without releasing its worker id and then gets another (default: 1)" },
    { name = "surge", kind = "count", value = "PERCENT", max = 100,
      help = "the percentage of issuers whose replacements start before they exit (default: 25)" },
    { name = "clock-ms", kind = "count", value = "MS", max = 86400000,
      help = "how far a clock may be set back, in milliseconds (default: 0)" },
    { name = "given", kind = "switch",
      help = "you assign worker ids by hand, so an issuer restarts with the same worker id" },
    { name = "lease", kind = "choice", value = "strict|balanced|autonomous",
      help = "the lease preset (default: balanced)" },
    { name = "layout", kind = "texts", value = "TEXT|PRESET",
      help = "a layout to examine, may be repeated (default: a layout that plan designs, and all presets)" },
    { name = "epoch", value = "TIME", help = "the epoch of the layout that plan designs (default: now)" },
    { name = "json", kind = "switch", help = "print a JSON object" },
  },
  run = run,
}
