--- stores.lua -- checks the stores of a config: the entries of stores, and the stores that namespaces and segments
-- name.  Does not connect to any store.
local ask = require "config.ask"
local checks = require "config.checks"
local wrong = require "config.wrong"

local stores = {}

-- Returns C's description of a store by its URI, or nil if its module is missing.
local function row_of(reading, uri)
  local row = reading.store_rows[uri]
  if row == nil then
    row = ask.store(uri) or false
    reading.store_rows[uri] = row
  end
  return row or nil
end

local function why_not(reading, uri)
  local why = reading.store_checks[uri]
  if why == nil then
    why = ask.store_check(uri) or false
    reading.store_checks[uri] = why
  end
  return why or nil
end

-- Returns "stores are a, b" for an error message.
local function names_of(reading, word)
  local names = reading.stores.names
  if #names == 0 then return "there are none under stores" end
  local near = ask.nearest(word, names)
  return ("stores are " .. table.concat(names, ", ")):sub(1, 199) .. (near and ". Did you mean " .. near .. "?" or "")
end

-- Adds a note about a secret that the kind of store does not use.
local function note_secret(reading, name, key)
  local store = reading.stores.at[name]
  local row = row_of(reading, store.uri)
  if not row or not store[key] or row.secret == key then return end
  local schemes = ask.stores("secret", key)
  reading.note("stores.%s.%s is for %s stores, and is not used", name, key, schemes ~= "" and schemes or "other")
end

--- Checks each store, whether it is used or not.
function stores.check(reading)
  for _, name in ipairs(reading.stores.names) do
    local uri = reading.stores.at[name].uri
    if not uri then wrong.key(reading, "stores.*.uri", name, "is missing: %s", ask.store_forms) end
    local why = row_of(reading, uri) and why_not(reading, uri)
    if why then wrong.key(reading, "stores.*.uri", name, "cannot be used: %s", why) end
    note_secret(reading, name, "auth")
    note_secret(reading, name, "password")
  end
end

-- Returns the URI with the store's other keys as parameters.
local function complete_uri(reading, name)
  local store = reading.stores.at[name]
  local row, tls = row_of(reading, store.uri), rawget(store, "tls")
  if not tls or not row or not row.tls then return store.uri end
  if row.tls ~= "" then
    if tls == "verify" then wrong.key(reading, "stores.*.tls", name, "is verify, but %s", row.tls) end
    return store.uri
  end
  return store.uri .. (store.uri:find("?", 1, true) and "&" or "?") .. "tls=" .. tls
end

-- Returns the secret with which vesta authenticates to the store, or nil.
local function secret_of(reading, name)
  local store = reading.stores.at[name]
  local row = row_of(reading, store.uri)
  return row and row.secret and store[row.secret]
end

local function list_of(kind)
  local schemes = ask.stores(kind)
  return schemes ~= "" and schemes or "none that is installed"
end

--- Returns whether the server serves a single namespace and nothing else.  If so, a problem of that namespace
-- is an error.
function stores.is_alone(reading)
  return #reading.namespaces.names == 1 and #reading.segments.names == 0
end

--- Finds the URI and the secret of a namespace's store, which is a name or a URI.
function stores.resolve(reading, name, namespace)
  local written = namespace.store
  if not written then return end
  local is_named = reading.stores.at[written] ~= nil
  if not is_named and not written:find(":", 1, true) then
    wrong.key(reading, "namespaces.*.store", name, "is '%s', which is not a store: %s", ask.quote(written),
      names_of(reading, written))
  end
  local uri = is_named and complete_uri(reading, written) or written
  if not is_named then
    local why = checks.uri(uri)
    if why then wrong.key(reading, "namespaces.*.store", name, why) end
  end
  namespace["opts.store"] = uri
  namespace["opts.secret"] = is_named and secret_of(reading, written) or nil
  if not row_of(reading, uri) and ask.is_known(uri) and not stores.is_alone(reading) then
    local _, missing = ask.store(uri) -- a missing module does not affect other namespaces
    reading.note("namespaces.%s.store cannot be used: %s", name, missing)
    return
  end
  local why = why_not(reading, uri)
  if not why then return end
  if is_named then wrong.key(reading, "stores.*.uri", written, "cannot be used: %s", why) end
  wrong.key(reading, "namespaces.*.store", name, "cannot be used: %s", why)
end

--- Finds the URI and the secret of a store that a row of segments names.
function stores.resolve_segment(reading, place, segment, name)
  local key = segment.store and "segments.#.store" or "segments.#.stores"
  if not reading.stores.at[name] then
    wrong.key(reading, key, place, "has '%s', which is not a store: %s", ask.quote(name),
      names_of(reading, name))
  end
  local uri = complete_uri(reading, name)
  local why = why_not(reading, uri)
  if why then wrong.key(reading, "stores.*.uri", name, "cannot be used: %s", why) end
  local row = row_of(reading, uri)
  if not row.counters then
    wrong.key(reading, key, place, "has '%s', which cannot hold counters: use one of %s", name, list_of "counters")
  end
  if segment.order == "dense" and not row.reservations then
    wrong.key(reading, key, place, "has '%s', which cannot hold the reservations of order dense: use one of %s", name,
      list_of "reservations")
  end
  table.insert(segment.uris, uri)
  table.insert(segment.secrets, secret_of(reading, name) or "")
end

--- Adds a note about each unused store, because its name is often misspelt elsewhere.
function stores.note_unused(reading)
  local used = {}
  for _, name in ipairs(reading.namespaces.names) do used[reading.namespaces.at[name].store or ""] = true end
  for _, place in ipairs(reading.segments.names) do
    local segment = reading.segments.at[place]
    used[segment.store or ""] = true
    for _, name in ipairs(segment.stores or {}) do used[name] = true end
  end
  for _, name in ipairs(reading.stores.names) do
    if not used[name] then reading.note("stores.%s is not used", name) end
  end
end

return stores
