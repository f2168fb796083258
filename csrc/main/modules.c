/* modules.c -- the modules `where` and `numbers`: where.h and ids/numbers.h for the commands in lua/cli. */
#include "main/modules.h"

#include "main/ids/holders.h"
#include "main/ids/masks.h"
#include "main/ids/numbers.h"
#include "main/where.h"
#include "modules/tables.h"
#include "os/files.h"
#include "store/store.h"

#include <limits.h>
#include <string.h>

/* ------------------------------------------------------------------ where */

/* where.layout(options) -> { layout, fields, method } | nil, exit code
 * Returns the layout of the namespace that the options name, as text, and the fields and method in its config or nil.
 * With --effective, prints and returns nil, 0. */
static int modules_layout(lua_State *L) {
    struct vs_where where = {.text = {[VS_W_CONFIG] = host_get_text(L, 1, "config"),
                                      [VS_W_NAMESPACE] = host_get_text(L, 1, "namespace"),
                                      [VS_W_PATH] = host_get_text(L, 1, "path"),
                                      [VS_W_STORE] = host_get_text(L, 1, "store"),
                                      [VS_W_LAYOUT] = host_get_text(L, 1, "layout")},
                             .effective = host_get_flag(L, 1, "effective"),
                             .json = host_get_flag(L, 1, "json")};
    struct vesta_layout layout;
    int code = vs_where_layout(&where, &layout);
    if (code == VS_GO) {
        lua_createtable(L, 0, 3);
        host_set_text(L, "layout", where.text[VS_W_LAYOUT]);
        host_set_text(L, "fields", where.fields);
        host_set_text(L, "method", where.method);
    }
    vs_where_free(&where);
    return code == VS_GO ? 1 : host_end(L, code);
}

/* Reads the config that --config or VESTA_CONFIG names, if any.  VESTA_STORE is ignored here. */
static int modules_config(lua_State *L, struct vs_where *where) {
    struct vesta_error err;
    *where = (struct vs_where){.json = host_get_flag(L, 1, "json")};
    vs_where_put(where, VS_W_CONFIG, host_get_text(L, 1, "config"), VS_FROM_FLAG, "--config");
    vs_where_put(where, VS_W_CONFIG, vs_where_config(), VS_FROM_ENV, "VESTA_CONFIG");
    struct vs_conf_opts from = {.path = where->text[VS_W_CONFIG], .serves_no_clients = true};
    if (!from.path || vs_config_read(&from, &where->config, &err) == VESTA_OK) return VS_GO;
    vs_say("%s", err.text);
    return VS_FAILED;
}

/* Returns the store of processes without --store, which is in their state folder.  Returns false if that folder does
 * not exist. */
static bool modules_own_store(char uri[static VS_URI_MAX]) {
    char state[PATH_MAX];
    struct vesta_error unused;
    return vs_state_dir(state, sizeof state) == 0 && vs_uri_of_path("file", state, uri, &unused) == VESTA_OK;
}

/* where.namespaces(options) -> { { name, leased, layout, store, secret, is_own }, ... }, the config's name | nil, exit
 * code
 * Returns the namespaces of the config (an empty list without a config).  layout and secret may be nil.  is_own: the
 * config names no store for the namespace. */
static int modules_namespaces(lua_State *L) {
    struct vs_where where;
    char own[VS_URI_MAX];
    bool has_own = modules_own_store(own);
    int code = modules_config(L, &where);
    if (code != VS_GO) return host_end(L, code);
    lua_newtable(L);
    for (int i = 0; where.config && i < where.config->ns_count; i++) {
        const struct vs_conf_namespace *ns = &where.config->ns[i];
        lua_createtable(L, 0, 6);
        host_set_text(L, "name", ns->name);
        host_set_text(L, "leased", ns->leased_as ? ns->leased_as : ns->name);
        host_set_text(L, "layout", ns->opts.layout);
        host_set_text(L, "store", ns->opts.store ? ns->opts.store : has_own ? own : NULL);
        host_set_text(L, "secret", ns->opts.secret);
        host_set_flag(L, "is_own", !ns->opts.store);
        lua_rawseti(L, -2, i + 1);
    }
    lua_pushstring(L, where.config ? where.config->name : NULL);
    vs_where_free(&where);
    return 2;
}

