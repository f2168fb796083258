/* store.c -- the store behind a keeper: compare-and-set on versions, and messages that are late, lost, or applied
 * without a reply. Acknowledged writes are lost only in a fail-over, after which an operator repairs the store. */
#include "sim.h"
#include "store/reply.h"

#include <assert.h>
#include <string.h>

/* A request in transit, and later its reply until the requester has read it. */
struct message {
    int64_t due_us; /* NEVER: it has arrived */
    struct vs_action action;
    struct vs_met met; /* the namespace as the requester knows it */
    int host, asker;   /* asker: the process that waits for the reply, -1: none */
    struct reply reply;
};

static struct message messages[MESSAGES_MAX];
static int message_top;
static struct vs_record records[WORKERS_MAX]; /* ver 0: no record */
static struct vs_ns_record ns;
static struct vs_record replica[WORKERS_MAX]; /* the records after a fail-over */
static int64_t replica_us;
static int64_t down_until_us, clock_off_us;
static bool host_clock; /* a file: store takes its time from the writing host */
static bool moody;      /* the policy often chooses a random worker id */
static uint32_t lossy;  /* percent of requests with a fault */

static struct token { uint64_t owner[2], until; } tokens[TOKENS_MAX];
static int token_count;

enum store_fate store_fate;
int64_t store_late_us;

void store_reset(void) {
    store_fate = FATE_DONE;
    for (int i = 0; i < message_top; i++)
        messages[i] = (struct message){.due_us = NEVER, .asker = -1};
    message_top = 0;
    memset(records, 0, sizeof records);
    memset(replica, 0, sizeof replica);
    replica_us = 0;
    ns = (struct vs_ns_record){0};
    token_count = 0;
    down_until_us = 0;
    host_clock = moody = false;
    clock_off_us = lossy = 0;
    if (sim.told) return;
    host_clock = chance(50);
    moody = chance(40);
    clock_off_us = chance(50) ? 0 : rnd_between(-3 * SEC, 3 * SEC);
    lossy = chance(30) ? 2 : 5 + rnd_below(40);
}

/* A shared store has its own clock. An operator creates the namespace, because processes may not. */
void store_init(void) {
    if (!sim.timing.is_shared) return;
    host_clock = false;
    ns = (struct vs_ns_record){.ver = 1, .fingerprint = sim.layout->fingerprint, .incarnation = rnd() | 1};
    vesta_layout_text(sim.layout, ns.layout);
}

const struct vs_record *store_record(uint64_t worker) {
    assert(worker < WORKERS_MAX);
    return &records[worker];
}

uint64_t store_incarnation(void) {
    return ns.incarnation;
}

static int64_t store_ms(int host) {
    return (host_clock ? host_unix_us(&sim.host[host]) : START_UNIX_US + sim.now_us + clock_off_us) / 1000;
}

void store_put_right(void) {
    sim.is_marked = false; /* the holders whose records were lost may still issue ids below a watermark */
    sim.marked = 0;
    vs_ns_put_right(&ns, &sim.timing, store_ms(0), rnd() | 1);
    sim.counts.failovers++;
}

/* The replica is some seconds old or empty. An operator repairs it before it replies. */
void store_fail_over(void) {
    bool wiped = chance(30);
    if (!wiped && chance(50)) memcpy(replica, records, sizeof records); /* nothing is lost, but it is a new store */
    TRACE("the store fails over: %s", wiped ? "it is empty" : "its last writes are lost");
    for (uint64_t i = 0; i < WORKERS_MAX; i++)
        records[i] = wiped ? (struct vs_record){0} : replica[i];
    memcpy(replica, records, sizeof records);
    store_put_right();
}

void store_mark_read(struct vs_ns_record *out, struct vs_mark_now *now) {
    *out = ns;
    *now = (struct vs_mark_now){store_ms(0), host_boot_us(&sim.host[0]) / 1000, !sim.timing.is_shared};
}

