--- vesta.testing: a world with a clock that the policy's author sets.
local testing = require "vesta.testing"
local vesta = require "vesta"

local MOMENT = "2026-01-31T02:00:00Z"

-- Creates a world whose policy returns its inputs.
local function world_of(functions, more)
  local policy, given = { api = 1 }, { policy = nil }
  for hook, f in pairs(functions) do policy[hook] = f end
  for key, value in pairs(more or {}) do given[key] = value end
  given.policy = policy
  return testing.world(given)
end

-- Returns the ctx of one call.
local function told(world, hook, more)
  local seen
  world.policy.functions[hook] = function(ctx)
    seen = ctx
    return hook ~= "choose_worker" and error "seen" or nil
  end
  pcall(world.verdict, world, hook, more)
  return seen
end

local function raised(f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok)
  return message
end

describe("testing.world", function()
  it("has every preset of the library", function()
    local known = 0
    for _, preset in ipairs(vesta.presets()) do
      local said = testing.PRESETS[preset.name]
      assert.is_string(said, preset.name)
      for word in said:gmatch "%S+" do
        assert.is_truthy((" " .. preset.text .. " "):find(" " .. word .. " ", 1, true), preset.name .. " " .. word)
      end
      known = known + 1
    end
    for _ in pairs(testing.PRESETS) do known = known - 1 end
    assert.equal(0, known)
  end)

  it("raises at the caller's line for invalid arguments", function()
    assert.matches("testing_spec.lua:%d+: testing.world: a table with a policy", raised(function() testing.world() end))
    assert.matches('there is no "now", did you mean', raised(function() testing.world { policy = "wait", now = 1 } end))
    for _, env in ipairs { { "REGION" }, { REGION = true }, { REGION = 5 }, "REGION" } do
      assert.matches("testing_spec.lua:%d+: testing.world: env must be a table of variables, like { REGION",
        raised(function() testing.world { policy = "wait", env = env } end))
    end
    assert.matches('there is no such policy: use "any"', raised(function() testing.world { policy = "weit" } end))
    assert.matches('there is no layout "snowflak", did you mean "snowflake"?',
      raised(function() testing.world { policy = "wait", layout = "snowflak" } end), 1, true)
    assert.matches('layout "x" is not a preset', raised(function() testing.world { policy = "wait", layout = "x" } end))
  end)
end)

describe("a field of ctx", function()
  local function ctx_of(given, more) return told(world_of({ choose_worker = error }, given), "choose_worker", more) end

  it("is absent if a test sets it to false", function()
    local ctx = ctx_of { ordinal = false, ip = false, host = false, identity = false }
    assert.same({}, { ctx.ordinal, ctx.ip, ctx.host, ctx.identity, ctx.leaving })
    assert.is_nil(ctx_of({}, { ordinal = false }).ordinal)
    assert.equal(7, ctx_of { leaving = 7 }.leaving)
    assert.is_nil(told(world_of { on_start = error }, "on_start").last_ms)
  end)

  it("is the ordinal in the host's name, like in a server", function()
    local NONE = "none"
    for host, ordinal in pairs { ["orders-7"] = 7, ["a-b-012.svc-3.local"] = 12, ["orders-999999999"] = 999999999,
      ["orders-1000000000"] = NONE, orders = NONE, orders7 = NONE, ["orders-"] = NONE, ["-5"] = 5, ["7"] = NONE,
      ["orders-7a"] = NONE, [""] = NONE, ["a.b-7"] = NONE } do
      assert.equal(ordinal, ctx_of { host = host }.ordinal or NONE, host)
    end
    assert.equal(3, ctx_of { host = "orders-7", ordinal = 3 }.ordinal)
    local world = world_of { choose_worker = error }
    world.host = "orders-5"
    assert.equal(5, told(world, "choose_worker").ordinal)
  end)

  it("has its type, and a call gets no other field", function()
    for text, given in pairs {
      ["ordinal must be a whole number, or false for a server that has none, not '7'"] = { ordinal = "7" },
      ["ip must be a text, or false for a server that has none, not 10"] = { ip = 10 },
      ["worker must be a whole number, not boolean"] = { worker = false },
      ["now_ms must be a whole number of milliseconds or a text such as " .. MOMENT .. ", not 0.5"] = { now_ms = 0.5 },
      ["milliseconds or a text such as " .. MOMENT .. ", not '02:00'"] = { now_ms = "02:00" },
    } do
      local message = raised(function() world_of({ choose_worker = error }, given) end)
      assert.is_truthy(message:find("testing.world: ", 1, true) and message:find(text, 1, true), message)
    end
    local world = world_of { choose_worker = error }
    assert.matches('testing_spec.lua:%d+: world:verdict: choose_worker has no input "ordnal", did you mean "ordinal"',
      raised(function() world:verdict("choose_worker", { ordnal = 3 }) end))
    assert.matches("testing_spec.lua:%d+: world:verdict: range must be two whole numbers",
      raised(function() world:verdict("choose_worker", { range = { first = 5, last = 3 } }) end))
  end)
end)

