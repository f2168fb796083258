--- The policy uid: a fresh number each time.  Runs under busted, and with `vesta policy test`.
local testing = require "vesta.testing"

describe("uid", function()
  it("takes a new worker id at each start, also for the same name", function()
    local world = testing.world { policy = "uid", layout = "uid", identity = "mine" }
    for start = 0, 99 do
      assert.equal(start, world:choose())
      if start % 2 == 0 then world:release(start) end
      world:pass(86400000)
    end
  end)

  it("reuses none until the field is full, then the one that was free for longest", function()
    local world = testing.world { policy = { "uid", first = 2, last = 5 }, layout = "uid", identity = "mine" }
    for worker = 2, 5 do
      assert.equal(worker, world:choose())
      world:pass(worker == 3 and 1 or 10000)
    end
    for _, worker in ipairs { 5, 4, 2 } do world:release(worker) end
    world:pass(10000)
    world.identity = "new"
    assert.equal(2, world:choose())
    world.identity = "newer"
    assert.equal(4, world:choose())
  end)

  it("fills holes before it uses a number again, and refuses where all are held", function()
    local world = testing.world { policy = { "uid", last = 3 }, layout = "uid", identity = "mine" }
    world:claim { worker = 3 }
    world:claim { worker = 0 }
    world:release(0)
    world:pass(10000)
    assert.equal(1, world:choose())
    for worker = 0, 3 do world:claim { worker = worker, identity = "host-" .. worker } end
    world.records[1].identity = "somebody"
    local worker, _, reason = world:verdict "choose_worker"
    assert.is_nil(worker)
    assert.equal("the worker ids 0 to 3 are all held", reason)
  end)

  it("never returns a worker id that the layout cannot hold", function()
    local world = testing.world { policy = "uid", layout = "js53", identity = "mine" }
    for worker = 0, 31 do world:claim { worker = worker } end
    assert.is_nil((world:verdict "choose_worker"))
  end)

  it("issues ids up to eight seconds ahead of the clock", function()
    local word, amount_ms = testing.world({ policy = "uid" }):verdict "on_exhausted"
    assert.equal("borrow", word)
    assert.equal(8000, amount_ms)
    word, amount_ms = testing.world({ policy = { "uid", borrow_ms_max = 0 } }):verdict "on_exhausted"
    assert.equal("borrow", word)
    assert.equal(0, amount_ms)
  end)

  it("bridges a step back of eight seconds, and rejects a longer one", function()
    local world = testing.world { policy = "uid" }
    world:step_clock(-8000)
    local word, amount_ms = world:verdict "on_clock_back"
    assert.equal("borrow", word)
    assert.equal(8000, amount_ms)
    world:step_clock(-1)
    local refused, _, reason = world:verdict "on_clock_back"
    assert.equal("refuse", refused)
    assert.equal("the clock is back by 8001 ms, and ids may be at most 8000 ms ahead", reason)
  end)
end)
