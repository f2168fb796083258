/* trial.c -- `vesta policy test`: spec files in a whole Lua of their own, for they are their author's; what they load
 * as a policy runs in the sandbox, within the limits of the server.  The runner itself is trial.lua. */
#include "policy/trial/rows.h"

#include "base/array.h"
#include "base/error.h"

#include <lualib.h>
#include <stdio.h>
#include <string.h>

#define CTX_MAX 32 /* fields of one ctx */

static const char CLASS[] = "vesta.sandboxed";

/* ------------------------------------------------------------------ a policy in its sandbox */

struct sandboxed {
    struct vs_vm *vm; /* of its own: a spec may load as many as it likes, and each begins anew */
    int policy;
    lua_State *L; /* of the spec that asks it just now */
    int log;      /* reference to the spec's function for what it says, or LUA_NOREF */
};

static int close_sandboxed(lua_State *L) {
    struct sandboxed *self = luaL_checkudata(L, 1, CLASS);
    vs_vm_close(self->vm);
    self->vm = NULL;
    luaL_unref(L, LUA_REGISTRYINDEX, self->log);
    self->log = LUA_NOREF;
    return 0;
}

/* The two Luas are two: an error of the spec's function is not the policy's. */
static void hear(void *arg, int policy, const char *said) {
    const struct sandboxed *self = arg;
    (void)policy;
    if (self->log == LUA_NOREF) return;
    lua_rawgeti(self->L, LUA_REGISTRYINDEX, self->log);
    lua_pushstring(self->L, said);
    if (lua_pcall(self->L, 1, 0, 0) != LUA_OK) lua_pop(self->L, 1);
}

static int push_problem(lua_State *L, const struct vesta_error *err) {
    lua_pushstring(L, err->text);
    return 2;
}

static int load(struct sandboxed *self, const char *name, const char *options, const char *env,
                struct vesta_error *err) {
    struct vs_policy_text text = {0};
    int rc = vs_vm_open(NULL, &self->vm, err);
    if (rc == VESTA_OK) vs_vm_listen(self->vm, hear, self);
    if (rc == VESTA_OK) rc = vs_policy_read(name, options, &text, err);
    if (rc == VESTA_OK) rc = vs_policy_grant(&text, env, err);
    if (rc == VESTA_OK) rc = vs_policy_load_text(self->vm, &text, &self->policy, err);
    vs_policy_text_free(&text);
    return rc;
}

/* load(name, options, env, log): the policy, or nil and what is wrong with it. */
static int sandbox_load(lua_State *L) {
    const char *name = luaL_checkstring(L, 1), *options = luaL_checkstring(L, 2), *env = luaL_checkstring(L, 3);
    struct vesta_error err;
    lua_settop(L, 4);
    struct sandboxed *self = lua_newuserdatauv(L, sizeof *self, 0);
    *self = (struct sandboxed){.L = L, .log = LUA_NOREF};
    luaL_setmetatable(L, CLASS);
    lua_pushvalue(L, 4);
    if (lua_isfunction(L, -1))
        self->log = luaL_ref(L, LUA_REGISTRYINDEX);
    else
        lua_pop(L, 1);
    if (load(self, name, options, env, &err) == VESTA_OK) return 1;
    lua_pushnil(L);
    return push_problem(L, &err);
}

static enum vs_hook check_hook(lua_State *L) {
    const char *name = luaL_checkstring(L, 2);
    enum vs_hook hook = vs_hook_named(name);
    if (hook == VS_HOOKS) luaL_error(L, "a policy has no function '%s'", name);
    return hook;
}

static int sandbox_has(lua_State *L) {
    const struct sandboxed *self = luaL_checkudata(L, 1, CLASS);
    lua_pushboolean(L, vs_policy_has(self->vm, self->policy, check_hook(L)));
    return 1;
}

/* { first =, last = } at the top of the stack. */
static void read_range(lua_State *L, struct vs_ctx *field) {
    static const char *const names[] = {"first", "last"};
    int64_t *const ends[] = {&field->integer, &field->last};
    for (size_t i = 0; i < VS_COUNT(names); i++) {
        int whole;
        lua_getfield(L, -1, names[i]);
        *ends[i] = lua_tointegerx(L, -1, &whole);
        if (!whole) luaL_error(L, "ctx.%s.%s must be a whole number", field->name, names[i]);
        lua_pop(L, 1);
    }
    field->kind = VS_CTX_RANGE;
}

#define KEPT 4 /* a table on the stack that keeps rows until the call is over; texts are kept by ctx itself */

/* Of the value at the top of the stack. */
static struct vs_ctx field_of(lua_State *L, const char *name) {
    struct vs_ctx field = {.name = name, .kind = VS_CTX_INTEGER};
    int whole, type = lua_type(L, -1);
    if (type == LUA_TTABLE && vs_ctx_kind_of(name, VS_CTX_RECORDS) == VS_CTX_RANGE) {
        read_range(L, &field);
    } else if (type == LUA_TTABLE) {
        struct vs_records rows;
        vs_rows_read(L, &rows);
        luaL_ref(L, KEPT);
        luaL_ref(L, KEPT);
        field.kind = vs_ctx_kind_of(name, VS_CTX_RECORDS) == VS_CTX_PEERS ? VS_CTX_PEERS : VS_CTX_RECORDS;
        field.records = rows.record, field.peers = rows.peer, field.count = rows.count;
    } else if (type == LUA_TSTRING) {
        field.kind = VS_CTX_TEXT;
        field.text = lua_tostring(L, -1);
    } else {
        field.integer = lua_tointegerx(L, -1, &whole);
        if (!whole) luaL_error(L, "ctx.%s must be a whole number, a text or a list of records", name);
    }
    return field;
}

