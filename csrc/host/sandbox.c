/* sandbox.c -- the Lua libraries that are open to policies, and copies of values from one state to another.
 *
 * lua/vesta/engine.lua runs with these globals.  It lists the functions that a policy can use, which are guarded here.
 * A policy can access nothing else.  These are left out:
 *
 *     xpcall                         its handler runs while the hook is off
 *     setmetatable                   __gc also runs while the hook is off, and __mode, __close and a __len of 2^53
 *                                    are harmful
 *     patterns, table.move           they run long inside C
 *     random numbers                 ctx contains one
 *     coroutines, load, require, debug, io, os */
#include "host/vm.h"

#include "base/array.h"

#include <lualib.h>
#include <string.h>

#define LIST_MAX 100000 /* maximum length of a list, because #t of a table with holes can be 2^62 */

/* ------------------------------------------------------------------ functions of our own */

static int vm_guarded_pcall(lua_State *L) {
    luaL_checkany(L, 1);
    int rc = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
    vs_lua_go_on(L, rc);
    luaL_checkstack(L, 1, NULL);
    lua_pushboolean(L, rc == LUA_OK);
    lua_insert(L, 1);
    return lua_gettop(L);
}

/* Implements find(text, what, init) without patterns.  memmem takes time in proportion to the sum of both lengths, not
 * to their product. */
static int vm_find_plain(lua_State *L) {
    size_t length, what_length;
    const char *text = luaL_checklstring(L, 1, &length);
    const char *what = luaL_checklstring(L, 2, &what_length);
    lua_Integer init = luaL_optinteger(L, 3, 1);
    if (init < 0) init += (lua_Integer)length + 1;
    if (init < 1) init = 1;
    if (init > (lua_Integer)length + 1) return lua_pushnil(L), 1;
    const char *at = memmem(text + init - 1, length - (size_t)(init - 1), what, what_length);
    if (!at) return lua_pushnil(L), 1;
    lua_pushinteger(L, at - text + 1);
    lua_pushinteger(L, at - text + (lua_Integer)what_length);
    return 2;
}

/* Calls the library's function, which is the guard's upvalue.  The call is made in the guard's frame, so that its
 * errors name the policy's line. */
