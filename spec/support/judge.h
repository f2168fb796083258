/* judge.h -- shared by the specs of policies: a shelf of policies with small limits, policies from a text, a call. */
#ifndef SPEC_JUDGE_H
#define SPEC_JUDGE_H

#include "check.h"
#include "base/array.h"
#include "policy/policy.h"

#include <stdlib.h>

/* Time is not limited here, because a machine may be slow.  The specs of time have their own clock. */
static const struct vs_vm_limits small = {
    .call_ms = VS_CALL_MS_MAX, .instructions = 1000 * 1000, .memory_bytes = 4 * 1024 * 1024};

static const char good[] = "return { api = 1, on_clock_back = function(ctx) return 'wait', ctx.back_ms end }";

#define SHELF_MAX 512
struct shelf {
    struct vs_vm_limits limits;
    int count;
    struct vs_policy *policy[SHELF_MAX];
};

__attribute__((unused)) static struct shelf *open_vm(const struct vs_vm_limits *limits) {
    struct shelf *vm = calloc(1, sizeof *vm);
    if (vm && limits) vm->limits = *limits;
    return vm;
}

__attribute__((unused)) static void close_vm(struct shelf *vm) {
    for (int i = 0; i < vm->count; i++)
        vs_policy_close(vm->policy[i]);
    free(vm);
}

/* *policy: its index on the shelf. */
__attribute__((unused)) static int load_text(struct shelf *vm, const struct vs_policy_text *text, int *policy,
                                             struct vesta_error *err) {
    if (vm->count == SHELF_MAX) abort();
    int rc = vs_policy_open(text, &(struct vs_policy_opts){.limits = &vm->limits}, &vm->policy[vm->count], err);
    if (rc == VESTA_OK) *policy = vm->count++;
    return rc;
}

/* Loads a shipped policy or a file. */
__attribute__((unused)) static int load_named(struct shelf *vm, const char *name, const char *options, int *policy,
                                              struct vesta_error *err) {
    struct vs_policy_text text;
    int rc = vs_policy_read(name, options, &text, err);
    if (rc != VESTA_OK) return rc;
    rc = load_text(vm, &text, policy, err);
    vs_policy_text_free(&text);
    return rc;
}

/* Returns the policy's index, or -1 with *err. */
__attribute__((unused)) static int load(struct shelf *vm, const char *text, struct vesta_error *err) {
    int policy = -1;
    const struct vs_policy_text source = {.chunk = "@p.lua", .text = text, .length = strlen(text)};
    return load_text(vm, &source, &policy, err) == VESTA_OK ? policy : -1;
}

__attribute__((unused)) static int must_load(struct shelf *vm, const char *text) {
    struct vesta_error err = {.text = ""};
    int policy = load(vm, text, &err);
    if (policy < 0) CHECK_FAIL("%s: %s", text, err.text);
    return policy;
}

__attribute__((unused)) static enum vs_call_result call(struct shelf *vm, int policy, enum vs_hook hook,
                                                        struct vs_verdict *verdict, struct vesta_error *err) {
    const struct vs_ctx ctx[] = {{.name = "back_ms", .kind = VS_CTX_INTEGER, .integer = 3000},
                                 {.name = "ahead_ticks", .kind = VS_CTX_INTEGER, .integer = 17},
                                 {.name = "host", .kind = VS_CTX_TEXT, .text = "web-7"}};
    return vs_policy_call(vm->policy[policy], &(struct vs_hook_input){hook, ctx, VS_COUNT(ctx)}, verdict, err);
}

__attribute__((unused)) static void check_good(struct shelf *vm, int policy) {
    struct vs_verdict verdict = {0};
    struct vesta_error err = {.text = ""};
    enum vs_call_result result = call(vm, policy, VS_ON_CLOCK_BACK, &verdict, &err);
    if (result != VS_CALL_OK) CHECK_FAIL("a good policy: %s, %s", vs_call_result_name(result), err.text);
    CHECK_STR(vs_verdict_name(verdict.kind), "wait");
    CHECK_EQ_I64(verdict.amount_ms, 3000);
}

#endif
