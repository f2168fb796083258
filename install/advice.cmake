# advice.cmake -- prints the remaining steps after an installation: settings of programs that do not search the prefix.
# It changes nothing.  With DESTDIR it prints nothing, because a package installs the files elsewhere.
if("$ENV{DESTDIR}" STREQUAL "")
  set(bin ${CMAKE_INSTALL_PREFIX}/${BIN})
  set(lib ${CMAKE_INSTALL_PREFIX}/${LIB})
  set(advice "")

  if(NOT ":$ENV{PATH}:" MATCHES ":${bin}/?:")
    string(APPEND advice "\n  the program   export PATH=\"${bin}:$PATH\"")
  endif()
  # Lists the folders that the loader searches.  Even for these, its cache must be updated.
  execute_process(COMMAND /sbin/ldconfig -v -N -X OUTPUT_VARIABLE folders ERROR_QUIET)
  if(folders MATCHES "(^|\n)${lib}:")
    string(APPEND advice "\n  the library   ldconfig, as root, before a program is linked with -lvesta")
  else()
    string(APPEND advice "\n  the library   export LD_LIBRARY_PATH=\"${lib}\", or for all users, as root:"
      "\n                echo ${lib} > /etc/ld.so.conf.d/vesta.conf && ldconfig")
  endif()
  execute_process(COMMAND pkg-config --variable pc_path pkg-config OUTPUT_VARIABLE folders ERROR_QUIET)
  string(STRIP "${folders}" folders)
  if(NOT ":${folders}:" MATCHES ":${lib}/pkgconfig:")
    string(APPEND advice "\n  pkg-config    export PKG_CONFIG_PATH=\"${lib}/pkgconfig\"")
  endif()
  if(NOT CMAKE_INSTALL_PREFIX MATCHES "^/usr(/local)?$")
    string(APPEND advice "\n  CMake         cmake -DCMAKE_PREFIX_PATH=${CMAKE_INSTALL_PREFIX}"
      "\n  Lua           export LUA_PATH=\"${CMAKE_INSTALL_PREFIX}/${DATA}/lua/5.4/?.lua;"
      "${CMAKE_INSTALL_PREFIX}/${DATA}/lua/5.4/?/init.lua;;\" LUA_CPATH=\"${lib}/lua/5.4/?.so;;\""
      "\n  the service   systemctl link ${CMAKE_INSTALL_PREFIX}/lib/systemd/system/vesta.service")
  endif()
  message("\nvesta is in ${CMAKE_INSTALL_PREFIX}.  To use it:${advice}\n"
    "\nAs a service: ${CMAKE_INSTALL_PREFIX}/${DOC}/docs/deploy.md.  Next: vesta gen, vesta help, man vesta")
endif()
