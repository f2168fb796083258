-- header.lua -- writes config/keys.h, the rows of lua/config/schema.lua as members of structs and flags.
-- vesta_make runs it at build time.
package.preload["config.options"] = function() return {} end -- fill.c has the rows of vesta_options.h itself

local schema = require "config.schema"

local TYPES = { list = "struct vs_conf_list ", secrets = "struct vs_conf_list ", policy = "struct vs_conf_policy ",
  integer = "int64_t ", switch = "int64_t ", choice = "int64_t " }

local function quoted(text)
  return text and '"' .. text:gsub('[\\"]', "\\%0") .. '"' or "NULL"
end

local function macro(name, lines)
  return ("#define %s \\\n    %s\n"):format(name, table.concat(lines, " \\\n    "))
end

-- The lines of one struct: its members, and its rows for fill.c.
local function struct_lines(prefix)
  local members, fields = {}, {}
  for _, row in ipairs(schema.rows) do
    local name = row.key:sub(#prefix + 1)
    local is_here = row.key:sub(1, #prefix) == prefix and not name:find "[*#]"
    if is_here and row.member ~= false then
      local member = row.member or name:gsub("%.", "_")
      members[#members + 1] = (TYPES[row.kind] or "const char *") .. member .. ";"
      fields[#fields + 1] = ("FIELD(%s, %s, %s, %d, %s)"):format(quoted(name), row.kind:upper(), member, row.min or 0,
        quoted(row.kind == "choice" and row.words or nil))
    end
  end
  return members, fields
end

local function flag_help(row)
  if row.flag_help then return row.flag_help end
  if row.kind == "switch" then return row.help end
  return ("%s (default: %s)"):format(row.help, row.default or row.without)
end

local lines = { "/* keys.h -- made of lua/config/schema.lua by csrc/config/header.lua. */\n" }
local same, flags = {}, {}

local function add_struct(name, prefix)
  local members, fields = struct_lines(prefix)
  lines[#lines + 1] = macro(("VS_CONF_%sMEMBERS"):format(name), members)
  lines[#lines + 1] = macro(("VS_CONF_%sFIELDS(FIELD)"):format(name), fields)
end

for _, part in ipairs(schema.parts) do
  add_struct(part.struct:upper() .. "_", part.prefix)
  same[#same + 1] = ("SAME(%d, %s)"):format(part.max, part.is)
end
add_struct("", "")

local function add_flags(is_of_a_part)
  for _, row in ipairs(schema.rows) do
    if row.flag and (row.key:find "%*" ~= nil) == is_of_a_part then
      flags[#flags + 1] = ("FLAG(%s, %s, %s, %s, %s, %s)"):format(row.kind:upper(), quoted(row.flag), quoted(row.key),
        quoted(row.value), quoted(flag_help(row)), quoted(row.kind == "switch" and (row.says or "true") or nil))
    end
  end
end
add_flags(false)
add_flags(true)

for _, row in ipairs(schema.rows) do
  if row.is then same[#same + 1] = ("SAME(%d, %s)"):format(row.max, row.is) end
end
lines[#lines + 1] = macro("VS_CONF_SAME(SAME)", same)
lines[#lines + 1] = macro("VS_CONF_FLAGS(FLAG)", flags)

io.write(table.concat(lines, "\n"))
