--- walk.lua -- walks through the table that a config file returned, along the tree of keys.  Unknown keys are rejected
-- with their path and the nearest known name.
local ask = require "config.ask"
local checks = require "config.checks"
local keys = require "config.keys"
local policy = require "config.policy"
local schema = require "config.schema"
local values = require "config.values"
local wrong = require "config.wrong"

-- Raises an error about the whole table at the path `shown` ("namespaces.orders." or "").
local function blame(reading, shown, text)
  wrong.path(reading, shown ~= "" and shown:sub(1, -2) or "the config", text)
end

-- If a table is expected but a plain value is given, the message shows an example with one of these keys.
local MEANT = { { "secret_file", "/etc/vesta/mask.key" },
  { "listen", "127.0.0.1:8088" }, { "uri", "sqlite:/var/lib/vesta/v.db" }, { "level", "warn" } }

local LISTENS = { ["resp."] = "127.0.0.1:8089", ["admin."] = "unix:/run/vesta/admin.sock" }

local function need_table(reading, given, shown, node)
  if type(given) == "table" then return end
  local example = ""
  for _, meant in ipairs(MEANT) do
    local value = meant[2]
    if meant[1] == "listen" then value = given == false and "off" or LISTENS[shown] or value end
    if node and node.child[meant[1]] then example = (' such as { %s = "%s" }'):format(meant[1], value) end
  end
  blame(reading, shown, ("is %s, which must be a table%s"):format(values.shown(given), example))
end

---------------------------------------------------------------- unknown keys

-- Returns the path of the table that has such a key, for example "namespaces.NAME", or nil.
local function home_of(name)
  for _, row in ipairs(schema.rows) do
    local folder, last = row.key:match "^(.+)%.([^.]+)$"
    if last == name then
      if not row.part then return folder end
      local inner = row.name:match "^(.+)%." -- "mask" for a key of the table mask
      local home = row.part.check and row.group .. ".NAME" or "each of " .. row.group
      return inner and home .. "." .. inner or home
    end
  end
  return nil
end

-- Settings that users look for under these names, but that are set elsewhere.
local ELSEWHERE = {
  state = "set the environment variable VESTA_STATE to the folder, or namespaces.NAME.path to the generator file",
  secret_file = "add it to the store's uri: ?secret_file=FILE",
}

local function unknown(reading, node, shown, name)
  local names = {}
  for i, child in ipairs(node.order) do names[i] = child.name end
  local near, home = ask.nearest(name, names), home_of(name)
  local text
  if ELSEWHERE[name] then
    text = ": " .. ELSEWHERE[name]
  elseif near then
    text = ", did you mean " .. near .. "?"
  elseif home then
    text = ": it belongs in " .. home
  else
    text = (": keys here are " .. table.concat(names, ", ")):sub(1, 401)
  end
  wrong.path(reading, shown .. ask.quote(name), "is not a key" .. text)
end

-- Returns the path of a part's entry for messages: "namespaces.orders." or "segments[1].".
local function entry_path(part, name)
  return part.check and part.group .. "." .. name .. "." or part.group .. "[" .. name .. "]."
end

-- Returns the nodes of the table's keys in the schema's order, and rejects unknown keys.  `shown` is the table's path,
-- or nil for a part's entry.
local function present(reading, node, given, shown, part, entry)
  local list, stranger = {}, nil
  for name in next, given do
    local child = node.child[name]
    if child then
      local at = #list + 1
      while at > 1 and list[at - 1].place > child.place do
        list[at], at = list[at - 1], at - 1
      end
      list[at] = child
    else
      if type(name) ~= "string" or name:find("\0", 1, true) then
        blame(reading, shown or entry_path(part, entry), values.wrong_names(given, math.maxinteger, 0))
      end
      if not stranger or name < stranger then stranger = name end
    end
  end
  if stranger then unknown(reading, node, shown or entry_path(part, entry), stranger) end
  return list
end

---------------------------------------------------------------- values

