/* config.c -- reads the config: runs the file under limits, then runs lua/config on its result, in one Lua state.  Owns
 * the config's memory.  Does not depend on any key. */
#include "config/inside.h"
#include "access/accounts.h"
#include "base/error.h"
#include "os/host.h"

#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Time limit for running the file.  It is generous, so that a valid config is not rejected on a busy machine. */
#define RUN_MS_MAX 5000
#define LAYER_BYTES_MAX ((size_t)128 * 1024 * 1024)  /* memory limit of lua/config and the file's result */
#define HIDDEN_BYTES_MIN 4 /* shorter texts from file() reveal nothing, so messages may show them */
#define PATH_TAIL_MAX 120                            /* if a path is longer, messages show only its end */

#define GIVEN "what the file returned"
#define COUNT "how many values it returned"
#define LOADED "modules that are loaded"

/* ------------------------------------------------------------------ memory */

struct vs_conf_text {
    struct vs_conf_text *next;
    max_align_t bytes[];
};

void *conf_keep(struct vs_config *config, const void *bytes, size_t length) {
    struct vs_conf_text *kept = calloc(1, sizeof *kept + length + 1);
    if (!kept) return NULL;
    if (bytes) memcpy(kept->bytes, bytes, length);
    kept->next = config->texts;
    config->texts = kept;
    return kept->bytes;
}

void vs_config_free(struct vs_config *config) {
    if (!config) return;
    for (struct vs_conf_text *text = config->texts, *next; text; text = next) {
        next = text->next;
        free(text);
    }
    for (int i = 0; i < config->ns_count; i++)
        vs_policy_text_free(&config->ns[i].policy.text), vs_policy_text_free(&config->ns[i].shadow.text);
    vs_accounts_let(config->clients);
    free(config->ns);
    free(config->store);
    free(config->segment);
    free(config);
}

/* ------------------------------------------------------------------ errors */

static const char conf_reading_key; /* its address is the registry key of struct conf_reading */

struct conf_reading *conf_reading_of(lua_State *L) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &conf_reading_key);
    struct conf_reading *reading = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return reading;
}

int conf_raise(lua_State *L, int code) {
    struct conf_reading *reading = conf_reading_of(L);
    if (code == VESTA_ENOMEM) vs_fail(reading->err, code, "no memory for the config");
    reading->rc = code;
    lua_pushnil(L);
    return lua_error(L);
}

const char *vs_conf_shown(const char *path, char *buf) {
    size_t length = strlen(path), from = length > PATH_TAIL_MAX ? length - PATH_TAIL_MAX : 0;
    strcpy(buf, from ? "..." : "");
    vs_calm(buf + strlen(buf), VS_CONF_SHOWN_MAX - strlen(buf), path + from, length - from);
    return buf;
}

/* Prefixes the error text with the file and the line: "/etc/vesta/vesta.lua:7: ". */
static int conf_blame_line(const struct conf_reading *reading, int line) {
    char number[16] = "", text[sizeof reading->err->text];
    snprintf(text, sizeof text, "%s", reading->err->text);
    if (line > 0) snprintf(number, sizeof number, "%d:", line);
    return vs_fail(reading->err, reading->err->code, "%s:%s %s", VS_CONF_SHOWN(reading->opts->path), number, text);
}

static size_t conf_same_start(const char *at, const char *read) {
    size_t length = 0;
    while (read[length] && at[length] == read[length])
        length++;
    return length;
}

/* Removes texts that file() read from an error text.  Error texts quote invalid values, and such a value may be a
 * password that was assigned to the wrong key. */
static void conf_hide_reads(const struct conf_reading *reading, struct vesta_error *err) {
    static const char hidden[] = "(what file() read)";
    for (int i = 0; i < reading->read_count; i++)
        for (char *at = err->text; *at; at++) {
            size_t shown = conf_same_start(at, reading->read[i]);
            char rest[sizeof err->text];
            if (shown < HIDDEN_BYTES_MIN) continue;
            while (at[shown] && at[shown] != '\'') /* hide everything up to the closing quote */
                shown++;
            snprintf(rest, sizeof rest, "%s", at + shown);
            snprintf(at, sizeof err->text - (size_t)(at - err->text), "%s%s", hidden, rest);
            at += strnlen(at, sizeof hidden - 2);
            if (!*at) break;
        }
}

