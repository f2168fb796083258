--- Segments in Lua, which are counters of a database.  The specs create counters with the program, like a user.
local vesta = require "vesta"
local help = require "lua.help"

-- Creates a counter.  Returns its store and its tag.
local function counter(step)
  local tag, store = help.name(), "file:" .. help.state .. "/counters"
  help.add_tag(store, tag, step or 100)
  return store, tag
end

describe("vesta.segment", function()
  it("returns the numbers of a counter in order", function()
    local store, tag = counter()
    local seg = assert(vesta.segment { store = store, tag = tag })
    for want = 1, 250 do assert.are.equal(tostring(want), assert(seg:next())) end
    seg:close()
  end)

  it("returns integers if Lua has them", function()
    local store, tag = counter()
    local seg = assert(vesta.segment { store = store, tag = tag })
    if help.has_int then
      assert.are.equal("1", vesta.format(seg:next_int()))
      assert.are.equal(help.is_jit and "cdata" or "number", type(seg:next_int()))
    else
      assert.has_error(function() seg:next_int() end)
      assert.are.equal("1", seg:next()) -- no number was taken
    end
    seg:close()
  end)

  it("returns a batch of consecutive numbers, or a reason", function()
    local store, tag = counter(50)
    local seg = assert(vesta.segment { store = store, tag = tag })
    local batch = assert(seg:batch(40))
    assert.are.equal(40, #batch)
    assert.are.equal("1", batch[1])
    assert.are.equal("40", batch[40])
    assert.are.equal("51", assert(seg:batch(20))[1]) -- 41 to 50 are too few, so they are dropped
    local none, message, code = seg:batch(10000) -- more than a prefetched range with a doubled step
    assert.is_nil(none)
    assert.are.equal("too_many", code)
    assert.is_truthy(message:find("Increase its step", 1, true))
    for _, n in ipairs { 0, -1, 1.5, 10001, 0 / 0, "1", false } do
      assert.has_error(function() seg:batch(n) end)
    end
    seg:close()
  end)

  it("reports its state, and returns the rest", function()
    local store, tag = counter()
    local seg = assert(vesta.segment { store = store, tag = tag })
    assert(seg:batch(10))
    local info = seg:info()
    assert.are.equal(tag, info.tag)
    assert.are.equal("trend", info.order)
    assert.are.equal("11", info.position)
    assert.are.equal(store, info.databases[1].store)
    assert.is_false(info.databases[1].stopped)
    assert.is_true(seg:release())
    assert.are.equal("11", seg:next())
    seg:close()
    assert.are.equal("closed", select(3, seg:next()))
    assert.are.equal("closed", select(3, seg:batch(1)))
    assert.are.equal("closed", select(3, seg:info()))
    assert.are.equal("closed", select(3, seg:release()))
    assert.are.equal("vesta segment (closed)", tostring(seg))
    seg:close()
  end)

  it("stops if the counter went back, until a person confirms it", function()
    local store, tag = counter(10)
    local seg = assert(vesta.segment { store = store, tag = tag, wait_ms_max = 20000 })
    assert(seg:next())
    assert(os.remove(("%s/counters/~counters/tag-%s"):format(help.state, tag)))
    help.add_tag(store, tag, 10)
    local number, message, code
    repeat number, message, code = seg:next() until not number
    assert.are.equal("failstop", code)
    assert.is_truthy(message:find("grants 1 again", 1, true))
    local build = os.getenv "VESTA_BUILD" or help.root .. "/build/debug"
    assert.is_truthy(message:find("vesta segments resume " .. tag, 1, true))
    assert.are.equal(1, help.count(("%s/vesta segments resume %s --even-lower --store '%s' | grep -c 'was resumed'")
      :format(build, tag, store)))
    local resumed = tonumber((assert(seg:next()))) -- the counter is at this host's last grant
    assert.is_true(resumed >= 11)
    seg:close()
  end)

  it("returns strict numbers, each in a transaction", function()
    local store, tag = counter()
    local seg = assert(vesta.segment { store = store, tag = tag, order = "strict" })
    for want = 1, 5 do assert.are.equal(tostring(want), assert(seg:next())) end
    assert.are.equal("strict", seg:info().order)
    assert.are.equal("6", assert(seg:batch(500))[1])
    local two = { store, store .. "2" }
    assert.are.equal("bad_option", select(3, vesta.segment { store = two, tag = tag, order = "strict" }))
    seg:close()
  end)

  it("names a missing tag", function()
    local store = counter()
    local seg = assert(vesta.segment { store = store, tag = "nobodys", wait_ms_max = 1000 })
    local none, message, code, wait_s = seg:next()
    assert.is_nil(none)
    assert.are.equal("range", code)
    assert.is_truthy(message:find("nobodys", 1, true))
    assert.is_true(wait_s > 0)
    seg:close()
  end)

  it("checks its options", function()
    local store, tag = counter()
    local function refuses(options, part)
      local ok, message = pcall(vesta.segment, options)
      assert.is_false(ok)
      assert.is_truthy(message:find(part, 1, true), message)
    end
    refuses(nil, "a table of options")
    refuses({ store = store }, "tag is required")
    refuses({ tag = tag }, "store is required")
    refuses({ store = store, tag = tag, stepp = 1 }, "step")
    refuses({ store = {}, tag = tag }, "list of 1 to 8")
    refuses({ store = { store, 5 }, tag = tag }, "list of 1 to 8")
    refuses({ store = { store, nil, store }, tag = 7 }, "must be")
    refuses({ store = store, tag = "a\0b" }, "NUL")
    refuses({ store = store, tag = tag, step = 0 }, "step")
    refuses({ store = store, tag = tag, step = -1 }, "step")
    refuses({ store = store, tag = tag, step_max = 2 ^ 33 }, "step_max")
    refuses({ store = store, tag = tag, step = 0 / 0 }, "step")
    refuses({ store = store, tag = tag, order = "dense" }, "order")
    refuses({ store = store, tag = tag, wait_ms_max = -1 }, "wait_ms_max")
    refuses({ [1] = store }, "names as keys")
    local none, message, code = vesta.segment { store = store, tag = "a b" }
    assert.is_nil(none)
    assert.are.equal("bad_option", code)
    assert.is_truthy(message:find("'a b' is not a tag", 1, true))
    assert.are.equal("bad_option", select(3, vesta.segment { store = "oracle:/x", tag = tag }))
  end)
end)