-- Adds a note about a secret from a file that other users may read.
local function note_source(reading, row, name, text)
  local file = reading.open_files[text]
  if file then reading.note("%s comes from %s: chmod o= on it", keys.path(row, name), ask.shown(file)) end
end

-- Puts a policy into the key policy, or into shadow_policy if it has `shadow = true`.
local function put_policy(reading, row, value, into, name)
  if into.shadow_policy then
    wrong.value(reading, row, name, "is set, but policy has shadow = true: remove one of them")
  end
  local good, place = policy.read(reading, row, value)
  if not good then wrong.value(reading, row, name, place) end
  into[place.name] = good
end

local function put(reading, row, value, into, name)
  local read = values.read[row.kind]
  if not read then return put_policy(reading, row, value, into, name) end
  local good, why = read(row, value)
  if good == nil then wrong.value(reading, row, name, why) end
  into[row.name] = good
  if row.kind == "secret" then note_source(reading, row, name, good) end
end

-- Reads an entry if all its values are valid texts, numbers and lists, and returns nil for any other entry.  This path
-- is fast, because there may be thousands of entries.  After nil, the slow path reports the first error in the schema's
-- order.
local function read_simple(part, given, entry)
  for key, value in next, given do
    local child = part.node.child[key]
    local row = child and child.row
    local read = row and row.kind ~= "secret" and values.read[row.kind]
    local good = nil
    if read then good = read(row, value) end
    if good == nil then return nil end
    entry[key] = good
  end
  return entry
end

-- Reads a table inside of an entry, such as namespaces.orders.mask.
local function walk_inner(reading, child, given, entry, part, name)
  local shown = entry_path(part, name) .. child.name .. "."
  need_table(reading, given, shown, child.node)
  for _, inner in ipairs(present(reading, child.node, given, shown)) do
    put(reading, inner.row, given[inner.name], entry, name)
  end
end

local function walk_entry(reading, part, name, given)
  local list = reading[part.group]
  local why = part.check and checks[part.check](name)
  if why then blame(reading, part.group .. ".", why) end
  if type(given) ~= "table" then need_table(reading, given, entry_path(part, name), part.node) end
  local entry = read_simple(part, given, setmetatable({}, list.meta))
  if not entry then
    entry = setmetatable({}, list.meta)
    for _, child in ipairs(present(reading, part.node, given, nil, part, name)) do
      if child.row then
        put(reading, child.row, given[child.name], entry, name)
      else
        walk_inner(reading, child, given[child.name], entry, part, name)
      end
    end
  end
  list.names[#list.names + 1] = name
  list.at[name] = entry
end

-- Returns the names sorted, with `default` first.
local function sorted(given)
  local names = values.names(given)
  if given.default ~= nil then
    for i, name in ipairs(names) do
      if name == "default" then table.insert(names, 1, table.remove(names, i)) break end
    end
  end
  return names
end

local function walk_part(reading, part, shown, given)
  need_table(reading, given, shown)
  if not part.check then
    local why = values.wrong_list(given, part.max)
    if why then blame(reading, shown, why) end
    for i, entry in ipairs(given) do walk_entry(reading, part, tostring(i), entry) end
    return
  end
  local why = values.wrong_names(given, part.max, 0)
  if why then blame(reading, shown, why) end
  local names = sorted(given)
  if #names == 0 then blame(reading, shown, "is an empty table: leave the key out instead") end
  for _, name in ipairs(names) do walk_entry(reading, part, name, given[name]) end
end

local function walk(reading, node, given, shown, into)
  for _, child in ipairs(present(reading, node, given, shown)) do
    local value, path = given[child.name], shown .. child.name .. "."
    if child.row then
      put(reading, child.row, value, into)
    elseif child.part then
      walk_part(reading, child.part, path, value)
    else
      need_table(reading, value, path, child.node)
      walk(reading, child.node, value, path, into)
    end
  end
end

--- Reads the table that the file returned into reading.file and the parts.
return function(reading)
  need_table(reading, reading.given, "")
  walk(reading, keys.root, reading.given, "", reading.file)
end
