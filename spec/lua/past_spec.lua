--- Ranges of past ids in Lua.
local vesta = require "vesta"
local help = require "lua.help"

local YEAR_2019, YEAR_2020 = 1546300800000, "2020-01-01T00:00:00Z"
local LAYOUT = "sign:1 time:41 worker:1 seq:21 unit=1ms epoch=2015-01-01T00:00:00Z"

local function lease(namespace, from)
  return vesta.past { namespace = namespace, layout = LAYOUT, from = from or YEAR_2019, to = YEAR_2020, count = 1000 }
end

describe("vesta.past", function()
  it("issues ids of the rows' times, and two ranges have different worker ids", function()
    local name = help.name()
    local one, other = assert(lease(name)), assert(lease(name))
    local layout = vesta.layout(LAYOUT)
    local parts = layout:explain(assert(one:next(1551675967123)))
    assert.are.equal("2019-03-04T05:06:07.123Z", parts.iso)
    assert.are.equal("1", tostring(layout:explain(one:next "2019-03-04T05:06:07.123Z").seq))
    assert.are_not.equal(one:info().worker, other:info().worker)
    assert.are.equal("0", other:info().others)
    assert.are.equal(YEAR_2019, one:info().from_ms)
  end)

  it("returns a message and a code for rows that are not sorted or outside the dates", function()
    local range = assert(lease(help.name()))
    assert(range:next(1551675967123))
    for _, time in ipairs { 1551675967122, YEAR_2020, "x" } do
      local id, message, code = range:next(time)
      assert.is_nil(id)
      assert.are.equal("string", type(message))
      assert.are.equal(time == "x" and "bad_field" or "bad_option", code)
    end
    assert.has_error(function() range:next(true) end)
  end)

  it("returns the rest to the store, and then has no ids", function()
    local name = help.name()
    local one = assert(lease(name))
    assert(lease(name))
    assert.are.equal("too_many", select(3, lease(name)))
    assert(one:next(1551675967123))
    assert.is_true(one:release())
    assert.are.equal("closed", select(3, one:next(1551675967123)))
    one:close()
    one:close()
    assert.are.equal("closed", select(3, one:next(1551675967123)))
    assert(lease(name, 1551675967124))
  end)

  it("rejects options that are wrong", function()
    assert.has_error(function() vesta.past { from = YEAR_2019 } end)
    assert.has_error(function() vesta.past { from = YEAR_2019, to = YEAR_2020, color = 1 } end)
    assert.has_error(function() vesta.past { from = {}, to = YEAR_2020 } end)
    local range, message, code = vesta.past { namespace = help.name(), from = YEAR_2020, to = YEAR_2019 }
    assert.is_nil(range)
    assert.is_truthy(message:find("put the earlier time first", 1, true))
    assert.are.equal("bad_option", code)
  end)
end)
