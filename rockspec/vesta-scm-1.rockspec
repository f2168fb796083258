rockspec_format = "3.0"
package = "vesta"
version = "scm-1"
source = {
  url = "git+file://.",
}
description = {
  summary = "64-bit ids that never repeat, sort by time, can be read back and can be made by hand",
  detailed = [[
vesta hands out 64-bit ids from ranges that were granted once: a worker number is leased from a store, a tick is
taken from a cursor in shared memory.  It survives fork, kill -9, nginx reloads and clocks that go back.
The rock needs a C compiler, CMake and Lua's headers, and nothing else.]],
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
