--- Policies in the rock: the forms that vesta.open accepts, the effects of verdicts on a call, and policies that fail,
-- which must have no effect.
local vesta = require "vesta"
local help = require "lua.help"

local sixteen_a_s = "sign:1 time:31 seq:4 worker:28 unit=1s epoch=2026-01-01T00:00:00Z"
local WHO_ASKS = { "next", "batch" }
if help.has_int then WHO_ASKS = { "next", "next_int", "batch", "batch_int" } end

-- Writes a policy's file and returns its path.
local function file(text)
  local path = ("%s/%s.lua"):format(help.state, help.name())
  local out = assert(io.open(path, "wb"))
  out:write(text)
  out:close()
  return path
end

-- Calls a generator.  If its lease expired because the keeper had no time to run on a busy machine, calls again,
-- because no policy here decides about leases.
local function call(gen, way, ...)
  for _ = 1, 1500 do
    local id, message, code, wait_s = gen[way](gen, ...)
    if code ~= "lease" then return id, message, code, wait_s end
    os.execute "sleep 0.02"
  end
  error "no lease for half a minute"
end

-- Opens a generator that holds a lease, so that the next pause is an exhausted sequence.
local function opened(policy, more)
  local patient, made = help.open { layout = sixteen_a_s, ahead_ms_max = 0 }
  assert(patient:next())
  local options = { path = made.path, wait_ms_max = 0, policy = policy }
  for key, value in pairs(more or {}) do options[key] = value end
  return assert(vesta.open(options))
end

-- Takes ids until a call fails.  Returns their number, and the failure.
local function drain(gen, max)
  for count = 0, max or 1000 do
    local id, message, code, wait_s = call(gen, "next")
    if not id then return count, message, code, wait_s end
  end
  error "the ids do not end"
end

