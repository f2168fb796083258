--- vesta.open and the methods of a generator.
local vesta = require "vesta"
local help = require "lua.help"

local two_a_ms = "sign:1 time:41 seq:1 worker:21 unit=1ms epoch=2026-01-01T00:00:00Z"
local sixteen_a_s = "sign:1 time:31 seq:4 worker:28 unit=1s epoch=2026-01-01T00:00:00Z"

-- Opens a generator that holds a lease and waits for at most 300 ms.
local function hasty(options)
  local patient, made = help.open(options)
  assert(patient:next())
  return assert(vesta.open { path = made.path, wait_ms_max = 300 })
end

describe("vesta.open", function()
  it("creates a generator, and attaches to it by its path alone", function()
    local gen, options = help.open { worker = 12 }
    local id = assert(gen:next())
    local again = assert(vesta.open { path = options.path })
    local info = again:info()
    assert.are.equal(help.wide, info.layout)
    assert.are.equal(options.namespace, info.namespace)
    assert.are.equal(options.path, info.path)
    assert.are.equal(12, info.worker)
    assert.are.equal(12, gen:explain(id).worker)
    assert.is_true(help.less(id, assert(again:next())))
  end)

  it("accepts a layout object instead of a text", function()
    local gen = help.open { layout = vesta.layout "vesta-milli" }
    assert.are.equal(vesta.layout("vesta-milli"):text(), gen:info().layout)
  end)

  it("writes method 2 if the layout has the field and no option sets it", function()
    for given, expected in pairs { [0] = 0, [1] = 1, ["3"] = 3, by_protocol = 0, [false] = 2 } do
      local gen = help.open { layout = "vesta-milli", method = given or nil }
      assert.are.equal(expected, gen:explain(assert(gen:next())).method)
    end
    local options = { layout = "snowflake", worker = 1, path = help.path "m", method = 1 }
    assert.are.equal("bad_field", select(3, vesta.open(options)))
  end)

  it("sets the constant fields of this handle", function()
    local gen = help.open { layout = "vesta-milli", fields = { method = 1, version = 1 } }
    local fields = gen:explain(assert(gen:next()))
    assert.are.same({ 1, 1 }, { fields.method, fields.version })
  end)

  it("draws a worker id if any may be used", function()
    local name = help.name()
    local gen = assert(vesta.open { layout = help.wide, any_worker = true, namespace = name, path = help.path(name),
      wait_ms_max = 5000 })
    local worker = gen:explain(assert(gen:next())).worker
    assert.are.equal(worker, gen:info().worker)
    assert.is_true(gen:info().drew_worker)
  end)

  it("fails with no_generator without a file and a worker id", function()
    local gen, message, code = vesta.open { path = help.path "nobody", layout = "vesta-milli" }
    assert.is_nil(gen)
    assert.are.equal("no_generator", code)
    assert.is_true(#message > 20)
  end)

  it("fails with mismatch if the file differs, and names both values", function()
    local _, options = help.open { layout = "vesta-milli" }
    local gen, message, code = vesta.open { path = options.path, layout = "snowflake" }
    assert.is_nil(gen)
    assert.are.equal("mismatch", code)
    assert.is_true(#message > 20)
  end)

  it("reports an invalid value of an option", function()
    local wrong = {
      { "bad_layout", layout = "no such layout" }, { "bad_layout", layout = "" },
      { "bad_option", namespace = "two words" }, { "bad_option", namespace = ("x"):rep(65) },
      { "bad_option", store = "ftp://example" }, { "epoch_end", layout = "uid" },
      { "bad_field", fields = { colour = 1 } }, { "bad_field", fields = { sign = 2 } },
    }
    for _, case in ipairs(wrong) do
      local name = help.name()
      local options = { layout = help.wide, worker = 1, namespace = name, path = help.path(name) }
      for key, value in pairs(case) do if key ~= 1 then options[key] = value end end
      local gen, message, code = vesta.open(options)
      assert.is_nil(gen)
      assert.are.equal(case[1], code, message)
      assert.is_true(#message > 10)
    end
  end)

  it("rejects a worker id that exceeds the layout's field", function()
    local name = help.name()
    local gen, message = vesta.open { layout = "vesta-milli", worker = 1024, path = help.path(name) }
    assert.is_nil(gen)
    assert.matches("1024", message)
  end)

  it("fails with io if the path is impossible", function()
    local gen, message, code = vesta.open { path = "/proc/nowhere/x.gen", layout = "vesta-milli", worker = 1 }
    assert.is_nil(gen)
    assert.are.equal("io", code, message)
  end)

  it("rejects a file that is not a generator file", function()
    local path = help.path(help.name())
    local file = assert(io.open(path, "w"))
    file:write(("this is no generator\n"):rep(1000))
    file:close()
    local gen, message, code = vesta.open { path = path }
    assert.is_nil(gen)
    assert.is_true(code == "io" or code == "mismatch", message)
  end)

  it("raises for an unknown option at the caller's line, and suggests the right name", function()
    local function open(options) return help.raised(function() return (vesta.open(options)) end) end
    local wroker = open { wroker = 1 }
    assert.matches('gen_spec.lua:%d+: vesta.open: unknown option "wroker", did you mean "worker"%?', wroker)
    assert.matches('unknown option "wait_ms", did you mean', open { wait_ms = 1 })
    assert.matches('unknown option "colour"$', open { colour = 1 })
    assert.matches('unknown option "x%?y', open { ["x\ny"] = 1 })
    assert.matches("options must have names as keys", open { 1 })
    assert.matches("a table of options is expected, not nil", open())
    assert.matches("a table of options is expected, not string", open "vesta-milli")
  end)

  it("raises for an option of the wrong type or out of range", function()
    local wrong = {
      layout = { 5, true, {} }, path = { 5, "a\0b", true }, store = { {} }, namespace = { 7 }, group = { 0 },
      lease = { "lax", 1, true }, identity = { 1, "a\0b" }, secret = { 1, "a\0b", {} },
      worker = { "1", -1, 1.5, 0 / 0, 1 / 0, 2 ^ 53 + 2, {} }, any_worker = { 1, "yes" }, unsafe_private = { 1 },
      pacing = { "fast", 1, true }, ahead_ms_max = { -1, 0.5, 1 / 0, "5" },
      wait_ms_max = { -1, 1 / 0, 0 / 0, "5", 1e12 },
      method = { 4, -1, 1.5, "4", "rest", true, {} },
      fields = { "method=1", { 1 }, { method = "1" }, { method = -1 }, { method = 0.5 }, { ["a=b"] = 1 } },
    }
    for option, values in pairs(wrong) do
      for _, value in ipairs(values) do
        local message = help.raised(function()
          return (vesta.open { layout = option == "layout" and value or "vesta-milli", [option] = value })
        end)
        assert.matches("gen_spec.lua:%d+: vesta.open: option " .. option .. " must be ", message)
      end
    end
  end)

  it("shows no secret, whatever error it has", function()
    local message = help.raised(function() return (vesta.open { secret = "pass\0word" }) end)
    assert.matches("option secret must be ", message)
    assert.is_nil(message:find("pass", 1, true))
    local _, text, code = vesta.open { path = help.path "s", store = "file:" .. help.path "d", secret = ("s"):rep(600) }
    assert.are.equal("bad_option", code)
    assert.is_nil(text:find("sss", 1, true))
  end)

  it("accepts a lease's timing and an identity, and an autonomous lease only with history pacing", function()
    local path, store = help.path(help.name()), "file:" .. help.path(help.name())
    local function open(lease, pacing)
      return vesta.open { path = path, store = store, worker = 1, lease = lease, identity = "pod-1", pacing = pacing }
    end
    local gen, text, code = open("autonomous")
    assert.is_nil(gen)
    assert.are.equal("bad_option", code)
    assert.matches("history", text)
    gen = assert(open("autonomous", "history"))
    gen:close()
    assert.are.equal("mismatch", select(3, open("strict", "history")))
  end)

  it("warns once that a private generator has no guarantee", function()
    local said = help.run [[
      local vesta = require "vesta"
      for _ = 1, 3 do
        local gen = assert(vesta.open { unsafe_private = true, layout = "vesta-milli", worker = 3 })
        assert(gen:explain(assert(gen:next())).worker == 3)
      end]]
    assert.are.equal("vesta: unsafe_private: ids of this generator may repeat, so use it for tests only\n", said)
  end)
end)

describe("gen:next", function()
  it("returns ascending decimal strings", function()
    local gen = help.open()
    local before = "0"
    for _ = 1, 1000 do
      local id = assert(gen:next())
      assert.are.equal("string", type(id))
      assert.is_true(help.less(before, id))
      before = id
    end
  end)

  it("returns the pause if it may not wait", function()
    local gen = help.open { layout = two_a_ms, wait_ms_max = 0 }
    local codes = {}
    for _ = 1, 2000 do
      local id, message, code, wait_s = gen:next()
      if not id then
        codes[code] = true
        assert.is_true(#message > 5)
        assert.is_true(wait_s > 0 and wait_s < 10)
      end
    end
    assert.is_true(codes.lease or codes.full, "a worker must be leased first, and two ids a millisecond are few")
  end)

  it("waits as long as it may, and no longer", function()
    local gen = help.open { layout = two_a_ms }
    for _ = 1, 200 do assert(gen:next()) end -- at least 100 ms
  end)

  it("waits longer for a lease than for an id, unless an option sets the time", function()
    local name = help.name()
    local options = { layout = help.wide, worker = 1, namespace = name, path = help.path(name) }
    assert(assert(vesta.open(options)):next()) -- a claim on a busy disk may take more than the 100 ms for an id
    options.path, options.wait_ms_max = options.path .. "2", 1
    local begun = os.time()
    local id, message, code, wait_s = assert(vesta.open(options)):next()
    assert.is_nil(id) -- another file holds the worker id
    assert.are.equal("lease", code, message)
    assert.is_true(wait_s > 0)
    assert.is_true(os.time() - begun <= 2)
  end)

  it("returns full at the end of a second's sequence if it may not wait for the next second", function()
    local gen = hasty { layout = sixteen_a_s, ahead_ms_max = 0 }
    local full
    for _ = 1, 100 do
      local id, _, code, wait_s = gen:next()
      if not id then
        full = code
        assert.is_true(wait_s <= 1.1)
        break
      end
    end
    assert.are.equal("full", full)
  end)
end)

describe("gen:next_int", function()
  it("returns ascending exact integers", function()
    if not help.has_int then return end
    local gen = help.open()
    local before = assert(gen:next_int())
    for _ = 1, 1000 do
      local id = assert(gen:next_int())
      assert.is_true(before < id)
      before = id
    end
    assert.are.equal(help.is_jit and "cdata" or "integer", help.is_jit and type(before) or math.type(before))
    assert.are.equal(1, gen:explain(before).worker)
    assert.is_true(help.less(vesta.format(before), assert(gen:next())))
  end)

  it("raises if Lua has no exact integers, and takes no id", function()
    if help.has_int then return end
    local gen = help.open()
    assert(gen:next())
    local tick = gen:info().tick
    assert.matches("gen_spec.lua:%d+: this Lua has no exact 64%-bit integers", help.raised(function()
      return (gen:next_int())
    end))
    assert.matches("no exact 64%-bit integers", help.raised(gen.batch_int, gen, 5))
    assert.are.equal(tick, gen:info().tick)
  end)
end)

describe("gen:next_uuid", function()
  local function ascend(gen, shape, pattern)
    local before = ""
    for _ = 1, 300 do
      local text = assert(gen:next_uuid(shape))
      assert.matches(pattern, text)
      assert.is_true(before < text)
      before = text
    end
  end

  it("returns ascending texts of each shape", function()
    local gen = help.open()
    ascend(gen, nil, "^%x+%-%x%x%x%x%-7%x%x%x%-[89ab]%x%x%x%-%x+$")
    ascend(gen, "uuid7", "^%x+%-%x%x%x%x%-7%x%x%x%-[89ab]%x%x%x%-%x+$")
    ascend(gen, "uuid8", "^%x+%-%x%x%x%x%-8%x%x%x%-[89ab]%x%x%x%-%x+$")
    ascend(gen, "ulid", "^[0-7][%dA-HJKMNP-TV-Z]+$")
    ascend(gen, "hex32", "^%x+$")
    local lengths = { #gen:next_uuid "uuid8", #gen:next_uuid "ulid", #gen:next_uuid "hex32" }
    assert.are.same({ 36, 26, 32 }, lengths)
  end)

  it("returns 16 bytes on request, and shares no tick with ids", function()
    local gen = help.open()
    local before, uuid, after = assert(gen:next()), assert(gen:next_uuid("uuid7", "bytes")), assert(gen:next())
    assert.are.equal(16, #uuid)
    assert.are.equal(7, math.floor(uuid:byte(7) / 16))
    assert.is_true(help.less(before, after))
    local ms = 0
    for i = 1, 6 do ms = ms * 256 + uuid:byte(i) end
    assert.are.equal(gen:explain(after).unix_ms, ms)
  end)

  it("is read back by vesta.explain_uuid, and has a TypeID", function()
    local gen = help.open()
    for _, shape in ipairs { "uuid7", "uuid8", "ulid" } do
      local before, text = gen:explain(gen:next()).unix_ms, gen:next_uuid(shape)
      local read = assert(vesta.explain_uuid(text))
      assert.are.equal(text, read.id)
      assert.are.equal(shape, read.kind)
      if shape ~= "uuid8" then assert.is_true(read.unix_ms >= before and read.iso ~= nil) end
      local typeid = assert(vesta.typeid("line_item", text))
      assert.are.equal("line_item_" .. read.ulid:lower(), typeid)
      assert.are.equal(read.uuid, vesta.explain_uuid(typeid).uuid)
      assert.are.equal("line_item", vesta.explain_uuid(typeid).prefix)
    end
  end)

  it("rejects texts that are no UUID, and prefixes that no TypeID may have", function()
    local uuid = "017F22E2-79B0-7CC3-98C4-DC0C0C07398F"
    for _, text in ipairs { uuid, "{" .. uuid .. "}", "urn:uuid:" .. uuid, (uuid:gsub("-", "")) } do
      assert.are.equal(1645557742000, vesta.explain_uuid(text).unix_ms)
    end
    local random = vesta.explain_uuid "919108f7-52d1-4320-9bac-f847db4148a8"
    assert.are.same({ "uuid4", nil }, { random.kind, random.unix_ms })
    for _, text in ipairs { "", "hello", uuid .. "0", "{" .. uuid, "_01h455vb4pex5vsknk084sn02q", uuid .. "\0" } do
      local read, message, code = vesta.explain_uuid(text)
      assert.are.same({ nil, "bad_id" }, { read, code })
      assert.matches("is not a", message)
    end
    assert.are.equal("01fwhe4ydgfk1shh6w1g60eecf", vesta.typeid("", uuid))
    for _, prefix in ipairs { ("a"):rep(64), "order1", "Order", "_a", "a_", "gr\195\182\195\159e" } do
      local text, message, code = vesta.typeid(prefix, uuid)
      assert.are.same({ nil, "bad_field" }, { text, code })
      assert.matches("^the TypeID prefix '", message)
    end
    assert.are.equal("bad_id", select(3, vesta.typeid("order", "hello")))
    assert.matches("uuid must be a string, not number", help.raised(vesta.explain_uuid, 7))
    assert.matches("uuid must be a string, not no value", help.raised(vesta.typeid, "order"))
  end)

  it("raises for an unknown shape or form", function()
    local gen = help.open()
    assert.matches("the shape 'uuid9' must be uuid7, uuid8, ulid or hex32", help.raised(gen.next_uuid, gen, "uuid9"))
    assert.matches("invalid option 'hex'", help.raised(gen.next_uuid, gen, "uuid7", "hex"))
  end)

  it("returns the reason if the layout cannot have the shape", function()
    local layout = "time:30 worker:9 seq:25 unit=1s epoch=2020-01-01T00:00:00Z"
    local gen = assert(vesta.open { unsafe_private = true, layout = layout, worker = 1 })
    local nothing, message, code = gen:next_uuid "hex32"
    assert.is_nil(nothing)
    assert.are.equal("bad_option", code)
    assert.matches("hex32 has room for a counter of 24 bits, and the layout needs 25", message)
    assert(gen:next_uuid "uuid7")
  end)

  it("does not pause while the clock is behind", function()
    local gen, clock = require "vesta.testing".generator { layout = "snowflake" }
    local before = assert(gen:next_uuid())
    clock:step(-30000)
    for i = 1, 20000 do
      if i % 1000 == 0 then clock:pass(1) end -- the lead has half the clock's speed, 2,048 ids per millisecond
      local uuid = assert(gen:next_uuid())
      assert.is_true(before < uuid)
      before = uuid
    end
  end)
end)

describe("LuaJIT with its compiler off", function()
  it("returns the same ids in the same types", function()
    if not help.is_jit then return end
    assert.are.equal("string cdata cdata 3\n", help.run [[
      jit.off()
      local gen = assert(require "vesta".open { unsafe_private = true, layout = "vesta-milli", worker = 3 })
      local id, int, many = gen:next(), gen:next_int(), gen:batch_int(3)
      io.write(table.concat({ type(id), type(int), type(many[1]), gen:explain(int).worker }, " "), "\n")]]
      :match "[^\n]*\n$")
  end)
end)

describe("gen:batch", function()
  it("returns exactly n ascending ids", function()
    local gen = help.open()
    local before = "0"
    for _, n in ipairs { 1, 2, 255, 256, 257, 10000 } do
      local ids = assert(gen:batch(n))
      assert.are.equal(n, #ids)
      for _, id in ipairs(ids) do
        assert.is_true(help.less(before, id))
        before = id
      end
    end
  end)

  it("returns exact integers as batch_int", function()
    if not help.has_int then return end
    local gen = help.open()
    local before = assert(gen:batch_int(1))[1] -- this starts the keeper
    for _, n in ipairs { 1, 2, 256, 10000 } do
      local ids = assert(gen:batch_int(n))
      assert.are.equal(n, #ids)
      for _, id in ipairs(ids) do
        assert.is_true(before < id)
        before = id
      end
    end
  end)

  it("waits for more ids than a time unit has", function()
    local gen = help.open { layout = two_a_ms }
    assert.are.equal(500, #assert(gen:batch(500)))
    if help.has_int then assert.are.equal(500, #assert(gen:batch_int(500))) end
  end)

  it("returns none if it may not wait for all", function()
    local gen = hasty { layout = sixteen_a_s }
    for _, name in ipairs(help.has_int and { "batch", "batch_int" } or { "batch" }) do
      local ids, message, code, wait_s = gen[name](gen, 1000)
      assert.is_nil(ids)
      assert.is_true(code == "full" or code == "ahead", message)
      assert.is_true(wait_s > 0)
    end
  end)

  it("raises for an invalid count, at the caller's line", function()
    local gen = help.open()
    for _, n in ipairs { 0, -1, 10001, 2 ^ 31, 2 ^ 32, 2 ^ 63, 1.5, 0 / 0, 1 / 0, -1 / 0, "5", "1;2", {}, true } do
      for _, name in ipairs(help.has_int and { "batch", "batch_int" } or { "batch" }) do
        assert.matches("gen_spec.lua:%d+: a batch is a whole number of ids from 1 to 10000", help.raised(function()
          return (gen[name](gen, n))
        end))
      end
    end
    assert.matches("not nil", help.raised(gen.batch, gen))
  end)
end)

describe("a generator's layout", function()
  it("explains, makes and ranges", function()
    local gen = help.open()
    local id = assert(gen:next())
    local parts = assert(gen:explain(id))
    assert.are.equal(id, gen:make(parts))
    local range = assert(gen:range(parts.unix_ms))
    assert.is_false(help.less(id, range[1].min))
    assert.is_false(help.less(range[1].max, id))
    local nothing, _, code = gen:explain "x"
    assert.is_nil(nothing)
    assert.are.equal("bad_id", code)
    nothing, _, code = gen:make {}
    assert.is_nil(nothing)
    assert.are.equal("bad_field", code)
  end)
end)

describe("gen:info", function()
  it("reports a generator's properties", function()
    local gen, options = help.open { layout = "vesta-milli", pacing = "history", ahead_ms_max = 7 }
    assert(gen:next())
    local info = gen:info()
    assert.are.equal("history", info.pacing)
    assert.are.equal(7, info.ahead_ms_max)
    assert.are.equal(options.namespace, info.namespace)
    assert.matches("^file:", info.store)
    assert.is_true(info.holds_lease)
    assert.is_true(gen:room() > 0)
    assert.are.equal(1, info.worker)
    assert.matches("^%d+$", info.tick)
    assert.is_true(help.less(info.tick, info.limit))
    assert.are.equal("string", type(info.keeper))
    assert.are.equal("string", type(info.warning))
    assert.is_true(info.slots_used >= 1)
  end)
end)

describe("gen:close", function()
  local methods = { "next", "next_uuid", "batch", "explain", "make", "range", "info", "keep", "release" }
  local arguments = { batch = 5, batch_int = 5, explain = "1", make = { time = 1 }, range = 0 }
  if help.has_int then
    methods[#methods + 1] = "next_int"
    methods[#methods + 1] = "batch_int"
  end

  it("may be called twice, and every later call fails with closed", function()
    local gen = help.open()
    assert(gen:next())
    gen:close()
    gen:close()
    for _, name in ipairs(methods) do
      local nothing, message, code = gen[name](gen, arguments[name])
      assert.is_nil(nothing)
      assert.are.equal("closed", code, name)
      assert.matches("closed", message)
    end
    assert.matches("closed", tostring(gen))
  end)

  it("does not affect another handle of the file", function()
    local gen, options = help.open()
    local other = assert(vesta.open { path = options.path })
    local id = assert(gen:next())
    gen:close()
    assert.is_true(help.less(id, assert(other:next())))
  end)

  it("happens when the generator is collected as garbage", function()
    for _ = 1, 200 do help.open():next() end
    collectgarbage()
    collectgarbage()
    assert(help.open():next())
  end)

  it("happens at the end of a to-be-closed variable", function()
    if not math.type or _VERSION < "Lua 5.4" then return end
    local gen = help.open()
    load("local gen = ... local held <close> = gen")(gen)
    assert.are.equal("closed", select(3, gen:next()))
  end)

  it("and all methods require a generator before the colon", function()
    methods[#methods + 1] = "close"
    local gen = help.open()
    for _, name in ipairs(methods) do
      for _, value in ipairs { {}, "gen", 5, io.stdout, vesta.layout "snowflake", false } do
        local message = help.raised(function() return (gen[name](value, arguments[name])) end)
        assert.matches("gen_spec.lua:%d+: a vesta.gen is expected before the colon", message)
      end
      assert.matches("a vesta.gen is expected", help.raised(gen[name]))
    end
  end)
end)

describe("the keeper", function()
  it("starts with the first id, on a lease that another process fetched", function()
    local code = [[
      local vesta = require "vesta"
      local call, path, layout, name = arg[1], arg[2], arg[3]:gsub("_", " "), arg[4]
      local gen = assert(vesta.open { path = path, layout = layout, worker = 1, namespace = name, wait_ms_max = 5000 })
      assert(gen[call](gen, 1))
      local pipe = io.popen("ls /proc/$PPID/task | wc -l")
      print("threads " .. pipe:read "*a")
    ]]
    local name = help.name()
    for _, call in ipairs { "next", "next", "batch" } do -- the first call fetches the lease
      local said = help.run(code, call, help.path(name), (help.wide:gsub(" ", "_")), name)
      assert.are.equal("threads 2\n\n", said)
    end
  end)
end)

describe("gen:keep and gen:release", function()
  it("start the keeper in advance, and release the worker id", function()
    local gen, options = help.open()
    assert.is_true(gen:keep())
    assert.is_true(gen:keep())
    local id = assert(gen:next())
    assert.is_true(gen:release())
    gen:close()
    local again = assert(vesta.open { layout = help.wide, path = options.path .. "2", worker = 1,
      namespace = options.namespace, wait_ms_max = 10000 })
    assert.is_true(help.less(id, assert(again:next())))
  end)
end)
