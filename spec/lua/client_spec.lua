--- vesta.client: ids from a server's blocks or the fallback, and invalid options.
local vesta = require "vesta"
local help = require "lua.help"

local build = os.getenv "VESTA_BUILD" or help.root .. "/build/debug"
local server, socket

local function shell(command) assert(os.execute(command)) end

-- Starts a server on its own sockets.  stop() ends it.
local function start()
  local path = help.path "served"
  socket = "unix:" .. path .. ".resp"
  local pipe = assert(io.popen(([[
    VESTA_STATE=%s.state %s/vesta serve --layout vesta-milli --worker 900 --ahead-ms 1000 --resp %s \
      --http unix:%s.http >%s.log 2>&1 & echo $!
    i=0; while [ $i -lt 600 ] && ! grep -qs 'msg=ready' %s.log; do i=$((i+1)); sleep 0.1; done]])
    :format(path, build, socket, path, path, path)))
  server = tonumber(pipe:read "*l")
  pipe:close()
end

local function stop()
  if server then shell(("kill %d; i=0; while kill -0 %d 2>/dev/null && [ $i -lt 100 ]; do i=$((i+1)); sleep 0.1; done")
    :format(server, server)) end
  server = nil
end

local function worker(id) return vesta.layout("vesta-milli"):explain(id).worker end

