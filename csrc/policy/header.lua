--- header.lua -- writes policy/hooks.h: the rows of lua/vesta/hooks.lua that C needs as enums and members.
-- Run by vesta_make at build time.
local hooks = require "vesta.hooks"

-- rows("HOOK", list): #define VS_HOOK_ROWS(ROW) with a line for each element of the list.
local function rows(name, list)
  io.write("#define VS_", name, "_ROWS(ROW)")
  for _, row in ipairs(list) do io.write(" \\\n    ROW(", row, ")") end
  io.write "\n\n"
end

local function quoted(text) return text and '"' .. text .. '"' or "NULL" end

local functions, verdicts, fields, records, situations, known = {}, {}, {}, {}, {}, {}
for _, row in ipairs(hooks.hooks) do
  functions[#functions + 1] = ('%s, "%s", "%s"'):format(row[1]:upper(), row[1], row[2])
  for word in row[2]:gmatch "%a+" do
    if not known[word] then verdicts[#verdicts + 1] = ('%s, "%s"'):format(word:upper(), word) end
    known[word] = true
  end
end
for _, row in ipairs(hooks.fields) do
  fields[#fields + 1] = ("%s, %s, %s, %s, %s"):format(row[2]:upper(), quoted(row[1]), quoted(row[2]), quoted(row[3]),
    quoted(row[4]))
end
for _, row in ipairs(hooks.situations) do
  situations[#situations + 1] = ("%s, %s, %s, %s")
    :format(row[1]:upper(), quoted(row[1]), quoted(row[2]), quoted(row[3]))
end
for _, row in ipairs(hooks.records) do records[#records + 1] = ("%s, %s"):format(row[2]:upper(), row[1]) end

io.write "/* hooks.h -- made from lua/vesta/hooks.lua, which explains the rows. */\n"
rows("HOOK", functions)
rows("VERDICT", verdicts)
rows("FIELD", fields)
rows("RECORD", records)
rows("SITUATION", situations)
