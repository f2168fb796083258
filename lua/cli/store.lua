--- store.lua -- `vesta store init|show|advance|lower|relayout`: changes to a store that only an operator makes, never a
-- server.
local cli = require "cli.lib.cli"
local facts = require "facts"
local floor = require "cli.lib.store_floor"
local init = require "cli.lib.store_init"
local show = require "cli.lib.store_show"
local store = require "store"
local stores = require "cli.lib.stores"
local term = require "term"
local where = require "where"

---------------------------------------------------------------- relayout

local NOT_DONE = { mismatch = true, bad_layout = true, epoch_end = true }

-- Creates a namespace with the next layout of a namespace in use.  Hosts move to it one at a time, by their configs.
local function relayout(asked)
  local place = asked.place
  local function need(value, text, code)
    if value == nil and NOT_DONE[code] then cli.fail("nothing was done: %s", text) end
    return cli.check(value, text, code)
  end
  local warning = need(store.lifetime(asked.layout))
  if warning ~= "" then term.say(warning) end
  local made = need(asked.store:extend(asked.layout))
  if asked.json then
    return cli.json(cli.object { { "namespace", place.name }, { "leased_as", made.leased_as },
      { "layout", made.layout }, { "created", made.is_new } })
  end
  cli.printf("proved: no id of this layout can equal an id that %s has issued or will issue\n", place.name)
  cli.printf("%s %s: %s\n", made.leased_as, made.is_new and "was created" or "already exists", made.layout)
  term.out "host by host, add this to the config and restart the server:\n"
  cli.printf('  namespaces = { ["%s"] = { leased_as = "%s", layout = "%s", ...\n', place.name, made.leased_as,
    made.layout)
end

---------------------------------------------------------------- the options

local ACTIONS = { init = init.run, show = show.run, advance = floor.advance, lower = floor.lower, relayout = relayout }

local function check_action(action)
  if not action then cli.usage "the subcommand is missing: init, show, advance, lower or relayout" end
  if not ACTIONS[action] then cli.no_word(action, { "init", "show", "advance", "lower", "relayout" }) end
end

-- Rejects options of other subcommands.
local function check_options(options, action)
  local is_floor, is_init = action == "advance" or action == "lower", action == "init"
  local is_dated = is_floor or options.again
  if options.yes and not is_floor then cli.usage "--yes is for advance and lower" end
  if options.again and not is_init then cli.usage "--again is for init" end
  if options.segments and not is_init then cli.usage "--segments is for init" end
  if options["trust-store-clock"] and not is_dated then
    cli.usage "--trust-store-clock is for advance, lower and init --again"
  end
  if options.lease and not is_dated then cli.usage "--lease is for advance, lower and init --again" end
end

---------------------------------------------------------------- all stores of a config

local IS_OF_CONFIG = { init = true, show = true }

local function is_namespace_named(options)
  return options.namespace ~= nil or cli.go(where.environment(options)).namespace ~= nil
end

-- Runs init or show on all stores of a config.  Returns the exit code.
local function run_all(action, options, path)
  local list = stores.of_config(options)
  local has_leases = false
  for _, one in ipairs(list) do has_leases = has_leases or one.namespaces[1] ~= nil end
  if not has_leases and action == "show" then
    cli.usage("%s has no namespace, only segments: vesta segments lists their counters", term.shown(path))
  end
  if options.layout or options.again then
    cli.usage "--layout, --static and --again describe a namespace: name it with --namespace"
  end
  if options.effective and list[1] then stores.print_effective(options, list) end
  if action == "init" then return init.config(list, options) end
  return show.config(list, options.json)
end

-- Sets options.namespace to the config's only namespace.  Ends the command if the config has several.
local function name_one(options, path, action)
  local namespaces, names = cli.go(where.namespaces(options)), {}
  for i, namespace in ipairs(namespaces) do names[i] = namespace.name end
  if #names > 1 then
    cli.usage("%s changes one namespace, and %s has %s: add --namespace NAME", action, term.shown(path),
      table.concat(names, ", "))
  end
  options.namespace = names[1]
end

