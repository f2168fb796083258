/* make.c -- build-time tool: runs a Lua script that writes a source file.
 *
 *   vesta_make OUT LUA_FOLDER SCRIPT [ARG...]
 *
 * `require` finds the modules in LUA_FOLDER.  The script's io.write writes to OUT. */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>

static int make_body(lua_State *L) {
    char **argv = lua_touserdata(L, 1);
    int count = 0;
    lua_settop(L, 0);
    luaL_openlibs(L);
    lua_getglobal(L, "package");
    lua_pushfstring(L, "%s/?.lua", argv[2]);
    lua_setfield(L, -2, "path");
    lua_getglobal(L, "io");
    lua_getfield(L, -1, "output");
    lua_pushstring(L, argv[1]);
    lua_call(L, 1, 0);
    if (luaL_loadfilex(L, argv[3], "t") != LUA_OK) return lua_error(L);
    for (; argv[4 + count]; count++)
        lua_pushstring(L, argv[4 + count]);
    lua_call(L, count, 0);
    return 0;
}

int main(int argc, char **argv) {
    lua_State *L = argc >= 4 ? luaL_newstate() : NULL;
    if (!L) return fprintf(stderr, "usage: vesta_make OUT LUA_FOLDER SCRIPT [ARG...]\n"), 2;
    lua_pushcfunction(L, make_body);
    lua_pushlightuserdata(L, argv);
    int rc = lua_pcall(L, 1, 0, 0);
    if (rc != LUA_OK) fprintf(stderr, "%s\n", luaL_tolstring(L, -1, NULL));
    lua_close(L); /* also closes OUT */
    if (rc != LUA_OK) remove(argv[1]);
    return rc != LUA_OK;
}
