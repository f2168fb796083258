--- Ids as Lua values: vectors of known generators, exactness, and values that are not ids.
local vesta = require "vesta"
local help = require "lua.help"

local function vectors()
  local rows = {}
  for line in io.lines(help.root .. "/spec/vectors/ids.csv") do
    local kind, layout, values, id, hex, unix_ms = line:match "^(%l+),([^,]+),([^,]*),(%d+),(%x+),(%-?%d+)$"
    if kind then
      local row = { kind = kind, layout = layout, values = values, id = id, hex = hex, unix_ms = tonumber(unix_ms) }
      rows[#rows + 1] = row
    end
  end
  return rows
end

local function named(values)
  local fields = {}
  for name, value in values:gmatch "([%w_]+)=(%d+)" do fields[name] = tonumber(value) end
  return fields
end

describe("the vectors of known generators", function()
  local rows = vectors()

  it("exist", function() assert.is_true(#rows > 80) end)

  it("are explained as the fields they were made of", function()
    for _, row in ipairs(rows) do
      local parts, message, code = assert(vesta.layout(row.layout)):explain(row.id)
      if row.kind == "ok" then
        assert(parts, message)
        for name, value in pairs(named(row.values)) do
          assert.are.equal(value, parts[name], row.layout .. " " .. row.id .. " " .. name)
        end
        assert.are.equal(row.unix_ms, parts.unix_ms, row.layout .. " " .. row.id)
      else
        assert.are.equal("bad_id", code)
      end
    end
  end)

  it("are made from their fields", function()
    for _, row in ipairs(rows) do
      local id, message, code = assert(vesta.layout(row.layout)):make(named(row.values))
      if row.kind == "ok" then
        assert.are.equal(row.id, id, message)
      else
        assert.are.equal("bad_field", code)
      end
    end
  end)

  it("have the hex text that format returns", function()
    for _, row in ipairs(rows) do
      assert.are.equal(row.hex, vesta.format(row.id, "hex"))
      assert.are.equal(row.id, vesta.parse(row.hex, "hex"))
    end
  end)
end)

describe("an id argument", function()
  local layout = vesta.layout "vesta-second"
  local id = "2319542600899494910"

  it("may be a decimal string of any size", function()
    assert.are.equal(12758739, layout:explain(id).time)
    assert.are.equal("18446744073709551615", vesta.format("18446744073709551615"))
    assert.are.equal("7", vesta.format("0000000000000000000000000007"))
  end)

  -- Some Luas cannot parse these numbers, so they are compiled only when needed.
  local function number(text) return (loadstring or load)("return " .. text)() end

  it("may be an integer if Lua has exact ones", function()
    if not math.type then return end
    assert.are.equal(12758739, layout:explain(number(id)).time)
    assert.are.equal("18446744073709551615", vesta.format(number "-1"))
    assert.are.equal("9223372036854775808", vesta.format(math.mininteger))
  end)

  it("may be an int64_t or uint64_t cdata in LuaJIT, and no other cdata", function()
    if not help.is_jit then return end
    local ffi = require "ffi"
    assert.are.equal(12758739, layout:explain(number(id .. "LL")).time)
    assert.are.equal("18446744073709551615", vesta.format(number "18446744073709551615ULL"))
    assert.are.equal("18446744073709551615", vesta.format(number "-1LL"))
    for _, ctype in ipairs { "int32_t", "char[8]", "int64_t[1]", "double", "void *" } do
      assert.matches("another ctype", help.raised(layout.explain, layout, ffi.new(ctype)))
    end
  end)

  it("may be a double that is exact", function()
    assert.are.equal("9007199254740992", vesta.format(2 ^ 53))
    assert.are.equal("0", vesta.format(0 * 1.0))
    assert.are.equal("4503599627370497", vesta.format(4503599627370497.0))
  end)

  it("may not be a double that has lost digits", function()
    for _, lost in ipairs { 2 ^ 53 + 2, 2319542600899494910.0, 2 ^ 63, 2 ^ 64, 1e300 } do
      local nothing, message, code = layout:explain(lost)
      assert.is_nil(nothing)
      assert.are.equal("bad_id", code)
      assert.matches("id passed as a double %(precision lost%): pass a string", message)
    end
  end)

  it("may not be a number that is not an id", function()
    for _, odd in ipairs { -1.5, 0.5, -2.0 ^ 60, 1 / 0, -1 / 0, 0 / 0 } do
      local nothing, message, code = layout:explain(odd)
      assert.is_nil(nothing)
      assert.are.equal("bad_id", code)
      assert.matches("whole number", message)
    end
  end)

  it("may not be a text that is not an id", function()
    local texts = {
      "", "-1", "+1", "0x10", "1e3", " 12", "12 ", "12 34", "12\0", "\0", "1.0", "1;2", "18446744073709551616",
      "99999999999999999999", ("9"):rep(400), "\217\161\217\162", "nan", "inf", "NULL", "12\r\nSET x", ("9"):rep(1e6),
    }
    for _, text in ipairs(texts) do
      for _, name in ipairs { "explain", "time", "fits" } do
        local nothing, message, code = layout[name](layout, text)
        assert.is_nil(nothing)
        assert.are.equal("bad_id", code)
        assert.matches("decimal digits", message)
        assert.is_nil(message:find "%c", "a message forges no log line")
        assert.is_true(#message < 200)
      end
      assert.is_nil(vesta.guess(text))
      assert.is_nil(vesta.format(text))
      assert.is_nil(vesta.parse(text))
    end
  end)

  it("of another type raises at the caller's line", function()
    for _, value in ipairs { {}, print, true, io.stdout, false } do
      local message = help.raised(function() return (layout:explain(value)) end)
      assert.matches("ids_spec.lua:%d+: id must be a decimal string", message)
    end
    assert.matches("not nil", help.raised(function() return (layout:explain()) end))
    assert.matches("not nil", help.raised(function() return (vesta.guess()) end))
  end)

  it("of another layout fails with bad_id, and names the field that differs", function()
    local nothing, message, code = layout:explain "4611686018427387904" -- type 1
    assert.is_nil(nothing)
    assert.are.equal("bad_id", code)
    assert.matches("type", message)
    local fits, why = layout:fits "4611686018427387904"
    assert.is_false(fits)
    assert.are.equal(message, why)
    assert.is_true(layout:fits(id))
  end)
end)

describe("text forms", function()
  it("are read and written, and sort like ids", function()
    local before = {}
    for _, id in ipairs { "0", "1", "61", "62", "2319542600899494910", "9223372036854775807" } do
      for _, base in ipairs { "hex", "base32", "base62" } do
        local text = vesta.format(id, base)
        assert.are.equal(id, vesta.parse(text, base))
        assert.is_true((before[base] or "") < text)
        before[base] = text
      end
    end
  end)

  it("allow the spellings of Crockford's base32", function()
    local text = vesta.format("2319542600899494910", "base32")
    assert.are.equal("2319542600899494910", vesta.parse(text:lower(), "base32"))
    assert.are.equal(vesta.parse("01", "base32"), vesta.parse("OI", "base32"))
  end)

  it("are rejected with digits of another base, an overflow or no digits", function()
    for base, texts in pairs {
      hex = { "", "g", "0x1", "10000000000000000", "-1" },
      base32 = { "", "U", "G0000000000000", "*" },
      base62 = { "", "-", "zzzzzzzzzzz", "LygHa16AHYG" },
      decimal = { "", "a", "18446744073709551616" },
    } do
      for _, text in ipairs(texts) do
        local nothing, _, code = vesta.parse(text, base)
        assert.is_nil(nothing, base .. " " .. text)
        assert.are.equal("bad_id", code)
      end
    end
  end)

  it("name the existing bases", function()
    assert.matches('"base62", not "base64"', help.raised(vesta.format, "1", "base64"))
    assert.matches("base must be a string", help.raised(vesta.format, "1", 16))
    assert.matches("text must be a string", help.raised(vesta.parse, 16))
  end)
end)
