# hooks.cmake -- policy/hooks.h, in the build's folder: the rows of lua/vesta/hooks.lua for the preprocessor.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${LUA}/hooks.lua)
file(STRINGS ${LUA}/hooks.lua lines REGEX "^  (  { .* },|[a-z]+ = {.*)$")
set(verdicts "")
foreach(line IN LISTS lines)
  string(REGEX MATCHALL "\"[^\"]*\"" texts "${line}")
  string(TOUPPER "${texts}" upper)
  string(REGEX REPLACE "\"" "" upper "${upper}")
  list(LENGTH texts count)
  if(line MATCHES "^  ([a-z]+) = {")
    set(table ${CMAKE_MATCH_1})
    set(${table} "")
    continue()
  elseif(table STREQUAL "hooks" AND count EQUAL 2)
    list(GET upper 0 row)
    list(GET upper 1 words)
    string(REPLACE " " ";" words "${words}")
    list(APPEND verdicts ${words})
  elseif(table STREQUAL "fields" AND count EQUAL 3)
    list(GET upper 1 row)
    list(APPEND texts NULL)
  elseif(table STREQUAL "fields" AND count EQUAL 4)
    list(GET upper 1 row)
  elseif(table STREQUAL "records" AND count EQUAL 2)
    list(GET upper 1 row)
    string(REPLACE "\"" "" texts "${texts}") # a member's name
    list(REMOVE_AT texts 1)
  elseif(table STREQUAL "situations" AND count EQUAL 3)
    list(GET upper 0 row)
  else()
    message(FATAL_ERROR "${LUA}/hooks.lua: no row of ${table}: ${line}")
  endif()
  list(JOIN texts ", " texts)
  string(APPEND ${table} " \\\n    ROW(${row}, ${texts})")
endforeach()
list(REMOVE_DUPLICATES verdicts)
set(words ${verdicts})
set(verdicts "")
foreach(word ${words})
  string(TOLOWER ${word} lower)
  string(APPEND verdicts " \\\n    ROW(${word}, \"${lower}\")")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/hooks.h @ONLY CONTENT
"/* hooks.h -- made by hooks.cmake of lua/vesta/hooks.lua, which says what each row means. */
#define VS_HOOK_ROWS(ROW)@hooks@

#define VS_VERDICT_ROWS(ROW)@verdicts@

#define VS_FIELD_ROWS(ROW)@fields@

#define VS_RECORD_ROWS(ROW)@records@

#define VS_SITUATION_ROWS(ROW)@situations@
")
