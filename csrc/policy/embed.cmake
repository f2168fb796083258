# embed.cmake -- writes OUT, a C file with the texts of FILES as the list TABLE, so that the program carries them with
# it.  Run by cmake -P at build time.
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
file(WRITE ${OUT} "/* Made by embed.cmake from the files of these names. */
#include \"policy/vm.h\"

${bodies}
const struct vs_shipped ${TABLE}[] = {
${rows}    {NULL, NULL, 0},
};
")
