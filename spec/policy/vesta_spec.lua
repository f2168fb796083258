--- The policy vesta: two ranges of numbers and a border.  Runs under busted, and with `vesta policy test`.
local testing = require "vesta.testing"

local function world_of(options)
  options[1] = "vesta"
  return testing.world { policy = options, identity = "mine" }
end

-- The numbers of a world's range from first to last become held.
local function fill(world, first, last)
  for worker = first, last do world:claim { worker = worker } end
end

describe("vesta", function()
  it("gives embedded generators 0 to 923, the lowest first, and rejects further ones", function()
    local world = world_of {}
    assert.equal(0, world:choose())
    world.identity = "another"
    assert.equal(1, world:choose())
    fill(world, 2, 923)
    world.identity = "one too many"
    local worker, reason = world:choose()
    assert.is_nil(worker)
    assert.equal("the worker ids 0 to 923 of role embedded are all held", reason)
  end)

  it("gives servers 924 to 1023, and rejects further ones", function()
    local world = world_of { role = "server" }
    assert.equal(924, world:choose())
    fill(world, 925, 1023)
    world.identity = "one too many"
    assert.equal("the worker ids 924 to 1023 of role server are all held", (select(2, world:choose())))
  end)

  it("moves the border: a holder on the wrong side gets another worker id at its next claim", function()
    local world = world_of { role = "server", border = 900 }
    assert.equal(900, world:choose())
    world:release(900)
    local moved = world_of { role = "server", border = 950 }
    moved.records = world.records
    assert.equal(950, moved:choose())
  end)

  it("takes the whole range where first and last say so", function()
    local world = world_of { first = 100, last = 101, border = 102 }
    assert.equal(100, world:choose())
    world.identity = "another"
    assert.equal(101, world:choose())
    world.identity = "third"
    assert.equal("the worker ids 100 to 101 of role embedded are all held", (select(2, world:choose())))
  end)

  it("returns a worker id to its last holder, and to others only if none is unused", function()
    local world = world_of { last = 2 }
    assert.equal(0, world:choose())
    world:release(0)
    world:pass(5000)
    world.identity = "another"
    assert.equal(1, world:choose())
    world.identity = "mine"
    assert.equal(0, world:choose())
    world.identity = "third"
    assert.equal(2, world:choose())
    world:release(1)
    world:pass(6000)
    world.identity = "fourth"
    assert.equal(1, world:choose())
  end)

  it("prefers a number whose time is over to one that ends ahead of the clock", function()
    local world = world_of { last = 1 }
    world:claim { worker = 0, held = false, until_ms = world.now_ms + 60000 }
    world:claim { worker = 1, held = false, until_ms = world.now_ms }
    assert.equal(1, (world:verdict "choose_worker"))
    world:claim { worker = 1 }
    assert.equal(0, (world:verdict "choose_worker"))
  end)

  it("does not take a number from a holder who is only silent for a while", function()
    local world = world_of { last = 0 }
    fill(world, 0, 0)
    world:pass(world.lease_ms)
    assert.is_nil((world:verdict "choose_worker"))
    world:pass(1)
    assert.equal(0, (world:verdict "choose_worker"))
  end)

  it("gives two processes of one host two worker ids", function()
    local world = world_of {}
    world.identity = "host-0/a.gen"
    assert.equal(0, world:choose())
    world.identity = "host-0/b.gen"
    assert.equal(1, world:choose())
  end)

  it("chooses no worker id while the store is down, and its own again afterwards", function()
    local world = world_of {}
    assert.equal(0, world:choose())
    world:store_down()
    local worker, reason = world:choose()
    assert.is_nil(worker)
    assert.equal("the store is down", reason)
    world:store_up()
    world:pass(5000)
    assert.equal(0, (world:verdict "choose_worker"))
  end)

  it("switches to another worker id when the clock goes back", function()
    local world = world_of {}
    world:step_clock(-1)
    assert.equal("switch", (world:verdict "on_clock_back"))
    local worker = world:choose()
    world:pass(1000000) -- its lease is over, and it would be the one to have again
    assert.equal(worker, (world:verdict "choose_worker"))
    assert.equal(worker + 1, (world:verdict("choose_worker", { leaving = worker })))
  end)
end)
