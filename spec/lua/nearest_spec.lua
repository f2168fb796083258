--- Suggestions for misspelt names in Lua, with spec/vectors/nearest.csv.
local helpers = require "vesta.policy.helpers"
local nearest = require "vesta.nearest"
local root = os.getenv "VESTA_ROOT" or "."

-- Calls check(word, names, meant) for each line; `names` has them as keys.
local function each(check)
  local count = 0
  for line in io.lines(root .. "/spec/vectors/nearest.csv") do
    local word, list, meant = line:match "^([^#,]+),([^,]+),([^,]+)$"
    if word then
      local names = {}
      for name in list:gmatch "%S+" do names[name] = { 0, 1, default = 0 } end
      check(word, names, meant)
      count = count + 1
    end
  end
  assert.is_true(count >= 10)
end

it("a name of vesta.open, of a policy's table and of a test's world is recognized", function()
  each(function(word, names, meant)
    local hint = meant == "-" and "" or (', did you mean "%s"?'):format(meant)
    assert.equal(('"%s"%s'):format(word, hint), nearest(word, names))
  end)
end)

it("an option of a policy is recognized", function()
  each(function(word, names, meant)
    local _, wrong = helpers.read_options({ options = { [word] = 1 } }, names)
    assert.equal(meant, wrong:match "did you mean ([%w_]+)%?$" or "-", wrong)
  end)
end)
