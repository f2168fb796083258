--- The policy any: the choice without a policy.  Runs under busted, and with `vesta policy test`; that it decides as
-- the core does is held by spec/policy/choose_policy.c.
local testing = require "vesta.testing"

local function small() return testing.world { policy = "any", layout = "yitter", identity = "mine" } end

describe("any", function()
  it("takes one's own number, the one that was written last", function()
    local world = small()
    world:claim { worker = 5, identity = world.identity }
    world:pass(10)
    world:claim { worker = 3, identity = world.identity }
    world:pass(5000)
    assert.equal(3, (world:verdict "choose_worker"))
  end)

  it("then one that was never used, each by and by", function()
    local world, seen, count = small(), {}, 0
    for _, worker in ipairs { 0, 1, 17, 63 } do world:claim { worker = worker } end
    for random = 0, 599 do
      local worker = world:verdict("choose_worker", { random = random * 7919 })
      assert.is_nil(world.records[worker])
      if not seen[worker] then count = count + 1 end
      seen[worker] = true
    end
    assert.equal(60, count)
  end)

  it("lets a hundred who begin together have a number each", function()
    local world, seen = testing.world { policy = "any", layout = "leaf" }, {}
    for i = 1, 100 do
      world.identity, world.random = "pod-" .. i, i * 0.6180339887 % 1
      local worker = world:choose()
      assert.is_nil(seen[worker])
      seen[worker] = true
    end
  end)

  it("then the one free for longest, then one's own that ends ahead of the clock, then none", function()
    local world = small()
    for worker = 0, 63 do world:claim { worker = worker } end
    local none, _, reason = world:verdict "choose_worker"
    assert.is_nil(none)
    assert.equal("the worker ids 0 to 63 are all held", reason)
    world.records[9].identity = world.identity
    assert.equal(9, (world:verdict "choose_worker"))
    world:release(30)
    world:release(40)
    world.records[40].until_ms = world.now_ms - 1
    assert.equal(40, (world:verdict "choose_worker"))
  end)
end)
