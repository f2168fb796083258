--- The policy butterfly_db: numbers stay low.  Runs under busted, and with `vesta policy test`.
local testing = require "vesta.testing"

-- Numbers 0 to last are held, and a while ago.
local function world_with(last)
  local world = testing.world { policy = "butterfly_db", layout = "butterfly" }
  for worker = 0, last do world:claim { worker = worker } end
  world:pass(10000)
  world.identity = "new"
  return world
end

local function choice(world) return (world:verdict "choose_worker") end

describe("butterfly_db", function()
  it("starts with 0, and continues after the highest", function()
    local world = world_with(-1)
    for worker = 0, 5 do
      world.identity = "pod-" .. worker
      assert.equal(worker, world:choose())
    end
  end)

  it("takes the lowest released worker id, then the lowest expired one", function()
    local world = world_with(9)
    world.records[3].written_ms = world.now_ms - world.lease_ms - 1
    world.records[5].written_ms = world.now_ms - world.lease_ms - 1
    world:release(8)
    world:release(6)
    assert.equal(6, world:choose())
    assert.equal(8, choice(world_with(7))) -- as many as were there; this world has none free
    world.identity = "second"
    assert.equal(8, world:choose())
    world.identity = "third"
    assert.equal(3, world:choose())
    world.identity = "fourth"
    assert.equal(5, world:choose())
    world.identity = "fifth"
    assert.equal(10, world:choose())
  end)

  it("reuses worker ids after clean restarts", function()
    local world = world_with(3)
    for restart = 1, 100 do
      world:release(restart % 4)
      world.identity = "restart-" .. restart
      assert.equal(restart % 4, world:choose())
      world:pass(10000)
    end
  end)

  it("takes holes below the highest once the highest is reached, then what ends ahead of the clock", function()
    local world = world_with(1)
    world:claim { worker = 8191 }
    assert.equal(2, choice(world))
    for worker = 2, 8190 do world:claim { worker = worker } end
    world.records[9].held, world.records[9].until_ms = false, world.now_ms + 60000
    assert.equal(9, choice(world))
    world.records[9].held = true
    local worker, _, reason = world:verdict "choose_worker"
    assert.is_nil(worker)
    assert.equal("the worker ids 0 to 8191 are all held", reason)
  end)

  it("leaves a released worker id that ends ahead of the clock", function()
    local world = world_with(1)
    world:release(0)
    world.records[0].until_ms = world.now_ms + 1
    assert.equal(2, choice(world))
    world:pass(1)
    assert.equal(0, choice(world))
  end)
end)