/* where.clients(options) -> path or nil, the config's name or nil | false, exit code after a message
 * Returns the path of the config's file of clients.  The file need not exist. */
static int modules_clients(lua_State *L) {
    struct vs_where where;
    int code = modules_config(L, &where);
    if (code == VS_GO) {
        lua_pushstring(L, where.config ? where.config->clients_file : NULL);
        lua_pushstring(L, where.config ? where.config->name : NULL);
    } else {
        lua_pushboolean(L, 0);
        lua_pushinteger(L, code);
    }
    vs_where_free(&where);
    return 2;
}

/* ------------------------------------------------------------------ where: what names a store */

static const char *const modules_origins[] = {"default", "file", "env", "flag", "map", "store", NULL};

/* Pushes a table that maps leased names to names in the config, for the namespaces that have two different names. */
static void modules_publics(lua_State *L, const struct vs_config *config) {
    lua_newtable(L);
    /* Iterates backwards, so that the first of several config names wins. */
    for (int i = config ? config->ns_count - 1 : -1; i >= 0; i--)
        if (config->ns[i].leased_as && strcmp(config->ns[i].leased_as, config->ns[i].name) != 0)
            host_set_text(L, config->ns[i].leased_as, config->ns[i].name);
}

static struct vs_where modules_where(lua_State *L) {
    return (struct vs_where){.text = {[VS_W_CONFIG] = host_get_text(L, 1, "config"),
                                      [VS_W_NAMESPACE] = host_get_text(L, 1, "namespace"),
                                      [VS_W_STORE] = host_get_text(L, 1, "store")},
                             .asks_no_file = true,
                             .effective = host_get_flag(L, 1, "effective"),
                             .json = host_get_flag(L, 1, "json")};
}

static int modules_print_store(const struct vs_where *where) {
    if (!where->text[VS_W_STORE])
        vs_effective_print(&(struct vs_conf_value){.path = "store", .absent = "none: name one, or use -c"},
                           where->json);
    return vs_where_print(where);
}

/* where.store(options, one, may_lack) -> { config, namespace, store, layout, secret, fields, method, leased, is_named,
 * is_own, publics } | nil, exit code
 * Resolves the options, the config and the environment, without a generator file.  one: without a name the namespace is
 * `default`.  may_lack: even without a config, a missing store means the store of processes without --store, and is_own
 * is set.  leased: the namespace's name in the store.  is_named: the namespace is not merely the config's first.
 * publics: the config's names of namespaces by their leased names.  --effective prints, and ends with 0. */
static int modules_store(lua_State *L) {
    struct vs_where where = modules_where(L);
    char own[VS_URI_MAX];
    int code = vs_where_read(&where);
    bool is_own = code == VS_GO && !where.text[VS_W_STORE] && (where.config || lua_toboolean(L, 3)) &&
                  modules_own_store(own);
    if (is_own) vs_where_put(&where, VS_W_STORE, own, VS_FROM_DEFAULT, "default");
    if (code == VS_GO && lua_toboolean(L, 2) && !where.config)
        vs_where_put(&where, VS_W_NAMESPACE, "default", VS_FROM_DEFAULT, "default");
    if (code == VS_GO && where.effective) code = modules_print_store(&where);
    if (code == VS_GO) {
        lua_createtable(L, 0, 11);
        host_set_text(L, "config", where.text[VS_W_CONFIG]);
        host_set_text(L, "namespace", where.text[VS_W_NAMESPACE]);
        host_set_text(L, "store", where.text[VS_W_STORE]);
        host_set_text(L, "layout", where.text[VS_W_LAYOUT]);
        host_set_text(L, "secret", where.secret);
        host_set_text(L, "fields", where.fields);
        host_set_text(L, "method", where.method);
        host_set_text(L, "leased", vs_where_leased(&where));
        host_set_flag(L, "is_named", where.text[VS_W_NAMESPACE] && where.origin[VS_W_NAMESPACE] != VS_FROM_FILE);
        host_set_flag(L, "is_own", is_own);
        modules_publics(L, where.config);
        lua_setfield(L, -2, "publics");
    }
    vs_where_free(&where);
    return code == VS_GO ? 1 : host_end(L, code);
}

