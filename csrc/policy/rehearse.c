/* rehearse.c -- a policy's functions, called once in each of a few situations before it holds: what fails when a worker
 * number is to be had should be found at a desk.  Any answer is a good one; how it fits this host is not judged. */
#include "policy/policy.h"

#include "base/array.h"
#include "base/error.h"

#include <assert.h>

#define ROWS 4 /* and as many numbers */
#define CTX_MAX 11
#define MINUTE_MS 60000
#define HOST "host-0"

enum kind { NOBODY, SOME, ALL, OURS /* as SOME, and the first of them is ours */ }; /* who hold a number */

static const struct situation {
    enum vs_hook hook;
    const char *name; /* behind "when it is tried" */
    enum kind others;
} situations[] = {
    {VS_ON_CLOCK_BACK, "with a clock that is 5 ms back", NOBODY},
    {VS_ON_EXHAUSTED, "with ids that are used up", NOBODY},
    {VS_ON_START, "at a first start, alone", NOBODY},
    {VS_ON_START, "at another start, among peers", ALL},
    {VS_CHOOSE_WORKER, "with no records", NOBODY},
    {VS_CHOOSE_WORKER, "with numbers that are held, expired and given back", SOME},
    {VS_CHOOSE_WORKER, "with all numbers held", ALL},
    {VS_CHOOSE_WORKER, "with a number that is to be left", OURS},
    {VS_ON_STORE_DOWN, "with a store that is silent", NOBODY},
    {VS_ON_LEASE_LOST, "with a number that was lost", NOBODY},
};
const int vs_situation_count = VS_COUNT(situations);

struct scene {
    struct vs_ctx ctx[CTX_MAX];
    size_t count;
    struct vs_ctx_record record[ROWS];
    struct vs_ctx_peer peer[ROWS];
};

static void add(struct scene *scene, struct vs_ctx field) {
    assert(scene->count < CTX_MAX);
    scene->ctx[scene->count++] = field;
}

/* Four that are held; or one of each kind: held, expired, given back but ahead of the clock, given back. */
static void fill_rows(struct scene *scene, enum kind others, int64_t now_ms) {
    for (int i = 0; i < ROWS; i++) {
        bool held = others == ALL || i < 2, expired = others != ALL && i == 1, later = held || i == 2;
        int64_t written_ms = now_ms - (expired ? 100 : 1) * MINUTE_MS;
        scene->record[i] = (struct vs_ctx_record){.worker = (uint64_t)i,
                                                  .epoch = 1,
                                                  .holder = "host-1 pid 1",
                                                  .identity = others == OURS && i == 0 ? HOST : "host-1",
                                                  .held = held,
                                                  .expired = expired,
                                                  .until_ms = later && !expired ? now_ms + MINUTE_MS : written_ms,
                                                  .written_ms = written_ms,
                                                  .seen_ms = written_ms};
        scene->peer[i] = (struct vs_ctx_peer){(uint64_t)i, now_ms};
    }
}

static void set_start(struct scene *scene, enum kind others, int64_t now_ms) {
    if (others != NOBODY) add(scene, vs_ctx_integer("last_ms", now_ms - MINUTE_MS));
    add(scene, (struct vs_ctx){
                   .name = "peers", .kind = VS_CTX_PEERS, .peers = scene->peer, .count = others == NOBODY ? 0 : ROWS});
}

static void set_choice(struct scene *scene, enum kind others) {
    add(scene,
        (struct vs_ctx){
            .name = "records", .kind = VS_CTX_RECORDS, .records = scene->record, .count = others == NOBODY ? 0 : ROWS});
    add(scene, (struct vs_ctx){.name = "range", .kind = VS_CTX_RANGE, .last = others == NOBODY ? 1023 : ROWS - 1});
    add(scene, vs_ctx_text("host", HOST));
    add(scene, vs_ctx_text("ip", "192.0.2.1"));
    add(scene, vs_ctx_text("identity", HOST));
    add(scene, vs_ctx_integer("ordinal", 0));
    add(scene, vs_ctx_integer("random", INT64_C(1) << 31));
    add(scene, vs_ctx_integer("attempt", 1));
    if (others == OURS) add(scene, vs_ctx_integer("leaving", 0));
}

static void set_pause(struct scene *scene, enum vs_hook hook) {
    add(scene, vs_ctx_integer("worker", 1));
    add(scene, vs_ctx_integer("ahead_ms_max", 0));
    add(scene, hook == VS_ON_CLOCK_BACK ? vs_ctx_integer("back_ms", 5) : vs_ctx_integer("ahead_ticks", 1));
}

static void set(struct scene *scene, const struct situation *situation, const char *space, int64_t now_ms) {
    fill_rows(scene, situation->others, now_ms);
    add(scene, vs_ctx_text("namespace", space));
    add(scene, vs_ctx_integer("now_ms", now_ms));
    switch (situation->hook) {
    case VS_ON_CLOCK_BACK:
    case VS_ON_EXHAUSTED: set_pause(scene, situation->hook); return;
    case VS_ON_START: set_start(scene, situation->others, now_ms); return;
    case VS_CHOOSE_WORKER: set_choice(scene, situation->others); return;
    case VS_ON_STORE_DOWN:
        add(scene, vs_ctx_integer("down_ms", 1000));
        add(scene, vs_ctx_integer("left_ms", MINUTE_MS));
        return;
    default: add(scene, vs_ctx_integer("worker", 1)); return;
    }
}

int vs_policy_rehearse(struct vs_vm *vm, int policy, int situation, const char *space, int64_t now_ms,
                       struct vesta_error *err) {
    assert(situation >= 0 && situation < vs_situation_count);
    const struct situation *at = &situations[situation];
    struct scene scene = {.count = 0};
    struct vs_policy_answer answer;
    struct vesta_error why = {0};
    if (!vs_policy_has(vm, policy, at->hook)) return VESTA_OK;
    set(&scene, at, space, now_ms);
    enum vs_call_result result = vs_policy_call(vm, policy, at->hook, scene.ctx, scene.count, &answer, &why);
    if (result == VS_CALL_OK) return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION, "%s fails when it is tried %s (%s): %s", vs_hook_name(at->hook), at->name,
                   vs_call_result_name(result), why.text);
}
