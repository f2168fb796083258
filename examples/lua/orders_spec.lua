--- orders_spec.lua -- tests of code that uses ids.  The test sets the clock of each generator.  Run: busted FILE
local testing = require "vesta.testing"

-- The code under test.
local function new_order(gen)
  local id, message, code = gen:next()
  if not id then return nil, code == "clock_back" and "try again later" or message end
  return { id = id, made_at = gen:explain(id).iso }
end

describe("an order", function()
  it("has the same id in each run", function()
    local gen = testing.generator { layout = "snowflake", worker = 7 }
    assert.same({ id = "2006515713438674944", made_at = "2026-01-01T00:00:00Z" }, new_order(gen))
  end)

  it("shows the time at which it was made", function()
    local gen, clock = testing.generator()
    clock:pass(1500)
    assert.equal("2026-01-01T00:00:01.500Z", new_order(gen).made_at)
  end)

  it("is rejected while the clock is behind", function()
    local gen, clock = testing.generator()
    assert(new_order(gen))
    clock:step(-3000)
    assert.same({ nil, "try again later" }, { new_order(gen) })
    clock:pass(3000)
    assert.is_table(new_order(gen))
  end)
end)
