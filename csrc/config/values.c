/* values.c -- a value of Lua becomes a value of the config: what was expected, what was given.  Knows single values,
 * not the tables around them; runs nothing. */
#include "base/error.h"
#include "base/slice.h"
#include "config/walk.h"

#include <inttypes.h>
#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define OPTIONS_BYTES_MAX 60000 /* a policy's options as text, which is a policy's source */
#define OPTIONS_DEPTH_MAX 8
#define OPTIONS_KEYS_MAX 1024 /* in one table */
#define SHADOW "shadow"       /* among a policy's options: it is tried, and not obeyed */
#define EXPECTED(key) vs_conf_expected((key), (char[VS_CONF_EXPECTED_MAX]){0})

/* ------------------------------------------------------------------ what stands there */

const char *vs_conf_given(lua_State *L, char *buf) {
    size_t length;
    const char *text;
    switch (lua_type(L, -1)) {
    case LUA_TNUMBER:
        if (lua_isinteger(L, -1))
            snprintf(buf, VS_CONF_GIVEN_MAX, "%lld", lua_tointeger(L, -1));
        else
            snprintf(buf, VS_CONF_GIVEN_MAX, "%.14g",
                     isnan(lua_tonumber(L, -1)) ? NAN : lua_tonumber(L, -1)); /* no -nan */
        return buf;
    case LUA_TSTRING:
        text = lua_tolstring(L, -1, &length);
        snprintf(buf, VS_CONF_GIVEN_MAX, "the text '%s'", VS_QUOTE(text, length > 30 ? 30 : length));
        return buf;
    case LUA_TBOOLEAN: return lua_toboolean(L, -1) ? "true" : "false";
    case LUA_TNIL: return "nil";
    case LUA_TTABLE: return "a table";
    case LUA_TFUNCTION: return "a function";
    default: return "not data";
    }
}

static int wrong_type(struct walk *w, const struct vs_conf_key *key) {
    if (key->kind == VS_CONF_SECRET || key->kind == VS_CONF_SECRETS) /* whatever it is, it is not shown */
        return vs_fail(w->err, VESTA_EOPTION, key->kind == VS_CONF_SECRET ? "is not a text" : "is not a list of texts");
    bool quoted = lua_type(w->L, -1) == LUA_TSTRING && (key->kind == VS_CONF_INTEGER || key->kind == VS_CONF_SWITCH);
    return vs_fail(w->err, VESTA_EOPTION, "is %s, which must be %s%s", VS_CONF_GIVEN(w), EXPECTED(key),
                   quoted ? ", without quotes" : "");
}

const char *vs_conf_name_after(lua_State *L, int index, const char *last) {
    const char *best = NULL;
    index = lua_absindex(L, index);
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING) continue;
        const char *name = lua_tostring(L, -2);
        if ((!last || strcmp(name, last) > 0) && (!best || strcmp(name, best) < 0)) best = name;
    }
    return best;
}

int vs_conf_check_names(struct walk *w, int max, size_t places) {
    int count = 0;
    for (lua_pushnil(w->L); lua_next(w->L, -2); lua_pop(w->L, 1)) {
        size_t length = 0;
        const char *name = lua_type(w->L, -2) == LUA_TSTRING ? lua_tolstring(w->L, -2, &length) : NULL;
        bool is_place = lua_isinteger(w->L, -2) && (size_t)lua_tointeger(w->L, -2) - 1 < places;
        lua_pop(w->L, name || is_place ? 0 : 1);
        if (!name && !is_place)
            return vs_fail(w->err, VESTA_EOPTION, "has an entry without a name, [%s]; entries are NAME = VALUE",
                           VS_CONF_GIVEN(w));
        if (name && strlen(name) != length) return vs_fail(w->err, VESTA_EOPTION, "has a name with a NUL byte in it");
        if (name && ++count > max) return vs_fail(w->err, VESTA_EOPTION, "has more than %d entries", max);
    }
    return VESTA_OK;
}

int vs_conf_check_list(struct walk *w, int64_t max, size_t *count) {
    size_t n = 0, length = lua_rawlen(w->L, -1);
    for (lua_pushnil(w->L); lua_next(w->L, -2); lua_pop(w->L, 1)) {
        if (!lua_isinteger(w->L, -2) || (size_t)lua_tointeger(w->L, -2) - 1 >= length)
            return vs_fail(w->err, VESTA_EOPTION, "is not a list: its keys must be 1, 2, 3 and so on, without gaps");
        n++;
    }
    if (n != length)
        return vs_fail(w->err, VESTA_EOPTION, "is not a list: its keys must be 1, 2, 3 and so on, without gaps");
    if (n == 0) return vs_fail(w->err, VESTA_EOPTION, "is an empty list");
    if ((int64_t)n > max)
        return vs_fail(w->err, VESTA_EOPTION, "has %zu entries, at most %" PRId64 " are possible", n, max);
    *count = n;
    return VESTA_OK;
}

