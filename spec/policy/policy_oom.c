/* policy_oom.c -- every allocation of a policy fails once: loading and calling report it, leak nothing, and work
 * afterwards. */
#include "judge.h"

#include "scarce.h"

static const char busy[] = "local kept = {} return { api = 1, on_clock_back = function(ctx)\n"
                           "local t = {} for i = 1, 40 do t[i] = { i .. '' } end kept = t\n"
                           "return 'wait', pcall(error, 'x') and 1 or ctx.back_ms end }";

static int stopped_at; /* the rest of fails_at: 0 or -1 if an allocation failed */

static void check_no_memory(const struct vesta_error *err) {
    CHECK_EQ_I64(err->code, VESTA_ENOMEM);
    CHECK_STR(err->text, "no memory");
}

/* Runs a step with its first allocation failing, then its second, and so on, alone and with all later ones, until none
 * fails.  The step returns whether it was done. */
static void starve(bool (*step)(int n)) {
    int undone = 0;
    for (int turn = 0; turn < 2; turn++) {
        int n = 0;
        bool failed = true;
        fails_ever_after = turn == 1;
        while (failed && ++n < 5000) {
            bool done = step(n);
            failed = stopped_at <= 0;
            undone += !done;
            if (!failed) CHECK(done);
        }
        CHECK(!failed);
    }
    CHECK(undone > 20); /* a single failure may only cause a collection */
}

static bool loads_with(const char *name, const char *options, int n) {
    struct shelf *vm = open_vm(&small);
    struct vesta_error err = {.text = ""};
    int policy = -1;
    atomic_store(&fails_at, n);
    int rc = load_named(vm, name, options, &policy, &err);
    stopped_at = atomic_exchange(&fails_at, 0);
    CHECK_EQ_I64(policy, rc == VESTA_OK ? 0 : -1);
    if (rc != VESTA_OK) check_no_memory(&err);
    check_good(vm, must_load(vm, good));
    close_vm(vm);
    return rc == VESTA_OK;
}

static bool loads(int n) {
    return loads_with("wait", NULL, n);
}

static bool loads_options(int n) {
    return loads_with("ip_list", "{ ips = { '10.0.0.1', '10.0.0.2', '10.0.0.3' } }", n);
}

static bool calls(int n) {
    struct shelf *vm = open_vm(&small);
    struct vs_verdict verdict = {.kind = VS_VERDICT_STOP};
    struct vesta_error err = {.text = ""};
    int policy = must_load(vm, busy);
    atomic_store(&fails_at, n);
    enum vs_call_result result = call(vm, policy, VS_ON_CLOCK_BACK, &verdict, &err);
    stopped_at = atomic_exchange(&fails_at, 0);
    if (result != VS_CALL_OK) {
        CHECK_EQ_I64(result, VS_CALL_MEMORY);
        CHECK(verdict.kind == VS_VERDICT_STOP);
        check_no_memory(&err);
    }
    check_good(vm, policy);
    close_vm(vm);
    return result == VS_CALL_OK;
}

static void loading(void) {
    starve(loads);
    starve(loads_options);
}

static void calling(void) {
    starve(calls);
}

static const struct check_case cases[] = {
    {"loading with the n-th allocation failing succeeds or is a clean error, and another policy loads", loading},
    {"calling with the n-th allocation failing succeeds or is a clean error, and the policy works afterwards", calling},
};

CHECK_MAIN(cases)
