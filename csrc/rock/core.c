/* core.c -- opens the module vesta.core, and implements its functions that need neither a layout nor a generator. */
#include "rock/border.h"
#include "base/array.h"
#include "base/error.h"
#include "generator/generator.h"
#include "id/id.h"
#include "id/wide.h"
#include "os/clock.h"

#include <string.h>

static int core_guess(lua_State *L) {
    struct vesta_error err;
    struct vesta_candidate found[VS_PRESETS_MAX];
    const struct vesta_clock *clock = vs_clock_system();
    int64_t now_ms = clock->unix_us(clock->self) / 1000;
    uint64_t id;
    lua_settop(L, 2);
    if (vs_lua_id(L, 1, &id, &err) != VESTA_OK) return vs_lua_push_error(L, &err);
    if (!lua_isnil(L, 2) && vs_lua_time(L, 2, &now_ms, &err) != VESTA_OK) return vs_lua_push_error(L, &err);
    size_t count = vesta_guess(id, now_ms, found, VS_PRESETS_MAX);
    lua_createtable(L, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        struct vesta_layout layout;
        if (vesta_layout_parse(found[i].preset->text, &layout, &err) != VESTA_OK) return vs_lua_push_error(L, &err);
        lua_createtable(L, 0, 3);
        vs_lua_set_text(L, "preset", found[i].preset->name);
        vs_lua_set_text(L, "about", found[i].preset->about);
        vs_lua_push_parts(L, &layout, &found[i].parts);
        lua_setfield(L, -2, "parts");
        lua_rawseti(L, -2, (int)i + 1);
    }
    return 1;
}

static int push_fit(lua_State *L, const struct vesta_proposal *fit) {
    char text[VESTA_LAYOUT_TEXT_MAX];
    vesta_layout_text(&fit->layout, text);
    lua_createtable(L, 0, 6);
    vs_lua_set_text(L, "layout", text);
    lua_pushnumber(L, fit->rate_max);
    lua_setfield(L, -2, "rate_max");
    vs_lua_set_integer(L, "nodes_max", (int64_t)fit->nodes_max);
    lua_pushnumber(L, fit->years_max);
    lua_setfield(L, -2, "years_max");
    vs_lua_set_integer(L, "end_ms", fit->end_ms);
    vs_lua_set_iso(L, "ends", fit->end_ms);
    return 1;
}

/* Implements core.fit(rate, nodes, years, epoch [, unit [, bits]]).  init.lua has checked the three numbers. */
static int core_fit(lua_State *L) {
    struct vesta_error err;
    struct vesta_proposal fit;
    struct vesta_fit_need need = {
        .rate = lua_tonumber(L, 1), .nodes = (uint64_t)lua_tonumber(L, 2), .years = lua_tonumber(L, 3)};
    const char *unit = lua_isnoneornil(L, 5) ? NULL : vs_lua_text(L, 5, "unit");
    double bits = luaL_optnumber(L, 6, 63);
    struct vs_fit_how how = {.unit_us = unit ? vs_unit_read((struct vs_slice){unit, strlen(unit)}) : 0};
    if (unit && !how.unit_us) return luaL_error(L, "vesta.fit: unit must be " VS_UNITS ", not \"%s\"", unit);
    if (!(bits >= VS_FIT_BITS_MIN && bits <= 63) || bits != (int)bits)
        return luaL_error(L, "vesta.fit: bits must be a whole number from %d to 63", VS_FIT_BITS_MIN);
    how.bits = (int)bits;
    if (vs_lua_time(L, 4, &need.epoch_ms, &err) != VESTA_OK || vs_fit_as(&need, &how, &fit, &err) != VESTA_OK)
        return vs_lua_push_error(L, &err);
    return push_fit(L, &fit);
}

/* ------------------------------------------------------------------ text */

static const char *const BASES[] = {
    [VESTA_DECIMAL] = "decimal", [VESTA_HEX] = "hex", [VESTA_BASE32] = "base32", [VESTA_BASE62] = "base62"};

static enum vesta_base check_base(lua_State *L, int arg) {
    const char *name = lua_isnoneornil(L, arg) ? BASES[VESTA_DECIMAL] : vs_lua_text(L, arg, "base");
    for (size_t i = 0; i < VS_COUNT(BASES); i++)
        if (strcmp(name, BASES[i]) == 0) return (enum vesta_base)i;
    luaL_error(L, "base must be \"decimal\", \"hex\", \"base32\" or \"base62\", not \"%s\"", name);
    return VESTA_DECIMAL;
}

static int core_format(lua_State *L) {
    struct vesta_error err;
    char text[VESTA_FORMAT_MAX];
    uint64_t id;
    enum vesta_base base = check_base(L, 2);
    if (vs_lua_id(L, 1, &id, &err) != VESTA_OK) return vs_lua_push_error(L, &err);
    lua_pushlstring(L, text, vesta_format(base, id, text));
    return 1;
}

static int core_parse(lua_State *L) {
    uint64_t id;
    size_t length;
    enum vesta_base base = check_base(L, 2);
    if (lua_type(L, 1) != LUA_TSTRING) return luaL_error(L, "text must be a string, not %s", luaL_typename(L, 1));
    const char *text = lua_tolstring(L, 1, &length);
    if (vesta_parse(base, text, length, &id) == VESTA_OK) return vs_lua_push_id(L, id);
    struct vesta_error err;
    vs_fail(&err, VESTA_EID, "'%s' is not an id in %s", VS_QUOTE(text, length), BASES[base]);
    return vs_lua_push_error(L, &err);
}

