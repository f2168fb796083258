--- top_views.lua -- the views of `vesta top`, each a row of the list that this file returns.
--
-- A view has:
--     name, about        its name, and its description in the help
--     path, every_ms     the route that is polled while the view is shown, or nil, and the interval
--     picks              what the keys n and p change: "namespace", "all" (all namespaces or one), "page", or nil
--     draw(page, seen)   draws the view
-- `seen` has:
--     state              the state of the server (top_state.lua)
--     said, said_ms      the newest response from the route, or nil, and its time
--     trouble            why there is no newer response, or ""
--     of                 the chosen namespace, or "" for all
--     after              the tag before the page, or ""
--     now_ms             the current time
-- A server may send any bytes as a text.  page:line and page:fact remove control bytes.
local cli = require "cli.lib.cli"
local json = require "cli.lib.json"
local lines = require "cli.lib.lines"
local state = require "cli.lib.top_state"
local term = require "term"

local get, number, span, text = json.get, json.number, json.span, json.text
local pad = lines.pad

local LATE_MS = 4000

-- Formats a number.  A number below 10 has one decimal.
local function many(n)
  if n > 0 and n < 9.95 then return ("%.1f"):format(n) end
  return term.grouped(n > 0 and math.tointeger(math.floor(n + 0.5)) or 0)
end

local function painted(condition, paint) return condition and paint or nil end

-- Formats a time without its fraction of a second.
local function iso(unix_ms) return term.iso(unix_ms - unix_ms % 1000) end

-- Draws a line if the response is old or missing.  Returns false if there is no response to draw.
local function draw_answer(page, seen, every_ms)
  local is_old = seen.said and seen.now_ms - seen.said_ms > every_ms + LATE_MS
  if not seen.said and seen.trouble == "" then page:line(nil, "waiting for the server") end
  if is_old then
    page:fact("red", "STALE", "received " .. term.ago(seen.said_ms, seen.now_ms)
      .. (seen.trouble ~= "" and ": " .. seen.trouble or ""))
  elseif seen.trouble ~= "" then
    page:fact("red", "no data", seen.trouble)
  end
  return seen.said ~= nil
end

---------------------------------------------------------------- overview

local NAME_MIN, BARS_MIN = 15, 9 -- with these widths, a row fits 80 columns
local STEADY_MS = 10000           -- no countdown is shown for shorter leases, which are renewed all the time
local BARS = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }

