--- vesta.testing -- a world for who writes a policy: a clock that is set, a store that goes down, records of workers.
-- For the tests of a program: generators with such a clock.
-- A world is plain Lua, no C: it runs under busted with any Lua, and within `vesta policy test`, where the policy
-- itself runs in the server's sandbox.
--
--     local world = testing.world { policy = { "borrow", borrow_ms_max = 500 } }
--     world:step_clock(-3000)
--     local word, amount_ms, reason = world:verdict "on_clock_back"     --> "borrow", 500, nil
local engine = require "vesta.engine"
local helpers = require "vesta.policy.helpers"
local hooks = require "vesta.hooks"
local nearest = require "vesta.nearest"
local policies = require "vesta.policy"
local trial = require "vesta.trial"

local testing = {}

local NOW_MS = 1767225600000   -- 2026-01-01T00:00:00Z: a test's time is its own
local ATTEMPTS_MAX = 10        -- claims that a chooser may lose before it is given up

---------------------------------------------------------------- layouts, as far as a policy meets them

local PRESETS = {
  ["vesta-second"] = "seq:20 machine:10 unit=1s",
  ["vesta-milli"] = "seq:10 machine:10 unit=1ms",
  ["vesta-legacy-second"] = "machine:10 seq:20 unit=1s",
  ["vesta-legacy-milli"] = "machine:10 seq:10 unit=1ms",
  snowflake = "worker:10 seq:12 unit=1ms",
  twitter = "worker:5 seq:12 unit=1ms",
  leaf = "worker:10 seq:12 unit=1ms",
  butterfly = "seq:8 worker:13 seq:1 unit=1ms",
  ["butterfly-v1.0.1"] = "seq:9 worker:13 unit=1ms",
  uid = "worker:22 seq:13 unit=1s",
  sonyflake = "seq:8 machine:16 unit=10ms",
  ["sonyflake-v2"] = "seq:8 machine:16 unit=10ms",
  yitter = "worker:6 seq:6 unit=1ms",
  ["yitter-js"] = "worker:6 seq:6 unit=1ms",
  ["yitter-net"] = "worker:6 seq:6 unit=1ms",
  discord = "worker:5 seq:12 unit=1ms",
  instagram = "seq:10 unit=1ms",
  mastodon = "seq:16 unit=1ms",
  tsid = "worker:10 seq:12 unit=1ms",
  seata = "worker:10 seq:12 unit=1ms",
  cosid = "machine:10 seq:12 unit=1ms",
  shardingsphere = "worker:10 seq:12 unit=1ms",
  pgedge = "machine:10 seq:12 unit=1ms",
  ["pgedge-v1.1"] = "seq:12 machine:10 unit=1ms",
  tid = "worker:10 unit=1us",
  cockroachdb = "worker:15 unit=10us",
  clickhouse = "machine:10 seq:12 unit=1ms",
  js53 = "worker:5 seq:16 unit=1s",
}
testing.PRESETS = PRESETS

local MEASURES_MS = { us = 0.001, ms = 1, s = 1000 }

-- "10us" in milliseconds; nil where it is no unit.
local function read_unit(text)
  local count, measure = (text or ""):match "^(%d+)(%a+)$"
  return MEASURES_MS[measure] and tonumber(count) * MEASURES_MS[measure]
end

-- How many numbers there are, how many ticks in a time unit, how long that is.
local function read_layout(text)
  local workers, seq_bits, unit_ms = 1, 0, nil -- a sequence may stand in two parts
  for _, word in ipairs(helpers.split(PRESETS[text] or text, " ")) do
    local width = helpers.split(word, ":")
    local setting = helpers.split(word, "=")
    local bits = tonumber((helpers.split(width[2] or "", "=")[1]))
    if setting[1] == "unit" then unit_ms = read_unit(setting[2]) end
    if bits and width[1] == "seq" then seq_bits = seq_bits + bits end
    if bits and (width[1] == "worker" or width[1] == "machine") then workers = math.floor(2 ^ bits) end
  end
  if not unit_ms or unit_ms <= 0 then
    local shown, meant = nearest(text, PRESETS)
    if meant then error(("testing.world: there is no layout %s"):format(shown), 3) end
    error(('testing.world: layout "%s" is not a preset, and has no unit=1ms or the like'):format(text), 3)
  end
  return workers, math.floor(2 ^ seq_bits), unit_ms
end

---------------------------------------------------------------- the world

local world = {}
world.__index = world

-- What a world may be given, and has as fields afterwards; a test may set them at any time.  ORDINAL means: read
-- the ordinal from the host's name, as a server does.
local ORDINAL = {}
local DEFAULTS = { layout = "vesta-milli", now_ms = NOW_MS, lease_ms = 600000, random = 0.5, last_ms = false }

-- The file that called testing.world or testing.generator.  Lua 5.1 has a level of its own for a tail call.
local function calling_file()
  local level, info = 3 -- itself, beside_spec and the function that the spec called
  repeat
    level = level + 1
    info = debug.getinfo(level, "S")
  until not info or info.what ~= "tail"
  return info and info.source or ""
end

