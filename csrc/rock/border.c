/* border.c -- reads arguments and pushes results.  Converts between Lua's types and the library's. */
#include "rock/border.h"
#include "base/error.h"
#include "base/text.h"
#include "id/id.h"

#include <stdio.h>
#include <string.h>

#if LUA_VERSION_NUM >= 503
_Static_assert(sizeof(lua_Integer) >= 8, "an id fits a Lua integer");
#endif

#define EXACT_MAX 9007199254740992.0 /* 2^53: doubles represent all integers up to it exactly */

/* ------------------------------------------------------------------ classes */

void vs_lua_functions(lua_State *L, const struct vs_lua_function *functions) {
    for (; functions->name; functions++) {
        lua_pushcfunction(L, functions->call);
        lua_setfield(L, -2, functions->name);
    }
}

void vs_lua_class(lua_State *L, const char *name, const struct vs_lua_function *methods) {
    luaL_newmetatable(L, name);
    lua_newtable(L);
    for (; methods->name; methods++) {
        lua_pushcfunction(L, methods->call);
        lua_setfield(L, strncmp(methods->name, "__", 2) == 0 ? -3 : -2, methods->name);
    }
    lua_setfield(L, -2, "__index");
}

int vs_lua_not_self(lua_State *L, const char *class) {
    return luaL_error(L, "a %s is expected before the colon, not %s (methods are called as object:method())", class,
                      luaL_typename(L, 1));
}

/* ------------------------------------------------------------------ arguments */

const char *vs_lua_text(lua_State *L, int arg, const char *what) {
    size_t length;
    if (lua_type(L, arg) != LUA_TSTRING) luaL_error(L, "%s must be a string, not %s", what, luaL_typename(L, arg));
    const char *text = lua_tolstring(L, arg, &length);
    if (strlen(text) != length) luaL_error(L, "%s has a NUL byte inside", what);
    return text;
}

static char cdata_reader; /* its address is the registry key */

void vs_lua_set_cdata_reader(lua_State *L) {
    lua_pushlightuserdata(L, &cdata_reader);
    lua_insert(L, -2);
    lua_rawset(L, LUA_REGISTRYINDEX);
}

/* Replaces a 64-bit cdata at `arg` by its decimal string.  Uses a Lua function, because LuaJIT's C API cannot read
 * cdata. */
static bool read_cdata(lua_State *L, int arg) {
    lua_pushlightuserdata(L, &cdata_reader);
    lua_rawget(L, LUA_REGISTRYINDEX);
    if (!lua_isfunction(L, -1)) {
        lua_pop(L, 1);
        return false;
    }
    lua_pushvalue(L, arg);
    lua_call(L, 1, 1);
    bool known = lua_type(L, -1) == LUA_TSTRING;
    if (known)
        lua_replace(L, arg);
    else
        lua_pop(L, 1);
    return known;
}

/* How a number is used: its name in messages, and the error code.  If `bits` is true, a negative integer is accepted as
 * an id in two's complement, because next_int returns such integers if a layout sets bit 63. */
struct number {
    const char *what;
    int code;
    bool bits;
};

/* Reads a double.  Rejects a double that may have lost digits. */
static int read_double(double d, const struct number *number, uint64_t *value, struct vesta_error *err) {
    char text[32];
    snprintf(text, sizeof text, "%.17g", d);
    if (d > EXACT_MAX && d - d == 0) /* above 2^53, and not infinite */
        return vs_fail(err, number->code, "%s passed as a double (precision lost): pass a string, not %s", number->what,
                       text);
    if (!(d >= 0 && d <= EXACT_MAX) || d != (double)(uint64_t)d)
        return vs_fail(err, number->code, "%s must be a whole number of 0 or more, not %s", number->what, text);
    *value = (uint64_t)d;
    return VESTA_OK;
}

static int read_string(lua_State *L, int arg, const struct number *number, uint64_t *value, struct vesta_error *err) {
    size_t length;
    const char *text = lua_tolstring(L, arg, &length);
    if (vesta_parse(VESTA_DECIMAL, text, length, value) == VESTA_OK) return VESTA_OK;
    return vs_fail(err, number->code, "%s must be decimal digits, at most 18446744073709551615, not '%s'", number->what,
                   VS_QUOTE(text, length));
}