describe("a moment", function()
  it("may be a text", function()
    for text, ms in pairs {
      ["1970-01-01T00:00:00Z"] = 0, ["2026-01-01T12:00:00Z"] = 1767268800000,
      ["2024-02-29T23:59:59.5Z"] = 1709251199500,
      ["2000-03-01T00:00:00.007Z"] = 951868800007, ["1969-12-31T23:59:59.999Z"] = -1,
    } do
      local world = world_of({ on_clock_back = error }, { now_ms = text })
      assert.equal(ms, told(world, "on_clock_back").now_ms)
      world:step_clock(-5)
      assert.equal(5, told(world, "on_clock_back").back_ms)
    end
    local world = world_of { on_clock_back = function(ctx) return "refuse", tostring(ctx.now_ms) end }
    assert.equal("1767268800000", (select(3, world:verdict("on_clock_back", { now_ms = "2026-01-01T12:00:00Z" }))))
    for _, text in ipairs { "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01", "2026-01-01T00:00:00", "" } do
      assert.has_error(function() world_of({ on_clock_back = error }, { now_ms = text }) end)
    end
  end)
end)

describe("world:verdict", function()
  it("passes how far the clock was set back, which does not change as time passes", function()
    local world = world_of({ on_clock_back = error }, { worker = 7, ahead_ms_max = 5 })
    world:pass(1000)
    assert.equal(0, told(world, "on_clock_back").back_ms)
    world:step_clock(-3000)
    local ctx = told(world, "on_clock_back")
    assert.same({ 3000, 7, 5, "default" }, { ctx.back_ms, ctx.worker, ctx.ahead_ms_max, ctx.namespace })
    world:pass(1000)
    assert.equal(2000, told(world, "on_clock_back").back_ms)
    world:step_clock(5000)
    assert.equal(0, told(world, "on_clock_back").back_ms)
    assert.equal(77, told(world, "on_clock_back", { back_ms = 77 }).back_ms)
  end)

  it("passes how far the cursor is ahead, in ticks of the layout", function()
    local world = world_of({ on_exhausted = error }, { layout = "snowflake" })
    assert.equal(0, told(world, "on_exhausted").ahead_ticks)
    world:run_ahead(20)
    assert.equal(20 * 4096, told(world, "on_exhausted").ahead_ticks)
    world:step_clock(-5)
    assert.equal(25 * 4096, told(world, "on_exhausted").ahead_ticks)
    world = world_of({ on_exhausted = error }, { layout = "sign:1 time:31 seq:4 worker:28 unit=1s epoch=0" })
    world:run_ahead(2000)
    assert.equal(2 * 16, told(world, "on_exhausted").ahead_ticks)
  end)

  it("passes other holders of worker ids, and how long the store is down", function()
    local world = world_of({ on_start = error, on_store_down = error, on_lease_lost = error }, { last_ms = 5 })
    world:claim { worker = 3, seen_ms = 99 }
    world:claim { worker = 2 }
    world:release(2)
    local ctx = told(world, "on_start")
    assert.same({ { worker = 3, seen_ms = 99 } }, ctx.peers)
    assert.equal(5, ctx.last_ms)
    world:store_down()
    world:pass(2500)
    ctx = told(world, "on_store_down")
    assert.same({ 2500, 600000 - 2500 }, { ctx.down_ms, ctx.left_ms })
    assert.is_nil((world:claim { worker = 5 }))
    assert.same({ nil, "the store is down" }, { world:choose() })
    local choosing = world_of { choose_worker = error }
    choosing:store_down()
    assert.matches("choose_worker is never called", raised(choosing.verdict, choosing, "choose_worker"))
    world:store_up()
    assert.equal(0, told(world, "on_store_down").down_ms)
    assert.equal(1, told(world, "on_lease_lost").worker)
  end)

  it("raises for an unknown function, or one that the policy lacks", function()
    local world = world_of { on_start = function() return "go" end }
    assert.matches('no function "on_clockback", did you mean "on_clock_back"',
      raised(world.verdict, world, "on_clockback"))
    assert.matches("the policy has no on_exhausted", raised(world.verdict, world, "on_exhausted"))
  end)

  it("raises if the policy fails", function()
    for _, answer in ipairs { "perhaps", 0 / 0, 5, false, {} } do
      local world = world_of { on_start = function() return answer end }
      assert.matches("on_start returned .*; expected: 'go' or 'refuse'", raised(world.verdict, world, "on_start"))
    end
    for _, answer in ipairs { -1, 0.5, 0 / 0, 1 / 0, -1 / 0, 2 ^ 63, "7", true, {} } do
      local world = world_of { choose_worker = function() return answer end }
      assert.matches("choose_worker returned .*; expected: a worker id",
        raised(world.verdict, world, "choose_worker"))
    end
  end)
end)

