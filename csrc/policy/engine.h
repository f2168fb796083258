/* engine.h -- a loaded policy, and the engine in its Lua state.  Shared by the files of this folder. */
#ifndef VS_ENGINE_H
#define VS_ENGINE_H

#include "policy/policy.h"
#include "policy/shipped.h"

struct vs_policy {
    struct vs_lua *lua;
    unsigned hooks;        /* 1 << enum vs_hook for each function that it has */
    bool fixed;            /* its worker ids follow from the generator's own properties */
    bool fixed_by_ordinal; /* ... but only on hosts with an ordinal */
    vs_heard_fn *heard;
    void *hearer;
};

/* A call of a function of lua/vesta/engine.lua or trial.lua. */
struct vs_engine_call {
    const char *module, *function;
    int (*give)(lua_State *L, void *self); /* pushes the arguments after the policy, and returns their number */
    int results;
    bool is_question;                       /* the results are those of engine.ask: the call fails unless they are a
                                               verdict */
    bool is_garbage;                        /* set by the call: the result was not a verdict */
    void (*take)(lua_State *L, void *self); /* reads the results, at stack index 1, 2 and so on.  May raise */
    void *self;
};
enum vs_call_result vs_engine_call(const struct vs_policy *policy, struct vs_engine_call *call,
                                   struct vesta_error *err);

/* world.c: pushes the table `world` of engine.load. */
void vs_world_push(lua_State *L, const struct vs_policy *policy);

#endif
