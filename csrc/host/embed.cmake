# embed.cmake -- writes OUT, a C file with the texts of FILES, so that the program carries its policies with it.
# Run by cmake -P at build time.
set(bodies "")
set(rows "")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR length "${digits} / 2")
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${hex}")
  string(APPEND bodies "static const char text_of_${name}[] = {${bytes}};\n")
  string(APPEND rows "    {\"${name}\", text_of_${name}, ${length}},\n")
endforeach()
file(WRITE ${OUT} "/* shipped.c -- made by embed.cmake from lua/vesta/policy. */
#include \"host/vm.h\"

${bodies}
const struct vs_shipped vs_shipped[] = {
${rows}    {NULL, NULL, 0},
};
")
