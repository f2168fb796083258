# Writes HEADER with the commit of this source, for `vesta --version`.  Runs at each build.
#
# In a source made by `git archive` or scripts/deb, commit.txt contains the commit.  In a clone, the commit comes from
# git.  Otherwise, there is none.
file(READ ${SOURCE}/csrc/main/commit.txt text)
if(NOT text MATCHES "^[0-9a-f]+" AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND git -C ${SOURCE} rev-parse HEAD OUTPUT_VARIABLE text ERROR_QUIET)
  execute_process(COMMAND git -C ${SOURCE} --no-optional-locks status --porcelain --untracked-files=no
    OUTPUT_VARIABLE changes ERROR_QUIET)
endif()
set(commit "")
if(text MATCHES "^([0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f])")
  set(commit ${CMAKE_MATCH_1})
  if(changes OR text MATCHES "changed")
    string(APPEND commit ", changed")
  endif()
endif()
set(line "#define VS_COMMIT \"${commit}\"\n")
set(before "")
if(EXISTS ${HEADER})
  file(READ ${HEADER} before)
endif()
if(NOT before STREQUAL line)
  file(WRITE ${HEADER} "${line}")
endif()
