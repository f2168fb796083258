/* engine.h -- a loaded policy, and the engine in its Lua state: shared by the files of this folder. */
#ifndef VS_ENGINE_H
#define VS_ENGINE_H

#include "policy/policy.h"
#include "policy/shipped.h"

struct vs_policy {
    struct vs_lua *lua;
    unsigned hooks; /* 1 << enum vs_hook of its functions */
    bool fixed;     /* its worker ids follow from a generator's own properties ... */
    bool fixed_by_ordinal; /* ... but only those of hosts with an ordinal */
    vs_heard_fn *heard;
    void *hearer;
};

/* A call of a function of lua/vesta/engine.lua or trial.lua. */
struct vs_engine_call {
    const char *module, *function;
    int (*give)(lua_State *L, void *self); /* pushes arguments behind the policy, and returns how many */
    int results;
    bool is_question;                       /* the results are those of engine.ask: all but a verdict fails the call */
    bool is_garbage;                        /* set by the call: the answer was no verdict */
    void (*take)(lua_State *L, void *self); /* reads the results, which are at 1, 2, ... of the stack; may raise */
    void *self;
};
enum vs_call_result vs_engine_call(const struct vs_policy *policy, struct vs_engine_call *call,
                                   struct vesta_error *err);

/* world.c: pushes the table `world` of engine.load. */
void vs_world_push(lua_State *L, const struct vs_policy *policy);

#endif
