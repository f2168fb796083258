--- docs/internals/known-generators.md compares policies with the generators that they follow.  The last cell of each
-- row must be the name of a test, word for word, so that no row is untested.
local root = os.getenv "VESTA_ROOT" or "."

local function read(path)
  local file = assert(io.open(root .. "/" .. path))
  local text = file:read "*a"
  file:close()
  return text
end

-- Returns the last cells of the table in each section "## name": { { policy =, claim = }, ... }.
local function rows_of(text)
  local rows, policy = {}, nil
  for line in text:gmatch "[^\n]+" do
    if line:find "^#" then policy = line:match "^## ([%w_]+)$" end
    local claim = policy and line:match "^| .* | .* | (.*) |$"
    if claim and claim ~= "ours" then rows[#rows + 1] = { policy = policy, claim = claim } end
  end
  return rows
end

describe("the tables of docs/internals/known-generators.md", function()
  local rows = rows_of(read "docs/internals/known-generators.md")

  it("cover nine policies", function()
    local seen, count = {}, 0
    for _, row in ipairs(rows) do
      if not seen[row.policy] then count = count + 1 end
      seen[row.policy] = true
    end
    assert.equal(9, count)
    assert.is_true(#rows >= 45)
  end)

  for _, row in ipairs(rows) do
    it("have a test: " .. row.policy .. " " .. row.claim, function()
      local specs = read("spec/policy/" .. row.policy .. "_spec.lua") .. read "spec/policy/options_spec.lua"
      assert.is_truthy(specs:find('it("' .. row.claim .. '", function', 1, true))
    end)
  end
end)
