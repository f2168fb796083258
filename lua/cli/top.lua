--- top.lua -- `vesta top`: shows the state of a server, which its admin listener sends as events.
local admin = require "cli.lib.admin"
local cli = require "cli.lib.cli"
local feed = require "cli.lib.feed"
local json = require "cli.lib.json"
local screen = require "screen"
local secure = require "cli.lib.secure"
local state = require "cli.lib.top_state"
local term = require "term"
local top_screen = require "cli.lib.top_screen"
local views = require "cli.lib.top_views"
local wire = require "wire"

local ONCE_MS = 5000          -- --once waits at most this long for two events, which a rate needs, or for a response
local SAID_MS = 5000          -- how long the last line shows the result of an action
local AFTER_TROUBLE_MS = 5000 -- pause after a failed request
local PAGE_LINES = 10         -- lines that PgDn scrolls
local PAGES_MAX = 1000        -- maximum pages of tags

local ACTIONS = {
  r = { request = "POST /admin/reload", done = "the server reloads",
    question = "Reload policies and tag tables?  y: yes, any other key: no" },
  d = { request = "POST /admin/drain", done = "the server drains",
    question = "Drain: answer requests in flight, and STOP the server?  y: yes, any other key: no" },
}

---------------------------------------------------------------- the current view

-- A view polls a route of the admin listener:
--     place       its index in top_views.lua
--     question    the request in flight (feed.lua)
--     said_text   the body of the newest response, and `said` its JSON value
--     of          the chosen namespace, or ""
--     after       the tag before the page that is shown, or ""
local View = {}
View.__index = View

local function new_view(place)
  return setmetatable({ place = place, question = feed.question(), of = "", after = "", scroll = 0, next_ms = 0,
    trouble = "" }, View)
end

function View:row() return views[self.place] end

function View:forget()
  self.question:finish ""
  self.said, self.said_text, self.is_asked, self.trouble = nil, nil, false, ""
  self.next_ms, self.scroll = 0, 0
end

function View:turn_to(place)
  if place == self.place then return end
  self:forget()
  self.place, self.after = place, ""
end

local function place_of(name, now)
  for i, ns in ipairs(now.namespaces) do
    if ns.name == name then return i end
  end
  return 0
end

-- Returns the name of the namespace to show, or "" for all namespaces or none.
function View:subject(now)
  local picks, place = self:row().picks, place_of(self.of, now)
  if picks ~= "namespace" and picks ~= "all" then return "" end
  if place == 0 and picks == "namespace" then place = 1 end
  return now.namespaces[place] and now.namespaces[place].name or ""
end

-- Chooses the next namespace (step 1) or the previous one (-1).  A view of tags goes to its next page (1) or its first.
function View:pick(now, step)
  local picks, count = self:row().picks, #now.namespaces
  if picks == "page" then
    self.after = step > 0 and json.text(json.get(self.said, "next"), 64) or ""
  elseif picks and count > 0 then
    local first = picks == "all" and 0 or 1 -- index 0 stands for all namespaces
    local place = math.max(first, place_of(self.of, now)) + step
    place = place < first and count or place > count and first or place
    self.of = place > 0 and now.namespaces[place].name or ""
  end
  if picks then self:forget() end
end

-- Escapes a name for a URL, because a server may send any bytes as a name.
local function escaped(name)
  return (name:gsub("[^%w_.-]", function(byte) return ("%%%02X"):format(byte:byte()) end))
end

function View:ask(server, now)
  local row, is_page = self:row(), self:row().picks == "page"
  local name = escaped(is_page and self.after or self:subject(now))
  local query = name ~= "" and (is_page and "?after=" or "?ns=") .. name or ""
  self.question:ask(server, "GET " .. row.path .. query)
  self.is_asked, self.next_ms = true, wire.clock_ms() + row.every_ms
end

-- Reads the response to the view's request.  Sends the next request if it is due and `server` is not nil.  Returns true
-- if a response or an error arrived.  The last response stays valid until a newer one arrives.
function View:step(server, now)
  if not self:row().path or not now.is_known then return false end
  if not self.is_asked and server and wire.clock_ms() >= self.next_ms then self:ask(server, now) end
  if not self.is_asked or not self.question:read() then return false end
  self.is_asked, self.trouble = false, self.question.trouble
  if self.trouble ~= "" then
    self.next_ms = wire.clock_ms() + AFTER_TROUBLE_MS
  else
    self.said_text = self.question.body
    self.said, self.said_ms = json.read(self.said_text), term.now_ms()
    if self.said_text ~= "" and self.said == nil then self.said = json.null end
  end
  return true