describe("vesta.client", function()
  setup(start)
  teardown(stop)

  it("issues the ids of a server's blocks once, with one request per block", function()
    local client = assert(vesta.client { servers = { socket }, wait_ms_max = 30000 })
    local seen, last = {}, "0"
    for _ = 1, 2000 do
      local id = assert(client:next())
      assert.is_nil(seen[id])
      assert.is_true(help.less(last, id))
      assert.are.equal(900, worker(id))
      seen[id], last = true, id
    end
    local batch = assert(client:batch(3000))
    assert.are.equal(3000, #batch)
    for _, id in ipairs(batch) do
      assert.is_nil(seen[id])
      seen[id] = true
    end
    local info = assert(client:info())
    assert.are.equal("default", info.name)
    assert.is_true(info.requests - info.blocks <= 1)
    assert.are.equal(info.requests, info.servers[1].requests)
    assert.is_nil(info.fallback)
    assert.are.equal(socket, info.servers[1].address)
    client:close()
  end)

  it("issues integers if this Lua has them", function()
    local client = assert(vesta.client { servers = socket, wait_ms_max = 30000 })
    if help.has_int then
      local ids = assert(client:batch_int(2))
      assert.is_true(ids[1] < ids[2] and ids[2] < assert(client:next_int()))
      assert.are.equal(900, worker(ids[1]))
      assert.are.equal("range", (select(3, assert(vesta.client { servers = "a:1", wait_ms_max = 0 }):next_int())))
    else
      assert.has_error(function() client:next_int() end)
      assert.has_error(function() client:batch_int(2) end)
    end
    client:close()
  end)

  it("takes ids from a fallback while no server answers, and close leaves the fallback open", function()
    local gen = help.open { layout = "vesta-milli", worker = 12 }
    local client = assert(vesta.client { servers = "127.0.0.1:1", fallback = gen, wait_ms_max = 30000 })
    assert.are.equal(12, worker(assert(client:next())))
    gen:close()
    gen = nil -- luacheck: ignore
    collectgarbage()
    collectgarbage()
    assert.are.equal(12, worker(assert(client:batch(5000))[5000]))
    local info = assert(client:info())
    assert.are.equal(info.blocks, info.fallback_blocks)
    assert.is_true(info.fallback.ids >= 5001)
    assert.truthy(info.servers[1].error:find "refused")
    client:close()
    client:close()
  end)

  it("takes ids from a server, the fallback and the server again, all with the same method", function()
    local gen = help.open { layout = "vesta-milli", worker = 13 }
    local client = assert(vesta.client { servers = { socket }, fallback = gen, wait_ms_max = 30000, block_max = 100 })
    local seen = {}
    local function comes(number)
      local fields
      for _ = 1, 3000 do
        local id = assert(client:next())
        assert.is_nil(seen[id])
        seen[id] = true
        fields = vesta.layout("vesta-milli"):explain(id)
        if fields.worker == number then break end
        shell "sleep 0.01"
      end
      assert.are.equal(2, fields.method)
      assert.are.equal(number, fields.worker)
      local info = client:info()
      assert.are.equal(info.blocks, info.fallback_blocks + info.servers[1].blocks)
      return info
    end
    assert.are.equal(0, comes(900).fallback_blocks)
    stop()
    assert.is_true(comes(13).fallback_blocks > 0)
    start()
    local blocks = comes(900).fallback_blocks
    assert(client:batch(1000))
    assert.are.equal(blocks, client:info().fallback_blocks) -- it is not used any more
    client:close()
    gen:close()
  end)

  it("makes UUIDs of each shape from the ids of its blocks", function()
    local gen = assert(vesta.open { layout = "vesta-milli", worker = 5, path = help.path "uuids", namespace = "uuids" })
    local client = assert(vesta.client { servers = "127.0.0.1:1", fallback = gen, wait_ms_max = 30000 })
    for shape, length in pairs { uuid7 = 36, uuid8 = 36, ulid = 26, hex32 = 32 } do
      local first, second = assert(client:next_uuid(shape)), assert(client:next_uuid(shape))
      assert.are.equal(length, #first)
      assert.is_true(first < second)
    end
    assert.are.equal("7", assert(client:next_uuid()):sub(15, 15))
    assert.is_false(pcall(client.next_uuid, client, "uuid4"))
    client:close()
    assert.are.equal("closed", (select(3, client:next_uuid())))
    gen:close()
  end)

  it("ends with its Lua state, in any order", function()
    local said = help.run([[
      local vesta = require "vesta"
      local gen = assert(vesta.open { layout = "vesta-milli", worker = 3, path = arg[1], namespace = "ends" })
      local client = assert(vesta.client { servers = "127.0.0.1:1", fallback = gen, wait_ms_max = 30000 })
      local other = assert(vesta.client { servers = "127.0.0.1:1,127.0.0.1:2", fallback = gen, wait_ms_max = 30000 })
      assert(client:next() and other:next())
      print("ended well")]], help.path "ends")
    assert.are.equal("ended well\n", said)
  end)

  it("pauses with the code range if no server answers, and reports each server's failure", function()
    local client = assert(vesta.client { servers = { "127.0.0.1:1", "unix:/nowhere" }, wait_ms_max = 200 })
    local id, message, code, wait_s = client:next()
    assert.is_nil(id)
    assert.are.equal("range", code)
    assert.is_true(wait_s > 0)
    assert.truthy(message:find("127.0.0.1:1", 1, true) and message:find("unix:/nowhere", 1, true))
    assert.are.equal("range", (select(3, client:batch(5))))
    client:close()
    assert.are.equal("closed", (select(3, client:next())))
    assert.are.equal("closed", (select(3, client:batch(5))))
    assert.are.equal("closed", (select(3, client:info())))
    assert.are.equal("vesta client (closed)", tostring(client))
  end)

  it("rejects invalid options by name", function()
    for _, given in ipairs { 5, "127.0.0.1:1", { 1 }, { servres = "a:1" }, { servers = {} }, { servers = 5 },
      { servers = { "a:1,b:1" } }, { servers = { "a:1\0" } }, { servers = "a:1", ttl_ms = 0 },
      { servers = "a:1", ttl_ms = 0 / 0 }, { servers = "a:1", timeout_ms = 1 / 0 },
      { servers = "a:1", block_max = 100001 }, { servers = "a:1", block_min = 1.5 },
      { servers = "a:1", wait_ms_max = -1 }, { servers = "a:1", password = 5 }, { servers = "a:1", name = "a\0b" },
      { servers = "a:1", fallback = "gen" } } do
      local ok, message = pcall(vesta.client, given)
      assert.is_false(ok)
      assert.truthy(message:find "vesta.client: ")
    end
    for _, given in ipairs { {}, { servers = "" }, { servers = "nowhere" }, { servers = "a:1", name = "a b" },
      { servers = "a:1", block_min = 2, block_max = 1 }, { servers = "a:1", fallback = io.stdout },
      { servers = "a:1", password = ("x"):rep(600) } } do
      local client, message, code = vesta.client(given)
      assert.is_nil(client)
      assert.are.equal("bad_option", code)
      assert.is_true(#message > 20)
    end
    local closed = help.open()
    closed:close()
    assert.are.equal("bad_option", (select(3, vesta.client { servers = "a:1", fallback = closed })))
  end)
end)
