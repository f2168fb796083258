--- store_init.lua -- `vesta store init`: creates the tables or nodes of a store, and the record of a namespace.
local cli = require "cli.lib.cli"
local facts = require "facts"
local show = require "cli.lib.store_show"
local store = require "store"
local stores = require "cli.lib.stores"
local term = require "term"

local store_init = {}

local COUNTS_AS_NEW = "it was created as a new namespace: if this store lost an old one, run `vesta store advance` "
  .. "before you start any process\n"

--- Returns first and last of "924-1023", which must fit the layout's field.  Returns nil if text is nil.
function store_init.read_static(text, layout)
  if not text then return nil end
  local max = layout.worker and layout.fields[layout.worker].max or 0
  local first, last = text:match "^(.-)%-(.*)$"
  first, last = first and cli.number(first, max), last and cli.number(last, max)
  if not first or not last or last < first then
    cli.usage("--static is %s, which must be FIRST-LAST, within the worker ids of the layout, 0 to %d",
      term.shown(text), max)
  end
  return first, last
end

--- Returns the first record of the namespace that the options describe.
function store_init.fresh(asked)
  local layout = cli.check(facts.layout(asked.layout or stores.LAYOUT_DEFAULT))
  local first, last = store_init.read_static(asked.static, layout)
  return { layout = layout.text, static_first = first, static_last = last }
end

--- Ends the command unless the namespace can be created with this layout.  `what` begins the message.
function store_init.admit(asked, fresh, what)
  local may, text = asked.store:admit(fresh.layout)
  if not may then cli.fail("%s: %s", what, text) end
end

--- Checks again after the creation, because another process may have created a conflicting namespace at the same time.
function store_init.admit_made(asked, fresh)
  store_init.admit(asked, fresh,
    "the namespace was created, but do not use it: a conflicting namespace was created at the same time")
end

---------------------------------------------------------------- a namespace

-- Reports that the namespace exists.  Ends the command if it differs from the options.
local function keep_namespace(asked, ns)
  local name = asked.place.name
  if asked.layout then
    local layout = cli.check(facts.layout(asked.layout))
    if not store.is_leased(layout.text, ns.layout) then
      cli.fail("the namespace %s exists with the layout %s, not %s, and keeps it: use another name, or move to the "
        .. "other layout with `vesta store relayout`", name, ns.layout, asked.layout)
    end
  end
  local first, last = store_init.read_static(asked.static, cli.check(facts.layout(ns.layout)))
  if asked.static and (first ~= ns.static_first or last ~= ns.static_last) then
    cli.fail("the namespace %s exists with the static worker ids %s, not %s, and keeps them: leave out --static", name,
      ns.static_first and ("%d-%d"):format(ns.static_first, ns.static_last) or "none", asked.static)
  end
  if asked.json then return end
  cli.printf("namespace %s already exists and stays as it is\n", name)
  if asked.again and not ns.floor_ms then term.out(COUNTS_AS_NEW) end
end

local function print_made(asked, ns)
  local layout = cli.check(facts.layout(ns.layout))
  cli.printf("namespace %s was created: %s\n", asked.place.name, ns.layout)
  if not ns.floor_ms then
    term.out(COUNTS_AS_NEW)
  else
    cli.printf("no lease starts before %s: until then no process can issue ids\n", term.iso(ns.floor_ms))
  end
  cli.printf("each worker id issues at most %s ids per second, until %s, and there are %s worker ids\n",
    term.grouped(layout.per_second), term.iso(layout.end_ms), term.grouped(layout.workers))
end

-- Ends the command if the layout can no longer issue ids, and warns if its time ends soon.
local function check_lifetime(layout)
  local warning, text = store.lifetime(layout)
  if not warning then cli.fail("the namespace was not created: %s", text) end
  if warning ~= "" then term.say(warning) end
end

