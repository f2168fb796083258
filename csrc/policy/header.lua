--- header.lua -- writes policy/hooks.h: the rows of lua/vesta/hooks.lua that C needs as enums and members.
-- Run by vesta_make at build time.
local hooks = require "vesta.hooks"

-- rows("HOOK", list): #define VS_HOOK_ROWS(ROW) with a line for each element of the list.
local function rows(name, list)
  io.write("#define VS_", name, "_ROWS(ROW)")
  for _, row in ipairs(list) do io.write(" \\\n    ROW(", row, ")") end
  io.write "\n\n"
end

local functions, verdicts, records, known = {}, {}, {}, {}
for _, row in ipairs(hooks.hooks) do
  local fixed = (row[3] or "worker"):upper()
  functions[#functions + 1] = ('%s, "%s", "%s", %s'):format(row[1]:upper(), row[1], row[2], fixed)
  for word in row[2]:gmatch "%a+" do
    if not known[word] then verdicts[#verdicts + 1] = ('%s, "%s"'):format(word:upper(), word) end
    known[word] = true
  end
end
for _, row in ipairs(hooks.records) do records[#records + 1] = ("%s, %s"):format(row[2]:upper(), row[1]) end

io.write "/* hooks.h -- made from lua/vesta/hooks.lua, which explains the rows. */\n"
rows("HOOK", functions)
rows("VERDICT", verdicts)
rows("RECORD", records)
