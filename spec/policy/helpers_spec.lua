--- What policies have in place of patterns and bit operators.
local helpers = require "vesta.policy.helpers"
local split, hash32, ip4 = helpers.split, helpers.hash32, helpers.ip4

describe("split", function()
  it("gives the parts between a separator", function()
    assert.same({ "a", "b", "c" }, split("a,b,c", ","))
    assert.same({ "a", "", "b", "" }, split("a,,b,", ","))
    assert.same({ "" }, split("", ","))
    assert.same({ "no separator" }, split("no separator", ","))
    assert.same({ "a", "b" }, split("a::b", "::"))
    assert.same({ "", ":" }, split(":::", "::"))
  end)

  it("takes the separator for plain text", function()
    assert.same({ "10", "0", "3" }, split("10.0.3", "."))
    assert.same({ "a", "b" }, split("a%d+b", "%d+"))
    assert.same({ "a[b", "c" }, split("a[b]c", "]"))
  end)

  it("does not mind bytes, nor long texts", function()
    assert.same({ "a\0b", "\255" }, split("a\0b|\255", "|"))
    local parts = split(("x,"):rep(20000), ",")
    assert.equal(20001, #parts)
  end)
end)

describe("hash32", function()
  it("is FNV-1a", function() -- the numbers that its authors publish
    assert.equal(2166136261, hash32 "")
    assert.equal(3826002220, hash32 "a")
    assert.equal(3214735720, hash32 "foobar")
    assert.equal(84696351, hash32 "\0")
  end)

  it("depends on every byte, and stays below 2^32", function()
    local seen = {}
    for i = 0, 255 do
      local h = hash32("host-" .. string.char(i) .. "-0")
      assert.is_true(h >= 0 and h < 4294967296 and h % 1 == 0)
      assert.is_nil(seen[h])
      seen[h] = true
    end
  end)
end)

describe("ip4", function()
  it("reads an address as a number", function()
    assert.equal(0, ip4 "0.0.0.0")
    assert.equal(4294967295, ip4 "255.255.255.255")
    assert.equal(167772935, ip4 "10.0.3.7")
  end)

  it("gives nil for what is none", function()
    for _, text in ipairs { "", "10.0.3", "10.0.3.", ".10.0.3", "10.0.3.7.1", "256.0.0.1", "1.2.3.04", "1.2.3.-4",
      "1.2.3.4 ", "1.2.3.0x1", "1.2.3.1e1", "::1", "a.b.c.d", "1..2.3", "1.2.3.4\0", "9999999999999999999.1.1.1",
      ("1."):rep(9999) } do
      assert.is_nil(ip4(text))
    end
  end)
end)

describe("a helper that is given no text", function()
  it("raises with its name", function()
    for _, wrong in ipairs { 5, true, {}, print } do
      for name, helper in pairs(helpers) do
        local ok, message = pcall(helper, wrong, ",")
        assert.is_false(ok)
        assert.is_true(message:find(name .. ": a string is expected, not " .. type(wrong), 1, true) ~= nil, message)
      end
    end
    assert.has_error(function() split("a", "") end)
    assert.has_error(function() split("a", nil) end)
  end)
end)