static void modules_set_row(lua_State *L, const struct vs_where *where, enum vs_where_word word, const char *key) {
    if (!where->text[word]) return;
    lua_createtable(L, 0, 4);
    host_set_text(L, "key", key);
    host_set_text(L, "value", where->text[word]);
    host_set_text(L, "origin", modules_origins[where->origin[word]]);
    host_set_text(L, "by", where->from[word]);
    lua_setfield(L, -2, key);
}

/* where.environment(options) -> { config, store, namespace } | nil, exit code
 * Returns rows for where.show of what the options and the environment name.  Reads no file. */
static int modules_environment(lua_State *L) {
    struct vs_where where = modules_where(L);
    int code = vs_where_environment(&where);
    if (code != VS_GO) return host_end(L, code);
    lua_createtable(L, 0, 3);
    modules_set_row(L, &where, VS_W_CONFIG, "config");
    modules_set_row(L, &where, VS_W_STORE, "store");
    modules_set_row(L, &where, VS_W_NAMESPACE, "namespace");
    return 1;
}

/* Returns whether several rows of the config serve all tags of their tables, and no row lists this tag. */
static bool modules_is_in_any(const struct vs_config *config, const char *tag) {
    int any = 0;
    for (int i = 0; i < config->segment_count; i++) {
        if (vs_conf_segment_has(&config->segment[i], tag)) return false;
        any += vs_conf_segment_is_any(&config->segment[i]);
    }
    return any > 1;
}

/* where.segments(path, tag or nil) -> { { uri, secret, table, row }, ... } | nil, exit code
 * Returns the databases of all counters of a config, or of the row that serves the tag.  If only the tables can show
 * which row serves the tag, returns the databases of all candidate rows. */
static int modules_segments(lua_State *L) {
    struct vs_conf_opts from = {.path = luaL_checkstring(L, 1), .serves_no_clients = true};
    const char *tag = luaL_optstring(L, 2, NULL);
    const struct vs_conf_segment *only = NULL;
    struct vs_config *config = NULL;
    struct vesta_error err;
    if (vs_config_read(&from, &config, &err) != VESTA_OK) return vs_say("%s", err.text), host_end(L, VS_FAILED);
    const bool in_any = tag && modules_is_in_any(config, tag);
    if (tag && !in_any && vs_conf_segment_of(config, tag, &only, &err) != VESTA_OK) {
        vs_config_free(config);
        return host_end(L, vs_report(&err));
    }
    lua_newtable(L);
    for (int i = 0; i < config->segment_count; i++) {
        const struct vs_conf_segment *segment = &config->segment[i];
        if (in_any && !vs_conf_segment_is_any(segment)) continue;
        for (int k = 0; k < segment->uri_count && (!only || only == segment); k++) {
            lua_createtable(L, 0, 4);
            lua_pushinteger(L, i + 1);
            lua_setfield(L, -2, "row");
            host_set_text(L, "uri", segment->uri[k]);
            host_set_text(L, "secret", segment->secret[k]);
            host_set_text(L, "table", vs_conf_segment_table(segment));
            lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
        }
    }
    vs_config_free(config);
    return 1;
}

/* A userdata with the mask of a counter. */
#define MODULES_MASK "mask of a counter"

/* where.mask(path, tag, row) -> mask or false | nil, exit code
 * Opens the mask of a tag, which the config's `row` of segments serves.  The result is false if it has no mask. */
static int modules_mask(lua_State *L) {
    struct vs_conf_opts from = {.path = luaL_checkstring(L, 1), .serves_no_clients = true};
    const char *tag = luaL_checkstring(L, 2);
    lua_Integer row = luaL_checkinteger(L, 3);
    struct vs_config *config = NULL;
    struct vesta_error err;
    struct vs_mask **mask = lua_newuserdatauv(L, sizeof *mask, 0);
    *mask = NULL;
    luaL_setmetatable(L, MODULES_MASK);
    if (vs_config_read(&from, &config, &err) != VESTA_OK) return vs_say("%s", err.text), host_end(L, VS_FAILED);
    bool is_there = row >= 1 && row <= config->segment_count;
    int code = is_there ? vs_masks_of_tag(config, tag, &config->segment[row - 1], mask) : VS_GO;
    vs_config_free(config);
    if (code != VS_GO) return host_end(L, code);
    if (!*mask) lua_pushboolean(L, 0);
    return 1;
}

