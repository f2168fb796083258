/* schedule.c -- moves a live namespace from layout to layout, in random orders of steps.  Two operators request the
 * next generation.  Hosts move ahead of them, behind them, back, or never.  Another user creates generations by hand,
 * and deletes them.  Each of these is a coroutine that may be paused or killed at every call of the store.  The store
 * may be unreachable, and replies may be lost.
 *
 *     schedule --seeds FROM..TO           exit code 1 and a message if an id was issued twice, or a host was rejected
 *                                         without a reason
 *     schedule --seeds FROM..TO --kill    for a mutant: exit code 1 if no seed issues an id twice
 *
 * It tests csrc/store/lineage.c, and how the lease engine uses a namespace's record.  It does not test that leases
 * grant a worker id's ticks once within a generation, which spec/sim does.  Each host here has its own worker id and
 * counts. */
#define _XOPEN_SOURCE 700
#include "store/lineage.h"
#include "lease/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define HOSTS 4
#define OPERATORS 2
#define CREW (HOSTS + OPERATORS + 1)
#define STACK_BYTES 131072
#define GENERATIONS 4
#define STEPS_MAX 4000
#define IDS_MAX 8192

/* These layouts differ in a constant bit, in a bit without a constant, in no bit at all, and in the order of their
 * fields. A person may take some of them for different layouts that are not, and others are different. */
static const char *const layouts[] = {
    "version:1=0 kind:1=0 time:30 seq:28 worker:4 unit=1s epoch=2020-01-01T00:00:00Z",
    "version:1=0 kind:1=1 time:30 seq:28 worker:4 unit=1s epoch=2020-01-01T00:00:00Z",
    "version:1=1 kind:1=0 time:30 seq:28 worker:4 unit=1s epoch=2020-01-01T00:00:00Z",
    "version:1=1 kind:1=1 time:30 seq:28 worker:4 unit=1s epoch=2020-01-01T00:00:00Z",
    "version:1 kind:1=0 time:30 seq:28 worker:4 unit=1s epoch=2020-01-01T00:00:00Z",
    "version:1=1 kind:1=0 time:40 seq:18 worker:4 unit=1ms epoch=2020-01-01T00:00:00Z",
    "version:1=0 kind:1=0 time:30 worker:4 seq:28 unit=1s epoch=2020-01-01T00:00:00Z",
};
#define LAYOUTS (int)(sizeof layouts / sizeof *layouts)

static uint64_t dice;
static int running, steps;
static ucontext_t scheduler, crew[CREW];
static char stacks[CREW][STACK_BYTES];

static bool has_plain; /* the last host names generations itself, and no process has an older vesta */
static bool is_local;  /* the first user of the store creates the first namespace */
static int first;      /* the layout with which the namespace began */
static struct vs_ns_record stored[GENERATIONS + 1];
static bool is_granted[GENERATIONS + 1]; /* vs_lineage_extend reported it as created */
static struct vs_ns_record lost[GENERATIONS + 1];
static bool was_leased[GENERATIONS + 1];
static bool is_asking[CREW]; /* for the next generation */

static uint64_t ids[IDS_MAX];
static int id_count;
static unsigned twice, refused;

static struct host {
    unsigned generation; /* the generation in its config, */
    int layout;          /* and the layout there */
    bool has_file[GENERATIONS + 1][sizeof layouts / sizeof *layouts];
    bool is_plain;                  /* it names the generation itself, like programs that use only the library */
    uint64_t tick[GENERATIONS + 1]; /* the store's, of its worker id, so it outlives the host */
} hosts[HOSTS];

static unsigned roll(unsigned below) {
    dice ^= dice << 13, dice ^= dice >> 7, dice ^= dice << 17;
    return (unsigned)(dice >> 11) % below;
}

static void yield_now(void) {
    swapcontext(&crew[running], &scheduler);
}

static struct vesta_layout parsed(const char *text) {
    struct vesta_layout layout;
    struct vesta_error err;
    if (vesta_layout_parse(text, &layout, &err) != VESTA_OK) {
        fprintf(stderr, "%s: %s\n", text, err.text);
        abort();
    }
    return layout;
}

/* ------------------------------------------------------------------ the store */

struct drawer {
    struct vs_store store;
    unsigned generation;
};

static enum vs_outcome weather(void) {
    yield_now();
    return roll(12) == 0 ? VS_STORE_DOWN : VS_STORE_OK;
}

