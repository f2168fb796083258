/* sandbox.c -- the module `sandbox`: policies in states with limits, as a server runs them, for `vesta policy` and for
 * the specs of policies.  Does not depend on any command. */
#include "base/error.h"
#include "host/vm.h"
#include "modules/host.h"
#include "modules/tables.h"
#include "os/clock.h"
#include "policy/policy.h"

#include <dirent.h>
#include <errno.h>
#include <lualib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static const char CLASS[] = "vesta.sandboxed";

/* ------------------------------------------------------------------ a policy */

struct sandboxed {
    struct vs_policy *policy;
    lua_State *L; /* the state that is calling the policy */
    int say;      /* reference to the function that receives the policy's log lines, or LUA_NOREF */
};

static int sandbox_close(lua_State *L) {
    struct sandboxed *self = luaL_checkudata(L, 1, CLASS);
    vs_policy_close(self->policy);
    self->policy = NULL;
    luaL_unref(L, LUA_REGISTRYINDEX, self->say);
    self->say = LUA_NOREF;
    return 0;
}

/* Passes a log line to the function `say`.  An error in `say` must not affect the policy, which runs in another
 * state. */
static void sandbox_hear(void *arg, const char *said) {
    const struct sandboxed *self = arg;
    if (self->say == LUA_NOREF) return;
    lua_rawgeti(self->L, LUA_REGISTRYINDEX, self->say);
    lua_pushstring(self->L, said);
    if (lua_pcall(self->L, 1, 0, 0) != LUA_OK) lua_pop(self->L, 1);
}

static int sandbox_fail(lua_State *L, const struct vesta_error *err) {
    lua_pushnil(L);
    lua_pushstring(L, err->text);
    return 2;
}

/* load(name, options, env, say) -> policy | nil, text
 * options and env: a table, Lua text of a table, or nil.  say(line) receives the lines that the policy logs with
 * log(). */
static int sandbox_load(lua_State *L) {
    struct vs_policy_text text = {0};
    struct vesta_error err;
    const char *name = luaL_checkstring(L, 1);
    lua_settop(L, 4);
    struct sandboxed *self = lua_newuserdatauv(L, sizeof *self, 0);
    *self = (struct sandboxed){.L = L, .say = LUA_NOREF};
    luaL_setmetatable(L, CLASS);
    lua_pushvalue(L, 4);
    if (lua_isfunction(L, -1))
        self->say = luaL_ref(L, LUA_REGISTRYINDEX);
    else
        lua_pop(L, 1);
    const struct vs_policy_opts opts = {.heard = sandbox_hear, .self = self, .from = L, .options = 2, .env = 3};
    int rc = vs_policy_read(name, NULL, &text, &err);
    if (rc == VESTA_OK) rc = vs_policy_open(&text, &opts, &self->policy, &err);
    vs_policy_text_free(&text);
    lua_settop(L, 5);
    return rc == VESTA_OK ? 1 : sandbox_fail(L, &err);
}

/* policy:call(function, ...) -> true, results | false, text, kind of failure
 * Calls a function of lua/vesta/engine.lua with the policy and these values. */
static int sandbox_call(lua_State *L) {
    struct sandboxed *self = luaL_checkudata(L, 1, CLASS);
    const struct vs_policy_question question = {luaL_checkstring(L, 2), L, 3, lua_gettop(L) - 2};
    struct vesta_error err;
    self->L = L;
    enum vs_call_result result = vs_policy_ask(self->policy, &question, &err);
    lua_pushboolean(L, result == VS_CALL_OK);
    if (result != VS_CALL_OK) {
        lua_pushstring(L, err.text);
        lua_pushstring(L, vs_call_result_name(result));
        return 3;
    }
    int results = lua_gettop(L) - 1;
    lua_getfield(L, results, "n");
    int count = (int)lua_tointeger(L, -1);
    luaL_checkstack(L, count, NULL);
    lua_pop(L, 1);
    for (int i = 1; i <= count; i++)
        lua_rawgeti(L, results, i);
    return count + 1;
}

