# environment.cmake -- ctest includes this file before it runs a test, so every machine and user has the same environment.
# A variable of the shell must not decide whether a test passes.
set(own VESTA_STATE VESTA_MAPS VESTA_FILE_SYSTEMS VESTA_CONFIG VESTA_STORE VESTA_NAMESPACE)
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/../lua/config/schema.lua rows REGEX "env = \"VESTA_")
foreach(row IN LISTS rows)
  string(REGEX MATCH "VESTA_[A-Z_]+" name "${row}")
  list(APPEND own ${name})
endforeach()
foreach(name IN LISTS own ITEMS XDG_STATE_HOME NO_COLOR COLUMNS LANGUAGE LUA_PATH LUA_CPATH LUA_INIT BASH_ENV CDPATH
    NOTIFY_SOCKET JOURNAL_STREAM WATCHDOG_PID WATCHDOG_USEC LISTEN_FDS LISTEN_PID LISTEN_FDNAMES)
  unset(ENV{${name}})
endforeach()
set(ENV{TZ} UTC)
set(ENV{LANG} C.UTF-8)
set(ENV{LC_ALL} C.UTF-8)
set(ENV{PATH} "$ENV{PATH}:/usr/sbin:/sbin") # mariadbd and nginx, which a plain user's PATH lacks
string(APPEND ENV{no_proxy} ",127.0.0.1,localhost,::1")
string(LENGTH "$ENV{TMPDIR}" length)
if("$ENV{TMPDIR}" MATCHES "[ \t\"']" OR length GREATER 40) # shell lines of documents and specs do not quote it; socket paths are short
  unset(ENV{TMPDIR})
endif()
