--- The table of a config's keys, and the config file as text.  The program reads a config only with Lua 5.4.
if _VERSION ~= "Lua 5.4" then return end

package.path = package.path .. ";" .. (os.getenv "VESTA_ROOT" or ".") .. "/lua/?.lua"
package.loaded["config.options"] = package.loaded["config.options"] or {}

local keys = require "config.keys"
local schema = require "config.schema"
local source = require "config.source"

describe("the rows of a config", function()
  it("each have a meaning, a kind, limits, and a default or the behavior without it", function()
    for _, row in ipairs(schema.rows) do
      assert.is_true(#row.help > 10, row.key)
      assert.is_string(row.default or row.without, row.key)
      assert.is_true(#keys.expected(row) > 5, row.key)
      assert.are.equal(row.kind == "choice" or row.kind == "word", row.words ~= nil, row.key)
      assert.is_true(row.words ~= nil or row.kind == "switch" or row.max > 0, row.key)
      assert.is_true(not row.env or row.env:find "^VESTA_" ~= nil and not row.part, row.key)
      assert.is_true(not row.flag or row.kind == "switch" or row.value ~= nil, row.key)
    end
  end)

  it("each have another key, flag and variable", function()
    for _, name in ipairs { "key", "flag", "env" } do
      local seen = {}
      for _, row in ipairs(schema.rows) do
        local value = row[name]
        assert.is_nil(value and seen[value], value)
        if value then seen[value] = true end
      end
    end
  end)

  it("of one table are adjacent", function()
    local last, done = nil, {}
    for _, row in ipairs(schema.rows) do
      local folder = row.key:match "^(.+)%." or ""
      if folder ~= last then
        assert.is_nil(folder ~= "" and done[folder] or nil, row.key)
        if last then done[last] = true end
        last = folder
      end
    end
  end)
end)

describe("the line of a key", function()
  it("is found if the key is in the file once, outside comments and strings", function()
    for _, row in ipairs {
      { "key = 1", 1 }, { "\n\n key=1", 3 }, { "return { key\n\n = 1 }", 1 }, { "['key'] = 1", 1 },
      { "[ \"key\" ]\n= 1", 1 }, { "key == 1" }, { "keys = 1" }, { "akey = 1" }, { "'key' = 1" }, { "x = key" },
      { "key = 1\nkey = 2" }, { "-- key = 1\nkey = 2", 2 }, { "--[[ key = 1\nkey = 3 ]] key = 2", 2 },
      { "--[==[ key = 1 ]] key = 3 ]==] key = 2", 1 }, { "--[[ key = 1" }, { "x = [[ key = 1 ]]\nkey = 2", 2 },
      { "x = [=[ ]] key = 1 ]=]\nkey = 2", 2 }, { "x = 'key = 1'\nkey = 2", 2 },
      { "x = \"a\\\"key = 1\"\nkey = 2", 2 }, { "x = 'key = 1" }, { "x = 'a\\" }, { "x = '\nkey = 1", 2 }, { "--" },
      { "[" }, { "[=" }, { "" },
    } do
      assert.are.equal(row[2], source.line_of(row[1], "key"), row[1])
    end
  end)
end)

describe("a file that is not Lua", function()
  it("is recognized by its first error", function()
    for _, row in ipairs {
      { "{ \"a\": 1 }", 1, "JSON" }, { "\n {}", 1, "JSON" }, { "[ 1 ]", 1, "JSON" }, { "{ a = 1 }", 1, "return" },
      { "a: 1", 1, "YAML" }, { "a-b-c: 1", 1, "YAML" }, { "a:\n  b: 1", 1, "YAML" }, { "# x\na: 1", 2, "YAML" },
      { "- a: 1", 1, "YAML" }, { "[a]\nb = 1", 1, "TOML" }, { "<a>", 1, "XML" }, { "# x\nreturn {}", 1, "--" },
      { "return {}\n// x", 2, "--" }, { "x = 1 # y", 1, "--" }, { "- x\nreturn {}", 1, "--" }, { "return { 1,, }", 1 },
      { "x = 1 -- # y", 1 }, { "a:b()", 1 }, { "return {\n}", 100 }, { "", 0 }, { "--[[ { ]] return {,}", 1 },
      { "a::b", 1 }, { "#", 1, "--" }, { "-", 1, "--" },
    } do
      local hint = source.hint(row[1], row[2])
      if row[3] then
        assert.is_truthy(hint and hint:find(row[3], 1, true), row[1])
      else
        assert.is_nil(hint, row[1])
      end
    end
  end)

  it("ends the search, whatever its bytes are", function()
    local bytes = {}
    for i = 0, 255 do bytes[#bytes + 1] = string.char(i) end
    local text = table.concat(bytes)
    for at = 1, #text do
      source.hint(text:sub(at), at % 7)
      source.line_of(text:sub(at), "threads")
    end
  end)
end)