static void answer(struct vs_reply *reply, enum vs_outcome outcome) {
    *reply = (struct vs_reply){.outcome = outcome};
    if (outcome != VS_STORE_OK) snprintf(reply->text, sizeof reply->text, "no answer");
}

static void read_record(struct vs_store *store, struct vs_reply *reply) {
    answer(reply, weather());
    if (reply->outcome == VS_STORE_OK) reply->ns = stored[((struct drawer *)store)->generation];
    yield_now();
}

/* Whether the swap was applied or not, the reply may be lost. */
static void swap_record(struct vs_store *store, uint64_t old_ver, const struct vs_ns_record *record,
                        struct vs_reply *reply) {
    struct vs_ns_record *at = &stored[((struct drawer *)store)->generation];
    answer(reply, weather());
    if (reply->outcome == VS_STORE_OK && at->ver != old_ver) reply->outcome = VS_STORE_CONFLICT;
    if (reply->outcome == VS_STORE_OK) *at = *record;
    if (roll(10) == 0) reply->outcome = VS_STORE_UNKNOWN;
    reply->ns = *at;
    yield_now();
}

static void tell_names(struct vs_store *store, const char *of, void (*tell)(void *to, const char *name), void *to,
                       struct vs_reply *reply) {
    char name[VESTA_NAMESPACE_MAX];
    (void)store;
    (void)of;
    answer(reply, weather());
    for (unsigned n = 1; n <= GENERATIONS && reply->outcome == VS_STORE_OK; n++)
        if (stored[n].ver) tell(to, vs_generation_name("orders", n, name));
    yield_now();
}

static void list_leases(struct vs_store *store, struct vs_listed **listed, size_t *count, struct vs_reply *reply) {
    answer(reply, weather());
    *count = reply->outcome == VS_STORE_OK && was_leased[((struct drawer *)store)->generation];
    *listed = NULL;
    yield_now();
}

static void close_store(struct vs_store *store) {
    free(store);
}

static const struct vs_store_leases leases = {
    .names = tell_names, .list = list_leases, .ns_read = read_record, .ns_swap = swap_record};

static const struct vs_backend backend = {.scheme = "sim", .close = close_store, .leases = &leases};

int vs_store_open(const char *uri, const struct vs_store_opts *opts, struct vs_store **store, struct vesta_error *err) {
    struct drawer *drawer = calloc(1, sizeof *drawer);
    (void)uri, (void)err;
    if (!drawer) abort();
    drawer->store = (struct vs_store){.backend = &backend, .leases = &leases};
    drawer->generation = vs_generation_of("orders", opts->namespace_);
    /* a name outside the test, which no process creates */
    if (drawer->generation > GENERATIONS) drawer->generation = 0;
    *store = &drawer->store;
    return VESTA_OK;
}

static const struct vs_lineage lineage = {.uri = "sim:", .name = "orders"};

/* ------------------------------------------------------------------ operators and hosts */

static void operate(void) {
    while (true) {
        struct vesta_layout layout = parsed(layouts[roll(LAYOUTS)]);
        struct vesta_error err;
        unsigned n;
        bool is_new;
        is_asking[running] = true;
        /* if a request was interrupted or its outcome is unknown, the operator repeats it */
        for (int tries = 1 + (int)roll(3); tries > 0; tries--)
            if (vs_lineage_extend(&lineage, &layout, &n, &is_new, &err) == VESTA_OK) is_granted[n] = true;
        is_asking[running] = false;
        for (int rest = 1 + (int)roll(16); rest > 0; rest--)
            yield_now();
    }
}

/* Deletes a record that is not the newest, like a user who thinks that a namespace is no longer needed. It never
 * deletes the first one, which the next lease would create again, and none before the first one is in use. It also
 * deletes none while an operator has counted the records and writes, because no store could detect that. */
static void lose(unsigned n) {
    for (int who = 0; who < CREW; who++)
        if (is_asking[who]) return;
    if (n == 1 || (is_local && !was_leased[1]) || stored[n].ver == 0 || stored[n + 1].ver == 0) return;
    lost[n] = stored[n];
    stored[n].ver = 0;
}

/* Returns whether a process without a proof may create the generation. A lost one cannot be compared. */
static bool is_admitted(unsigned n, const struct vesta_layout *layout) {
    char name[VESTA_NAMESPACE_MAX];
    struct vs_lineage by_name = {.uri = "sim:", .name = vs_generation_name("orders", n, name)};
    return vs_lineage_admit(&by_name, layout, NULL) == VESTA_OK && lost[n].ver == 0;
}

