/* native.c -- the module `native`: the commands in C, for lua/cli/lib/commands.lua.  Does not depend on any command. */
#include "main/cli.h"
#include "main/modules.h"

/* native.list() -> a list of { name, line, usage, about, order } */
static int native_list(lua_State *L) {
    lua_newtable(L);
    for (lua_Integer i = 0; vs_command_rows[i].command; i++) {
        host_push_command(L, vs_command_rows[i].command);
        lua_pushinteger(L, vs_command_rows[i].order);
        lua_setfield(L, -2, "order");
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* The state that receives rows of options in its registry (NULL: help is printed instead). */
static lua_State *native_gathers;
static const char native_rows; /* its address is the registry key of the rows */

/* Leaves the stack unchanged, because the command may have been started from Lua. */
int modules_help(const struct vs_option *table) {
    lua_State *L = native_gathers;
    if (!L) return vs_host_help(vs_command_running(), table);
    host_push_options(L, table);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &native_rows);
    return VS_DONE;
}

/* native.options(name) -> rows, as for term.options.  From now on, messages begin with the command's name. */
static int native_options(lua_State *L) {
    char *words[] = {(char *)luaL_checkstring(L, 1), "--help", NULL};
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &native_rows);
    native_gathers = L;
    vs_command_run(2, words);
    native_gathers = NULL;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &native_rows);
    return 1;
}

int modules_open_native(lua_State *L) {
    static const luaL_Reg functions[] = {{"list", native_list}, {"options", native_options}, {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}
