--- Counts ids in one loop, and in several handles, states and processes: none repeats.
local vesta = require "vesta"
local help = require "lua.help"

local function grows(gen, count, take)
  local before = assert(take(gen))
  for i = 2, count do
    local id = take(gen)
    if not id or before >= id then return false, i, before, id end
    before = id
  end
  return true
end

describe("a tight loop of two million ids", function()
  it("issues each once, as text", function()
    local gen = help.open()
    local before = assert(gen:next())
    for _ = 2, help.has_int and 400000 or 2000000 do
      local id = gen:next()
      -- all have at most 19 digits, so texts of the same length compare like numbers
      if not id or #id < #before or (#id == #before and id <= before) then
        error(tostring(id) .. " after " .. before)
      end
      before = id
    end
  end)

  it("issues each once, as integers", function()
    if not help.has_int then return end
    assert.is_true(grows(help.open(), 2000000, function(gen) return gen:next_int() end))
  end)

  it("issues each once if it waits for the layout", function()
    local gen = help.open { layout = "snowflake" }
    local before = "0"
    for _ = 1, 300 do
      for _, id in ipairs(assert(gen:batch(1000))) do
        if not help.less(before, id) then error(id .. " after " .. before) end
        before = id
      end
    end
  end)

  it("issues each once with history pacing", function()
    local gen = help.open { pacing = "history" }
    local seen = {}
    for _ = 1, 100000 do
      local id = assert(gen:next())
      if seen[id] then error(id .. " twice") end
      seen[id] = true
    end
  end)
end)

