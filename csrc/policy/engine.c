/* engine.c -- runs lua/vesta/engine.lua in a Lua state with limits: opens the state, loads a policy, and calls its
 * functions. Does not interpret verdicts.  The engine runs within the policy's limits.  The policy has separate
 * globals, and cannot access those of the engine. */
#include "policy/engine.h"

#include "base/error.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* registry keys of the policy's table, and of results for another state */
static const char policy_key = 0, answer_key = 0;

/* ------------------------------------------------------------------ modules */

#define MODULES_MAX 8

/* Modules that were compiled for the first policy.  Later policies reuse them, because compiling takes most of the time
 * of opening a state.  Rows are added and never change. */
static struct {
    pthread_mutex_t lock;
    size_t count;
    struct vs_shipped row[MODULES_MAX];
} compiled = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const struct vs_shipped *engine_find_compiled(const char *name) {
    const struct vs_shipped *found = NULL;
    pthread_mutex_lock(&compiled.lock);
    for (size_t i = 0; i < compiled.count && !found; i++)
        if (strcmp(compiled.row[i].name, name) == 0) found = &compiled.row[i];
    pthread_mutex_unlock(&compiled.lock);
    return found;
}

static int engine_add_bytes(lua_State *L, const void *bytes, size_t length, void *self) {
    struct vs_shipped *made = self;
    char *more = realloc((char *)made->text, made->length + length);
    (void)L;
    if (!more) return 1;
    memcpy(more + made->length, bytes, length);
    made->text = more;
    made->length += length;
    return 0;
}

/* Stores the compiled function at the top of the stack for later policies.  If memory is exhausted, it stores nothing.
 * Line numbers are stored only for modules that a policy's errors can name. */
static void engine_keep_compiled(lua_State *L, const char *name) {
    struct vs_shipped made = {.name = name};
    bool is_whole =
        lua_dump(L, engine_add_bytes, &made, strcmp(name, "helpers") != 0) == 0 && !engine_find_compiled(name);
    pthread_mutex_lock(&compiled.lock);
    if (is_whole && compiled.count < MODULES_MAX)
        compiled.row[compiled.count++] = made;
    else
        free((char *)made.text);
    pthread_mutex_unlock(&compiled.lock);
}

/* Pushes a module's function. */
static void engine_load_module(lua_State *L, const char *name) {
    const struct vs_shipped *text = engine_find_compiled(name);
    if (text) {
        int rc = luaL_loadbufferx(L, text->text, text->length, name, "b");
        vs_lua_go_on(L, rc);
        if (rc != LUA_OK) lua_error(L);
        return;
    }
    text = vs_shipped_in(vs_shipped_engine, name);
    bool is_helpers = !text;
    if (is_helpers) text = vs_shipped_in(vs_shipped, "helpers");
    lua_pushglobaltable(L);
    vs_lua_compile(L, text->text, text->length, is_helpers ? "@helpers.lua" : VS_LUA_OWN_CHUNK);
    engine_keep_compiled(L, text->name);
}

/* Implements require("vesta.policy.helpers").  The part after the last dot is the module's name. */
static int engine_require(lua_State *L) {
    const char *module = luaL_checkstring(L, 1), *dot = strrchr(module, '.');
    lua_settop(L, 1);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    if (lua_getfield(L, 2, module) != LUA_TNIL) return 1;
    engine_load_module(L, dot + 1);
    lua_call(L, 0, 1);
    lua_pushvalue(L, -1);
    lua_setfield(L, 2, module);
    return 1;
}

static void engine_push(lua_State *L, const char *module, const char *function) {
    lua_pushcfunction(L, engine_require);
    lua_pushstring(L, module);
    lua_call(L, 1, 1);
    lua_getfield(L, -1, function);
    lua_remove(L, -2);
}

/* Implements engine.compile(text, chunk, env). */
static int engine_compile(lua_State *L) {
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length), *chunk = luaL_checkstring(L, 2);
    lua_settop(L, 3);
    vs_lua_compile(L, text, length, chunk);
    return 1;
}