-- A policy's relative path is of the folder of the spec that asks for it, wherever that is run.
local function beside_spec(given)
  local name = type(given) == "table" and rawget(given, 1) or given
  local folder = calling_file():match "^@(.*/)"
  if not folder or type(name) ~= "string" or not policies.is_path(name) or name:sub(1, 1) == "/" then return given end
  local found = { folder .. name:gsub("^%./", "") }
  for key, value in pairs(type(given) == "table" and given or {}) do
    if key ~= 1 then found[key] = value end
  end
  return found
end

local function with_folder(message)
  local is_missing = message:find("No such file", 1, true)
  return is_missing and message .. ": a relative path is relative to the folder of the spec" or message
end

-- The value as the field has it.  Raises, at the line of the spec, if the field cannot have this value.
local function check_field(call, name, value)
  if not trial.KINDS[name] or value == ORDINAL then return value end
  local good, expected = trial.value(name, value)
  if good == nil then error(("%s: %s must be %s, not %s"):format(call, name, expected, engine.shown(value)), 3) end
  return good
end

-- Raises, at the line of the spec, if `env` is not a table of variables.
local function check_env(env)
  local is_good = env == nil or type(env) == "table"
  for name, value in pairs(is_good and env or {}) do
    is_good = is_good and type(name) == "string" and (type(value) == "string" or value == false)
  end
  if not is_good then
    error('testing.world: env must be a table of variables, like { REGION = "eu", ROLE = false }', 3)
  end
end

