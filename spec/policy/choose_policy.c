/* choose_policy.c -- the policy `any` and the core's default choice must return the same worker id for listings of
 * every kind. */
#include "base/array.h"
#include "engine.h"
#include "judge.h"

#define LISTED_MAX 24

static const char *const identities[] = {"/var/lib/vesta/default.gen", "/other.gen", ""};

static struct shelf *vm;
static int any;
static struct vs_listed listed[LISTED_MAX];
static struct vesta_record rows[LISTED_MAX];

static uint64_t draw(uint64_t *state) { /* xorshift64 */
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Ages around those at which a lease expires and a worker id becomes free. */
static int64_t draw_ms(uint64_t *state, int64_t edge_ms) {
    static const int64_t edges[] = {0, 1, -1, 5000, -5000, 3600000, -3600000};
    return edge_ms + edges[draw(state) % VS_COUNT(edges)] + (int64_t)(draw(state) % 3) - 1;
}

static size_t draw_listing(uint64_t *state, uint64_t worker_max) {
    size_t count = 0;
    uint64_t gap = 1 + draw(state) % 3;
    for (uint64_t worker = draw(state) % gap; worker <= worker_max + 2 && count < LISTED_MAX;
         worker += 1 + draw(state) % gap) {
        struct vs_record r = record_of(identities[draw(state) % 3], draw(state) % 2,
                                       NOON_MS + draw_ms(state, draw(state) % 2 ? lease.timing.skew_ms : 0));
        r.written_ms = NOON_MS - draw_ms(state, draw(state) % 2 ? r.lease_ms : 3600000);
        listed[count] = (struct vs_listed){worker, r};
        rows[count] = (struct vesta_record){
            .worker = worker,
            .held = r.held,
            .expired = NOON_MS - r.written_ms > r.lease_ms,
            .until_ms = vs_tick_unix_us(&lease.shape, r.until) / 1000,
            .written_ms = r.written_ms,
        };
        snprintf(rows[count].identity, sizeof rows[count].identity, "%s", listed[count].record.identity);
        count++;
    }
    return count;
}

/* Returns -1 for none, -2 if the policy failed. */
static int64_t ask(size_t count, uint64_t worker_max, uint64_t random) {
    const struct vs_ctx ctx[] = {
        {.name = "records", .kind = VS_CTX_RECORDS, .records = rows, .count = count},
        {.name = "range", .kind = VS_CTX_RANGE, .last = (int64_t)worker_max},
        {.name = "now_ms", .integer = NOON_MS},
        {.name = "identity", .kind = VS_CTX_TEXT, .text = lease.identity},
        {.name = "random", .integer = (int64_t)random},
    };
    struct vs_verdict verdict;
    struct vesta_error err;
    enum vs_call_result result =
        vs_policy_call(vm->policy[any], &(struct vs_hook_input){VS_CHOOSE_WORKER, ctx, VS_COUNT(ctx)}, &verdict, &err);
    if (result != VS_CALL_OK) CHECK_FAIL("%s", err.text);
    if (result != VS_CALL_OK) return -2;
    return verdict.kind == VS_VERDICT_WORKER ? (int64_t)verdict.worker : -1;
}

static void same_choice(void) {
    uint64_t state = 88172645463325252;
    int found = 0, none = 0;
    start_with((struct vs_lease_opts){.slot = -1});
    for (int i = 0; i < 20000; i++) {
        uint64_t worker_max = draw(&state) % (1 + draw(&state) % 16), random = draw(&state) >> 32, worker = 0;
        size_t count = draw_listing(&state, worker_max);
        bool is_found = vs_choose_any(&lease, (struct vs_listing){listed, count, NOON_MS}, worker_max, random, &worker);
        int64_t want = is_found ? (int64_t)worker : -1, got = ask(count, worker_max, random);
        if (got != want) CHECK_FAIL("listing %d: the policy says %d, the core %d", i, (int)got, (int)want);
        if (got != want) return;
        *(is_found ? &found : &none) += 1;
    }
    if (found < 10000 || none < 200) CHECK_FAIL("%d found, %d none: too few of one kind", found, none);
}

static const struct check_case cases[] = {
    {"the policy any and the core choose the same of 20000 listings", same_choice}};

int main(void) {
    struct vesta_error err;
    vm = open_vm(NULL);
    if (!vm || load_named(vm, "any", NULL, &any, &err) != VESTA_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    int rc = check_main(cases, VS_COUNT(cases), NULL);
    close_vm(vm);
    return rc;
}
