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

# claim_mutant(target spec library...): builds a spec with a bug, and adds it as such a test.  Call it in a function of
# each_patch.
function(claim_mutant target spec)
  add_executable(${target} ${changed} ${spec}) # linked before the library's copies
  target_include_directories(${target} PRIVATE ${SPEC_SUPPORT})
  target_compile_options(${target} PRIVATE -w) # a bug may leave unused code
  target_link_libraries(${target} PRIVATE ${ARGN})
  mutant_breaks(${target} ${patch} $<TARGET_FILE:${target}> CLAIM)
  set_tests_properties(${target} PROPERTIES LABELS sim TIMEOUT 120)
endfunction()
