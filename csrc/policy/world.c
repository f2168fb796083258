/* world.c -- what a policy may ask of the world, and say to it: log(text), env(name), localtime(ms, zone).  The only
 * functions that it has which are more than sums of their arguments; none of them can wait. */
#include "policy/loaded.h"

#include "base/error.h"
#include "number/zone.h"

#include <string.h>

#define SAY_WORK 1000       /* what a line said counts for, in instructions: 10000 in a call at most */
#define ZONE_WORK 10000     /* ... a zone's file that is read */
#define TIME_WORK 100       /* ... an instant that is looked up */
#define ZONES "vesta.zones" /* in the registry: a table of userdata by name */
#define ENVIRONMENT "vesta.environment"
#define MS_MAX 253402300799999.0 /* of localtime, either way: the year 9999 */

static const char us = 0; /* its address is the key of the policy */

void vs_world_set(lua_State *L, const struct vs_policy *policy) {
    lua_setfield(L, LUA_REGISTRYINDEX, ENVIRONMENT);
    lua_pushlightuserdata(L, (void *)policy);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &us);
    lua_newtable(L);
    lua_setfield(L, LUA_REGISTRYINDEX, ZONES);
}

/* ------------------------------------------------------------------ saying */

static int world_log(lua_State *L) {
    size_t length;
    char said[VS_HEARD_MAX];
    const char *text = luaL_checklstring(L, 1, &length);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &us);
    const struct vs_policy *policy = lua_touserdata(L, -1);
    const struct vs_vm *vm = policy->vm;
    vs_lua_work(L, SAY_WORK);
    vs_calm(said, sizeof said, text, length);
    if (vm->heard) vm->heard(vm->hearer, policy->index, said);
    return 0;
}

/* ------------------------------------------------------------------ the environment */

/* A text, or nil for a variable that is allowed and not set. */
static int world_env(lua_State *L) {
    size_t length;
    const char *name = luaL_checklstring(L, 1, &length);
    if (lua_getfield(L, LUA_REGISTRYINDEX, ENVIRONMENT) == LUA_TTABLE) {
        lua_pushvalue(L, 1);
        if (lua_rawget(L, -2) == LUA_TSTRING) return 1;
        if (!lua_isnil(L, -1)) return lua_pushnil(L), 1;
    }
    return luaL_error(L, "env: policies may not read %s: name it in policy_env, unless it is a secret",
                      VS_QUOTE(name, length));
}

/* ------------------------------------------------------------------ time of a zone */

/* Pushes the zone's userdata; its file is read once for a policy. */
static const struct vs_zone *push_zone(lua_State *L, const char *name) {
    lua_getfield(L, LUA_REGISTRYINDEX, ZONES);
    if (lua_getfield(L, -1, name) == LUA_TNIL) {
        struct vesta_error err = {.text = ""};
        struct vs_zone_file *file = lua_newuserdatauv(L, sizeof *file, 0);
        vs_lua_work(L, ZONE_WORK);
        if (vs_zone_load(name, file, &err) != VESTA_OK) luaL_error(L, "localtime: %s", err.text);
        lua_pushvalue(L, -1);
        lua_setfield(L, -4, name);
    }
    return &((const struct vs_zone_file *)lua_touserdata(L, -1))->zone;
}

static int64_t floor_of(lua_Number number) {
    int64_t whole = (int64_t)number;
    return (lua_Number)whole > number ? whole - 1 : whole;
}

#define SET(name, member) lua_pushinteger(L, (lua_Integer)at.member), lua_setfield(L, -2, name);

/* With the names of os.date("*t"), and offset_s. */
static int world_localtime(lua_State *L) {
    size_t length;
    lua_Number ms = luaL_checknumber(L, 1);
    const char *name = luaL_checklstring(L, 2, &length);
    if (!(ms >= -MS_MAX && ms <= MS_MAX))
        return luaL_error(L, "localtime: %s is no time in milliseconds, from year -6000 to 9999",
                          luaL_tolstring(L, 1, NULL));
    if (strlen(name) != length) return luaL_error(L, "localtime: a zone's name has no NUL byte");
    const struct vs_zone_time at = vs_zone_time(push_zone(L, name), floor_of(ms));
    vs_lua_work(L, TIME_WORK);
    lua_createtable(L, 0, 9);
    VS_ZONE_TIME_ROWS(SET)
    return 1;
}

const luaL_Reg vs_world[] = {{"log", world_log}, {"env", world_env}, {"localtime", world_localtime}, {NULL, NULL}};
