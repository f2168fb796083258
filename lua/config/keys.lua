--- keys.lua -- indexes the rows of schema.lua: by key, by part, and as a tree.  Formats paths and expected values.
local schema = require "config.schema"

local keys = { row = {}, parts = schema.parts, top = {} }

--- Returns the words of "off|verify" as a set and as a list.
function keys.words(row)
  if not row.word then
    row.word, row.list = {}, {}
    for word in row.words:gmatch "[^|]+" do
      row.list[#row.list + 1] = word
      row.word[word] = true
    end
  end
  return row.word, row.list
end

local EXPECTED = {
  text = "a text",
  secret = "a text",
  switch = "true or false",
  secrets = "a text, or a list of texts",
  list = "a text, or a list of texts",
  policy = 'a policy\'s name or file, or a table such as { "borrow", borrow_ms_max = 500 }',
  fields = "a table such as { version = 1 }",
}

--- Returns the expected value of a key for messages: "a whole number from 1 to 64".
function keys.expected(row)
  if row.words then
    local _, list = keys.words(row)
    return 'one of "' .. table.concat(list, '", "') .. '"'
  end
  if row.kind == "integer" then return ("a whole number from %d to %d"):format(row.min, row.max) end
  return EXPECTED[row.kind]
end

function keys.is_secret(row) return row.kind == "secret" or row.kind == "secrets" end

--- Returns the path of a key, such as "namespaces.orders.path" or "segments[1].table".  For a key of a part, `name` is
-- the name or index of the entry.
function keys.path(row, name)
  if not row.part then return row.key end
  if row.part.check then return row.group .. "." .. name .. "." .. row.name end
  return row.group .. "[" .. name .. "]." .. row.name
end

---------------------------------------------------------------- the tree

-- A node has its children in the schema's order and by name.  A child has a row, a node, or a part, which has a node.
local function new_node() return { order = {}, child = {} } end

local function child_of(node, name)
  local child = node.child[name]
  if not child then
    child = { name = name, place = #node.order + 1 }
    node.child[name] = child
    node.order[child.place] = child
  end
  return child
end

local part_of = {}
for _, part in ipairs(schema.parts) do
  part.group = part.prefix:match "^[^.]+"
  part.rows, part.row = {}, {}
  part.node = new_node()
  part_of[part.group] = part
end

keys.root = new_node()

local function plant(row)
  local node = keys.root
  local group, mark, name = row.key:match "^([^.]+)%.([*#])%.(.+)$"
  if mark then
    local part = part_of[group]
    child_of(node, group).part = part
    part.rows[#part.rows + 1], part.row[name] = row, row
    row.part, row.group, row.name = part, group, name
    node = part.node
  else
    keys.top[#keys.top + 1] = row
    row.name, name = row.key, row.key
  end
  local folder, last = name:match "^(.+)%.([^.]+)$"
  if folder then
    local child = child_of(node, folder)
    child.node = child.node or new_node()
    node, name = child.node, last
  end
  child_of(node, name).row = row
end

for _, row in ipairs(schema.rows) do
  keys.row[row.key] = row
  plant(row)
end

return keys
