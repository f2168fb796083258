/* ids.c -- the module `ids`: makes ids from their fields, and ranks the layouts that could have made ids.  Pure.
 *
 * Ids and field values are integers of 64 bits.  Lua shows them as negative from 2^63 on. */
#include "modules/host.h"
#include "modules/tables.h"
#include "id/id.h"
#include "id/wide.h"
#include "vesta_uuid.h"

#include <stdlib.h>
#include <string.h>

#define IDS_VALUES_MAX (3 * VESTA_FIELDS_MAX)
/* More pairs mean that there is a wide field above the time, and the caller must then specify its value. */
#define IDS_PAIRS_MAX 4096

static void ids_parse(lua_State *L, int arg, struct vesta_layout *layout) {
    luaL_argcheck(L, vesta_layout_parse(luaL_checkstring(L, arg), layout, NULL) == VESTA_OK, arg, "a layout");
}

/* Reads a list of { name, value }.  The list keeps the names alive. */
static size_t ids_values(lua_State *L, int arg, struct vesta_value *out) {
    luaL_checktype(L, arg, LUA_TTABLE);
    lua_Integer count = luaL_len(L, arg);
    luaL_argcheck(L, count <= IDS_VALUES_MAX, arg, "too many values");
    for (lua_Integer i = 0; i < count; i++) {
        lua_rawgeti(L, arg, i + 1);
        lua_rawgeti(L, -1, 1);
        lua_rawgeti(L, -2, 2);
        out[i] = (struct vesta_value){luaL_checkstring(L, -2), (uint64_t)luaL_checkinteger(L, -1)};
        lua_pop(L, 3);
    }
    return (size_t)count;
}

/* ids.make(layout, values) -> id | nil, text, code */
static int ids_make(lua_State *L) {
    struct vesta_layout layout;
    struct vesta_value values[IDS_VALUES_MAX];
    struct vesta_error err;
    uint64_t id;
    ids_parse(L, 1, &layout);
    size_t count = ids_values(L, 2, values);
    if (vesta_make(&layout, values, count, &id, &err) != VESTA_OK) return host_fail(L, &err);
    lua_pushinteger(L, (lua_Integer)id);
    return 1;
}

/* ids.range(layout, from_ms, until_ms, values) -> { { min, max }, ... } | nil, text, code
 * Returns the ranges of the ids with times from from_ms to before until_ms and these field values. */
