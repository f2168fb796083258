--- fill.lua -- `vesta fill`: keeps the length of a Redis list between two marks by pushing new ids.
-- If Redis does not reply to a push, the ids may or may not be in the list, so they are never pushed again.
local cli = require "cli.lib.cli"
local fill_list = require "cli.lib.fill_list"
local redis = require "redis"
local secure = require "cli.lib.secure"
local source = require "source"
local term = require "term"
local where = require "where"
local wire = require "wire"

local ADDRESS = "127.0.0.1:6379"
local MARK_MAX = 100000000
local NAME_MAX = 512
local PUSH_MIN = 100        -- minimum ids per RPUSH, small because a push without a reply discards its ids
local PUSH_MAX = 5000
local PUSHES_A_SECOND = 20  -- pushes grow to keep to at most this many per second
local LOOK_MS_MIN, LOOK_MS_MAX = 5, 200
local ID_WAIT_MS = 100
local QUIET_MS = 2000       -- a longer wait for ids is reported
local ONCE_MS = 5000        -- --once fails after this time without a push
local EMPTY_SAID_MS = 60000

local Fill = {}
Fill.__index = Fill

---------------------------------------------------------------- messages

local function say(format, ...) term.say(format:format(...)) end

local function grouped(count) return cli.grouped(("%d"):format(count)) end

function Fill:print_counts()
  local length = math.max(self.length, 0)
  if self.json then
    cli.json(cli.object { { "list", length }, { "pushed", self.pushed }, { "popped_s", cli.raw("%.1f", self.rate) },
      { "burnt", self.burnt }, { "cleared", self.list.cleared }, { "well", self.trouble == "" } })
  else
    say("%s ids in the list, %s pushed, %.0f popped a second, %s burnt", grouped(length), grouped(self.pushed),
      self.rate, grouped(self.burnt))
  end
  term.flush()
end

function Fill:print_counts_if_due()
  local now_ms = wire.clock_ms()
  if self.every_ms == 0 or now_ms - self.said_ms < self.every_ms then return end
  self.said_ms = now_ms
  self:print_counts()
end

-- Reports a problem once, even if it lasts.
function Fill:say_trouble(text)
  if self.trouble == text then return end
  self.trouble = text
  say("%s", text)
end

function Fill:say_well()
  if self.trouble ~= "" then say("resumed: the list has %d ids", self.length) end
  self.trouble, self.troubles = "", 0
end

-- Reports that Redis did not execute a command, and closes the connection.  The next call of look reconnects.
function Fill:take_outcome(outcome, text)
  local remedy = outcome == "refused" and fill_list.remedy(text) or secure.remedy(text, self.tls)
  self:say_trouble((outcome == "refused" and "%s rejected a command: %s%s" or "%s: %s%s"):format(self.address,
    term.shown(text),
    remedy and ": " .. remedy or ""))
  self.list:close()
  self.troubles = self.troubles + 1
end

---------------------------------------------------------------- ids

-- Fills self.ids.  Returns whether there are ids.  Reports a lack of ids that lasts QUIET_MS.
function Fill:take_ids(count)
  if self.ids then return true end -- Redis rejected the push of these ids, so they can be pushed again
  local why
  self.ids, why = self.source:take(count, ID_WAIT_MS, self.format)
  if self.ids then return true end
  if wire.clock_ms() - self.pushed_ms >= QUIET_MS then self:say_trouble("no ids: " .. why) end
  return false
end

function Fill:push_ids()
  local count = #self.ids
  local outcome, length = self.list:push(self.ids)
  if outcome == "ok" then
    self.popped = self.popped + math.max(self.length + count - length, 0)
    self.length, self.pushed, self.pushed_ms, self.ids = length, self.pushed + count, wire.clock_ms(), nil
    return true
  end
  local did_nothing = outcome == "down" or outcome == "refused" and fill_list.remedy(length)
  if not did_nothing then -- Redis may still execute the push
    say("%d ids are burnt, because it is unknown whether %s has them", count, self.address)
    self.burnt, self.ids = self.burnt + count, nil
  end
  self:take_outcome(outcome, length)
  return false
end

---------------------------------------------------------------- rounds

