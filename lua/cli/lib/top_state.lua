--- top_state.lua -- turns a server's events into the state that `vesta top` shows.  It derives rates from totals, and
-- a history from rates.
--
-- A state has is_known, unix_ms (the server's clock), seen_ms (this machine's clock when the event arrived), uptime_s,
-- connections, waiting, pid, version, server, is_draining, policies, others, answered, codes, durations, recent,
-- namespaces (namespaces with problems first), by_name, and event (the event's text).
local facts = require "facts"
local json = require "cli.lib.json"

local NAMESPACES_MAX, CODES_MAX, PAUSES_MAX, DURATIONS_MAX, RECENT_MAX = 64, 64, 16, 64, 20
local NAME_MAX, LAYOUT_MAX = 64, 511

local state = { HISTORY = 60, YEAR_MS = 31556952000, DRIFT_MS_MAX = 1000, LATENCY_MS = 10000 }

--- Returns the state before the first event.
function state.none() return { is_known = false, namespaces = {}, by_name = {}, codes = {} } end

local get, number, span, text = json.get, json.number, json.span, json.text

local function rate(now, before, ms)
  return ms > 0 and now >= before and (now - before) * 1000.0 / ms or 0.0
end

-- Returns the end of the namespace's layout.  An older server sends only the layout.
local function layout_end_ms(object)
  local end_ms = span(get(object, "layout_end_ms"))
  if end_ms > 0 then return end_ms end
  local layout = facts.layout(text(get(object, "layout"), LAYOUT_MAX))
  return layout and layout.end_ms or 0
end

-- Adds a namespace's counts of pauses.  `pausing` has the pauses since the previous event, such as "full 12, lease 3".
local function take_pauses(ns, pauses, before)
  local more = {}
  ns.pause, ns.pauses = {}, 0
  for i, value, name in json.each(pauses) do
    if i > PAUSES_MAX then break end
    ns.pause[name] = number(value)
    ns.pauses = ns.pauses + ns.pause[name]
    local grown = before and ns.pause[name] - (before.pause[name] or 0) or 0
    if grown > 0 then table.insert(more, ("%s %d"):format(name:sub(1, 32), grown)) end
  end
  ns.pausing = table.concat(more, ", ")
end

local function take_namespace(object, before, ms)
  local drift, shadow = get(object, "clock_drift_ms"), get(object, "shadow")
  local ns = {
    name = text(get(object, "name"), NAME_MAX), why = text(get(object, "why"), 31),
    detail = text(get(object, "detail")), keeper = text(get(object, "keeper")), warning = text(get(object, "warning")),
    is_ready = get(object, "ready") == true, has_lease = get(object, "holds_lease") == true,
    worker = number(get(object, "worker")), lease_end_ms = span(get(object, "lease_end_ms")),
    layout_end_ms = layout_end_ms(object), has_drift = drift ~= nil, drift_ms = number(drift),
    differs = number(get(shadow, "differed")) > 0 or number(get(shadow, "failed")) > 0,
    refused = number(get(object, "refused")), ids = 0, history = {}, object = object,
    capacity = number(get(object, "capacity_s")), is_assigned = get(object, "worker_assigned") == true,
  }
  before = before[ns.name]
  for _, count in json.each(get(object, "ids")) do ns.ids = ns.ids + number(count) end
  take_pauses(ns, get(object, "pauses"), before)
  for _, what in ipairs { "ids", "pauses", "refused" } do
    ns[what .. "_s"] = before and rate(ns[what], before[what], ms) or 0.0
  end
  if before then
    local first = #before.history < state.HISTORY and 1 or 2
    table.move(before.history, first, #before.history, 1, ns.history)
    table.insert(ns.history, ns.ids_s)
  end
  return ns
end

-- Returns the sums of the namespaces that the server does not list.
local function take_others(object, before, ms)
  local others = {}
  for _, what in ipairs { "count", "unready", "ids", "refused" } do others[what] = number(get(object, what)) end
  others.ids_s = before and rate(others.ids, before.ids, ms) or 0.0
  others.refused_s = before and rate(others.refused, before.refused, ms) or 0.0
  return others
end

-- Adds the counts of replies by code.  `answered` counts successful replies, and `codes` has all other codes.
local function take_requests(new, requests, then_, ms)
  local before = {}
  for _, code in ipairs(then_.codes) do before[code.name] = code.count end
  new.codes, new.answered, new.answered_s = {}, 0, 0.0
  for _, value, name in json.each(requests) do
    local count = number(value)
    if #new.codes == CODES_MAX then break end
    if name == "ok" then
      new.answered = count
      new.answered_s = then_.is_known and rate(count, then_.answered, ms) or 0.0
    else
      name = name:sub(1, 31)
      local a_second = then_.is_known and rate(count, before[name] or 0, ms) or 0.0
      table.insert(new.codes, { name = name, count = count, a_second = a_second })
    end
  end
end

-- Adds the histogram of request durations over the last LATENCY_MS.  durations[i] counts requests that took at most
-- le_us[i] and more than le_us[i - 1].  durations_all is the sum of all counts.
local function take_durations(new, durations, then_)
  local now = { unix_ms = new.unix_ms }
  for _, protocol in ipairs { "http", "resp" } do
    for i, value in json.each(get(durations, protocol)) do
      if i <= DURATIONS_MAX then now[i] = (now[i] or 0) + number(value) end
    end
  end
  new.lately, new.durations, new.durations_all, new.le_us = {}, {}, 0, {}
  for _, one in ipairs(then_.lately or {}) do
    if new.unix_ms - one.unix_ms <= state.LATENCY_MS then table.insert(new.lately, one) end
  end
  table.insert(new.lately, now)
  for i, count in ipairs(now) do
    new.durations[i] = math.max(0, count - (new.lately[1][i] or 0))
    new.durations_all = new.durations_all + new.durations[i]
  end
  for i, value in json.each(get(durations, "le_us")) do
    if i <= DURATIONS_MAX then new.le_us[i] = number(value) end
  end
end

-- Returns the recent events of the server, newest first.
local function take_recent(list)
  local recent = {}
  for i, object in json.each(list) do
    if i > RECENT_MAX then break end
    recent[i] = { unix_ms = span(get(object, "unix_ms")), level = text(get(object, "level"), 15),
      namespace = text(get(object, "namespace"), NAME_MAX), text = text(get(object, "text")) }
  end
  return recent
end

-- Returns the sort key of a namespace.  Namespaces that cannot issue ids come first, then namespaces with a warning.
local function rank(ns)
  if not ns.is_ready then return 0 end
  return (ns.keeper ~= "" or ns.warning ~= "" or state.is_off(ns)) and 1 or 2
end

local function sort_namespaces(namespaces)
  local places = {}
  for i, ns in ipairs(namespaces) do places[ns] = rank(ns) * NAMESPACES_MAX + i end
  table.sort(namespaces, function(a, b) return places[a] < places[b] end)
end

--- Returns whether the clock drifted from the uptime by more than chrony's corrections explain.
function state.is_off(ns) return ns.drift_ms > state.DRIFT_MS_MAX or ns.drift_ms < -state.DRIFT_MS_MAX end

local function take_policies(object)
  if object == nil then return nil end
  return { generation = number(get(object, "generation")), is_stuck = get(object, "stuck") == true,
    has_reloaded = get(object, "reload_ok") == true, error = text(get(object, "last_error")), object = object }
end

--- Returns the state after an event, which is JSON text.  Rates are measured since the state `before`.
function state.take(before, bytes, now_ms)
  local event = json.read(bytes)
  local new = {
    is_known = true, event = bytes, seen_ms = now_ms, pid = number(get(event, "pid")),
    unix_ms = span(get(event, "unix_ms")), uptime_s = span(get(event, "uptime_s")),
    connections = number(get(event, "connections")), waiting = number(get(event, "waiting")),
    is_draining = get(event, "draining") == true, version = text(get(event, "version"), 31),
    policies = take_policies(get(event, "policies")), recent = take_recent(get(event, "recent")),
    server = text(get(event, "name"), 255), namespaces = {}, by_name = {},
  }
  if new.server == "" then new.server = text(get(event, "host"), 255) end
  if before.pid ~= new.pid then before = state.none() end -- the counts of a new server process begin at 0
  local ms = before.is_known and new.unix_ms - before.unix_ms or 0
  new.others = take_others(get(event, "other_namespaces"), before.others, ms)
  take_requests(new, get(event, "requests"), before, ms)
  take_durations(new, get(event, "durations"), before)
  for i, object in json.each(get(event, "namespaces")) do
    if i > NAMESPACES_MAX then break end
    local ns = take_namespace(object, before.by_name, ms)
    new.namespaces[i] = ns
    if not new.by_name[ns.name] then new.by_name[ns.name] = ns end
  end
  sort_namespaces(new.namespaces)
  return new
end

return state