--- A world with a policy in it: { policy = as vesta.open takes it, and any of the fields above }; `env` has the
-- variables that the policy may read, { REGION = "eu", ROLE = false }: false is not set.  What it says with log() is in
-- world.said, a list.
function testing.world(given)
  if type(given) ~= "table" or not given.policy then
    error("testing.world: a table with a policy is expected, like { policy = \"borrow\" }", 2)
  end
  local self = { records = {}, is_store_up = true, said = {} }
  for key, value in pairs(DEFAULTS) do self[key] = value end
  for key, value in pairs(given) do
    if DEFAULTS[key] == nil and key ~= "policy" and key ~= "env" then
      error("testing.world: there is no " .. nearest(tostring(key), DEFAULTS), 2)
    end
    self[key] = key == "random" and value or check_field("testing.world", key, value)
  end
  check_env(given.env)
  local workers, unit_ticks, unit_ms = read_layout(self.layout)
  self.range, self.unit_ticks, self.unit_ms = { first = 0, last = workers - 1 }, unit_ticks, unit_ms
  self.seen_ms, self.ahead_ms, self.up_ms = self.now_ms, 0, 0
  local message
  self.policy, message = policies.load(beside_spec(given.policy),
    { env = given.env or {}, log = function(text) self.said[#self.said + 1] = text end })
  if not self.policy then error(with_folder(message), 2) end
  return setmetatable(self, world)
end

--- The clock is set: back by step_clock(-3000), forward by step_clock(3000).
function world:step_clock(ms)
  self.now_ms = self.now_ms + ms
  self.seen_ms = math.max(self.seen_ms, self.now_ms)
end

--- Time goes by.
function world:pass(ms)
  self.up_ms = self.up_ms + ms
  self:step_clock(ms)
end

--- Ids have been made so far ahead of the latest time that was seen.
function world:run_ahead(ms) self.ahead_ms = ms end

---------------------------------------------------------------- a generator whose clock is set

local clock = {}
clock.__index = clock

--- Unix milliseconds.
function clock:now_ms() return self.move(self.gen, 0, 0) end

--- The clock is set: back by step(-3000), forward by step(3000).
function clock:step(ms) return self.move(self.gen, ms, 0) end

--- Time passes.
function clock:pass(ms) return self.move(self.gen, 0, ms) end

--- A generator for a program's tests, and its clock: the real generator, without a file, a lease or a keeper, in a
-- namespace of its own.  Its clock stands until the test moves it, so the ids are the same in each run.  Needs C.
function testing.generator(given)
  local has_rock, message = pcall(require, "vesta") -- sets up the calls of this Lua
  if not has_rock then
    error("testing.generator needs the rock, which vesta policy test does not load: " .. message:match "^[^\n]*", 2)
  end
  if given ~= nil and type(given) ~= "table" then
    error("testing.generator: a table of options is expected, not " .. engine.shown(given), 2)
  end
  local core = require "vesta.core"
  local options = {}
  for key, value in pairs(given or {}) do options[key] = value end
  options.layout = options.layout or DEFAULTS.layout
  options.policy = beside_spec(options.policy)
  if type(options.now_ms) == "string" then
    options.now_ms = check_field("testing.generator", "now_ms", options.now_ms)
  end
  local gen
  gen, message = core.open_for_tests(options, NOW_MS)
  if not gen then error("testing.generator: " .. with_folder(message), 2) end
  return gen, setmetatable({ gen = gen, move = core.move_clock }, clock)
end

---------------------------------------------------------------- the store

--- Somebody holds a number: world:claim { worker = 7, holder = "host-3" }.  Gives the record, or nil and why not: the
-- number is held, or the store is down.  Every field of the record may be given.
function world:claim(given)
  local old = self.records[given.worker]
  if not self.is_store_up then return nil, "the store is down" end
  if old and old.held and not self:is_expired(old) and old.identity ~= given.identity then
    return nil, "the number is held by " .. old.holder
  end
  local record = {
    worker = given.worker, epoch = old and old.epoch + 1 or 1, holder = "host-" .. given.worker, held = true,
    identity = "host-" .. given.worker, until_ms = self.now_ms + 5000, written_ms = self.now_ms, seen_ms = self.now_ms,
  }
  for key, value in pairs(given) do record[key] = value end
  self.records[record.worker] = record
  return record
end

--- A number is given back.
function world:release(worker)
  self.records[worker].held = false
  self.records[worker].written_ms = self.now_ms
end

--- Whether a record's holder has been silent for longer than a lease lasts.
function world:is_expired(record) return self.now_ms - record.written_ms > self.lease_ms end

--- No answer from the store, from now on until store_up.
function world:store_down() self.is_store_up, self.down_since_ms = false, self.up_ms end
function world:store_up() self.is_store_up = true end

local function by_worker(a, b) return a.worker < b.worker end

-- The records as a policy gets them: a list, each with its `expired`.
local function list(self)
  local records = {}
  for _, record in pairs(self.records) do
    local copy = { expired = self:is_expired(record) }
    for key, value in pairs(record) do copy[key] = value end
    records[#records + 1] = copy
  end
  table.sort(records, by_worker)
  return records
end

-- The others who hold a number just now.
local function peers(self)
  local found = {}
  for _, record in ipairs(list(self)) do
    if record.held and not record.expired then
      found[#found + 1] = { worker = record.worker, seen_ms = record.seen_ms }
    end
  end
  return found
end

---------------------------------------------------------------- asking

local function down_ms(self) return self.is_store_up and 0 or self.up_ms - self.down_since_ms end

-- What of ctx follows from how the world is; the rest are fields of it.
local SEEN = {
  back_ms = function(self) return self.seen_ms - self.now_ms end,
  ahead_ticks = function(self)
    return math.floor((self.seen_ms + self.ahead_ms - self.now_ms) * self.unit_ticks / self.unit_ms)
  end,
  ordinal = function(self)
    if self.ordinal ~= ORDINAL then return self.ordinal end
    return self.host and trial.ordinal_of(self.host)
  end,
  peers = peers,
  down_ms = down_ms,
  left_ms = function(self) return math.max(self.lease_ms - down_ms(self), 0) end,
  records = list,
  range = function(self) return self.range end,
  random = function(self) return math.floor(self.random * 4294967296) end,
}

DEFAULTS.ordinal, DEFAULTS.leaving = ORDINAL, false
for _, row in ipairs(hooks.fields) do
  local name, kind, value = row[1], row[2], row[4]
  if not SEEN[name] and value and kind ~= "moment" then
    DEFAULTS[name] = kind == "integer" and tonumber(value) or value
  end
end

--- Asks the policy: its word (for choose_worker its number, or nil), milliseconds or nil, reason or nil.  `more` are
-- fields of ctx that are to be otherwise than this world has them.  Raises where the policy fails.
function world:verdict(hook, more)
  local told = engine.TOLD[hook]
  if not told then error("world:verdict: a policy has no function " .. nearest(tostring(hook), engine.TOLD), 2) end
  if not policies.has(self.policy, hook) then error("the policy has no " .. hook, 2) end
  if hook == "choose_worker" and not self.is_store_up then
    error("the store is down, and nobody asks choose_worker before it has answered", 2)
  end
  local ctx, is_told = {}, {}
  for _, name in ipairs(told) do
    is_told[name] = true
    if SEEN[name] then ctx[name] = SEEN[name](self) else ctx[name] = self[name] end
  end
  for key, value in pairs(more or {}) do
    if not is_told[key] then
      error(("world:verdict: %s gets no %s"):format(hook, nearest(tostring(key), is_told)), 2)
    end
    ctx[key] = check_field("world:verdict", key, value)
  end
  for name, value in pairs(ctx) do
    if value == false then ctx[name] = nil end
  end
  if ctx.records then ctx.records = trial.records(ctx.records) end
  local ok, word, amount_ms, reason = policies.ask(self.policy, hook, ctx)
  if not ok then error(word, 2) end
  return word, amount_ms, reason
end

--- What a keeper does: lists, asks for a number and claims it; where that is lost, asks again with fresh records.
-- Gives the number, or nil and why there is none.
function world:choose()
  if not self.is_store_up then return nil, "the store is down" end
  for attempt = 1, ATTEMPTS_MAX do
    local worker, _, reason = self:verdict("choose_worker", { attempt = attempt })
    if not worker then return nil, reason end
    if worker < self.range.first or worker > self.range.last then
      error(("choose_worker answered %d, but worker ids are %d to %d")
        :format(worker, self.range.first, self.range.last), 2)
    end
    if self:claim { worker = worker, holder = self.host, identity = self.identity } then return worker end
  end
  return nil, "no claim came through in " .. ATTEMPTS_MAX .. " attempts"
end

return testing
