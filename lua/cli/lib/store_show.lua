--- store_show.lua -- `vesta store show`: prints a namespace's record and the states of its worker ids.  Without
-- --namespace it prints all namespaces of the store.
local cli = require "cli.lib.cli"
local store = require "store"
local stores = require "cli.lib.stores"
local term = require "term"

local store_show = {}

local function print_namespace(place, ns, counts)
  local ahead_ms = stores.ahead_ms(counts.store_ms)
  local function fact(name, text) term.out(("%-13s"):format(name) .. text .. "\n") end
  fact("namespace", stores.title(place))
  term.out "layout       "
  term.fitted(ns.layout, 13, 13)
  fact("fingerprint", ns.fingerprint)
  fact("incarnation", ns.incarnation)
  fact("floor", ns.floor_ms and "no lease starts before " .. term.iso(ns.floor_ms) or "none")
  if ns.mark_ms then fact("watermarks", "no lease starts before " .. term.iso(ns.mark_ms)) end
  if ns.static_first then
    fact("static", ("%d to %d: assigned by hand, never leased"):format(ns.static_first, ns.static_last))
  end
  term.out "clock        "
  term.fitted(("%s, and this machine's clock is %.3f s %s"):format(term.iso(counts.store_ms), math.abs(ahead_ms) / 1000,
    ahead_ms < 0 and "behind" or "ahead"), 13, 13)
  fact("worker ids", ("%d held, %d expired, %d free, %s never used"):format(counts.held, counts.expired, counts.free,
    term.grouped(counts.never)))
end

local function print_json(place, ns, counts)
  local members = stores.members(place)
  local function add(name, value) if value ~= nil then table.insert(members, { name, value }) end end
  add("layout", ns.layout)
  add("fingerprint", ns.fingerprint)
  add("incarnation", ns.incarnation)
  add("floor_ms", ns.floor_ms)
  add("mark_ms", ns.mark_ms)
  add("static", ns.static_first and { ns.static_first, ns.static_last } or nil)
  add("store_ms", counts.store_ms)
  add("ahead_ms", stores.ahead_ms(counts.store_ms))
  for _, state in ipairs(stores.STATES) do add(state, counts[state]) end
  add("never", cli.count(counts.never))
  cli.json(cli.object(members))
end

-- Prints a namespace of an open store.  Returns true, or nil and a message.
local function show(place, opened, json)
  local ns, text, outcome = opened:need()
  local list
  if ns then list, text, outcome = opened:workers() end
  if not list then return nil, stores.trouble(place, text, outcome) end
  (json and print_json or print_namespace)(place, ns, list:counts())
  list:close()
  return true
end

--- Prints the namespace that the options name.
function store_show.namespace(asked)
  local is_shown, text = show(asked.place, asked.store, asked.json)
  if not is_shown then cli.fail("%s", text) end
end

-- Prints these namespaces of a store.  Returns the exit code.
local function show_names(place, names, json)
  local code = 0
  if not names[1] then
    term.say(place.is_own and ("%s has no namespace yet: its first process creates one"):format(place.uri)
      or ("the store %s has no namespace: create one with `vesta store init --namespace NAME --layout ...`"):format(
        store.public(place.uri)))
    return 1
  end
  table.sort(names)
  for i, name in ipairs(names) do
    if i > 1 and not json then term.out "\n" end
    local own = { name = name, public = place.publics[name] }
    local opened <close> = cli.check(store.open(place.uri, name, place.secret))
    local is_shown, text = show(own, opened, json)
    if not is_shown then
      term.say(text)
      term.say(("the namespace %s is not shown"):format(name))
      code = 1
    end
  end
  return code
end

--- Prints the namespaces of every store that a config names.  If a store fails, reports the error and prints the
-- remaining stores.  Returns the exit code.
function store_show.config(list, json)
  local code, is_next = 0, false
  for _, one in ipairs(list) do
    if one.namespaces[1] then
      if one.is_own and not store.state() then return show_names(one, {}, json) end
      local opened <close>, text, outcome = store.open(one.uri, nil, one.secret)
      local names
      if opened then names, text, outcome = opened:names() end
      if is_next and names and not json then term.out "\n" end
      is_next = is_next or names ~= nil
      if not names then term.say(("%s: %s"):format(one.shown, stores.trouble(one, text, outcome))) end
      if not names or show_names(one, names, json) ~= 0 then code = 1 end
    end
  end
  return code
end

function store_show.run(asked)
  local place = asked.place
  if not place.is_named then return show_names(place, stores.done(place, asked.store:names()), asked.json) end
  store_show.namespace(asked)
end

return store_show
