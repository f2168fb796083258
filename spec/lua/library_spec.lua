--- The annotations for editors name what there is, and nothing else.
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

  it("has every method of a generator", function()
    assert.are.same(present(getmetatable(help.open()).__index), documented "gen")
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
