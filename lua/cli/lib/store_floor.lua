--- store_floor.lua -- `vesta store advance` and `vesta store lower`.  They set the floor of a namespace, the time
-- before which no lease starts: advance raises it after a store lost acknowledged writes, and lower corrects a floor
-- that was set by a clock that was ahead.
local cli = require "cli.lib.cli"
local facts = require "facts"
local init = require "cli.lib.store_init"
local screen = require "screen"
local show = require "cli.lib.store_show"
local store = require "store"
local stores = require "cli.lib.stores"
local term = require "term"

local store_floor = {}

-- Returns the margin of a floor.  The store's clock plus this margin is later than every id granted under the lease.
local function margin_ms(asked)
  local lease = facts.lease(asked.lease)
  return lease.skew_ms + 2 * lease.window_ms
end

-- Asks the operator to type the namespace's name, so that nothing is changed by accident.
local function confirm(asked)
  if asked.yes then return end
  if not screen.has_keys() then cli.usage "nothing was done: add --yes to confirm" end
  io.stderr:write "Type the namespace's name to continue: "
  if io.read "l" ~= asked.place.name then cli.fail "nothing was done" end
end

---------------------------------------------------------------- advance

-- Ends the command if --lease is too short: a holder has ids above the floor of this lease but below the floor of a
-- longer lease, and could not start again.  If the list of worker ids cannot be read, the command continues.
local function check_lease(asked, store_ms)
  local widest, opened = "balanced", asked.store
  local floor_ms = store_ms + margin_ms(asked)
  local list <close> = opened:workers()
  for i = 1, list and #list or 0 do
    local row = list:row(i)
    if row.until_ms and floor_ms < row.until_ms and row.until_ms <= store_ms + margin_ms { lease = widest } then
      cli.fail("nothing was done: worker id %s was granted ids up to %s, but --lease %s lets leases start at %s. Use "
        .. "--lease %s, or the preset with the longest leases among your hosts", cli.unsigned(row.worker),
        term.iso(row.until_ms),
        asked.lease, term.iso(floor_ms), widest)
    end
  end
end

local function print_plan(asked, ns)
  local margin, store_ms = margin_ms(asked), ns.store_ms
  term.flush()
  io.stderr:write(([[
This is for a store that lost acknowledged writes: it was wiped, restored from a backup, or failed over to a
copy that was behind.  It changes namespace %s:
  - A new incarnation makes every holder of a worker id claim again.
  - No lease starts before %s: the store's clock plus %.0f s, which is later than
    every id granted under the lease '%s'.  Until then no process can issue ids.
The store's clock must be right.  It is %s now.
]]):format(asked.place.name, term.iso(math.max(store_ms + margin, ns.floor_ms or 0)), margin / 1000, asked.lease,
    term.iso(store_ms)))
end

-- Returns the namespace's new record.  The store may have lost the old one.
local function plan_record(asked, ns)
  local fresh = init.fresh(asked)
  if not ns.is_there then
    if not asked.layout then
      cli.usage("the namespace %s is not in the store: add the --layout that it had", asked.place.name)
    end
    init.admit(asked, fresh, "nothing was done")
  elseif asked.layout and not store.is_leased(fresh.layout, ns.layout) then
    cli.usage("the namespace %s has the layout %s, which cannot change", asked.place.name, ns.layout)
  end
  return fresh
end

function store_floor.advance(asked)
  local place, opened = asked.place, asked.store
  local ns = stores.done(place, opened:namespace())
  local fresh = plan_record(asked, ns)
  stores.check_clock(asked, ns.store_ms)
  if ns.is_there then check_lease(asked, ns.store_ms) end
  print_plan(asked, ns)
  confirm(asked)
  stores.done(place, opened:advance(fresh, asked.lease))
  if not ns.is_there then init.admit_made(asked, fresh) end
  show.namespace(asked)
end

---------------------------------------------------------------- lower

-- Ends the command if ids above the new floor were granted.
local function check_granted(opened, list, floor_ms)
  local tick = opened:tick(floor_ms)
  for i = 1, #list do
    local row = list:row(i)
    if math.ult(tick, row["until"]) then
      cli.fail("nothing was done: worker id %s was granted ids up to %s, above the new floor: %s",
        cli.unsigned(row.worker), row.until_ms and term.iso(row.until_ms) or "the layout's end",
        row.state ~= "free" and "stop its holder and try again" or "keep the old floor, or wait until that time")
    end
  end
end

local function print_lowered(asked, is_floor, floor_ms, has_mark, store_ms)
  term.flush()
  if is_floor then
    io.stderr:write(([[
This is for a floor that was set by a clock that was ahead.  It sets the floor of namespace %s to the value
that advance would set now: %s, the store's clock plus %.0f s.  Every holder of a worker
id must claim again.
]]):format(asked.place.name, term.iso(floor_ms), margin_ms(asked) / 1000))
  end
  if has_mark then
    io.stderr:write(([[
This is for watermarks that were read with a clock that was ahead.  It lets leases of namespace %s start at
%s, the store's clock.  Watermarks that were read in the meantime are no longer true, so
readers must go back to this time.
]]):format(asked.place.name, term.iso(store_ms)))
  end
end

--- Lowers the floor to the value that `advance` would set now, and the mark of watermarks to the store's clock, when
-- the clock is right.  One of them must be higher.
function store_floor.lower(asked)
  local place, opened = asked.place, asked.store
  local ns = stores.done(place, opened:need())
  local list <close> = stores.done(place, opened:workers())
  local store_ms = list:counts().store_ms
  local floor_ms = store_ms + margin_ms(asked)
  local is_floor, has_mark = (ns.floor_ms or 0) > floor_ms, (ns.mark_ms or 0) > store_ms
  stores.check_clock(asked, store_ms)
  if not is_floor and not has_mark then
    cli.fail("nothing was done: the floor is %s", ns.floor_ms and "not above the one that advance would set now"
      or "not set")
  end
  if is_floor then check_granted(opened, list, floor_ms) end
  print_lowered(asked, is_floor, floor_ms, has_mark, store_ms)
  confirm(asked)
  stores.done(place, opened:lower(is_floor and floor_ms or nil, store_ms))
  show.namespace(asked)
end

return store_floor
