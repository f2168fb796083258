--- Options that the known generators' policies refuse, each with its name and value.  Runs under busted, and with
-- `vesta policy test`.
local testing = require "vesta.testing"

local HUGE = ("x"):rep(5000)
local CHOOSERS = {
  "any", "butterfly", "butterfly_db", "ip_bits", "ip_list", "leaf", "ordinal", "twitter", "uid", "vesta",
}

-- Returns the verdict of one function of a policy with options, and the reason.  If the declared options reject them
-- when the policy is loaded, it returns the error as the function would.
local function ask(hook, options, layout)
  local ok, world = pcall(testing.world, { policy = options, layout = layout })
  if not ok then
    local at = world:find(": the option ", 1, true) or world:find(": there is no option ", 1, true)
    assert(at, world)
    if hook == "choose_worker" then return nil, world:sub(at + 2) end
    return "refuse", world:sub(at + 2)
  end
  local word, _, reason = world:verdict(hook)
  return word, reason
end

local NUMBERS = { -- invalid worker ids (valid are 0 to 1023), and their form in messages
  { -1, "-1" }, { 1024, "1024" }, { 0.5, "0.5" }, { 1e300, "1e+300" }, { "", '""' }, { "7", '"7"' }, { true, "true" },
  { {}, "a table" }, { "%d%s\\", '"%d%s\\"' }, { HUGE, '"' .. ("x"):rep(40) .. '..."' },
}

