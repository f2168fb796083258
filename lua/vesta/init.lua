--- vesta -- 64-bit ids that never repeat, sort by time, can be decoded, and can be built from fields.
-- This module wraps vesta.core.  It checks options, and installs the fast calls for LuaJIT and the waits for nginx.
-- A wrong type raises at the caller's line.  Other failures return nil, message, code, and sometimes seconds to wait.
local core = require "vesta.core"
local judge = require "vesta.judge"
local options = require "vesta.options"

local vesta = {
  VERSION = core.VERSION,
  presets = core.presets, -- () -> { { name =, text =, about = }, ... }
  guess = core.guess,     -- (id [, now]) -> { { preset =, about =, parts = {...} }, ... }, likeliest first
  format = core.format,   -- (id [, base]) -> text; base is "decimal", "hex", "base32" or "base62"
  parse = core.parse,     -- (text [, base]) -> id
  explain_uuid = core.explain_uuid, -- (text) -> { kind =, uuid =, unix_ms =, ... } of a UUID, ULID, TypeID or trace id
  typeid = core.typeid,   -- (prefix, uuid) -> text
  layout = core.layout,   -- (text) -> layout with explain, make, time, range, fits, text, fields, ends
}

local WAIT_MS_MAX = 100             -- the default wait for an id in plain Lua
local LEASE_WAIT_MS_MAX = 2000      -- the default if a lease must be claimed first, which needs several disk writes
local EXACT_MAX = 2 ^ 53

local in_nginx = type(ngx) == "table" and ngx.get_phase ~= nil
local resty = in_nginx and require "vesta.resty"

---------------------------------------------------------------- the calls of this Lua

if not core.dressed then -- once per Lua state, even if package.loaded.vesta was cleared
  core.dressed = true
  local function judge_pause(gen) return judge.judge(core, gen) end
  core.set_judge(judge_pause)
  if resty then resty.install(core, judge_pause, function(gen) judge.answer(core, gen) end) end
  local has_ffi = type(jit) == "table" and pcall(require, "ffi")
  if has_ffi then require "vesta.fast" (core) end
end

---------------------------------------------------------------- options

local function layout(value)
  if type(value) == "userdata" and getmetatable(value) == core.layout_class then return value:text() end
  if type(value) ~= "string" then return nil, "a layout text, a preset's name or a vesta.layout" end
  return options.text(value)
end

