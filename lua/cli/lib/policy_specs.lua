--- policy_specs.lua -- the test runner of `vesta policy test`: describe, it, before_each and assert, as in busted.
-- Specs run in their own Lua state, without restrictions.  Policies that they load by name or path run in the module
-- `sandbox`.
local sandbox = ...
local policies = require "vesta.policy"

---------------------------------------------------------------- policies run in the sandbox

local load_here, has_here, ask_here = policies.load, policies.has, policies.ask

function policies.load(spec, host)
  local name = type(spec) == "table" and rawget(spec, 1) or spec
  if type(name) ~= "string" then return load_here(spec, host) end -- the spec defines the functions itself
  local options = {}
  for key, value in pairs(type(spec) == "table" and spec or {}) do
    if key ~= 1 then options[key] = value end
  end
  local sandboxed, message = sandbox.load(name, options, host and host.env or {}, host and host.log)
  if not sandboxed then return nil, message, "bad_option" end
  return { name = name, sandboxed = sandboxed }
end

function policies.has(self, hook)
  if not self.sandboxed then return has_here(self, hook) end
  return select(2, self.sandboxed:call("has", hook))
end

local function answered(is_verdict, ...)
  if is_verdict then return ... end
  return false, (...)
end

function policies.ask(self, hook, ctx)
  if not self.sandboxed then return ask_here(self, hook, ctx) end
  return answered(self.sandboxed:call("ask", hook, ctx))
end

---------------------------------------------------------------- assertions

local function shown(value)
  return type(value) == "string" and ("%q"):format(value) or tostring(value)
end

local function is_same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
  for key, value in pairs(a) do
    if not is_same(value, b[key]) then return false, key end
  end
  for key in pairs(b) do
    if a[key] == nil then return false, key end
  end
  return true
end

local claims = {}

function claims.equal(expected, got)
  if expected ~= got then return "expected " .. shown(expected) .. ", got " .. shown(got) end
end

function claims.same(expected, got)
  local same, key = is_same(expected, got)
  if same then return end
  if key == nil then return claims.equal(expected, got) end
  return ("the tables differ at %s: expected %s, got %s"):format(shown(key), shown(expected[key]), shown(got[key]))
end

function claims.is_true(got) return claims.equal(true, got) end
function claims.is_false(got) return claims.equal(false, got) end
function claims.is_nil(got) return claims.equal(nil, got) end
function claims.is_not_nil(got) if got == nil then return "expected anything but nil" end end

-- Claims that a call raises an error.  If `text` is given, the error message must contain it.
function claims.has_error(call, text)
  local ok, raised = pcall(call)
  if ok then return "expected an error, and there was none" end
  if text and not tostring(raised):find(text, 1, true) then
    return "expected an error with " .. shown(text) .. ", got " .. shown(raised)
  end
end

local asserts = {}
for name, claim in pairs(claims) do
  asserts[name] = function(...)
    local wrong = claim(...)
    if wrong then error(wrong, 2) end
  end
end
asserts.equals, asserts.are, asserts.is = asserts.equal, asserts, asserts

local plain_assert = assert
assert = setmetatable(asserts, { -- luacheck: ignore 121
  __call = function(_, ...) return plain_assert(...) end,
  __index = function(_, name)
    error("there is no assert." .. tostring(name)
      .. ": equal, same, is_true, is_false, is_nil, is_not_nil, has_error", 2)
  end,
})

---------------------------------------------------------------- the runner

local searched = package.path
local passed, failed = 0, 0
local inside = {} -- the stack of open describe blocks, each with its before_each functions

local function traceback(raised)
  return type(raised) == "string" and raised or debug.traceback(shown(raised), 2)
end

local SECONDS_MAX = 5 -- maximum CPU time of each test, and of a file's code outside its tests
local STEP = 100000    -- instructions between two checks of the time

local deadline_s
local guarded

local function on_count()
  if os.clock() < deadline_s then return end
  if debug.getinfo(2, "f").func == guarded then return debug.sethook() end
  debug.sethook(on_count, "", 1) -- every further instruction raises, so that a pcall in a loop cannot go on
  error(("stopped after %d s of processor time, the limit of a test"):format(SECONDS_MAX), 2)
end

-- Starts the hook and the timer.  The timer stops code that no hook interrupts, for example one long string.find.
local function arm(seconds, name)
  deadline_s = seconds and os.clock() + seconds
  debug.sethook(seconds and on_count or nil, "", STEP)
  sandbox.watch(seconds and SECONDS_MAX + 2 or 0,
    ("not ok - %.99s\n  stopped after %d s of processor time, in a C function or a coroutine\n")
      :format(name, SECONDS_MAX))
end

-- An xpcall with a time limit.  The time of a test does not count as time of the enclosing file or describe.
function guarded(name, run)
  local left_s, outer = deadline_s and deadline_s - os.clock(), inside[#inside]
  arm(SECONDS_MAX, name)
  local ok, message = xpcall(run, traceback)
  arm(left_s, outer and outer.name or name)
  return ok, message
end

local function judge(claim, run)
  local ok, message = guarded(claim, run)
  sandbox.say((ok and "ok - " or "not ok - ") .. claim .. "\n" .. (ok and "" or "  " .. message .. "\n"))
  if ok then passed = passed + 1 else failed = failed + 1 end
end

function describe(name, block) -- luacheck: ignore 111
  local open = { name = tostring(name), before = {} }
  inside[#inside + 1] = open
  local ok, message = guarded(open.name, block)
  inside[#inside] = nil
  if not ok then judge(open.name, function() error(message, 0) end) end
end

function before_each(run) -- luacheck: ignore 111
  local open = inside[#inside] or error("before_each belongs in a describe", 2)
  open.before[#open.before + 1] = run
end

function it(name, run) -- luacheck: ignore 111
  local words = {}
  for i, open in ipairs(inside) do words[i] = open.name end
  words[#words + 1] = tostring(name)
  judge(table.concat(words, " "), function()
    for _, open in ipairs(inside) do
      for _, before in ipairs(open.before) do before() end
    end
    run()
  end)
end

function print(...) -- luacheck: ignore 121
  local words = {}
  for i = 1, select("#", ...) do words[i] = tostring((select(i, ...))) end
  sandbox.say(table.concat(words, "\t") .. "\n")
end

local OF_BUSTED = {}
for name in ("after_each setup teardown lazy_setup finally pending insulate expose spy stub mock"):gmatch "%S+" do
  OF_BUSTED[name] = true
end
setmetatable(_G, { __index = function(_, name)
  if not OF_BUSTED[name] then return nil end
  error(("vesta policy test has no %s: it has describe, it, before_each and assert. Run this file with busted")
    :format(name), 2)
end })

os.exit = function() error("a spec does not end the program", 2) end -- luacheck: ignore 122

return function(path)
  local run, message = loadfile(path, "t")
  package.path = (path:match "^.*/" or "./") .. "?.lua;" .. searched -- a spec may require files in its folder
  if run then
    inside = {}
    local ok, raised = guarded(path, run)
    message = not ok and raised or nil
  end
  if message then judge(path, function() error(message, 0) end) end
  return passed, failed
end