/* Notes the start of watermarks, and which leases no record has then. */
static void note_start(void) {
    sim.started_unix_us = host_unix_us(&sim.host[0]);
    for (struct file *f = sim.file; f < sim.file + sim.files; f++)
        for (int i = 0; i < VS_SLOTS_MAX; i++) {
            const struct vs_slot *slot = &f->map->slot[i];
            const uint64_t *owner = records[slot->worker].owner;
            f->was[i].is_unlisted = slot->from && (slot->owner[0] != owner[0] || slot->owner[1] != owner[1]) &&
                                    !sim.timing.is_shared;
        }
}

bool store_mark_swap(const struct vs_ns_record *next) {
    uint64_t unit = (uint64_t)1 << sim.shape.seq_bits, most = unit;
    uint64_t tick = vs_tick_at(&sim.shape, (next->mark_ms - 1) * 1000); /* the mark is rounded up to milliseconds */
    if (ns.ver + 1 != next->ver) return false;
    for (uint64_t i = 0; i <= sim.worker_max; i++)
        most = records[i].until > most ? records[i].until : most;
    if (tick > most + unit)
        oracle_found(AHEAD, "the mark is tick %llu, past the end %llu of all leases", (unsigned long long)tick,
                     (unsigned long long)most);
    if (!ns.mark_ms) note_start();
    ns = *next;
    return true;
}

size_t store_mark_list(struct vs_listed listed[WORKERS_MAX], struct vs_mark_now *now) {
    struct vs_ns_record unused;
    size_t count = 0;
    store_mark_read(&unused, now);
    for (uint64_t i = 0; i <= sim.worker_max; i++)
        if (records[i].ver) listed[count++] = (struct vs_listed){i, records[i]};
    return count;
}

bool store_mark_end(uint64_t worker, const struct vs_record *next, const struct vs_ns_record *known) {
    struct vs_record *r = &records[worker];
    if (ns.ver != known->ver || !vs_follows(next, r, next->ver - 1)) return false;
    *r = *next;
    r->written_ms = store_ms(0);
    sim.counts.passed++;
    TRACE("  reader: ends the lease of worker id %d, held by %s", (int)worker, r->holder);
    return true;
}

void store_keep_copy(void) {
    memcpy(replica, records, sizeof records);
}

void store_go_back(void) {
    TRACE("the store goes back to its copy");
    sim.counts.failovers++;
    memcpy(records, replica, sizeof records);
}

/* Replication lags by up to a few seconds. */
static void replicate(void) {
    if (sim.now_us < replica_us) return;
    memcpy(replica, records, sizeof records);
    replica_us = sim.now_us + rnd_around(2 * SEC);
}

void store_down(int64_t until_us) {
    TRACE("the store is down for %.1f s", (double)(until_us - sim.now_us) / 1e6);
    down_until_us = until_us;
}

void store_heal(void) {
    down_until_us = 0;
    lossy = 0;
}

/* ------------------------------------------------------------------ acknowledged bounds */

uint64_t store_granted(const uint64_t owner[2]) {
    for (int i = token_count; i-- > 0;)
        if (tokens[i].owner[0] == owner[0] && tokens[i].owner[1] == owner[1]) return tokens[i].until;
    return 0;
}

static void grant(const struct vs_record *record) {
    for (int i = token_count; i-- > 0;) {
        if (tokens[i].owner[0] != record->owner[0] || tokens[i].owner[1] != record->owner[1]) continue;
        tokens[i].until = record->until > tokens[i].until ? record->until : tokens[i].until;
        return;
    }
    assert(token_count < TOKENS_MAX);
    tokens[token_count++] = (struct token){{record->owner[0], record->owner[1]}, record->until};
}

/* Returns whether a living process still has that claim open. It does not know that another process holds the worker id
 * now. */
static bool is_believed(const uint64_t owner[2]) {
    for (int i = 0; i < sim.procs; i++) {
        const struct proc *p = &sim.proc[i];
        if (!p->alive) continue;
        const struct vs_map *map = sim.file[p->file].map;
        int active = vs_map_active(map);
        uint64_t cursor;
        if (active >= 0 && map->slot[active].owner[0] == owner[0] && map->slot[active].owner[1] == owner[1] &&
            vs_slot_cursor(&map->slot[active], &cursor))
            return true;
    }
    return false;
}