static int vm_call_library(lua_State *L) {
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

/* Handles string.rep of an empty string itself, because the library's loop would run n times to build an empty result.
 */
static int vm_rep_of_something(lua_State *L) {
    size_t length, separator_length = 0;
    luaL_checklstring(L, 1, &length);
    luaL_optlstring(L, 3, "", &separator_length);
    if (length + separator_length > 0) return vm_call_library(L);
    luaL_checkinteger(L, 2);
    return lua_pushliteral(L, ""), 1;
}

static int vm_with_list(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    if (lua_rawlen(L, 1) > LIST_MAX) return luaL_error(L, "a list has more than %d elements", LIST_MAX);
    return vm_call_library(L);
}

/* Counts the elements that table.insert or table.remove moves, which are those after the position. */
static int vm_move_from(lua_State *L, int argument) {
    lua_Integer n = lua_istable(L, 1) ? (lua_Integer)lua_rawlen(L, 1) : 0, at = lua_tointeger(L, argument);
    if (at >= 1 && at < n) vs_lua_work(L, (uint64_t)(n - at));
    return vm_with_list(L);
}

static int vm_insert_in_list(lua_State *L) {
    return lua_gettop(L) == 3 ? vm_move_from(L, 2) : vm_with_list(L);
}

static int vm_remove_from_list(lua_State *L) {
    return vm_move_from(L, 2);
}

static int vm_concat_list(lua_State *L) {
    if (lua_istable(L, 1)) vs_lua_work(L, lua_rawlen(L, 1));
    return vm_with_list(L);
}

static int vm_is_less(lua_State *L) {
    return lua_pushboolean(L, lua_compare(L, 1, 2, LUA_OPLT)), 1;
}

/* Requires a comparison function.  The library's default comparison never reaches the hook, so sorting long strings
 * that differ only at their ends could take hours. */
static int vm_sort_list(lua_State *L) {
    lua_settop(L, 2);
    if (lua_isnil(L, 2)) {
        lua_pushcfunction(L, vm_is_less);
        lua_replace(L, 2);
    }
    return vm_with_list(L);
}

/* Rejects nil.  The library accepts it, but then its iterator fails in C, and the error would not name a line of the
 * policy. */
static int vm_ipairs_of_table(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    return vm_call_library(L);
}

/* ------------------------------------------------------------------ the libraries */

/* Replaces functions of the library at the top of the stack by guards.  Each guard keeps the original as its
 * upvalue. */
static void vm_guard(lua_State *L, const luaL_Reg *guards) {
    for (; guards->name; guards++) {
        lua_getfield(L, -1, guards->name);
        lua_pushcclosure(L, guards->func, 1);
        lua_setfield(L, -2, guards->name);
    }
}

static void vm_open_base(lua_State *L) {
    static const char *const left_out[] = {"collectgarbage", "dofile", "load", "loadfile", "print", "warn", "xpcall"};
    static const luaL_Reg guards[] = {{"pcall", vm_guarded_pcall}, {"ipairs", vm_ipairs_of_table}, {NULL, NULL}};
    luaL_requiref(L, LUA_GNAME, luaopen_base, 1);
    for (size_t i = 0; i < VS_COUNT(left_out); i++) {
        lua_pushnil(L);
        lua_setfield(L, -2, left_out[i]);
    }
    vm_guard(L, guards);
    lua_pop(L, 1);
}

/* Opens the debug library with getinfo only. */
static void vm_open_debug(lua_State *L) {
    luaL_requiref(L, LUA_DBLIBNAME, luaopen_debug, 0);
    lua_createtable(L, 0, 1);
    lua_getfield(L, -2, "getinfo");
    lua_setfield(L, -2, "getinfo");
    lua_setglobal(L, LUA_DBLIBNAME);
    lua_pop(L, 1);
}

void vs_sandbox_open(lua_State *L) {
    static const luaL_Reg strings[] = {{"find", vm_find_plain}, {"rep", vm_rep_of_something}, {NULL, NULL}};
    static const luaL_Reg tables[] = {{"concat", vm_concat_list},
                                      {"insert", vm_insert_in_list},
                                      {"remove", vm_remove_from_list},
                                      {"sort", vm_sort_list},
                                      {NULL, NULL}};
    vm_open_base(L);
    luaL_requiref(L, LUA_STRLIBNAME, luaopen_string, 1);
    vm_guard(L, strings);
    luaL_requiref(L, LUA_TABLIBNAME, luaopen_table, 1);
    vm_guard(L, tables);
    luaL_requiref(L, LUA_MATHLIBNAME, luaopen_math, 1);
    lua_pop(L, 3);
    vm_open_debug(L);
}

/* ------------------------------------------------------------------ data for another state */

#define CARRIED_DEPTH_MAX 8 /* maximum nesting depth of a copied table */

static void vm_carry(lua_State *from, int index, lua_State *to, int depth);

static void vm_carry_table(lua_State *from, int index, lua_State *to, int depth) {
    if (depth == CARRIED_DEPTH_MAX) luaL_error(to, "tables are nested more than %d deep", CARRIED_DEPTH_MAX);
    if (!lua_checkstack(from, 4)) luaL_error(to, "no memory");
    luaL_checkstack(to, 4, NULL);
    lua_newtable(to);
    for (lua_pushnil(from); lua_next(from, index); lua_pop(from, 1)) {
        vm_carry(from, lua_gettop(from) - 1, to, depth + 1);
        vm_carry(from, lua_gettop(from), to, depth + 1);
        lua_rawset(to, -3);
    }
}

static void vm_carry(lua_State *from, int index, lua_State *to, int depth) {
    size_t length;
    lua_Integer integer;
    int whole;
    switch (lua_type(from, index)) {
    case LUA_TNIL: lua_pushnil(to); return;
    case LUA_TBOOLEAN: lua_pushboolean(to, lua_toboolean(from, index)); return;
    case LUA_TNUMBER:
        integer = lua_tointegerx(from, index, &whole);
        whole ? lua_pushinteger(to, integer) : lua_pushnumber(to, lua_tonumber(from, index));
        return;
    case LUA_TSTRING: {
        const char *text = lua_tolstring(from, index, &length);
        lua_pushlstring(to, text, length);
        return;
    }
    case LUA_TTABLE: vm_carry_table(from, index, to, depth); return;
    default:
        luaL_error(to, "a value must be a number, a string, true, false or a table of these, not a %s",
                   luaL_typename(from, index));
    }
}

void vs_lua_carry(lua_State *from, int index, lua_State *to) {
    vm_carry(from, lua_absindex(from, index), to, 0);
}
