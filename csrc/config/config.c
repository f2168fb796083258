/* config.c -- runs a config file and brings its sources together: flag > environment > file > default.
 * The file is Lua that returns data.  It sees env() and file() and no library, so there is nothing that could run long
 * but its own loops, and those have limits.  Knows Lua and the file system; what keys mean is the schema's. */
#include "base/array.h"
#include "base/error.h"
#include "config/schema.h"
#include "os/files.h"
#include "host/vm.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CONFIG_KEY "the config that is read"
#define HIDDEN_BYTES_MIN 4   /* of what file() read; less says nothing */
#define FILE_BYTES_MAX 65536 /* of what file() reads */

struct run {
    const struct vs_conf_reading *reading;
    struct vesta_error *err;
    bool is_compiled;
    int rc; /* of the walk */
};

/* ------------------------------------------------------------------ the file */

/* Its text is allocated in the config. */
static int read_config(struct vs_conf_reading *reading, struct vesta_error *err) {
    struct vs_conf_source *source = &reading->source;
    char *text = vs_conf_keep(reading->config, NULL, VS_SOURCE_BYTES_MAX + 1);
    size_t length;
    if (!text) return vs_fail(err, VESTA_ENOMEM, "no memory for the config");
    int rc =
        vs_source_read(&(struct vs_source){"the config", source->path}, text, VS_SOURCE_BYTES_MAX + 1, &length, err);
    if (rc != VESTA_OK) return rc;
    if (length > VS_SOURCE_BYTES_MAX)
        rc = vs_fail(err, VESTA_EOPTION, "is longer than %zu bytes", VS_SOURCE_BYTES_MAX);
    else if (text[0] == LUA_SIGNATURE[0])
        rc = vs_fail(err, VESTA_EOPTION, "is compiled Lua; a config is text");
    else if (strlen(text) != length)
        rc = vs_fail(err, VESTA_EOPTION, "has a NUL byte at byte %zu; a config is text in UTF-8", strlen(text) + 1);
    if (rc != VESTA_OK) return vs_conf_blame_line(source, 0, err);
    source->text = strncmp(text, "\xef\xbb\xbf", 3) == 0 ? text + 3 : text; /* some editors put a mark in front */
    source->size = strlen(source->text);
    return VESTA_OK;
}

/* ------------------------------------------------------------------ what the file may call */

