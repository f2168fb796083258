/* config.c -- the module `config`: the values of a config, and the address of a server's admin routes, for the commands
 * in lua/cli. */
#include "base/slice.h"
#include "config/config.h"
#include "modules/describe.h"
#include "modules/host.h"
#include "serve/effective.h"
#include "serve/serving.h"
#include "store/store.h"
#include "tls/tls.h"

#include <lauxlib.h>
#include <string.h>

#define CONFIG_FLAGS_MAX 8

struct config_flags {
    struct vs_conf_flag row[CONFIG_FLAGS_MAX];
    struct vs_conf_opts opts;
    bool is_json;
    const char *shown; /* for config.show_some: keys, each followed by a space */
};

/* Returns an element of the row on top of the stack.  The row keeps the string alive. */
static const char *config_part(lua_State *L, int part) {
    lua_rawgeti(L, -1, part);
    const char *text = luaL_checkstring(L, -1);
    lua_pop(L, 1);
    return text;
}

static int config_push_error(lua_State *L, const struct vesta_error *err) {
    lua_pushnil(L);
    lua_pushstring(L, err->text);
    lua_pushstring(L, vesta_code_name(err->code));
    return 3;
}

/* Reads the config of the arguments 1 and 2: a path or nil, and rows such as { "--admin", "admin.listen", text }.
 * Returns NULL after a message, and sets *code to the exit code.  Own: free with vs_config_free. */
static struct vs_config *config_read(lua_State *L, struct config_flags *flags, int *code) {
    struct vs_config *config = NULL;
    struct vesta_error err;
    *flags = (struct config_flags){.opts = {.path = luaL_optstring(L, 1, NULL), .flag = flags->row}};
    luaL_checktype(L, 2, LUA_TTABLE);
    for (int *count = &flags->opts.flag_count; lua_rawgeti(L, 2, *count + 1) == LUA_TTABLE; lua_pop(L, 1)) {
        luaL_argcheck(L, *count < CONFIG_FLAGS_MAX, 2, "too many flags");
        flags->row[(*count)++] = (struct vs_conf_flag){config_part(L, 1), config_part(L, 2), config_part(L, 3)};
    }
    *code = VS_DONE;
    if (vs_config_read(&flags->opts, &config, &err) != VESTA_OK) *code = vs_report(&err);
    return *code == VS_DONE ? config : NULL;
}

/* config.admin(path, flags) -> address or nil, token or nil, path of the certificate or nil | false, exit code after a message */
static int config_admin(lua_State *L) {
    struct config_flags flags;
    int code;
    struct vs_config *config = config_read(L, &flags, &code);
    if (!config) {
        lua_pushboolean(L, 0);
        lua_pushinteger(L, code);
        return 2;
    }
    lua_pushstring(L, config->admin.count ? config->admin.text[0] : NULL);
    lua_pushstring(L, config->admin_token);
    lua_pushstring(L, config->tls_certificate);
    vs_config_free(config);
    return 3;
}

/* config.describe(path or nil, flags) -> the description of a server (describe.h) | false, exit code after a message
 * Reads the environment, as a server does. */
static int config_describe(lua_State *L) {
    struct config_flags flags;
    int code;
    struct vs_config *config = config_read(L, &flags, &code);
    if (!config) {
        lua_pushboolean(L, 0);
        lua_pushinteger(L, code);
        return 2;
    }
    host_push_description(L, config);
    vs_config_free(config);
    return 1;
}

static void config_show_value(void *self, const struct vs_conf_value *value) {
    const struct config_flags *flags = self;
    struct vs_slice keys = {flags->shown, strlen(flags->shown)}, key;
    while (vs_slice_split(keys, ' ', &key, &keys))
        if (vs_slice_is(key, value->path)) vs_effective_print(value, flags->is_json);
}

/* config.show_some(path, flags, by, json, keys) -> exit code.  `by` is the variable or flag that names the path.
 * `keys` are the keys to show, each followed by a space. */
static int config_show_some(lua_State *L) {
    struct config_flags flags;
    int code;
    struct vs_config *config = config_read(L, &flags, &code);
    struct vs_conf_value path = {
        .path = "config", .text = flags.opts.path, .variable = "VESTA_CONFIG", .by = luaL_optstring(L, 3, "")};
    path.origin = *path.by == '-' ? VS_FROM_FLAG : VS_FROM_ENV;
    flags.is_json = lua_toboolean(L, 4);
    flags.shown = luaL_checkstring(L, 5);
    if (config && path.text) vs_effective_print(&path, flags.is_json);
    if (config && vs_config_each(config, config_show_value, &flags) != VESTA_OK) code = VS_FAILED;
    vs_config_free(config);
    lua_pushinteger(L, code);
    return 1;
}

/* Returns the config of a file, or NULL after pushing nil, the text and the code. */
static struct vs_config *config_of(lua_State *L) {
    struct vs_config *config = NULL;
    struct vesta_error err;
    if (vs_config_read(&(struct vs_conf_opts){.path = luaL_checkstring(L, 1)}, &config, &err) == VESTA_OK) return config;
    config_push_error(L, &err);
    return NULL;
}

/* config.read(path) -> its values in the form of lua/config/effective.lua, notes, the path for a message, and when its
 * certificate expires in ms (0: no certificate) | nil, text, code.  Also tests whether the certificate can be used. */
static int config_read_file(lua_State *L) {
    struct vesta_error err;
    struct vs_tls_facts facts = {0};
    struct vs_config *config = config_of(L);
    if (!config) return 3;
    if (vs_secure_try(config, &facts, &err) != VESTA_OK) {
        vs_config_free(config);
        return config_push_error(L, &err);
    }
    lua_pushlstring(L, config->said, config->said_length);
    lua_createtable(L, config->notes.count, 0);
    for (int i = 0; i < config->notes.count; i++) {
        lua_pushstring(L, config->notes.text[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_pushstring(L, VS_CONF_SHOWN(config->name));
    lua_pushinteger(L, facts.expires_unix_s * 1000);
    vs_config_free(config);
    return 4;
}

/* config.show(path, json) -> exit code | nil, text, code.  Prints the values and their origins. */
static int config_show(lua_State *L) {
    struct vs_config *config = config_of(L);
    if (!config) return 3;
    lua_pushinteger(L, vs_effective_config(config, lua_toboolean(L, 2)));
    vs_config_free(config);
    return 1;
}

/* config.public(uri) -> the URI without its password */
static int config_public(lua_State *L) {
    return lua_pushstring(L, vs_store_public(luaL_checkstring(L, 1), (char[VS_URI_MAX]){0})), 1;
}

int host_open_config(lua_State *L) {
    static const luaL_Reg functions[] = {{"admin", config_admin},     {"describe", config_describe},
                                         {"public", config_public},   {"read", config_read_file},
                                         {"show", config_show},       {"show_some", config_show_some},
                                         {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}
