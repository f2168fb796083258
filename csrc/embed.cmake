# embed.cmake -- writes OUT, a C file with the texts of FILES as the list TABLE, so that the program carries them with
# it.  Run by cmake -P at build time.
set(bodies "")
set(rows "")
foreach(file ${FILES})
  get_filename_component(name ${file} ${PART})
  string(MAKE_C_IDENTIFIER "${name}" symbol)
  file(READ ${file} hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR length "${digits} / 2")
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${hex}")
  string(APPEND bodies "static const char text_of_${symbol}[] = {${bytes}};\n")
  string(APPEND rows "    {\"${name}\", text_of_${symbol}, ${length}},\n")
endforeach()
file(WRITE ${OUT} "/* Made by embed.cmake from the files of these names. */
#include \"${HEADER}\"

${bodies}
const struct ${STRUCT} ${TABLE}[] = {
${rows}    {NULL, NULL, 0},
};
")
