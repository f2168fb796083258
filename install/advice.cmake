# advice.cmake -- says what is still to be done: what looks into other places than the prefix, and how it is told.
# Changes nothing.  A package, whose files are on their way elsewhere (DESTDIR), needs none of it.
if("$ENV{DESTDIR}" STREQUAL "")
  set(bin ${CMAKE_INSTALL_PREFIX}/${BIN})
  set(lib ${CMAKE_INSTALL_PREFIX}/${LIB})
  set(advice "")

  if(NOT ":$ENV{PATH}:" MATCHES ":${bin}/?:")
    string(APPEND advice "\n  the program   export PATH=\"${bin}:$PATH\"")
  endif()
  # what the loader looks through; a folder of it still needs its cache
  execute_process(COMMAND /sbin/ldconfig -v -N -X OUTPUT_VARIABLE folders ERROR_QUIET)
  if(folders MATCHES "(^|\n)${lib}:")
    string(APPEND advice "\n  the library   ldconfig, as root, before a program is linked with -lvesta")
  else()
    string(APPEND advice "\n  the library   export LD_LIBRARY_PATH=\"${lib}\", or for everybody, as root:"
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
