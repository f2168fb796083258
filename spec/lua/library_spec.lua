--- The annotations for editors list exactly the existing functions and options.
local vesta = require "vesta"
local help = require "lua.help"

local function documented(object, file)
  local names = {}
  for line in io.lines(help.root .. "/library/" .. (file or "vesta.lua")) do
    local name = line:match("^function " .. object .. "[.:]([%w_]+)%(")
    if name then names[name] = true end
  end
  return names
end

local function present(class)
  local names = {}
  for name, value in pairs(class) do if type(value) == "function" then names[name] = true end end
  return names
end

describe("library/vesta.lua", function()
  it("has every function of the module", function() assert.are.same(present(vesta), documented "vesta") end)

  it("has every method of a layout", function()
    assert.are.same(present(getmetatable(vesta.layout "snowflake").__index), documented "layout")
  end)

  it("has every method of a client", function()
    local client = assert(vesta.client { servers = "127.0.0.1:1" }) -- it does not connect yet
    assert.are.same(present(getmetatable(client).__index), documented "servers")
  end)

  it("has every method of a generator", function()
    assert.are.same(present(getmetatable(help.open()).__index), documented "gen")
  end)

  it("has every method of a range of past ids", function()
    local range = assert(vesta.past { namespace = help.name(), from = 1546300800000, to = 1577836800000 })
    assert.are.same(present(getmetatable(range).__index), documented "past")
  end)

  it("has every method of a segment", function()
    assert.are.same(present(require "vesta.core".segment_class.__index), documented "segment")
  end)
end)

-- Returns the names at the start of the lines between two marks.
local function named(path, from, until_, pattern)
  local names, inside = {}, false
  for line in io.lines(help.root .. path) do
    if line:find(from, 1, true) then inside = true elseif inside and line:find(until_) then break end
    local name = inside and line:match(pattern)
    if name then names[name] = true end
  end
  return names
end

describe("the options of vesta.open", function()
  local known = { wait_ms_max = true, policy = true, policy_env = true } -- options of Lua only
  for _, row in ipairs(require "vesta.core".options()) do known[row.name] = true end

  it("have each a type in library/vesta.lua", function()
    assert.are.same(known, named("/library/vesta.lua", "---@class vesta.options", "^$", "^%-%-%-@field ([%w_]+)%?"))
  end)

  it("have each a line in docs/lua.md", function()
    assert.are.same(known, named("/docs/lua.md", "## Options of vesta.open", "^`<state>`", "^| `([%w_]+)` |"))
  end)
end)

describe("library/testing.lua", function()
  local testing = require "vesta.testing"

  it("has every function of vesta.testing", function()
    assert.are.same(present(testing), documented("testing", "testing.lua"))
  end)

  it("has every method of a world", function()
    assert.are.same(present(getmetatable(testing.world { policy = "wait" })), documented("world", "testing.lua"))
  end)
end)
