/* call.c -- a call of a policy's function: ctx goes in, a verdict comes out, and anything else is garbage.  Knows the
 * words of verdicts, not what is done about them. */
#include "policy/loaded.h"

#include "base/array.h"
#include "base/error.h"
#include "base/slice.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ names */

static const char *const result_names[] = {[VS_CALL_OK] = "ok",
                                           [VS_CALL_ERROR] = "error",
                                           [VS_CALL_GARBAGE] = "garbage",
                                           [VS_CALL_TIME] = "time",
                                           [VS_CALL_INSTRUCTIONS] = "instructions",
                                           [VS_CALL_MEMORY] = "memory"};
_Static_assert(VS_COUNT(result_names) == VS_CALL_RESULTS, "each result has a name");

#define NAMED(upper, name) [VS_VERDICT_##upper] = name,
static const char *const names[] = {
    [VS_VERDICT_NOTHING] = "nothing", [VS_VERDICT_WORKER] = "worker", VS_VERDICT_ROWS(NAMED)};

#define HOOK(upper, name, verdicts) [VS_##upper] = {name, verdicts},
static const struct { const char *name, *verdicts; } hooks[] = {VS_HOOK_ROWS(HOOK)};

const char *vs_call_result_name(enum vs_call_result result) {
    return (unsigned)result < VS_COUNT(result_names) ? result_names[result] : "unknown";
}

const char *vs_verdict_name(enum vs_verdict_kind kind) {
    return (unsigned)kind < VS_COUNT(names) ? names[kind] : "unknown";
}

const char *vs_verdict_name_of(enum vs_hook hook, enum vs_verdict_kind kind) {
    const char *name = vs_verdict_name(kind), *verdicts = hooks[hook].verdicts;
    bool is_number = kind == VS_VERDICT_NOTHING || kind == VS_VERDICT_WORKER;
    bool may = *verdicts ? vs_slice_place((struct vs_slice){name, strlen(name)}, verdicts, ' ') >= 0 : is_number;
    return may ? name : NULL;
}

const char *vs_hook_name(enum vs_hook hook) {
    return (unsigned)hook < VS_HOOKS ? hooks[hook].name : "unknown";
}

enum vs_hook vs_hook_named(const char *name) {
    int hook = 0;
    while (hook < VS_HOOKS && strcmp(hooks[hook].name, name) != 0)
        hook++;
    return (enum vs_hook)hook;
}

/* ------------------------------------------------------------------ ctx */

static void set_integer(lua_State *L, const char *name, int64_t value) {
    lua_pushinteger(L, value);
    lua_setfield(L, -2, name);
}

static void set_text(lua_State *L, const char *name, const char *value) {
    lua_pushstring(L, value); /* nil for NULL */
    lua_setfield(L, -2, name);
}

static void set_flag(lua_State *L, const char *name, bool value) {
    lua_pushboolean(L, value);
    lua_setfield(L, -2, name);
}

#define SET_NUMBER(L, name, value) set_integer(L, name, (int64_t)(value))
#define SET_MOMENT(L, name, value) set_integer(L, name, value)
#define SET_TEXT(L, name, value) set_text(L, name, value)
#define SET_FLAG(L, name, value) set_flag(L, name, value)
#define SET_MEMBER(kind, member) SET_##kind(L, #member, record->member);

static void push_record(lua_State *L, const struct vs_ctx_record *record) {
    lua_newtable(L);
    VS_RECORD_ROWS(SET_MEMBER)
}

static void push_peer(lua_State *L, const struct vs_ctx_peer *peer) {
    lua_createtable(L, 0, 2);
    set_integer(L, "worker", (int64_t)peer->worker);
    set_integer(L, "seen_ms", peer->seen_ms);
}

static void push_range(lua_State *L, const struct vs_ctx *field) {
    lua_createtable(L, 0, 2);
    set_integer(L, "first", field->integer);
    set_integer(L, "last", field->last);
}