static int ids_range(lua_State *L) {
    struct vesta_layout layout;
    struct vesta_value values[IDS_VALUES_MAX];
    struct vesta_error err;
    struct vesta_interval interval = {
        .from_ms = luaL_checkinteger(L, 2), .until_ms = luaL_checkinteger(L, 3), .given = values};
    ids_parse(L, 1, &layout);
    interval.given_count = ids_values(L, 4, values);
    struct vesta_pairs pairs = {.pair = lua_newuserdata(L, IDS_PAIRS_MAX * sizeof *pairs.pair), .max = IDS_PAIRS_MAX};
    if (vesta_range(&layout, &interval, &pairs, &err) != VESTA_OK) return host_fail(L, &err);
    lua_createtable(L, (int)pairs.count, 0);
    for (size_t i = 0; i < pairs.count; i++) {
        lua_createtable(L, 0, 2);
        host_set_integer(L, "min", pairs.pair[i].min);
        host_set_integer(L, "max", pairs.pair[i].max);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* ids.issued(layout, fields, method) -> { { name, value }, ... } | nil, text, code
 * Returns the fields above the time, with their values in the ids of a namespace with these fields and this method.
 * Omits constants, the worker id, and a method that depends on the protocol. */
static int ids_issued(lua_State *L) {
    struct vesta_layout layout;
    struct vesta_error err;
    uint64_t issued[VESTA_FIELDS_MAX];
    const char *fields = luaL_optstring(L, 2, NULL), *method = luaL_optstring(L, 3, NULL);
    bool is_by_protocol = method && strcmp(method, VS_METHOD_BY_PROTOCOL) == 0;
    lua_Integer count = 0;
    ids_parse(L, 1, &layout);
    if (vs_fields_parse(&layout, fields, method, issued, &err) != VESTA_OK) return host_fail(L, &err);
    lua_newtable(L);
    for (int i = 0; i < layout.time; i++) {
        bool is_open = i == layout.worker || (is_by_protocol && i == vs_method_at(&layout));
        if (layout.field[i].fixed || is_open) continue;
        lua_createtable(L, 2, 0);
        lua_pushstring(L, layout.field[i].name);
        lua_rawseti(L, -2, 1);
        lua_pushinteger(L, (lua_Integer)issued[i]);
        lua_rawseti(L, -2, 2);
        lua_rawseti(L, -2, ++count);
    }
    return 1;
}

/* ------------------------------------------------------------------ ids of 128 bits */

static const char *const ids_texts[] = {
    [VS_WIDE_UUID] = "uuid", [VS_WIDE_ULID] = "ulid", [VS_WIDE_HEX32] = "hex32", [VS_WIDE_TYPEID] = "typeid"};

/* Reads the text at `arg`.  An error is a fault of the caller. */
static struct vs_wide_found ids_wide_at(lua_State *L, int arg) {
    struct vs_wide_found found;
    struct vs_slice text;
    text.at = luaL_checklstring(L, arg, &text.length);
    luaL_argcheck(L, vs_wide_read(text, &found, NULL) == VESTA_OK, arg, "an id of 128 bits");
    return found;
}

/* ids.wide(text) -> { text, version, variant, unix_ms, first_ms }
 * text: "uuid", "ulid", "hex32" or "typeid".  unix_ms: the time in a UUID of version 1, 6 or 7, or nil.  first_ms: the
 * first 48 bits, the time in a ULID. */
static int ids_wide(lua_State *L) {
    struct vs_wide_found found = ids_wide_at(L, 1), as_uuid = {.id = found.id, .text = VS_WIDE_UUID};
    int64_t unix_us;
    lua_createtable(L, 0, 5);
    host_set_text(L, "text", ids_texts[found.text]);
    host_set_integer(L, "version", vs_wide_version(found.id));
    host_set_integer(L, "variant", vs_wide_variant(found.id));
    host_set_integer(L, "first_ms", (int64_t)(found.id.high >> 16));
    if (vs_wide_time_us(&as_uuid, &unix_us, NULL) == VESTA_OK) host_set_integer(L, "unix_ms", unix_us / 1000);
    return 1;
}

/* ids.from_uuid8(text, layout) -> the id from which vesta made a UUID of version 8, and its Unix milliseconds, or nil
 */
static int ids_from_uuid8(lua_State *L) {
    struct vs_wide_found found = ids_wide_at(L, 1);
    struct vesta_uuid_parts parts;
    struct vesta_layout layout;
    uint8_t bytes[VESTA_UUID_BYTES];
    ids_parse(L, 2, &layout);
    vs_wide_bytes(found.id, bytes);
    if (vesta_uuid_explain(&layout, VESTA_UUID8, bytes, &parts, NULL) != VESTA_OK) return 0;
    lua_pushinteger(L, (lua_Integer)parts.id);
    lua_pushinteger(L, parts.unix_ms);
    return 2;
}

/* ids.wide_range(shape, prefix or nil, layout, from_ms, until_ms) -> min, max as text | nil, text, code
 * Returns the smallest and the largest id of a shape with times from from_ms to before until_ms.  If they are equal, of
 * the time unit that contains from_ms. */
static int ids_wide_range(lua_State *L) {
    size_t length;
    const char *name = luaL_checklstring(L, 1, &length);
    enum vesta_shape shape = (enum vesta_shape)vesta_shape_find(name, length);
    struct vesta_layout layout;
    struct vesta_error err;
    char text[VS_WIDE_TEXT_MAX];
    int64_t from_ms = luaL_checkinteger(L, 4), until_ms = luaL_checkinteger(L, 5);
    ids_parse(L, 3, &layout);
    if (vesta_shape_check(&layout, shape, &err) != VESTA_OK) return host_fail(L, &err);
    struct vs_wide range[2];
    if (vs_wide_range(shape, &layout, from_ms, until_ms, range, &err) != VESTA_OK) return host_fail(L, &err);
    for (int i = 0; i < 2; i++) {
        const char *prefix = luaL_optlstring(L, 2, NULL, &length);
        if (prefix && vs_typeid_check((struct vs_slice){prefix, length}, &err) != VESTA_OK) return host_fail(L, &err);
        if (prefix)
            vs_typeid_write((struct vs_slice){prefix, length}, range[i], text);
        else
            vs_wide_write(vs_wide_text_of(shape), range[i], text);
        lua_pushstring(L, text);
    }
    return 2;
}

/* ------------------------------------------------------------------ guesses */

struct ids_suspect {
    struct vesta_layout layout; /* must be first: ids_rank casts its address back to the suspect */
    const char *name;
};

struct ids_suspects {
    size_t count;
    struct ids_suspect suspect[];
};

/* ids.suspects({ { name =, text = the layout }, ... }) -> suspects, for ids.rank.  The suspects keep the list alive,
 * because it owns their names. */
static int ids_suspects(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    size_t count = (size_t)luaL_len(L, 1);
    struct ids_suspects *suspects = lua_newuserdata(L, sizeof *suspects + count * sizeof *suspects->suspect);
    suspects->count = count;
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, 1, (lua_Integer)i + 1);
        lua_getfield(L, -1, "name");
        lua_getfield(L, -2, "text");
        suspects->suspect[i].name = luaL_checkstring(L, -2);
        ids_parse(L, -1, &suspects->suspect[i].layout);
        lua_pop(L, 3);
    }
    lua_pushvalue(L, 1);
    lua_setuservalue(L, -2);
    return 1;
}

