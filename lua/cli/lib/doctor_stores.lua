--- doctor_stores.lua -- checks that the stores of a server answer, are writable, and have its namespaces and counters.
--
-- `doctor` has: config (the description of the server), probe (of csrc/main/doctor), and the method about().
local cli = require "cli.lib.cli"
local facts = require "facts"
local stores = require "store"

local judges = {}

local AHEAD_MS_MAX = 1000 -- maximum difference from the store's clock without a warning
local FAULTS_MAX = 5      -- maximum unusable tags of a table that are listed; more are only counted
local TRIPS = 4           -- round trips of a renewal, which connects, reads and writes
local MESSAGES = "see the messages in docs/stores.md" -- if the store gives no remedy

---------------------------------------------------------------- a store

local function check_record(found, namespace, store)
  if not store.is_there and store.is_local and not store.has_leased then
    found("ok", nil, "the namespace does not exist yet and will be created")
  elseif not store.is_there then
    found("fail", ("create it: vesta store init --store URI --namespace %s --layout ... (add --again if the store lost "
      .. "it)"):format(namespace.name), "the namespace is not in the store")
  elseif store.is_another then
    found("fail", "name the current address of that store, or restore its data (to move, see docs/stores.md, Moving to "
      .. "another store)",
      "this is not the store that granted the generator file's leases")
  elseif not store.is_of_layout then
    found("fail", "open a new generator file with that --layout, or use a new namespace",
      "in the store the namespace has the layout %s", store.layout)
  else
    found("ok", nil, "it answers, and the namespace is there")
  end
end

-- Compares this machine's clock with the store's clock, which measures leases.
local function check_store_clock(found, ahead_ms)
  local off_ms = math.abs(ahead_ms)
  local state = off_ms > facts.lease("balanced").skew_ms and "fail" or off_ms > AHEAD_MS_MAX and "warn" or "ok"
  found(state, state ~= "ok" and "correct the one that is wrong" or nil,
    "this machine's clock is %.3f s %s the store's", off_ms / 1000, ahead_ms < 0 and "behind" or "ahead of")
end

-- Returns whether a renewal fits the deadline of a call, and takes at most a third of the lease's window.
local function fits(lease, trip_us)
  local renewal_ms = TRIPS * trip_us // 1000
  return renewal_ms <= lease.call_ms and 3 * renewal_ms <= lease.window_ms
end

local function check_distance(found, namespace, trip_us)
  local own = facts.lease(namespace.lease and namespace.lease ~= "local" and namespace.lease or "balanced")
  local names = {}
  for _, name in ipairs { "strict", "balanced", "autonomous" } do
    if fits(facts.lease(name), trip_us) then table.insert(names, name) end
  end
  local is_near = fits(own, trip_us)
  found(is_near and "ok" or "warn", not is_near and "choose a lease that fits, or a nearer store" or nil,
    "a round trip takes %.4f s, which suits these leases: %s. The lease here is %s", trip_us / 1e6,
    names[1] and table.concat(names, ", ") or "none", own.name)
end

local function check_workers(found, store)
  if not store.held then return end
  if store.unlisted then
    return found("fail", store.unlisted_todo or MESSAGES, "its worker ids cannot be listed: %s", store.unlisted)
  end
  local is_full = math.ult(store.workers - 1, store.held)
  found(is_full and "warn" or "ok", is_full and "the next process to start will wait (see `vesta workers`)" or nil,
    "%d of %s worker ids are held", store.held, cli.unsigned(store.workers))
end

function judges.check_namespace(doctor, namespace, i, has_file)
  local found, store, trouble = doctor:about("store", namespace.name .. ": "), doctor.probe:store(i)
  if not store then return found("fail", nil, "%s", trouble) end
  if store.missing then
    if store.has_leased then
      found("fail", "restore it, or if that is impossible, create it with vesta store init --again",
        "%s is gone, and the generator file has had leases", store.missing)
    elseif has_file then -- without a usable file, the finding about the file states the reason
      found("ok", nil, "it does not exist yet and will be created")
    end
    return
  end
  if store.trouble then
    return found("fail", store.trouble_todo or MESSAGES, "%s", store.trouble)
  end
  check_record(found, namespace, store)
  if store.ahead_ms then check_store_clock(found, store.ahead_ms) end
  if not store.is_there then return end
  if store.trip_us then check_distance(found, namespace, store.trip_us) end
  for _, finding in ipairs(store.findings) do found("fail", finding.todo, "%s", finding.what) end
  if store.unexamined then
    found("fail", store.unexamined_todo or MESSAGES, "it cannot be examined: %s", store.unexamined)
  end
  if store.unwritable then
    found("fail", store.unwritable_todo or MESSAGES, "it cannot be written to: %s", store.unwritable)
  else
    found("ok", nil, "it can be read and written")
  end
  check_workers(found, store)
