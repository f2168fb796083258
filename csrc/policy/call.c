/* call.c -- calls a policy's function from C: builds ctx, and reads the verdict that the engine has checked.  Depends
 * only on the names of the verdicts, and carries out no verdict. */
#include "policy/engine.h"

#include "base/array.h"
#include "base/error.h"
#include "base/slice.h"

#include <assert.h>
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

#define HOOK(upper, name, verdicts, fixed) [VS_##upper] = {name, verdicts},
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

/* ------------------------------------------------------------------ ctx */

static void call_set_integer(lua_State *L, const char *name, int64_t value) {
    lua_pushinteger(L, value);
    lua_setfield(L, -2, name);
}

static void call_set_text(lua_State *L, const char *name, const char *value) {
    lua_pushstring(L, value); /* pushes nil if value is NULL */
    lua_setfield(L, -2, name);
}

static void call_set_flag(lua_State *L, const char *name, bool value) {
    lua_pushboolean(L, value);
    lua_setfield(L, -2, name);
}

#define SET_NUMBER(L, name, value) call_set_integer(L, name, (int64_t)(value))
#define SET_MOMENT(L, name, value) call_set_integer(L, name, value)
#define SET_TEXT(L, name, value) call_set_text(L, name, value)
#define SET_FLAG(L, name, value) call_set_flag(L, name, value)
#define SET_MEMBER(kind, member) SET_##kind(L, #member, record->member);

static void call_push_record(lua_State *L, const struct vesta_record *record) {
    lua_newtable(L);
    VS_RECORD_ROWS(SET_MEMBER)
}

static void call_push_peer(lua_State *L, const struct vs_ctx_peer *peer) {
    lua_createtable(L, 0, 2);
    call_set_integer(L, "worker", (int64_t)peer->worker);
    call_set_integer(L, "seen_ms", peer->seen_ms);
}

static void call_push_range(lua_State *L, const struct vs_ctx *field) {
    lua_createtable(L, 0, 2);
    call_set_integer(L, "first", field->integer);
    call_set_integer(L, "last", field->last);
}