/* ------------------------------------------------------------------ ids of 128 bits */

static int core_read_wide(lua_State *L, int arg, struct vs_wide_found *found, struct vesta_error *err) {
    size_t length;
    if (lua_type(L, arg) != LUA_TSTRING) return luaL_error(L, "uuid must be a string, not %s", luaL_typename(L, arg));
    const char *text = lua_tolstring(L, arg, &length);
    return vs_wide_read((struct vs_slice){text, length}, found, err);
}

/* Implements vesta.explain_uuid(text), with the names of `vesta explain --json`. */
static int core_explain_uuid(lua_State *L) {
    struct vs_wide_found found;
    struct vs_wide_facts facts;
    struct vesta_error err;
    if (core_read_wide(L, 1, &found, &err) != VESTA_OK) return vs_lua_push_error(L, &err);
    vs_wide_facts_of(&found, NULL, "", &facts);
    lua_createtable(L, 0, 10);
    vs_lua_set_text(L, "id", facts.text);
    vs_lua_set_text(L, "kind", facts.kind);
    vs_lua_set_text(L, "uuid", facts.uuid);
    vs_lua_set_text(L, "ulid", facts.ulid);
    if (found.text != VS_WIDE_ULID) {
        vs_lua_set_integer(L, "version", vs_wide_version(found.id));
        vs_lua_set_integer(L, "variant", vs_wide_variant(found.id));
    }
    if (found.text == VS_WIDE_TYPEID) {
        lua_pushlstring(L, found.prefix.at ? found.prefix.at : "", found.prefix.length);
        lua_setfield(L, -2, "prefix");
    }
    if (facts.has_time) {
        vs_lua_set_integer(L, "unix_ms", facts.unix_ms);
        vs_lua_set_iso(L, "iso", facts.unix_ms);
    }
    if (facts.parts.has_id) vs_lua_set_id(L, "from", facts.parts.id);
    return 1;
}

/* Implements vesta.typeid(prefix, uuid). */
static int core_typeid(lua_State *L) {
    struct vs_wide_found found;
    struct vesta_error err;
    char text[VESTA_UUID_TEXT_MAX];
    struct vs_slice prefix;
    prefix.at = vs_lua_text(L, 1, "prefix");
    prefix.length = strlen(prefix.at);
    if (vs_typeid_check(prefix, &err) != VESTA_OK || core_read_wide(L, 2, &found, &err) != VESTA_OK)
        return vs_lua_push_error(L, &err);
    lua_pushlstring(L, text, vs_typeid_write(prefix, found.id, text));
    return 1;
}

/* ------------------------------------------------------------------ the module */

/* Implements core.now_ms(), which returns the Unix milliseconds of the generators' clock. */
static int core_now_ms(lua_State *L) {
    const struct vesta_clock *clock = vs_clock_system();
    vs_lua_push_integer(L, clock->unix_us(clock->self) / 1000);
    return 1;
}

/* Returns the kind of pause with this name, or 0 if there is none. */
static enum vesta_why why_named(const char *name) {
    int why = 1;
    while (strcmp(vesta_why_name((enum vesta_why)why), name) != 0)
        if (strcmp(vesta_why_name((enum vesta_why)why++), "unknown") == 0) return 0;
    return (enum vesta_why)why;
}

/* Implements core.pause_step(code, wait_s, left_s), for callers that sleep in Lua.  Returns how long to sleep before
 * the next attempt, or nil if there should be none.  Also returns whether to wake the keeper. */
static int core_pause_step(lua_State *L) {
    struct vesta_pause pause = {.why = why_named(luaL_checkstring(L, 1)), .wait_us = -1};
    if (!lua_isnoneornil(L, 2)) pause.wait_us = (int64_t)(luaL_checknumber(L, 2) * 1e6);
    int64_t step_us = vs_pause_step_us(&pause, (int64_t)(luaL_checknumber(L, 3) * 1e6));
    if (step_us < 0)
        lua_pushnil(L);
    else
        lua_pushnumber(L, (lua_Number)step_us / 1e6);
    lua_pushboolean(L, vs_pause_wakes_keeper(pause.why));
    return 2;
}

static int core_set_cdata_reader(lua_State *L) {
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 1);
    vs_lua_set_cdata_reader(L);
    return 0;
}

static const struct vs_lua_function FUNCTIONS[] = {
    {"guess", core_guess},
    {"fit", core_fit},
    {"format", core_format},
    {"parse", core_parse},
    {"explain_uuid", core_explain_uuid},
    {"typeid", core_typeid},
    {"now_ms", core_now_ms},
    {"pause_step", core_pause_step},
    {"set_cdata_reader", core_set_cdata_reader},
    {NULL, NULL},
};

VESTA_API int luaopen_vesta_core(lua_State *L);

int luaopen_vesta_core(lua_State *L) {
    lua_newtable(L);
    vs_lua_functions(L, FUNCTIONS);
    vs_lua_open_layout(L);
    vs_lua_open_gen(L);
    vs_lua_open_choice(L);
    vs_lua_open_past(L);
    vs_lua_open_segment(L);
    vs_lua_open_client(L);
    vs_lua_open_zone(L);
    vs_lua_set_text(L, "VERSION", VESTA_VERSION);
    vs_lua_open_fast(L);
    return 1;
}