-- The module keeps ids in a buffer before it creates Lua values.  In between Lua may run code that also takes ids.
describe("code that takes ids in the middle of another call", function()
  local calls = { "next", "batch" }
  if help.has_int then calls[3], calls[4] = "next_int", "batch_int" end

  local function when_collected(f)
    local new = rawget(_G, "newproxy") -- in Lua 5.1 a table has no finalizer
    if new then
      getmetatable(new(true)).__gc = f
    else
      setmetatable({}, { __gc = f })
    end
  end

  local seen, inside

  local function note(ids)
    for _, id in ipairs(type(ids) == "table" and ids or { ids }) do
      id = tostring(id) -- a cdata would be a key by its identity
      if seen[id] then error(id .. " twice") end
      seen[id] = true
    end
  end

  -- Records the ids taken inside and outside a call.  `interrupt` makes other code take ids inside it.
  local function ask_inside(interrupt)
    local gen = help.open()
    local pause, step = collectgarbage("setpause", 100), collectgarbage("setstepmul", 1000) -- always collects
    for _, outer in ipairs(calls) do
      local kept, rounds = {}, 0
      local function ask()
        inside = inside + 1
        kept[#kept + 1] = gen[calls[inside % #calls + 1]](gen, 20)
      end
      seen, inside = {}, 0
      repeat
        interrupt(ask)
        local ids = gen[outer](gen, 100)
        debug.sethook()
        note(ids)
        rounds = rounds + 1
      until rounds > 100 and inside > 100
      for _, ids in ipairs(kept) do note(ids) end
    end
    collectgarbage("setpause", pause)
    collectgarbage("setstepmul", step)
  end

  it("gets its own ids in a finalizer", function() ask_inside(when_collected) end)

  it("gets its own ids in a debug hook", function()
    local every = 0
    ask_inside(function(ask)
      every = every % 40 + 1 -- at each of its instructions
      debug.sethook(ask, "", every)
    end)
  end)
end)

describe("two handles of one file", function()
  it("in one Lua state share the cursor", function()
    local one, options = help.open()
    local two = assert(vesta.open { path = options.path, wait_ms_max = 5000 })
    local before = "0"
    for i = 1, 20000 do
      local id = assert((i % 2 == 0 and one or two):next())
      assert.is_true(help.less(before, id))
      before = id
    end
  end)

  it("in two Lua states of one process share the cursor", function()
    if not help.is_jit then return end -- LuaJIT can create a second state through its FFI
    local ffi = require "ffi"
    ffi.cdef [[
      void *luaL_newstate(void);
      void luaL_openlibs(void *L);
      int luaL_loadstring(void *L, const char *text);
      int lua_pcall(void *L, int args, int results, int handler);
      const char *lua_tolstring(void *L, int index, size_t *length);
      void lua_close(void *L);
    ]]
    local gen, options = help.open()
    local state = ffi.gc(ffi.C.luaL_newstate(), nil)
    ffi.C.luaL_openlibs(state)
    local code = ([[
      local vesta = require "vesta"
      local gen = assert(vesta.open { path = %q, wait_ms_max = 5000 })
      return table.concat(assert(gen:batch(10000)), "\n")]]):format(options.path)
    local seen, count = {}, 0
    for _ = 1, 5 do
      for _, id in ipairs(assert(gen:batch(10000))) do
        seen[id] = true
        count = count + 1
      end
      assert.are.equal(0, ffi.C.luaL_loadstring(state, code))
      local failed = ffi.C.lua_pcall(state, 0, 1, 0)
      local text = ffi.string(ffi.C.lua_tolstring(state, -1, nil))
      assert.are.equal(0, failed, text)
      for id in text:gmatch "%d+" do
        assert.is_nil(seen[id])
        seen[id] = true
        count = count + 1
      end
    end
    ffi.C.lua_close(state) -- the module stays loaded, because its keeper's thread runs
    assert(gen:next())
    assert.are.equal(100000, count)
  end)

  it("before and after a fork share the cursor", function()
    if not help.is_jit then return end
    local ffi = require "ffi"
    ffi.cdef [[
      int fork(void);
      int waitpid(int pid, int *status, int options);
      void _exit(int status);
    ]]
    local gen = help.open()
    assert(gen:next())
    local files, children = {}, {}
    local function emit(file)
      for _ = 1, 50 do file:write(table.concat(assert(gen:batch(1000)), "\n"), "\n") end
      file:close()
    end
    for i = 1, 4 do
      files[i] = ("%s/fork%d"):format(help.state, i)
      local file = assert(io.open(files[i], "w"))
      children[i] = ffi.C.fork()
      if children[i] == 0 then
        local ok = pcall(emit, file)
        ffi.C._exit(ok and 0 or 1)
      end
      file:close()
    end
    files[5] = help.state .. "/fork5"
    emit(assert(io.open(files[5], "w")))
    local status = ffi.new "int[1]"
    for _, pid in ipairs(children) do
      ffi.C.waitpid(pid, status, 0)
      assert.are.equal(0, status[0])
    end
    local all = table.concat(files, " ")
    assert.are.equal(250000, help.count("cat " .. all .. " | wc -l"))
    assert.are.equal(0, help.count("sort " .. all .. " | uniq -d | wc -l"))
  end)
end)

describe("eight processes on one file", function()
  it("issue each id once", function()
    local _, options = help.open()
    local outs = {}
    local command = {}
    for i = 1, 8 do
      outs[i] = ("%s.out%d"):format(options.path, i)
      command[i] = ("%s %s/spec/lua/emit.lua %s 20001 > %s & "):format(help.lua, help.root, options.path, outs[i])
    end
    os.execute(table.concat(command) .. "wait")
    local all = table.concat(outs, " ")
    assert.are.equal(160008, help.count("cat " .. all .. " | wc -l"))
    assert.are.equal(0, help.count("sort " .. all .. " | uniq -d | wc -l"))
  end)

  it("issue each id once when some are killed", function()
    local _, options = help.open()
    local out = options.path .. ".killed"
    for i = 1, 6 do
      local file = out .. i
      os.execute(("%s %s/spec/lua/emit.lua %s 2000000 > %s & pid=$!; until [ -s %s ]; do sleep 0.01; done; "
        .. "sleep 0.1%d; kill -9 $pid"):format(help.lua, help.root, options.path, file, file, i))
    end
    -- a killed writer leaves an incomplete line
    local whole = ("for f in %s?; do sed '$d' $f; done"):format(out)
    assert.is_true(help.count(whole .. " | wc -l") > 1000)
    assert.are.equal(0, help.count(whole .. " | sort | uniq -d | wc -l"))
  end)
end)