static int engine_call_enclosed(lua_State *L) {
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

/* The argument of engine.set_enclose. */
static int engine_enclose(lua_State *L) {
    lua_settop(L, 1);
    lua_pushcclosure(L, engine_call_enclosed, 1);
    return 1;
}

static int engine_boot(lua_State *L) {
    vs_sandbox_open(L);
    lua_pushcfunction(L, engine_require);
    lua_setglobal(L, "require");
    lua_getglobal(L, "require");
    lua_pushliteral(L, "vesta.engine");
    lua_call(L, 1, 1);
    lua_pushcfunction(L, engine_compile);
    lua_setfield(L, -2, "compile");
    lua_getfield(L, -1, "set_enclose");
    lua_pushcfunction(L, engine_enclose);
    lua_call(L, 1, 0);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_pushnil(L);
    /* the engine has already read this module, and the state should be small because each policy has one */
    lua_setfield(L, -2, "vesta.hooks");
    lua_pop(L, 1);
    lua_pushliteral(L, ""); /* so that methods of strings, as in ("x"):rep(2), use the guarded library */
    lua_getmetatable(L, -1);
    lua_getfield(L, -3, "libraries");
    lua_getfield(L, -1, "string");
    lua_setfield(L, -3, "__index");
    return 0;
}

/* ------------------------------------------------------------------ loading */

struct engine_load {
    struct vs_policy *policy;
    const struct vs_policy_text *text;
    const struct vs_policy_opts *opts;
};

static void engine_push_data(lua_State *L, const struct vs_policy_opts *opts, int index, const char *text) {
    if (opts->from)
        vs_lua_carry(opts->from, index, L);
    else
        lua_pushstring(L, text); /* pushes nil if text is NULL */
}

/* Pushes the argument `source` of engine.load. */
static void engine_push_source(lua_State *L, const struct engine_load *load) {
    lua_createtable(L, 0, 4);
    lua_pushstring(L, load->text->chunk);
    lua_setfield(L, -2, "chunk");
    lua_pushlstring(L, load->text->text, load->text->length);
    lua_setfield(L, -2, "text");
    engine_push_data(L, load->opts, load->opts->options, load->text->options);
    lua_setfield(L, -2, "options");
    engine_push_data(L, load->opts, load->opts->env, load->text->env);
    lua_setfield(L, -2, "env");
}

static int engine_load_body(lua_State *L) {
    const struct engine_load *load = lua_touserdata(L, 1);
    engine_push(L, "vesta.engine", "load");
    engine_push_source(L, load);
    vs_world_push(L, load->policy);
    lua_call(L, 2, 1);
    lua_getfield(L, 2, "fixed");
    load->policy->fixed = lua_toboolean(L, -1);
    load->policy->fixed_by_ordinal = lua_type(L, -1) == LUA_TSTRING;
    lua_getfield(L, 2, "functions");
    for (int hook = 0; hook < VS_HOOKS; hook++)
        if (lua_getfield(L, 4, vs_hook_name((enum vs_hook)hook)) != LUA_TNIL) load->policy->hooks |= 1U << hook;
    lua_settop(L, 2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &policy_key);
    return 0;
}

int vs_policy_open(const struct vs_policy_text *text, const struct vs_policy_opts *opts, struct vs_policy **out,
                   struct vesta_error *err) {
    static const struct vs_policy_opts none;
    struct vs_policy *policy = calloc(1, sizeof *policy);
    struct engine_load load = {policy, text, opts ? opts : &none};
    struct vesta_error why = {0};
    if (!policy) return vs_fail(err, VESTA_ENOMEM, "no memory");
    vs_policy_listen(policy, load.opts->heard, load.opts->self);
    int rc = vs_lua_open(load.opts->limits, &policy->lua, err);
    if (rc == VESTA_OK) rc = vs_lua_boot(policy->lua, engine_boot, NULL, err);
    if (rc == VESTA_OK && vs_lua_run(policy->lua, engine_load_body, &load, &why) != VS_CALL_OK)
        rc = vs_fail(err, why.code, "%s", why.text);
    if (rc == VESTA_OK)
        *out = policy;
    else
        vs_policy_close(policy);
    return rc;
}

void vs_policy_close(struct vs_policy *policy) {
    if (!policy) return;
    vs_lua_close(policy->lua);
    free(policy);
}

void vs_policy_listen(struct vs_policy *policy, vs_heard_fn *heard, void *self) {
    policy->heard = heard;
    policy->hearer = self;
}

bool vs_policy_has(const struct vs_policy *policy, enum vs_hook hook) {
    return policy->hooks & 1U << hook;
}

bool vs_policy_is_fixed(const struct vs_policy *policy, bool has_ordinal) {
    return policy->fixed && (has_ordinal || !policy->fixed_by_ordinal);
}

/* ------------------------------------------------------------------ calling */

static int engine_call_body(lua_State *L) {
    struct vs_engine_call *call = lua_touserdata(L, 1);
    lua_settop(L, 0);
    engine_push(L, call->module, call->function);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &policy_key);
    lua_call(L, 1 + call->give(L, call->self), call->results);
    if (call->is_question && !lua_toboolean(L, 1)) {
        call->is_garbage = lua_isboolean(L, 1);
        lua_settop(L, 2);
        return lua_error(L);
    }
    call->take(L, call->self);
    return 0;
}

enum vs_call_result vs_engine_call(const struct vs_policy *policy, struct vs_engine_call *call,
                                   struct vesta_error *err) {
    enum vs_call_result result = vs_lua_run(policy->lua, engine_call_body, call, err);
    return result == VS_CALL_ERROR && call->is_garbage ? VS_CALL_GARBAGE : result;
}

/* ------------------------------------------------------------------ for another Lua state */

static int engine_give_values(lua_State *L, void *self) {
    const struct vs_policy_question *question = self;
    luaL_checkstack(L, question->count, NULL);
    for (int i = 0; i < question->count; i++)
        vs_lua_carry(question->from, question->first + i, L);
    return question->count;
}

/* Stores the results in a table that outlives the run. */
static void engine_take_values(lua_State *L, void *self) {
    int count = lua_gettop(L);
    (void)self;
    lua_createtable(L, count, 0);
    for (int i = 1; i <= count; i++) {
        lua_pushvalue(L, i);
        lua_rawseti(L, -2, i);
    }
    lua_pushinteger(L, count);
    lua_setfield(L, -2, "n");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &answer_key);
}

enum vs_call_result vs_policy_ask(struct vs_policy *policy, const struct vs_policy_question *asked,
                                  struct vesta_error *err) {
    struct vs_engine_call call = {.module = "vesta.engine",
                                  .function = asked->function,
                                  .give = engine_give_values,
                                  .results = LUA_MULTRET,
                                  .is_question = strcmp(asked->function, "ask") == 0,
                                  .take = engine_take_values,
                                  .self = (void *)asked};
    int top = lua_gettop(asked->from);
    enum vs_call_result result = vs_engine_call(policy, &call, err);
    lua_settop(asked->from, top); /* a failed run may have left values on the stack */
    if (result != VS_CALL_OK) return result;
    lua_State *L = vs_lua_state(policy->lua);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &answer_key);
    vs_lua_carry(L, -1, asked->from);
    lua_pop(L, 1);
    return result;
}