/* try(name, options, env, now_ms) -> true | nil, text.  options and env: Lua text of a table, or nil. */
static int sandbox_try(lua_State *L) {
    struct vs_policy_text text = {0};
    struct vesta_error err;
    int rc = vs_policy_read(luaL_checkstring(L, 1), luaL_optstring(L, 2, NULL), &text, &err);
    if (rc == VESTA_OK) rc = vs_policy_grant(&text, luaL_optstring(L, 3, NULL), &err);
    if (rc == VESTA_OK) rc = vs_policy_try(&text, "default", luaL_checkinteger(L, 4), &err);
    vs_policy_text_free(&text);
    if (rc != VESTA_OK) return sandbox_fail(L, &err);
    lua_pushboolean(L, 1);
    return 1;
}

/* env(names) -> the values of these environment variables as Lua text | nil, text */
static int sandbox_env(lua_State *L) {
    struct vesta_error err;
    char *env;
    int count;
    lua_settop(L, 1);
    char **names = host_words(L, 1, 1, &count);
    if (vs_policy_env((const char *const *)names, count, &env, &err) != VESTA_OK) return sandbox_fail(L, &err);
    lua_pushstring(L, env);
    free(env);
    return 1;
}

/* now_us() -> microseconds since the machine started */
static int sandbox_now_us(lua_State *L) {
    const struct vesta_clock *clock = vs_clock_system();
    lua_pushinteger(L, clock->boot_us(clock->self));
    return 1;
}

/* calm(text, size) -> the text, made safe for one line and cut to less than `size` bytes */
static int sandbox_calm(lua_State *L) {
    char buf[1024];
    size_t length, size = (size_t)luaL_checkinteger(L, 2);
    const char *text = luaL_checklstring(L, 1, &length);
    luaL_argcheck(L, size >= 8 && size <= sizeof buf, 2, "8 to 1024");
    vs_calm(buf, size, text, length);
    lua_pushstring(L, buf);
    return 1;
}

/* read(path, what) -> the contents of a regular file, at most the size of a Lua source | nil, text.  `what` names the
 * contents in messages: "records". */
static int sandbox_read(lua_State *L) {
    const char *path = luaL_checkstring(L, 1), *what = luaL_checkstring(L, 2);
    const struct vs_source source = {lua_pushfstring(L, "the %s", what), path};
    struct vesta_error err;
    size_t length;
    char *text = lua_newuserdatauv(L, VS_SOURCE_BYTES_MAX + 1, 0);
    if (vs_source_read(&source, text, VS_SOURCE_BYTES_MAX + 1, &length, &err) != VESTA_OK) return sandbox_fail(L, &err);
    lua_pushlstring(L, text, length);
    return 1;
}

/* ------------------------------------------------------------------ specs */

/* list(path) -> the names in a folder, sorted, or { "" } for a file | nil, text.  Other file types, such as pipes, are
 * errors, because reading them might never end. */
static int sandbox_list(lua_State *L) {
    const char *path = luaL_checkstring(L, 1);
    struct dirent **entry = NULL;
    struct stat st;
    int count = -1;
    bool is_there = stat(path, &st) == 0;
    if (is_there && S_ISDIR(st.st_mode)) count = scandir(path, &entry, NULL, alphasort);
    if (!is_there || (S_ISDIR(st.st_mode) && count < 0)) {
        const char *why = strerror(errno);
        lua_pushnil(L);
        lua_pushfstring(L, "cannot %s %s: %s", is_there ? "list" : "open", vs_shown_text(path), why);
        return 2;
    }
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)) {
        lua_pushnil(L);
        lua_pushfstring(L, "%s must be a file or a folder", vs_shown_text(path));
        return 2;
    }
    lua_newtable(L);
    for (int i = 0; i < count; i++) {
        lua_pushstring(L, entry[i]->d_name);
        lua_rawseti(L, -2, i + 1);
        free(entry[i]);
    }
    free(entry);
    if (count >= 0) return 1;
    lua_pushliteral(L, "");
    lua_rawseti(L, -2, 1);
    return 1;
}