/* ------------------------------------------------------------------ the file */

/* Reads the config file into `reading`.  The config owns the text. */
static int conf_read_file(struct conf_reading *reading) {
    char *text = conf_keep(reading->config, NULL, VS_SOURCE_BYTES_MAX + 1);
    struct vesta_error *err = reading->err;
    size_t length;
    if (!text) return vs_fail(err, VESTA_ENOMEM, "no memory for the config");
    int rc = vs_source_read(&(struct vs_source){"the config", reading->opts->path}, text, VS_SOURCE_BYTES_MAX + 1,
                            &length, err);
    if (rc != VESTA_OK) return rc;
    text[length < VS_SOURCE_BYTES_MAX ? length : VS_SOURCE_BYTES_MAX] = '\0';
    if (length > VS_SOURCE_BYTES_MAX)
        rc = vs_fail(err, VESTA_EOPTION, "is longer than %zu bytes", VS_SOURCE_BYTES_MAX);
    else if (text[0] == LUA_SIGNATURE[0])
        rc = vs_fail(err, VESTA_EOPTION, "is compiled Lua, but a config must be text");
    else if (strlen(text) != length)
        rc = vs_fail(err, VESTA_EOPTION, "has a NUL byte at byte %zu, but a config must be text in UTF-8",
                     strlen(text) + 1);
    if (rc != VESTA_OK) return conf_blame_line(reading, 0);
    reading->text = text;
    reading->length = length;
    return VESTA_OK;
}

static int conf_run_file(lua_State *L) {
    struct conf_reading *reading = lua_touserdata(L, 1);
    lua_settop(L, 0);
    lua_pushlightuserdata(L, reading);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &conf_reading_key);
    lua_newtable(L);
    lua_setfield(L, LUA_REGISTRYINDEX, CONF_OPEN_FILES);
    conf_push_world(L, reading->opts->path);
    lua_pushvalue(L, 1);
    vs_lua_compile(L, reading->text, reading->length, "="); /* without a chunk name, messages begin with ":LINE:" */
    reading->is_compiled = true;
    lua_call(L, 0, LUA_MULTRET);
    lua_pushnil(L);
    lua_setmetatable(L, 1); /* the file may return _ENV, which lua/config then reads as data */
    lua_remove(L, 1);
    lua_pushinteger(L, lua_gettop(L));
    lua_setfield(L, LUA_REGISTRYINDEX, COUNT);
    lua_settop(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, GIVEN);
    return 0;
}

/* ------------------------------------------------------------------ lua/config */

/* Implements require(module), which finds only modules of lua/config and the two modules in C. */
static int conf_require(lua_State *L) {
    const char *module = luaL_checkstring(L, 1);
    char chunk[64];
    if (lua_getfield(L, lua_upvalueindex(1), module) != LUA_TNIL) return 1;
    const struct vs_shipped *file =
        strncmp(module, "config.", 7) == 0 ? vs_shipped_in(vs_conf_files, module + 7) : NULL;
    if (!file) return luaL_error(L, "there is no module %s", module);
    snprintf(chunk, sizeof chunk, "=lua/config/%s.lua", file->name);
    if (luaL_loadbufferx(L, file->text, file->length, chunk, "t") != LUA_OK) return lua_error(L);
    lua_call(L, 0, 1);
    lua_pushvalue(L, -1);
    lua_setfield(L, lua_upvalueindex(1), module);
    return 1;
}

