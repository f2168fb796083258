/* host.c -- one Lua state for the commands of the program.  Does not depend on any command. */
#include "modules/host.h"

#include "config/layer.h"

#include "base/array.h"
#include "policy/policy.h"
#include "policy/shipped.h"

#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int luaopen_vesta_core(lua_State *L);

/* ------------------------------------------------------------------ modules */

/* The folder of each prefix of module names. */
static const struct {
    const char *prefix, *folder;
    const struct vs_shipped *files;
} host_folders[] = {
    {"cli.lib.", "lua/cli/lib", host_lib_files},      {"cli.", "lua/cli", host_cli_files},
    {"config.", "lua/config", vs_conf_files},         {"vesta.policy.", "lua/vesta/policy", vs_shipped},
    {"vesta.", "lua/vesta", vs_shipped_engine},       {"vesta.", "lua/vesta", host_rock_files},
};

/* Names each chunk after its file, so that error messages contain lua/cli/NAME.lua and a line. */
bool host_load(lua_State *L, const char *module) {
    char chunk[96];
    const struct vs_shipped *file = NULL;
    const char *folder = NULL;
    if (strcmp(module, "vesta") == 0) module = "vesta.init";
    for (size_t i = 0; !file && i < VS_COUNT(host_folders); i++) {
        size_t length = strlen(host_folders[i].prefix);
        if (strncmp(module, host_folders[i].prefix, length) != 0) continue;
        file = vs_shipped_in(host_folders[i].files, module + length);
        folder = host_folders[i].folder;
    }
    if (!file) return false;
    snprintf(chunk, sizeof chunk, "@%s/%s.lua", folder, file->name);
    if (luaL_loadbufferx(L, file->text, file->length, chunk, "t") != LUA_OK) lua_error(L);
    return true;
}

/* The only searcher besides the one for package.preload.  All modules are part of the program, and none is loaded from
 * disk. */
static int host_search(lua_State *L) {
    const char *module = luaL_checkstring(L, 1);
    if (!host_load(L, module)) lua_pushfstring(L, "\n\tthe program contains no module '%s'", module);
    return 1;
}

