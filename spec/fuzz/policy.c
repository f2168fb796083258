/* policy.c -- loads any text as a policy: it loads or is rejected with a message, each of its functions returns a
 * verdict or is stopped, and another policy is not affected. */
#include "base/array.h"
#include "fuzz.h"

#include "policy/policy.h"

static const struct vs_vm_limits small = {
    /* no limit of time, because a machine may be slow */
    .call_ms = VS_CALL_MS_MAX,
    .instructions = 20000,
    .memory_bytes = 256 * 1024};
static const char good[] = "return { api = 1, on_start = function() return 'go' end }";

/* A message must be one line, with foreign text as valid UTF-8, because it may be logged. */
static void must_be_calm(const char *text, size_t size) {
    MUST(memchr(text, 0, size));
    for (; *text; text++)
        MUST((unsigned char)*text >= ' ' && *text != 0x7f);
}

static void must_answer(struct vs_policy *policy, enum vs_hook hook) {
    static const struct vesta_record records[] = {{.worker = 1, .held = true}, {.worker = 2, .holder = "h"}};
    const struct vs_ctx ctx[] = {{.name = "back_ms", .kind = VS_CTX_INTEGER, .integer = 3000},
                                 {.name = "host", .kind = VS_CTX_TEXT, .text = "web-7"},
                                 {.name = "records", .kind = VS_CTX_RECORDS, .records = records, .count = 2}};
    struct vs_verdict verdict = {.kind = VS_VERDICT_STOP, .amount_ms = -2};
    struct vesta_error err = {.text = ""};
    enum vs_call_result result =
        vs_policy_call(policy, &(struct vs_hook_input){hook, ctx, VS_COUNT(ctx)}, &verdict, &err);
    if (result == VS_CALL_OK) {
        MUST((verdict.kind == VS_VERDICT_WORKER || verdict.kind == VS_VERDICT_NOTHING) == (hook == VS_CHOOSE_WORKER));
        MUST(verdict.worker <= INT64_MAX);
        MUST(verdict.amount_ms >= -1 && verdict.amount_ms <= VS_AMOUNT_MS_MAX);
        must_be_calm(verdict.reason, sizeof verdict.reason);
    } else {
        MUST(verdict.kind == VS_VERDICT_STOP && verdict.amount_ms == -2);
        MUST(err.text[0] != 0 && err.code == VESTA_EOPTION);
        must_be_calm(err.text, sizeof err.text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct vs_policy *policy, *beside;
    const struct vs_policy_opts opts = {.limits = &small};
    struct vesta_error err = {.text = ""};
    char *text = text_of(data, size);
    const struct vs_policy_text ours = {.chunk = "@good.lua", .text = good, .length = strlen(good)},
                                foreign = {.chunk = "@p.lua", .text = text, .length = size};
    MUST(vs_policy_open(&ours, &opts, &beside, &err) == VESTA_OK);
    if (vs_policy_open(&foreign, &opts, &policy, &err) == VESTA_OK) {
        for (int hook = 0; hook < VS_HOOKS; hook++)
            if (vs_policy_has(policy, (enum vs_hook)hook)) must_answer(policy, (enum vs_hook)hook);
        vs_policy_close(policy);
    } else {
        MUST(err.text[0] != 0 && err.code == VESTA_EOPTION);
        must_be_calm(err.text, sizeof err.text);
    }
    struct vs_verdict verdict;
    MUST(vs_policy_call(beside, &(struct vs_hook_input){VS_ON_START, NULL, 0}, &verdict, &err) == VS_CALL_OK &&
         verdict.kind == VS_VERDICT_GO);
    vs_policy_close(beside);
    free(text);
    return 0;
}