/* Makes lua/config available.  From now on the state runs no code of the config file. */
static void conf_open_layer(lua_State *L, struct conf_reading *reading) {
    static const luaL_Reg libraries[] = {{LUA_GNAME, luaopen_base},
                                         {LUA_STRLIBNAME, luaopen_string},
                                         {LUA_TABLIBNAME, luaopen_table},
                                         {LUA_MATHLIBNAME, luaopen_math},
                                         {NULL, NULL}};
    lua_pushlightuserdata(L, reading);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &conf_reading_key);
    for (const luaL_Reg *library = libraries; library->name; library++) {
        luaL_requiref(L, library->name, library->func, 1);
        lua_pop(L, 1);
    }
    lua_newtable(L);
    conf_open_ask(L);
    lua_setfield(L, -2, "config.ask");
    vs_conf_open_options(L);
    lua_setfield(L, -2, "config.options");
    lua_pushcclosure(L, conf_require, 1);
    lua_setglobal(L, "require");
}

/* Pushes a module, or one of its functions. */
static void conf_push_module(lua_State *L, const char *module, const char *function) {
    lua_getglobal(L, "require");
    lua_pushstring(L, module);
    lua_call(L, 1, 1);
    if (function) lua_getfield(L, -1, function);
}

/* Reports that lua/config failed without a call of ask.fail, for example because of a defect or a lack of memory. */
static int conf_blame_layer(enum vs_call_result result, const struct vesta_error *why, struct vesta_error *err) {
    if (why->code == VESTA_ENOMEM) return vs_fail(err, VESTA_ENOMEM, "no memory for the config");
    if (result == VS_CALL_MEMORY) return vs_fail(err, VESTA_EOPTION, "the config needs more than %zu MiB of memory", LAYER_BYTES_MAX >> 20);
    return vs_fail(err, VESTA_EIO, "internal error in %.300s.  This is a defect in vesta: please report it", why->text);
}

/* ------------------------------------------------------------------ reading */

static void conf_set_text(lua_State *L, const char *key, const char *text) {
    lua_pushstring(L, text);
    lua_setfield(L, -2, key);
}

static void conf_push_file(lua_State *L, const struct conf_reading *reading) {
    const char *path = reading->opts->path, *slash = path ? strrchr(path, '/') : NULL;
    lua_pushlstring(L, reading->text, reading->length);
    lua_setfield(L, -2, "text");
    lua_getfield(L, LUA_REGISTRYINDEX, CONF_OPEN_FILES);
    lua_setfield(L, -2, "open_files");
    if (!path) return;
    conf_set_text(L, "path", path);
    conf_set_text(L, "shown", VS_CONF_SHOWN(path));
    if (slash) {
        lua_pushlstring(L, path, (size_t)(slash + 1 - path));
        lua_setfield(L, -2, "folder");
    }
    lua_getfield(L, LUA_REGISTRYINDEX, GIVEN);
    lua_setfield(L, -2, "given");
    lua_getfield(L, LUA_REGISTRYINDEX, COUNT);
    lua_setfield(L, -2, "count");
}

static void conf_push_flags(lua_State *L, const struct vs_conf_opts *opts) {
    lua_createtable(L, opts->flag_count, 0);
    for (int i = 0; i < opts->flag_count; i++) {
        const char *words[] = {opts->flag[i].flag, opts->flag[i].key, opts->flag[i].text};
        lua_createtable(L, 3, 0);
        for (int k = 0; k < 3; k++) {
            lua_pushstring(L, words[k]);
            lua_rawseti(L, -2, k + 1);
        }
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "flags");
}

/* Pushes the table that lua/config/read.lua expects. */
static void conf_push_reading(lua_State *L, const struct conf_reading *reading) {
    const struct vs_conf_opts *opts = reading->opts;
    lua_newtable(L);
    conf_push_file(L, reading);
    conf_push_flags(L, opts);
    conf_set_text(L, "store_variable", opts->store_variable);
    lua_pushboolean(L, vs_environment("LISTEN_FDS") != NULL);
    lua_setfield(L, -2, "is_handed");
    if (!opts->opts) return;
    conf_set_text(L, "namespace", opts->opts->namespace_);
    conf_push_opts(L, opts->opts);
    lua_setfield(L, -2, "options");
}

