--- lease.lua -- `vesta lease run`: runs a program with a leased worker id.  With `--once`, only prints a worker id.
local cli = require "cli.lib.cli"
local lease = require "lease"
local stores = require "cli.lib.stores"
local term = require "term"

local TTL_S = 30
local SKEW_MS = 1000
local TTL_S_MAX = 1200

---------------------------------------------------------------- the options

-- Returns the store of the options.  Without --store and --config, returns the store that all such processes share.
local function find_place(options)
  local place = stores.find(options, true, true)
  if not place.uri then stores.no_store() end
  return place
end

local function read_kill_after(options, ttl_ms)
  local default_ms, longest_ms = lease.kill_after_ms(ttl_ms)
  local given_s = options["kill-after"]
  if not given_s then return default_ms end
  if given_s * 1000 > longest_ms then
    cli.usage("--kill-after is %d s, and --ttl is %d s: use at most a third of --ttl, so that the program has ended "
      .. "before its lease", given_s, ttl_ms // 1000)
  end
  return given_s * 1000
end

local function check_names(options)
  for _, name in ipairs(options.env or {}) do
    local trouble = lease.name_trouble(name, options["datacenter-bits"] ~= nil)
    if trouble then cli.usage("--env is %s, %s", term.shown(name), trouble) end
  end
end

-- Returns the options of csrc/run.
local function read(options, command)
  check_names(options)
  local ttl_ms = (options.ttl or TTL_S) * 1000
  local kill_after_ms = read_kill_after(options, ttl_ms)
  local place = find_place(options)
  local layout = options.layout or place.is_named and place.layout or nil
  return { uri = place.uri, namespace = place.name, secret = place.secret, layout = layout,
    fallback = stores.LAYOUT_DEFAULT, identity = options.identity, worker = options.worker, verbose = options.verbose,
    ttl_ms = ttl_ms, skew_ms = options["skew-ms"] or SKEW_MS, kill_after_ms = kill_after_ms,
    patience_ms = (options.wait or 0) * 1000, datacenter_bits = options["datacenter-bits"] or 0,
    names = options.env or {}, command = command }
end

---------------------------------------------------------------- a lease without a program

local function print_lease(options, got)
  if options.json then
    return cli.json(cli.object { { "worker", got.worker }, { "fence", got.fence },
      { "starts", term.iso(got.starts_ms) }, { "expires", term.iso(got.expires_ms) } })
  end
  cli.printf("%s\n", cli.unsigned(got.worker))
end

local function once(options, command)
  if command[1] then
    cli.usage("--once prints a worker id and runs no program: leave out %s", term.shown(command[1]))
  end
  for _, name in ipairs { "env", "kill-after", "datacenter-bits", "verbose" } do
    if options[name] then
      cli.usage("--%s is for a program that vesta runs: leave it out, or leave out --once", name)
    end
  end
  local got, text = lease.once(read(options, command))
  if not got then cli.fail("no worker id was leased: %s", text) end
  print_lease(options, got)
  term.say(("worker id %s is leased until %s, and vesta does not renew the lease. After that time, another process may "
    .. "get this worker id: end your program earlier, by the clock of this host"):format(cli.unsigned(got.worker),
    term.iso(got.expires_ms)))
end

---------------------------------------------------------------- the command

-- Without `--`, an option of COMMAND would be read as an option of vesta.
local function check_dashes(command, words)
  for _, word in ipairs(words) do
    if word == "--" then return end
  end
  cli.usage("-- is missing before %s: vesta lease run [OPTION...] -- COMMAND", term.shown(command[1]))
end

local function run(options, command, words)
  if options.once then return once(options, command) end
  if options.effective then find_place(options) end -- prints the settings, and ends
  if options.json then cli.usage "--json is for --once: leave it out" end
  if not command[1] then
    cli.usage("COMMAND is missing: vesta lease run [OPTION...] -- COMMAND. For a worker id without a program, "
      .. "add --once")
  end
  check_dashes(command, words)
  return lease.run(read(options, command))
end

local OPTIONS = cli.rows {
  stores.OPTIONS,
  { name = "layout", value = "TEXT|PRESET",
    help = "the layout of a namespace that does not exist yet (default: vesta-second, with worker ids up to 1023). "
      .. "If the namespace exists, it must have this layout" },
  { name = "env", kind = "texts", value = "NAME[=TEXT]",
    help = "also set this variable to the worker id, or to TEXT with {worker}, {datacenter} and {machine} "
      .. "replaced. Repeat it for several" },
  { name = "datacenter-bits", kind = "count", value = "N", min = 1, max = 62,
    help = "split the worker id: its high N bits in VESTA_DATACENTER_PART, its other bits in VESTA_MACHINE_PART" },
  { name = "worker", kind = "count", value = "N", max = (1 << 62) - 1, help = "lease this worker id only" },
  { name = "identity", value = "NAME", help = "prefer the worker id that a program with this name had last" },
  { name = "ttl", kind = "count", value = "SECONDS", min = 1, max = TTL_S_MAX,
    help = "the length of the lease (default: 30). vesta renews it after a third of this time. At most 360 for a store "
      .. "on this host" },
  { name = "skew-ms", kind = "count", value = "N", max = 3600000,
    help = "start the program N ms after the time of the last holder's ids (default: 1000)" },
  { name = "kill-after", kind = "count", value = "SECONDS", min = 1, max = TTL_S_MAX,
    help = "time from TERM to KILL when vesta ends the program (default: a fifth of --ttl, at most 10)" },
  { name = "wait", kind = "count", value = "SECONDS", max = 31536000,
    help = "wait this long if no worker id is free, or if the store is unreachable (default: 2)" },
  { name = "verbose", kind = "switch", help = "report each lease and release" },
  { name = "once", kind = "switch", help = "print a worker id, and run no program" },
  { name = "json", kind = "switch", help = "with --once or --effective: print JSON" },
}

return {
  order = 175,
  line = "run a program with a leased worker id",
  usage = "lease run [OPTION...] -- COMMAND...\n       vesta lease run --once [OPTION...]",
  about = [[
Leases a worker id for a program that has its own id generator, renews the lease, and ends the program
before another process can get the same worker id.

The program gets VESTA_WORKER, VESTA_LEASE_EXPIRES and the variables of --env.  It starts when the clock has
passed all ids of the worker id's last holder.  vesta forwards signals, exits with the program's exit code,
and releases the worker id when the program and all processes that it started have ended.

If the lease cannot be renewed, the program gets TERM, then KILL, before the lease ends.  Exit codes: 124 if
vesta ended the program, 125 if no worker id was leased, 126 or 127 if COMMAND cannot be run or found.

--once prints a worker id for a script.  Nothing renews that lease or ends the script when the lease ends.
Use it only if the script always ends before --ttl.  More: docs/worker-leases.md.

  $ vesta lease run --env SNOWFLAKE_NODE -- sh -c 'echo $SNOWFLAKE_NODE'
  417

  $ vesta lease run --datacenter-bits 5 \
    --env 'OPTS=-Ddc={datacenter} -Dnode={machine}' -- sh -c 'echo $OPTS'
  -Ddc=13 -Dnode=1

  $ vesta lease run --store zk://zk1/vesta --namespace orders --ttl 300 --once
  417
]],
  options = OPTIONS,
  -- Options may also precede the subcommand.
  run = function(options, operands, words)
    if not operands[1] then cli.usage "the subcommand is missing: run" end
    if operands[1] ~= "run" then cli.no_word(operands[1], { "run" }) end
    return run(options, table.move(operands, 2, #operands, 1, {}), words)
  end,
  words = { { name = "run", options = OPTIONS, run = run } },
}
