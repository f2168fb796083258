local testing = require "vesta.testing"

local function world(given)
  given.policy = { "./pod.lua", pods = 4 }
  given.layout = given.layout or "snowflake"
  return testing.world(given)
end

describe("pod", function()
  it("takes the ordinal of the pod's name", function()
    assert.equal(3, (world { host = "orders-3" }:choose()))
  end)

  it("rejects an ordinal that is not the pods'", function()
    local worker, reason = world { host = "orders-4" }:choose()
    assert.is_nil(worker)
    assert.equal("orders-4: only ordinals below 4 have a worker id", reason)
  end)

  it("takes a free number on a host without an ordinal, and its own again", function()
    local host = world { host = "build", identity = "build" }
    host:claim { worker = 4, identity = "other" }
    assert.equal(5, (host:choose()))
    host:release(5)
    host:claim { worker = 6 }
    host:release(6)
    host:pass(60000)
    assert.equal(5, (host:choose()))
  end)

  it("takes what was released once no number is unused", function()
    local host = world { host = "build", layout = "sign:1 time:41 worker:3 seq:19 unit=1ms epoch=2020-01-01T00:00:00Z" }
    for worker = 4, 7 do host:claim { worker = worker } end
    assert.equal("no worker id from 4 to 7 is free", select(2, host:choose()))
    host:release(6)
    host:pass(60000)
    assert.equal(6, (host:choose()))
  end)
end)