static int conf_run_layer(lua_State *L) {
    struct conf_reading *reading = lua_touserdata(L, 1);
    struct vs_config *config = reading->config;
    lua_gc(L, LUA_GCSTOP); /* little memory becomes garbage, and when the memory limit is reached Lua collects anyway */
    conf_open_layer(L, reading);
    conf_push_module(L, "config.read", NULL);
    conf_push_reading(L, reading);
    lua_call(L, 1, 1);
    conf_fill(L, config);
    lua_getfield(L, -1, "has_given");
    if (lua_toboolean(L, -1)) config->ns[0].opts = *reading->opts->opts;
    if (reading->opts->path && !(config->name = conf_keep(config, reading->opts->path, strlen(reading->opts->path))))
        conf_raise(L, VESTA_ENOMEM);
    return 0;
}

/* Reports that running the file failed.  A line number at the start of Lua's message is shown as in other errors. */
static int conf_blame_run(struct vs_lua *lua, const struct conf_reading *reading, enum vs_call_result result,
                          const struct vesta_error *why);

static int conf_run(struct vs_lua *lua, struct conf_reading *reading) {
    struct vesta_error why;
    enum vs_call_result result = VS_CALL_OK;
    if (reading->opts->path) result = vs_lua_run(lua, conf_run_file, reading, &why);
    if (result != VS_CALL_OK) return conf_blame_run(lua, reading, result, &why);
    vs_lua_trust(lua, LAYER_BYTES_MAX);
    result = vs_lua_run(lua, conf_run_layer, reading, &why);
    if (result == VS_CALL_OK || reading->rc != VESTA_OK) return reading->rc;
    return conf_blame_layer(result, &why, reading->err);
}

static int conf_read(struct conf_reading *reading) {
    struct vs_lua *lua;
    int rc = reading->opts->path ? conf_read_file(reading) : VESTA_OK;
    if (rc == VESTA_OK) rc = vs_lua_open(&(struct vs_vm_limits){.call_ms = RUN_MS_MAX}, &lua, reading->err);
    if (rc != VESTA_OK) return rc;
    rc = conf_run(lua, reading);
    vs_lua_close(lua);
    return rc;
}

int vs_config_read(const struct vs_conf_opts *opts, struct vs_config **config, struct vesta_error *err) {
    struct vesta_error why;
    struct conf_reading reading = {.opts = opts, .text = "", .err = &why};
    reading.config = calloc(1, sizeof *reading.config);
    int rc = reading.config ? conf_read(&reading) : vs_fail(&why, VESTA_ENOMEM, "no memory for the config");
    if (rc == VESTA_OK) {
        *config = reading.config;
        return VESTA_OK;
    }
    conf_hide_reads(&reading, &why);
    vs_config_free(reading.config);
    return vs_fail(err, rc, "%s", why.text);
}

/* ------------------------------------------------------------------ files that are not Lua */

struct conf_hint {
    struct conf_reading *reading;
    int line;
    char text[200];
};

static int conf_find_hint(lua_State *L) {
    struct conf_hint *hint = lua_touserdata(L, 1);
    conf_open_layer(L, hint->reading);
    conf_push_module(L, "config.source", "hint");
    lua_pushlstring(L, hint->reading->text, hint->reading->length);
    lua_pushinteger(L, hint->line);
    lua_call(L, 2, 1);
    snprintf(hint->text, sizeof hint->text, "%s", luaL_optstring(L, -1, ""));
    return 0;
}

static int conf_blame_run(struct vs_lua *lua, const struct conf_reading *reading, enum vs_call_result result,
                          const struct vesta_error *why) {
    const char *text = why->text;
    int line = text[0] == ':' ? atoi(text + 1) : 0;
    struct conf_hint hint = {.reading = (struct conf_reading *)reading, .line = line};
    if (line > 0) text = strchr(text + 1, ':') + 1;
    text += strspn(text, " ");
    if (result == VS_CALL_TIME || result == VS_CALL_INSTRUCTIONS)
        text = "this runs too long: a config should only return data";
    if (result == VS_CALL_MEMORY && why->code != VESTA_ENOMEM)
        text = "this needs too much memory: a config should only return data";
    if (!reading->is_compiled && why->code != VESTA_ENOMEM) {
        vs_lua_trust(lua, LAYER_BYTES_MAX);
        vs_lua_run(lua, conf_find_hint, &hint, NULL);
    }
    vs_fail(reading->err, why->code, "%.300s%s%s", text, *hint.text ? "; " : "", hint.text);
    return conf_blame_line(reading, line);
}

