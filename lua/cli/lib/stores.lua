--- stores.lua -- finds the store and the namespace that the options name, and formats errors of stores.
--
-- A place has:
--     uri, secret   the store's URI, and its credentials or nil
--     name          the namespace's name in the store
--     public        the namespace's name in the config if it differs from `name`, or nil
--     layout        the namespace's layout in the config, or nil
--     fields        the values of the layout's other fields in the config, or nil
--     method        the value of the field `method` in the config, or nil
--     is_named      whether options or environment name the namespace
--     is_own        whether the store is this user's file: store, because neither options nor config name one
--     publics       a map from names in the store to names in the config, where they differ
local cli = require "cli.lib.cli"
local facts = require "facts"
local store = require "store"
local term = require "term"
local where = require "where"

local stores = {}

stores.LAYOUT_DEFAULT = "vesta-second"

stores.OPTIONS = {
  { name = "config", letter = "c", value = "FILE", help = "a server's config, which contains the store's URI" },
  { name = "store", value = "URI", help = store.FORMS },
  { name = "namespace", value = "NAME", help = "the namespace (default: the config's first, or default)" },
  where.EFFECTIVE,
}

---------------------------------------------------------------- the place

--- Returns the place that the options name, completed from config and environment.  If `one` is set and no namespace is
-- named, the namespace is the config's first, or `default`.  where.store describes may_lack.  With --effective, the
-- function prints the place and ends the command.
function stores.find(options, one, may_lack)
  local found = cli.go(where.store(options, one, may_lack))
  local is_named = one or found.is_named
  local name = is_named and found.leased or "default"
  return { uri = found.store, name = name, public = is_named and found.publics[name] or nil, secret = found.secret,
    layout = found.layout, fields = found.fields, method = found.method, is_named = is_named,
    is_own = found.is_own, publics = found.publics }
end

--- Returns the path of the config that the options or the environment name, or nil.
function stores.config(options)
  local found = cli.go(where.environment(options))
  return found.config and found.config.value
end

--- Returns the stores of a config, each once, in the config's order.  A store has uri, secret, shown, namespaces,
-- publics, is_own, and tables: the counter tables in this store, where false stands for leaf_alloc.
function stores.of_config(options)
  local list, at = {}, {}
  local function at_uri(uri, secret)
    if not at[uri] then
      at[uri] = { uri = uri, secret = secret, shown = store.public(uri), namespaces = {}, publics = {}, tables = {} }
      table.insert(list, at[uri])
    end
    return at[uri]
  end
  for _, namespace in ipairs(cli.go(where.namespaces(options))) do
    if namespace.store then
      local one = at_uri(namespace.store, namespace.secret)
      one.is_own = namespace.is_own
      table.insert(one.namespaces, namespace)
      if namespace.leased ~= namespace.name then one.publics[namespace.leased] = namespace.name end
    end
  end
  for _, row in ipairs(cli.go(where.segments(stores.config(options)))) do
    table.insert(at_uri(row.uri, row.secret).tables, row.table or false)
  end
  return list
end

--- Prints the --effective rows of a config's stores, and ends the command.
function stores.print_effective(options, list)
  local found = cli.go(where.environment(options))
  where.show(found.config, options.json)
  for _, one in ipairs(list) do
    where.show({ key = "store", value = one.uri, origin = one.is_own and "default" or "file",
      by = not one.is_own and "the config" or nil }, options.json)
  end
  cli.exit(0)
end

function stores.no_store()
  local state = store.state()
  cli.usage("--store is missing: %s, or use -c FILE%s", store.FORMS,
    state and ". Processes without --store keep their leases in --store file:" .. state or "")
end

--- Opens the store of a place, or ends the command.
function stores.open(place)
  if not place.uri then stores.no_store() end
  if place.is_own and not store.state() then -- opening would create the folder
    cli.fail("%s", stores.trouble(place, nil, "no_generator"))
  end
  return cli.check(store.open(place.uri, place.name, place.secret))
end

---------------------------------------------------------------- errors

-- Returns ", did you mean orders?" with the nearest namespace of the store, or "".
local function near_namespace(place)
  local opened <close> = store.open(place.uri, nil, place.secret)
  local near = term.nearest(place.name, opened and opened:names() or {})
  return near and (", did you mean %s?"):format(near) or ""
end

--- Returns the message for a failed call.
function stores.trouble(place, text, outcome)
  if place.is_own and outcome == "no_generator" then
    return ("no process has leased a worker id of namespace %s in %s, where this user's processes keep leases if no "
      .. "store is named: run the command as the user of the server, or name the store by --store"):format(place.name,
      place.uri)
  end
  if outcome == "conflict" and text == "" then
    return "another process changed it at the same time: check it and try again"
  end
  if outcome == "moved" then
    return ("the namespace %s was replaced at the same time: check it and try again (%s)"):format(place.name, text)
  end
  if outcome == "unknown" then
    return ("no reply: the change may have been applied, or may still be applied. Check it with `vesta store show` "
      .. "(%s)"):format(text)
  end
  return outcome == "no_generator" and place.uri and text .. near_namespace(place) or text
end

--- Warns about settings of a store that could lose granted leases or numbers.
function stores.warn(shown, opened)
  for _, fault in ipairs(opened:faults() or {}) do
    term.say(("%s: %s, so %s"):format(shown, fault.what, fault.todo))
  end
end

--- Returns the values of a store's method.  If the method failed, prints a message and ends the command.
function stores.done(place, value, ...)
  if value == nil then cli.fail("%s", stores.trouble(place, ...)) end
  return value, ...
end

---------------------------------------------------------------- output

--- Returns the namespace's title: "orders" or "orders.2, leased for orders".
function stores.title(place)
  return place.public and ("%s, leased for %s"):format(place.name, place.public) or place.name
end

--- Returns the first members of a JSON object about the namespace.
function stores.members(place)
  local members = { { "namespace", place.name } }
  if place.public then table.insert(members, { "public", place.public }) end
  return members
end

--- Returns how far this machine's clock is ahead of the store's clock.
function stores.ahead_ms(store_ms) return term.now_ms() - store_ms end

--- Ends the command if the store's clock differs too much from this machine's clock.  A floor is counted from the
-- store's clock.  If that clock is ahead, the floor stops all processes.  If it is behind, the floor may be below
-- granted ids.
function stores.check_clock(asked, store_ms)
  local ahead_ms = stores.ahead_ms(store_ms)
  if asked.trusts_clock or math.abs(ahead_ms) <= facts.lease(asked.lease).skew_ms then return end
  cli.fail("nothing was done: the store's clock, from which the floor is counted, is %.1f s %s this machine's clock. "
    .. "Correct the wrong clock, or add --trust-store-clock if this machine's clock is wrong",
    math.abs(ahead_ms) / 1000, ahead_ms < 0 and "ahead of" or "behind")
end

--- The states of worker ids that have a record.
stores.STATES = { "held", "expired", "free" }

return stores
