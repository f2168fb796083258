--- watermark.lua -- `vesta watermark`: prints the largest id below which no further id is issued.
local cli = require "cli.lib.cli"
local store = require "store"
local stores = require "cli.lib.stores"
local term = require "term"

-- A watermark follows the clock within this time while every process renews its lease.
local USUAL_MS = 85000

-- Returns the names of the namespace's layouts in the store: NAME, NAME.2, NAME.3.
local function layouts_of(place)
  local base, names = place.public or place.name, { place.name }
  local opened <close> = cli.check(store.open(place.uri, base, place.secret))
  local all, text, outcome = opened:names()
  if not all then cli.fail("the watermark is unknown: %s", stores.trouble(place, text, outcome)) end
  for _, name in ipairs(all) do
    local is_layout = name == base or (name:sub(1, #base + 1) == base .. "." and name:find("%.%d+$", #base + 1))
    if is_layout and name ~= place.name then names[#names + 1] = name end
  end
  table.sort(names, function(a, b) return #a < #b or (#a == #b and a < b) end)
  return names
end

local function read(place, name, options)
  local opened <close> = cli.check(store.open(place.uri, name, place.secret))
  local mark, text = opened:watermark(options.start)
  if not mark then cli.fail("%s", text) end
  if not mark.id and not options.time then
    cli.fail("namespace %s has no watermark as an id: %s. Page by the time in the ids: vesta watermark %s --time", name,
      mark.why, name)
  end
  return mark
end

local function as_json(name, mark)
  local members = { { "namespace", name } }
  local function add(key, value) members[#members + 1] = value and { key, value } or nil end
  add("id", mark.id and cli.unsigned(mark.id))
  add("time", term.iso(mark.time_ms))
  add("time_ms", mark.time_ms)
  add("behind_ms", mark.store_ms - mark.time_ms)
  add("held_by", mark.text)
  add("worker", mark.worker and cli.count(mark.worker))
  add("holder", mark.holder)
  add("since_ms", mark.since_ms)
  add("passes_ms", mark.passes_ms)
  cli.json(cli.object(members))
end

local function print_mark(name, mark, options, is_one)
  if options.json then return as_json(name, mark) end
  local shown = options.time and term.iso(mark.time_ms) or cli.id(mark.id, options.format or "dec")
  term.out((is_one and "" or name .. " ") .. shown .. "\n")
  local behind_ms = mark.store_ms - mark.time_ms
  -- If no worker id is held, all issued ids are at or below the watermark, however old it is.
  if mark.off_ms or (mark.worker and behind_ms > USUAL_MS) then
    term.say(("the watermark is %.0f s behind the store's clock. %s"):format(behind_ms / 1000, mark.text))
  end
end

local function run(options, operands)
  if operands[2] then cli.usage("unexpected operand %s: give one namespace", term.shown(operands[2])) end
  if operands[1] and options.namespace then cli.usage "give the namespace once: as an operand or with --namespace" end
  options.namespace = options.namespace or operands[1]
  local place = stores.find(options, true)
  if not place.uri then stores.no_store() end
  stores.open(place):close()
  local names, marks = layouts_of(place), {}
  for i, name in ipairs(names) do marks[i] = read(place, name, options) end
  for i, name in ipairs(names) do print_mark(name, marks[i], options, #names == 1) end
end

return {
  order = 175,
  line = "print the id up to which an event table is complete",
  usage = "watermark [OPTION...] [NAMESPACE]",
  about = [[
Prints the largest id W of a namespace such that no call that begins later gets W or a lower id, from any process.
A reader that pages a table by id can read up to W and misses no row that is inserted later.  A process may still
hold an id at or below W that it got before: docs/watermark.md explains how to wait for its commit.

Before the first use, run it once with --start.  From then on, processes report their position when they renew
their leases.  Every process of the namespace must use clock pacing, and this version of vesta or a later one,
because an older one cannot lease a worker id of the namespace any more.

If a process that was killed or stopped holds the watermark back, the command names it.  The watermark passes it
when its lease has expired.

A namespace with several layouts has one watermark for each, in a line with its name.

  $ vesta watermark orders --store mysql://vesta@db/vesta?secret_file=/etc/db
  2678628990637309951

  $ vesta watermark orders --store mysql://vesta@db/vesta --json
  {"namespace":"orders","id":"2678628990637309951","time":...
]],
  options = cli.rows {
    stores.OPTIONS,
    { name = "start", kind = "switch", help = "give the namespace watermarks, if it has none yet" },
    { name = "time", kind = "switch", help = "print the time before which no further id is issued, not the id" },
    cli.format_option "how the id is written",
    { name = "json", kind = "switch", help = "print a JSON object for each layout" },
  },
  run = run,
}