/* orders.2 and orders.3 without orders are unrelated names, which are not tested here. */
static bool is_strange(unsigned n) {
    return n > 2 && stored[1].ver == 0;
}

/* Does the same as a keeper that finds the namespace in a local store, with a file that had no lease yet. */
static bool may_enter(unsigned n, const struct vs_ns_record *ns) {
    char name[VESTA_NAMESPACE_MAX];
    struct vs_lineage by_name = {.uri = "sim:", .name = vs_generation_name("orders", n, name)};
    struct drawer drawer = {.store = {.backend = &backend, .leases = &leases}, .generation = n};
    return vs_lineage_enter(&by_name, &drawer.store, ns, NULL) == VESTA_OK;
}

/* Runs `vesta store init --namespace orders.2`. In every other seed it is an older vesta, which checks no names. */
static void make_by_hand(void) {
    while (true) {
        unsigned n = 2 + roll(GENERATIONS - 1);
        struct vesta_layout layout = parsed(layouts[roll(LAYOUTS)]);
        if (roll(60) == 0) lose(n - 1);
        if (roll(20) == 0 && lost[n - 1].ver) {
            stored[n - 1] = lost[n - 1]; /* `init --again`, with its old layout */
            lost[n - 1].ver = 0;
        }
        if (roll(20) == 0 && !is_strange(n) && (!has_plain || is_admitted(n, &layout)) && stored[n].ver == 0 && lost[n].ver == 0) {
            stored[n] = (struct vs_ns_record){.ver = 1, .fingerprint = layout.fingerprint, .incarnation = 1};
            vesta_layout_text(&layout, stored[n].layout);
        }
        yield_now();
    }
}

static void give(struct host *host) {
    struct vesta_layout layout = parsed(layouts[host->layout]);
    uint64_t values[VESTA_FIELDS_MAX] = {0}, tick = ++host->tick[host->generation];
    if (id_count == IDS_MAX) return;
    for (int i = 0; i < layout.field_count; i++)
        /* a handle may set these fields */
        values[i] = layout.field[i].fixed || i == layout.time ? layout.field[i].value : roll(2);
    values[layout.seq] = tick;
    values[layout.worker] = (uint64_t)(host - hosts);
    if (vesta_compose(&layout, values, &ids[id_count], NULL) != VESTA_OK) abort();
    id_count++;
}

/* Returns whether the engine uses its worker id with the store's namespace record. The first process creates the
 * record. */
static bool is_leased(unsigned n, const struct vesta_layout *layout) {
    const struct vs_lease_opts opts = {.layout = layout,
                                       .identity = "host",
                                       .holder = "host",
                                       .has_worker = true,
                                       .timing = vs_lease_timing_for(&vs_lease_timing_file, true),
                                       .entropy = 1,
                                       .slot = -1};
    struct vs_lease lease;
    struct vs_action action;
    struct vs_event event = {.kind = VS_EV_WAKE};
    if (is_strange(n)) return false;
    vs_lease_init(&lease, &opts);
    for (vs_lease_step(&lease, &event, &action); action.kind == VS_DO_NS_READ || action.kind == VS_DO_NS_SWAP;) {
        yield_now();
        if (action.kind == VS_DO_NS_SWAP && !is_admitted(n, layout)) return false; /* like the keeper */
        if (action.kind == VS_DO_NS_SWAP && stored[n].ver == action.old_ver) stored[n] = action.ns;
        event = (struct vs_event){.kind = VS_EV_REPLY, .outcome = VS_STORE_OK, .ns = stored[n]};
        if (action.kind == VS_DO_NS_READ && is_local && event.ns.ver && !may_enter(n, &event.ns)) return false;
        vs_lease_step(&lease, &event, &action);
    }
    char text[VESTA_LAYOUT_TEXT_MAX];
    vesta_layout_text(layout, text);
    refused += action.kind != VS_DO_READ && strcmp(text, event.ns.layout) == 0;
    was_leased[n] = was_leased[n] || action.kind == VS_DO_READ;
    return action.kind == VS_DO_READ;
}

