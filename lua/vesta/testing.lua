--- vesta.testing -- helps to test policies and programs.  testing.world simulates a clock, a store and worker ids for
-- the tests of a policy.  testing.generator opens a generator for the tests of a program.  The test sets its clock.
-- A world is plain Lua without C: it runs under busted with any Lua, and in `vesta policy test`, where the policy
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

local NOW_MS = 1767225600000   -- 2026-01-01T00:00:00Z: a test does not depend on the real time
local ATTEMPTS_MAX = 10        -- choose() gives up after this many lost claims

---------------------------------------------------------------- layouts: the properties that policies depend on

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

-- Returns the milliseconds of a unit such as "10us", or nil.
local function read_unit(text)
  local count, measure = (text or ""):match "^(%d+)(%a+)$"
  return MEASURES_MS[measure] and tonumber(count) * MEASURES_MS[measure]
end

-- Returns the number of worker ids of a layout, the number of ids in a time unit, and the unit's milliseconds.
local function read_layout(text)
  local workers, seq_bits, unit_ms = 1, 0, nil -- a layout may split its sequence into two fields
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

-- Defaults of a world's options, which become its fields.  A test may set the fields at any time.  ORDINAL means that
-- the ordinal comes from the host's name, as in a server.
local ORDINAL = {}
local DEFAULTS = { layout = "vesta-milli", now_ms = NOW_MS, lease_ms = 600000, random = 0.5, last_ms = false }

-- Returns the file that called testing.world or testing.generator.  In Lua 5.1 a tail call has its own level.
local function calling_file()
  local level, info = 3 -- this function, beside_spec, and the function that the spec called
  repeat
    level = level + 1
    info = debug.getinfo(level, "S")
  until not info or info.what ~= "tail"
  return info and info.source or ""
end

-- Makes a policy's relative path relative to the folder of the calling spec.
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

-- Returns a field's value, converted if necessary.  Raises at the line of the spec if the value is not allowed.
local function check_field(call, name, value)
  if not trial.KINDS[name] or value == ORDINAL then return value end
  local good, expected = trial.value(name, value)
  if good == nil then error(("%s: %s must be %s, not %s"):format(call, name, expected, engine.shown(value)), 3) end
  return good
end

-- Raises at the line of the spec if `env` is not a table of variables.
local function check_env(env)
  local is_good = env == nil or type(env) == "table"
  for name, value in pairs(is_good and env or {}) do
    is_good = is_good and type(name) == "string" and (type(value) == "string" or value == false)
  end
  if not is_good then
    error('testing.world: env must be a table of variables, like { REGION = "eu", ROLE = false }', 3)
  end
end

--- Creates a world.  `given` has `policy` (as in vesta.open), optionally `env`, and any fields of ctx.
-- `env` has the variables that the policy may read, such as { REGION = "eu", ROLE = false }, where false means that the
-- variable is not set.  The list world.said receives the lines that the policy logs.
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

--- Sets the clock: step_clock(-3000) sets it back by 3 seconds.
function world:step_clock(ms)
  self.now_ms = self.now_ms + ms
  self.seen_ms = math.max(self.seen_ms, self.now_ms)
end

--- Lets time pass.
function world:pass(ms)
  self.up_ms = self.up_ms + ms
  self:step_clock(ms)
end

--- Sets how far issued ids are ahead of the latest time that was seen, in milliseconds.
function world:run_ahead(ms) self.ahead_ms = ms end

---------------------------------------------------------------- a generator with a clock for tests

local clock = {}
clock.__index = clock

--- Returns Unix milliseconds.
function clock:now_ms() return self.move(self.gen, 0, 0) end

--- Sets the clock: step(-3000) sets it back by 3 seconds.
function clock:step(ms) return self.move(self.gen, ms, 0) end

--- Lets time pass.
function clock:pass(ms) return self.move(self.gen, 0, ms) end