describe("an option", function()
  it("that is no number of the layout is refused with its value", function()
    for policy, names in pairs { vesta = { "first", "last" }, uid = { "first", "last" },
      twitter = { "worker" }, ip_bits = { "offset" }, ordinal = { "offset" } } do
      for _, name in ipairs(names) do
        for _, wrong in ipairs(NUMBERS) do
          local worker, reason = ask("choose_worker", { policy, [name] = wrong[1] })
          assert.is_nil(worker)
          local most = wrong[1] == 1024 and "1023" or "9007199254740992" -- a load knows no layout
          assert.equal(("the option %s must be a whole number from 0 to %s, not %s"):format(name, most, wrong[2]),
            reason)
        end
      end
    end
  end)

  it("that is infinite or no number at all is refused", function()
    for _, wrong in ipairs { math.huge, -math.huge, 0 / 0 } do
      for _, name in ipairs { "worker", "peers_ms_max" } do
        assert.is_nil((ask("choose_worker", { "twitter", worker = 1, [name] = wrong })))
      end
    end
  end)

  it("that nobody knows is refused, with those there are", function()
    local known = {
      any = "", butterfly = "", butterfly_db = "", ip_bits = "one of bits, offset",
      ip_list = "ips", leaf = "peers_ms_max", ordinal = "offset", twitter = "one of peers_ms_max, worker",
      uid = "one of borrow_ms_max, first, last", vesta = "one of border, first, last, role",
    }
    for _, policy in ipairs(CHOOSERS) do
      local worker, reason = ask("choose_worker", { policy, rolle = 1 })
      assert.is_nil(worker)
      local hint = policy == "vesta" and ", did you mean role?"
        or known[policy] == "" and ": this policy has no options" or ": use " .. known[policy]
      assert.equal('there is no option "rolle"' .. hint, reason)
      assert.is_nil((ask("choose_worker", { policy, [7] = 7 })))
      assert.is_nil((ask("choose_worker", { policy, [HUGE] = 7 })))
    end
  end)

  it("that is needed is missed by its name", function()
    assert.equal("the option worker is missing: a whole number from 0 to 9007199254740992",
      (select(2, ask("choose_worker", { "twitter" }, "twitter"))))
    assert.equal("the option ips is missing: a list", (select(2, ask("choose_worker", { "ip_list" }))))
  end)

  it("that contradicts another is refused with both", function()
    assert.equal("the option first is 9, and last is 8",
      (select(2, ask("choose_worker", { "uid", first = 9, last = 8 }))))
    assert.equal("no worker id is left for role server: first is 0, last is 923, border is 924",
      (select(2, ask("choose_worker", { "vesta", last = 923, role = "server" }))))
    assert.equal("no worker id is left for role embedded: first is 924, last is 1023, border is 924",
      (select(2, ask("choose_worker", { "vesta", first = 924 }))))
  end)

  it("of vesta: a border outside the numbers, a role that is none", function()
    for _, role in ipairs { "Server", "", 924, true } do
      assert.is_nil((ask("choose_worker", { "vesta", role = role })))
    end
    assert.equal('the option role must be "embedded" or "server", not "servers"',
      (select(2, ask("choose_worker", { "vesta", role = "servers" }))))
    assert.equal("the option border must be a whole number from 0 to 1024, not 1025",
      (select(2, ask("choose_worker", { "vesta", border = 1025 }))))
    assert.equal(924, (ask("choose_worker", { "vesta", role = "server", border = 924 })))
    assert.equal(0, (ask("choose_worker", { "vesta", border = 1024 })))
  end)

  it("of ip_bits: no bits, too many", function()
    for _, bits in ipairs { 0, 33, 1.5, "10" } do
      assert.is_nil((ask("choose_worker", { "ip_bits", bits = bits })))
    end
  end)

  it("of ip_list: no list, an empty one, what is no address, one twice", function()
    for _, row in ipairs {
      { "192.0.2.1", 'the option ips must be a list, not "192.0.2.1"' }, { {}, "the option ips has no address" },
      { { a = "192.0.2.1" }, "the option ips has no address" },
      { { "192.0.2.1", "10.0.0" }, 'the option ips has at place 2 no IPv4 address: "10.0.0"' },
      { { " 192.0.2.1" }, 'the option ips has at place 1 no IPv4 address: " 192.0.2.1"' },
      { { "192.0.2.1", 7 }, "the option ips has at place 2 no IPv4 address: number" },
      { { {} }, "the option ips has at place 1 no IPv4 address: table" },
      { { HUGE }, 'the option ips has at place 1 no IPv4 address: "' .. ("x"):rep(40) .. '"' },
      { { "192.0.2.1", "10.0.0.1", "192.0.2.1" }, "the option ips has 192.0.2.1 twice, at places 1 and 3" },
    } do
      local worker, reason = ask("choose_worker", { "ip_list", ips = row[1] })
      assert.is_nil(worker)
      assert.equal(row[2], reason)
    end
  end)

  it("that is not given has its default in ctx.options", function()
    for _, row in ipairs {
      { "borrow", "on_exhausted", "borrow", 1000 }, { "wait", "on_exhausted", "wait", 5000 },
      { "uid", "on_exhausted", "borrow", 8000 }, { "switch", "on_clock_back", "wait", 10 },
    } do
      local world = testing.world { policy = row[1] }
      local word, amount_ms = world:verdict(row[2])
      assert.equal(row[3], word)
      assert.equal(row[4], amount_ms)
    end
    local world = testing.world { policy = { api = 1, options = { n = { 0, 9, default = 3 }, m = { 0, 9 } },
      on_exhausted = function(ctx)
        local n = ctx.options.n
        ctx.options.n = nil
        return ctx.options.m == nil and "wait" or "refuse", n
      end } }
    for _ = 1, 2 do
      local word, amount_ms = world:verdict "on_exhausted"
      assert.equal("wait", word)
      assert.equal(3, amount_ms)
    end
  end)

  it("whose rule is none is refused with its policy", function()
    for _, row in ipairs {
      { { n = 5 }, 'options has no rule for "n": ' }, { { n = {} }, 'options has no rule for "n": ' },
      { { n = { 1 } }, 'options has no rule for "n": ' }, { { n = { 2, 1 } }, 'options has no rule for "n": ' },
      { { n = { "a", 1 } }, 'options has no rule for "n": ' },
      { { { 0, 1 } }, "options has no rule for 1: " }, { "n", "options is a string, not a table of rules" },
      { { n = { 0, 9, default = 10 } }, "the option n must be a whole number from 0 to 9, not 10" },
      { { n = { 0, 9, needed = true } }, "the option n is missing: a whole number from 0 to 9" },
      { { n = { "a", "b", default = "c" } }, 'the option n must be "a" or "b", not "c"' },
    } do
      local ok, said = pcall(testing.world, { policy = { api = 1, options = row[1] } })
      assert.is_false(ok)
      assert.equal("the policy's table: " .. row[2], said:sub(1, #row[2] + 20))
    end
  end)

  it("that is wrong is refused by the other functions too", function()
    for _, row in ipairs {
      { "on_start", { "leaf", peers_ms_max = -1 },
        "the option peers_ms_max must be a whole number from 0 to 86400000, not -1" },
      { "on_start", { "twitter", worker = "x" },
        'the option worker must be a whole number from 0 to 9007199254740992, not "x"' },
      { "on_exhausted", { "uid", borrow_ms_max = 60001 },
        "the option borrow_ms_max must be a whole number from 0 to 60000, not 60001" },
      { "on_clock_back", { "uid", x = 1 }, 'there is no option "x": use one of borrow_ms_max, first, last' },
    } do
      local word, reason = ask(row[1], row[2])
      assert.equal("refuse", word)
      assert.equal(row[3], reason)
    end
  end)
end)