/* ------------------------------------------------------------------ a policy's options as Lua text */

struct text {
    char *buf;
    size_t used;
};

static void add(struct text *t, const char *bytes, size_t length) {
    if (t->used + length <= OPTIONS_BYTES_MAX) memcpy(t->buf + t->used, bytes, length);
    t->used += length; /* past the end: told afterwards */
}

static void add_quoted(struct text *t, const char *bytes, size_t length) {
    char code[8];
    add(t, "\"", 1);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c >= ' ' && c <= '~' && c != '"' && c != '\\')
            add(t, &bytes[i], 1);
        else
            add(t, code, (size_t)snprintf(code, sizeof code, "\\%03u", c));
    }
    add(t, "\"", 1);
}

static int add_number(struct walk *w, struct text *t) {
    char digits[40];
    double number = lua_tonumber(w->L, -1);
    if (lua_isinteger(w->L, -1)) /* hexadecimal wraps around, so the smallest integer can be written */
        snprintf(digits, sizeof digits, lua_tointeger(w->L, -1) == LUA_MININTEGER ? "0x%llx" : "%lld",
                 lua_tointeger(w->L, -1));
    else if (isfinite(number))
        snprintf(digits, sizeof digits, "%.17e", number); /* so that it stays a float */
    else
        return vs_fail(w->err, VESTA_EOPTION, "has an option that is %s, which is not a number", VS_CONF_GIVEN(w));
    add(t, digits, strlen(digits));
    return VESTA_OK;
}

static int add_table(struct walk *w, struct text *t, int depth);

static int add_value(struct walk *w, struct text *t, int depth) {
    size_t length;
    const char *text;
    switch (lua_type(w->L, -1)) {
    case LUA_TBOOLEAN:
        text = lua_toboolean(w->L, -1) ? "true" : "false";
        add(t, text, strlen(text));
        return VESTA_OK;
    case LUA_TNUMBER: return add_number(w, t);
    case LUA_TSTRING:
        text = lua_tolstring(w->L, -1, &length);
        add_quoted(t, text, length);
        return VESTA_OK;
    case LUA_TTABLE: return add_table(w, t, depth + 1);
    default: return vs_fail(w->err, VESTA_EOPTION, "has an option that is %s, which is not data", VS_CONF_GIVEN(w));
    }
}

static int add_named(struct walk *w, struct text *t, const char *name, int depth) {
    add(t, "[", 1);
    add_quoted(t, name, strlen(name));
    add(t, "]=", 2);
    lua_getfield(w->L, -1, name);
    int rc = add_value(w, t, depth);
    lua_pop(w->L, 1);
    add(t, ",", 1);
    return rc;
}

/* The table on top: its list first, then its names in order, so that equal options are equal texts.  At depth 0 the
 * first place is the policy's name. */
static int add_table(struct walk *w, struct text *t, int depth) {
    size_t places = lua_rawlen(w->L, -1);
    int rc = vs_conf_check_names(w, OPTIONS_KEYS_MAX, places);
    if (depth > OPTIONS_DEPTH_MAX || places > OPTIONS_KEYS_MAX || !lua_checkstack(w->L, 8))
        return vs_fail(w->err, VESTA_EOPTION,
                       "has options that are too deep or too many: %d tables deep, %d entries each", OPTIONS_DEPTH_MAX,
                       OPTIONS_KEYS_MAX);
    if (rc == VESTA_OK && depth == 0 && places > 1)
        rc = vs_fail(w->err, VESTA_EOPTION, "has an option without a name, [2]; options are NAME = VALUE");
    add(t, "{", 1);
    for (size_t i = depth == 0 ? 2 : 1; rc == VESTA_OK && i <= places; i++) {
        lua_rawgeti(w->L, -1, (lua_Integer)i);
        rc = add_value(w, t, depth);
        lua_pop(w->L, 1);
        add(t, ",", 1);
    }
    for (const char *name = NULL; rc == VESTA_OK && (name = vs_conf_name_after(w->L, -1, name));)
        if (depth > 0 || strcmp(name, SHADOW) != 0) rc = add_named(w, t, name, depth);
    add(t, "}", 1);
    return rc;
}