static void push_value(lua_State *L, const struct vs_ctx *field) {
    switch (field->kind) {
    case VS_CTX_MOMENT:
    case VS_CTX_INTEGER: lua_pushinteger(L, field->integer); return;
    case VS_CTX_TEXT: lua_pushstring(L, field->text); return;
    case VS_CTX_RANGE: push_range(L, field); return;
    case VS_CTX_RECORDS:
    case VS_CTX_PEERS: break;
    }
    lua_createtable(L, (int)field->count, 0);
    for (size_t i = 0; i < field->count; i++) {
        if (field->kind == VS_CTX_RECORDS)
            push_record(L, &field->records[i]);
        else
            push_peer(L, &field->peers[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

/* ------------------------------------------------------------------ the verdict */

struct call {
    const struct vs_policy *policy;
    const struct vs_hook_input *input;
    bool garbage;
    struct vs_verdict verdict;
};

/* Raises: what stands at `at` is no verdict. */
static void garbage(lua_State *L, struct call *call, int at, const char *expected) {
    lua_Debug ar;
    size_t length;
    char quoted[VS_QUOTE_MAX];
    call->garbage = true;
    lua_rawgeti(L, LUA_REGISTRYINDEX, call->policy->hook[call->input->hook]);
    lua_getinfo(L, ">S", &ar);
    const char *value = luaL_typename(L, at);
    if (lua_type(L, at) == LUA_TNUMBER)
        value = luaL_tolstring(L, at, NULL);
    else if (lua_type(L, at) == LUA_TSTRING) {
        value = lua_tolstring(L, at, &length);
        value = lua_pushfstring(L, "'%s'", vs_quote(quoted, value, length));
    }
    luaL_error(L, "%s:%d: %s answered %s; expected: %s", ar.short_src, ar.linedefined, vs_hook_name(call->input->hook),
               value, expected);
}

/* "expected: 'wait', 'borrow' or 'refuse'" */
static void no_verdict(lua_State *L, struct call *call, int at) {
    char listed[160] = "";
    for (const char *word = hooks[call->input->hook].verdicts; *word;
         word += strcspn(word, " "), word += *word == ' ') {
        int length = (int)strcspn(word, " ");
        size_t used = strlen(listed);
        const char *gap = used == 0 ? "" : word[length] ? ", " : " or ";
        snprintf(listed + used, sizeof listed - used, "%s'%.*s'", gap, length, word);
    }
    garbage(L, call, at, listed);
}

static void read_worker(lua_State *L, struct call *call, int at) {
    int whole;
    lua_Integer worker = lua_tointegerx(L, at, &whole);
    if (lua_isnil(L, at)) {
        call->verdict.kind = VS_VERDICT_NOTHING;
        return;
    }
    if (lua_type(L, at) != LUA_TNUMBER || !whole || worker < 0)
        garbage(L, call, at, "a worker number of 0 or more, or nil and a reason");
    call->verdict.kind = VS_VERDICT_WORKER;
    call->verdict.worker = (uint64_t)worker;
}

static void read_word(lua_State *L, struct call *call, int at) {
    struct vs_slice said = {"", 0};
    unsigned word = 0;
    if (lua_type(L, at) == LUA_TSTRING) said.at = lua_tolstring(L, at, &said.length);
    while (word < VS_COUNT(names) && !vs_slice_is(said, names[word]))
        word++;
    if (word == VS_COUNT(names) || vs_slice_place(said, hooks[call->input->hook].verdicts, ' ') < 0)
        no_verdict(L, call, at);
    call->verdict.kind = (enum vs_verdict_kind)word;
}

/* A value behind the word: for how long to wait or how far to borrow, or why. */
static void read_more(lua_State *L, struct call *call, int at) {
    struct vs_verdict *verdict = &call->verdict;
    size_t length;
    lua_Number amount_ms = lua_tonumber(L, at);
    if (lua_isnil(L, at)) return;
    if (lua_type(L, at) == LUA_TSTRING) {
        const char *text = lua_tolstring(L, at, &length);
        vs_calm(verdict->reason, sizeof verdict->reason, text, length);
    } else if (verdict->kind != VS_VERDICT_WAIT && verdict->kind != VS_VERDICT_BORROW) {
        garbage(L, call, at, "a text after the first value: why");
    } else if (lua_type(L, at) != LUA_TNUMBER || !(amount_ms >= 0 && amount_ms < (lua_Number)VS_AMOUNT_MS_MAX + 1)) {
        garbage(L, call, at, "a number of milliseconds from 0 to a day after 'wait' and 'borrow', or a text: why");
    } else {
        verdict->amount_ms = (int64_t)amount_ms;
    }
}

/* What was given, made anew, so that no call sees what another did to it; and the defaults of what was not. */
static void push_options(lua_State *L, const struct vs_policy *policy) {
    if (policy->options == LUA_NOREF) {
        lua_newtable(L);
    } else {
        lua_rawgeti(L, LUA_REGISTRYINDEX, policy->options);
        lua_call(L, 0, 1);
    }
    if (policy->whole == LUA_NOREF) return;
    int options = lua_gettop(L), whole = options + 1;
    lua_rawgeti(L, LUA_REGISTRYINDEX, policy->whole);
    for (lua_pushnil(L); lua_next(L, whole); lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        if (lua_rawget(L, options) == LUA_TNIL) {
            lua_pushvalue(L, -3);
            lua_pushvalue(L, -3);
            lua_rawset(L, options);
        }
        lua_pop(L, 1);
    }
    lua_settop(L, options);
}

static int call_body(lua_State *L) {
    struct call *call = lua_touserdata(L, 1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, call->policy->hook[call->input->hook]);
    lua_createtable(L, 0, (int)call->input->count + 1);
    for (size_t i = 0; i < call->input->count; i++) {
        if (call->input->ctx[i].is_nil) continue;
        push_value(L, &call->input->ctx[i]);
        lua_setfield(L, -2, call->input->ctx[i].name);
    }
    push_options(L, call->policy);
    lua_setfield(L, -2, "options");
    lua_call(L, 1, 3); /* to 2, 3 and 4: the argument is below */
    call->verdict.amount_ms = -1;
    if (!*hooks[call->input->hook].verdicts)
        read_worker(L, call, 2);
    else
        read_word(L, call, 2);
    read_more(L, call, 3);
    read_more(L, call, 4);
    return 0;
}

enum vs_call_result vs_policy_call(struct vs_vm *vm, int policy, const struct vs_hook_input *input,
                                   struct vs_verdict *verdict, struct vesta_error *err) {
    assert(vs_policy_has(vm, policy, input->hook));
    struct call call = {.policy = vm->policy[policy], .input = input};
    enum vs_call_result result = vs_lua_run(call.policy->lua, call_body, &call, err);
    if (result == VS_CALL_ERROR && call.garbage) return VS_CALL_GARBAGE;
    if (result == VS_CALL_OK) *verdict = call.verdict;
    return result;
}