/* env(name, default): a variable of the environment, of the default's kind. */
static int lua_env(lua_State *L) {
    size_t length;
    const char *name = luaL_checklstring(L, 1, &length), *value;
    if (length == 0 || strlen(name) != length || strchr(name, '='))
        return luaL_error(L, "env: '%s' is not a variable's name", VS_QUOTE(name, length));
    if ((value = getenv(name))) {
        int kind = lua_type(L, 2);
        if (kind == LUA_TNUMBER && lua_stringtonumber(L, value) == 0)
            return luaL_error(L, "env: %s is '%s', which must be a number, as its default is", VS_QUOTE(name, length),
                              VS_QUOTE(value, strlen(value)));
        if (kind == LUA_TBOOLEAN && strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
            return luaL_error(L, "env: %s is '%s', which must be true or false, as its default is",
                              VS_QUOTE(name, length), VS_QUOTE(value, strlen(value)));
        if (kind == LUA_TBOOLEAN)
            lua_pushboolean(L, *value == 't');
        else if (kind != LUA_TNUMBER)
            lua_pushstring(L, value);
        return 1;
    }
    if (lua_gettop(L) < 2)
        return luaL_error(L, "env: %s is not in the environment, and there is no default: env(\"%s\", DEFAULT)",
                          VS_QUOTE(name, length), VS_QUOTE(name, length));
    lua_pushvalue(L, 2);
    return 1;
}

/* Beside the config, wherever the program was started. */
static void resolve(lua_State *L, const char *path) {
    const char *config = lua_tostring(L, lua_upvalueindex(1)), *slash = strrchr(config, '/');
    if (path[0] == '/' || !slash)
        lua_pushstring(L, path);
    else
        lua_pushfstring(L, "%s/%s", lua_pushlstring(L, config, (size_t)(slash - config)), path);
}

/* Notes that others may access the file, in case its contents are a password. */
static void note_if_open(lua_State *L, const char *path) {
    struct stat st;
    const char *others = stat(path, &st) == 0 ? vs_open_to_others(&st) : NULL;
    if (!others) return;
    lua_getfield(L, LUA_REGISTRYINDEX, VS_CONF_OPEN_FILES);
    lua_pushvalue(L, -2);
    lua_pushfstring(L, "%s, which others may %s", path, others);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

/* Keeps in mind how it begins: see hide_reads. */
static void note_read(lua_State *L, const char *bytes, size_t length) {
    lua_getfield(L, LUA_REGISTRYINDEX, CONFIG_KEY);
    struct vs_config *config = lua_touserdata(L, -1);
    lua_pop(L, 1);
    if (config->read_count == VS_CONF_READS_MAX) luaL_error(L, "more than %d files are read", VS_CONF_READS_MAX);
    snprintf(config->read[config->read_count++], VS_CONF_READ_BYTES, "%s",
             VS_QUOTE(bytes, strnlen(bytes, length < 30 ? length : 30)));
}

/* file(path): what a file holds, without its last newline. */
static int lua_file(lua_State *L) {
    char bytes[FILE_BYTES_MAX + 1];
    struct vesta_error why;
    size_t length;
    const char *name = luaL_checklstring(L, 1, &length);
    if (length == 0 || strlen(name) != length) return luaL_error(L, "file: '%s' is not a path", VS_QUOTE(name, length));
    resolve(L, name);
    const char *path = lua_tostring(L, -1);
    if (vs_source_read(&(struct vs_source){"the file", path}, bytes, sizeof bytes, &length, &why) != VESTA_OK)
        return luaL_error(L, "%s", why.text);
    if (length > FILE_BYTES_MAX)
        return luaL_error(L, "the file %s is longer than %d bytes", VS_CONF_SHOWN(path), FILE_BYTES_MAX);
    if (length > 0 && bytes[length - 1] == '\n') length--;
    if (length > 0 && bytes[length - 1] == '\r') length--;
    note_read(L, bytes, length);
    lua_pushlstring(L, bytes, length);
    note_if_open(L, path);
    return 1;
}

static int no_global(lua_State *L) {
    size_t length;
    const char *name = luaL_tolstring(L, 2, &length), *way = "";
    if (strcmp(name, "os") == 0) way = "; for os.getenv(\"X\") write env(\"X\")";
    if (strcmp(name, "io") == 0) way = "; to read a file write file(path)";
    return luaL_error(L, "'%s' is not known here%s: a config sees env(name, default) and file(path), nothing else",
                      VS_QUOTE(name, length), way);
}

static int no_assignment(lua_State *L) {
    size_t length;
    const char *name = luaL_tolstring(L, 2, &length);
    return luaL_error(L, "'%s' would become a global: write return { %s = ... }, or local %s = ...",
                      VS_QUOTE(name, length), VS_QUOTE(name, length), VS_QUOTE(name, length));
}

/* ------------------------------------------------------------------ running */

/* The table that is the file's world. */
static void push_environment(lua_State *L, const char *path) {
    lua_newtable(L);
    lua_pushcfunction(L, lua_env);
    lua_setfield(L, -2, "env");
    lua_pushstring(L, path);
    lua_pushcclosure(L, lua_file, 1);
    lua_setfield(L, -2, "file");
    lua_newtable(L);
    lua_pushcfunction(L, no_global);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, no_assignment);
    lua_setfield(L, -2, "__newindex");
    lua_setmetatable(L, -2);
}

static int run_file(lua_State *L) {
    struct run *run = lua_touserdata(L, 1);
    const struct vs_conf_source *source = &run->reading->source;
    lua_settop(L, 0);
    lua_newtable(L);
    lua_setfield(L, LUA_REGISTRYINDEX, VS_CONF_OPEN_FILES);
    lua_pushlightuserdata(L, run->reading->config);
    lua_setfield(L, LUA_REGISTRYINDEX, CONFIG_KEY);
    push_environment(L, source->path);
    vs_lua_compile(L, source->text, source->size, "="); /* no name, so that a message begins with ":LINE:" */
    run->is_compiled = true;
    lua_call(L, 0, LUA_MULTRET);
    int count = lua_gettop(L);
    if (count == 1) {
        run->rc = vs_conf_walk(L, run->reading, run->err);
        return 0;
    }
    if (count == 0)
        vs_fail(run->err, VESTA_EOPTION, "returns nothing; a config ends with return { ... }");
    else
        vs_fail(run->err, VESTA_EOPTION, "returns %d values, which must be one table", count);
    run->rc = vs_conf_blame_line(source, 0, run->err);
    return 0;
}

/* A run that failed: the line that its message begins with is told as for any other mistake. */
static int blame_run(const struct run *run, enum vs_call_result result, const struct vesta_error *why) {
    const struct vs_conf_source *source = &run->reading->source;
    const char *text = why->text, *hint = NULL;
    int line = text[0] == ':' ? atoi(text + 1) : 0;
    if (line > 0) text = strchr(text + 1, ':') + 1;
    text += strspn(text, " ");
    if (result == VS_CALL_TIME || result == VS_CALL_INSTRUCTIONS) text = "this runs for too long; a config is data";
    if (result == VS_CALL_MEMORY && why->code != VESTA_ENOMEM) text = "this needs too much memory; a config is data";
    if (!run->is_compiled) hint = vs_conf_hint(source->text, line);
    vs_fail(run->err, why->code, "%.300s%s%s", text, hint ? "; " : "", hint ? hint : "");
    return vs_conf_blame_line(source, line, run->err);
}

static int run_config(const struct vs_conf_reading *reading, struct vesta_error *err) {
    struct run run = {.reading = reading, .err = err};
    struct vesta_error why;
    struct vs_lua *lua;
    int rc = vs_lua_open(&(struct vs_vm_limits){.call_ms = VS_CONF_RUN_MS_MAX}, &lua, err);
    if (rc != VESTA_OK) return rc;
    enum vs_call_result result = vs_lua_run(lua, run_file, &run, &why);
    vs_lua_close(lua);
    return result == VS_CALL_OK ? run.rc : blame_run(&run, result, &why);
}

/* ------------------------------------------------------------------ the other sources */

static int put_from(const struct vs_conf_reading *reading, const struct vs_conf_place *at, enum vs_origin origin,
                    const char *text, struct vesta_error *err) {
    *vs_conf_origin(at->key, at->base) = (unsigned char)origin;
    int rc = vs_conf_put_written(at, text, err);
    return rc == VESTA_OK ? rc : vs_conf_blame(reading, at->key, at->base, err);
}

static int read_environment(const struct vs_conf_reading *reading, struct vesta_error *err) {
    int rc = VESTA_OK;
    for (int i = 0; rc == VESTA_OK && i < vs_conf_key_count; i++) {
        const char *value = vs_conf_keys[i].variable ? getenv(vs_conf_keys[i].variable) : NULL;
        const struct vs_conf_place at = {reading->config, &vs_conf_keys[i], reading->config};
        if (value && *value) rc = put_from(reading, &at, VS_FROM_ENV, value, err);
    }
    return rc;
}

static int read_flags(const struct vs_conf_reading *reading, struct vesta_error *err) {
    int rc = VESTA_OK;
    for (int f = 0; rc == VESTA_OK && f < reading->opts->flag_count; f++) {
        const struct vs_conf_flag *flag = &reading->opts->flag[f];
        int i = 0;
        while (i < vs_conf_key_count && strcmp(vs_conf_keys[i].path, flag->key) != 0)
            i++;
        assert(i < vs_conf_key_count); /* flags are ours to name */
        void *base = vs_conf_part_of(flag->key) ? (void *)&reading->config->ns[0] : reading->config;
        const struct vs_conf_place at = {reading->config, &vs_conf_keys[i], base};
        rc = put_from(reading, &at, VS_FROM_FLAG, flag->text, err);
    }
    return rc;
}

/* ------------------------------------------------------------------ reading */

#define GIVEN_ROW(type, member, ...) {"namespaces.*." #member, ns->opts.member},

/* What the caller's own options say of the namespace was said by flags. */
static void mark_given(struct vs_conf_namespace *ns) {
    const struct {
        const char *path;
        bool given;
    } rows[] = {VESTA_NAMESPACE_OPTIONS(GIVEN_ROW){"namespaces.*.worker", ns->opts.has_worker}};
    for (size_t i = 0; i < VS_COUNT(rows); i++)
        for (int k = 0; rows[i].given && k < vs_conf_key_count; k++)
            if (strcmp(vs_conf_keys[k].path, rows[i].path) == 0) *vs_conf_origin(&vs_conf_keys[k], ns) = VS_FROM_FLAG;
}

/* Who names no namespace means the one that every program has. */
static int need_namespace(const struct vs_conf_reading *reading, struct vesta_error *err) {
    const struct vs_config *config = reading->config;
    const struct vesta_opts *opts = reading->opts->opts;
    const char *name = opts && opts->namespace_ ? opts->namespace_ : "default";
    void *entry;
    if (config->ns_count || config->segment_count) return VESTA_OK;
    int rc = vs_conf_part_add(reading->config, vs_conf_part_of("namespaces.*."), name, &entry, err);
    if (rc != VESTA_OK || !opts) return rc;
    struct vs_conf_namespace *ns = entry;
    ns->opts = *opts;
    ns->store = opts->store;
    mark_given(ns);
    return VESTA_OK;
}

static int read_sources(struct vs_conf_reading *reading, struct vesta_error *err) {
    struct vs_config *config = reading->config;
    int rc = vs_conf_defaults(config, "", config, err);
    if (rc == VESTA_OK && reading->source.path) rc = read_config(reading, err);
    if (rc == VESTA_OK && reading->source.path) rc = run_config(reading, err);
    if (rc == VESTA_OK) rc = need_namespace(reading, err);
    if (rc == VESTA_OK) rc = read_environment(reading, err);
    if (rc == VESTA_OK) rc = read_flags(reading, err);
    return rc == VESTA_OK ? vs_conf_whole(reading, err) : rc;
}

/* The start of `read` that stands at `at`. */
static size_t same_start(const char *at, const char *read) {
    size_t length = 0;
    while (read[length] && at[length] == read[length])
        length++;
    return length;
}

/* A message shows the value that is wrong; what file() read may be a password in the wrong place, and goes into no log.
 */
static void hide_reads(const struct vs_config *config, struct vesta_error *err) {
    static const char hidden[] = "(what file() read)";
    for (int i = 0; i < config->read_count; i++)
        for (char *at = err->text; *at; at++) {
            size_t shown = same_start(at, config->read[i]);
            char rest[sizeof err->text];
            if (shown < HIDDEN_BYTES_MIN) continue;
            while (at[shown] && at[shown] != '\'') /* to the end of the quotation */
                shown++;
            snprintf(rest, sizeof rest, "%s", at + shown);
            snprintf(at, sizeof err->text - (size_t)(at - err->text), "%s%s", hidden, rest);
            at += strnlen(at, sizeof hidden - 2);
            if (!*at) break;
        }
}

int vs_config_read(const struct vs_conf_opts *opts, struct vs_config **config, struct vesta_error *err) {
    struct vesta_error why;
    struct vs_conf_reading reading = {.opts = opts, .source = {.path = opts->path, .text = ""}};
    reading.config = calloc(1, sizeof *reading.config);
    int rc = reading.config ? read_sources(&reading, &why) : vs_fail(&why, VESTA_ENOMEM, "no memory for the config");
    if (rc == VESTA_OK && opts->path &&
        !(reading.config->name = vs_conf_keep(reading.config, opts->path, strlen(opts->path))))
        rc = vs_fail(&why, VESTA_ENOMEM, "no memory for the config");
    if (rc == VESTA_OK) {
        *config = reading.config;
        return VESTA_OK;
    }
    if (reading.config) hide_reads(reading.config, &why);
    vs_config_free(reading.config);
    return vs_fail(err, rc, "%s", why.text);
}
