--- Policies in the rock that choose worker ids.  The chosen worker id is claimed, and a reason for none is reported.
-- If a policy fails, the default choice applies.
local vesta = require "vesta"
local help = require "lua.help"

-- Opens a generator in its own folder, without other holders of worker ids.  `more` overrides the options.
local function chooser(policy, more)
  local name = help.name()
  local options = {
    layout = help.wide, path = help.path(name), store = ("file:%s/%s.store"):format(help.state, name),
    wait_ms_max = 10000, policy = policy,
  }
  for key, value in pairs(more or {}) do options[key] = value end
  return assert(vesta.open(options)), options
end

local function choosing(choose_worker, more)
  local policy = { api = 1, name = "choosing", choose_worker = choose_worker }
  for key, value in pairs(more or {}) do policy[key] = value end
  return policy
end

local function worker_of(gen)
  local id, message = gen:next()
  assert(id, message)
  return tonumber(gen:explain(id).worker)
end

describe("choose_worker", function()
  it("chooses the worker id that is claimed, for next and for batch", function()
    assert.equal(7, worker_of((chooser(choosing(function() return 7 end)))))
    local gen = chooser(choosing(function() return 8 end))
    assert.equal(50, #assert(gen:batch(50)))
    assert.equal(8, gen:info().worker)
    if help.has_int then
      gen = chooser(choosing(function() return 9 end))
      assert(gen:next_int())
      assert.equal(9, gen:info().worker)
    end
  end)

  it("needs no options for a worker id or a store", function()
    local gen = assert(vesta.open {
      layout = help.wide, namespace = help.name(), path = help.path(help.name()), wait_ms_max = 10000,
      policy = choosing(function() return 11 end),
    })
    assert.equal(11, worker_of(gen))
  end)

  it("gets the store's records and facts about the machine", function()
    local first, options = chooser(choosing(function() return 3 end))
    assert(first:next())
    local seen
    local gen = chooser(choosing(function(ctx)
      seen = ctx
      return 500
    end), { store = options.store, identity = "me" })
    assert.equal(500, worker_of(gen))
    assert.same({ first = 0, last = 1023 }, seen.range)
    assert.equal(1, seen.attempt)
    assert.equal("default", seen.namespace)
    assert.equal("me", seen.identity)
    assert.equal("string", type(seen.host))
    assert.is_true(seen.ip == nil or type(seen.ip) == "string")
    assert.is_true(seen.random >= 0 and seen.random < 2 ^ 32 and seen.random % 1 == 0)
    assert.equal(1, #seen.records)
    local record = seen.records[1]
    local told, rows = {}, {}
    for key in pairs(record) do told[key] = true end
    for _, row in ipairs(require "vesta.hooks".records) do rows[row[1]] = true end
    assert.same(rows, told)
    assert.same({ 3, 1, true, false, options.path },
      { record.worker, record.epoch, record.held, record.expired, record.identity })
    for key, within_ms in pairs { until_ms = 200000, written_ms = 60000, seen_ms = 60000 } do -- a window lasts minutes
      assert.is_true(math.abs(record[key] - seen.now_ms) < within_ms, key)
    end
  end)

  it("is called again if the worker id is held, and the call waits for that", function()
    local first, options = chooser(choosing(function() return 5 end))
    assert(first:next())
    local asked = {}
    local gen = chooser(choosing(function()
      asked[#asked + 1] = true
      return #asked == 1 and 5 or 6
    end), { store = options.store })
    assert.equal(6, worker_of(gen))
    assert.equal(2, #asked)
    assert.equal(5, worker_of(first))
  end)

  it("may choose none, with a reason", function()
    local gen = chooser(choosing(function() return nil, "the house is full" end))
    local id, message, code = gen:next()
    assert.is_nil(id)
    assert.equal("the house is full (policy choosing)", message)
    assert.equal("choose", code)
    local wordless = chooser(choosing(function() return nil end))
    assert.equal("it chose no worker id (policy choosing)", (select(2, wordless:next())))
    assert.is_nil((wordless:batch(3)))
  end)

  it("falls back to the default choice if it fails or returns an invalid worker id", function()
    for _, body in ipairs { "error 'oh'", "return 1024", "return -1", "return 'seven'", "return 0.5", "return 2^60" } do
      local said = help.run([[
        local vesta = require "vesta"
        local gen = assert(vesta.open { layout = "snowflake epoch=2026-01-01T00:00:00Z", wait_ms_max = 10000,
          path = arg[1], store = arg[2],
          policy = { api = 1, name = "bad", choose_worker = function() ]] .. body .. [[ end } })
        local id, message = gen:next()
        print(id and gen:info().worker < 1024, message)]], help.path(help.name()), "file:" .. help.path(help.name()))
      assert.matches("vesta: policy bad: [^\n]*choose_worker [^\n]*. The fixed rules apply, and this is logged once\n",
        said)
      assert.matches("true", said)
    end
  end)

  it("is not called if the worker id is assigned by hand", function()
    local asked = false
    local gen = chooser(choosing(function()
      asked = true
      return 9
    end), { worker = 4 })
    assert.equal(4, worker_of(gen))
    assert.is_false(asked)
  end)

  it("may close the generator during its call", function()
    local gen
    gen = chooser(choosing(function()
      gen:close()
      return 3
    end))
    local id, _, code = gen:next()
    assert.is_nil(id)
    assert.equal("closed", code)
  end)
end)

describe("on_start of a policy that chooses", function()
  it("gets the peers' clocks, and its own last time", function()
    local first, options = chooser(choosing(function() return 5 end))
    assert(first:next())
    local seen
    local function starting(word)
      return choosing(function() return 6 end, { on_start = function(ctx)
        seen = ctx
        return word, "not like this"
      end })
    end
    local gen, other = chooser(starting "refuse", { store = options.store })
    for _ = 1, 2 do
      local id, message, code = gen:next()
      assert.is_nil(id)
      assert.equal("policy choosing refuses to start: not like this", message:match "policy.*")
      assert.is_true(code == "choose" or code == "lease")
    end
    assert.equal(1, #seen.peers)
    assert.equal(5, seen.peers[1].worker)
    assert.is_true(math.abs(seen.peers[1].seen_ms - seen.now_ms) < 60000)
    assert.is_nil(seen.last_ms)
    gen:close()
    gen = assert(vesta.open { path = other.path, wait_ms_max = 10000, policy = starting "go" })
    assert.equal(6, worker_of(gen))
    assert(gen:release())
    seen = nil
    local again = assert(vesta.open { path = other.path, wait_ms_max = 10000, policy = starting "go" })
    assert(again:next())
    assert.is_true(math.abs(seen.last_ms - seen.now_ms) < 60000)
  end)

  it("is not called if the file's lease continues", function()
    local gen, options = chooser(choosing(function() return 5 end))
    assert(gen:next())
    gen:close()
    local asked = 0
    options.policy = choosing(function() return 6 end, { on_start = function()
      asked = asked + 1
      return "refuse", "not again"
    end })
    gen = assert(vesta.open(options))
    assert.equal(5, worker_of(gen))
    assert.equal(0, asked)
    assert(gen:release())
    local id, message = gen:next()
    assert.is_nil(id)
    assert.equal("policy choosing refuses to start: not again", message:match "policy.*")
    assert.equal(1, asked)
  end)
end)

describe("the policies that come with vesta and choose", function()
  it("work in the rock like in a server", function()
    local gen, options = chooser { "vesta", first = 20, last = 21 }
    local one = worker_of(gen)
    assert.is_true(one == 20 or one == 21)
    local two = worker_of((chooser({ "vesta", first = 20, last = 21 }, { store = options.store })))
    assert.equal(41, one + two)
    local third = chooser({ "vesta", first = 20, last = 21 }, { store = options.store, wait_ms_max = 2000 })
    local id, message = third:next()
    assert.is_nil(id)
    assert.matches("20", message)
    assert(worker_of((chooser "butterfly")))
  end)
end)
