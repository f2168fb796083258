/* tables.h -- members of Lua tables and errors, for the modules of the program's Lua. */
#ifndef VS_TABLES_H
#define VS_TABLES_H

#include "vesta.h"

#include <lauxlib.h>
#include <stdbool.h>

/* Sets a member of the table on top of the stack.  If the text is NULL, sets nothing. */
static inline void host_set_text(lua_State *L, const char *key, const char *text) {
    lua_pushstring(L, text);
    lua_setfield(L, -2, key);
}

static inline void host_set_integer(lua_State *L, const char *key, int64_t value) {
    lua_pushinteger(L, value);
    lua_setfield(L, -2, key);
}

static inline void host_set_flag(lua_State *L, const char *key, bool is_set) {
    lua_pushboolean(L, is_set);
    lua_setfield(L, -2, key);
}

/* Creates a class.  Methods whose names begin with __ are metamethods. */
static inline void host_class(lua_State *L, const char *class, const luaL_Reg *methods) {
    luaL_newmetatable(L, class);
    luaL_setfuncs(L, methods, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
}

/* Pushes nil, text, code, which a function of a module returns if it fails.  Returns 3. */
static inline int host_fail(lua_State *L, const struct vesta_error *err) {
    lua_pushnil(L);
    lua_pushstring(L, err->text);
    lua_pushstring(L, vesta_code_name(err->code));
    return 3;
}

/* Pushes nil, exit code, which a function returns if it failed after printing a message.  Returns 2. */
static inline int host_end(lua_State *L, int code) {
    lua_pushnil(L);
    lua_pushinteger(L, code);
    return 2;
}

/* Returns a member of the table at `arg`, or NULL.  The table keeps the string alive. */
static inline const char *host_get_text(lua_State *L, int arg, const char *key) {
    lua_getfield(L, arg, key);
    const char *text = lua_tostring(L, -1);
    lua_pop(L, 1);
    return text;
}

static inline bool host_get_flag(lua_State *L, int arg, const char *key) {
    lua_getfield(L, arg, key);
    bool is_set = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return is_set;
}

#endif
