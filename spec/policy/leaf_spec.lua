--- The policy leaf: the same name, the same number.  Runs under busted, and with `vesta policy test`.
local testing = require "vesta.testing"

local function leaf() return testing.world { policy = "leaf", layout = "leaf", identity = "10.0.0.1:8080" } end

describe("leaf", function()
  it("gives new names the numbers in order", function()
    local world = leaf()
    for worker = 0, 3 do
      world.identity = "10.0.0." .. worker .. ":8080"
      assert.equal(worker, world:choose())
    end
  end)

  it("returns the worker id of a name after a clean stop, after a kill and after a year", function()
    local world = leaf()
    world:claim { worker = 0 }
    assert.equal(1, world:choose())
    world:claim { worker = 2 }
    assert.equal(1, (world:verdict "choose_worker")) -- killed: its window is not over, and the claim waits for it
    world:release(1)
    assert.equal(1, (world:verdict "choose_worker"))
    world:pass(365 * 86400000)
    assert.equal(1, (world:verdict "choose_worker"))
  end)

  it("distinguishes two processes of one address by their identity", function()
    local world = leaf()
    assert.equal(0, world:choose())
    world.identity = "10.0.0.1:8081"
    assert.equal(1, world:choose())
  end)

  it("rejects a clock that is behind the time this name recorded", function()
    local world = leaf()
    world.last_ms = world.now_ms
    assert.equal("go", (world:verdict "on_start"))
    world:step_clock(-700)
    local word, _, reason = world:verdict "on_start"
    assert.equal("refuse", word)
    assert.equal("the clock is 700 ms behind what this generator has recorded", reason)
  end)

  it("takes over the worker id that was free for longest once all 1024 are used", function()
    local world = leaf()
    for worker = 0, 1023 do world:claim { worker = worker } end
    local none, _, reason = world:verdict "choose_worker"
    assert.is_nil(none)
    assert.equal("the worker ids 0 to 1023 are all held", reason)
    world:pass(10000)
    world:release(77)
    world:release(700)
    world.records[700].until_ms = world.now_ms - 9000
    assert.equal(700, world:choose())
  end)

  it("starts only if the clock is near the mean of its peers' clocks", function()
    local world = leaf()
    assert.equal("go", (world:verdict "on_start")) -- there are no peers
    world:claim { worker = 1, seen_ms = world.now_ms - 5000 }
    world:claim { worker = 2, seen_ms = world.now_ms - 15000 }
    assert.equal("go", (world:verdict "on_start"))
    world:claim { worker = 3, seen_ms = world.now_ms - 10003 }
    local word, _, reason = world:verdict "on_start"
    assert.equal("refuse", word)
    assert.equal("the clock differs from the mean of its peers by 10001 ms, but at most 10000 are allowed", reason)
    world.policy = testing.world { policy = { "leaf", peers_ms_max = 10001 } }.policy
    assert.equal("go", (world:verdict "on_start"))
  end)

  it("waits twice the step up to 5 ms, and rejects larger steps", function()
    local world = leaf()
    world:step_clock(-5)
    local word, amount_ms = world:verdict "on_clock_back"
    assert.equal("wait", word)
    assert.equal(10, amount_ms)
    world:step_clock(-1)
    local refused, _, reason = world:verdict "on_clock_back"
    assert.equal("refuse", refused)
    assert.equal("the clock is back by 6 ms, and the longest wait is 5", reason)
  end)
end)
