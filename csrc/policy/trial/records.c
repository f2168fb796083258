/* records.c -- workers' records out of Lua data, for who tries a policy out.  Knows no store. */
#include "policy/trial/rows.h"

#include "base/error.h"
#include "base/nearest.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ rows */

struct row {
    lua_State *L;
    size_t number;
    int at; /* the row's table */
};

static int wrong(const struct row *row, const char *key, const char *expected) {
    return luaL_error(row->L, "row %d: %s must be %s, not a %s", (int)row->number, key, expected,
                      luaL_typename(row->L, -1));
}

static int64_t integer_of(const struct row *row, const char *key, int64_t min) {
    int whole = 1;
    lua_Integer value = 0;
    if (lua_getfield(row->L, row->at, key) != LUA_TNIL) value = lua_tointegerx(row->L, -1, &whole);
    if (!whole || value < min) wrong(row, key, min < 0 ? "a whole number" : "a whole number of 0 or more");
    lua_pop(row->L, 1);
    return value;
}

static bool flag_of(const struct row *row, const char *key) {
    int type = lua_getfield(row->L, row->at, key);
    if (type != LUA_TNIL && type != LUA_TBOOLEAN) wrong(row, key, "true or false");
    bool set = lua_toboolean(row->L, -1);
    lua_pop(row->L, 1);
    return set;
}

static const char *text_of(const struct row *row, const char *key) {
    int type = lua_getfield(row->L, row->at, key);
    if (type != LUA_TNIL && type != LUA_TSTRING) wrong(row, key, "a text");
    const char *text = lua_tostring(row->L, -1);
    lua_pop(row->L, 1);
    return text;
}

static void check_keys(const struct row *row) {
#define NAME(kind, member) #member,
    static const char *const names[] = {VS_RECORD_ROWS(NAME) NULL};
    lua_State *L = row->L;
    for (lua_pushnil(L); lua_next(L, row->at); lua_pop(L, 1)) {
        size_t length = 0, i = 0;
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tolstring(L, -2, &length) : "";
        while (names[i] && strcmp(names[i], key) != 0)
            i++;
        if (names[i]) continue;
        const char *near = vs_nearest(key, names);
        luaL_error(L, "row %d: a record has no '%s'%s%s%s", (int)row->number, VS_QUOTE(key, length),
                   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
}

#define READ_NUMBER(key) (uint64_t) integer_of(&row, key, 0)
#define READ_MOMENT(key) integer_of(&row, key, INT64_MIN)
#define READ_TEXT(key) text_of(&row, key)
#define READ_FLAG(key) flag_of(&row, key)
#define READ(kind, member) .member = READ_##kind(#member),

void vs_rows_read(lua_State *L, struct vs_records *out) {
    int list = lua_gettop(L);
    if (!lua_istable(L, list)) luaL_error(L, "a list of records is expected, not a %s", luaL_typename(L, list));
    out->count = (size_t)lua_rawlen(L, list);
    if (out->count > VS_RECORDS_MAX) luaL_error(L, "more than %d records", VS_RECORDS_MAX);
    out->record = lua_newuserdatauv(L, (out->count + 1) * sizeof *out->record, 0);
    out->peer = lua_newuserdatauv(L, (out->count + 1) * sizeof *out->peer, 0);
    for (size_t i = 0; i < out->count; i++) {
        struct row row = {L, i + 1, list + 3};
        if (lua_rawgeti(L, list, (lua_Integer)i + 1) != LUA_TTABLE)
            luaL_error(L, "row %d: a table is expected, not a %s", (int)i + 1, luaL_typename(L, -1));
        check_keys(&row);
        const struct vs_ctx_record record = {VS_RECORD_ROWS(READ)};
        out->record[i] = record;
        out->peer[i] = (struct vs_ctx_peer){record.worker, record.seen_ms};
        lua_pop(L, 1);
    }
}

/* ------------------------------------------------------------------ a file of them */

struct reading {
    const char *chunk, *text;
    size_t length;
    struct vs_records *out;
};

static int read_body(lua_State *L) {
    const struct reading *reading = lua_touserdata(L, 1);
    lua_newtable(L);
    vs_sandbox_seal(L, "", "records");
    vs_lua_compile(L, reading->text, reading->length, reading->chunk);
    lua_call(L, 0, 1);
    vs_rows_read(L, reading->out);
    for (int i = 0; i < 3; i++)
        luaL_ref(L, LUA_REGISTRYINDEX); /* the stack does not outlive the run, the registry does */
    return 0;
}

static int read_rows(const struct reading *reading, struct vesta_error *err) {
    struct vs_records *out = reading->out;
    int rc = vs_lua_open(NULL, &out->lua, err);
    if (rc != VESTA_OK) return rc;
    struct vesta_error why = {0};
    if (vs_lua_run(out->lua, read_body, (void *)reading, &why) == VS_CALL_OK) return VESTA_OK;
    vs_records_free(out);
    return vs_fail(err, why.code, "%s: %s", reading->chunk + 1, why.text);
}

int vs_records_read(const char *path, struct vs_records *out, struct vesta_error *err) {
    char chunk[PATH_MAX + 1];
    *out = (struct vs_records){0};
    if (snprintf(chunk, sizeof chunk, "@%s", path) >= (int)sizeof chunk)
        return vs_fail(err, VESTA_EIO, "the records' path is too long: %.200s...", path);
    char *text = malloc(VS_SOURCE_BYTES_MAX + 1);
    if (!text) return vs_fail(err, VESTA_ENOMEM, "no memory");
    struct reading reading = {chunk, text, 0, out};
    int rc =
        vs_source_read(&(struct vs_source){"the records", path}, text, VS_SOURCE_BYTES_MAX + 1, &reading.length, err);
    if (rc == VESTA_OK) rc = read_rows(&reading, err);
    free(text);
    return rc;
}

void vs_records_free(struct vs_records *records) {
    vs_lua_close(records->lua);
    *records = (struct vs_records){0};
}
