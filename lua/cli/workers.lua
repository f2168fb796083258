--- workers.lua -- `vesta workers`: lists the worker ids of a namespace, with their holders and remaining lease times.
local cli = require "cli.lib.cli"
local screen = require "screen"
local stores = require "cli.lib.stores"
local tables = require "cli.lib.tables"
local term = require "term"
local watch = require "cli.lib.watch"
local where = require "where"

---------------------------------------------------------------- for people

-- On a narrow terminal the clock and milliseconds are left out.
local COLUMNS = { { "WORKER", 6, 6 }, { "STATE", -7, -7 }, { "LEFT", 8, 8 }, { "CLOCK", 10, 0 },
  { "USED BELOW", -24, -20 }, { "HOLDER, IDENTITY", -35, -35 } }

local function used_below(row, is_narrow)
  local ms = row.until_ms
  if not ms then return "the layout's end" end
  return term.iso(is_narrow and ms - ms % 1000 or ms)
end

local function print_row(row, is_narrow)
  local holder = ("%s  %s%s%s"):format(row.holder ~= "" and row.holder or "-", row.identity,
    row.is_own and "" or "  [another layout's]", row.is_in_range and "" or "  [not a worker id of this layout]")
  tables.row(COLUMNS, { cli.unsigned(row.worker), row.state, row.left_ms and cli.left(row.left_ms) or "-",
    row.clock_ms and ("%+.3f s"):format(row.clock_ms / 1000) or "-", used_below(row, is_narrow), term.clean(holder),
    paint = row.state == "expired" and { nil, "yellow" } or nil })
end

local function print_table(place, list)
  local counts, is_narrow = list:counts(), tables.is_narrow(COLUMNS)
  tables.print(COLUMNS)
  for i = 1, #list do print_row(list:row(i), is_narrow) end
  term.fitted(("%s: %d held, %d expired, %d free, %s never used, at %s by the store's clock"):format(
    stores.title(place), counts.held, counts.expired, counts.free, term.grouped(counts.never),
    term.iso(counts.store_ms)), 2, 0)
end

---------------------------------------------------------------- for programs

local function member(name, value) return value and (',"%s":%d'):format(name, value) or "" end

-- Formats the JSON directly, because there may be millions of rows.
local function row_json(row)
  return ('{"worker":%s,"state":"%s"%s%s,"until":"%s"%s,"written_ms":%d,"lease_ms":%d,"epoch":%s,"holder":%s,'
    .. '"identity":%s,"fits":%s}'):format(cli.unsigned(row.worker), row.state, member("left_ms", row.left_ms),
    member("clock_ms", row.clock_ms), cli.unsigned(row["until"]), member("until_ms", row.until_ms), row.written_ms,
    row.lease_ms, cli.unsigned(row.epoch), cli.encode(row.holder), cli.encode(row.identity),
    row.is_own and row.is_in_range)
end

local function print_json(place, list)
  local counts, members = list:counts(), stores.members(place)
  table.insert(members, { "store_ms", counts.store_ms })
  table.insert(members, { "ahead_ms", stores.ahead_ms(counts.store_ms) })
  for _, state in ipairs(stores.STATES) do table.insert(members, { state, counts[state] }) end
  table.insert(members, { "never", cli.count(counts.never) })
  term.out(cli.encode(cli.object(members)):sub(1, -2) .. ',"workers":[')
  for i = 1, #list do term.out((i > 1 and "," or "") .. row_json(list:row(i))) end
  term.out "]}\n"
end

---------------------------------------------------------------- the command

-- Reports the config's other namespaces, if only the first was printed because the command names no namespace.
local function print_others(options, place)
  local is_named = options.namespace or cli.go(where.environment(options)).namespace
  if not stores.config(options) or options.store or is_named then return end
  local others = {}
  for _, namespace in ipairs(where.namespaces(options) or {}) do
    if namespace.name ~= (place.public or place.name) then table.insert(others, namespace.name) end
  end
  if #others > 20 then others = { others[1], ("%d more"):format(#others - 1) } end
  if others[1] then term.say(("the config also has %s: add --namespace NAME"):format(table.concat(others, ", "))) end
end

local function run(options, operands)
  if operands[1] then cli.no_word(operands[1], { "import" }) end
  local place = stores.find(options, true, true)
  local opened, list = stores.open(place), nil

  local function look()
    if list then list:close() end
    local ns, text, code = opened:need()
    if ns then list, text, code = opened:workers() end
    return ns ~= nil and list ~= nil, text, code
  end
  local function print() (options.json and print_json or print_table)(place, list) end

  if options.watch then return watch.run(look, print, not options.json and screen.is_shown()) end
  local is_seen, text, code = look()
  if not is_seen then cli.fail("%s", stores.trouble(place, text, code)) end
  print()
  if not options.json then print_others(options, place) end
end

return {
  order = 170,
  line = "list the worker ids of a namespace and their holders",
  usage = "workers [OPTION...]\n       vesta workers import --from KIND --source URI [OPTION...]",
  about = [[
Lists every worker id that has ever been used in a namespace.  For each, it shows whether it is held,
expired or free, the lease's remaining time, the holder's clock offset from the store at its last write,
and an upper bound on the timestamps of its ids.  It changes nothing.  Without a store or a config, it
lists the store that this user's processes share on this machine.

import reads the worker ids that another generator has used (from Butterfly's table or nodes, Leaf's
nodes, or the table of UidGenerator or Vesta (Java)).  It marks them as held, or as used up to now, so that
no lease repeats their ids.  Without --yes it only shows the changes.  `vesta help workers import`
lists its options.  More: docs/stores.md, and docs/migrate/README.md for import.

  $ vesta workers --store mysql://vesta@db/vesta?secret_file=/etc/vesta/db
  WORKER  STATE        LEFT       CLOCK  USED BELOW                HOLDER, ...
     417  held        11:58    -0.002 s  2026-11-21T20:10:00.123Z  web1 pid ...
  default: 1 held, 0 expired, 0 free, 1,023 never used, at ...

  $ vesta workers import --from leaf --source zk://zk1:2181/snowflake \
    --name orders --store 'zk://zk1/vesta?secret_file=/etc/vesta/zk.auth' \
    --namespace orders
       3  mark   held until the layout's end          10.0.0.4:8080-0000000003
  ...

  $ vesta workers --store file:/var/lib/vesta --watch --json
  {"namespace":"default","store_ms":1795300000000,...
]],
  options = cli.rows {
    stores.OPTIONS,
    { name = "watch", kind = "switch", help = "refresh every second until interrupted" },
    { name = "json", kind = "switch", help = "print a JSON object (with --watch, one per second)" },
  },
  run = run,
  words = { require "cli.lib.workers_import" },
}
