--- workers_import.lua -- `vesta workers import`: marks the worker ids that another generator, the original, has issued,
-- so that no process leases them.  The mark of a worker id is above all ids that the original could have generated with
-- it, so a later holder issues only higher ids.
local cli = require "cli.lib.cli"
local facts = require "facts"
local screen = require "screen"
local store = require "store"
local stores = require "cli.lib.stores"
local term = require "term"

local LEFT_MIN = 64 -- minimum worker ids that a namespace needs after the import
local MARGIN_MS = 60000 -- how far the clocks of the original's machines may be ahead of the store's
local DAY_MS = 86400000
local BUTTERFLY_KEEPS_MS = DAY_MS -- how far ahead a running Butterfly writes its time
local CLOCKS_APART_MS = 600000    -- a larger difference means a different time zone
local NAME_MAX = 250
local NAMES_SHOWN = 5
local TABLE_MAX = 64
local ISSUED_MAX = (1 << 32) - 1

-- scheme     the scheme of --source, or the schemes of databases
-- node       the parent node of --name in a zk: source
-- name       the meaning of --name; nil if the source needs no name
-- lost       why an issued worker id can have no row, if the generator issues worker ids in sequence
-- no_start   true if the generator does not start with a worker id that exceeds its field
-- layouts    the possible layouts of the original's ids, unless --original names another
local DATABASES = "mysql: or postgresql:"
local KINDS = {
  ["butterfly-db"] = { scheme = DATABASES, name = "Butterfly's namespace", is_butterfly = true, has_zone = true },
  ["butterfly-zk"] = { scheme = "zk:", node = "/butterfly", name = "Butterfly's namespace", is_butterfly = true },
  leaf = { scheme = "zk:", node = "/snowflake", name = "leaf.name", lost = "its node was deleted", no_start = true,
    layouts = { "leaf" } },
  uid = { scheme = DATABASES, lost = "its row was deleted", no_start = true,
    layouts = { "uid", "uid time:29 worker:21" } },
  vesta = { scheme = DATABASES, layouts = { "vesta-second", "vesta-milli" } },
}
local NOT_IN_RECORDS = "reserved by --issued"
local BUTTERFLY_LAYOUTS = { ["1.0.1"] = "butterfly-v1.0.1", ["1.0.2"] = "butterfly" }

local DEEDS = { "mark", "raise", "same", "clash" }

-- An import has:
--     kind, rules             a key of KINDS and its row
--     options                 the command's options
--     zone_ms                 how far the original's time zone is ahead of UTC
--     place, store            the namespace's place (stores.lua) and its open store
--     ns, layout              the namespace's record and layout
--     done                    the number of worker ids for each of DEEDS
--     issued                  the highest issued worker id
--     recorded                the highest issued worker id in the records, if --issued is higher
--     beyond                  how many rows exceed the field
local Import = {}
Import.__index = Import

---------------------------------------------------------------- the record of a worker id

-- Returns the time, by the store's clock, until which no process may lease a row's worker id.  Returns 0 if the worker
-- id is free at once.
function Import:held_until_ms(row)
  local end_ms = self.layout.end_ms
  if not row.until_ms then
    local days = self.options.days
    return days and math.min(self.ns.store_ms + days * DAY_MS, end_ms) or end_ms
  end
  if row.until_ms <= self.ns.store_ms - MARGIN_MS then return 0 end
  return row.until_ms < end_ms - MARGIN_MS and row.until_ms + MARGIN_MS or end_ms
end

-- Returns the minimum record for a row's worker id.  An existing record that covers more stays unchanged.
function Import:wanted_of(row)
  local store_ms, held_ms = self.ns.store_ms, self:held_until_ms(row)
  local is_ever = held_ms >= self.layout.end_ms
  local used_ms = held_ms > 0 and held_ms or store_ms
  return { is_held = held_ms ~= 0, is_ever = is_ever, held_ms = held_ms, lease_ms = math.max(held_ms - store_ms, 0),
    ["until"] = self.store:tick(not is_ever and used_ms + MARGIN_MS or nil), identity = self.kind,
    holder = ("%s %s"):format(self.kind, row.who:sub(1, 100)) }
end

---------------------------------------------------------------- output

local function is_without_record(import, row) return row.who == NOT_IN_RECORDS or row.who == import.rules.lost end