/* Reads an unsigned 64-bit number from any Lua type that can represent it. */
static int read_u64(lua_State *L, int arg, const struct number *number, uint64_t *value, struct vesta_error *err) {
    if (lua_type(L, arg) == VS_LUA_TCDATA && !read_cdata(L, arg))
        return luaL_error(L, "%s must be an int64_t or uint64_t cdata, not another ctype", number->what);
#if LUA_VERSION_NUM >= 503
    if (lua_isinteger(L, arg)) {
        lua_Integer i = lua_tointeger(L, arg);
        char text[32];
        snprintf(text, sizeof text, "%lld", (long long)i);
        if (i < 0 && !number->bits)
            return vs_fail(err, number->code, "%s must be a whole number of 0 or more, not %s", number->what, text);
        *value = (uint64_t)i;
        return VESTA_OK;
    }
#endif
    if (lua_type(L, arg) == LUA_TNUMBER) return read_double(lua_tonumber(L, arg), number, value, err);
    if (lua_type(L, arg) == LUA_TSTRING) return read_string(L, arg, number, value, err);
    return luaL_error(L, "%s must be a decimal string, an integer or a 64-bit cdata, not %s", number->what,
                      luaL_typename(L, arg));
}

int vs_lua_id(lua_State *L, int arg, uint64_t *id, struct vesta_error *err) {
    lua_settop(L, arg > lua_gettop(L) ? arg : lua_gettop(L)); /* an absent id reads as nil */
    return read_u64(L, arg, &(struct number){"id", VESTA_EID, true}, id, err);
}

int vs_lua_time(lua_State *L, int arg, int64_t *unix_ms, struct vesta_error *err) {
    if (lua_type(L, arg) == LUA_TSTRING) return vesta_time_parse(vs_lua_text(L, arg, "time"), unix_ms, err);
    if (lua_type(L, arg) != LUA_TNUMBER)
        return luaL_error(L, "time must be Unix milliseconds or an RFC 3339 string, not %s", luaL_typename(L, arg));
    uint64_t value;
    int rc = read_u64(L, arg, &(struct number){"time", VESTA_EFIELD, false}, &value, err);
    /* at most INT64_MAX, because it came from a Lua integer, or from a double up to 2^53 */
    if (rc == VESTA_OK) *unix_ms = (int64_t)value;
    return rc;
}

static bool has_field(lua_State *L, int table, const char *name) {
    lua_getfield(L, table, name);
    bool has = !lua_isnil(L, -1);
    lua_pop(L, 1);
    return has;
}

/* Returns true if the member is derived from another one.  explain returns the time three times: `time` is exact, and
 * unix_ms and iso are derived from it. */
static bool is_derived(lua_State *L, int table, const char *name) {
    if (strcmp(name, "iso") == 0) return has_field(L, table, "time") || has_field(L, table, "unix_ms");
    return strcmp(name, "unix_ms") == 0 && has_field(L, table, "time");
}

/* Returns true if the member's value is a date or Unix milliseconds.  A plain number in the member `time` counts time
 * units. */
static bool is_instant(lua_State *L, const char *name) {
    if (strcmp(name, "iso") == 0 || strcmp(name, "unix_ms") == 0) return true;
    return strcmp(name, "time") == 0 && lua_type(L, -1) == LUA_TSTRING && strpbrk(lua_tostring(L, -1), "-T");
}

static int read_instant(lua_State *L, const struct vesta_layout *layout, uint64_t *time, struct vesta_error *err) {
    int64_t unix_ms = 0, end_ms = vesta_layout_end_ms(layout);
    char from[VESTA_ISO_MAX], until[VESTA_ISO_MAX];
    int rc = vs_lua_time(L, lua_gettop(L), &unix_ms, err);
    if (rc != VESTA_OK) return rc;
    if (unix_ms < layout->epoch_ms || unix_ms >= end_ms) {
        vesta_iso(layout->epoch_ms, from), vesta_iso(end_ms, until);
        return vs_fail(err, VESTA_EFIELD, "the time is outside this layout's time, which is from %s until %s", from,
                       until);
    }
    *time = vs_time_in(layout, unix_ms);
    return VESTA_OK;
}

/* Reads the key and the value at the top of the stack. */
static int read_value(lua_State *L, const struct vesta_layout *layout, struct vesta_value *out,
                      struct vesta_error *err) {
    char what[VS_QUOTE_MAX + 8];
    size_t length;
    if (lua_type(L, -2) != LUA_TSTRING)
        return luaL_error(L, "fields must have names as keys, not %s", luaL_typename(L, -2));
    out->name = lua_tolstring(L, -2, &length);
    snprintf(what, sizeof what, "field %s", VS_QUOTE(out->name, length));
    if (strlen(out->name) != length || length == 0) return vs_fail(err, VESTA_EFIELD, "%s: no such name", what);
    if (is_instant(L, out->name)) {
        out->name = "time";
        return read_instant(L, layout, &out->value, err);
    }
    return read_u64(L, lua_gettop(L), &(struct number){what, VESTA_EFIELD, false}, &out->value, err);
}

