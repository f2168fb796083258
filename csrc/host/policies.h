/* policies.h -- what policy.c and call.c share: a loaded policy. */
#ifndef VS_POLICIES_H
#define VS_POLICIES_H

#include "host/vm.h"

#include <stdatomic.h>

struct vs_policy {
    struct vs_lua *lua;
    int hook[VS_HOOKS]; /* references to its functions, LUA_NOREF where it has none */
    int options;        /* reference to a function that makes ctx.options anew, or LUA_NOREF */
};

struct vs_vm {
    struct vs_vm_limits limits;
    _Atomic int64_t busy_since_boot_us;
    int count;
    struct vs_policy policy[VS_POLICIES_MAX];
};

/* vs_lua_run, seen by the watchdog. */
enum vs_call_result vs_vm_run(struct vs_vm *vm, struct vs_lua *lua, lua_CFunction body, void *arg,
                              struct vesta_error *err);

#endif