/* A policy's file stands beside the config, wherever the program was started. */
static int put_policy(struct walk *w, const struct vs_conf_place *at, const char *name, size_t length,
                      const char *options) {
    char path[512];
    const char *config = w->reading->source.path, *slash = strrchr(config, '/');
    bool is_file = memchr(name, '/', length) || (length > 4 && memcmp(name + length - 4, ".lua", 4) == 0);
    if (!is_file || name[0] == '/' || !slash) return vs_conf_put_policy(at, name, length, options, w->err);
    int n = snprintf(path, sizeof path, "%.*s%.*s", (int)(slash + 1 - config), config, (int)length, name);
    if (n >= (int)sizeof path) n = (int)sizeof path - 1; /* too long for the key anyhow */
    return vs_conf_put_policy(at, path, (size_t)n, options, w->err);
}

/* Whether `shadow = true` stands in the policy's table, which is on top; it is then the shadow_policy's place. */
static int find_place(struct walk *w, const struct vs_conf_place *at, struct vs_conf_place *out) {
    *out = *at;
    int type = lua_getfield(w->L, -1, SHADOW);
    bool is_shadow = lua_toboolean(w->L, -1);
    lua_pop(w->L, 1);
    if (type != LUA_TNIL && type != LUA_TBOOLEAN)
        return vs_fail(w->err, VESTA_EOPTION, "has shadow, which must be true or false");
    if (!is_shadow) return VESTA_OK;
    out->key = vs_conf_key_of("namespaces.*.shadow_policy");
    *vs_conf_origin(out->key, at->base) = VS_FROM_FILE;
    return VESTA_OK;
}

static int read_policy(struct walk *w, const struct vs_conf_place *named) {
    struct vs_conf_place place = *named, *at = &place;
    if (((struct vs_conf_namespace *)named->base)->shadow.name) /* policy comes first in the schema */
        return vs_fail(w->err, VESTA_EOPTION, "is one too many: policy has shadow = true");
    char options[OPTIONS_BYTES_MAX + 1];
    struct text t = {options, 0};
    size_t length;
    const char *name;
    if (lua_type(w->L, -1) == LUA_TSTRING) {
        name = lua_tolstring(w->L, -1, &length);
        return put_policy(w, at, name, length, NULL);
    }
    if (lua_type(w->L, -1) != LUA_TTABLE) return wrong_type(w, at->key);
    if (lua_rawgeti(w->L, -1, 1) != LUA_TSTRING) {
        lua_pop(w->L, 1);
        return vs_fail(w->err, VESTA_EOPTION,
                       "does not begin with a policy's name: { \"borrow\", borrow_ms_max = 500 }");
    }
    name = lua_tolstring(w->L, -1, &length);
    lua_pop(w->L, 1); /* still in its table */
    int rc = find_place(w, named, &place);
    if (rc == VESTA_OK) rc = add_table(w, &t, 0);
    if (rc != VESTA_OK) return rc;
    if (t.used > OPTIONS_BYTES_MAX)
        return vs_fail(w->err, VESTA_EOPTION, "has options of %zu bytes, at most %d are allowed", t.used,
                       OPTIONS_BYTES_MAX);
    options[t.used] = '\0';
    return put_policy(w, at, name, length, t.used > 2 ? options : NULL);
}

/* ------------------------------------------------------------------ the other kinds */

static int read_text(struct walk *w, const struct vs_conf_place *at) {
    size_t length;
    if (lua_type(w->L, -1) != LUA_TSTRING) return wrong_type(w, at->key);
    const char *text = lua_tolstring(w->L, -1, &length);
    int rc = vs_conf_put_text(at, text, length, w->err);
    if (rc != VESTA_OK || at->key->kind != VS_CONF_SECRET) return rc;
    char path[VS_CONF_PATH_MAX];
    lua_getfield(w->L, LUA_REGISTRYINDEX, VS_CONF_OPEN_FILES);
    lua_pushvalue(w->L, -2);
    if (lua_rawget(w->L, -2) == LUA_TSTRING)
        vs_conf_add_note(at->config, "%s comes from %s: chmod o= on it",
                         vs_conf_path(at->key, at->base, path), VS_CONF_SHOWN(lua_tostring(w->L, -1)));
    lua_pop(w->L, 2);
    return VESTA_OK;
}

/* One of a few words, of which some are numbers: method = 2 is method = "2". */
static int read_word(struct walk *w, const struct vs_conf_place *at) {
    char text[24];
    int length = lua_isinteger(w->L, -1) ? snprintf(text, sizeof text, "%lld", lua_tointeger(w->L, -1)) : 0;
    if (length == 0 || vs_slice_place((struct vs_slice){text, (size_t)length}, at->key->words, '|') < 0)
        return read_text(w, at);
    return vs_conf_put_text(at, text, (size_t)length, w->err);
}

