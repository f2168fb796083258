local testing = require "vesta.testing"

local NOON_MS = 1767268800000 -- 2026-01-01T12:00:00Z
local HOUR_MS = 3600 * 1000

local function asked(now_ms, back_ms, zone)
  local world = testing.world { policy = { "./hours.lua", zone = zone }, now_ms = now_ms + back_ms }
  world:step_clock(-back_ms)
  return world:verdict "on_clock_back"
end

describe("hours", function()
  it("waits for a short step at any time", function()
    assert.equal("wait", (asked(NOON_MS, 10)))
    assert.equal("wait", (asked(NOON_MS + 12 * HOUR_MS, 10)))
  end)

  it("tolerates more at night", function()
    assert.same({ "borrow", 100 }, { asked(NOON_MS, 100) })
    assert.equal("the clock is back by 101 ms at 12 o'clock, and at most 100 ms are tolerated",
      (select(3, asked(NOON_MS, 101))))
    assert.same({ "borrow", 5000 }, { asked(NOON_MS + 12 * HOUR_MS, 5000) })
    assert.equal("refuse", (asked(NOON_MS + 12 * HOUR_MS, 5001)))
  end)

  it("reads the clocks of its zone", function()
    assert.equal("borrow", (asked(NOON_MS, 3000, "Asia/Shanghai"))) -- 20:00
    assert.equal("refuse", (asked(NOON_MS - 1, 3000, "Asia/Shanghai")))
  end)
end)
