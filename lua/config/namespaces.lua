--- namespaces.lua -- checks that the keys of a namespace do not contradict each other, and that namespaces do not
-- conflict.
local ask = require "config.ask"
local masks = require "config.masks"
local stores = require "config.stores"
local wrong = require "config.wrong"

local namespaces = {}

-- Checks that a layout can issue ids now.  A layout that has ended or not begun is an error only if the server
-- serves nothing else, because other namespaces are not affected.
local function check_lifetime(reading, name, layout)
  local known = reading.lifetimes[layout] or { ask.lifetime(layout) }
  reading.lifetimes[layout] = known
  local why, is_read_only, warning = known[1], known[2], known[3]
  if why and (is_read_only or stores.is_alone(reading)) then
    wrong.key(reading, "namespaces.*.layout", name, "cannot issue ids: %s", why)
  end
  if why then reading.note("namespaces.%s.layout cannot issue ids: %s", name, why) end
  if warning then reading.note("namespaces.%s.layout: %s", name, warning) end
end

local function check_generation(reading, name, namespace)
  local leased = namespace.leased_as
  if not leased then return end
  local function fail(text, ...) wrong.key(reading, "namespaces.*.leased_as", name, text, ...) end
  local generation = ask.generation(name, leased)
  if generation == 0 then
    fail("is '%s', which must be %s.2 or another name that `vesta store relayout` has created", leased, name)
  end
  if generation > 1 and not namespace.store then fail("needs the key store: name the store that has %s", leased) end
  if generation > 1 and not namespace.layout then fail("needs the key layout: set the layout of %s", leased) end
end

-- Checks that no two namespaces have the same generator file.
local function check_paths(reading)
  local names = {}
  for _, name in ipairs(reading.namespaces.names) do
    if reading.namespaces.at[name].path then names[#names + 1] = name end
  end
  local owner, wrong_path, wrong_name = {}, nil, nil
  for _, name in ipairs(names) do
    local path = reading.namespaces.at[name].path
    if owner[path] and (not wrong_path or path < wrong_path) then wrong_path, wrong_name = path, name end
    owner[path] = owner[path] or name
  end
  if wrong_name then
    wrong.key(reading, "namespaces.*.path", wrong_name, "is also the file of namespaces.%s: use another file",
      owner[wrong_path])
  end
end

--- Checks the namespaces of a file.  Without a file, vesta_open reports errors in flags.
function namespaces.check(reading)
  if not reading.path then return end
  check_paths(reading)
  for _, name in ipairs(reading.namespaces.names) do
    local namespace = reading.namespaces.at[name]
    if namespace.group and not ask.group(namespace.group) then
      reading.note("namespaces.%s.group: there is no group %s on this machine", name, namespace.group)
    end
    namespace["opts.namespace"] = namespace.leased_as or name
    check_generation(reading, name, namespace)
    stores.resolve(reading, name, namespace)
    local member, why, is_of_layout = ask.misfit(namespace)
    if member and not is_of_layout then wrong.key(reading, "namespaces.*." .. member, name, "%s", why) end
    if namespace.layout then check_lifetime(reading, name, namespace.layout) end
    if member then wrong.key(reading, "namespaces.*." .. member, name, "does not fit the layout: %s", why) end
    masks.check(reading, "namespaces", name, namespace, namespace.layout)
  end
end

--- Returns why the server rejects an address that other machines can reach, or nil.  The reason is a namespace that
-- gets its worker id from a store on this machine, because another host can get the same worker id from its own store.
function namespaces.unnumbered(reading)
  if reading.top.single_host then return nil end
  for _, name in ipairs(reading.namespaces.names) do
    local namespace = reading.namespaces.at[name]
    local uri = namespace["opts.store"] or not reading.path and namespace.store
    if not namespace.worker and not (uri and not ask.is_local(uri)) then
      local shared = ask.stores "shared"
      return ("other machines can reach it, but '%s' draws its worker id from this machine's own store, so another "
        .. "machine may draw the same worker id. Lease from a store that all machines share (%s%s), assign each "
        .. "machine its own worker id (%s), or declare that this is the only machine (%s)"):format(name,
        shared == "" and "none is installed" or reading.path and "store = " or "--store ", shared,
        reading.path and ("namespaces.%s.worker"):format(name) or "--worker N",
        reading.path and "single_host = true" or "--single-host")
    end
  end
  return nil
end

return namespaces