/* The module `files`: the names of the files in lua/cli, each of which is a command. */
static int host_open_files(lua_State *L) {
    lua_newtable(L);
    for (lua_Integer i = 0; host_cli_files[i].name; i++) {
        lua_pushstring(L, host_cli_files[i].name);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static void host_preload(lua_State *L, const char *module, lua_CFunction open) {
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_pushcfunction(L, open);
    lua_setfield(L, -2, module);
    lua_pop(L, 1);
}

/* package.searchers = { the one for package.preload, host_search } */
static void host_limit_searchers(lua_State *L) {
    lua_getglobal(L, "package");
    lua_getfield(L, -1, "searchers");
    lua_createtable(L, 2, 0);
    lua_rawgeti(L, -2, 1);
    lua_rawseti(L, -2, 1);
    lua_pushcfunction(L, host_search);
    lua_rawseti(L, -2, 2);
    lua_setfield(L, -3, "searchers");
    lua_pop(L, 2);
}

/* Pushes require(module).  Raises. */
static void host_require(lua_State *L, const char *module) {
    lua_getglobal(L, "require");
    lua_pushstring(L, module);
    lua_call(L, 1, 1);
}

static const luaL_Reg *host_added;

void vs_host_modules(const luaL_Reg *modules) {
    host_added = modules;
}

static lua_State *host_state(void) {
    static lua_State *L; /* never closed, because commands leave nothing in it that must be closed */
    if (L) return L;
    L = luaL_newstate();
    if (!L) {
        vs_say("no memory for Lua");
        exit(VS_FAILED);
    }
    luaL_openlibs(L);
    host_limit_searchers(L);
    host_preload(L, "vesta.core", luaopen_vesta_core);
    host_preload(L, "files", host_open_files);
    host_preload(L, "term", host_open_term);
    host_preload(L, "facts", host_open_facts);
    host_preload(L, "clients", host_open_clients);
    host_preload(L, "config", host_open_config);
    host_preload(L, "config.options", vs_conf_open_options);
    host_preload(L, "kernel", host_open_kernel);
    host_preload(L, "lease", host_open_lease);
    host_preload(L, "past", host_open_past);
    host_preload(L, "wire", host_open_wire);
    host_preload(L, "sandbox", host_open_sandbox);
    host_preload(L, "screen", host_open_screen);
    host_preload(L, "ids", host_open_ids);
    host_preload(L, "store", host_open_store);
    for (const luaL_Reg *module = host_added; module && module->name; module++)
        host_preload(L, module->name, module->func);
    return L;
}

/* ------------------------------------------------------------------ calls */

/* Returns the exit code in a table that ends the command (see lua/cli/lib/cli.lua).  Returns -1 if the value at `index`
 * is an error. */
static int host_exit_code(lua_State *L, int index) {
    if (!lua_istable(L, index)) return -1;
    int code = lua_getfield(L, index, "exit_code") == LUA_TNUMBER ? (int)lua_tointeger(L, -1) : -1;
    lua_pop(L, 1);
    return code;
}

/* The message handler.  If an error message names no line, prefixes it with the innermost line of Lua code. */
static int host_report(lua_State *L) {
    lua_Debug frame;
    if (host_exit_code(L, 1) >= 0) return 1;
    const char *text = luaL_tolstring(L, 1, NULL);
    if (strncmp(text, "lua/", 4) == 0) return 1;
    for (int level = 1; lua_getstack(L, level, &frame); level++) {
        lua_getinfo(L, "Sl", &frame);
        if (frame.currentline <= 0) continue;
        lua_pushfstring(L, "%s:%d: %s", frame.short_src, frame.currentline, text);
        return 1;
    }
    return 1;
}

/* Reports an error.  An error that is not an exit is a defect of the program.  Returns the exit code. */
static int host_failed(lua_State *L) {
    int code = host_exit_code(L, -1);
    if (code >= 0) return code;
    const char *text = luaL_gsub(L, luaL_tolstring(L, -1, NULL), "\n\t", " ");
    vs_say("internal error in %s.  This is a defect in vesta: please report it", text);
    return VS_FAILED;
}

/* Calls the function below its `count` arguments.  Returns the exit code that the function or cli.fail returned. */
static int host_call(lua_State *L, int count) {
    int base = lua_gettop(L) - count;
    lua_pushcfunction(L, host_report);
    lua_insert(L, base);
    int code = lua_pcall(L, count, 1, base) == LUA_OK ? (int)lua_tointeger(L, -1) : host_failed(L);
    lua_settop(L, base - 1);
    return code;
}

static int host_run(lua_State *L) {
    int argc = (int)lua_tointeger(L, 1);
    char **argv = lua_touserdata(L, 2);
    host_require(L, "cli.lib.run");
    lua_createtable(L, argc, 0);
    for (int i = 0; i < argc; i++) {
        lua_pushstring(L, argv[i]);
        lua_rawseti(L, -2, i);
    }
    lua_call(L, 1, 1);
    return 1;
}

int vs_host_run(int argc, char **argv) {
    lua_State *L = host_state();
    lua_pushcfunction(L, host_run);
    lua_pushinteger(L, argc);
    lua_pushlightuserdata(L, argv);
    return host_call(L, 2);
}

/* ------------------------------------------------------------------ commands in C */

void host_push_command(lua_State *L, const struct vs_command *command) {
    const char *const texts[][2] = {
        {"name", command->name}, {"line", command->line}, {"usage", command->usage}, {"about", command->about}};
    lua_createtable(L, 0, 5);
    for (size_t i = 0; i < VS_COUNT(texts); i++) {
        lua_pushstring(L, texts[i][1]);
        lua_setfield(L, -2, texts[i][0]);
    }
}

static int host_help(lua_State *L) {
    host_require(L, "cli.lib.commands");
    lua_getfield(L, -1, "print_help");
    host_push_command(L, lua_touserdata(L, 1));
    host_push_options(L, lua_touserdata(L, 2));
    lua_call(L, 2, 0);
    return 0;
}

int vs_host_help(const struct vs_command *command, const struct vs_option *table) {
    lua_State *L = host_state();
    lua_pushcfunction(L, host_help);
    lua_pushlightuserdata(L, (void *)(uintptr_t)command);
    lua_pushlightuserdata(L, (void *)(uintptr_t)table);
    return host_call(L, 2);
}
