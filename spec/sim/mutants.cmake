# each_patch(function): calls function(MUTANT) for each mutants/*.patch next to the caller's CMakeLists.txt.  Each patch is
# one bug.  `changed` lists the patched copies of the files that it changes, and `sound` the original files.
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

# mutant_breaks(test patch command... CLAIM): adds a test that runs a spec's command with a bug.  It passes if the claim
# fails that the patch names after "Leads to".  That claim replaces the word CLAIM in the command.
function(mutant_breaks test patch)
  file(STRINGS ${patch} claim REGEX "^Leads to ")
  string(REPLACE "Leads to " "" claim "${claim}")
  list(TRANSFORM ARGN REPLACE "^CLAIM$" "${claim}" OUTPUT_VARIABLE command)
  add_test(NAME ${test} COMMAND ${PROJECT_SOURCE_DIR}/spec/sim/breaks ${claim} ${command})
endfunction()
