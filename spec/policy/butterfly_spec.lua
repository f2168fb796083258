--- The policy butterfly: a hash, a probe, and twice the slots.  Runs under busted, and with `vesta policy test`.
local testing = require "vesta.testing"
local hash32 = require "vesta.policy.helpers".hash32

local function butterfly() return testing.world { policy = "butterfly", layout = "butterfly", identity = "mine" } end

-- Slots are held by others from first to last.
local function fill(world, first, last)
  for worker = first, last do
    if not world.records[worker] then world:claim { worker = worker } end
  end
end

describe("butterfly", function()
  it("starts at the hash of the identity, in the first sixteen slots", function()
    local world = butterfly()
    for i = 1, 40 do
      world.identity = "pod-" .. i
      assert.equal(hash32(world.identity) % 16, (world:verdict "choose_worker"))
    end
  end)

  it("begins anywhere where there is no identity", function()
    local world = butterfly()
    world.identity = nil
    for slot = 0, 15 do
      assert.equal(slot, (world:verdict("choose_worker", { random = 16000 + slot })))
    end
  end)

  it("takes the next free slot, and wraps around after sixteen", function()
    local world = butterfly()
    local slot = hash32(world.identity) % 16
    for step = 0, 15 do
      local next_slot = (slot + step) % 16
      assert.equal(next_slot, (world:verdict "choose_worker"))
      world:claim { worker = next_slot }
    end
  end)

  it("doubles the slots if none is free, up to 8192, and then rejects", function()
    local world, first = butterfly(), 0
    for _, slots in ipairs { 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192 } do
      local worker = world:verdict "choose_worker"
      assert.is_true(worker >= first and worker < slots)
      assert.equal(first + hash32(world.identity) % (slots - first), worker)
      fill(world, first, slots - 1)
      first = slots
    end
    local worker, _, reason = world:verdict "choose_worker"
    assert.is_nil(worker)
    assert.equal("the worker ids 0 to 8191 are all held", reason)
  end)

  it("has slots that are no power of two", function()
    local world = butterfly()
    world.range = { first = 3, last = 20 }
    fill(world, 3, 18)
    local worker = world:verdict "choose_worker"
    assert.is_true(worker == 19 or worker == 20)
    fill(world, 3, 20)
    assert.is_nil((world:verdict "choose_worker"))
  end)

  it("spreads hosts that find all slots full over the new slots", function()
    local world, seen, count = butterfly(), {}, 0
    fill(world, 0, 15)
    for i = 1, 100 do
      world.identity = "pod-" .. i
      local worker = world:verdict "choose_worker"
      if not seen[worker] then count = count + 1 end
      seen[worker] = true
    end
    assert.equal(16, count)
  end)

  it("takes slots that were given back, whose holder is silent, or that are its own", function()
    local world = butterfly()
    fill(world, 0, 31)
    local slot = hash32(world.identity) % 16
    assert.equal(32 + hash32(world.identity) % 32, (world:verdict "choose_worker"))
    world:pass(6000)
    world:release((slot + 5) % 16)
    assert.equal((slot + 5) % 16, (world:verdict "choose_worker"))
    world:claim { worker = (slot + 4) % 16, held = true, identity = "gone", written_ms = world.now_ms - 600001,
      until_ms = world.now_ms - 1 }
    local own = (slot + 3) % 16
    world.records[own].identity = world.identity
    assert.equal(own, (world:verdict "choose_worker"))
    world.records[own].identity = "gone"
    assert.equal((slot + 5) % 16, (world:verdict "choose_worker")) -- the silent one's time is not over there
  end)

  it("prefers new slots to slots that end ahead of the clock", function()
    local world = butterfly()
    world.range = { first = 0, last = 31 }
    fill(world, 0, 15)
    world:claim { worker = 7, identity = "host-7", held = false, until_ms = world.now_ms + 60000 }
    assert.is_true((world:verdict "choose_worker") >= 16)
    fill(world, 16, 31)
    assert.equal(7, (world:verdict "choose_worker"))
  end)

  it("waits twice the step up to 2 s, and rejects larger steps", function()
    local world = butterfly()
    world:step_clock(-2000)
    local word, amount_ms = world:verdict "on_clock_back"
    assert.equal("wait", word)
    assert.equal(4000, amount_ms)
    world:step_clock(-1)
    local refused, _, reason = world:verdict "on_clock_back"
    assert.equal("refuse", refused)
    assert.equal("the clock is back by 2001 ms, and the longest wait is 2000", reason)
  end)

  it("waits for ids that are ahead of the clock, 4 s at most", function()
    local word, amount_ms = butterfly():verdict "on_exhausted"
    assert.equal("wait", word)
    assert.equal(4000, amount_ms)
  end)
end)