local function refused(policy, more)
  local options = { layout = help.wide, worker = 1, path = help.path(help.name()), policy = policy }
  for key, value in pairs(more or {}) do options[key] = value end
  local gen, message, code = vesta.open(options)
  assert.is_nil(gen)
  assert.is_true(#message > 20 and #message < 700 and not message:find "%c", message)
  return message, code
end

describe("the option policy", function()
  it("accepts a name, a path, either with options, or functions", function()
    local path = file [[
      local n = hash32("x") % 2 + #split("a,b", ",") + math.max(1, 2) -- the helpers of policies exist
      return { api = 1, name = "mine", about = "a test's", on_exhausted = function(ctx)
        return "refuse", ctx.options.why or tostring(n > 0)
      end }]]
    local said = select(2, drain(opened "refuse"))
    assert.equal("more ids are requested than the clock allows (policy refuse)", said)
    assert.matches("^true %(policy .*spec%d+.lua%)$", (select(2, drain(opened(path)))))
    assert.matches("^because %(policy ", (select(2, drain(opened { path, why = "because" }))))
    assert.equal("so (policy mine)", select(2, drain(opened { api = 1, name = "mine", on_exhausted = function()
      return "refuse", "so"
    end })))
  end)

  it("raises at the caller's line for an invalid policy", function()
    for _, wrong in ipairs { 5, true, print } do
      assert.matches("policy_spec.lua:%d+: vesta.open: option policy must be a policy's name",
        help.raised(function() return (vesta.open { policy = wrong }) end))
    end
  end)

  it("lists the existing policies", function()
    for _, name in ipairs { "borow", "", "helpers", "a\0b.lua", ("x"):rep(5000), "\27[31m" } do
      local message, code = refused(name)
      assert.matches('use "any", "borrow", "butterfly", .*"vesta", "wait"', message)
      assert.equal("unknown_name", code)
    end
  end)

  it("reports a file that cannot be read", function()
    local message, code = refused "/nowhere/mine.lua"
    assert.matches("/nowhere/mine.lua", message)
    assert.equal("io", code)
    assert.equal("io", select(2, refused "/tmp/"))
    message, code = refused(file(("-"):rep(70000)))
    assert.matches("longer than 64 KiB", message)
    assert.equal("io", code)
    assert.equal("io", select(2, refused(file "")))
  end)

  local WRONG = {
    { "return {", "spec%d+.lua:1: " },
    { "\n\nerror 'broken'", "spec%d+.lua:3: broken" },
    { "error('higher', 2)", ": higher$" },
    { "error {}", "the error it raised is a table, not a string" },
    { "error(setmetatable)", "global setmetatable is not declared" },
    { "os.exit(1)", "spec%d+.lua:1: global os is not declared, and policies may not use it" },
    { "string.gsub('a', 'a', 'b')", "string.gsub is not declared" },
    { "return string.find('a', '.-')", "without patterns only" },
    { "count = 1", "spec%d+.lua:1: assignment to undeclared global count: declare it with local" },
    { "string.upper = nil", "spec%d+.lua:1: string.upper cannot be changed" },
    { "return 5", "a policy must return a table, return { api = 1, ... }; this one returns a number" },
    { "return nil", "a policy must return a table, return { api = 1, ... }; this one returns nothing" },
    { "return { on_clock_back = error }", "api is nil, which must be 1 for this version of vesta" },
    { "return { api = 2, on_clock_back = error }", "api is 2, " },
    { "return { api = '1', on_clock_back = error }", "api is 1, " },
    { "return { api = 1, on_clockback = error }",
      "'on_clockback' is not a key of a policy, did you mean 'on_clock_back'%?" },
    { "return { api = 1, on_clock_back = 'wait' }", "on_clock_back is a string, not a function" },
    { "return { api = 1, name = 5, on_clock_back = error }", "name is a number, not a text" },
    { "return { api = 1, [2] = error }", "a key of a policy is a number, not a name" },
    { "\27Lua", "compiled Lua" },
  }

  it("reports an error in a file with its line", function()
    for _, case in ipairs(WRONG) do
      local message, code = refused(file(case[1]))
      assert.matches(case[2], message)
      assert.equal("bad_option", code)
    end
  end)

  it("gives a file only the globals that policies may use", function()
    for _, name in ipairs { "os", "io", "debug", "require", "load", "loadstring", "dofile", "xpcall", "setmetatable",
      "getmetatable", "rawset", "collectgarbage", "coroutine", "print", "ngx", "jit", "setfenv", "_G", "string.match",
      "string.dump", "math.random", "table.unpack" } do
      assert.matches("is not declared, and policies may not use it", (refused(file("return " .. name))), name)
    end
  end)

  it("reports an error in a table", function()
    assert.matches("comes first in its table, not 5", (refused { 5 }))
    assert.matches("comes first in its table, not a table", (refused { {} }))
    assert.matches("^the policy's table: api is nil, ", (refused {}))
    assert.matches("api is %-?nan, ", (refused { api = 0 / 0, on_clock_back = error }))
    assert.matches("did you mean 'on_exhausted'%?", (refused { api = 1, on_exausted = error }))
  end)

  it("gives each file its own globals, and does not change those of this Lua", function()
    refused(file "string.upper = nil")
    refused(file "table.insert = nil")
    assert.is_function(string.upper)
    assert.is_function(table.insert)
  end)
end)

describe("on_start", function()
  local function starting(answer)
    return { api = 1, name = "starting", on_start = function(ctx)
      assert(ctx.now_ms > 1.7e12 and ctx.now_ms % 1 == 0 and #ctx.peers == 0 and ctx.last_ms == nil)
      return answer()
    end }
  end

  it("allows or rejects opening a generator", function()
    assert(opened(starting(function() return "go" end)):next())
    local message, code = refused(starting(function() return "refuse", "not today" end))
    assert.equal("policy starting refuses to start: not today", message)
    assert.equal("refused", code)
  end)
end)

-- Returns how often a policy was called for the call that got no id.
local function asked_in_vain(answer)
  local asked
  local gen = opened { api = 1, on_exhausted = function()
    asked = asked + 1
    return answer()
  end }
  local id, _, code
  repeat
    asked = 0
    id, _, code = gen:next()
  until not id and code ~= "lease"
  return asked
end

describe("a policy that never returns", function()
  local ENDED = ":1: ended after 10000000 instructions, which is the limit of a call"

  it("is stopped, whatever it catches, and the host's hook stays", function()
    local policies = require "vesta.policy"
    local calls = 0
    local function own() calls = calls + 1 end
    local hook, mask, count = debug.gethook()
    debug.sethook(own, "", 7)
    local none, message = policies.load(file "while true do pcall(function() while true do end end) end")
    local loaded = policies.load(file "return { api = 1, on_clock_back = function() while true do end end }")
    local is_answer, wrong = policies.ask(loaded, "on_clock_back", {})
    local now = debug.gethook()
    debug.sethook(hook, mask, count)
    assert.is_nil(none)
    assert.is_truthy(message:find(ENDED, 1, true), message)
    assert.is_false(is_answer)
    assert.is_truthy(wrong:find(ENDED, 1, true), wrong)
    assert.equal(own, now)
    assert.is_true(calls > 0)
    if type(jit) == "table" then assert.is_true((jit.status())) end
  end)
end)

describe("a verdict", function()
  it("refuse ends the call with the policy's reason and the pause's code", function()
    local _, message, code, wait_s = drain(opened "refuse")
    assert.equal("more ids are requested than the clock allows (policy refuse)", message)
    assert.is_true(code == "full" or code == "ahead")
    assert.is_true(wait_s > 0 and wait_s < 3)
    local silent = opened { api = 1, on_exhausted = function() return "refuse" end }
    assert.is_nil(select(2, drain(silent)):find("policy", 1, true))
  end)

  it("borrow issues ids ahead of the clock, up to its limit", function()
    for _, seconds in ipairs { 0, 3 } do
      local begun = os.time()
      local count = drain(opened { "borrow", borrow_ms_max = seconds * 1000 })
      local passed = os.time() - begun + 1
      assert.is_true(count >= seconds * 16 and count <= (seconds + 1 + passed) * 16, count)
    end
  end)

  it("borrow works with every method", function()
    for _, name in ipairs(WHO_ASKS) do
      local gen = opened { "borrow", borrow_ms_max = 3000 }
      local last = "0"
      for _ = 1, 5 do
        local got = assert(call(gen, name, 6))
        for _, id in ipairs(type(got) == "table" and got or { got }) do
          id = vesta.format(id)
          assert.is_true(help.less(last, id))
          last = id
        end
      end
    end
  end)

  it("wait waits for the returned time, with every method", function()
    for _, name in ipairs(WHO_ASKS) do
      local gen = opened { "wait", wait_ms_max = 5000 }
      drain(opened("refuse", { path = gen:info().path }))
      assert(call(gen, name, 5))
    end
    assert.equal(1, asked_in_vain(function() return "wait", 1 end)) -- it returned a time, so it is not called again
  end)

  it("wait without a time waits as long as needed", function()
    local gen = opened { api = 1, on_exhausted = function() return "wait" end }
    drain(opened("refuse", { path = gen:info().path }))
    assert(call(gen, "next"))
  end)

  it("is requested at most three times per call", function()
    assert.equal(3, asked_in_vain(function() return "borrow", 0 end))
  end)

  it("gets the cause of the pause", function()
    local seen
    local gen = opened { api = 1, on_exhausted = function(ctx)
      seen = ctx
      return "refuse"
    end }
    drain(gen)
    assert.equal(1, seen.worker)
    assert.equal(0, seen.ahead_ms_max)
    assert.is_true(seen.ahead_ticks >= 0 and seen.ahead_ticks <= 64, seen.ahead_ticks)
    assert.is_nil(seen.back_ms)
    assert.same({}, seen.options)
    assert.equal(gen:info().namespace, seen.namespace)
    assert.is_true(seen.now_ms > 1.7e12 and seen.now_ms % 1 == 0)
  end)

  it("costs nothing if there is an id, because the policy is not called", function()
    local gen = help.open { policy = { api = 1, on_exhausted = error, on_clock_back = error } }
    for _ = 1, 1000 do assert(gen:next()) end
    assert(gen:batch(1000))
  end)
end)

describe("a policy that fails", function()
  local FAILS = {
    [[error "out of order"]], [[error {}]], [[error()]], [[local x = nil + 1]], [[return]], [[return nil]],
    [[return "perhaps"]], [[return "switch"]], [[return 5]], [[return {}]], [[return true]], [[return print]],
    [[return "wait", 0 / 0]], [[return "wait", 1 / 0]], [[return "wait", -1]], [[return "wait", 2 ^ 63]],
    [[return "wait", true]], [[return "wait", {}]], [[return "borrow", 0 / 0]], [[return "borrow", -1 / 0]],
    [[return "borrow", -1]], [[return "borrow", 2 ^ 63]], [[return "borrow", "soon", {}]], [[return "borrow", {}]],
    [[return "refuse", 5]], [[return "refuse", {}]], [[coroutine.yield "wait"]], [[return ("x"):rep(-1)]],
    [[return select(2, gen:next())]], [[return setmetatable({}, { __tostring = error })]],
    [[error(setmetatable({}, { __tostring = error }))]], [[error "a\27[31mb\nc"]],
    [[local f f = function() return f() + 1 end f()]], [[while true do end]],
    [[while true do pcall(function() while true do end end) end]], [[local f f = function() return f() end f()]],
  }

  local FAILING = [[
    local vesta = require "vesta"
    local path = ...
    for line in io.lines(path .. ".policies") do
      local ways = { "next", "next", "batch" }
      if jit or math.type then ways[4], ways[5] = "next_int", "batch_int" end
      local run = (loadstring or load)("local gen = ... " .. line)
      local gen
      gen = assert(vesta.open { path = path, wait_ms_max = 0, policy = { api = 1, name = "wrong",
        on_exhausted = function() return run(gen) end } })
      repeat local id = gen:next() until not id
      for _, way in ipairs(ways) do
        local id, message, code, wait_s
        repeat
          id, message, code, wait_s = gen[way](gen, 100)
          if code == "lease" then os.execute "sleep 0.02" end -- a busy machine: the window of 5 s is over
        until not id and code ~= "lease"
        assert((code == "full" or code == "ahead") and wait_s > 0, way .. ": " .. tostring(message))
        assert(not message:find("policy", 1, true), message)
      end
    end]]

  it("has no effect on the pause, is logged once, and never raises", function()
    local gen, made = help.open { layout = sixteen_a_s, ahead_ms_max = 0 }
    assert(gen:next())
    local out = assert(io.open(made.path .. ".policies", "w"))
    out:write(table.concat(FAILS, "\n"), "\n")
    out:close()
    local said, lines = help.run(FAILING, made.path), 0
    for line in said:gmatch "[^\n]+" do
      assert.matches("^vesta: policy wrong: .*on_exhausted .*. The fixed rules apply, and this is logged once$", line)
      lines = lines + 1
    end
    assert.equal(#FAILS, lines, said)
  end)

  it("may close the generator that calls it", function()
    for _, way in ipairs(WHO_ASKS) do
      local gen
      gen = opened { api = 1, on_exhausted = function()
        gen:close()
        return "borrow", 5000
      end }
      local id, code
      repeat id, _, code = gen[way](gen, 10) until not id and code ~= "lease"
      assert.equal("closed", code)
    end
  end)
end)

describe("a clock that is set back", function()
  -- Runs Lua code in which `set "-3"` sets the clock back by 3 s, with a generator that has issued an id before.
  -- The worker id is 1.  With another `how` the policy may change it.
  local function with_clock(policy, code, how)
    local name = help.name()
    local clock = help.path(name) .. ".clock"
    local library = help.state .. "/clock_shift.so"
    os.execute(("LD_PRELOAD= cc -shared -fPIC -o %s %s/spec/program/cli/clock_shift.c"):format(library, help.root))
    -- before a sanitizer's runtime, which hangs if it is first, and otherwise complains
    local variables = ("LD_PRELOAD=%s:$LD_PRELOAD ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 "
      .. "CLOCK_SHIFT=%s"):format(library, clock)
    local out = assert(io.open(clock, "w"))
    out:write "+0"
    out:close()
    return help.run_with(variables, ([[
      local vesta = require "vesta"
      local clock, path, name = ...
      local function set(shift)
        local file = assert(io.open(clock .. ".new", "w"))
        file:write(shift)
        file:close()
        assert(os.rename(clock .. ".new", clock))
      end
      local gen = assert(vesta.open { layout = "sign:1 time:41 seq:5 worker:17 unit=1ms epoch=2026-01-01T00:00:00Z",
        path = path, namespace = name, wait_ms_max = 5000, %s })
      local last = assert(gen:next())
      gen = assert(vesta.open { path = path, wait_ms_max = 0, policy = %s })
      local function take()
        local id, message, code, wait_s
        repeat
          id, message, code, wait_s = gen:next()
          if code == "lease" then os.execute "sleep 0.02" end -- a busy machine: the window of 5 s is over
        until code ~= "lease"
        if id then
          assert(#id > #last or id > last)
          last = id
        end
        return id, message, code, wait_s
      end
      %s]]):format(how or "worker = 1", policy, code), clock, help.path(name), name)
  end

  it("is passed to on_clock_back", function()
    assert.equal("refuse true true 1\n", with_clock([[{ api = 1, on_clock_back = function(ctx)
        io.write("refuse ", tostring(ctx.back_ms > 3e6 and ctx.back_ms <= 3.6e6 and ctx.back_ms % 1 == 0), " ",
          tostring(ctx.ahead_ticks == nil), " ", ctx.worker, "\n")
        return "refuse"
      end }]], 'set "-3600" take()'))
  end)

  it("borrow: ids continue, ascend, and end at the limit until the clock catches up", function()
    assert.equal("true clock_back true\n", with_clock('{ "borrow", borrow_ms_max = 500 }', [[
      set "-3600"
      local count, code, id = 0, nil, nil
      repeat
        id, _, code = take()
        if id then count = count + 1 end
      until not id
      local bounded = count >= 400 * 32 and count <= 502 * 32
      set "+2" -- trusted at once, because the step is less than ten seconds
      io.write(tostring(bounded), " ", code, " ", tostring(take() ~= nil), "\n")]]))
  end)

  it("refuse: the reason, the code and the time to wait; wait: the id, late", function()
    assert.matches("^the clock is back by 3%d%d%d%d%d%d ms %(policy refuse%) clock_back true\n$",
      with_clock('"refuse"', [[
      set "-3600"
      local _, message, code, wait_s = take()
      io.write(message, " ", code, " ", tostring(wait_s > 3000 and wait_s <= 3600), "\n")]]))
    assert.equal("true\n", with_clock('"wait"', [[
      set "-1"
      io.write(tostring(take() ~= nil), "\n")]]))
  end)

  -- Each ends with the reply to a second change within a minute.
  local SWITCHES = [[
      local first = gen:info().worker
      set "-3600"
      local id, message, code
      repeat id, message, code = gen:next() until code ~= "lease" -- claims take their time on a busy machine
      assert(id, message)
      local second, is_back = gen:info().worker, gen:explain(id).time < gen:explain(last).time
      set "-7200"
      local none
      none, _, code = gen:next()
      io.write(tostring(second ~= first), " ", tostring(is_back), " ", tostring(none), " ", code, " ",
        tostring(gen:info().worker == second), "\n")]]

  it("switch: an id of another worker id, with the present clock, at most once a minute", function()
    assert.equal("true true nil clock_back true\n", with_clock('"switch"', SWITCHES, "any_worker = true"))
  end)

  it("switch with choose_worker: the policy chooses the other worker id, and gets the one that is left", function()
    assert.equal("true true nil clock_back true\n", with_clock([[{ api = 1,
      on_clock_back = function() return "switch" end,
      choose_worker = function(ctx) return ctx.leaving < 9000 and ctx.leaving + 5 or 70 end }]],
      SWITCHES, "any_worker = true"))
  end)

  it("switch without a benefit, or from a worker id assigned by hand: the pause stays", function()
    assert.equal("clock_back 1\n", with_clock('"switch"', [[
      set "-3600"
      local _, _, code = take()
      io.write(code, " ", gen:info().worker, "\n")]]))
    assert.equal("clock_back true worker id %d is kept: no other is free\n",
      (with_clock([[{ api = 1, on_clock_back = function() return "switch" end,
        choose_worker = function(ctx) return ctx.leaving or 70 end }]], [[
      local first = gen:info().worker
      set "-3600"
      local _, _, code = gen:next()
      for _ = 1, 1000 do -- the keeper's message is complete after some time
        if gen:info().keeper:find "is free$" then break end
        os.execute "sleep 0.01"
      end
      io.write(code, " ", tostring(gen:info().worker == first), " ", gen:info().keeper, "\n")]], "any_worker = true")
        :gsub("id %d+", "id %%d")))
  end)
end)
