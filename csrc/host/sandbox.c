/* sandbox.c -- what a policy can see.  Everything is named here; a name that is not is not there.
 *
 * What is left out, and why: xpcall (its handler runs where the hook is off), setmetatable (so there is no __gc, which
 * runs there too, no __mode, no __close, no __len of 2^53), coroutines, load and require, patterns and table.move (they
 * run long inside C), random numbers (ctx brings one), debug, io, os.  A policy is a function of numbers and texts.
 * The libraries are views: no policy can change what it or the strings' own metatable look up. */
#include "host/vm.h"

#include "base/array.h"

#include <lualib.h>
#include <string.h>

#define LIST_MAX 100000 /* what a list may seem to have: #t of a table with holes can be 2^62 */

/* ------------------------------------------------------------------ views */

/* What there is instead of what most who write Lua reach for. */
static const char *way_of(const char *name) {
    static const char *const ways[][2] = {
        {"print", "; use log(text)"},
        {"os", "; ctx.now_ms is the time, localtime(ms, zone) shows it by a zone's clocks, env(name) is a variable"},
        {"io", "; use log(text)"},
        {"require", "; a policy is one file"}};
    for (size_t i = 0; i < VS_COUNT(ways); i++)
        if (strcmp(ways[i][0], name) == 0) return ways[i][1];
    return "";
}

/* Upvalues: the table, prefix, whose. */
static int read_view(lua_State *L) {
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
    const char *prefix = lua_tostring(L, lua_upvalueindex(2)), *whose = lua_tostring(L, lua_upvalueindex(3));
    const char *name = luaL_tolstring(L, 2, NULL);
    bool has_way = strcmp(whose, "policies") == 0 && strcmp(prefix, "global ") == 0;
    return luaL_error(L, "%s%s is not declared, and not among what %s may use%s", prefix, name, whose,
                      has_way ? way_of(name) : "");
}

/* The same upvalues. */
static int write_view(lua_State *L) {
    lua_pushvalue(L, 2);
    bool there = lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL;
    const char *prefix = lua_tostring(L, lua_upvalueindex(2)), *name = luaL_tolstring(L, 2, NULL);
    if (there) return luaL_error(L, "%s%s cannot be changed", prefix, name);
    return luaL_error(L, "assignment to undeclared %s%s: declare it with local", prefix, name);
}

void vs_sandbox_seal(lua_State *L, const char *prefix, const char *whose) {
    static const luaL_Reg ways[] = {{"__index", read_view}, {"__newindex", write_view}};
    lua_newtable(L); /* the view: always empty, so that every access comes here */
    lua_newtable(L);
    for (size_t i = 0; i < VS_COUNT(ways); i++) {
        lua_pushvalue(L, -3);
        lua_pushstring(L, prefix);
        lua_pushstring(L, whose);
        lua_pushcclosure(L, ways[i].func, 3);
        lua_setfield(L, -2, ways[i].name);
    }
    lua_setmetatable(L, -2);
    lua_remove(L, -2);
}

/* ------------------------------------------------------------------ functions of our own */

static int guarded_pcall(lua_State *L) {
    luaL_checkany(L, 1);
    int rc = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
    vs_lua_go_on(L, rc);
    luaL_checkstack(L, 1, NULL);
    lua_pushboolean(L, rc == LUA_OK);
    lua_insert(L, 1);
    return lua_gettop(L);
}

/* find(text, what, init, true): memmem takes time by the length of both, not by their product. */
static int find_plain(lua_State *L) {
    size_t length, what_length;
    const char *text = luaL_checklstring(L, 1, &length);
    const char *what = luaL_checklstring(L, 2, &what_length);
    lua_Integer init = luaL_optinteger(L, 3, 1);
    if (!lua_toboolean(L, 4))
        return luaL_error(L, "string.find without patterns only: find(text, what, init, true); or use split");
    if (init < 0) init += (lua_Integer)length + 1;
    if (init < 1) init = 1;
    if (init > (lua_Integer)length + 1) return lua_pushnil(L), 1;
    const char *at = memmem(text + init - 1, length - (size_t)(init - 1), what, what_length);
    if (!at) return lua_pushnil(L), 1;
    lua_pushinteger(L, at - text + 1);
    lua_pushinteger(L, at - text + (lua_Integer)what_length);
    return 2;
}

/* The library's function is the upvalue of each of these.  It takes over our frame, so that its errors name the
 * policy's line. */
