# each_patch(function): for each of mutants/*.patch beside the caller's CMakeLists.txt, which is one bug, calls
# function(MUTANT), with the planted copies of the files that it changes in `changed` and those files in `sound`.
find_program(PATCH patch REQUIRED)
function(each_patch made)
  set(plant ${PROJECT_SOURCE_DIR}/spec/sim/plant)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS mutants)
  file(GLOB patches CONFIGURE_DEPENDS mutants/*.patch)
  foreach(patch ${patches})
    get_filename_component(mutant ${patch} NAME_WE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${patch})
    file(STRINGS ${patch} changed REGEX "^[+][+][+] b/")
    list(TRANSFORM changed REPLACE "^[+][+][+] b/" "")
    list(TRANSFORM changed PREPEND ${VESTA_CSRC}/ OUTPUT_VARIABLE sound)
    set(planted ${CMAKE_CURRENT_BINARY_DIR}/planted/${mutant})
    list(TRANSFORM changed PREPEND ${planted}/)
    add_custom_command(OUTPUT ${changed} COMMAND ${plant} ${patch} ${VESTA_CSRC} ${planted} ${PATCH}
      DEPENDS ${patch} ${sound} ${plant} VERBATIM)
    cmake_language(CALL ${made} ${mutant})
  endforeach()
endfunction()

# mutant_breaks(test patch command... CLAIM): the command, whose last argument is a claim of its spec, must say that this
# one does not hold: the claim that the patch says it leads to.
function(mutant_breaks test patch)
  file(STRINGS ${patch} claim REGEX "^Leads to ")
  string(REPLACE "Leads to " "" claim "${claim}")
  list(TRANSFORM ARGN REPLACE "^CLAIM$" "${claim}" OUTPUT_VARIABLE command)
  add_test(NAME ${test} COMMAND ${PROJECT_SOURCE_DIR}/spec/sim/breaks ${claim} ${command})
endfunction()