-- Returns the widths of the name and the history.  A terminal's columns beyond 80 go to long names first, and then to
-- the history.
local function widths(page, now)
  local longest, more = NAME_MIN, math.max(0, page.columns - 80)
  for _, ns in ipairs(now.namespaces) do longest = math.max(longest, #ns.name) end
  local name = (page.columns == 0 or longest - NAME_MIN < more) and longest or NAME_MIN + more
  local bars = BARS_MIN + (page.columns > 0 and more - (name - NAME_MIN) or 0)
  return name, math.min(bars, state.HISTORY)
end

-- Draws the ids per second of the last seconds as bars, relative to their maximum.
local function bars_of(ns, count)
  local first, most, bars = math.max(1, #ns.history - count + 1), 1, {}
  for i = first, #ns.history do most = math.max(most, ns.history[i]) end
  for i = first, #ns.history do table.insert(bars, BARS[math.floor(ns.history[i] / most * 7) + 1]) end
  return (" "):rep(count - #bars) .. table.concat(bars)
end

local function life_of(now, ns)
  if ns.layout_end_ms == 0 then return "-" end
  local years = (ns.layout_end_ms - now.unix_ms) / state.YEAR_MS
  return (years < 100 and "%.1f y" or "%.0f y"):format(math.max(0, years))
end

-- Formats a number in short form: "4.1M".
local function short(n)
  for _, unit in ipairs { { 1e9, "G" }, { 1e6, "M" }, { 1e3, "k" } } do
    if n >= unit[1] * 0.9995 then
      local value = n / unit[1]
      return (value < 99.5 and "%.1f%s" or "%.0f%s"):format(value, unit[2])
    end
  end
  return n > 0 and ("%.0f"):format(n) or "-"
end

-- Formats how long ids continue without the store.  A short lease that is renewed all the time has no countdown.
local function lease_of(now, ns)
  if not ns.has_lease then return "none" end
  local left_ms = ns.lease_end_ms - now.unix_ms
  if ns.keeper == "" and left_ms > 0 and left_ms < STEADY_MS then return "<0:10" end
  return cli.left(left_ms)
end

local function clock_of(ns)
  if not state.is_off(ns) then return "steady" end
  return ("%s ms %s the uptime"):format(term.grouped(math.abs(ns.drift_ms)), ns.drift_ms > 0 and "ahead of" or "behind")
end

local function has_other_keeper(ns) return ns.keeper ~= "" and not ns.detail:find(ns.keeper, 1, true) end

local function draw_row(page, now, ns)
  local name_width, bar_count = widths(page, now)
  local is_ending = ns.layout_end_ms ~= 0 and ns.layout_end_ms - now.unix_ms < state.YEAR_MS
  local worker = ns.has_lease and ("%d"):format(ns.worker) or "-"
  local paint = not ns.is_ready and "red" or painted(ns.pauses_s > 0 or is_ending or ns.keeper ~= "", "yellow")
  page:line(paint, ("%s %11s %6s %s %7s %7s %7s %s"):format(pad(ns.name, name_width), many(ns.ids_s),
    short(ns.capacity), bars_of(ns, bar_count), worker, lease_of(now, ns), life_of(now, ns),
    ns.is_ready and "ready" or ns.why))
  if not ns.is_ready and ns.detail ~= "" then page:fact("red", "  reason", ns.detail) end
  if has_other_keeper(ns) then page:fact(ns.is_ready and "yellow" or nil, "  not renewed", ns.keeper) end
  if ns.pausing ~= "" then page:fact("yellow", "  pauses", ns.pausing) end
  if ns.warning ~= "" then page:fact("yellow", "  warning", ns.warning) end
  if state.is_off(ns) then page:fact("yellow", "  clock", clock_of(ns)) end
end

local function draw_sums(page, now)
  local ids_s, refused_s, ids, capacity = now.others.ids_s, now.others.refused_s, now.others.ids, 0
  local ready, count = now.others.count - now.others.unready, #now.namespaces + now.others.count
  for _, ns in ipairs(now.namespaces) do
    ids_s, refused_s, ids = ids_s + ns.ids_s, refused_s + ns.refused_s, ids + ns.ids
    capacity = capacity + ns.capacity
    if ns.is_ready then ready = ready + 1 end
  end
  page:fact(painted(ready < count, "red"), "ready", ("%d of %d namespaces"):format(ready, count))
  page:fact(nil, "ids", ("%s/s, capacity %s/s, %s since the start, %s/s rejected"):format(many(ids_s), short(capacity),
    term.grouped(ids), many(refused_s)))
end

local function duration(us)
  if us < 1000 then return ("%d us"):format(us) end
  return us < 1000000 and ("%g ms"):format(us / 1000) or ("%g s"):format(us / 1000000)
end

-- Returns the upper bound of the histogram bucket that contains a quantile, for example the median for part = 0.5.
local function within(now, part)
  local left = math.ceil(part * now.durations_all)
  for i, count in ipairs(now.durations) do
    left = left - count
    if left <= 0 and now.le_us[i] then return "within " .. duration(now.le_us[i]) end
  end
  return "longer than " .. duration(now.le_us[#now.le_us])
end

local function draw_latency(page, now)
  if #now.le_us == 0 then return end -- an older server
  page:fact(nil, "latency", now.durations_all > 0 and ("99 %% %s, half %s"):format(within(now, 0.99), within(now, 0.5))
    or "no request in the last 10 s")
end

local PAINT_OF_LEVEL = { error = "red", warn = "yellow" }

local function draw_recent(page, now)
  if #now.recent == 0 then return end
  page:line(nil, "")
  page:line("cyan", "EVENTS (UTC)")
  for _, event in ipairs(now.recent) do
    local at = iso(event.unix_ms)
    local is_today = at:sub(1, 10) == iso(now.unix_ms):sub(1, 10)
    page:fact(PAINT_OF_LEVEL[event.level], is_today and at:sub(12, 19) or at:sub(6, 10) .. " " .. at:sub(12, 19),
      (event.namespace ~= "" and event.namespace .. ": " or "") .. event.text)
  end
end

local function draw_answers(page, now)
  local parts, is_now = {}, false
  for i, code in ipairs(now.codes) do
    is_now = is_now or code.a_second > 0
    parts[i] = ("%s %s/s of %s"):format(code.name, many(code.a_second), term.grouped(code.count))
  end
  page:fact(nil, "replies", ("%s/s of %s"):format(many(now.answered_s), term.grouped(now.answered)))
  page:fact(painted(is_now, "yellow"), "rejected",
    #parts > 0 and table.concat(parts, ", ") or "none since the start")
end

local function draw_policy_line(page, now)
  local policies, differ = now.policies, 0
  for _, ns in ipairs(now.namespaces) do
    if ns.differs then differ = differ + 1 end
  end
  if policies then
    local is_wrong = policies.is_stuck or not policies.has_reloaded or policies.error ~= ""
    page:fact(painted(is_wrong, "yellow"), "policies", ("generation %d%s%s%s"):format(policies.generation,
      policies.is_stuck and ", a policy is stuck" or "",
      policies.has_reloaded and "" or ", the last reload failed",
      policies.error ~= "" and ": " .. policies.error or ""))
  end
  if differ > 0 then
    page:fact("yellow", "shadow policies", ("differed in %d namespace%s"):format(differ, differ == 1 and "" or "s"))
  end
end

local function draw_overview(page, seen)
  local now = seen.state
  local name_width, bar_count = widths(page, now)
  page:line("cyan", ("%s %11s %6s %s %7s %7s %7s %s"):format(pad("NAMESPACE", name_width), "IDS/S", "MAX/S",
    pad(bar_count < 12 and "SECONDS" or "LAST SECONDS", bar_count), "WORKER", "LEASE", "LIFE", "STATE"))
  page.scrolls = true
  for _, ns in ipairs(now.namespaces) do draw_row(page, now, ns) end
  if now.others.count ~= 0 then
    page:line(nil, ("and %d more, %d of them not ready"):format(now.others.count, now.others.unready))
  end
  page:line(nil, "")
  draw_sums(page, now)
  draw_latency(page, now)
  draw_answers(page, now)
  draw_policy_line(page, now)
  draw_recent(page, now)
end

---------------------------------------------------------------- namespaces, policies

local COUNTS_MAX = 64 -- maximum counts of one list

-- Formats the members of an object that are above 0: "full 12, lease 3".
local function counts_of(object)
  local parts = {}
  for _, value, name in json.each(object) do
    if number(value) > 0 and #parts < COUNTS_MAX then
      table.insert(parts, name:sub(1, 40) .. " " .. term.grouped(number(value)))
    end
  end
  return table.concat(parts, ", ")
end

local function lease_text(now, ns)
  local left_ms = ns.lease_end_ms - now.unix_ms
  if left_ms <= 0 then return ns.keeper == "" and "renewed with the next request" or "expired" end
  if ns.keeper == "" and left_ms < STEADY_MS then
    return "ids continue without the store for a few seconds"
      .. (ns.is_assigned and ", because the worker id is assigned" or "")
  end
  local minutes, seconds = left_ms // 60000, left_ms // 1000 % 60
  return "ids continue without the store for " .. (minutes >= 120 and term.span(left_ms)
    or minutes > 0 and ("%d min %02d s"):format(minutes, seconds) or ("%d s"):format(seconds))
end

local function draw_clocks(page, now, ns)
  local life_ms = ns.layout_end_ms - now.unix_ms
  if ns.has_lease then
    page:fact(nil, "  worker id", ("%d, %s"):format(ns.worker, ns.is_assigned and "assigned in the config" or "leased"))
    page:fact(painted(ns.keeper ~= "", "yellow"), "  lease", lease_text(now, ns))
  end
  if ns.has_drift then page:fact(painted(state.is_off(ns), "yellow"), "  clock", clock_of(ns)) end
  if ns.layout_end_ms ~= 0 then
    page:fact(painted(life_ms < state.YEAR_MS, "red"), "  layout ends", life_ms > 0
      and ("in %s, at %s"):format(term.span(life_ms), term.iso(ns.layout_end_ms))
      or "ended at " .. term.iso(ns.layout_end_ms))
  end
end

local function draw_shadow(page, now, ns)
  local shadow = get(ns.object, "shadow")
  if shadow == nil then return end
  local function count(name) return term.grouped(number(get(shadow, name))) end
  local function word(name, max) return text(get(shadow, name), max) end
  page:fact(painted(ns.differs, "yellow"), "  shadow policy", ("%s: agreed %s, differed %s, failed %s"):format(
    word "policy", count "agreed", count "differed", count "failed"))
  local last_ms = span(get(shadow, "last_unix_ms"))
  if last_ms == 0 then return end
  local done, why = word "done", word "why"
  page:fact(nil, "", ("%s, %s returned %s%s%s"):format(term.ago(last_ms, now.unix_ms), word("hook", 63), word "said",
    done ~= "" and ", in force was " .. done or "", why ~= "" and (" (%s)"):format(why) or ""))
end

local function draw_namespace(page, now, ns)
  page:line(painted(not ns.is_ready, "red"), ns.name .. (ns.is_ready and ": ready" or ": no ids"))
  if not ns.is_ready then page:fact("red", "  reason", ns.why .. ": " .. ns.detail) end
  page:fact(nil, "  ids", ("%s/s, %s since the start"):format(many(ns.ids_s), term.grouped(ns.ids)))
  if ns.capacity > 0 then page:fact(nil, "  capacity", ("%s/s"):format(term.grouped(ns.capacity))) end
  page:fact(painted(ns.refused_s > 0, "yellow"), "  rejected",
    ("%s/s of %s"):format(many(ns.refused_s), term.grouped(ns.refused)))
  local pauses = counts_of(get(ns.object, "pauses"))
  if pauses ~= "" then page:fact(painted(ns.pauses_s > 0, "yellow"), "  pauses", pauses) end
  draw_clocks(page, now, ns)
  local layout = text(get(ns.object, "layout"), 511)
  if layout ~= "" then page:fact(nil, "  layout", layout) end
  if has_other_keeper(ns) then page:fact("yellow", "  not renewed", ns.keeper) end
  draw_shadow(page, now, ns)
  if ns.warning ~= "" then page:fact("yellow", "  warning", ns.warning) end
end

local function draw_namespaces(page, seen)
  page.scrolls = true
  for i, ns in ipairs(seen.state.namespaces) do
    if i > 1 then page:line(nil, "") end
    draw_namespace(page, seen.state, ns)
  end
end

local function draw_calls(page, calls)
  local hooks = 0
  for _, value, name in json.each(calls) do
    local counts = counts_of(value)
    if counts ~= "" and hooks < COUNTS_MAX then
      hooks = hooks + 1
      page:fact(nil, "  " .. name:sub(1, 40), counts)
    end
  end
  if hooks == 0 then page:fact(nil, "  calls", "none yet") end
end

local function draw_policies(page, seen)
  local now, policies = seen.state, seen.state.policies
  page.scrolls = true
  page:line("cyan", "POLICIES")
  if policies then
    page:fact(nil, "  generation", ("%d"):format(policies.generation))
    page:fact(painted(policies.is_stuck, "red"), "  stuck",
      policies.is_stuck and "yes: a policy does not return" or "no")
    page:fact(painted(not policies.has_reloaded, "red"), "  last reload",
      (policies.has_reloaded and "succeeded at %s" or "failed. The last that succeeded was at %s"):format(
        iso(span(get(policies.object, "reload_unix_ms")))))
    draw_calls(page, get(policies.object, "calls"))
    if policies.error ~= "" then
      page:fact("red", "  last error", ("%s (%s)"):format(policies.error,
        term.ago(span(get(policies.object, "last_error_unix_ms")), now.unix_ms)))
    end
  else
    page:line(nil, "  this server has no policies")
  end
  page:line(nil, "")
  local format = "%-20s %10s %15s"
  page:line("cyan", format:format("REPLIES", "PER SECOND", "SINCE THE START"))
  page:line(nil, format:format("  ok", many(now.answered_s), term.grouped(now.answered)))
  for _, code in ipairs(now.codes) do
    page:line(painted(code.a_second > 0, "yellow"),
      format:format("  " .. code.name, many(code.a_second), term.grouped(code.count)))
  end
end

---------------------------------------------------------------- workers

-- Formats how long ago a holder renewed its lease, by the store's clock.
local function renewed_of(seen, worker)
  local written_ms = get(worker, "written_ms")
  if written_ms == nil then return "-" end
  local since_ms = span(get(seen.said, "store_ms")) - span(written_ms)
  return cli.left(since_ms + seen.state.unix_ms - span(get(seen.said, "read_unix_ms")))
end

local function draw_worker(page, seen, worker)
  local clock_ms, lease, holder = get(worker, "clock_ms"), text(get(worker, "state"), 15), text(get(worker, "holder"))
  page:line(nil, ("%7s  %-8s %11s %11s  %s  %s"):format(
    text(get(worker, "worker"), 23), lease, renewed_of(seen, worker),
    clock_ms ~= nil and ("%+.3f s"):format(span(clock_ms) / 1000) or "-", holder ~= "" and holder or "-",
    text(get(worker, "identity"))))
end

local function draw_standing(page, seen)
  local said = seen.said
  local name, as, trouble = text(get(said, "namespace"), 64), text(get(said, "leased_as"), 64),
    text(get(said, "error"), 511)
  local read_ms = span(get(said, "read_unix_ms"))
  local function count(what) return term.grouped(span(get(said, what))) end
  if get(said, "held") ~= nil then
    page:line(nil, ("%s%s: %s held, %s expired, %s free. Read %s"):format(name,
      as ~= "" and ", leased as " .. as or "", count "held", count "expired", count "free",
      seen.state.unix_ms - read_ms < 1500 and "just now" or term.ago(read_ms, seen.state.unix_ms)))
  else
    page:line(nil, name .. ": the store is not read yet")
  end
  if trouble ~= "" then page:fact("red", "", trouble) end
end

local function draw_workers(page, seen)
  local said = seen.said
  if #seen.state.namespaces == 0 then return page:line(nil, "this server has no namespaces") end
  if not draw_answer(page, seen, 1000) then return end
  draw_standing(page, seen)
  if span(get(said, "held")) + span(get(said, "expired")) + span(get(said, "free")) == 0 then return end
  page:line("cyan", ("%7s  %-8s %11s %11s  %s"):format("WORKER", "STATE", "RENEWED AGO", "CLOCK",
    "HOLDER, IDENTITY"))
  page.scrolls = true
  for _, worker in json.each(get(said, "workers")) do draw_worker(page, seen, worker) end
  local more = span(get(said, "more"))
  if more > 0 then page:line(nil, ("and %s more: vesta workers lists them all"):format(term.grouped(more))) end
end

---------------------------------------------------------------- segments

local TAG_MIN, TAG_MAX, TAG_UNLESS_KNOWN = 18, 65, 40
local TAG_FORMAT = "%s %-6s %13s %11s %11s %8s %7s"

local function tag_width(page)
  return page.columns == 0 and TAG_UNLESS_KNOWN or math.min(TAG_MIN + math.max(0, page.columns - 80), TAG_MAX)
end

local function draw_tag(page, tag)
  local order = text(get(tag, "order"), 15)
  local has_buffers = order == "trend" -- the other orders keep nothing in memory
  local is_out = has_buffers and span(get(tag, "count")) > 0 and span(get(tag, "left")) == 0
    and span(get(tag, "next_left")) == 0
  local function count(name, is_shown)
    local value = get(tag, name)
    return is_shown and value ~= nil and term.grouped(number(value)) or "-"
  end
  page:line(painted(is_out, "yellow"), TAG_FORMAT:format(pad(text(get(tag, "tag"), 64), tag_width(page)),
    order:sub(1, 6), count("given", true), count("left", has_buffers), count("next_left", has_buffers),
    count("per_s", has_buffers), count("pauses", true)))
  local warning = text(get(tag, "warning"), 511)
  if warning ~= "" then page:fact("yellow", "  warning", warning) end
  for i, database in json.each(get(tag, "databases")) do
    local trouble = text(get(database, "trouble"), 511)
    if trouble ~= "" and i <= 16 then
      page:fact("red", "  trouble", ("%s: %s"):format(text(get(database, "store"), 63), trouble))
    end
  end
end

local function draw_segments(page, seen)
  local said = seen.said
  if not draw_answer(page, seen, 1000) then return end
  local unread, next_tag, count = span(get(said, "unread")), text(get(said, "next"), 511), 0
  if unread > 0 then
    page:fact("red", "not read", ("%d tables: %s"):format(unread, text(get(said, "unread_why"), 511)))
  end
  if seen.after ~= "" then page:line(nil, "tags after " .. seen.after) end
  page:line("cyan", TAG_FORMAT:format(pad("TAG", tag_width(page)), "ORDER", "ISSUED", "LEFT", "NEXT RANGE",
    "/SECOND", "PAUSES"))
  page.scrolls = true
  for i, tag in json.each(get(said, "segments")) do
    count = i
    draw_tag(page, tag)
  end
  if count == 0 then page:line(nil, "this server has no tags") end
  if next_tag ~= "" then page:line(nil, "more tags follow after " .. next_tag) end
end

---------------------------------------------------------------- hour

local STEPS_MAX = 360
local HIGH_MIN, HIGH_MAX, HIGH = 3, 8, 6 -- rows of a chart: minimum, maximum, and the default without a terminal
local SCALE = 12                         -- columns of the numbers left of a chart

-- Returns the steps of a chart, each a rate or a negative number if the rate is unknown.  Returns nil if all are
-- unknown.
local function read_steps(row, step_ms)
  local steps, most, now = {}, -1, nil
  for i, value in json.each(row) do
    if i > STEPS_MAX then break end
    steps[i] = value == json.null and -1 or number(value) * 1000.0 / step_ms
    if steps[i] >= 0 then now = steps[i] end
    most = math.max(most, steps[i])
  end
  return now and steps, now, most
end

-- Joins steps into columns.  Each column is the mean of the same number of steps.  The newest column is the last.
local function fold(steps, columns)
  local a_column = STEPS_MAX // (columns < 60 and 30 or columns < 120 and 60 or 120)
  local means, most = {}, 0
  for first = 1, #steps, a_column do
    local sum, known = 0, 0
    for i = first, math.min(first + a_column - 1, #steps) do
      if steps[i] >= 0 then sum, known = sum + steps[i], known + 1 end
    end
    table.insert(means, known > 0 and sum / known or -1)
    most = math.max(most, means[#means])
  end
  return means, most, a_column
end

-- Draws a row of the chart.  The height of its blocks is a multiple of an eighth of a row.  Row 0 is the lowest.
local function chart_row(means, most, row, high)
  local blocks = {}
  for i, mean in ipairs(means) do
    local part = (most > 0 and mean / most * 8 * high or 0) - 8 * row
    local eighth = math.floor(math.max(0, math.min(8, part)))
    if row == 0 and mean > 0 and eighth == 0 then eighth = 1 end
    blocks[i] = mean < 0 and " " or eighth > 0 and BARS[eighth] or row == 0 and "_" or " "
  end
  local scale = row == high - 1 and most > 0 and many(most) or row == 0 and "0" or ""
  local text_of_row = table.concat(blocks):gsub(" +$", "")
  return ("%11s %s"):format(scale, text_of_row)
end

local function hour_text(unix_ms) return iso(unix_ms):sub(12, 16) end

local function half(n) return math.abs(n) // 2 end

local function draw_chart(page, seen, title, row, high)
  local step_ms = span(get(seen.said, "step_ms"))
  if step_ms < 1 or step_ms > 1000000 then step_ms = 10000 end
  local steps, now, most = read_steps(get(seen.said, row), step_ms)
  if not steps then return page:line("cyan", title .. ": no data yet, the first comes after 20 s") end
  local columns = page.columns == 0 and 60 or math.max(0, page.columns - SCALE)
  local means, most_mean, a_column = fold(steps, columns)
  page:line("cyan", ("%s: now %s, at most %s"):format(title, many(now), many(most)))
  for i = high - 1, 0, -1 do page:line(nil, chart_row(means, most_mean, i, high)) end
  local until_ms = span(get(seen.said, "until_unix_ms"))
  local first, last = hour_text(until_ms - #steps * step_ms), hour_text(until_ms) .. " UTC"
  local gap, mean = #means - #first - #last, ("each column is %d s"):format(a_column * step_ms // 1000)
  local middle = gap > 30 and mean or ""
  page:line(nil, (" "):rep(SCALE) .. first .. (" "):rep(half(gap + #mean) - #middle) .. middle
    .. (" "):rep(half(gap - #mean)) .. last)
end

local function draw_hour(page, seen)
  local room = page.rows == math.huge and 2 * HIGH + 6 or page.rows - page.used
  local high = room > 2 * HIGH_MAX + 6 and HIGH_MAX or room > 2 * HIGH_MIN + 6 and (room - 6) // 2 or HIGH_MIN
  if not draw_answer(page, seen, 10000) then return end
  page.scrolls = true
  page:line(nil, seen.of ~= "" and "namespace " .. seen.of or "all namespaces and tags")
  draw_chart(page, seen, "ids per second", "ids", high)
  page:line(nil, "")
  draw_chart(page, seen, "rejected requests per second", "refused", high)
end

return {
  { name = "overview", about = "a line for each namespace, latency, replies, events", draw = draw_overview },
  { name = "namespaces", about = "pauses, lease, clock, layout, shadow policy of each", draw = draw_namespaces },
  { name = "workers", about = "holders of worker ids, read from the store", path = "/admin/workers",
    every_ms = 1000, picks = "namespace", draw = draw_workers },
  { name = "segments", about = "tags and their ranges", path = "/v1/segments", every_ms = 1000, picks = "page",
    draw = draw_segments },
  { name = "policies", about = "calls of policies, replies since the start", draw = draw_policies },
  { name = "hour", about = "ids and rejected requests in the last hour", path = "/admin/history", every_ms = 10000,
    picks = "all", draw = draw_hour },
}
