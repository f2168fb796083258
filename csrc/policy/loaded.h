/* loaded.h -- what policy.c and call.c share: a loaded policy. */
#ifndef VS_LOADED_H
#define VS_LOADED_H

#include "policy/policy.h"
#include "policy/shipped.h"

struct vs_policy {
    struct vs_lua *lua;
    int hook[VS_HOOKS];     /* references to its functions, LUA_NOREF where it has none */
    int rules;              /* reference to the options that it declares, or LUA_NOREF */
    bool fixed;             /* its numbers follow from what a generator is */
    int options;            /* reference to a function that makes what was given of ctx.options anew, or LUA_NOREF */
    int whole;              /* reference to all of them, with defaults, where it declares any, or LUA_NOREF */
    const struct vs_vm *vm; /* it is one of: */
    int index;
};

struct vs_vm {
    struct vs_vm_limits limits;
    vs_heard_fn *heard; /* what policies say; NULL: nobody listens */
    void *hearer;
    int count;
    struct vs_policy **policy; /* each stays where it is: its Lua state knows it */
};

/* world.c: log, env and localtime, for vs_sandbox_push; whose they are is set before, with its environment, which is
 * the table at the top of the stack that is taken away, or nil. */
extern const luaL_Reg vs_world[];
void vs_world_set(lua_State *L, const struct vs_policy *policy);

#endif