local function run(options, operands)
  local action = operands[1]
  check_action(action)
  if operands[2] then cli.usage("unexpected operand %s", term.shown(operands[2])) end
  check_options(options, action)
  if options.static and not options.layout then
    cli.usage "--static needs --layout, which defines the range of worker ids"
  end
  if options.layout then init.read_static(options.static, cli.check(facts.layout(options.layout))) end
  if action == "relayout" and not options.layout and not options.effective then
    cli.usage "--layout is missing: name the namespace's next layout"
  end
  local path = stores.config(options)
  if path and not options.store and not is_namespace_named(options) then
    if IS_OF_CONFIG[action] then return run_all(action, options, path) end
    name_one(options, path, action)
  end
  local place = stores.find(options, action == "relayout", action == "show")
  if action == "relayout" and place.public then
    place.name = place.public -- the name that all generations of the namespace share
  end
  return ACTIONS[action] { place = place, store = stores.open(place), json = options.json, yes = options.yes,
    again = options.again, segments = options.segments, trusts_clock = options["trust-store-clock"],
    lease = options.lease or "balanced", static = options.static,
    layout = options.layout or place.is_named and place.layout or nil }
end

return {
  order = 160,
  line = "create, inspect and repair the stores of worker ids",
  usage = "store init|show|advance|lower|relayout [OPTION...]",
  about = [[
Prepares, shows and repairs the stores that lease worker ids.  An operator prepares a shared store once.  A
server never does that.  More: docs/stores.md.

  init     creates the tables or the root node that the store needs.  With
           --namespace it also creates the namespace, and with --segments the
           counter table (a database that Leaf uses already has it).  Existing
           tables and namespaces do not change.  With -c and without
           --namespace, it prepares every store in the config.  If the store
           lost the namespace, add --again.  Then no lease starts before the
           store's clock plus a margin, so that no id repeats an id that a
           process may still issue.
  show     prints the namespace's record, and how many worker ids are held,
           expired and free.  Without --namespace, it prints all namespaces in
           the store, or in all stores of the config.
  advance  continues with a store that lost acknowledged writes.  Every holder
           must claim again, and no lease starts before the store's clock plus
           a margin.  It asks for confirmation, unless you add --yes.
  lower    lowers a floor that was set by a clock that was ahead, and the
           start of leases if watermarks were read then.  It asks for
           confirmation, unless you add --yes.
  relayout creates the namespace NAME.2 with a new --layout, if it can prove
           that its ids differ from every id that NAME could have issued.
           Then move the hosts to NAME.2 one at a time, by leased_as in their
           configs.

  $ vesta store init --store sqlite:/var/lib/vesta/vesta.db \
    --namespace orders --layout snowflake
  store is ready: the database and its tables exist, ...
  namespace orders was created: sign:1=0 time:41 worker:10 seq:12 unit=1ms ...

  $ vesta store show --store 'zk://zk1/vesta?secret_file=/etc/vesta/zk.auth'
  namespace    orders
  ...
  worker ids   3 held, 0 expired, 1 free, 1,020 never used
]],
  options = cli.rows {
    stores.OPTIONS,
    { name = "layout", value = "TEXT|PRESET",
      help = "init, relayout: the new namespace's layout (default for init: vesta-second)" },
    { name = "static", value = "FIRST-LAST", help = "init: the new namespace's worker ids that you assign by hand" },
    { name = "lease", kind = "choice", value = "local|strict|balanced|autonomous",
      help = "advance, lower, init --again: the lease preset with the longest leases among the hosts (default: "
        .. "balanced)" },
    { name = "again", kind = "switch",
      help = "init: the store lost this namespace, so no lease starts before the store's clock plus a margin" },
    { name = "segments", kind = "switch", help = "init: also create the counter tables for segments" },
    { name = "yes", kind = "switch", help = "advance, lower: do not ask for confirmation" },
    { name = "trust-store-clock", kind = "switch",
      help = "advance, lower, init --again: the store's clock is right, and this machine's is wrong" },
    { name = "json", kind = "switch", help = "print one JSON object" },
  },
  run = run,
}
