--- The functions log, env and localtime of policies.  They are the same in the rock and in the server.
local testing = require "vesta.testing"
local helpers = require "vesta.policy.helpers"

local HOUR_MS = 3600000

-- Returns a world with a policy that has this body as on_exhausted.  The body returns the reason.
local function world_of(body, env)
  local path = os.tmpname()
  local file = assert(io.open(path .. ".lua", "w"))
  file:write("local function ask(ctx) ", body, " end\n",
    'return { api = 1, on_exhausted = function(ctx) return "refuse", tostring(ask(ctx)) end }')
  file:close()
  local ok, world = pcall(testing.world, { policy = path .. ".lua", env = env })
  os.remove(path)
  os.remove(path .. ".lua")
  return ok and world or error(world, 0)
end

local function answer(body, env)
  local world = world_of(body, env)
  local _, _, reason = world:verdict "on_exhausted"
  return reason
end

-- "2026-11-23 14:05:09 2 327 28800" for a zone's time.
local function shown(ms, zone)
  return answer(([[
    local t = localtime(%.0f, "%s")
    return ("%%d-%%02d-%%02d %%02d:%%02d:%%02d %%d %%d %%d")
      :format(t.year, t.month, t.day, t.hour, t.min, t.sec, t.wday, t.yday, t.offset_s)]]):format(ms, zone))
end

-- Whether this Lua can read a zone: the rock is there, or this is `vesta policy test`.
local has_zones = pcall(answer, 'return localtime(0, "UTC").year')

describe("localtime", has_zones and function()
  it("has the names of os.date, and how far the zone is ahead of UTC", function()
    assert.equal("1970-01-01 00:00:00 5 1 0", shown(0, "UTC"))
    assert.equal("2026-11-23 14:05:09 2 327 28800", shown(1795413909999, "Asia/Shanghai"))
    assert.equal("1969-12-31 23:59:59 4 365 0", shown(-1, "UTC"))
    assert.equal("2026-01-01 05:45:00 5 1 20700", shown(1767225600000, "Asia/Kathmandu"))
  end)

  it("never shows what clocks leave out when they are put forward", function()
    local spring = 1774746000000 -- 2026-03-29T01:00:00Z, Europe/Berlin
    assert.equal("2026-03-29 01:59:59 1 88 3600", shown(spring - 1, "Europe/Berlin"))
    assert.equal("2026-03-29 03:00:00 1 88 7200", shown(spring, "Europe/Berlin"))
  end)

  it("shows an hour twice when clocks are put back, and offset_s tells which", function()
    local autumn = 1792890000000 -- 2026-10-25T01:00:00Z
    assert.equal("2026-10-25 02:30:00 1 298 7200", shown(autumn - HOUR_MS / 2, "Europe/Berlin"))
    assert.equal("2026-10-25 02:30:00 1 298 3600", shown(autumn + HOUR_MS / 2, "Europe/Berlin"))
  end)

  it("takes fractions of a millisecond, downwards", function()
    assert.equal("59", answer 'return localtime(-0.5, "UTC").sec')
    assert.equal("0", answer 'return localtime(999.9, "UTC").sec')
  end)

  it("refuses an unknown zone by name, and what is no time", function()
    for _, name in ipairs { "Asia/Shanghia", "", "../etc/passwd", "Europe", "/etc/localtime", "posixrules\0" } do
      local ok, raised = pcall(answer, (("return localtime(0, %q)"):format(name):gsub("\\\0", "\\0")))
      assert.is_false(ok)
      assert.is_not_nil(tostring(raised):find("localtime: ", 1, true))
    end
    assert.has_error(function() answer 'return localtime(0, "Asia/Shanghia")' end)
    for _, ms in ipairs { "0/0", "1/0", "-1/0", "1e300", "9e15", "nil", "{}" } do
      assert.is_false((pcall(answer, "return localtime(" .. ms .. ', "UTC")')))
    end
    assert.is_false((pcall(answer, "return localtime(0)")))
    assert.is_false((pcall(answer, "return localtime(0, {})")))
  end)
end or function() end)

describe("env", function()
  it("gives what it was allowed, and nil for what is not set", function()
    local env = { REGION = "eu \"1\"\n\\", ROLE = false }
    assert.equal("eu \"1\"", helpers.split(answer('return env "REGION"', env), "\n")[1]:sub(1, 6))
    assert.equal("nil", answer('return env "ROLE"', env))
    assert.equal("8", answer('return #env "REGION"', env))
  end)

  it("refuses every other variable by name, and says what to do", function()
    for _, name in ipairs { "PATH", "HOME", "", "region", "REGION\0" } do
      local ok, raised = pcall(answer, ("return env(%q)"):format(name):gsub("\\\0", "\\0"), { REGION = "eu" })
      assert.is_false(ok)
      assert.is_not_nil(tostring(raised):find("policy_env", 1, true))
    end
    assert.is_false((pcall(answer, "return env({})", {})))
    assert.is_false((pcall(answer, "return env()", {})))
  end)

  it("can be read while the file is run", function()
    local path = os.tmpname()
    local file = assert(io.open(path .. ".lua", "w"))
    file:write 'local r = env "REGION" return { api = 1, on_exhausted = function() return "refuse", r end }'
    file:close()
    local world = testing.world { policy = path .. ".lua", env = { REGION = "eu" } }
    os.remove(path)
    os.remove(path .. ".lua")
    local _, _, reason = world:verdict "on_exhausted"
    assert.equal("eu", reason)
  end)
end)

describe("shadow", function()
  it("is for a server", function()
    local ok, raised = pcall(testing.world, { policy = { "wait", shadow = true } })
    assert.is_false(ok)
    assert.is_not_nil(tostring(raised):find("shadow", 1, true))
  end)
end)

describe("log", function()
  it("is heard by the world, line by line", function()
    local world = world_of 'log("one") log(2) log "a\\nb" return "x"'
    world:verdict "on_exhausted"
    assert.equal(3, #world.said)
    assert.equal("one", world.said[1])
    assert.equal("2", world.said[2])
    assert.is_nil(world.said[3]:find("\n", 1, true))
  end)

  it("cuts what is long", function()
    local world = world_of 'log(("x"):rep(100000)) return "x"'
    world:verdict "on_exhausted"
    assert.is_true(#world.said[1] <= 512)
  end)

  it("takes a text, and nothing else", function()
    for _, value in ipairs { "nil", "{}", "true", "print", "" } do
      assert.is_false((pcall(answer, "log(" .. value .. ")")))
    end
  end)

  it("is what print says to use", function()
    local ok, raised = pcall(answer, 'print "x"')
    assert.is_false(ok)
    assert.is_not_nil(tostring(raised):find("use log(text)", 1, true))
  end)
end)