int vs_lua_values(lua_State *L, int arg, const struct vesta_layout *layout, struct vesta_value *out, size_t *count,
                  struct vesta_error *err) {
    size_t n = 0;
    int rc = VESTA_OK;
    if (lua_type(L, arg) != LUA_TTABLE)
        return luaL_error(L, "fields must be a table like { seq = 1 }, not %s", luaL_typename(L, arg));
    for (lua_pushnil(L); lua_next(L, arg); lua_pop(L, 1)) {
        if (lua_type(L, -2) == LUA_TSTRING && is_derived(L, arg, lua_tostring(L, -2))) continue;
        rc = n < VS_LUA_VALUES_MAX
                 ? read_value(L, layout, &out[n++], err)
                 : vs_fail(err, VESTA_EFIELD, "more than %d fields, which is the limit of a layout", VESTA_FIELDS_MAX);
        if (rc != VESTA_OK) {
            lua_pop(L, 2);
            return rc;
        }
    }
    *count = n;
    return rc;
}

/* ------------------------------------------------------------------ results */

void vs_lua_push_integer(lua_State *L, int64_t value) {
#if LUA_VERSION_NUM >= 503
    lua_pushinteger(L, (lua_Integer)value);
#else
    lua_pushnumber(L, (lua_Number)value);
#endif
}

void vs_lua_set_integer(lua_State *L, const char *key, int64_t value) {
    vs_lua_push_integer(L, value);
    lua_setfield(L, -2, key);
}

void vs_lua_set_text(lua_State *L, const char *key, const char *text) {
    lua_pushstring(L, text);
    lua_setfield(L, -2, key);
}

void vs_lua_set_id(lua_State *L, const char *key, uint64_t value) {
    vs_lua_push_id(L, value);
    lua_setfield(L, -2, key);
}

void vs_lua_set_iso(lua_State *L, const char *key, int64_t unix_ms) {
    char iso[VESTA_ISO_MAX];
    lua_pushlstring(L, iso, vesta_iso(unix_ms, iso));
    lua_setfield(L, -2, key);
}

int vs_lua_push_id(lua_State *L, uint64_t id) {
    char text[VESTA_FORMAT_MAX];
    lua_pushlstring(L, text, vesta_format(VESTA_DECIMAL, id, text));
    return 1;
}

int vs_lua_push_parts(lua_State *L, const struct vesta_layout *layout, const struct vesta_parts *parts) {
    lua_createtable(L, 0, layout->field_count + 3);
    for (int i = 0; i < layout->field_count; i++)
        vs_lua_set_integer(L, layout->field[i].name, (int64_t)parts->values[i]); /* no field is wider than 53 bits */
    if (layout->worker >= 0) vs_lua_set_integer(L, "worker", (int64_t)parts->worker);
    vs_lua_set_integer(L, "unix_ms", parts->unix_ms);
    vs_lua_set_iso(L, "iso", parts->unix_ms);
    return 1;
}

int vs_lua_push_fail(lua_State *L, int code, const char *text) {
    lua_pushnil(L);
    lua_pushstring(L, text);
    lua_pushstring(L, vesta_code_name(code));
    return 3;
}

int vs_lua_push_error(lua_State *L, const struct vesta_error *err) {
    return vs_lua_push_fail(L, err->code, err->text);
}

int vs_lua_push_ids(lua_State *L, const uint64_t *ids, size_t n) {
    struct vs_digits digits = {0};
    char text[VESTA_FORMAT_MAX];
    lua_createtable(L, (int)n, 0);
    for (size_t i = 0; i < n; i++) {
        lua_pushlstring(L, text, vs_digits_put(&digits, ids[i], text));
        lua_rawseti(L, -2, (int)i + 1);
    }
    return 1;
}

int vs_lua_push_native(lua_State *L, uint64_t id) {
#if LUA_VERSION_NUM >= 503
    lua_pushinteger(L, (lua_Integer)id);
    return 1;
#else
    (void)id;
    return luaL_error(L, "this Lua has no exact 64-bit integers (5.3 and LuaJIT have): use next or batch");
#endif
}

int vs_lua_push_natives(lua_State *L, const uint64_t *ids, size_t n) {
    lua_createtable(L, (int)n, 0);
    for (size_t i = 0; i < n; i++) {
        vs_lua_push_native(L, ids[i]);
        lua_rawseti(L, -2, (int)i + 1);
    }
    return 1;
}

size_t vs_lua_count(lua_State *L) {
    lua_settop(L, 2);
    lua_Number n = lua_type(L, 2) == LUA_TNUMBER ? lua_tonumber(L, 2) : 0;
    if (!(n >= 1 && n <= VESTA_BATCH_MAX) || n != (lua_Number)(size_t)n)
        luaL_error(L, "a batch is a whole number of ids from 1 to %d, not %s", VESTA_BATCH_MAX,
                   lua_type(L, 2) == LUA_TNUMBER ? lua_tostring(L, 2) : luaL_typename(L, 2));
    return (size_t)n;
}
