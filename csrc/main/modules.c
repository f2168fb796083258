/* modules.c -- the modules `where` and `numbers`: where.h and ids/numbers.h for the commands in lua/cli. */
#include "main/modules.h"

#include "main/ids/holders.h"
#include "main/ids/numbers.h"
#include "main/where.h"
#include "modules/tables.h"

/* ------------------------------------------------------------------ where */

/* where.layout(options) -> { layout, fields, method } | nil, exit code
 * The layout's text of the namespace that the options name, and its config's fields and method, or nil.  --effective
 * prints, and ends with 0. */
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

/* The config that --config or VESTA_CONFIG names, if any.  VESTA_STORE does not matter here. */
static int modules_config(lua_State *L, struct vs_where *where) {
    struct vesta_error err;
    *where = (struct vs_where){.json = host_get_flag(L, 1, "json")};
    vs_where_put(where, VS_W_CONFIG, host_get_text(L, 1, "config"), VS_FROM_FLAG, "--config");
    vs_where_put(where, VS_W_CONFIG, vs_where_config(), VS_FROM_ENV, "VESTA_CONFIG");
    struct vs_conf_opts from = {.path = where->text[VS_W_CONFIG]};
    if (!from.path || vs_config_read(&from, &where->config, &err) == VESTA_OK) return VS_GO;
    vs_say("%s", err.text);
    return VS_FAILED;
}

/* where.namespaces(options) -> { { name, layout = its text or nil }, ... }, the config's name | nil, exit code
 * The namespaces of the config.  Without a config there are none. */
static int modules_namespaces(lua_State *L) {
    struct vs_where where;
    int code = modules_config(L, &where);
    if (code != VS_GO) return host_end(L, code);
    lua_newtable(L);
    for (int i = 0; where.config && i < where.config->ns_count; i++) {
        lua_createtable(L, 0, 2);
        host_set_text(L, "name", where.config->ns[i].name);
        host_set_text(L, "layout", where.config->ns[i].opts.layout);
        lua_rawseti(L, -2, i + 1);
    }
    lua_pushstring(L, where.config ? where.config->name : NULL);
    vs_where_free(&where);
    return 2;
}

/* where.print(options, rows) -> exit code
 * `--effective` of a command that reads the config only.  A row: key, value, is_flag, by. */
static int modules_print(lua_State *L) {
    struct vs_where where;
    int code = modules_config(L, &where);
    if (code == VS_GO) code = vs_where_print(&where);
    for (lua_Integer i = 1; code == VS_DONE && lua_rawgeti(L, 2, i) != LUA_TNIL; i++) {
        struct vs_conf_value row = {
            .path = host_get_text(L, -1, "key"), .text = host_get_text(L, -1, "value"), .by = host_get_text(L, -1, "by")};
        lua_getfield(L, -1, "is_flag");
        row.origin = lua_toboolean(L, -1) ? VS_FROM_FLAG : VS_FROM_FILE;
        vs_effective_print(&row, where.json);
        lua_settop(L, 2);
    }
    vs_where_free(&where);
    lua_pushinteger(L, code);
    return 1;
}

/* `where`: the functions above; OPTIONS, the rows for where.layout; EFFECTIVE, the row of that option alone. */
static int modules_open_where(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"layout", modules_layout}, {"namespaces", modules_namespaces}, {"print", modules_print}, {NULL, NULL}};
    struct vs_where where;
    const struct vs_option options[] = {VS_WHERE_OPTIONS(&where), {0}};
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
                               {NULL, NULL}};