function Import:print_row(row, wanted, deed, is_first)
  if self.options.json then
    local members = { { "worker", cli.count(row.worker) }, { "deed", deed }, { "held", wanted.is_held } }
    if wanted.is_held and not wanted.is_ever then table.insert(members, { "held_until_ms", wanted.held_ms }) end
    table.insert(members, { "until", cli.unsigned(wanted["until"]) })
    table.insert(members, { "who", row.who })
    return term.out((is_first and "" or ",") .. cli.encode(cli.object(members)))
  end
  local time = not wanted.is_held and "" or wanted.is_ever and "the layout's end" or term.iso(wanted.held_ms)
  local text = ("%-5s  %s%-24s  "):format(deed, wanted.is_held and "held until " or "free       ", time)
  local line = is_without_record(self, row) and self.line
  if line and line.last + 1 == row.worker and line.text == text and line.who == row.who then
    line.last = row.worker
    return
  end
  self:print_line()
  self.line = { first = row.worker, last = row.worker, text = text, who = row.who }
end

-- Prints the pending line.  Consecutive worker ids without a record share a line.
function Import:print_line()
  local line = self.line
  if not line then return end
  local numbers = cli.unsigned(line.first)
  if line.last ~= line.first then numbers = numbers .. "-" .. cli.unsigned(line.last) end
  cli.printf("%6s  %s", numbers, line.text)
  term.fitted(line.who, 52, 52)
  self.line = nil
end

function Import:print_end(count)
  local done, yes = self.done, self.options.yes
  if self.options.json then
    local members = {}
    for i, deed in ipairs(DEEDS) do members[i] = { deed, done[deed] } end
    if self.rules.lost and count > 0 then table.insert(members, { "issued_to", cli.count(self.issued) }) end
    table.insert(members, { "beyond", self.beyond })
    table.insert(members, { "found", count })
    table.insert(members, { "written", yes == true })
    return term.out("]," .. cli.encode(cli.object(members)):sub(2) .. "\n")
  end
  if self.rules.lost and count > 0 then
    local text = ("%s has issued worker ids up to %s"):format(self.kind, cli.unsigned(self.recorded or self.issued))
    if self.recorded then text = ("%s by its records, and --issued reserves %d more"):format(text,
      self.issued - self.recorded) end
    term.fitted(text, 2, 0)
  end
  term.fitted(("%d worker ids found: %d to mark, %d to raise, %d already marked, %d in conflict. %s"):format(count,
    done.mark, done.raise, done.same, done.clash, yes and "Done" or "Nothing was written: add --yes to write"), 2, 0)
end

---------------------------------------------------------------- writing

function Import:mark(list, row, wanted)
  local deed, holder, outcome = self.store:mark(list, row.worker, wanted, self.options.yes)
  if deed then return deed, holder end
  term.say(("worker id %s was not marked. Worker ids that were marked stay marked: run the import again"):format(
    cli.unsigned(row.worker)))
  return stores.done(self.place, nil, holder, outcome)
end

