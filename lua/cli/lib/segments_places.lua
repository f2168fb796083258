--- segments_places.lua -- finds and opens the tables of counters that the options or a config name.
--
-- A place is a counter table.  It has: uri, secret, table (nil for leaf_alloc), row (the index in the config's
-- segments), config (the config's path, or nil), shown (the URI without its password), and store (once it is opened).
local cli = require "cli.lib.cli"
local store = require "store"
local term = require "term"
local where = require "where"

local TABLE_DEFAULT = "leaf_alloc"
local NEAR_MAX = 1000 -- how many tags are compared with a misspelt tag

local places = {}

--- The options of every subcommand.
places.OPTIONS = {
  { name = "store", value = "URI", help = store.FORMS },
  { name = "table", value = "NAME", help = "the counter table (default: leaf_alloc, or with -c all of the config)" },
  { name = "config", letter = "c", value = "FILE", help = "a server's config, which names the counter tables" },
  where.EFFECTIVE,
}

--- Ends the command unless the text can be a tag.
function places.check_tag(tag)
  if not store.is_tag(tag) then
    cli.usage("%s is not a tag: use 1 to 64 of A-Z a-z 0-9 _ . : - and no dot in front", term.shown(tag))
  end
  return tag
end

--- Returns the only operand, which must be a tag.
function places.read_tag(word, operands)
  if #operands ~= 1 then cli.usage("give one tag: vesta segments %s TAG", word) end
  return places.check_tag(operands[1])
end

---------------------------------------------------------------- choosing

-- Returns "leaf_alloc, tiny_id_info", the tables of the places.
local function tables_of(list)
  local names, seen = {}, {}
  for _, place in ipairs(list) do
    local name = place.table or TABLE_DEFAULT
    if not seen[name] then names[#names + 1], seen[name] = name, true end
  end
  return table.concat(names, ", ")
end

-- Returns the places of a config that serve a tag, or all places if `tag` is nil.
local function read_config(options, path, tag)
  if options.store then cli.usage "--config names the stores: leave out --store or --config" end
  if options.table and not options.config then
    cli.usage "VESTA_CONFIG has the stores and tables: unset it, or also name the store"
  end
  local all, list = cli.go(where.segments(path, tag)), {}
  if not all[1] then cli.usage("%s has no segments", term.shown(path)) end
  for _, place in ipairs(all) do
    place.config = path
    if not options.table or options.table == (place.table or TABLE_DEFAULT) then list[#list + 1] = place end
  end
  if not list[1] then
    cli.usage("--table is %s, but %s has %s", term.shown(options.table), term.shown(path), tables_of(all))
  end
  return list
end

local function print_effective(list, found, json)
  local by = found.config and "the config" or nil
  if found.config then where.show(found.config, json) end
  for _, place in ipairs(list) do
    where.show(by and { key = "store", value = place.uri, origin = "file", by = by } or found.store, json)
    if place.table then
      where.show({ key = "table", value = place.table, origin = by and "file" or "flag", by = by }, json)
    else
      where.show({ key = "table", value = "leaf_alloc", origin = "default" }, json)
    end
  end
end

--- Opens one place, without connecting to a server.
function places.open_one(place)
  place.shown = store.public(place.uri)
  place.store = cli.check(store.open(place.uri, nil, place.secret))
  local about = place.store:about()
  if not about.has_counters then cli.usage("the store %s: holds no counters", about.scheme) end
  return place
end

-- Returns whether the place's table has the tag, or nil and a message if it cannot be read.
local function has_tag(place, tag)
  local list, text, outcome = place.store:counters(place.table)
  if not list then return nil, places.trouble(place, nil, text, outcome) end
  local found = list:find(tag) ~= nil
  list:close()
  return found
end

-- If several rows of the config serve all tags of their tables, returns only the places of the row that has the tag.
local function choose_row(list, tag, is_new)
  local row, is_several, trouble
  for _, place in ipairs(list) do
    is_several = is_several or place.row ~= list[1].row
  end
  if not is_several then return list end
  for _, place in ipairs(list) do
    local found, text = has_tag(place, tag)
    trouble = trouble or text
    if found and row and row ~= place.row then
      cli.usage("the tag %s is in several tables of the config (%s): name one with --table, or use --store URI "
        .. "instead of --config", tag, tables_of(list))
    end
    row = row or found and place.row
  end
  if not row and trouble then cli.fail("%s", trouble) end
  if not row and is_new then
    cli.usage("the config has several tables for the new tag %s (%s): name one with --table, or use --store URI "
      .. "instead of --config", tag, tables_of(list))
  end
  if not row then cli.fail("no table of the config has the tag %s: `vesta segments -c FILE` lists the tags", tag) end
  local chosen = {}
  for _, place in ipairs(list) do
    if place.row == row then chosen[#chosen + 1] = place end
  end
  return chosen
end

--- Opens the places that the options name.  With a config, opens the places of the tag, or all places if `tag` is nil.
-- If is_new is set, the tag need not exist.  With --effective, the function prints the places and ends the command.
function places.open(options, tag, is_new)
  local found, list = cli.go(where.environment(options)), nil
  if found.config then
    list = read_config(options, found.config.value, tag)
  elseif found.store then
    list = { { uri = found.store.value, table = options.table } }
  else
    cli.usage("--store is missing: %s, or use -c FILE", store.FORMS)
  end
  if options.effective then
    print_effective(list, found, options.json)
    cli.exit(0)
  end
  for _, place in ipairs(list) do places.open_one(place) end
  return tag and choose_row(list, tag, is_new) or list
end

---------------------------------------------------------------- errors

-- Returns ", did you mean orders?" with the nearest tag of the table, or "".
local function near_tag(place, tag)
  local list, tags = place.store:counters(place.table), {}
  for i = 1, math.min(list and #list or 0, NEAR_MAX) do tags[i] = list:row(i).tag end
  if list then list:close() end
  local near = term.nearest(tag, tags)
  return near and (", did you mean %s?"):format(near) or ""
end

--- Returns the message for a failed call.  `tag` is nil if the call was about the whole table.
function places.trouble(place, tag, text, outcome)
  if outcome == "conflict" and text == "" then
    return ("%s has just changed, or exists already: check it with `vesta segments`, and try again"):format(
      tag or place.shown)
  end
  if outcome == "unknown" then
    return ("no reply: the change may have been applied, or may still be applied. Check it with `vesta segments` "
      .. "(%s)"):format(text)
  end
  local is_absent = tag and text:find("tag '" .. tag .. "' does not exist", 1, true)
  return ("%s: %s%s"):format(place.shown, text, is_absent and near_tag(place, tag) or "")
end

--- Returns the values of a store's method.  If the method failed, prints a message and ends the command.
function places.done(place, tag, value, ...)
  if value == nil then cli.fail("%s", places.trouble(place, tag, ...)) end
  return value, ...
end

return places
