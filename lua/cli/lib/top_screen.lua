--- top_screen.lua -- the head, tabs and foot around the views of `vesta top`, and the keys of a terminal.
local json = require "cli.lib.json"
local lines = require "cli.lib.lines"
local screen = require "screen"
local term = require "term"
local views = require "cli.lib.top_views"

local STALE_MS = 3000 -- a state is stale after this time, because an event arrives each second

local top_screen = {}

---------------------------------------------------------------- keys

local SEQUENCES = { A = "up", B = "down", C = "right", D = "left", ["5~"] = "page up", ["6~"] = "page down", H = "home",
  F = "end", ["1~"] = "home", ["4~"] = "end", Z = "back tab" }

--- Iterates over the keys in typed bytes: a letter, a name of SEQUENCES, "tab", or "other".
function top_screen.keys(typed)
  return function()
    if typed == "" then return nil end
    local sequence = typed:match "^\27[%[O]([%d;]*.?)"
    if sequence and #typed > 2 then
      typed = typed:sub(3 + #sequence)
      return SEQUENCES[sequence] or "other"
    end
    local key = typed:sub(1, 1)
    typed = typed:sub(2)
    return key == "\t" and "tab" or key
  end
end

---------------------------------------------------------------- parts

local function iso(unix_ms) return term.iso(unix_ms - unix_ms % 1000) end

local function draw_head(page, frame)
  local now = frame.seen.state
  local ahead_ms = now.unix_ms - now.seen_ms
  page:line(nil, ("vesta top  %s%s  %s pid %d, up %s"):format(now.server ~= "" and now.server .. "  " or "",
    frame.address, now.version, now.pid, term.span(now.uptime_s * 1000)))
  page:line(nil, ("%s, %d ms %s this clock   connections %d   waiting %d"):format(iso(now.unix_ms),
    math.abs(ahead_ms), ahead_ms < 0 and "behind" or "ahead of", now.connections, now.waiting))
  if frame.polls then page:line(nil, "the server offers no event stream, so top requests the state each second") end
  if now.is_draining then page:line("yellow", "draining: the server answers requests in flight, then exits") end
end

local function draw_age(page, frame)
  local now, trouble = frame.seen.state, frame.trouble
  if not now.is_known then
    return page:line("yellow", ("vesta top  %s: no data yet: %s"):format(frame.address,
      trouble ~= "" and trouble or "connecting"))
  end
  local old_ms = frame.seen.now_ms - now.seen_ms
  if trouble == "" and old_ms <= STALE_MS then return end
  page:line("red", ("STALE: the state of %s, %d s old. Retrying each second"):format(iso(now.seen_ms), old_ms // 1000))
  page:fact("red", "", trouble ~= "" and trouble or "the server sends nothing")
end

local function draw_tabs(page, shown)
  local tabs = ""
  for i, view in ipairs(views) do
    tabs = tabs .. ((i == shown and "[%d %s] " or " %d %s  "):format(i, view.name))
  end
  page:line(nil, tabs)
end

local KEYS = [[
  Tab, right     next view (Shift-Tab, left: previous view)
  up, down       scroll (also PgUp, PgDn, Home, End)
  n, p           next or previous namespace, or page of tags
  r              reload policies and tag tables, after you confirm
  d              drain and stop the server, after you confirm
  q, Ctrl-C      quit top, not the server

To decode an id, use vesta explain.  Any key closes this help.
]]

local function draw_help(page)
  page:line(nil, "")
  page:line("cyan", "VIEWS")
  for i, view in ipairs(views) do page:line(nil, ("  %d  %-12s %s"):format(i, view.name, view.about)) end
  page:line(nil, "")
  page:line("cyan", "KEYS")
  for line in KEYS:gmatch "([^\n]*)\n" do page:line(nil, line) end
end

local PICKS = { namespace = "  n next namespace", all = "  n next namespace", page = "  n next page" }

local function draw_foot(page, frame, room)
  local foot = lines.new { columns = page.columns, rows = 1, is_screen = true }
  if frame.foot ~= "" then
    foot:line("yellow", frame.foot)
    return foot:print()
  end
  local picks, where = views[frame.view].picks, ""
  local has_page = frame.seen.after ~= "" or json.get(frame.seen.said, "next") ~= nil
  local has_pick = not frame.helps and picks and (picks ~= "page" or has_page)
  if page.count > room and not frame.helps then
    where = ("  lines %d-%d of %d"):format(page.skipped + 1, math.min(page.skipped + room, page.count), page.count)
  end
  foot:line(nil, "q ends  ? help  Tab next view" .. (has_pick and PICKS[picks] or "") .. where)
  foot:print()
end

---------------------------------------------------------------- the whole

local function draw_page(page, frame)
  local is_known = frame.seen.state.is_known
  if not frame.goes_on then draw_age(page, frame) end
  if is_known and not frame.goes_on then draw_head(page, frame) end
  if is_known and page.is_screen then
    draw_tabs(page, not frame.helps and frame.view)
  elseif is_known then
    page:line(nil, "")
  end
  if frame.helps then
    draw_help(page)
  elseif is_known then
    views[frame.view].draw(page, frame.seen)
  end
  return page
end

--- Prints a frame as lines.  A frame has seen (top_views.lua), view (its index), address, trouble, polls, goes_on (true
-- if the head was already printed), helps (true if the help is shown), foot (a message for the last line) and scroll.
function top_screen.print(frame)
  draw_page(lines.new { columns = term.columns(), rows = math.huge }, frame):print()
  term.flush()
end

--- Draws a frame over the screen.  Returns how many lines are skipped, which is frame.scroll or the maximum.
function top_screen.draw(frame)
  local rows, skipped = math.max(1, screen.rows() - 2), frame.scroll
  local function try()
    local columns = term.columns()
    return draw_page(lines.new { columns = columns, rows = rows, is_screen = true, skipped = skipped }, frame)
  end
  local page = try()
  local room = rows - page.fixed
  local most = math.max(0, page.count - room)
  if skipped > most then
    skipped = most
    page = try()
  end
  term.out "\27[H"
  page:print()
  term.out "\27[J"
  draw_foot(page, frame, room)
  term.flush()
  return skipped
end

return top_screen
