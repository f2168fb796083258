/* probe.c -- the module `probe`: the config that `vesta doctor` examines. */
#include "main/doctor/probe.h"

#include "main/where.h"
#include "modules/describe.h"
#include "os/clock.h"

#define PROBE_CLASS "vesta.probe"
#define PROBE_ADDRESSES 3

struct vs_probe *vs_probe_self(lua_State *L) {
    return luaL_checkudata(L, 1, PROBE_CLASS);
}

const struct vs_conf_namespace *vs_probe_namespace(lua_State *L) {
    const struct vs_probe *probe = vs_probe_self(L);
    lua_Integer i = luaL_checkinteger(L, 2);
    luaL_argcheck(L, i >= 1 && i <= probe->config->ns_count, 2, "the index of a namespace");
    return &probe->config->ns[i - 1];
}

/* ------------------------------------------------------------------ options */

struct probe_options {
    struct vs_conf_opts conf;
    struct vs_conf_flag flag[PROBE_ADDRESSES];
    struct vesta_opts ns;
};

/* Reads the options at index 1, completed from the environment.  Returns VS_GO, or an exit code after a message. */
static int probe_read_options(lua_State *L, struct probe_options *out) {
    static const char *const flags[PROBE_ADDRESSES][3] = {
        {"http", "--http", "http.listen"}, {"resp", "--resp", "resp.listen"}, {"admin", "--admin", "admin.listen"}};
    struct vs_where where = {.text = {[VS_W_CONFIG] = host_get_text(L, 1, "config"),
                                      [VS_W_NAMESPACE] = host_get_text(L, 1, "namespace"),
                                      [VS_W_PATH] = host_get_text(L, 1, "path"),
                                      [VS_W_STORE] = host_get_text(L, 1, "store"),
                                      [VS_W_LAYOUT] = host_get_text(L, 1, "layout")}};
    *out = (struct probe_options){.conf = {.opts = &out->ns, .flag = out->flag}, .ns = VESTA_OPTS_INIT};
    for (int i = 0; i < PROBE_ADDRESSES; i++) {
        const char *text = host_get_text(L, 1, flags[i][0]);
        if (text) out->flag[out->conf.flag_count++] = (struct vs_conf_flag){flags[i][1], flags[i][2], text};
    }
    int code = vs_where_environment(&where);
    if (code != VS_GO) return code;
    out->conf.path = where.text[VS_W_CONFIG];
    if (out->conf.path) return VS_GO;
    out->ns.namespace_ = where.text[VS_W_NAMESPACE];
    out->ns.path = where.text[VS_W_PATH];
    out->ns.store = where.text[VS_W_STORE];
    out->ns.layout = where.text[VS_W_LAYOUT];
    if (where.origin[VS_W_STORE] == VS_FROM_ENV) out->conf.store_variable = where.from[VS_W_STORE];
    return VS_GO;
}

/* probe.open(options) -> probe, the config's path or nil | nil, text | false, exit code after a message */
static int probe_open(lua_State *L) {
    struct probe_options options;
    struct vesta_error err;
    int code = probe_read_options(L, &options);
    if (code != VS_GO) {
        lua_pushboolean(L, 0);
        lua_pushinteger(L, code);
        return 2;
    }
    struct vs_probe *probe = lua_newuserdatauv(L, sizeof *probe, 1);
    *probe = (struct vs_probe){.clock = vs_clock_system()};
    luaL_setmetatable(L, PROBE_CLASS);
    lua_pushvalue(L, 1); /* the user value keeps the strings of the options alive */
    lua_setiuservalue(L, -2, 1);
    if (vs_config_read(&options.conf, &probe->config, &err) != VESTA_OK) return host_fail(L, &err);
    lua_pushstring(L, options.conf.path);
    return 2;
}

/* probe.print(options) -> exit code.  Prints `--effective`. */
static int probe_print(lua_State *L) {
    struct probe_options options;
    struct vs_config *config;
    struct vesta_error err;
    int code = probe_read_options(L, &options);
    if (code == VS_GO && vs_config_read(&options.conf, &config, &err) != VESTA_OK) code = vs_report(&err);
    if (code == VS_GO) {
        code = vs_effective_config(config, host_get_flag(L, 1, "json"));
        vs_config_free(config);
    }
    lua_pushinteger(L, code);
    return 1;
}

static int probe_close(lua_State *L) {
    struct vs_probe *probe = vs_probe_self(L);
    vs_config_free(probe->config);
    probe->config = NULL;
    return 0;
}

/* ------------------------------------------------------------------ the config */

/* probe:config() -> the description of the server (modules/describe.h) */
static int probe_config(lua_State *L) {
    host_push_description(L, vs_probe_self(L)->config);
    return 1;
}

int modules_open_probe(lua_State *L) {
    static const luaL_Reg functions[] = {{"open", probe_open},
                                         {"print", probe_print},
                                         {"clock", vs_probe_clock},
                                         {"free", vs_probe_free},
                                         {"state_folder", vs_probe_state_folder},
                                         {NULL, NULL}};
    static const luaL_Reg methods[] = {
        {"config", probe_config}, {"limits", vs_probe_limits}, {"folder", vs_probe_folder},
        {"certificate", vs_probe_certificate},
        {"file", vs_probe_file},  {"store", vs_probe_store},   {"close", probe_close},
        {"__close", probe_close}, {"__gc", probe_close},       {NULL, NULL}};
    luaL_newmetatable(L, PROBE_CLASS);
    luaL_setfuncs(L, methods, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    luaL_newlib(L, functions);
    return 1;
}
