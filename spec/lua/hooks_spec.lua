--- The page, the types of library/vesta.lua and the program must agree with lua/vesta/hooks.lua.
local engine = require "vesta.engine"
local hooks = require "vesta.hooks"
local root = os.getenv "VESTA_ROOT" or "."

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return text
end

local function sorted(list)
  table.sort(list)
  return table.concat(list, " ")
end

local function listed(list)
  return sorted { (table.unpack or unpack)(list) }
end

-- Returns all matches of a pattern, sorted.
local function found(text, pattern)
  local list = {}
  for word in text:gmatch(pattern) do list[#list + 1] = word end
  return sorted(list)
end

-- Returns the lines from this one to the next empty line.
local function block(text, line)
  local from, to = text:find("\n" .. line .. "\n", 1, true)
  assert(from, line)
  return text:sub(to, (text:find("\n\n", to, true)))
end

local EVERYWHERE, ONLY = { "options" }, {} -- fields of ctx: of all functions, and by function
for _, row in ipairs(hooks.hooks) do ONLY[row[1]] = {} end
for _, field in ipairs(hooks.fields) do
  if field[3] == "all" then EVERYWHERE[#EVERYWHERE + 1] = field[1] end
  for hook in field[3]:gmatch "%S+" do
    if hook ~= "all" then table.insert(ONLY[hook], field[1]) end -- raises if there is no such function
  end
end

it("each function of a policy is tested in some situation", function()
  local tried = {}
  for _, situation in ipairs(hooks.situations) do tried[situation[1]] = true end
  for hook in pairs(ONLY) do assert.is_true(tried[hook], hook) end
  for hook in pairs(tried) do assert.is_truthy(ONLY[hook], hook) end
end)

describe("docs/policies-reference.md", function()
  local doc = read(root .. "/docs/policies-reference.md")
  local section = doc:match "\n## Functions\n(.-)\n## "

  it("has a row for each function, with its inputs and results", function()
    local rows = 0
    for name, told, answers in section:gmatch "\n| `([%w_]+)` | [^|]* | ([^|]*) | ([^|\n]*) |" do
      rows = rows + 1
      local verdicts = assert(engine.VERDICTS[name], name)
      assert.equal(listed(verdicts), found(answers, '`"(%w+)"`'))
      assert.equal(sorted(ONLY[name]), found(told, "`([%w_]+)`"))
    end
    assert.equal(#hooks.hooks, rows)
  end)

  it("lists the fields of a record", function()
    local told = {}
    local choosing = doc:match "\n## Choose a worker id\n(.-)\n## "
    for row in choosing:gmatch "\n| ([^|]*%.[%w_]+`[^|]*) |" do
      for name in row:gmatch "%.([%w_]+)`" do told[#told + 1] = name end
    end
    local names = {}
    for _, row in ipairs(hooks.records) do names[#names + 1] = row[1] end
    assert.equal(sorted(names), sorted(told))
  end)

  it("lists the inputs of all functions", function()
    assert.equal(listed(EVERYWHERE), found(section:match "`ctx`, which always has the fields (.-%.)", "`([%w_]+)`"))
  end)
end)

describe("library/vesta.lua", function()
  local types = read(root .. "/library/vesta.lua")
  local TYPES = {
    integer = "integer", moment = "integer", text = "string", records = "vesta.ctx_record[]",
    range = "{ first: integer, last: integer }", peers = "{ worker: integer, seen_ms: integer }[]",
  }

  it("has each field of ctx, with its type", function()
    local ctx, count = block(types, "---@class vesta.ctx"), 0
    for _, field in ipairs(hooks.fields) do
      local line = assert(ctx:match("\n(%-%-%-@field " .. field[1] .. "%?? [^\n]*)"), field[1])
      local optional = field[3] == "all" and "" or "?"
      local want = ("---@field %s%s %s"):format(field[1], optional, assert(TYPES[field[2]], field[2]))
      assert.equal(want, line:sub(1, #want))
    end
    for _ in ctx:gmatch "@field" do count = count + 1 end
    assert.equal(#hooks.fields + 1, count) -- one more for options
  end)

  it("has each field of a record, with its type", function()
    local kinds = { number = "integer", moment = "integer", text = "string", flag = "boolean" }
    local record, count = block(types, "---@class vesta.ctx_record"), 0
    for _, row in ipairs(hooks.records) do
      assert.is_truthy(record:find(("\n---@field %s %s"):format(row[1], kinds[row[2]]), 1, true), row[1])
    end
    for _ in record:gmatch "@field" do count = count + 1 end
    assert.equal(#hooks.records, count)
  end)

  it("has each function of a policy, with its results", function()
    local policy = block(types, "---@class vesta.policy")
    for hook, verdicts in pairs(engine.VERDICTS) do
      local line = assert(policy:match("\n%-%-%-@field " .. hook .. "%? ([^\n]*)"), hook)
      assert.equal(listed(verdicts), found(line, '"(%w+)"'))
    end
    local names = {}
    for hook in pairs(engine.VERDICTS) do names[#names + 1] = hook end
    assert.equal(sorted(names), found(policy, "@field (%w+_[%w_]+)%?"))
  end)
end)

describe("the program", function()
  it("has a name in C for each function and each verdict", function()
    local build = os.getenv "VESTA_BUILD" or root .. "/build/debug"
    local file = io.open(build .. "/csrc/policy/hooks.h")
    if not file then return pending "no program was built here" end
    file:close()
    local header, names, words = read(build .. "/csrc/policy/hooks.h"), {}, {}
    for _, row in ipairs(hooks.hooks) do
      names[#names + 1] = row[1]
      for word in row[2]:gmatch "%S+" do words[word] = true end
    end
    for word in pairs(words) do names[#names + 1] = word end
    assert.equal(sorted(names), found(header, '\n    ROW%([%u_]+, "([%w_]+)"'))
  end)

  it("passes each field of ctx to some function, and no other field", function()
    local told, names = {}, {}
    for _, file in ipairs { "judge", "leases" } do
      local text = read(("%s/csrc/policy/control/%s.c"):format(root, file))
      for name in text:gmatch 'vs_ctx_%l+%("([%w_]+)"' do told[name] = true end
      for name in text:gmatch '%.name = "([%w_]+)", %.kind' do told[name] = true end
      for name in text:gmatch '%.name = "([%w_]+)",\n%s+%.kind' do told[name] = true end
    end
    local list = {}
    for name in pairs(told) do list[#list + 1] = name end
    for _, row in ipairs(hooks.fields) do names[#names + 1] = row[1] end
    assert.equal(sorted(names), sorted(list))
  end)
end)
