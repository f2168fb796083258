/* rehearse.c -- a policy's functions, called once in each of a few situations before it is put to work: what fails when
 * a worker number is to be had should be found at a desk.  Any answer is a good one; how it fits this machine is not
 * judged. */
#include "policy/policy.h"

#include "base/array.h"
#include "base/error.h"

#include <assert.h>
#include <string.h>

#define ROWS 4 /* and as many numbers */
#define MINUTE_MS 60000

#define SITUATION(upper, hook, name, otherwise) {VS_##upper, name, otherwise},
static const struct situation {
    enum vs_hook hook;
    const char *name, *otherwise; /* behind "when it is tried"; than lua/vesta/hooks.lua has the fields */
} situations[] = {VS_SITUATION_ROWS(SITUATION)};

struct scene {
    struct vs_ctx ctx[VS_CTX_MAX];
    size_t count;
    char value[32]; /* of what is being set */
    struct vs_ctx_record record[ROWS];
    struct vs_ctx_peer peer[ROWS];
};

/* All are held; or one of each kind is there: held, expired, given back but ahead of the clock, given back; or these,
 * and the first is ours. */
static void fill_rows(struct scene *scene, const char *who, int64_t now_ms) {
    bool all = strcmp(who, "all") == 0, ours = strcmp(who, "ours") == 0;
    assert(all || ours || strcmp(who, "some") == 0);
    for (int i = 0; i < ROWS; i++) {
        bool held = all || i < 2, expired = !all && i == 1, later = held || i == 2;
        int64_t written_ms = now_ms - (expired ? 100 : 1) * MINUTE_MS;
        scene->record[i] = (struct vs_ctx_record){.worker = (uint64_t)i,
                                                  .epoch = 1,
                                                  .holder = "host-1 pid 1",
                                                  .identity = ours && i == 0 ? "host-0" : "host-1",
                                                  .held = held,
                                                  .expired = expired,
                                                  .until_ms = later && !expired ? now_ms + MINUTE_MS : written_ms,
                                                  .written_ms = written_ms,
                                                  .seen_ms = written_ms};
        scene->peer[i] = (struct vs_ctx_peer){(uint64_t)i, now_ms};
    }
}

/* "back_ms=5" */
static void set(struct scene *scene, const char *given, size_t length, int64_t now_ms) {
    const char *equals = memchr(given, '=', length);
    assert(equals);
    size_t name_length = (size_t)(equals - given), value_length = length - name_length - 1;
    struct vs_ctx *field = vs_ctx_find(scene->ctx, scene->count, given, name_length);
    assert(field && value_length < sizeof scene->value);
    memcpy(scene->value, equals + 1, value_length);
    scene->value[value_length] = 0;
    if (field->kind == VS_CTX_RECORDS || field->kind == VS_CTX_PEERS) {
        fill_rows(scene, scene->value, now_ms);
        field->records = scene->record, field->peers = scene->peer, field->count = ROWS;
    } else if (strcmp(scene->value, "nil") == 0) {
        field->is_nil = true;
    } else {
        assert(field->kind != VS_CTX_TEXT); /* which would have to outlive the value */
        bool is_read = vs_ctx_read(field, scene->value);
        assert(is_read), (void)is_read;
    }
}

static void set_scene(struct scene *scene, const struct situation *situation, const char *namespace_, int64_t now_ms) {
    scene->count = vs_ctx_fill(scene->ctx, situation->hook, now_ms);
    vs_ctx_find(scene->ctx, scene->count, "namespace", strlen("namespace"))->text = namespace_;
    for (const char *at = situation->otherwise; *at; at += *at == ' ') {
        size_t length = strcspn(at, " ");
        set(scene, at, length, now_ms);
        at += length;
    }
}

static int rehearse(struct vs_vm *vm, int policy, const struct situation *at, struct scene *scene,
                    struct vesta_error *err) {
    struct vs_verdict verdict;
    struct vesta_error why = {0};
    const struct vs_hook_input input = {at->hook, scene->ctx, scene->count};
    enum vs_call_result result = vs_policy_call(vm, policy, &input, &verdict, &why);
    if (result == VS_CALL_OK) return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION, "%s fails when it is tried %s (%s): %s", vs_hook_name(at->hook), at->name,
                   vs_call_result_name(result), why.text);
}

int vs_policy_try(const struct vs_policy_text *text, const char *namespace_, int64_t now_ms, struct vesta_error *err) {
    struct vs_vm *vm;
    int policy, rc = vs_vm_open(NULL, &vm, err);
    if (rc != VESTA_OK) return rc;
    rc = vs_policy_load_text(vm, text, &policy, err);
    for (size_t i = 0; rc == VESTA_OK && i < VS_COUNT(situations); i++) {
        struct scene scene = {.count = 0};
        if (!vs_policy_has(vm, policy, situations[i].hook)) continue;
        set_scene(&scene, &situations[i], namespace_, now_ms);
        rc = rehearse(vm, policy, &situations[i], &scene, err);
    }
    vs_vm_close(vm);
    return rc;
}
