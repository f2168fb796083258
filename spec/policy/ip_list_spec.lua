--- The policy ip_list: a place in a list.  Runs under busted, and with `vesta policy test`.
local testing = require "vesta.testing"

local IPS = { "10.0.0.12", "10.0.0.21", "192.0.2.1" }

local function world_of(ips) return testing.world { policy = { "ip_list", ips = ips } } end

describe("ip_list", function()
  it("takes the position of its address, counted from 0", function()
    local world = world_of(IPS)
    assert.equal(2, world:choose())
    world.ip, world.identity = "10.0.0.12", "first"
    assert.equal(0, world:choose())
    world.ip, world.identity = "10.0.0.21", "second"
    assert.equal(1, world:choose())
  end)

  it("counts from the first number of the range", function()
    local world = world_of(IPS)
    world.range = { first = 100, last = 200 }
    assert.equal(102, (world:verdict "choose_worker"))
  end)

  it("rejects an address that is not in the list, and a host without one", function()
    local world = world_of(IPS)
    world.ip = "10.0.0.1"
    local worker, _, reason = world:verdict "choose_worker"
    assert.is_nil(worker)
    assert.equal("this host's address 10.0.0.1 is not among the 3 addresses of the option ips", reason)
    world.ip = nil
    worker, _, reason = world:verdict "choose_worker"
    assert.is_nil(worker)
    assert.equal("this host's address (there is none) is not among the 3 addresses of the option ips", reason)
  end)

  it("does not give one worker id to two processes of a host", function()
    local world = world_of(IPS)
    assert.equal(2, world:choose())
    world.identity = "another on the same host"
    assert.is_nil((world:choose()))
  end)

  it("rejects a list that is longer than the range", function()
    local world = world_of(IPS)
    world.range = { first = 0, last = 1 }
    local worker, _, reason = world:verdict "choose_worker"
    assert.is_nil(worker)
    assert.equal("the option ips has 3 addresses, but worker ids are 0 to 1", reason)
  end)
end)
