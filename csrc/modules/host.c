/* host.c -- one Lua state for the commands of the program.  Knows no command. */
#include "modules/host.h"

#include "policy/policy.h"
#include "policy/shipped.h"

#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int luaopen_vesta_core(lua_State *L);

/* ------------------------------------------------------------------ modules */

static const struct host_file *host_find(const struct host_file *files, const char *name) {
    for (; files->name; files++)
        if (strcmp(files->name, name) == 0) return files;
    return NULL;
}

static const struct host_file *host_file_of(const char *module) {
    static struct host_file shipped;
    const struct vs_shipped *policy = strncmp(module, "vesta.policy.", 13) == 0 ? vs_shipped_find(module + 13) : NULL;
    if (policy) {
        shipped = (struct host_file){policy->name, policy->text, policy->length};
        return &shipped;
    }
    if (strcmp(module, "vesta") == 0) return host_find(host_rock_files, "init");
    if (strncmp(module, "vesta.", 6) == 0) return host_find(host_rock_files, module + 6);
    if (strncmp(module, "cli.", 4) == 0) return host_find(host_cli_files, module + 4);
    return NULL;
}

/* The only searcher besides package.preload: a module is a part of the program, or there is none. */
static int host_search(lua_State *L) {
    const char *module = luaL_checkstring(L, 1);
    const struct host_file *file = host_file_of(module);
    char chunk[64];
    if (!file) {
        lua_pushfstring(L, "\n\tthe program contains no module '%s'", module);
        return 1;
    }
    snprintf(chunk, sizeof chunk, "=%s", module);
    if (luaL_loadbufferx(L, file->text, file->length, chunk, "t") != LUA_OK) return lua_error(L);
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
    static lua_State *L; /* lives as long as the program: commands keep no state open that must be closed */
    if (L) return L;
    L = luaL_newstate();
    if (!L) {
        vs_say("no memory for Lua");
        exit(VS_FAILED);
    }
    luaL_openlibs(L);
    host_limit_searchers(L);
    host_preload(L, "vesta.core", luaopen_vesta_core);
    host_preload(L, "term", host_open_term);
    host_preload(L, "facts", host_open_facts);
    host_preload(L, "config", host_open_config);
    host_preload(L, "wire", host_open_wire);
    host_preload(L, "screen", host_open_screen);
    host_preload(L, "ids", host_open_ids);
    for (const luaL_Reg *module = host_added; module && module->name; module++)
        host_preload(L, module->name, module->func);
    return L;
}

/* ------------------------------------------------------------------ calls */

/* An error that is not an exit (see lua/cli/run.lua) is a defect of the program: its place is the report. */
static int host_report(lua_State *L) {
    luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
    return 1;
}

/* Calls the function below its `count` arguments in protected mode, and ends the program if it raises. */
static void host_call(lua_State *L, int count) {
    int base = lua_gettop(L) - count;
    lua_pushcfunction(L, host_report);
    lua_insert(L, base);
    if (lua_pcall(L, count, 1, base) != LUA_OK) {
        vs_say("a defect in vesta, please report it: %s", lua_tostring(L, -1));
        exit(vs_out_end(VS_FAILED));
    }
    lua_remove(L, base);
}

static const char *host_text(lua_State *L, const char *key) {
    lua_getfield(L, -1, key);
    const char *text = luaL_checkstring(L, -1);
    luaL_ref(L, LUA_REGISTRYINDEX); /* keeps it, and pops it */
    return text;
}

static int host_describe(lua_State *L) {
    struct vs_command *out = lua_touserdata(L, 1);
    lua_pushfstring(L, "cli.%s", out->name);
    host_require(L, lua_tostring(L, -1));
    out->line = host_text(L, "line");
    out->usage = host_text(L, "usage");
    out->about = host_text(L, "about");
    lua_pushnil(L);
    return 1;
}

void vs_host_describe(const char *name, struct vs_command *out) {
    lua_State *L = host_state();
    out->name = name;
    lua_pushcfunction(L, host_describe);
    lua_pushlightuserdata(L, out);
    host_call(L, 1);
    lua_pop(L, 1);
}

static int host_run(lua_State *L) {
    int argc = (int)lua_tointeger(L, 1);
    char **argv = lua_touserdata(L, 2);
    host_require(L, "cli.run");
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
    host_call(L, 2);
    int code = (int)lua_tointeger(L, -1);
    lua_pop(L, 1);
    return code;
}
