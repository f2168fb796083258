--- The examples print the text after --> in their comments, where ... matches any text.
local help = require "lua.help"

local function promised(path)
  local lines = {}
  for line in io.lines(path) do
    local want = line:match "%-%->%s(.*)$"
    if want then lines[#lines + 1] = want end
  end
  return lines
end

local function as_pattern(text)
  return "^" .. text:gsub("%.%.%.", "\1"):gsub("%p", "%%%0"):gsub("\1", ".*") .. "$"
end

local function run(path)
  local lines = {}
  local pipe = assert(io.popen(("d=$(mktemp -d %s/exXXXXXX) && cd $d && VESTA_STATE=$d %s %s 2>&1")
    :format(help.state, help.lua, path)))
  for line in pipe:lines() do lines[#lines + 1] = line end
  pipe:close()
  return lines
end

describe("the example", function()
  for _, name in ipairs { "first", "batch", "read", "by_hand", "errors", "shared", "fit", "policy" } do
    it(name .. ".lua prints the output in its comments", function()
      local path = ("%s/examples/lua/%s.lua"):format(help.root, name)
      local want, got = promised(path), run(path)
      assert.is_true(#want > 0)
      for i, line in ipairs(want) do assert.matches(as_pattern(line), got[i] or "") end
      assert.are.equal(#want, #got, table.concat(got, "\n"))
    end)
  end

  it("is tested here, for each file", function()
    assert.are.equal(9, help.count(("ls %s/examples/lua/*.lua | wc -l"):format(help.root)))
  end)

  it("of a test with busted is in docs/lua.md", function()
    local function read(path)
      local file = assert(io.open(help.root .. path))
      local text = file:read "*a"
      file:close()
      return text
    end
    local text = read("/examples/lua/orders_spec.lua"):gsub("^%-%-%- [^\n]*\n", "")
    assert.is_truthy(read("/docs/lua.md"):find("```lua\n" .. text .. "```\n", 1, true))
  end)
end)