static int ids_by_value(const void *a, const void *b) {
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

static void ids_push_odd(lua_State *L, const struct vs_suspect *suspect, const struct vs_evidence *evidence) {
    const struct vesta_layout *layout = suspect->layout;
    lua_createtable(L, layout->field_count, 0);
    for (int i = 0; i < layout->field_count; i++) {
        uint64_t value = vs_field_get(&layout->field[i], evidence->ids[0]);
        lua_pushboolean(L, vs_guess_is_odd(suspect, i, value, evidence->now_ms));
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "odd");
}

static void ids_push_ranked(lua_State *L, const struct vs_suspect *ranked, size_t index, size_t family) {
    lua_createtable(L, 0, 5);
    host_set_integer(L, "index", index);
    host_set_integer(L, "family", family);
    lua_pushnumber(L, ranked->share);
    lua_setfield(L, -2, "share");
    lua_pushnumber(L, ranked->family);
    lua_setfield(L, -2, "family_share");
}

/* ids.rank(suspects, ids, now_ms, made_ms or nil) -> { { index, share, family, family_share, odd }, ... }, none
 * Ranks the layouts that could have made all ids, the likeliest family first (see vs_guess_rank).  `index` counts
 * suspects, and `family` counts families.  `odd` is set only for a single id.  It tells for each field whether the
 * field's value is evidence against the layout.  `none` is the share of other layouts. */
static int ids_rank(lua_State *L) {
    const struct ids_suspects *suspects = lua_touserdata(L, 1);
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 4);
    size_t count = suspects->count, id_count = (size_t)luaL_len(L, 2);
    struct vs_suspect *ranked = lua_newuserdata(L, (count + 1) * sizeof *ranked);
    uint64_t *ids = lua_newuserdata(L, (id_count + 1) * sizeof *ids);
    struct vs_evidence evidence = {.ids = ids,
                                   .count = id_count,
                                   .now_ms = luaL_checkinteger(L, 3),
                                   .made_ms = luaL_optinteger(L, 4, 0),
                                   .has_made = !lua_isnoneornil(L, 4)};
    for (size_t i = 0; i < count; i++)
        ranked[i] = (struct vs_suspect){.name = suspects->suspect[i].name, .layout = &suspects->suspect[i].layout};
    for (size_t i = 0; i < id_count; i++) {
        lua_rawgeti(L, 2, (lua_Integer)i + 1);
        ids[i] = (uint64_t)luaL_checkinteger(L, -1);
        lua_pop(L, 1);
    }
    qsort(ids, id_count, sizeof *ids, ids_by_value);
    double none = vs_guess_rank(&evidence, ranked, &count);
    lua_createtable(L, (int)count, 0);
    for (size_t i = 0, first = 0, family = 0; i < count; i++) {
        if (i == 0 || !vs_guess_is_family(ranked[first].layout, ranked[i].layout)) first = i, family++;
        const struct ids_suspect *suspect = (const struct ids_suspect *)ranked[i].layout;
        ids_push_ranked(L, &ranked[i], (size_t)(suspect - suspects->suspect) + 1, family);
        if (id_count == 1) ids_push_odd(L, &ranked[i], &evidence);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_pushnumber(L, none);
    return 2;
}

int host_open_ids(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"make", ids_make}, {"range", ids_range}, {"issued", ids_issued},         {"suspects", ids_suspects},
        {"rank", ids_rank}, {"wide", ids_wide},   {"from_uuid8", ids_from_uuid8}, {"wide_range", ids_wide_range},
        {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}
