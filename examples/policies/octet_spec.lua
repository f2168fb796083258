local testing = require "vesta.testing"

local function choose(ip, more)
  more = more or {}
  local layout = more.layout or "snowflake"
  return testing.world({ policy = { "./octet.lua", refuse = more.refuse }, ip = ip, layout = layout }):choose()
end

describe("octet", function()
  it("takes the last octet", function()
    assert.equal(17, (choose "10.0.3.17"))
    assert.equal(2, (choose "192.168.255.2"))
  end)

  it("rejects the octets in its list", function()
    assert.equal("10.0.0.255 ends in 255, which is rejected", select(2, choose "10.0.0.255"))
    assert.equal("10.0.0.17 ends in 17, which is rejected", select(2, choose("10.0.0.17", { refuse = { 17 } })))
    assert.equal(255, (choose("10.0.0.255", { refuse = { 17 } })))
  end)

  it("rejects a host without an IPv4 address", function()
    assert.equal("the host has no IPv4 address: none at all", select(2, choose(false)))
    assert.equal("the host has no IPv4 address: fd00::7", select(2, choose "fd00::7"))
  end)

  it("rejects an octet that the layout cannot hold", function()
    assert.equal("10.0.0.32 ends in 32, and the largest worker id is 31",
      (select(2, choose("10.0.0.32", { layout = "js53" }))))
  end)
end)