-- Measures how many ids are popped per second, from the ids that disappeared since the last reading of the length.
function Fill:measure(length)
  local now_ms = wire.clock_ms()
  local span_ms = now_ms - self.look_ms
  if self.length > length then self.popped = self.popped + self.length - length end
  if self.length >= 0 and span_ms > 0 then self.rate = 0.7 * self.rate + 0.3 * self.popped * 1000 / span_ms end
  if length == 0 and self.was_full and (not self.empty_ms or now_ms - self.empty_ms > EMPTY_SAID_MS) then
    say("the list is empty, because it was flushed or lost, or ids are popped faster than they are pushed. Filling it "
      .. "again with new ids")
    self.empty_ms = now_ms
  end
  self.look_ms, self.popped, self.length = now_ms, 0, length
end

function Fill:look()
  local cleared = self.list.cleared
  local outcome, length = self.list:look()
  if outcome ~= "ok" then
    self:take_outcome(outcome, length)
    return false
  end
  cleared = self.list.cleared - cleared
  if cleared > 0 then
    say("%s was restarted, replaced, or a replica until now: removed %d ids from the list, because they may have been "
      .. "popped before", self.address, cleared)
  end
  self:measure(length)
  return true
end

function Fill:push_size()
  local size = math.min(math.max(self.rate // PUSHES_A_SECOND, PUSH_MIN), PUSH_MAX)
  return math.min(math.tointeger(size), self.high - self.length)
end

-- Reads the length of the list.  If it is below the low mark, fills the list to the high mark.  Returns false if
-- reading, taking ids or pushing failed.
function Fill:go_round()
  if not self:look() then return false end
  if self.length < self.low then self.refills = true end -- until the list reaches the high mark
  if not self.refills then
    self.pushed_ms = wire.clock_ms()
    self:say_well()
    return true
  end
  while self.length < self.high and not wire.interrupted() do
    if not self:take_ids(self:push_size()) or not self:push_ids() then return false end
    self:say_well()
    self:print_counts_if_due()
    wire.wait({}, false, 0) -- handles signals
  end
  local is_interrupted = wire.interrupted()
  if not self.was_full and not is_interrupted then say("the list %s has %d ids", self.list.name, self.length) end
  self.was_full, self.refills = true, is_interrupted
  return true
end

-- Returns how many milliseconds to sleep: until the list is halfway to the low mark, at the current rate.
function Fill:rest_ms()
  if self.troubles > 0 then return wire.rest_ms(self.troubles) end
  if self.rate <= 0 then return LOOK_MS_MAX end
  local left_ms = (self.length - self.low) * 500 / self.rate
  return math.floor(math.min(math.max(left_ms, LOOK_MS_MIN), LOOK_MS_MAX))
end

function Fill:run(is_once)
  local now_ms, done = wire.clock_ms(), false
  self.said_ms, self.look_ms, self.pushed_ms = now_ms, now_ms, now_ms
  while not wire.interrupted() do
    done = self:go_round()
    if is_once and (done or self.troubles > 0 or wire.clock_ms() - self.pushed_ms > ONCE_MS) then break end
    self:print_counts_if_due()
    wire.wait({}, false, self:rest_ms())
  end
  if self.every_ms > 0 or self.json then self:print_counts() end
  self.list:close()
  return is_once and not done and 1 or 0
end

---------------------------------------------------------------- the command

-- Returns the address without its scheme, and with tls: if the scheme is rediss.
local function read_address(text)
  local scheme, place = text:match "^(rediss?)://([^/@]*)/?$"
  local address = scheme and (scheme == "rediss" and "tls:" or "") .. place or text
  if address:find("://", 1, true) then -- the text may contain a password, so the message does not quote it
    cli.usage("--redis must be HOST:PORT, [v6]:PORT, unix:PATH or rediss://HOST:PORT: set user, password and database "
      .. "with --user, --password-file and --db")
  end
  cli.check(wire.check(address))
  return address
end

local function check_list(options, low, high)
  if not options.list then cli.usage "--list is missing: name the key of the list to fill" end
  if #options.list > NAME_MAX then cli.usage("--list is longer than %d bytes", NAME_MAX) end
  if low >= high then cli.usage("--low is %d, which must be less than --high, %d", low, high) end
  if options.user and not options["password-file"] then cli.usage "--user needs --password-file" end
end

-- A counter allows only the generator options --store and --group.
local function check_source(options)
  if not options.tag then
    if options.table then cli.usage "--table needs --tag" end
    return
  end
  local others = setmetatable({ store = false, group = false }, { __index = options })
  if source.has_flags(others) or options.namespace then
    cli.usage "--tag names a counter, and can be combined only with --store, --table, --group and --config"
  end
  if not options.store and not options.config then cli.usage "--tag needs the counter's --store, or -c FILE" end
  if options.config and (source.has_flags(options) or options.table) then
    cli.usage "--config has the settings of the namespace or the tag: combine it only with --namespace or --tag"
  end
end

local function run(options, operands)
  if operands[1] then cli.usage("unexpected operand %s", term.shown(operands[1])) end
  local password = options["password-file"] and cli.go(term.secret("--password-file", options["password-file"]))
  if options.effective then
    check_source(options)
    return source.print(options, options.json)
  end
  local address, low, high = read_address(options.redis or ADDRESS), options.low or 1000, options.high or 10000
  local tls = secure.of_options(options, address)
  check_list(options, low, high)
  local connection, trouble = redis.open(address, options["timeout-ms"] or 2000, tls)
  if not connection then cli.fail("%s", trouble) end
  check_source(options)
  local ids <close> = cli.go(source.open(options))
  local login = { user = options.user, password = password, db = options.db or 0 }
  wire.catch_signals(true)
  local fill = setmetatable({ list = fill_list.new(connection, options.list, login), source = ids, address = address,
    tls = tls, low = low, high = high, format = options.format, json = options.json,
    every_ms = (options.every or 60) * 1000,
    length = -1, popped = 0, rate = 0, pushed = 0, burnt = 0, trouble = "", troubles = 0, refills = true }, Fill)
  return fill:run(options.once)
end

local options = cli.rows {
  { name = "redis", value = "ADDR",
    help = "Redis's address: HOST:PORT, unix:PATH or rediss://HOST:PORT (default: " .. ADDRESS .. ")" },
  { name = "list", value = "KEY", help = "the list to fill" },
  { name = "low", kind = "count", value = "N", min = 1, max = MARK_MAX,
    help = "start filling when the list has fewer ids than this (default: 1000)" },
  { name = "high", kind = "count", value = "N", min = 2, max = MARK_MAX,
    help = "fill the list up to this many ids (default: 10000)" },
  { name = "db", kind = "count", value = "N", max = 1000000, help = "the Redis database number (default: 0)" },
  { name = "user", value = "NAME", help = "the ACL user to log in as (default: Redis's default user)" },
  { name = "password-file", value = "FILE", help = "a file with the password on its only line (default: none)" },
  { name = "timeout-ms", kind = "count", value = "MS", min = 10, max = 60000,
    help = "how long to wait for a reply from Redis, in milliseconds (default: 2000)" },
  { name = "every", kind = "count", value = "S", max = 86400,
    help = "print counts every S seconds, or never if S is 0 (default: 60)" },
  { name = "once", kind = "switch", help = "fill the list once and exit, with exit code 1 if that fails" },
  { name = "json", kind = "switch", help = "print the counts as JSON objects on stdout" },
  cli.format_option "how ids are written",
  secure.OPTIONS,
  { name = "config", letter = "c", value = "FILE", help = "a server's config with the namespace or the tag" },
  { name = "tag", value = "TAG", help = "take numbers from this counter instead of ids from a namespace" },
  { name = "table", value = "NAME", help = "the counter's table (default: leaf_alloc)" },
  source.OPTIONS,
  where.EFFECTIVE,
}

return {
  order = 100,
  line = "keep a list in Redis filled with new ids",
  usage = "fill --list KEY [OPTION...]",
  about = [[
Keeps a Redis list filled with new ids, for programs that can only use Redis.  They take an id with LPOP.
When the list has fewer than --low ids, fill appends ids in ascending order until it has --high.  TERM stops
fill.

No id is pushed twice.  If Redis does not reply to a push, the ids of that push are discarded.  If Redis is
unreachable, fill retries.  If Redis was restarted, fill first empties the list, because the restored ids may
already have been popped.  Several fills can share a list.  The list can then exceed --high by up to one push
per fill.  More: docs/cli.md.

  $ vesta fill --redis 127.0.0.1:6379 --list ids --low 1000 --high 10000
  vesta fill: the list ids has 10000 ids

  $ redis-cli LPOP ids
  "403041233137828257"

  $ vesta fill --redis unix:/run/redis/redis.sock --list orders \
    -c server.lua --tag orders --once
  vesta fill: the list orders has 10000 ids
]],
  options = options,
  run = run,
}