/* Opens the namespace of its config like serve. A file that was created after the proof continues without its store. */
static void start(struct host *host) {
    struct vesta_layout layout = parsed(layouts[host->layout]);
    struct vesta_error err = {.code = 0};
    unsigned n = host->generation;
    bool *has_file = &host->has_file[n][host->layout], was_granted = is_granted[n];
    if (!*has_file) {
        if (n > 1 && !host->is_plain && vs_lineage_check(&lineage, n, &layout, &err) != VESTA_OK) {
            refused += was_granted && err.code != VESTA_EIO && strcmp(layouts[host->layout], stored[n].layout) == 0;
            return;
        }
        yield_now();
        if (roll(4) == 0) return; /* the host is killed between the proof and the file, and restarted */
        if (!is_leased(n, &layout)) return;
        *has_file = true;
    }
    for (int i = (int)roll(4); i > 0; i--) {
        give(host);
        yield_now();
    }
}

/* Changes the host's config in any order: forward, back, ahead of the operators, and with a mistyped constant. */
static void host(struct host *self) {
    while (true) {
        if (roll(3) == 0) {
            self->generation = 1 + roll(GENERATIONS);
            self->layout = self->generation == 1 && roll(2) ? first : (int)roll(LAYOUTS);
        }
        start(self);
        yield_now();
    }
}

static void begin(int who) {
    if (who < HOSTS)
        host(&hosts[who]);
    else if (who < HOSTS + OPERATORS)
        operate();
    else
        make_by_hand();
}

/* ------------------------------------------------------------------ a seed */

static void ready(int who) {
    is_asking[who] = false;
    getcontext(&crew[who]);
    crew[who].uc_stack.ss_sp = stacks[who];
    crew[who].uc_stack.ss_size = STACK_BYTES;
    crew[who].uc_link = &scheduler;
    makecontext(&crew[who], (void (*)(void))begin, 1, who);
}

static int by_id(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Kills coroutines like kill -9: their next steps are lost, but the store and files remain. */
static void run_seed(uint64_t seed) {
    dice = seed * UINT64_C(0x9E3779B97F4A7C15) | 1;
    first = (int)roll(LAYOUTS);
    struct vesta_layout began = parsed(layouts[first]);
    memset(stored, 0, sizeof stored);
    memset(hosts, 0, sizeof hosts);
    memset(is_granted, 0, sizeof is_granted);
    memset(lost, 0, sizeof lost);
    id_count = 0;
    memset(was_leased, 0, sizeof was_leased);
    is_local = seed % 4 == 0;
    if (!is_local) { /* otherwise its first user creates it, possibly while another one creates the second */
        stored[1] = (struct vs_ns_record){.ver = 1, .fingerprint = began.fingerprint, .incarnation = 1};
        vesta_layout_text(&began, stored[1].layout);
    }
    for (int i = 0; i < HOSTS; i++)
        hosts[i].generation = 1, hosts[i].layout = first;
    has_plain = hosts[HOSTS - 1].is_plain = seed % 2 == 0;
    if (!stored[1].ver) hosts[HOSTS - 1].generation = 2;
    for (int i = 0; i < CREW; i++)
        ready(i);
    for (steps = 0; steps < STEPS_MAX; steps++) {
        running = (int)roll(CREW);
        if (roll(60) == 0) ready(running);
        swapcontext(&scheduler, &crew[running]);
    }
    qsort(ids, (size_t)id_count, sizeof ids[0], by_id);
    for (int i = 1; i < id_count; i++)
        twice += ids[i] == ids[i - 1];
}

int main(int argc, char **argv) {
    unsigned long long from, to, given = 0;
    bool kill = argc > 3 && strcmp(argv[3], "--kill") == 0;
    if (argc < 3 || strcmp(argv[1], "--seeds") != 0 || sscanf(argv[2], "%llu..%llu", &from, &to) != 2) {
        fprintf(stderr, "usage: schedule --seeds FROM..TO [--kill]\n");
        return 2;
    }
    for (unsigned long long seed = from; seed <= to && twice + (kill ? 0 : refused) == 0; seed++) {
        run_seed(seed);
        given += (unsigned)id_count;
        if (twice + (kill ? 0 : refused) > 0)
            printf("seed %llu: %u duplicate ids, %u hosts rejected without a reason\n", seed, twice, refused);
    }
    if (kill) {
        printf(twice ? "ok - the mutant issues an id twice\n" : "not ok - the mutant survives\n");
        return twice == 0;
    }
    if (twice + refused == 0)
        printf("ok - %llu seeds, %llu ids of up to %d generations: no duplicate, no host rejected without a reason\n",
               to - from + 1, given, GENERATIONS);
    return twice + refused > 0;
}
