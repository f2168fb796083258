--- vesta.layout, vesta.guess and vesta.fit.
local vesta = require "vesta"
local help = require "lua.help"

local milli = "version:1 type:1=1 method:2 time:40 seq:10 machine:10 unit=1ms epoch=2014-12-31T16:00:00Z"

describe("vesta.layout", function()
  it("writes the canonical text, which reads as the same layout", function()
    assert.are.equal(milli, vesta.layout("vesta-milli"):text())
    assert.are.equal(milli, tostring(vesta.layout(milli)))
    for _, preset in ipairs(vesta.presets()) do
      local text = vesta.layout(preset.name):text()
      assert.are.equal(text, vesta.layout(text):text())
      assert.are.equal(text, vesta.layout(preset.text):text())
      assert.is_true(#preset.about > 0)
    end
  end)

  it("accepts a preset with overrides", function()
    assert.matches("epoch=2026%-01%-01T00:00:00Z", vesta.layout("uid epoch=2026-01-01T00:00:00Z"):text())
  end)

  it("reports what is wrong with a text", function()
    local texts = {
      "", "x", "vesta-sekond", "time:41 seq:12", "time:41 seq:12 worker:12", "time:41 seq:12 worker:0 a:11",
      "time:64 seq:1 worker:1", "time:-1 seq:12 worker:10", "time:41 time:2 seq:12 worker:9", "seq:54 worker:10",
      "sign:1 time:41 seq:12 worker:10 unit=3ms", "sign:1 time:41 seq:12 worker:10 unit=0",
      "sign:1 time:41 seq:12 worker:10 unit=1000000000000", "sign:1 time:41 seq:12 worker:10 epoch=then",
      "sign:1=2 time:41 seq:12 worker:10", "sign:1 time:41 seq:12 worker:5 machine:5",
      "sign:1 time:41 seq:12 worker:10 colour=red", "snowflake\nseq:1", ("a:1 "):rep(64), ("x"):rep(100000),
      "sign:1 time:41 seq:12 worker:10 seq_start=spread:-1", "time:41 seq:12 worker:99999999999999999999",
    }
    for _, text in ipairs(texts) do
      local nothing, message, code = vesta.layout(text)
      assert.is_nil(nothing, text:sub(1, 60))
      assert.are.equal("bad_layout", code, text:sub(1, 60))
      assert.is_true(#message > 10 and #message < 256)
    end
  end)

  it("raises without a text", function()
    for _, value in ipairs { 5, true, {}, print } do
      assert.matches("layout_spec.lua:%d+: layout must be a string", help.raised(function()
        return (vesta.layout(value))
      end))
    end
    assert.matches("NUL", help.raised(vesta.layout, "snowflake\0"))
  end)

  it("lists its fields from the highest bit to the lowest", function()
    local fields = vesta.layout(milli):fields()
    local names = {}
    for i, field in ipairs(fields) do names[i] = field.name .. ":" .. field.width .. "@" .. field.shift end
    assert.are.same({ "version:1@63", "type:1@62", "method:2@60", "time:40@20", "seq:10@10", "machine:10@0" }, names)
    assert.are.equal(1, fields[2].constant)
    assert.is_nil(fields[1].constant)
    assert.are.equal(1023, fields[6].max)
  end)

  it("lists a sequence in two parts once, with the place of its low bits", function()
    local split = vesta.layout "butterfly"
    local seq = split:fields()[3]
    assert.are.same({ name = "seq", width = 9, shift = 14, max = 511, low_width = 1, low_shift = 0 }, seq)
    local parts = split:explain "893538532788813843"
    assert.are.same({ 213036187360, 3, 9 }, { parts.time, parts.seq, parts.worker })
    assert.are.equal("893538532788813843", split:make(parts))
    assert.is_nil(vesta.layout(milli):fields()[5].low_width)
  end)

  it("has the first time after its end", function()
    local end_ms, iso = vesta.layout("snowflake"):ends()
    assert.are.equal(1288834974657 + 2 ^ 41, end_ms)
    assert.matches("^2080%-07%-10T", iso)
  end)

  it("has methods that raise if they are called with a dot", function()
    local layout = vesta.layout(milli)
    for _, name in ipairs { "explain", "make", "range", "time", "fits", "text", "fields", "ends" } do
      assert.matches("vesta.layout is expected", help.raised(layout[name]))
      assert.matches("vesta.layout is expected", help.raised(layout[name], {}))
      assert.matches("vesta.layout is expected", help.raised(layout[name], io.stdout))
    end
  end)
end)

describe("layout:make", function()
  local layout = vesta.layout(milli)

  it("accepts the result of explain, unchanged or changed", function()
    local parts = layout:explain "6930907535275726846"
    assert.are.equal("6930907535275726846", layout:make(parts))
    parts.seq = parts.seq + 1
    assert.are.equal("6930907535275727870", layout:make(parts))
  end)

  it("accepts numbers as text", function()
    local id = layout:make { time = 1, seq = 2, machine = 3 }
    assert.are.equal(id, layout:make { time = "1", seq = "2", worker = "3" })
  end)

  it("accepts a time instead of a count of time units", function()
    local parts = { version = 0, method = 2, seq = 5, machine = 3 }
    local function made(name, value)
      parts.time, parts.iso, parts.unix_ms = nil, nil, nil
      parts[name] = value
      return layout:explain(assert(layout:make(parts)))
    end
    for _, text in ipairs { "2026-01-01T00:00:00.007Z", "2026-01-01T08:00:00.007+08:00" } do
      assert.are.equal(1767225600007, made("time", text).unix_ms)
      assert.are.equal(1767225600007, made("iso", text).unix_ms)
    end
    assert.are.equal(1767225600007, made("unix_ms", 1767225600007).unix_ms)
    parts = layout:explain "6930907535275726846"
    parts.time = nil
    assert.are.equal("6930907535275726846", layout:make(parts))
  end)

  it("names the invalid field", function()
    local cases = {
      { {}, "time" }, { { time = 1, seq = 2 }, "machine" }, { { time = 1, seq = 1024, machine = 1 }, "1024.*1023" },
      { { time = 2 ^ 40, seq = 1, machine = 1 }, "time" }, { { time = 1, seq = 1, machine = 1, colour = 1 }, "colour" },
      { { time = 1, seq = 1, machine = 1, type = 0 }, "type" }, { { time = -1, seq = 1, machine = 1 }, "time.*%-1" },
      { { time = 1.5, seq = 1, machine = 1 }, "time.*1.5" }, { { time = "1e3", seq = 1, machine = 1 }, "time.*1e3" },
      { { time = 1, seq = 1, machine = 1, worker = 2 }, "both name the leased field" },
      { { unix_ms = 5, seq = 1, machine = 1 }, "outside this layout's time, which is from 2014" },
      { { unix_ms = 2 ^ 53, seq = 1, machine = 1 }, "outside this layout's time, which is from 2014" },
      { { time = "2026-01-01", seq = 1, machine = 1 }, "2026%-01%-01" },
      { { time = 1 / 0, seq = 1, machine = 1 }, "time" }, { { time = 0 / 0, seq = 1, machine = 1 }, "time" },
      { { time = 2 ^ 60, seq = 1, machine = 1 }, "time passed as a double" }, { { ["a\0b"] = 1 }, "no such name" },
      { { [""] = 1, time = 1, seq = 1, machine = 1 }, "no such name" },
    }
    for _, case in ipairs(cases) do
      local id, message, code = layout:make(case[1])
      assert.is_nil(id)
      assert.are.equal("bad_field", code)
      assert.matches(case[2], message)
    end
  end)

  it("rejects more fields than any layout has", function()
    local many = {}
    for i = 1, 100 do many["f" .. i] = i end
    local id, message, code = layout:make(many)
    assert.is_nil(id)
    assert.are.equal("bad_field", code)
    assert.matches("more than 16 fields", message)
  end)

  it("raises without a table of names and integers", function()
    assert.matches("layout_spec.lua:%d+: fields must be a table", help.raised(function() return (layout:make()) end))
    assert.matches("fields must be a table", help.raised(layout.make, layout, "time=1"))
    assert.matches("names as keys", help.raised(layout.make, layout, { 1, 2, 3 }))
    assert.matches("must be a decimal string", help.raised(layout.make, layout, { time = {} }))
    assert.matches("must be a decimal string", help.raised(layout.make, layout, { time = true }))
  end)
end)

describe("layout:range and layout:time", function()
  local snowflake = vesta.layout "snowflake"
  local at = 1700000000000

  it("enclose a time and an interval", function()
    local one = assert(snowflake:range(at))
    assert.are.equal(1, #one)
    assert.are.equal(at, snowflake:time(one[1].min))
    assert.are.equal(at, snowflake:time(one[1].max))
    assert.are.equal(0, snowflake:explain(one[1].min).seq)
    assert.are.equal(4095, snowflake:explain(one[1].max).seq)
    local two = assert(snowflake:range(at, at + 1000))
    assert.are.equal(one[1].min, two[1].min)
    assert.are.equal(at + 999, snowflake:time(two[1].max))
  end)

  it("also accept RFC 3339", function()
    assert.are.same(snowflake:range(at, at + 1000), snowflake:range("2023-11-14T22:13:20Z", "2023-11-14T22:13:21Z"))
  end)

  it("return one pair per combination of the fields above time", function()
    local legacy = vesta.layout "vesta-legacy-milli"
    assert.are.equal(2 * 4 * 1024, #assert(legacy:range(at)))
    assert.are.equal(1, #assert(legacy:range(at, nil, { version = 0, method = 2, machine = 7 })))
    assert.are.equal(4, #assert(legacy:range(at, at, { version = 0, machine = 7 })))
  end)

  it("report what is wrong", function()
    local wrong = {
      { "tomorrow" }, { at, "tomorrow" }, { -1 }, { 0.5 }, { 1 / 0 }, { "" }, { "2023-13-01T00:00:00Z" },
      { at, at - 1 }, { at, at, { colour = 1 } }, { at, at, { worker = 1024 } },
    }
    for _, case in ipairs(wrong) do
      local nothing, message, code = snowflake:range(case[1], case[2], case[3])
      assert.is_nil(nothing)
      assert.are.equal("bad_field", code, message)
    end
    local nothing, _, code = snowflake:range(0)
    assert.is_nil(nothing)
    assert.are.equal("epoch_end", code)
    assert.matches("layout_spec.lua:%d+: time must be", help.raised(function() return (snowflake:range {}) end))
    assert.matches("time must be", help.raised(snowflake.range, snowflake))
    assert.matches("fields must be a table", help.raised(snowflake.range, snowflake, at, at, 7))
  end)
end)

describe("vesta.guess", function()
  local function names(id, now)
    local found = {}
    for _, guess in ipairs(assert(vesta.guess(id, now))) do found[guess.preset] = guess end
    return found
  end

  it("recognizes the published examples of Vesta (Java) as the legacy layout", function()
    local found = names("3456526092514361344", "2026-01-01T00:00:00Z")["vesta-legacy-second"]
    assert.are.equal(1022, found.parts.machine)
    assert.are.equal("2015-05-28T08:05:39Z", found.parts.iso)
    assert.is_true(#found.about > 0)
  end)

  it("omits layouts with a time in the future", function()
    local id = vesta.layout("snowflake"):range(1700000000000)[1].min
    assert.is_truthy(names(id, 1700000000000).snowflake)
    assert.is_nil(names(id, 1600000000000).snowflake)
  end)

  it("uses the clock if no time is given", function()
    assert.is_truthy(names "1453524547666976767" ["vesta-second"])
  end)
end)

describe("vesta.fit", function()
  it("proposes a layout that meets the need, with its limits", function()
    local fit = assert(vesta.fit { rate = 50000, nodes = 4000, years = 30 })
    assert.is_true(fit.rate_max >= 50000 and fit.nodes_max >= 4000 and fit.years_max >= 30)
    assert.are.equal(fit.layout, vesta.layout(fit.layout):text())
    assert.are.equal(fit.end_ms, (vesta.layout(fit.layout):ends()))
    assert.matches("^%d+%-%d%d%-%d%dT", fit.ends)
    assert.matches("epoch=2030", vesta.fit({ rate = 1, nodes = 1, years = 1, epoch = "2030-01-01T00:00:00Z" }).layout)
  end)

  it("uses the requested unit, or raises", function()
    local fit = assert(vesta.fit { rate = 400000, nodes = 900, years = 100, unit = "1us" })
    assert.matches("time:52 worker:11 unit=1us", fit.layout)
    assert.are.equal("bad_field", select(3, vesta.fit { rate = 1, nodes = 1, years = 500, unit = "1us" }))
    for _, unit in ipairs { "3us", "2s", "", 7 } do
      assert.matches("unit must be", help.raised(function()
        return (vesta.fit { rate = 1, nodes = 1, years = 1, unit = unit })
      end))
    end
  end)

  it("names the part that is too large", function()
    local nothing, message, code = vesta.fit { rate = 1e12, nodes = 1e6, years = 1000 }
    assert.is_nil(nothing)
    assert.are.equal("bad_field", code)
    assert.is_true(#message > 10)
  end)

  it("raises for an invalid need", function()
    for _, need in ipairs {
      {}, { rate = 1, nodes = 1 }, { rate = 0, nodes = 1, years = 1 }, { rate = -1, nodes = 1, years = 1 },
      { rate = 1, nodes = 0.5, years = 1 }, { rate = 1, nodes = 1, years = 0 / 0 },
      { rate = 1 / 0, nodes = 1, years = 1 }, { rate = "50000/s", nodes = 1, years = 1 },
    } do
      local message = help.raised(function() return (vesta.fit(need)) end)
      assert.matches("layout_spec.lua:%d+: vesta.fit: %l+ must be", message)
    end
    assert.matches("vesta.fit: a table", help.raised(vesta.fit))
  end)
end)