-- Converts { region = 1, version = 0 } to "region=1 version=0".
local function fields(value)
  if type(value) ~= "table" then return nil, "a table like { version = 1 }" end
  local words = {}
  for name, number in pairs(value) do
    if type(name) ~= "string" or not name:find "^[%w_]+$" then return nil, "a table with field names as keys" end
    if not options.is_whole(number, EXACT_MAX) then
      return nil, "a table whose values are whole numbers of 0 or more"
    end
    words[#words + 1] = ("%s=%.0f"):format(name, number)
  end
  table.sort(words)
  return table.concat(words, " ")
end

local function policy(value)
  if type(value) ~= "string" and type(value) ~= "table" then
    return nil, "a policy's name, a path, { name, option = ... } or a table of functions"
  end
  return value
end

local function policy_env(value)
  if type(value) ~= "table" then return nil, "a list of variables' names" end
  for key, name in pairs(value) do
    if type(key) ~= "number" or type(name) ~= "string" or not name:find "^[%a_][%w_]*$" then
      return nil, 'a list of variables\' names, like { "REGION" }'
    end
  end
  return value
end

local KINDS = {
  text = options.text, layout = layout, secret = options.text, fields = fields, word = options.word,
  whole = options.whole, whole_ms = options.whole_ms, flag = options.flag,
}

-- Maps each option's name to its check: options of generators in every language, and options that only Lua has.
local OPTIONS = { wait_ms_max = { check = options.wait }, policy = { check = policy },
  policy_env = { check = policy_env } }
for _, row in ipairs(core.options()) do
  row.check = KINDS[row.kind]
  OPTIONS[row.name] = row
end

---------------------------------------------------------------- opening

local warned

local function warn_private()
  if warned then return end
  warned = true
  judge.warn "vesta: unsafe_private: ids of this generator may repeat, so use it for tests only"
end

local function open(checked)
  if resty then return resty.open(core, checked) end
  checked.lease_wait_ms_max = checked.wait_ms_max or LEASE_WAIT_MS_MAX
  checked.wait_ms_max = checked.wait_ms_max or WAIT_MS_MAX
  return core.open(checked)
end

-- Opens a generator by `open_it`, unless its policy rejects the start.
local function open_judged(checked, now_ms, open_it)
  if not checked.policy then return open_it(checked) end
  local loaded, message, code = judge.start(checked, now_ms)
  if not loaded then return nil, message, code end
  checked.judged = true -- C asks for a verdict only if there is a policy
  checked.chooses = judge.chooses(loaded)
  if judge.names_worker(loaded) and not checked.worker and not checked.store then checked.any_worker = true end
  local gen
  gen, message, code = open_it(checked)
  if not gen then return nil, message, code end
  judge.keep(gen, loaded)
  return gen
end

--- Opens a generator, and creates its file if necessary.  See docs/lua.md for the options.
function vesta.open(given)
  local checked = options.check("vesta.open", given, OPTIONS)
  if checked.unsafe_private then warn_private() end
  return open_judged(checked, core.now_ms(), open)
end

local TEST_OPTIONS = { now_ms = { check = options.whole } }
for _, name in ipairs { "layout", "worker", "fields", "method", "pacing", "ahead_ms_max", "wait_ms_max", "policy",
  "policy_env" } do
  TEST_OPTIONS[name] = OPTIONS[name]
end

--- Opens the generator of vesta.testing.generator: private, in the namespace "testing", with a clock that the test
-- sets.
function core.open_for_tests(given, now_ms)
  local checked = options.check("testing.generator", given, TEST_OPTIONS, 4)
  local made, message, code = core.layout(checked.layout)
  if not made then return nil, message, code end
  for _, field in ipairs(made:fields()) do
    if field.name == "worker" or field.name == "machine" then checked.worker = checked.worker or 1 end
  end
  checked.namespace, checked.unsafe_private, checked.clock_ms = "testing", true, checked.now_ms or now_ms
  checked.wait_ms_max = checked.wait_ms_max or 0
  checked.now_ms = nil
  return open_judged(checked, checked.clock_ms, core.open)
end

local function time(value)
  if type(value) ~= "string" and type(value) ~= "number" then return nil, "Unix milliseconds or an RFC 3339 time" end
  return value
end

local PAST_OPTIONS = { from = { check = time }, to = { check = time }, count = { check = options.whole } }
for _, name in ipairs { "namespace", "path", "store", "secret", "layout", "worker", "fields", "method" } do
  PAST_OPTIONS[name] = OPTIONS[name]
end

--- Leases the ids of past dates for an import.  See docs/past-ids.md for the options.
function vesta.past(given)
  local checked = options.check("vesta.past", given, PAST_OPTIONS)
  if not checked.from or not checked.to then error("vesta.past: the options from and to are required", 2) end
  return core.past(checked)
end

--- Opens a counter, which issues numbers from a database.  See docs/lua.md for the options.
vesta.segment = require "vesta.segment" (core, resty)

--- Opens a client of vesta servers.  See docs/client.md for the options.
vesta.client = require "vesta.client" (core, in_nginx)

--- Proposes a layout.  need: rate (ids per second per node), nodes and years from the epoch on; optionally epoch, unit
-- and bits.
function vesta.fit(need)
  if type(need) ~= "table" then
    error("vesta.fit: a table like { rate = 50000, nodes = 100, years = 30 } is expected, not " .. type(need), 2)
  end
  for _, name in ipairs { "rate", "nodes", "years" } do
    local n = need[name]
    if type(n) ~= "number" or not (n > 0 and n <= EXACT_MAX) then
      error(("vesta.fit: %s must be a number above 0, not %s"):format(name, options.shown(n)), 2)
    end
  end
  if need.nodes % 1 ~= 0 then
    error(("vesta.fit: nodes must be a whole number, not %s"):format(options.shown(need.nodes)), 2)
  end
  return core.fit(need.rate, need.nodes, need.years, need.epoch or "2026-01-01T00:00:00Z", need.unit, need.bits)
end

return vesta
