--- The helper functions that policies have as globals.
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
      for _, name in ipairs { "split", "hash32", "ip4" } do
        local ok, message = pcall(helpers[name], wrong, ",")
        assert.is_false(ok)
        assert.is_true(message:find(name .. ": a string is expected, not " .. type(wrong), 1, true) ~= nil, message)
      end
    end
    assert.has_error(function() split("a", "") end)
    assert.has_error(function() split("a", nil) end)
  end)
end)

describe("read_options", function()
  local read_options = helpers.read_options

  it("gives what is allowed, and the defaults", function()
    local rules = { n = { 0, 9, default = 3 }, word = { "a", "b" }, list = { list = true } }
    assert.same({ n = 3 }, (read_options({ options = {} }, rules)))
    assert.same({ n = 0, word = "b", list = {} }, (read_options({ options = { n = 0, word = "b", list = {} } }, rules)))
  end)

  it("says what is wrong, of one option or another", function()
    local given, wrong = read_options({ options = { n = 10 } }, { n = { 0, 9 } })
    assert.is_nil(given)
    assert.equal("the option n must be a whole number from 0 to 9, not 10", wrong)
    assert.equal('the option w must be "a" or "b", not false',
      (select(2, read_options({ options = { w = false } }, { w = { "a", "b" } }))))
    assert.equal("the option w is missing: a list",
      (select(2, read_options({ options = {} }, { w = { list = true, needed = true } }))))
    assert.equal('there is no option "x": use w',
      (select(2, read_options({ options = { x = 1 } }, { w = { 1, 2 } }))))
  end)
end)

describe("survey", function()
  local function record(worker, state, until_ms, identity, written_ms)
    return { worker = worker, held = state ~= "free", expired = state == "expired", until_ms = until_ms,
      identity = identity or "host-" .. worker, written_ms = written_ms or 0 }
  end

  local function survey(records, first, last)
    return helpers.survey({ records = records, now_ms = 100, identity = "mine" }, first or 0, last or 9)
  end

  it("finds the numbers that nobody had", function()
    local found = survey {}
    assert.equal(0, found.unused)
    assert.equal(0, found.next)
    found = survey { record(0, "held", 0), record(1, "held", 0), record(4, "held", 0) }
    assert.equal(2, found.unused)
    assert.equal(5, found.next)
    found = survey({ record(0, "held", 0), record(1, "held", 0), record(4, "held", 0) }, 3, 4)
    assert.equal(3, found.unused)
    assert.is_nil(found.next)
    found = survey({ record(3, "held", 0), record(4, "held", 0), record(2 ^ 53, "free", 0) }, 3, 4)
    assert.same({}, found)
  end)

  it("finds the records that are to be had, and tells those whose time is not over", function()
    local found = survey {
      record(0, "free", 101), record(1, "expired", 90), record(2, "free", 100), record(3, "free", 80),
      record(4, "expired", 70), record(5, "held", 0), record(6, "free", 102),
    }
    assert.equal(2, found.released.worker)
    assert.equal(1, found.expired.worker)
    assert.equal(4, found.oldest.worker)
    assert.equal(0, found.later.worker)
    assert.is_nil(found.own)
  end)

  it("finds one's own, the one written last, held or not", function()
    local found = survey {
      record(0, "held", 90, "mine", 7), record(1, "free", 80, "mine", 9), record(2, "expired", 70, "mine", 8),
      record(3, "held", 101, "mine", 9),
    }
    assert.equal(1, found.own.worker)
    assert.equal(3, found.own_later.worker)
    assert.equal(2, found.oldest.worker)
    assert.equal(3, found.later.worker)
  end)

  it("takes nobody for one's own where there is no identity", function()
    local records = { record(0, "held", 0) }
    records[1].identity = nil
    assert.same({ unused = 1, next = 1 }, helpers.survey({ records = records, now_ms = 100 }, 0, 9))
  end)
end)

describe("judge_peers", function()
  local judge_peers = helpers.judge_peers

  it("looks at the mean, of ten thousand clocks too, and goes without peers", function()
    assert.equal("go", (judge_peers({ now_ms = 1, peers = {} }, 0)))
    local peers = {}
    for i = 1, 10000 do peers[i] = { seen_ms = 1767225600000 + i % 2 * 10 } end
    assert.equal("go", (judge_peers({ now_ms = 1767225600000, peers = peers }, 6)))
    local word, reason = judge_peers({ now_ms = 1767225600000, peers = peers }, 4)
    assert.equal("refuse", word)
    assert.equal("the clock differs from the mean of its peers by 5 ms, but at most 4 are allowed", reason)
  end)

  it("minds no clock that says anything", function()
    for _, seen_ms in ipairs { -2 ^ 63, 2 ^ 63, 0, math.huge } do
      assert.equal("refuse", (judge_peers({ now_ms = 1767225600000, peers = { { seen_ms = seen_ms } } }, 86400000)))
    end
  end)
end)