static int call_library(lua_State *L) {
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

/* The library goes round n times, also where each time adds nothing. */
static int rep_of_something(lua_State *L) {
    size_t length, separator_length = 0;
    luaL_checklstring(L, 1, &length);
    luaL_optlstring(L, 3, "", &separator_length);
    if (length + separator_length > 0) return call_library(L);
    luaL_checkinteger(L, 2);
    return lua_pushliteral(L, ""), 1;
}

static int with_list(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    if (lua_rawlen(L, 1) > LIST_MAX) return luaL_error(L, "a list of more than %d elements", LIST_MAX);
    return call_library(L);
}

/* What stands behind a position moves; at the end nothing does. */
static int move_from(lua_State *L, int argument) {
    lua_Integer n = lua_istable(L, 1) ? (lua_Integer)lua_rawlen(L, 1) : 0, at = lua_tointeger(L, argument);
    if (at >= 1 && at < n) vs_lua_work(L, (uint64_t)(n - at));
    return with_list(L);
}

static int insert_in_list(lua_State *L) {
    return lua_gettop(L) == 3 ? move_from(L, 2) : with_list(L);
}

static int remove_from_list(lua_State *L) {
    return move_from(L, 2);
}

static int concat_list(lua_State *L) {
    if (lua_istable(L, 1)) vs_lua_work(L, lua_rawlen(L, 1));
    return with_list(L);
}

static int is_less(lua_State *L) {
    return lua_pushboolean(L, lua_compare(L, 1, 2, LUA_OPLT)), 1;
}

/* Comparing inside the library would never meet the hook: long texts that differ at their ends take hours to sort. */
static int sort_list(lua_State *L) {
    lua_settop(L, 2);
    if (lua_isnil(L, 2)) {
        lua_pushcfunction(L, is_less);
        lua_replace(L, 2);
    }
    return with_list(L);
}

/* ------------------------------------------------------------------ the whitelist */

/* What every Lua from 5.1 on has: a policy that runs here runs in the rock. */
struct offered {
    const char *name;
    lua_CFunction wrapper; /* NULL: the library's own */
};

static const struct offered base[] = {{"assert", NULL}, {"error", NULL},          {"ipairs", NULL}, {"next", NULL},
                                      {"pairs", NULL},  {"pcall", guarded_pcall}, {"select", NULL}, {"tonumber", NULL},
                                      {"type", NULL},   {"tostring", NULL},       {NULL, NULL}};
static const struct offered string_library[] = {
    {"byte", NULL}, {"char", NULL},    {"find", find_plain},      {"format", NULL}, {"len", NULL}, {"lower", NULL},
    {"sub", NULL},  {"reverse", NULL}, {"rep", rep_of_something}, {"upper", NULL},  {NULL, NULL}};
static const struct offered table_library[] = {{"concat", concat_list},
                                               {"insert", insert_in_list},
                                               {"remove", remove_from_list},
                                               {"sort", sort_list},
                                               {NULL, NULL}};
static const struct offered math_library[] = {
    {"abs", NULL}, {"ceil", NULL}, {"exp", NULL},  {"floor", NULL}, {"fmod", NULL}, {"huge", NULL}, {"log", NULL},
    {"max", NULL}, {"min", NULL},  {"modf", NULL}, {"pi", NULL},    {"sqrt", NULL}, {NULL, NULL}};

/* Opens a library and copies what is offered of it into the table at the top of the stack. */
static void take(lua_State *L, const char *library, lua_CFunction open, const struct offered *offered) {
    luaL_requiref(L, library, open, 0);
    for (; offered->name; offered++) {
        lua_getfield(L, -1, offered->name);
        if (offered->wrapper) lua_pushcclosure(L, offered->wrapper, 1);
        lua_setfield(L, -3, offered->name);
    }
    lua_pop(L, 1);
}

static void take_sealed(lua_State *L, const char *library, const char *prefix, lua_CFunction open,
                        const struct offered *offered) {
    lua_newtable(L);
    take(L, library, open, offered);
    vs_sandbox_seal(L, prefix, "policies");
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, library);
}

/* ("x"):rep(2) looks where string.rep looks, not in the library itself. */
static void lock_strings(lua_State *L) {
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 2);
}

static void take_helpers(lua_State *L, const struct vs_shipped *helpers) {
    lua_pushvalue(L, -1);
    vs_sandbox_seal(L, "global ", "policies");
    vs_lua_compile(L, helpers->text, helpers->length, "@helpers.lua");
    lua_call(L, 0, 1);
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_settable(L, -5);
    }
    lua_pop(L, 1);
}

void vs_sandbox_push(lua_State *L, const luaL_Reg *more, const struct vs_shipped *helpers) {
    lua_newtable(L);
    luaL_setfuncs(L, more, 0);
    take(L, LUA_GNAME, luaopen_base, base);
    take_sealed(L, LUA_TABLIBNAME, "table.", luaopen_table, table_library);
    lua_pop(L, 1);
    take_sealed(L, LUA_MATHLIBNAME, "math.", luaopen_math, math_library);
    lua_pop(L, 1);
    take_sealed(L, LUA_STRLIBNAME, "string.", luaopen_string, string_library);
    lock_strings(L);
    lua_pop(L, 1);
    take_helpers(L, helpers);
    vs_sandbox_seal(L, "global ", "policies");
}
