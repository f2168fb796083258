--- docs/policies.md says how the known generators' policies differ from their originals; what it says of ours is the
-- name of a claim, word for word, so that no row stands without its test.
local root = os.getenv "VESTA_ROOT" or "."

local function read(path)
  local file = assert(io.open(root .. "/" .. path))
  local text = file:read "*a"
  file:close()
  return text
end

-- Of each section "### name" the last cells of the table: { { policy =, claim = }, ... }.
local function rows_of(text)
  local rows, policy = {}, nil
  for line in text:gmatch "[^\n]+" do
    if line:find "^#" then policy = line:match "^### ([%w_]+)$" end
    local claim = policy and line:match "^| .* | .* | (.*) |$"
    if claim and claim ~= "ours" then rows[#rows + 1] = { policy = policy, claim = claim } end
  end
  return rows
end

describe("the tables of docs/policies.md", function()
  local rows = rows_of(read "docs/policies.md")

  it("are of nine policies", function()
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