end

function View:seen(now)
  return { state = now, said = self.said, said_ms = self.said_ms, trouble = self.trouble, of = self:subject(now),
    after = self.after, now_ms = term.now_ms() }
end

---------------------------------------------------------------- the server

local Top = {}
Top.__index = Top

-- Reads the stream.  Returns true if an event arrived.
function Top:take_event()
  self.stream:connect()
  local event = self.stream:read()
  if not event then return false end
  local pid = self.state.pid
  self.state = state.take(self.state, event, term.now_ms())
  if self.state.pid ~= pid then self.view.next_ms = 0 end -- a new server may have a route that the old one lacked
  self.events = self.events + 1
  return true
end

function Top:frame(goes_on)
  local is_said = wire.clock_ms() < self.foot_until_ms
  return { seen = self.view:seen(self.state), view = self.view.place, address = self.server.address,
    trouble = self.stream.trouble, polls = self.stream.polls, goes_on = goes_on, helps = self.helps,
    foot = self.asks and self.asks.question or is_said and self.foot or "", scroll = self.view.scroll }
end

-- Waits until bytes arrive, a key is pressed or `ms` has passed.  Returns false if a signal ends the command.
function Top:wait(has_keys, ms)
  local connections = { self.stream:connection(), self.view.question:connection(), self.action:connection() }
  return wire.wait(connections, has_keys, ms)
end

function Top:fail(trouble) admin.fail(self.server, trouble) end

---------------------------------------------------------------- once

function Top:wait_for_events()
  local until_ms, wanted = wire.clock_ms() + ONCE_MS, self.json and 1 or 2
  while self.events < wanted and not self.stream.is_refused and wire.clock_ms() < until_ms and not wire.interrupted() do
    if not self:take_event() then
      if not self.stream.answer and self.stream.trouble ~= "" then break end
      if not self:wait(false, 200) then break end
    end
  end
  if self.events == 0 then
    self:fail(self.stream.trouble ~= "" and self.stream.trouble or "no event came within 5 s")
  end
end

-- Returns whether the response is complete.  The first request for workers makes the server read the store, and only a
-- later response contains the result.
function Top:is_read()
  local said = self.view.said
  return self.view:row().name ~= "workers" or json.get(said, "held") ~= nil or json.get(said, "read_unix_ms") ~= nil
end

function Top:wait_for_answer()
  local until_ms = wire.clock_ms() + ONCE_MS
  while wire.clock_ms() < until_ms do
    self:take_event()
    if self.view:step(self.server, self.state) and (self.view.trouble ~= "" or self:is_read()) then return end
    if not self:wait(false, 100) then return end
  end
end

-- Returns whether the view continues with another namespace or page of tags.  `done`: how many were printed.
function Top:has_another(done)
  local picks = self.view:row().picks
  if self.view.trouble ~= "" or wire.interrupted() then return false end
  if picks == "page" then return json.get(self.view.said, "next") ~= nil and done < PAGES_MAX end
  return picks == "namespace" and done < #self.state.namespaces
end

function Top:print_answers()
  local code, done = 0, 0
  repeat
    if done > 0 then self.view:pick(self.state, 1) end
    self:wait_for_answer()
    if self.view.trouble ~= "" then code = 1 end
    if self.json and code ~= 0 then self:fail(self.view.trouble) end
    if self.json then
      cli.printf("%s\n", (self.view.said_text or ""):match "^[^\n]*")
    else
      top_screen.print(self:frame(done > 0))
    end
    done = done + 1
  until not self:has_another(done)
  return code
end

function Top:look_once()
  self:wait_for_events()
  if self.view:row().path then return self:print_answers() end
  if not self.json then return top_screen.print(self:frame(false)) end
  cli.printf("%s\n", self.state.event)
end

---------------------------------------------------------------- at a terminal

function Top:say_below(text)
  self.foot, self.foot_until_ms = text, wire.clock_ms() + SAID_MS
end

function Top:answer_question(key)
  if key == "y" or key == "Y" then
    self.acts = self.asks
    self.action:ask(self.server, self.acts.request)
  end
  self.asks = nil
end

function Top:read_action()
  if not self.acts or not self.action:read() then return end
  self:say_below(self.action.trouble ~= "" and self.action.trouble or self.acts.done)
  self.acts = nil
end

local SCROLLS = { down = 1, up = -1, ["page down"] = PAGE_LINES, ["page up"] = -PAGE_LINES, home = -(1 << 40),
  ["end"] = 1 << 40 }