static int read_integer(struct walk *w, const struct vs_conf_place *at) {
    int exact;
    if (lua_type(w->L, -1) != LUA_TNUMBER) return wrong_type(w, at->key);
    lua_Integer value = lua_tointegerx(w->L, -1, &exact); /* 1e3 is 1000; 1.5, nan and 2^63 are nothing */
    return exact ? vs_conf_put_integer(at, value, w->err) : wrong_type(w, at->key);
}

static int read_list(struct walk *w, const struct vs_conf_place *at) {
    size_t count = 1, length;
    bool single = lua_type(w->L, -1) == LUA_TSTRING;
    if (!single && lua_type(w->L, -1) != LUA_TTABLE) return wrong_type(w, at->key);
    int rc = single ? VESTA_OK : vs_conf_check_list(w, at->key->max, &count);
    if (rc == VESTA_OK) rc = vs_conf_list_begin(at, w->err);
    for (size_t i = 1; rc == VESTA_OK && i <= count; i++) {
        if (single)
            lua_pushvalue(w->L, -1);
        else
            lua_rawgeti(w->L, -1, (lua_Integer)i);
        const char *text = lua_type(w->L, -1) == LUA_TSTRING ? lua_tolstring(w->L, -1, &length) : NULL;
        rc = text ? vs_conf_list_add(at, text, length, w->err)
                  : vs_fail(w->err, VESTA_EOPTION, "has %s at place %zu, which must be a text",
                            at->key->kind == VS_CONF_SECRETS ? "something" : VS_CONF_GIVEN(w), i);
        lua_pop(w->L, 1);
    }
    return rc;
}

/* { version = 1, method = 2 } -> "method=2 version=1" */
static int read_fields(struct walk *w, const struct vs_conf_place *at) {
    char text[VESTA_FIELDS_MAX * (VESTA_NAME_MAX + 24)];
    size_t used = 0;
    if (lua_type(w->L, -1) != LUA_TTABLE) return wrong_type(w, at->key);
    int rc = vs_conf_check_names(w, VESTA_FIELDS_MAX, 0);
    if (rc != VESTA_OK) return rc;
    for (const char *name = NULL; (name = vs_conf_name_after(w->L, -1, name));) {
        int exact;
        size_t length = strlen(name);
        lua_getfield(w->L, -1, name);
        lua_Integer value = lua_type(w->L, -1) == LUA_TNUMBER ? lua_tointegerx(w->L, -1, &exact) : (exact = 0);
        if (!exact || value < 0)
            rc = vs_fail(w->err, VESTA_EOPTION, "has '%s' = %s, which must be a whole number of 0 or more",
                         VS_QUOTE(name, length), VS_CONF_GIVEN(w));
        else if (length >= VESTA_NAME_MAX || strpbrk(name, "= \t\r\n"))
            rc = vs_fail(w->err, VESTA_EOPTION, "has '%s', which is not a field's name", VS_QUOTE(name, length));
        lua_pop(w->L, 1);
        if (rc != VESTA_OK) return rc;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s=%lld", used ? " " : "", name, value);
    }
    return used ? vs_conf_put_text(at, text, used, w->err)
                : vs_fail(w->err, VESTA_EOPTION, "is an empty table; leave the key out instead");
}

int vs_conf_read_value(struct walk *w, const struct vs_conf_key *key, void *base) {
    const struct vs_conf_place at = {w->reading->config, key, base};
    int rc = VESTA_EOPTION;
    *vs_conf_origin(key, base) = VS_FROM_FILE;
    switch (key->kind) {
    case VS_CONF_TEXT:
    case VS_CONF_SECRET:
    case VS_CONF_CHOICE: rc = read_text(w, &at); break;
    case VS_CONF_WORD: rc = read_word(w, &at); break;
    case VS_CONF_INTEGER: rc = read_integer(w, &at); break;
    case VS_CONF_SECRETS:
    case VS_CONF_LIST: rc = read_list(w, &at); break;
    case VS_CONF_POLICY: rc = read_policy(w, &at); break;
    case VS_CONF_FIELDS: rc = read_fields(w, &at); break;
    case VS_CONF_SWITCH:
        rc = lua_type(w->L, -1) == LUA_TBOOLEAN ? vs_conf_put_integer(&at, lua_toboolean(w->L, -1), w->err)
                                                : wrong_type(w, key);
        break;
    }
    return rc == VESTA_OK ? rc : vs_conf_blame(w->reading, key, base, w->err);
}
