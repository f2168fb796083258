--- The policy wait: late is better than wrong.  Runs under busted, and with `vesta policy test`.
local testing = require "vesta.testing"

describe("wait", function()
  it("sits a step back out", function()
    local world = testing.world { policy = "wait" }
    world:step_clock(-3000)
    local word, amount_ms = world:verdict "on_clock_back"
    assert.equal("wait", word)
    assert.equal(5000, amount_ms)
  end)

  it("refuses a step that is longer than anybody may wait, and says why", function()
    local world = testing.world { policy = { "wait", wait_ms_max = 1000 } }
    world:step_clock(-1000)
    assert.equal("wait", (world:verdict "on_clock_back"))
    world:step_clock(-1)
    local word, amount_ms, reason = world:verdict "on_clock_back"
    assert.equal("refuse", word)
    assert.is_nil(amount_ms)
    assert.equal("the clock is back by 1001 ms, and the longest wait is 1000", reason)
  end)

  it("waits for ids that the clock has yet to give", function()
    local word, amount_ms = testing.world({ policy = { "wait", wait_ms_max = 70 } }):verdict "on_exhausted"
    assert.equal("wait", word)
    assert.equal(70, amount_ms)
  end)
end)