/* mask:write(number) -> text | nil, text, code */
static int modules_mask_write(lua_State *L) {
    struct vs_mask **mask = luaL_checkudata(L, 1, MODULES_MASK);
    uint64_t number = (uint64_t)luaL_checkinteger(L, 2);
    struct vesta_error err;
    char text[VS_MASK_TEXT_MAX];
    if (vs_mask_write(*mask, 0, &number, 1, text, &err) != VESTA_OK) return host_fail(L, &err);
    lua_pushlstring(L, text, vs_mask_length(*mask));
    return 1;
}

static int modules_mask_free(lua_State *L) {
    struct vs_mask **mask = luaL_checkudata(L, 1, MODULES_MASK);
    vs_mask_close(*mask);
    *mask = NULL;
    return 0;
}

/* where.print(options, rows) -> exit code
 * Prints `--effective` for a command that only reads the config.  A row has: key, value, is_flag, by. */
static int modules_print(lua_State *L) {
    struct vs_where where;
    int code = modules_config(L, &where);
    if (code == VS_GO) code = vs_where_print(&where);
    for (lua_Integer i = 1; code == VS_DONE && lua_rawgeti(L, 2, i) != LUA_TNIL; i++) {
        struct vs_conf_value row = {.path = host_get_text(L, -1, "key"),
                                    .text = host_get_text(L, -1, "value"),
                                    .by = host_get_text(L, -1, "by")};
        lua_getfield(L, -1, "is_flag");
        row.origin = lua_toboolean(L, -1) ? VS_FROM_FLAG : VS_FROM_FILE;
        vs_effective_print(&row, where.json);
        lua_settop(L, 2);
    }
    vs_where_free(&where);
    lua_pushinteger(L, code);
    return 1;
}

/* where.show(row, json): prints a row of --effective: { key, value, origin, by } */
static int modules_show(lua_State *L) {
    int json = lua_toboolean(L, 2);
    lua_settop(L, 1);
    struct vs_conf_value row = {
        .path = host_get_text(L, 1, "key"), .text = host_get_text(L, 1, "value"), .by = host_get_text(L, 1, "by")};
    lua_getfield(L, 1, "origin");
    row.origin = (enum vs_origin)luaL_checkoption(L, -1, "default", modules_origins);
    vs_effective_print(&row, json);
    return 0;
}

/* Opens `where`: the functions above, OPTIONS (the rows for where.layout), and EFFECTIVE (the row of the option
 * --effective). */
static int modules_open_where(lua_State *L) {
    static const luaL_Reg functions[] = {{"layout", modules_layout},     {"namespaces", modules_namespaces},
                                         {"print", modules_print},       {"show", modules_show},
                                         {"store", modules_store},       {"environment", modules_environment},
                                         {"segments", modules_segments}, {"mask", modules_mask}, {"clients", modules_clients},
                                         {NULL, NULL}};
    struct vs_where where;
    const struct vs_option options[] = {VS_WHERE_OPTIONS(&where), {0}};
    static const luaL_Reg of_mask[] = {{"write", modules_mask_write}, {"__gc", modules_mask_free}, {NULL, NULL}};
    luaL_newmetatable(L, MODULES_MASK);
    luaL_setfuncs(L, of_mask, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    luaL_newlib(L, functions);
    host_push_options(L, options);
    lua_rawgeti(L, -1, luaL_len(L, -1));
    lua_setfield(L, -3, "EFFECTIVE");
    lua_setfield(L, -2, "OPTIONS");
    return 1;
}

/* ------------------------------------------------------------------ numbers */

/* numbers.make(form, zone or nil, operands, is_json) -> exit code */
static int modules_make_number(lua_State *L) {
    int count;
    lua_settop(L, 4);
    char **operands = host_words(L, 3, 1, &count);
    const char *form = luaL_checkstring(L, 1), *zone = luaL_optstring(L, 2, NULL);
    lua_pushinteger(L, vs_make_number(form, zone, count, operands, lua_toboolean(L, 4)));
    return 1;
}

static int modules_open_numbers(lua_State *L) {
    static const luaL_Reg functions[] = {{"make", modules_make_number}, {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}

const luaL_Reg vs_modules[] = {{"where", modules_open_where},
                               {"numbers", modules_open_numbers},
                               {"native", modules_open_native},
                               {"redis", modules_open_redis},
                               {"source", modules_open_source},
                               {"probe", modules_open_probe},
                               {NULL, NULL}};
