--- The policy twitter: a configured number and a checked clock.  Runs under busted, and with `vesta policy test`.
local testing = require "vesta.testing"

local function twitter() return testing.world { policy = { "twitter", worker = 7 }, layout = "twitter" } end

describe("twitter", function()
  it("has the number of its configuration, and no other", function()
    local world = twitter()
    assert.equal(7, world:choose())
    world:pass(3600000)
    assert.equal(7, world:choose())
  end)

  it("does not get its worker id while another process holds it", function()
    local world = twitter()
    world:claim { worker = 7, identity = "somebody" }
    assert.equal(7, (world:verdict "choose_worker"))
    local worker, reason = world:choose()
    assert.is_nil(worker)
    assert.equal("no claim succeeded in 10 attempts", reason)
    world:pass(world.lease_ms + 1)
    assert.equal(7, world:choose())
  end)

  it("starts only within 10 s of the mean of its peers' clocks", function()
    local world = twitter()
    assert.equal("go", (world:verdict "on_start"))
    for _, off_ms in ipairs { 10000, -10000 } do
      world.records = {}
      world:claim { worker = 1, seen_ms = world.now_ms + off_ms + 2000 }
      world:claim { worker = 2, seen_ms = world.now_ms + off_ms - 2000 }
      assert.equal("go", (world:verdict "on_start"))
      world.records[1].seen_ms = world.now_ms + math.floor(off_ms * 1.4)
      local word, _, reason = world:verdict "on_start"
      assert.equal("refuse", word)
      assert.equal(("the clock differs from the mean of its peers by %.0f ms, but at most 10000 are allowed")
        :format(math.abs(off_ms * 2.4 - 2000) / 2), reason)
    end
  end)

  it("ignores peers that are gone or silent", function()
    local world = twitter()
    world:claim { worker = 1, seen_ms = 0 }
    world:release(1)
    assert.equal("go", (world:verdict "on_start"))
    world:claim { worker = 2, seen_ms = 0, written_ms = world.now_ms - world.lease_ms - 1 }
    assert.equal("go", (world:verdict "on_start"))
  end)

  it("rejects any step back, however small", function()
    local world = twitter()
    world:step_clock(-1)
    local word, _, reason = world:verdict "on_clock_back"
    assert.equal("refuse", word)
    assert.equal("the clock is back by 1 ms", reason)
  end)
end)