local function make_namespace(asked)
  local place, opened = asked.place, asked.store
  local ns = stores.done(place, opened:namespace())
  if ns.is_there then return keep_namespace(asked, ns) end
  local fresh = store_init.fresh(asked)
  check_lifetime(fresh.layout)
  store_init.admit(asked, fresh, "nothing was done")
  if asked.again then stores.check_clock(asked, ns.store_ms) end
  local made, text, outcome = opened:create(fresh, asked.again and asked.lease or nil)
  if not made and outcome == "conflict" then -- another process created it at the same time
    return keep_namespace(asked, stores.done(place, opened:need()))
  end
  stores.done(place, made, text, outcome)
  store_init.admit_made(asked, fresh)
  if not asked.json then print_made(asked, made) end
end

---------------------------------------------------------------- all stores of a config

-- Creates the tables or nodes that this config needs in one store.  Returns the names of missing namespaces, and
-- whether counter tables may be missing.  Returns nil, a message and an outcome after an error.
local function prepare(one, makes_tables)
  if one.is_own then return {} end -- its first process creates everything
  local opened <close>, text, code = store.open(one.uri, nil, one.secret)
  if not opened then return nil, text, code end
  if one.namespaces[1] then
    local done, trouble, outcome = opened:init()
    if not done then return nil, trouble, outcome end
  end
  local has_tables = #one.tables > 0 and opened:about().makes_table
  if makes_tables and has_tables then
    for _, name in ipairs(one.tables) do
      local done, trouble, outcome = opened:init_counters(name or nil)
      if not done then return nil, trouble, outcome end
    end
  end
  stores.warn(one.shown, opened)
  local missing, is_there = {}, {}
  for _, name in ipairs(one.namespaces[1] and opened:names() or {}) do is_there[name] = true end
  for _, namespace in ipairs(one.namespaces) do
    if not is_there[namespace.leased] then table.insert(missing, namespace.name) end
  end
  return missing, has_tables and not makes_tables
end

local function print_prepared(one, missing, lacks_tables, options)
  if options.json then
    return cli.json(cli.object { { "store", one.shown }, { "ok", true }, { "missing", missing } })
  end
  if one.is_own then return cli.printf("nothing to do: the first process creates %s\n", one.shown) end
  cli.printf("store is ready: %s\n", one.shown)
  if lacks_tables then term.out "  add --segments to create the tables of counters\n" end
  for _, name in ipairs(missing) do
    cli.printf("  the namespace %s is not in it: vesta store init -c %s --namespace %s\n", name,
      stores.config(options), name)
  end
end

--- Prepares every store that a config names.  If one fails, reports the error and prepares the remaining stores.
-- Returns the exit code.
function store_init.config(list, options)
  local code = 0
  for _, one in ipairs(list) do
    local missing, text, outcome = prepare(one, options.segments)
    if missing then
      print_prepared(one, missing, text, options)
    else
      code = 1
      term.say(("%s: %s"):format(one.shown, stores.trouble(one, text, outcome)))
      if options.json then
        cli.json(cli.object { { "store", one.shown }, { "ok", false }, { "error", text } })
      end
    end
  end
  return code
end

---------------------------------------------------------------- the store

function store_init.run(asked)
  local place, opened, about = asked.place, asked.store, asked.store:about()
  if (asked.layout or asked.static) and not place.is_named then
    cli.usage "--layout and --static describe a namespace: name it with --namespace"
  end
  if asked.segments and not about.has_counters then
    cli.usage("--segments: a store %s: cannot hold counters", about.scheme)
  end
  if asked.again and not (place.is_named and asked.layout) then
    cli.usage "--again recreates a lost namespace: add its --namespace, and the --layout that it had"
  end
  stores.done(place, opened:init())
  if asked.segments and about.makes_table then stores.done(place, opened:init_counters()) end
  stores.warn(store.public(place.uri), opened)
  if not asked.json then
    cli.printf("store is ready: %s, and %s\n", about.made, about.rights)
    if asked.segments then
      cli.printf("%s\n", about.makes_table and "the table leaf_alloc for segments is there: add a counter with `vesta "
        .. "segments add TAG`" or "the first `vesta segments add TAG` creates the table of counters")
    end
  end
  if not place.is_named then return end
  make_namespace(asked)
  if asked.json then show.namespace(asked) end
end

return store_init
