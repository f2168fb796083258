rockspec_format = "3.0"
package = "vesta"
version = "scm-1"
source = {
  url = "git+file://.",
}
description = {
  summary = "64-bit ids that never repeat, sort by time, can be read back and can be made by hand",
  detailed = [[
vesta issues 64-bit ids that never repeat.  It leases a worker id from a store, and takes ticks from a cursor in shared
memory.  Ids stay unique after fork, kill -9 and nginx reloads, and if the clock goes back.
The rock needs only a C compiler, CMake and Lua's headers.]],
  license = "MIT",
  labels = { "id", "snowflake", "openresty", "nginx" },
}
supported_platforms = { "linux" }
dependencies = { "lua >= 5.1, < 5.5" }
build = {
  type = "cmake",
  copy_directories = { "docs", "library" },
  variables = {
    VESTA_ROCK = "ON",
    CMAKE_BUILD_TYPE = "Release",
    CMAKE_INSTALL_PREFIX = "$(PREFIX)",
    CMAKE_C_FLAGS = "$(CFLAGS)",
    LUA_INCDIR = "$(LUA_INCDIR)",
    LUADIR = "$(LUADIR)",
    LIBDIR = "$(LIBDIR)",
  },
}
test = {
  type = "command",
  script = "spec/lua/busted.lua",
}