-- Handles a key.  Returns false if the key ends the command.
function Top:take_key(key)
  local view = self.view
  if key == "q" or key == "Q" or key == "\4" then return false end
  if self.asks then
    self:answer_question(key)
  elseif self.helps then
    self.helps = false
  elseif key == "?" or key == "h" then
    self.helps = true
  elseif key:match "^%d$" and views[tonumber(key)] then
    view:turn_to(tonumber(key))
  elseif key == "tab" or key == "right" then
    view:turn_to(view.place % #views + 1)
  elseif key == "back tab" or key == "left" then
    view:turn_to((view.place - 2) % #views + 1)
  elseif key == "n" or key == "p" then
    view:pick(self.state, key == "n" and 1 or -1)
  elseif SCROLLS[key] then
    view.scroll = math.max(0, view.scroll + SCROLLS[key])
  elseif ACTIONS[key] and not self.acts then
    self.asks = ACTIONS[key]
  end
  return true
end

-- Handles the keys that were typed.  Returns false if the command ends.
function Top:take_keys()
  local typed = screen.keys()
  if not typed then return false end
  for key in top_screen.keys(typed) do
    if not self:take_key(key) then return false end
  end
  return true
end

function Top:watch()
  local has_keys = screen.has_keys()
  local has_key, goes_on = false
  local shown <close> = screen.open() -- luacheck: ignore 211
  repeat
    if has_key and not self:take_keys() then return end
    self:take_event()
    if self.stream.is_refused then return end
    local is_there = self.stream.answer or self.stream.polls -- no requests to an unreachable server
    self.view:step(is_there and self.server or nil, self.state)
    self:read_action()
    self.view.scroll = top_screen.draw(self:frame(false))
    if screen.is_gone() then return end
    goes_on, has_key = self:wait(has_keys, 1000)
  until not goes_on
end

---------------------------------------------------------------- the command

local function place_of_view(name)
  for i, view in ipairs(views) do
    if view.name == name then return i end
  end
  return 1
end

local function run(options, operands)
  local server, code = admin.find(options, operands)
  if not server then return code end
  wire.catch_signals()
  local top = setmetatable({ server = server, stream = feed.stream(server), state = state.none(), events = 0,
    view = new_view(place_of_view(options.view)), action = feed.question(), json = options.json, foot = "",
    foot_until_ms = 0, helps = false }, Top)
  if options.once or options.json or not screen.is_shown() then return top:look_once() end
  top:watch()
  if top.stream.is_refused then top:fail(top.stream.trouble) end
end

return {
  order = 150,
  line = "watch a server: ids, latency, leases, events",
  usage = "top [--admin ADDR | -c FILE] [OPTION...]",
  about = [[
Shows the state of a server, read from its admin listener each second.  Keys 1
to 6 select a view:

  1 overview    ids per second and capacity (MAX/S) of each namespace, worker
                ids, how long ids continue without the store (LEASE), how long
                the layout lasts (LIFE), latency, replies, recent events
  2 namespaces  all values of each namespace
  3 workers     the holders of worker ids, read from the store
  4 segments    tags and their ranges
  5 policies    calls to policies, and replies by code
  6 hour        ids and rejected requests in the last hour

Namespaces that cannot issue ids come first.  All times are UTC.  Press ? for
a list of the keys, and q to quit.  r reloads the server and d drains it, after
you confirm.  If the server is unreachable, top retries, and shows the age of
the state.

  $ vesta top --admin unix:/run/vesta/admin.sock
  vesta top  ids1  unix:/run/vesta/admin.sock  0.2.0 pid 812, up 3 days
  ...
  NAMESPACE             IDS/S  MAX/S SECONDS    WORKER   LEASE    LIFE STATE
  orders               12,345   1.0M ▁▂▃▄▅▆▇█▅      7    9:58  22.1 y ready
  ...

  $ vesta top -c /etc/vesta/vesta.lua --once --view workers
  ...
  orders: 3 held, 0 expired, 0 free. Read 2 seconds ago
  ...
]],
  options = cli.rows {
    admin.OPTIONS,
    { name = "once", kind = "switch", help = "print one view and exit (default if stdout is not a terminal)" },
    admin.EFFECTIVE,
    { name = "json", kind = "switch", help = "print the data of one view as the server sent it" },
    { name = "view", kind = "choice", value = "overview|namespaces|workers|segments|policies|hour",
      help = "the first view (default: overview)" },
    secure.OPTIONS,
  },
  run = run,
}