/* ------------------------------------------------------------------ effective values */

struct conf_effective {
    const struct vs_config *config, *other;
    vs_conf_visit *visit;
    void *self;
    char *buf;
    size_t size;
    int count;
};

static int conf_run_alone(lua_CFunction body, void *arg) {
    struct vs_lua *lua;
    int rc = vs_lua_open(&(struct vs_vm_limits){.call_ms = RUN_MS_MAX}, &lua, NULL);
    if (rc != VESTA_OK) return rc;
    vs_lua_trust(lua, LAYER_BYTES_MAX);
    enum vs_call_result result = vs_lua_run(lua, body, arg, NULL);
    vs_lua_close(lua);
    return result == VS_CALL_OK ? VESTA_OK : VESTA_ENOMEM;
}

static enum vs_origin conf_origin_of(const char *name) {
    return *name == 'd' ? VS_FROM_DEFAULT : name[1] == 'i' ? VS_FROM_FILE : *name == 'e' ? VS_FROM_ENV : VS_FROM_FLAG;
}

/* visit(path, text, absent, list, origin, variable, by, is_secret, is_bare): see lua/config/effective.lua. */
static int conf_visit(lua_State *L) {
    const struct conf_effective *each = lua_touserdata(L, lua_upvalueindex(1));
    const char *text[VS_CONF_HOSTS_MAX];
    struct vs_conf_list list = {0, text};
    bool is_list = lua_istable(L, 4);
    while (is_list && list.count < VS_CONF_HOSTS_MAX && lua_rawgeti(L, 4, list.count + 1) == LUA_TSTRING)
        text[list.count++] = lua_tostring(L, -1); /* the list keeps the string alive */
    each->visit(each->self, &(struct vs_conf_value){.path = luaL_checkstring(L, 1),
                                                    .text = lua_tostring(L, 2),
                                                    .absent = lua_tostring(L, 3),
                                                    .list = is_list ? &list : NULL,
                                                    .origin = conf_origin_of(luaL_checkstring(L, 5)),
                                                    .variable = lua_tostring(L, 6),
                                                    .by = lua_tostring(L, 7),
                                                    .is_secret = lua_toboolean(L, 8),
                                                    .is_bare = lua_toboolean(L, 9)});
    return 0;
}

static int conf_run_each(lua_State *L) {
    struct conf_effective *each = lua_touserdata(L, 1);
    conf_open_layer(L, NULL);
    conf_push_module(L, "config.effective", "each");
    lua_pushlstring(L, each->config->said, each->config->said_length);
    lua_pushlightuserdata(L, each);
    lua_pushcclosure(L, conf_visit, 1);
    lua_call(L, 2, 0);
    return 0;
}

int vs_config_each(const struct vs_config *config, vs_conf_visit *visit, void *self) {
    return conf_run_alone(conf_run_each, &(struct conf_effective){.config = config, .visit = visit, .self = self});
}

static int conf_run_differences(lua_State *L) {
    struct conf_effective *two = lua_touserdata(L, 1);
    conf_open_layer(L, NULL);
    conf_push_module(L, "config.effective", "differences");
    lua_pushlstring(L, two->config->said, two->config->said_length);
    lua_pushlstring(L, two->other->said, two->other->said_length);
    lua_pushinteger(L, (lua_Integer)two->size);
    lua_call(L, 3, 2);
    if (two->size > 0) snprintf(two->buf, two->size, "%s", lua_tostring(L, -2));
    two->count = (int)lua_tointeger(L, -1);
    return 0;
}

int vs_config_differences(const struct vs_config *old, const struct vs_config *new_, char *buf, size_t size) {
    struct conf_effective two = {.config = old, .other = new_, .buf = buf, .size = size};
    if (size > 0) *buf = '\0';
    return conf_run_alone(conf_run_differences, &two) == VESTA_OK ? two.count : 1;
}
