--- namespaces.lua -- what must hold between the keys of a namespace, and between namespaces.
local ask = require "config.ask"
local stores = require "config.stores"
local wrong = require "config.wrong"

local namespaces = {}

-- A layout that has ended, or whose epoch is in the future, harms no other namespace.
local function check_lifetime(reading, name, layout)
  local known = reading.lifetimes[layout] or { ask.lifetime(layout) }
  reading.lifetimes[layout] = known
  local why, is_read_only, warning = known[1], known[2], known[3]
  if why and (is_read_only or stores.is_alone(reading)) then
    wrong.key(reading, "namespaces.*.layout", name, "cannot give ids: %s", why)
  end
  if why then reading.note("namespaces.%s.layout cannot give ids: %s", name, why) end
  if warning then reading.note("namespaces.%s.layout: %s", name, warning) end
end

local function check_generation(reading, name, namespace)
  local leased = namespace.leased_as
  if not leased then return end
  local function fail(text, ...) wrong.key(reading, "namespaces.*.leased_as", name, text, ...) end
  local generation = ask.generation(name, leased)
  if generation == 0 then
    fail("is '%s', which must be %s.2 or what else `vesta store relayout` has made", leased, name)
  end
  if generation > 1 and not namespace.store then fail("needs store beside it, in which %s is", leased) end
  if generation > 1 and not namespace.layout then fail("needs layout beside it, the one that %s has", leased) end
end

-- Each needs its own file.
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
    wrong.key(reading, "namespaces.*.path", wrong_name, "is the file of namespaces.%s too; each needs its own",
      owner[wrong_path])
  end
end

--- Checks the namespaces of a file.  With flags, vesta_open reports what is wrong.
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
  end
end

--- Why an address that other machines can reach is not served: a namespace issues ids of a worker id that another host
-- may have drawn as well.  nil: none does.  A store of this machine alone is no help.
function namespaces.unnumbered(reading)
  if reading.top.single_host then return nil end
  for _, name in ipairs(reading.namespaces.names) do
    local namespace = reading.namespaces.at[name]
    local uri = namespace["opts.store"] or not reading.path and namespace.store
    if not namespace.worker and not (uri and not ask.is_local(uri)) then
      local shared = ask.stores "shared"
      return ("other machines can reach it, and the number that '%s' draws from this machine's own store may be drawn "
        .. "by another, too: lease from a store that all share (%s%s), give each machine its own number (%s), or say "
        .. "that this is the only one (%s)"):format(name,
        shared == "" and "none is installed" or reading.path and "store = " or "--store ", shared,
        reading.path and ("namespaces.%s.worker"):format(name) or "--worker N",
        reading.path and "single_host = true" or "--single-host")
    end
  end
  return nil
end

return namespaces
