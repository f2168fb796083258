--- embed.lua -- writes a C file with the texts of files as a list of structs: name, text, length.  See vesta_embed in
-- CMakeLists.txt.
local list, struct, header, part = ...

local function literal(text)
  return '"' .. text:gsub('[%c"\\?\127-\255]', function(c) return ("\\%03o"):format(c:byte()) end) .. '"'
end

io.write(("/* Made by embed.lua from the files of these names. */\n#include %s\n\nconst struct %s %s[] = {\n")
  :format(literal(header), struct, list))
for i = 5, select("#", ...) do
  local path = select(i, ...)
  local file = assert(io.open(path, "rb"))
  local name = path:match "[^/]*$"
  if part == "NAME_WE" then name = name:match "^[^.]*" end
  io.write("    {", literal(name), ",\n")
  local length = 0
  for line in file:lines "L" do
    io.write("     ", literal(line), "\n")
    length = length + #line
  end
  file:close()
  io.write(('     "", %d},\n'):format(length))
end
io.write "    {NULL, NULL, 0},\n};\n"