describe("world:choose", function()
  local function lowest_free(ctx)
    for worker = ctx.options.first or 0, ctx.range.last do
      local taken = false
      for _, record in ipairs(ctx.records) do
        if record.worker == worker and record.held and not record.expired then taken = true end
      end
      if not taken then return worker end
    end
    return nil, "all " .. ctx.range.last + 1 .. " are taken"
  end

  it("claims the policy's choice from the existing records", function()
    local world = world_of({ choose_worker = lowest_free }, { layout = "js53" })
    assert.equal(0, (world:choose()))
    world.identity, world.host = "host-1", "host-1"
    assert.equal(1, (world:choose()))
    world:release(0)
    world.identity = "host-2"
    assert.equal(0, (world:choose()))
    assert.equal(2, world.records[0].epoch)
  end)

  it("takes a worker id whose holder has been silent for too long", function()
    local world = world_of({ choose_worker = lowest_free }, { layout = "js53" })
    world:claim { worker = 0 }
    assert.equal(1, (world:choose()))
    world:pass(600001)
    world.identity = "another"
    assert.equal(0, (world:choose()))
  end)

  it("returns the policy's reason if it chooses none", function()
    local world = world_of({ choose_worker = lowest_free }, { layout = "js53" })
    for worker = 0, 31 do world:claim { worker = worker } end
    local worker, reason = world:choose()
    assert.is_nil(worker)
    assert.equal("all 32 are taken", reason)
  end)

  it("calls the policy again after a lost claim, but not forever", function()
    local attempts = {}
    local world = world_of { choose_worker = function(ctx)
      attempts[#attempts + 1] = ctx.attempt
      return 7
    end }
    world:claim { worker = 7 }
    assert.is_nil((world:choose()))
    assert.same({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, attempts)
    world = world_of({ choose_worker = function() return 32 end }, { layout = "js53" })
    assert.matches("returned 32, but worker ids are 0 to 31", raised(world.choose, world))
  end)
end)

describe("testing.generator", function()
  it("makes the same ids in each run, and only as a private generator", function()
    local function ids(more)
      local gen, clock = testing.generator(more)
      local batch = assert(gen:batch(3))
      clock:pass(1)
      batch[4] = assert(gen:next())
      return batch, gen
    end
    local first, gen = ids { layout = "snowflake", worker = 7 }
    assert.same(first, (ids { layout = "snowflake", worker = 7 }))
    local info = gen:info()
    assert.same({ "testing", "", "", 7, "for tests only: its ids repeat" },
      { info.namespace, info.path, info.store, info.worker, info.warning })
    assert.equal("vesta generator (testing, private)", tostring(gen))
    assert.equal("2026-01-01T00:00:00.001Z", gen:explain(first[4]).iso)
    assert.is_nil((gen:keep()))
  end)

  it("has a clock that moves only on request", function()
    local gen, clock = testing.generator { layout = "snowflake", now_ms = 1700000000000 }
    local id, code, wait_s, _
    local made = 0
    repeat
      id, _, code, wait_s = gen:next()
      made = made + (id and 1 or 0)
    until not id
    assert.same({ 4096, "full", 0.001 }, { made, code, wait_s })
    assert.equal(1700000000001, clock:pass(1))
    assert.equal(1700000000001, gen:explain(assert(gen:next())).unix_ms)
    clock:step(-3000)
    assert.same({ nil, "clock_back", 3 }, { gen:next(), select(3, gen:next()) })
    clock:step(3000 + 3600000)
    assert.equal("clock_ahead", (select(3, gen:next())))
    assert.equal(1700003600001, clock:now_ms())
  end)

  it("accepts the clock's time as text", function()
    local _, clock = testing.generator { now_ms = "2026-06-01T12:00:00Z" }
    assert.equal(1780315200000, clock:now_ms())
    assert.matches("testing_spec.lua:%d+: testing.generator: now_ms must be",
      raised(function() testing.generator { now_ms = "noon" } end))
  end)

  it("waits by the test's clock", function()
    local gen, clock = testing.generator { layout = "snowflake", wait_ms_max = 5 }
    local began = os.time()
    assert.equal(10000, #assert(gen:batch(10000)))
    assert.equal(1767225600002, clock:now_ms())
    clock:step(-60000)
    assert.equal("clock_back", (select(3, gen:next())))
    gen, clock = testing.generator { layout = "vesta-second", wait_ms_max = 86400000 }
    assert(gen:next())
    clock:step(-3600000)
    assert(gen:next())
    assert.is_true(os.time() - began < 60)
  end)

  it("calls a policy with the test's clock", function()
    local seen
    local function stepped_back(ms)
      local gen, clock = testing.generator { policy = { api = 1, name = "steps", on_clock_back = function(ctx)
        seen = ctx
        if ctx.back_ms <= 2000 then return "borrow" end
        return "refuse", "back by " .. ctx.back_ms .. " ms"
      end } }
      assert(gen:next())
      clock:step(-ms)
      return gen:next()
    end
    assert(stepped_back(1500))
    assert.same({ 1767225598500, 1500, "testing", 1 }, { seen.now_ms, seen.back_ms, seen.namespace, seen.worker })
    local id, message, code = stepped_back(2500)
    assert.same({ nil, "back by 2500 ms (policy steps)", "clock_back" }, { id, message, code })
  end)

  it("lets a policy wait by the test's clock", function()
    local gen, clock = testing.generator { policy = { "wait", wait_ms_max = 5000 } }
    assert(gen:next())
    clock:step(-3000)
    assert(gen:next())
    assert.equal(1767225600000, clock:now_ms())
  end)

  it("finds the policies of the library, and those next to the spec", function()
    for _, name in ipairs { "switch", "twitter", "leaf", "uid", "any" } do
      local gen = testing.generator { policy = name == "twitter" and { name, worker = 3 } or name }
      assert(gen:next(), name)
    end
    local gen = testing.generator { policy = "../../lua/vesta/policy/refuse.lua" }
    assert(gen:next())
    assert.matches("testing_spec.lua:%d+: testing.generator: policy \"[^\"]*spec/lua/none.lua\".*"
      .. "relative to the folder of the spec", raised(function() testing.generator { policy = "./none.lua" } end))
    assert.matches("refuses to start: not today", raised(testing.generator,
      { policy = { api = 1, name = "p", on_start = function() return "refuse", "not today" end } }))
  end)

  it("has no option of production generators", function()
    for name, value in pairs { path = "x.gen", store = "file:/tmp", namespace = "orders", identity = "a",
      lease = "local", group = "root", unsafe_private = true, any_worker = true, clock_ms = 5 } do
      local message = raised(function() testing.generator { [name] = value } end)
      assert.matches('testing_spec.lua:%d+: testing.generator: unknown option "' .. name .. '"', message)
    end
    assert.matches('unknown option "layot", did you mean "layout"', raised(testing.generator, { layot = "x" }))
    assert.matches("testing_spec.lua:%d+: testing.generator: .*there is no preset 'x'",
      raised(function() testing.generator { layout = "x" } end))
    assert.matches("testing_spec.lua:%d+: testing.generator: a table of options is expected, not 5",
      raised(function() testing.generator(5) end))
    assert.matches('unknown option "clock_ms"', raised(vesta.open, { clock_ms = 5 }))
  end)
end)
