/* engine.h -- a loaded policy, and the engine in its Lua state.  Shared by this folder's files. */
#ifndef VS_ENGINE_H
#define VS_ENGINE_H

#include "policy/policy.h"
#include "policy/shipped.h"

struct vs_policy {
    struct vs_lua *lua;
    unsigned hooks;        /* bit 1 << enum vs_hook for each function of the policy */
    bool fixed;            /* the policy's worker ids follow from the generator's own properties */
    bool fixed_by_ordinal; /* the same, but only on hosts that have an ordinal */
    vs_heard_fn *heard;
    void *hearer;
};

/* A call of a function of lua/vesta/engine.lua or trial.lua. */
struct vs_engine_call {
    const char *module, *function;
    int (*give)(lua_State *L, void *self); /* pushes the arguments after the policy, and returns their number */
    int results;
    /* the results are those of engine.ask, and the call fails unless they form a verdict */
    bool is_question;
    bool is_garbage; /* set by the call if the result was not a verdict */
    /* reads the results, at stack indexes 1, 2 and so on.  May raise an error */
    void (*take)(lua_State *L, void *self);
    void *self;
};
enum vs_call_result vs_engine_call(const struct vs_policy *policy, struct vs_engine_call *call,
                                   struct vesta_error *err);

/* world.c: pushes the table that engine.load gets as `world`. */
void vs_world_push(lua_State *L, const struct vs_policy *policy);

#endif
