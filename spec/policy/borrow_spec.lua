--- The policy borrow: early is better than late.  Runs under busted, and with `vesta policy test`.
local testing = require "vesta.testing"

describe("borrow", function()
  it("goes on, up to its bound, however far the clock is back", function()
    local world = testing.world { policy = { "borrow", borrow_ms_max = 500 } }
    for _, step_ms in ipairs { -1, -3000, -86400000 } do
      world:step_clock(step_ms)
      local word, amount_ms = world:verdict "on_clock_back"
      assert.equal("borrow", word)
      assert.equal(500, amount_ms)
    end
  end)

  it("goes on for a second unless told otherwise", function()
    local world = testing.world { policy = "borrow" }
    assert.equal(1000, (select(2, world:verdict "on_clock_back")))
    world:run_ahead(20)
    assert.equal(1000, (select(2, world:verdict "on_exhausted")))
  end)
end)