--- Returns a generator for the tests of a program, and its clock.  It is the real generator, but without a file, a
-- lease or a keeper, and in its own namespace.  The clock moves only when the test moves it, so that each run issues
-- the same ids.  Needs the rock.
function testing.generator(given)
  local has_rock, message = pcall(require, "vesta") -- it also installs the calls for this version of Lua
  if not has_rock then
    error("testing.generator needs the rock, which `vesta policy test` does not load: use busted: "
      .. message:match "^[^\n]*", 2)
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

--- Claims a worker id for a holder: world:claim { worker = 7, holder = "host-3" }.  You can also set other fields of
-- the record.  Returns the record.  Returns nil and a message if the worker id is held or the store is down.
function world:claim(given)
  local old = self.records[given.worker]
  if not self.is_store_up then return nil, "the store is down" end
  if old and old.held and not self:is_expired(old) and old.identity ~= given.identity then
    return nil, "the worker id is held by " .. old.holder
  end
  local record = {
    worker = given.worker, epoch = old and old.epoch + 1 or 1, holder = "host-" .. given.worker, held = true,
    identity = "host-" .. given.worker, until_ms = self.now_ms + 5000, written_ms = self.now_ms, seen_ms = self.now_ms,
  }
  for key, value in pairs(given) do record[key] = value end
  self.records[record.worker] = record
  return record
end

--- Releases a worker id.
function world:release(worker)
  self.records[worker].held = false
  self.records[worker].written_ms = self.now_ms
end

--- Returns whether the lease of a record has expired.
function world:is_expired(record) return self.now_ms - record.written_ms > self.lease_ms end

--- Makes the store unreachable until store_up.
function world:store_down() self.is_store_up, self.down_since_ms = false, self.up_ms end
function world:store_up() self.is_store_up = true end

local function by_worker(a, b) return a.worker < b.worker end

-- Returns the records for a policy: a sorted list, with the field `expired`.
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

-- Returns the current holders of worker ids, for ctx.peers.
local function peers(self)
  local found = {}
  for _, record in ipairs(list(self)) do
    if record.held and not record.expired then
      found[#found + 1] = { worker = record.worker, seen_ms = record.seen_ms }
    end
  end
  return found
end

---------------------------------------------------------------- calling the policy

local function down_ms(self) return self.is_store_up and 0 or self.up_ms - self.down_since_ms end

-- Fields of ctx that are computed from the world.  The other fields of ctx are fields of the world.
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

--- Calls a function of the policy.  Returns its verdict (for choose_worker a worker id or nil), milliseconds or nil,
-- and a reason or nil.  `more` overrides fields of ctx for this call.  Raises if the policy fails.
function world:verdict(hook, more)
  local told = engine.TOLD[hook]
  if not told then error("world:verdict: a policy has no function " .. nearest(tostring(hook), engine.TOLD), 2) end
  if not policies.has(self.policy, hook) then error("the policy has no " .. hook, 2) end
  if hook == "choose_worker" and not self.is_store_up then
    error("the store is down, and choose_worker is never called without the store's records: call store_up first", 2)
  end
  local ctx, is_told = {}, {}
  for _, name in ipairs(told) do
    is_told[name] = true
    if SEEN[name] then ctx[name] = SEEN[name](self) else ctx[name] = self[name] end
  end
  for key, value in pairs(more or {}) do
    if not is_told[key] then
      error(("world:verdict: %s has no input %s"):format(hook, nearest(tostring(key), is_told)), 2)
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

--- Claims a worker id like a keeper: lists the records, calls choose_worker, and claims its result.  If another holder
-- claims it first, tries again with fresh records.  Returns the worker id, or nil and a message.
function world:choose()
  if not self.is_store_up then return nil, "the store is down" end
  for attempt = 1, ATTEMPTS_MAX do
    local worker, _, reason = self:verdict("choose_worker", { attempt = attempt })
    if not worker then return nil, reason end
    if worker < self.range.first or worker > self.range.last then
      error(("choose_worker returned %d, but worker ids are %d to %d")
        :format(worker, self.range.first, self.range.last), 2)
    end
    if self:claim { worker = worker, holder = self.host, identity = self.identity } then return worker end
  end
  return nil, "no claim succeeded in " .. ATTEMPTS_MAX .. " attempts"
end

return testing