end

---------------------------------------------------------------- segments

-- Returns why the store would grant no range for a row, and the remedy.  Returns nil if it would grant one.
local function fault_of(segment, row)
  if row.why then return row.why, "correct the row" end
  if row.max < 0 then
    return ("its counter is %d"):format(row.max), "set the counter above every number that was issued"
  end
  if row.step == 0 and segment.step == 0 then
    return "its step is 0", ("vesta segments step %s N -c FILE"):format(row.tag)
  end
end

-- Checks all rows of a table from which all tags are served.
local function check_rows(found, segment, list)
  if #list == 0 then found("warn", "vesta segments add TAG -c FILE", "the table has no tag that can be served") end
  local count = 0
  for i = 1, #list do
    local row = list:row(i)
    local why, todo = fault_of(segment, row)
    count = count + (why and 1 or 0)
    if why and count <= FAULTS_MAX then found("warn", todo, "tag %s cannot be used: %s", row.tag, why) end
  end
  if count > FAULTS_MAX then
    found("warn", "list them with `vesta segments -c FILE`", "%d more tags cannot be used", count - FAULTS_MAX)
  end
end

local function check_tags(found, segment, place, list)
  if segment.is_any then return check_rows(found, segment, list) end
  for _, tag in ipairs(segment.tags) do
    local row = list:find(tag)
    local why, todo
    if row then why, todo = fault_of(segment, row) end
    if not row then
      found("fail", ("vesta segments add %s --store %s%s"):format(tag, place.shown,
        segment.table and " --table " .. segment.table or ""), "the table has no tag %s", tag)
    elseif why then
      found("fail", todo, "tag %s cannot be used: %s", tag, why)
    end
  end
end

-- Returns the first tag that the config's row serves and the table has, preferably one that is usable; nil if there is
-- no such tag.
local function tag_to_try(segment, list)
  local first
  for i = 1, segment.is_any and #list or #segment.tags do
    local row = segment.is_any and list:row(i) or list:find(segment.tags[i])
    if row and not fault_of(segment, row) then return row.tag end
    first = first or row and row.tag
  end
  return first
end

-- Examines the settings of a store.  A store that several rows name is examined only once.
local function check_faults(doctor, found, opened, place)
  if doctor.examined[place.uri] then return end
  doctor.examined[place.uri] = true
  local faults, _, _, words, todo = opened:faults()
  if not faults then return found("fail", todo or MESSAGES, "it cannot be examined: %s", words) end
  for _, fault in ipairs(faults) do found("fail", fault.todo, "%s", fault.what) end
end

local function check_counters(doctor, segment, place)
  local table_shown = segment.table or "leaf_alloc"
  local found = doctor:about("segments", ("%s of %s: "):format(table_shown, place.shown))
  local opened, trouble = stores.open(place.uri, nil, place.secret)
  if not opened then return found("fail", nil, "%s", trouble) end
  local list, _, _, why, remedy = opened:counters(segment.table)
  if not list then
    local is_missing = why:find("has no table " .. table_shown, 1, true)
    if is_missing then remedy = ("correct segments[%s].table, or %s"):format(segment.place, remedy or MESSAGES) end
    found("fail", remedy or MESSAGES, "%s", why)
    return opened:close()
  end
  check_tags(found, segment, place, list)
  local tag = tag_to_try(segment, list)
  if tag then
    local is_done, _, _, words, todo = opened:try_counter(segment.table, tag, segment.order == "dense")
    if is_done then
      found("ok", nil, "it can be read and written, with %d %s", #list, #list == 1 and "tag" or "tags")
    else
      found("fail", todo or MESSAGES, "it cannot be written to: %s", words)
    end
  end
  check_faults(doctor, found, opened, place)
  opened:close()
end

function judges.check_segments(doctor)
  doctor.examined = {}
  for _, segment in ipairs(doctor.config.segments) do
    for _, place in ipairs(segment.stores) do check_counters(doctor, segment, place) end
  end
end

return judges