static void count_write(const struct vs_record *was, const struct vs_record *now) {
    if (!now->held || now->epoch == was->epoch) return;
    sim.counts.claims++;
    bool taken_over = was->held && strcmp(was->identity, now->identity) != 0;
    sim.counts.takeovers += taken_over;
    sim.counts.from_living += taken_over && is_believed(was->owner);
}

/* ------------------------------------------------------------------ operations: one atomic step each */

/* Applies the rules that all backends share. */
static enum vs_outcome swap(const struct vs_action *action, struct vs_met *met, int host) {
    struct vs_record *r = &records[action->worker];
    struct vs_reply stands = {.ns = ns};
    if (sim.timing.is_shared && !sim.told) replicate();
    if (!vs_is_met(met, &stands)) return VS_STORE_MOVED;
    if (!vs_follows(&action->record, r, action->old_ver)) return VS_STORE_CONFLICT;
    count_write(r, &action->record);
    *r = action->record;
    r->written_ms = store_ms(host);
    if (r->held) grant(r);
    TRACE("  store: number %d is %s %s, version %d, until %llu", (int)action->worker, r->held ? "held by" : "free of",
          r->holder, (int)r->ver, (unsigned long long)r->until);
    return VS_STORE_OK;
}

static void carry_out(struct message *m) {
    struct reply *reply = &m->reply;
    reply->outcome = VS_STORE_OK;
    if (m->action.kind == VS_DO_SWAP) {
        assert(m->action.worker < WORKERS_MAX);
        reply->outcome = swap(&m->action, &m->met, m->host);
    } else if (m->action.kind == VS_DO_NS_SWAP) {
        if (ns.ver == m->action.old_ver)
            ns = m->action.ns;
        else
            reply->outcome = VS_STORE_CONFLICT;
    }
    reply->store_ms = store_ms(m->host);
    if (m->action.kind == VS_DO_NS_READ || m->action.kind == VS_DO_NS_SWAP)
        reply->ns = ns;
    else
        reply->record = records[m->action.worker];
}

int64_t store_next_us(void) {
    int64_t next = NEVER;
    for (int i = 0; i < message_top; i++)
        if (messages[i].due_us < next) next = messages[i].due_us;
    return next;
}

void store_deliver(void) {
    for (int i = 0; i < message_top; i++) {
        struct message *m = &messages[i];
        if (m->due_us > sim.now_us) continue;
        m->due_us = NEVER;
        if (m->asker < 0 || !sim.proc[m->asker].alive) TRACE("  store: a request arrives, and no process waits for it");
        carry_out(m);
    }
}

/* ------------------------------------------------------------------ requests */

static bool is_free(const struct message *m) {
    return m->due_us == NEVER && (m->asker < 0 || !sim.proc[m->asker].alive);
}

static struct message *post(const struct vs_action *action, const struct vs_ns_record *known, int asker, int host,
                            int64_t due_us) {
    int i = 0;
    while (i < message_top && !is_free(&messages[i]))
        i++;
    assert(i < MESSAGES_MAX);
    if (i == message_top) message_top++;
    messages[i].due_us = due_us;
    messages[i].action = *action;
    messages[i].met = (struct vs_met){known->ver, known->incarnation};
    messages[i].asker = asker;
    messages[i].host = host;
    return &messages[i];
}

static const char *name_of(enum vs_do kind) {
    switch (kind) {
    case VS_DO_NS_READ: return "ns_read";
    case VS_DO_NS_SWAP: return "ns_swap";
    case VS_DO_CHOOSE: return "choose";
    case VS_DO_READ: return "read";
    default: return "swap";
    }
}

static bool is_write(const struct vs_action *action) {
    return action->kind == VS_DO_SWAP || action->kind == VS_DO_NS_SWAP;
}

/* A request is lost: its outcome is UNKNOWN, and it is applied never, at once, or much later. */
static void ask_and_lose(const struct vs_action *action, const struct vs_ns_record *known, int host) {
    if (chance(65))
        post(action, known, -1, host, sim.now_us + (chance(50) ? rnd_between(0, 5 * MS) : rnd_around(6 * SEC)));
    thread_sleep(chance(50) ? STORE_TIMEOUT_US : rnd_between(1, 50 * MS), NULL);
    sim.counts.unknowns++;
}

