--- The policy switch: another number has no past.  Runs under busted, and with `vesta policy test`.
local testing = require "vesta.testing"

describe("switch", function()
  it("waits a small step out", function()
    local world = testing.world { policy = "switch" }
    world:step_clock(-10)
    local word, amount_ms = world:verdict "on_clock_back"
    assert.equal("wait", word)
    assert.equal(10, amount_ms)
  end)

  it("wants another number for a larger one", function()
    local world = testing.world { policy = { "switch", wait_ms_max = 100 } }
    world:step_clock(-101)
    assert.equal("switch", (world:verdict "on_clock_back"))
  end)

  it("has no word where more is asked for than there is: a new number would not help", function()
    local world = testing.world { policy = "switch" }
    assert.has_error(function() world:verdict "on_exhausted" end)
  end)
end)