static int sandbox_say(lua_State *L) {
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    vs_out_write(text, length);
    return 0;
}

static char sandbox_said[512];

static void sandbox_on_timer(int signal) {
    (void)signal;
    ssize_t ignored = write(STDERR_FILENO, sandbox_said, strlen(sandbox_said));
    (void)ignored;
    _exit(1);
}

/* watch(seconds, text): after this much CPU time, prints the text to stderr and ends the program.  With 0 seconds,
 * stops watching. */
static int sandbox_watch(lua_State *L) {
    const struct itimerval timer = {.it_value = {.tv_sec = luaL_checkinteger(L, 1)}};
    const struct sigaction action = {.sa_handler = sandbox_on_timer};
    vs_out_flush(); /* prints the results so far */
    snprintf(sandbox_said, sizeof sandbox_said, "%s", luaL_checkstring(L, 2));
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &timer, NULL);
    return 0;
}

/* Finds the program's modules for specs: vesta.testing and the modules that vesta.testing requires. */
static int sandbox_search(lua_State *L) {
    const char *module = luaL_checkstring(L, 1);
    if (strncmp(module, "vesta.", 6) == 0 && host_load(L, module)) return 1;
    lua_pushfstring(L, "\n\tthe program contains no module '%s'", module);
    return 1;
}

struct specs {
    char **files;
    int passed, failed;
};

static int sandbox_run_specs(lua_State *L) {
    struct specs *specs = lua_touserdata(L, 1);
    luaL_openlibs(L);
    lua_getglobal(L, "table");
    lua_getfield(L, -1, "insert");
    lua_getglobal(L, "package");
    lua_getfield(L, -1, "searchers");
    lua_remove(L, -2);
    lua_pushinteger(L, 2); /* the position before the searchers that read files */
    lua_pushcfunction(L, sandbox_search);
    lua_call(L, 3, 0);
    host_load(L, "cli.lib.policy_specs");
    host_open_sandbox(L);
    lua_call(L, 1, 1);
    for (char **file = specs->files; *file; file++) {
        lua_pushvalue(L, -1);
        lua_pushstring(L, *file);
        lua_call(L, 1, 2);
        specs->passed = (int)lua_tointeger(L, -2);
        specs->failed = (int)lua_tointeger(L, -1);
        lua_pop(L, 2);
    }
    return 0;
}

/* specs(files) -> how many claims passed and failed | nil, text
 * Runs spec files with lua/cli/lib/policy_specs.lua, in a separate Lua state without restrictions. */
static int sandbox_specs(lua_State *L) {
    struct vesta_error err;
    struct specs specs = {.passed = 0};
    int count;
    lua_settop(L, 1);
    specs.files = host_words(L, 1, 1, &count);
    lua_State *own = luaL_newstate();
    if (!own) return luaL_error(L, "no memory");
    lua_pushcfunction(own, sandbox_run_specs);
    lua_pushlightuserdata(own, &specs);
    int rc = lua_pcall(own, 1, 0, 0);
    if (rc != LUA_OK)
        vs_fail(&err, VESTA_EOPTION, "%s",
                lua_type(own, -1) == LUA_TSTRING ? lua_tostring(own, -1) : "an error that is not a text");
    lua_close(own);
    if (rc != LUA_OK) return sandbox_fail(L, &err);
    lua_pushinteger(L, specs.passed);
    lua_pushinteger(L, specs.failed);
    return 2;
}

int host_open_sandbox(lua_State *L) {
    static const luaL_Reg methods[] = {{"call", sandbox_call}, {"__gc", sandbox_close}, {NULL, NULL}};
    static const luaL_Reg functions[] = {
        {"load", sandbox_load},   {"try", sandbox_try}, {"env", sandbox_env},   {"calm", sandbox_calm},
        {"read", sandbox_read},   {"say", sandbox_say}, {"list", sandbox_list}, {"now_us", sandbox_now_us},
        {"specs", sandbox_specs}, {"watch", sandbox_watch}, {NULL, NULL}};
    host_class(L, CLASS, methods);
    luaL_newlib(L, functions);
    return 1;
}
