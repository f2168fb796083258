/* zone.c -- a named time zone, for policies in the rock.  Uses the reader in csrc/number, as csrc/policy/world.c does.
 */
#include "rock/border.h"
#include "number/zone.h"

static const char CLASS[] = "vesta.zone";

struct zone_box {
    struct vs_lua_object object;
    struct vs_zone_file file;
};

#define MS_MAX 253402300799999.0 /* the year 9999 */

static int64_t zone_floor_of(lua_Number number) {
    int64_t whole = (int64_t)number;
    return (lua_Number)whole > number ? whole - 1 : whole;
}

#define SET(name, member) vs_lua_set_integer(L, name, (int64_t)at.member);

/* Implements zone:time(ms), which returns the zone's date and time, with the names of os.date("*t"), and offset_s. */
static int zone_time(lua_State *L) {
    struct zone_box *box = vs_lua_self(L, CLASS, sizeof(struct zone_box));
    lua_Number ms = luaL_checknumber(L, 2);
    if (!(ms >= -MS_MAX && ms <= MS_MAX)) return luaL_error(L, "%f is not a time in milliseconds", ms);
    const struct vs_zone_time at = vs_zone_time(&box->file.zone, zone_floor_of(ms));
    lua_createtable(L, 0, 9);
    VS_ZONE_TIME_ROWS(SET)
    return 1;
}

/* Implements core.zone(name), which reads a file and returns the zone, or nil, text, code. */
static int core_zone(lua_State *L) {
    struct vesta_error err;
    const char *name = vs_lua_text(L, 1, "a zone's name");
    struct zone_box *box = lua_newuserdata(L, sizeof *box);
    box->object.class = NULL;
    if (vs_zone_load(name, &box->file, &err) != VESTA_OK) return vs_lua_push_error(L, &err);
    box->object.class = CLASS;
    luaL_getmetatable(L, CLASS);
    lua_setmetatable(L, -2);
    return 1;
}

void vs_lua_open_zone(lua_State *L) {
    static const struct vs_lua_function functions[] = {{"zone", core_zone}, {NULL, NULL}};
    static const struct vs_lua_function methods[] = {{"time", zone_time}, {NULL, NULL}};
    vs_lua_functions(L, functions);
    vs_lua_class(L, CLASS, methods);
    lua_pop(L, 1);
}