/* Out of the table at 3. */
static size_t read_ctx(lua_State *L, struct vs_ctx *ctx) {
    size_t count = 0;
    luaL_checktype(L, 3, LUA_TTABLE);
    lua_settop(L, 3);
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, 3); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING || count == CTX_MAX) luaL_error(L, "ctx has at most %d names", CTX_MAX);
        ctx[count++] = field_of(L, lua_tostring(L, -2));
    }
    return count;
}

/* ask(policy, hook, ctx): true, word, milliseconds, reason; or false and what is wrong. */
static int sandbox_ask(lua_State *L) {
    struct sandboxed *self = luaL_checkudata(L, 1, CLASS);
    enum vs_hook hook = check_hook(L);
    struct vs_ctx ctx[CTX_MAX];
    struct vs_verdict verdict;
    struct vesta_error err;
    const struct vs_hook_input input = {hook, ctx, read_ctx(L, ctx)};
    self->L = L;
    enum vs_call_result result = vs_policy_call(self->vm, self->policy, &input, &verdict, &err);
    lua_pushboolean(L, result == VS_CALL_OK);
    if (result != VS_CALL_OK) return push_problem(L, &err);
    if (verdict.kind == VS_VERDICT_WORKER)
        lua_pushinteger(L, (lua_Integer)verdict.worker);
    else if (verdict.kind == VS_VERDICT_NOTHING)
        lua_pushnil(L);
    else
        lua_pushstring(L, vs_verdict_name(verdict.kind));
    lua_pushnil(L);
    if (verdict.amount_ms >= 0) {
        lua_pushinteger(L, verdict.amount_ms);
        lua_replace(L, -2);
    }
    lua_pushstring(L, *verdict.reason ? verdict.reason : NULL);
    return 4;
}

/* ------------------------------------------------------------------ the Lua that specs run in */

static int sandbox_say(lua_State *L) {
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    vs_say_fn *say = *(vs_say_fn **)lua_touserdata(L, lua_upvalueindex(1));
    say(text, length);
    return 0;
}

static const struct vs_shipped *trial_text(const char *name) {
    const struct vs_shipped *at = vs_shipped_trials;
    while (strcmp(at->name, name) != 0)
        at++;
    return at;
}

/* package.preload["vesta.NAME"] */
static void preload(lua_State *L, const char *module, const struct vs_shipped *shipped) {
    if (luaL_loadbufferx(L, shipped->text, shipped->length, lua_pushfstring(L, "=%s", module), "t") != LUA_OK)
        lua_error(L);
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_pushvalue(L, -2);
    lua_setfield(L, -2, module);
    lua_pop(L, 3);
}

static void push_sandbox(lua_State *L, vs_say_fn *say) {
    static const luaL_Reg functions[] = {
        {"load", sandbox_load}, {"has", sandbox_has}, {"ask", sandbox_ask}, {NULL, NULL}};
    luaL_newmetatable(L, CLASS);
    lua_pushcfunction(L, close_sandboxed);
    lua_setfield(L, -2, "__gc");
    lua_pop(L, 1);
    luaL_newlib(L, functions);
    *(vs_say_fn **)lua_newuserdatauv(L, sizeof say, 0) = say;
    lua_pushcclosure(L, sandbox_say, 1);
    lua_setfield(L, -2, "say");
}

static int trial_body(lua_State *L) {
    struct vs_trial *trial = lua_touserdata(L, 1);
    const struct vs_shipped *runner = trial_text("trial");
    luaL_openlibs(L);
    preload(L, "vesta.nearest", trial_text("nearest"));
    preload(L, "vesta.hooks", trial_text("hooks"));
    preload(L, "vesta.policy", trial_text("policy"));
    preload(L, "vesta.testing", trial_text("testing"));
    preload(L, "vesta.policy.helpers", vs_shipped_find("helpers"));
    if (luaL_loadbufferx(L, runner->text, runner->length, "=trial", "t") != LUA_OK) return lua_error(L);
    push_sandbox(L, trial->say);
    lua_call(L, 1, 1);
    for (int i = 0; i < trial->count; i++) {
        lua_pushvalue(L, -1);
        lua_pushstring(L, trial->files[i]);
        lua_call(L, 1, 2);
        trial->passed = (int)lua_tointeger(L, -2);
        trial->failed = (int)lua_tointeger(L, -1);
        lua_pop(L, 2);
    }
    return 0;
}

int vs_trial_run(struct vs_trial *trial, struct vesta_error *err) {
    lua_State *L = luaL_newstate();
    if (!L) return vs_fail(err, VESTA_ENOMEM, "no memory");
    lua_pushcfunction(L, trial_body);
    lua_pushlightuserdata(L, trial);
    int rc = VESTA_OK;
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
        const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "an error that is not a text";
        rc = vs_fail(err, VESTA_ENOMEM, "%s", text);
    }
    lua_close(L);
    return rc;
}
