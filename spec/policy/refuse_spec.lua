--- The policy refuse: no, and why.  Runs under busted, and with `vesta policy test`.
local testing = require "vesta.testing"

describe("refuse", function()
  it("says by how much the clock is back", function()
    local world = testing.world { policy = "refuse" }
    world:step_clock(-3000)
    world:pass(500) -- it goes on from there
    local word, _, reason = world:verdict "on_clock_back"
    assert.equal("refuse", word)
    assert.equal("the clock is back by 2500 ms", reason)
  end)

  it("says no where more is asked for than there is", function()
    local word, _, reason = testing.world({ policy = "refuse" }):verdict "on_exhausted"
    assert.equal("refuse", word)
    assert.equal("more ids are requested than the clock allows", reason)
  end)
end)
