--- The policy ip_bits: the low bits of the address.  Runs under busted, and with `vesta policy test`.
local testing = require "vesta.testing"

local function choice(ip, options, layout)
  options[1] = "ip_bits"
  local worker, _, reason = testing.world({ policy = options, ip = ip, layout = layout }):verdict "choose_worker"
  return worker, reason
end

describe("ip_bits", function()
  it("takes as many low bits of its address as the field has", function()
    assert.equal(775, (choice("10.0.3.7", {})))
    assert.equal(775, (choice("10.77.255.7", { bits = 10 }))) -- and so has another network's 10.0.3.7
    assert.equal(0x0307, (choice("10.0.3.7", {}, "sonyflake")))
    assert.equal(0xffff, (choice("255.255.255.255", {}, "sonyflake")))
    assert.equal(0, (choice("10.0.4.0", {})))
  end)

  it("keeps apart what a sum of characters does not", function()
    assert.equal(12, (choice("10.0.0.12", {})))
    assert.equal(21, (choice("10.0.0.21", {})))
  end)

  it("takes fewer bits, and adds an offset, where it is told to", function()
    assert.equal(7, (choice("10.0.3.7", { bits = 8 })))
    assert.equal(907, (choice("10.0.3.7", { bits = 8, offset = 900 })))
  end)

  it("takes the bits that fit into a range that is no power of two", function()
    local world = testing.world { policy = "ip_bits", ip = "10.0.3.255" }
    world.range = { first = 100, last = 923 } -- 824 numbers: 9 bits
    assert.equal(611, (world:verdict "choose_worker"))
  end)

  it("rejects a result beyond the range, and does not truncate it", function()
    local worker, reason = choice("10.0.3.7", { bits = 32 })
    assert.is_nil(worker)
    assert.equal("the low 32 bits of 10.0.3.7 and offset 0 make 167772935, but worker ids are 0 to 1023", reason)
    assert.is_nil((choice("10.0.3.7", { offset = 1000 })))
  end)

  it("rejects a host without an IPv4 address", function()
    for _, ip in ipairs { "::1", "10.0.3", "", "10.0.3.7 ", "localhost" } do
      local worker, reason = choice(ip, {})
      assert.is_nil(worker)
      assert.equal("this host has no IPv4 address: " .. ip, reason)
    end
    local world = testing.world { policy = "ip_bits" }
    world.ip = nil
    assert.equal("this host has no IPv4 address: no address", (select(3, world:verdict "choose_worker")))
  end)

  it("does not share a worker id between two hosts with the same bits", function()
    local world = testing.world { policy = "ip_bits", ip = "10.0.3.7", identity = "a" }
    assert.equal(775, world:choose())
    world.ip, world.identity = "10.1.3.7", "b"
    assert.is_nil((world:choose()))
  end)
end)