static void list(struct vs_term *term, int host, struct vs_event *ev) {
    struct vs_listed listed[WORKERS_MAX];
    size_t count = 0;
    for (uint64_t i = 0; i <= sim.worker_max; i++)
        if (records[i].ver) listed[count++] = (struct vs_listed){i, records[i]};
    vs_term_choose(term, (struct vs_listing){listed, count, store_ms(host)}, ev);
    if (sim.told && !term->lease.has_worker) {
        for (ev->worker = 0; records[ev->worker].held; ev->worker++)
            ;
        ev->found = true;
    } else if (moody && chance(50)) { /* a policy may choose any worker id, because the claim decides */
        ev->found = true;
        ev->worker = rnd() & sim.worker_max;
    }
    vs_sim_point("lists");
}

/* Sends a request and waits for the reply. Returns false if the requester was restored from an image before the reply
 * came. */
static bool hear(struct vs_term *term, const struct vs_action *action, struct vs_event *ev, int64_t there_us,
                 int64_t back_us) {
    int proc = thread_proc(), path = sim.proc[proc].path;
    unsigned lives = image_lives(path);
    struct message *m = post(action, &term->lease.ns, proc, sim.path[path].host, sim.now_us + there_us);
    thread_sleep(there_us + back_us, NULL);
    if (lives != image_lives(path)) return false;
    assert(m->due_us == NEVER && m->asker == proc);
    m->asker = -1;
    ev->outcome = m->reply.outcome;
    ev->store_ms = m->reply.store_ms;
    ev->record = m->reply.record;
    ev->ns = m->reply.ns;
    return true;
}

/* In a story each request and each reply take a millisecond, unless the story decides otherwise. */
static bool ask_as_told(struct vs_term *term, const struct vs_action *action, struct vs_event *ev) {
    enum store_fate fate = store_fate;
    int host = sim.path[sim.proc[thread_proc()].path].host;
    if (is_write(action)) store_fate = FATE_DONE;
    if (fate == FATE_DONE || !is_write(action)) return hear(term, action, ev, MS, MS);
    if (fate != FATE_LOST)
        post(action, &term->lease.ns, -1, host, sim.now_us + (fate == FATE_LATE ? store_late_us : MS));
    thread_sleep(2 * MS, NULL);
    return false;
}

static bool ask_by_chance(struct vs_term *term, const struct vs_action *action, struct vs_event *ev) {
    int host = sim.path[sim.proc[thread_proc()].path].host;
    if (sim.now_us >= down_until_us && !chance(lossy)) {
        int64_t there_us = rnd_between(50, chance(90) ? 3 * MS : 400 * MS);
        return hear(term, action, ev, there_us, rnd_between(50, chance(90) ? 3 * MS : 400 * MS));
    }
    if (is_write(action) && (sim.now_us >= down_until_us || chance(20))) {
        ask_and_lose(action, &term->lease.ns, host);
        return false;
    }
    thread_sleep(rnd_between(1, 100 * MS), NULL);
    ev->outcome = VS_STORE_DOWN;
    return true;
}

void store_ask(struct vs_term *term, const struct vs_action *action, struct vs_event *ev) {
    char point[32];
    if (action->kind == VS_DO_CHOOSE && (sim.told || (sim.now_us >= down_until_us && !chance(lossy)))) {
        list(term, sim.path[sim.proc[thread_proc()].path].host, ev);
        return;
    }
    snprintf(point, sizeof point, "asks_%s", name_of(action->kind));
    vs_sim_point(point);
    bool heard = sim.told ? ask_as_told(term, action, ev) : ask_by_chance(term, action, ev);
    if (!heard) ev->outcome = is_write(action) ? VS_STORE_UNKNOWN : VS_STORE_DOWN;
    snprintf(point, sizeof point, "heard_%s", name_of(action->kind));
    vs_sim_point(point);
}