static void call_push_value(lua_State *L, const struct vs_ctx *field) {
    switch (field->kind) {
    case VS_CTX_INTEGER: lua_pushinteger(L, field->integer); return;
    case VS_CTX_TEXT: lua_pushstring(L, field->text); return;
    case VS_CTX_RANGE: call_push_range(L, field); return;
    case VS_CTX_RECORDS:
    case VS_CTX_PEERS: break;
    }
    lua_createtable(L, (int)field->count, 0);
    for (size_t i = 0; i < field->count; i++) {
        if (field->kind == VS_CTX_RECORDS)
            call_push_record(L, &field->records[i]);
        else
            call_push_peer(L, &field->peers[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

/* ------------------------------------------------------------------ the call */

struct call_call {
    const struct vs_hook_input *input;
    struct vs_verdict verdict;
};

static int call_give_ctx(lua_State *L, void *self) {
    const struct vs_hook_input *input = ((const struct call_call *)self)->input;
    lua_pushstring(L, hooks[input->hook].name);
    lua_createtable(L, 0, (int)input->count + 1);
    for (size_t i = 0; i < input->count; i++) {
        call_push_value(L, &input->ctx[i]);
        lua_setfield(L, -2, input->ctx[i].name);
    }
    return 2;
}

static enum vs_verdict_kind call_kind_of(lua_State *L) {
    unsigned word = 0;
    if (lua_isnil(L, 2)) return VS_VERDICT_NOTHING;
    if (lua_type(L, 2) == LUA_TNUMBER) return VS_VERDICT_WORKER;
    while (strcmp(names[word], lua_tostring(L, 2)) != 0)
        word++;
    return (enum vs_verdict_kind)word;
}

/* engine.ask returns true, the verdict's word, milliseconds, and the reason. */
static void call_take_verdict(lua_State *L, void *self) {
    struct call_call *call = self;
    size_t length;
    call->verdict.kind = call_kind_of(L);
    if (call->verdict.kind == VS_VERDICT_WORKER) call->verdict.worker = (uint64_t)lua_tointeger(L, 2);
    call->verdict.amount_ms = lua_isnil(L, 3) ? -1 : lua_tointeger(L, 3);
    const char *reason = luaL_optlstring(L, 4, "", &length);
    vs_calm(call->verdict.reason, sizeof call->verdict.reason, reason, length);
}

enum vs_call_result vs_policy_call(struct vs_policy *policy, const struct vs_hook_input *input,
                                   struct vs_verdict *verdict, struct vesta_error *err) {
    assert(vs_policy_has(policy, input->hook));
    struct call_call call = {.input = input};
    struct vs_engine_call ask = {.module = "vesta.engine",
                                 .function = "ask",
                                 .give = call_give_ctx,
                                 .results = 4,
                                 .is_question = true,
                                 .take = call_take_verdict,
                                 .self = &call};
    enum vs_call_result result = vs_engine_call(policy, &ask, err);
    if (result == VS_CALL_OK) *verdict = call.verdict;
    return result;
}

/* ------------------------------------------------------------------ before a policy is put to work */

struct call_rehearsal {
    int situation; /* starts at 1 */
    const char *namespace_;
    int64_t now_ms;
    bool is_over, has_function;
    char sentence[128];
};

static int call_give_situation(lua_State *L, void *self) {
    const struct call_rehearsal *rehearsal = self;
    lua_pushinteger(L, rehearsal->situation);
    lua_pushstring(L, rehearsal->namespace_);
    lua_pushinteger(L, rehearsal->now_ms);
    return 3;
}

static void call_take_situation(lua_State *L, void *self) {
    struct call_rehearsal *rehearsal = self;
    size_t length;
    rehearsal->is_over = lua_isnil(L, 1);
    rehearsal->has_function = lua_type(L, 1) == LUA_TSTRING;
    if (!rehearsal->has_function) return;
    const char *sentence = lua_tolstring(L, 1, &length);
    vs_calm(rehearsal->sentence, sizeof rehearsal->sentence, sentence, length);
}

static int call_give_nothing(lua_State *L, void *self) {
    (void)L, (void)self;
    return 0;
}

static void call_take_nothing(lua_State *L, void *self) {
    (void)L, (void)self;
}

static int call_rehearse(const struct vs_policy *policy, struct call_rehearsal *rehearsal, struct vesta_error *err) {
    struct vs_engine_call prepare = {.module = "vesta.trial",
                                     .function = "prepare",
                                     .give = call_give_situation,
                                     .results = 1,
                                     .take = call_take_situation,
                                     .self = rehearsal};
    struct vs_engine_call perform = {.module = "vesta.trial",
                                     .function = "perform",
                                     .give = call_give_nothing,
                                     .results = 2,
                                     .is_question = true,
                                     .take = call_take_nothing};
    struct vesta_error why = {0};
    if (vs_engine_call(policy, &prepare, err) != VS_CALL_OK) return err->code;
    if (!rehearsal->has_function) return VESTA_OK;
    enum vs_call_result result = vs_engine_call(policy, &perform, &why);
    if (result == VS_CALL_OK) return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION, "%s (%s): %s", rehearsal->sentence, vs_call_result_name(result), why.text);
}

int vs_policy_try(const struct vs_policy_text *text, const char *namespace_, int64_t now_ms, struct vesta_error *err) {
    struct vs_policy *policy;
    struct call_rehearsal rehearsal = {.situation = 1, .namespace_ = namespace_, .now_ms = now_ms};
    int rc = vs_policy_open(text, NULL, &policy, err);
    if (rc != VESTA_OK) return rc;
    for (; rc == VESTA_OK && !rehearsal.is_over; rehearsal.situation++)
        rc = call_rehearse(policy, &rehearsal, err);
    vs_policy_close(policy);
    return rc;
}