function Import:mark_all(rows)
  local list, is_shown = stores.done(self.place, self.store:workers()), screen.is_shown()
  self.ns.store_ms = list:counts().store_ms
  if self.options.json then term.out(('{"from":"%s","numbers":['):format(self.kind)) end
  for i, row in ipairs(rows) do
    local wanted = self:wanted_of(row)
    local deed, holder = self:mark(list, row, wanted)
    self.done[deed] = self.done[deed] + 1
    self:print_row(row, wanted, deed, i == 1)
    if deed == "clash" then
      self:print_line()
      term.say(("worker id %s is used by the original (%s) and also held here by %s: stop one of them"):format(
        cli.unsigned(row.worker), term.shown(row.who), term.shown(holder)))
    end
    if not is_shown then term.progress("worker ids", i, #rows) end -- on a terminal the rows show the progress
  end
  term.progress_end()
  self:print_line()
  self:print_end(#rows)
  return self.done.clash > 0 and 1 or 0
end

---------------------------------------------------------------- the original's layout

local function has_fields_of(layout, other)
  if #layout.fields ~= #other.fields or layout.worker ~= other.worker then return false end
  for i, a in ipairs(layout.fields) do
    local b = other.fields[i]
    if a.name ~= b.name or a.width ~= b.width or a.low_width ~= b.low_width then return false end
  end
  return true
end

-- Returns whether worker ids become free again.  Then old and new ids differ only if every new id contains a later time
-- than every old id, which requires a comparable epoch and unit.
function Import:rests_on_time() return not self.rules.lost or self.options.days ~= nil end

-- Returns whether two ids, one of the namespace and one of the original, always differ if their worker ids or their
-- real times differ.
function Import:is_apart(text)
  local layout, original = self.layout, cli.check(facts.layout(text))
  if not has_fields_of(layout, original) then return false end
  return not self:rests_on_time() or layout.unit_us == original.unit_us and layout.epoch_ms <= original.epoch_ms
end

function Import:check_layout()
  local given = self.options.original
  local texts = given and { given } or self.rules.layouts or { BUTTERFLY_LAYOUTS[self.options.butterfly] }
  for _, text in ipairs(texts) do
    if self:is_apart(text) then return end
  end
  cli.fail("the namespace has the layout %s, and the original's ids have the layout %s%s, so ids could collide: the "
    .. "namespace needs %s. Nothing was written%s", self.ns.layout, texts[1], texts[2] and " or a known variant" or "",
    self:rests_on_time() and "the same fields and time unit, and no later epoch" or "the same fields",
    given and "" or ". If the original was configured with another layout, add --original LAYOUT")
end

---------------------------------------------------------------- worker ids without a row

-- Returns the highest issued worker id, plus 1.
function Import:issued_until(rows, issued)
  local kind, given = self.kind, self.options.issued
  if issued.doubt and not given then
    cli.fail("the highest worker id that %s issued is not known, because %s: a deleted row could have had any worker "
      .. "id. Nothing was written. Find the highest one in its ids with `vesta explain`, and add --issued N", kind,
      issued.doubt)
  end
  if issued.issued_until <= issued.issued_first and not rows[1] and not given then
    cli.fail("according to its records, %s has issued no worker id: it never started, or the records were truncated or "
      .. "created again. Nothing was written. Find the highest worker id in its ids with `vesta explain`, and add "
      .. "--issued N", kind)
  end
  local last = rows[#rows]
  local stop = math.max(issued.issued_until, (given or -1) + 1, last and last.worker + 1 or 0)
  local max = self.ns.worker_max
  if self.beyond > 0 then return max + 1 end -- the sequence is past the end of the field
  if stop > max + 1 then
    term.say(("%s has issued worker ids up to %d, and the namespace's layout ends at %d: higher worker ids are not "
      .. "imported, because %s does not start with them"):format(kind, stop - 1, max, kind))
  end
  return math.min(stop, max + 1)
end

-- Adds a row for each issued worker id without a row.  If there are too many, worker ids in the namespace's static
-- range are skipped: they are never leased, so they need no record.
function Import:with_lost(rows, issued)
  local ns, stop = self.ns, self:issued_until(rows, issued)
  local is_many, first = stop > store.FOREIGN_MAX, issued.issued_first
  local all, next_row, n = {}, 1, first
  local last = rows[#rows]
  local recorded = math.max(issued.issued_until, last and last.worker + 1 or 0) - 1
  self.issued = stop - 1
  if not issued.doubt and first <= recorded and recorded < self.issued then self.recorded = recorded end
  local function add(row)
    all[#all + 1] = row
    if #all > store.FOREIGN_MAX then
      local left = self.layout.workers - (stop - first)
      local hint = (". That leaves only %d: docs/migrate/uidgenerator.md shows how to continue with an exhausted "
        .. "field"):format(left)
      cli.fail("%s has issued the worker ids %d to %d, more than %d: exclude them when you create the namespace: vesta "
        .. "store init --static %d-%d. Nothing was written%s", self.kind, first, stop - 1, store.FOREIGN_MAX, first,
        stop - 1, left >= LEFT_MIN and "" or hint)
    end
  end
  while n < stop or rows[next_row] do
    local row = rows[next_row]
    if row and (row.worker <= n or n >= stop) then
      add(row)
      next_row = next_row + 1
      if row.worker == n then n = n + 1 end
    elseif is_many and ns.static_first and n >= ns.static_first and n <= ns.static_last then
      n = math.min(ns.static_last + 1, row and row.worker or stop, stop)
    else
      add { worker = n, who = self.recorded and n > self.recorded and NOT_IN_RECORDS or self.rules.lost }
      n = n + 1
    end
  end
  return all
end

---------------------------------------------------------------- the run

-- Corrects the times that Butterfly's JVMs wrote as dates without a zone.  The JVMs wrote them in their time zone, and
-- the database read them in a different one.
function Import:take_zone(rows)
  if not self.zone_ms then return end
  for _, row in ipairs(rows) do row.until_ms = row.wall_ms - self.zone_ms end
end

function Import:check_rows(rows)
  local latest_ms = self.ns.store_ms + BUTTERFLY_KEEPS_MS + CLOCKS_APART_MS
  for _, row in ipairs(rows) do
    if self.rules.has_zone and row.until_ms and row.until_ms > latest_ms then
      cli.fail("worker id %d (%s) would be held until %s, but Butterfly writes 24 hours ahead: its JVM is in a time "
        .. "zone other than --zone %s. Nothing was written", row.worker, term.shown(row.who), term.iso(row.until_ms),
        self.options.zone)
    end
  end
end

-- Ends the command, because the source has no node for --name.
local function no_node(import, source, text)
  local names = import.kind == "leaf" and source.store:names() or {}
  table.sort(names)
  cli.fail("%s: check --name and the path of --source%s", text, names[1] and (", --name could be "
    .. table.concat(names, ", ", 1, math.min(#names, NAMES_SHOWN))) or "")
end

-- Reads the source's rows.  If there are too many, reads only worker ids outside the namespace's static range, because
-- worker ids in that range need no record.
function Import:read(source)
  local ns, options = self.ns, self.options
  local ask = { name = options.name, table = options.table, worker_max = ns.worker_max }
  local rows, issued, outcome = source.store:foreign(self.kind, ask)
  if not rows and outcome == "refused" and ns.static_first then
    ask.skip_first, ask.skip_beyond = ns.static_first, ns.static_last + 1
    rows, issued, outcome = source.store:foreign(self.kind, ask)
  end
  if not rows and tostring(issued):find("there is no node", 1, true) then no_node(self, source, issued) end
  return stores.done(source.place, rows, issued, outcome)
end

-- Removes the sorted rows with worker ids that exceed the field.  If the original does not start with such a worker id,
-- it has issued no ids with it.  Otherwise its ids overflow into the next field, and the command ends.
function Import:drop_beyond(rows, count)
  local max = self.ns.worker_max
  self.beyond = count
  if count == 0 then return end
  local names = {}
  while rows[1] and math.ult(max, rows[#rows].worker) do
    local row = table.remove(rows)
    table.insert(names, 1, ("%s (%s)"):format(cli.unsigned(row.worker), term.clean(row.who)))
  end
  local text = ("%s%s: above the highest worker id of the namespace's layout, %d"):format(table.concat(names, ", "),
    count > #names and (" and %d more"):format(count - #names) or "", max)
  if not self.rules.no_start then cli.fail("%s. Nothing was written", text) end
  term.say(("%s: not imported, because %s does not start with such a worker id"):format(text, self.kind))
end

function Import:run(source)
  self.ns = stores.done(self.place, self.store:need())
  self.layout = cli.check(facts.layout(self.ns.layout))
  self:check_layout()
  local rows, issued = self:read(source)
  self:take_zone(rows)
  table.sort(rows, function(a, b) return math.ult(a.worker, b.worker) end)
  self:drop_beyond(rows, issued.beyond)
  if self.rules.lost then rows = self:with_lost(rows, issued) end
  self:check_rows(rows)
  return self:mark_all(rows)
end

---------------------------------------------------------------- options

local function check_source(options, rules)
  local scheme, name = rules.scheme, options.name
  if not options.source then cli.usage("--source is missing: add the %s URI of %s's store", scheme, options.from) end
  if not (" " .. scheme):find(" " .. options.source:match "^[^:]*" .. ":", 1, true) then
    cli.usage("--from %s needs a %s URI as --source", options.from, scheme)
  end
  if rules.node and options.source:find "^zk://[^/]*/?$" then
    cli.usage("--source is %s, which names no node: add the node that %s uses, zk://HOSTS%s",
      term.shown(options.source), options.from, rules.node)
  end
  local table_name = options.table
  if table_name and scheme ~= DATABASES then cli.usage("--table does not apply to %s", options.from) end
  if table_name and (#table_name > TABLE_MAX or not table_name:find "^[%w_$-]+$") then
    cli.usage("--table is %s, which must be the name of a table in the database of --source", term.shown(table_name))
  end
  if not rules.name and name then cli.usage("--name does not apply to %s", options.from) end
  if rules.name and not name then cli.usage("--name is missing: %s", rules.name) end
  if name and (name:find("/", 1, true) or #name > NAME_MAX or name:sub(1, 1) == ".") then
    cli.usage("--name is %s, which must have 250 bytes at most, no '/', and no '.' in front", term.shown(name))
  end
end

local function check_butterfly(options, rules)
  if rules.is_butterfly and not options.butterfly then
    cli.usage("--butterfly is missing: 1.0.1 for ids of that version or earlier, 1.0.2 for ids of that version or "
      .. "later. Three consecutive ids show the version: docs/migrate/butterfly.md")
  end
  if not rules.is_butterfly and options.butterfly then cli.usage("--butterfly does not apply to %s", options.from) end
end

-- Returns how many milliseconds the zone of --zone ("+08:00", "Z") is ahead of UTC.  Returns nil for `database`, and if
-- the original writes no dates.
local function read_zone(options, rules)
  local zone = options.zone
  if zone and not rules.has_zone then cli.usage("--zone does not apply to %s", options.from) end
  if not zone and rules.has_zone then
    cli.usage("--zone is missing: the time zone of Butterfly's JVMs, such as +08:00 or Z, because they write "
      .. "last_expire_time in it. Use `database` if the database is in the same zone or their driver converts")
  end
  if not zone or zone == "database" then return nil end
  local unix_ms = #zone <= 6 and term.time("1970-01-02T00:00:00" .. zone)
  if not unix_ms then
    cli.usage("--zone is %s, which must be an offset such as +08:00 or Z, or database", term.shown(zone))
  end
  return DAY_MS - unix_ms
end

local function run(options, operands)
  if operands[1] then cli.usage("unexpected operand %s", term.shown(operands[1])) end
  if not options.from then cli.usage "--from is missing: butterfly-db, butterfly-zk, leaf, uid or vesta" end
  local rules = KINDS[options.from]
  check_source(options, rules)
  check_butterfly(options, rules)
  local zone_ms = read_zone(options, rules)
  if options.issued and not rules.lost then
    cli.usage("--issued does not apply to %s, which does not issue worker ids in sequence", options.from)
  end
  if options.original then cli.check(facts.layout(options.original)) end
  local place = stores.find(options, true)
  local import = setmetatable({ kind = options.from, rules = rules, options = options, zone_ms = zone_ms, place = place,
    store = stores.open(place), done = { mark = 0, raise = 0, same = 0, clash = 0 } }, Import)
  local source = { uri = options.source, name = "default" } -- --name may be invalid as a namespace of vesta
  return import:run { place = source, store = stores.open(source) }
end

return {
  name = "import",
  options = cli.rows {
    { name = "from", kind = "choice", value = "butterfly-db|butterfly-zk|leaf|uid|vesta",
      help = "the generator that issued the worker ids" },
    { name = "source", value = "URI",
      help = "that generator's store: mysql://USER@HOST/DB, postgresql://USER@HOST/DB, zk://HOSTS/butterfly, "
        .. "zk://HOSTS/snowflake" },
    { name = "name", value = "NAME", help = "Butterfly's namespace, or Leaf's leaf.name" },
    { name = "table", value = "NAME", help = "the table in the database of --source, if its name was changed" },
    { name = "butterfly", kind = "choice", value = "1.0.1|1.0.2",
      help = "the Butterfly version of the ids: 1.0.1 or earlier, or 1.0.2 or later" },
    { name = "zone", value = "+HH:MM|database", help = "the time zone of Butterfly's JVMs" },
    { name = "original", value = "LAYOUT",
      help = "the layout of the generator's ids, if its operator changed it (default: the generator's preset)" },
    { name = "issued", kind = "count", value = "N", min = 0, max = ISSUED_MAX,
      help = "the highest worker id that Leaf or UidGenerator ever issued, if its records no longer show it, or a "
        .. "higher worker id, to reserve some for further starts" },
    stores.OPTIONS,
    { name = "days", kind = "count", value = "N", min = 1, max = 36500,
      help = "how many days to reserve worker ids that the generator never frees (default: forever)" },
    { name = "yes", kind = "switch", help = "write the changes instead of only showing them" },
    { name = "dry-run", kind = "switch", help = "only show what would be written (the default)" },
    { name = "json", kind = "switch", help = "print one JSON object" },
  },
  run = run,
}
