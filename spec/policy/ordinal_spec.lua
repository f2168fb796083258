--- The policy ordinal: orders-7 is worker 7.  Runs under busted, and with `vesta policy test`.
local testing = require "vesta.testing"

local function ordinal(options)
  options[1] = "ordinal"
  return testing.world { policy = options, host = "orders-7", ordinal = 7, identity = "orders-7" }
end

describe("ordinal", function()
  it("takes the ordinal of its host's name", function()
    assert.equal(7, ordinal({}):choose())
  end)

  it("adds an offset, so that two sets can share a namespace", function()
    assert.equal(107, ordinal({ offset = 100 }):choose())
  end)

  it("rejects an ordinal beyond the range, and does not truncate it", function()
    local world = ordinal { offset = 1000 }
    assert.equal(1007, (world:verdict "choose_worker"))
    for _, number in ipairs { 24, 1024, 2 ^ 40 } do
      world.ordinal = number
      local worker, _, reason = world:verdict "choose_worker"
      assert.is_nil(worker)
      assert.equal(("ordinal %.0f and offset 1000 make %.0f, but worker ids are 0 to 1023")
        :format(number, number + 1000), reason)
    end
    world.range = { first = 1010, last = 1023 }
    world.ordinal = 9
    assert.is_nil((world:verdict "choose_worker"))
  end)

  it("rejects a name without a number", function()
    local world = ordinal {}
    world.host, world.ordinal = "orders", nil
    local worker, _, reason = world:verdict "choose_worker"
    assert.is_nil(worker)
    assert.equal("the host's name orders does not end in - and a number", reason)
  end)

  it("waits for the old pod with the same ordinal, and returns after a kill", function()
    local world = ordinal {}
    world:claim { worker = 7, identity = "old-7" }
    assert.is_nil((world:choose()))
    world:release(7)
    assert.equal(7, world:choose())
    assert.equal(7, world:choose())
  end)
end)
