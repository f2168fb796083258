/* world.c -- the functions behind a policy's log(text) and localtime(ms, zone).  lua/vesta/engine.lua checks their
 * arguments.  None of them can block. */
#include "policy/engine.h"

#include "base/error.h"
#include "number/zone.h"

#include <string.h>

#define SAY_WORK 1000            /* a line counts as this many instructions, so a call can write at most 10000 lines */
#define ZONE_WORK 10000          /* instructions that reading a zone's file counts as */
#define TIME_WORK 100            /* instructions that converting a time counts as */
#define MS_MAX 253402300799999.0 /* limit of localtime in both directions, in the year 9999 */

/* Implements say(text).  The upvalue is the policy. */
static int world_say(lua_State *L) {
    size_t length;
    char said[VS_HEARD_MAX];
    const char *text = luaL_checklstring(L, 1, &length);
    const struct vs_policy *policy = lua_touserdata(L, lua_upvalueindex(1));
    vs_lua_work(L, SAY_WORK);
    vs_calm(said, sizeof said, text, length);
    if (policy->heard) policy->heard(policy->hearer, said);
    return 0;
}

static int64_t world_floor_of(lua_Number number) {
    int64_t whole = (int64_t)number;
    return (lua_Number)whole > number ? whole - 1 : whole;
}

#define SET(name, member) lua_pushinteger(L, (lua_Integer)at.member), lua_setfield(L, -2, name);

/* Implements time(ms): returns a table with the names of os.date("*t") and offset_s, or nil and the reason.  The
 * upvalue is the zone. */
static int world_time(lua_State *L) {
    const struct vs_zone_file *file = lua_touserdata(L, lua_upvalueindex(1));
    lua_Number ms = luaL_checknumber(L, 1);
    if (!(ms >= -MS_MAX && ms <= MS_MAX)) {
        lua_pushnil(L);
        lua_pushfstring(L, "%s is not a time in milliseconds from the year -6000 to 9999", luaL_tolstring(L, 1, NULL));
        return 2;
    }
    const struct vs_zone_time at = vs_zone_time(&file->zone, world_floor_of(ms));
    vs_lua_work(L, TIME_WORK);
    lua_createtable(L, 0, 9);
    VS_ZONE_TIME_ROWS(SET)
    return 1;
}

/* Implements zone(name): returns world_time for that zone, or nil and the reason. */
static int world_zone(lua_State *L) {
    struct vesta_error err = {.text = ""};
    size_t length;
    const char *name = luaL_checklstring(L, 1, &length);
    struct vs_zone_file *file = lua_newuserdatauv(L, sizeof *file, 0);
    vs_lua_work(L, ZONE_WORK);
    if (strlen(name) == length && vs_zone_load(name, file, &err) == VESTA_OK)
        return lua_pushcclosure(L, world_time, 1), 1;
    lua_pushnil(L);
    lua_pushstring(L, *err.text ? err.text : "the name of a zone must not contain a NUL byte");
    return 2;
}

void vs_world_push(lua_State *L, const struct vs_policy *policy) {
    lua_createtable(L, 0, 2);
    lua_pushlightuserdata(L, (void *)policy);
    lua_pushcclosure(L, world_say, 1);
    lua_setfield(L, -2, "say");
    lua_pushcfunction(L, world_zone);
    lua_setfield(L, -2, "zone");
}
