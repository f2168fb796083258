/* oracle.c -- the rules that must always hold, checked after every id and every turn. Also the trace of a schedule. */
#include "sim.h"

#include <stdarg.h>
#include <string.h>

#define SET_SIZE 65536 /* a power of two, more than twice IDS_MAX */
#define STORY_LINES 20
#define SLACK_US (1100 * MS) /* the core stores a leap and its first sight in whole seconds */

_Static_assert(SET_SIZE >= 2 * IDS_MAX, "the set never gets full");

/* Where an id was issued. */
struct origin {
    uint64_t id;
    int64_t at_us;
    int proc, file, slot;
};
static struct origin origins[IDS_MAX];
static struct {
    uint32_t stamp;
    uint32_t origin;
} set[SET_SIZE];
static uint32_t stamp;

/* ------------------------------------------------------------------ the trace */

/* A ring of the last lines, for the report of a finding. It is filled if the trace is not printed directly. */
static char lines[STORY_LINES][320];
static unsigned line_count;

const char *finding_name(enum finding kind) {
    static const char *const names[] = {"nothing",
#define FINDING_NAME(name) #name,
                                        FINDINGS(FINDING_NAME)
#undef FINDING_NAME
    };
    return names[kind];
}

void sim_trace(const char *format, ...) {
    char *line = lines[line_count++ % STORY_LINES];
    va_list args;
    int n = snprintf(line, sizeof lines[0], "%11.6f ", (double)sim.now_us / 1e6);
    va_start(args, format);
    vsnprintf(line + n, sizeof lines[0] - (size_t)n, format, args);
    va_end(args);
    if (!sim.quiet) puts(line);
}

void oracle_last_lines(void) {
    for (unsigned i = line_count > STORY_LINES ? line_count - STORY_LINES : 0; i < line_count; i++)
        printf("    %s\n", lines[i % STORY_LINES]);
}

void oracle_found(enum finding kind, const char *format, ...) {
    va_list args;
    if (sim.found || (sim.expected && kind != sim.expected)) return;
    sim.found = kind;
    va_start(args, format);
    vsnprintf(sim.story, sizeof sim.story, format, args);
    va_end(args);
    TRACE("FOUND %s: %s", finding_name(kind), sim.story);
}

void oracle_reset(void) {
    line_count = 0;
    if (++stamp == 0) {
        memset(set, 0, sizeof set);
        stamp = 1;
    }
}

/* ------------------------------------------------------------------ ids */

void oracle_before(int file, struct before *before) {
    const struct host *host = &sim.host[sim.file[file].host];
    before->file = file;
    before->is_uuid = false;
    before->uuids = sim.file[file].uuids;
    before->sets = host->sets;
    before->unix_us = host_unix_us(host);
    before->late_us = host_late_us(host);
    before->marked = sim.marked;
    for (int i = 0; i < VS_SLOTS_MAX; i++) {
        uint64_t tick = atomic_load(&sim.file[file].map->slot[i].tick);
        before->given[i] = sim.file[file].was[i].given;
        before->ended[i] = tick & VS_CLOSED && tick < VS_FRESH;
    }
}

void oracle_before_lane(int file, struct before *before) {
    oracle_before(file, before);
    memset(before->given, 0, sizeof before->given);
}

/* Leases of one worker id follow each other, so its ids ascend across slots. */
void oracle_lane(struct lane *lane, uint64_t id) {
    struct vesta_parts is, was;
    sim.counts.by_lane++;
    bool known = lane->last && vesta_explain(sim.layout, lane->last, &was, NULL) == VESTA_OK;
    if (known && vesta_explain(sim.layout, id, &is, NULL) == VESTA_OK && is.worker == was.worker &&
        (is.time < was.time || (is.time == was.time && is.seq <= was.seq)))
        oracle_found(ORDER, "a lane gave %llu after %llu", (unsigned long long)id, (unsigned long long)lane->last);
    lane->last = id;
}

static const struct origin *remember(uint64_t id, int proc, int file, int slot) {
    uint64_t h = id * 0x9e3779b97f4a7c15u >> 32;
    while (set[h & (SET_SIZE - 1)].stamp == stamp) {
        const struct origin *o = &origins[set[h & (SET_SIZE - 1)].origin];
        if (o->id == id) return o;
        h++;
    }
    uint32_t n = (uint32_t)sim.counts.ids++;
    origins[n] = (struct origin){id, sim.now_us, proc, file, slot};
    set[h & (SET_SIZE - 1)].stamp = stamp;
    set[h & (SET_SIZE - 1)].origin = n;
    return NULL;
}

/* Returns the newest slot whose lease contains the tick, or -1. When a slot is closed, the ticks above its cursor may
 * be granted to a later slot. */
static int slot_of(const struct vs_map *map, uint64_t worker, uint64_t tick) {
    uint32_t used = atomic_load(&map->shared.slots_used);
    for (int i = (int)(used < VS_SLOTS_MAX ? used : VS_SLOTS_MAX); i-- > 0;)
        if (map->slot[i].worker == worker && map->slot[i].from <= tick && tick < atomic_load(&map->slot[i].limit))
            return i;
    return -1;
}

/* The oracle's own rule for trusting clocks: small steps at once, larger leaps a minute after they were first seen. The
 * clock may have shown another time in between, which the core cannot know unless a caller read it. */
static void believe(struct file *f) {
    int64_t off = host_unix_us(&sim.host[f->host]) - host_boot_us(&sim.host[f->host]);
    int64_t long_ago_us = sim.now_us - VS_CLOCK_CONFIRM_US + 2 * SEC;
    bool believed = off <= f->legit_us + VS_CLOCK_LEAP_US, known = believed;
    for (int i = 0; i < f->leaps; i++) {
        int64_t apart_us = off > f->leap[i].off_us ? off - f->leap[i].off_us : f->leap[i].off_us - off;
        known |= apart_us < SEC;
        believed |= apart_us <= VS_CLOCK_LEAP_US + SEC && f->leap[i].since_us <= long_ago_us;
    }
    if (!known && f->leaps < LEAPS_MAX) {
        f->leap[f->leaps].off_us = off;
        f->leap[f->leaps++].since_us = sim.now_us;
    }
    if (believed && off > f->legit_us) f->legit_us = off;
}

void oracle_clock(int host) {
    for (int i = 0; i < sim.files; i++)
        if (sim.file[i].host == host && sim.file[i].boot == sim.host[host].boots) believe(&sim.file[i]);
}

uint64_t oracle_verdict(struct file *f, uint32_t slot) {
    if (slot >= VS_SLOTS_MAX) return 0;
    uint64_t allowed = atomic_load(&f->map->slot[slot].allowed);
    if (allowed > f->allowed[slot]) f->allowed[slot] = allowed;
    return f->allowed[slot];
}

static void check_time(struct file *f, int slot, uint64_t tick, uint64_t ahead) {
    const struct host *host = &sim.host[f->host];
    int64_t time = vs_time_at(&sim.shape, host->read_max_us);
    uint64_t bound = ((uint64_t)(time + 1) << sim.shape.seq_bits) + ahead;
    uint64_t allowed = oracle_verdict(f, (uint32_t)slot);
    if (allowed && tick >> sim.shape.seq_bits <= (allowed - 1) >> sim.shape.seq_bits)
        return; /* a policy's verdict counts more than the clock, and it includes the rest of its last unit */
    if (tick >= bound)
        oracle_found(AHEAD, "tick %llu is at or past %llu, the clock's bound", (unsigned long long)tick,
                     (unsigned long long)bound);
    believe(f);
    int64_t slack_us = SLACK_US + ((int64_t)(ahead >> sim.shape.seq_bits) + 1) * sim.shape.unit_us;
    int64_t latest = host_boot_us(host) + f->legit_us + VS_CLOCK_LEAP_US + slack_us;
    int64_t at = vs_tick_unix_us(&sim.shape, tick), from = vs_tick_unix_us(&sim.shape, f->map->slot[slot].from);
    /* If the store or a verdict set a cursor to the leapt time, ids continue from there. */
    bool led_there = from + 2 * slack_us > latest || allowed;
    if (f->boot == host->boots && at > latest && !led_there)
        oracle_found(LEAP, "an id's time is %.3f s past the latest trusted time", (double)(at - latest) / 1e6);
}

/* Returns whether the late clock may have decided about a tick: any tick in layouts of a second. In shorter units,
 * ticks after the first VS_LATE_FROM, except one in each run. */
static bool may_be_late(uint64_t tick) {
    uint64_t seq = tick & (((uint64_t)1 << sim.shape.seq_bits) - 1);
    return sim.shape.unit_us == SEC || (seq >= sim.shape.spread + VS_LATE_FROM && tick % VS_LATE_RUN != 0);
}

/* Checks ids with clock pacing. Allows one more millisecond, because with_rate moves a slow clock back at once. */
static void check_fresh(const struct before *before, const struct file *f, uint64_t tick) {
    const struct host *host = &sim.host[f->host];
    if (f->map->header.pacing != VESTA_PACING_CLOCK || host->sets != before->sets) return;
    int64_t over_us = vs_tick_unix_us(&sim.shape, tick) + sim.shape.unit_us;
    bool is_over = over_us + MS <= before->unix_us, was_late = over_us + MS > before->late_us;
    bool is_wild = host->is_wild && sim.shape.unit_us != SEC;
    if (is_over && !(may_be_late(tick) && (was_late || is_wild)))
        oracle_found(LATE, "tick %llu had ended %.6f s before it was requested", (unsigned long long)tick,
                     (double)(before->unix_us - over_us) / 1e6);
}

/* If a clock was set back, ids must not exceed it by more than the late clock may lag. */
static void check_back(const struct before *before, struct file *f, int slot, uint64_t tick, uint64_t ahead) {
    const struct host *host = &sim.host[f->host];
    if (f->map->header.pacing != VESTA_PACING_CLOCK || host->sets != before->sets || host->is_wild) return;
    int64_t by_us = host_unix_us(host) + VS_LATE_US_MAX + MS;
    uint64_t bound = ((uint64_t)(vs_time_at(&sim.shape, by_us) + 1) << sim.shape.seq_bits) + ahead;
    if (tick >= bound && !oracle_verdict(f, (uint32_t)slot))
        oracle_found(AHEAD, "tick %llu is at or past %llu, the bound of a clock that was set back",
                     (unsigned long long)tick, (unsigned long long)bound);
}

/* Returns the file of an id. It may be the successor that another thread moved to in the meantime (its leases start
 * above all ids of the used-up file), the process's file when it called, or another file of its path with an open
 * slot. */
static int file_of(int file, int successor, uint64_t worker, uint64_t tick, int *slot) {
    int path = sim.file[file].path;
    *slot = successor == file ? -1 : slot_of(sim.file[successor].map, worker, tick);
    if (*slot >= 0) return successor;
    *slot = slot_of(sim.file[file].map, worker, tick);
    for (int i = sim.files; i-- > 0 && *slot < 0;)
        if (sim.file[i].path == path && (*slot = slot_of(sim.file[i].map, worker, tick)) >= 0) return i;
    return file;
}

static bool has_two_open(const struct file *f) {
    int open = 0;
    for (int i = 0; i < VS_SLOTS_MAX; i++)
        open += f->map->slot[i].from && !(atomic_load(&f->map->slot[i].tick) & VS_CLOSED);
    return open > 1;
}

/* UUIDs of a generator file ascend, also from one lease to the next. */
static void check_uuid(const struct before *before, struct file *f, uint64_t tick) {
    bool has_switched = atomic_load(&f->map->shared.left_boot_us) != 0; /* UUIDs of the new worker id may begin below */
    unsigned bits = vs_span_bits(&sim.shape);
    uint64_t latest = before->uuids ? before->uuids - 1 : 0;
    uint64_t least = has_two_open(f) ? latest >> bits << bits : before->uuids;
    if (f == &sim.file[before->file] && tick < least && !has_switched)
        oracle_found(ORDER, "the UUID of tick %llu came after that of %llu", (unsigned long long)tick,
                     (unsigned long long)latest);
    if (tick >= f->uuids) f->uuids = tick + 1;
}

/* A lease of a store on one host has no deadline until its holder has read that watermarks were started.  If another
 * process had taken its worker id before, no record has it.  Then it is stopped by the host's clock alone. */
static bool is_unlisted_and_back(const struct before *before, const struct file *f, int slot) {
    return slot >= 0 && f->was[slot].is_unlisted && before->unix_us < sim.started_unix_us;
}

static void check_id(const struct before *before, int proc, uint64_t id) {
    struct vesta_parts parts;
    if (vesta_explain(sim.layout, id, &parts, NULL) != VESTA_OK) {
        oracle_found(OUTSIDE, "%llu is no id of the layout", (unsigned long long)id);
        return;
    }
    uint64_t worker = parts.worker, tick = parts.time << sim.shape.seq_bits | parts.seq;
    int slot, file = file_of(before->file, sim.proc[proc].file, worker, tick, &slot);
    struct file *f = &sim.file[file];
    const struct origin *first = remember(id, proc, file, slot);
    if (first)
        oracle_found(DUPLICATE,
                     "id %llu (worker id %d, tick %llu): process %d, file %d, slot %d at %.6f s, and process %d, "
                     "file %d, slot %d at %.6f s",
                     (unsigned long long)id, (int)worker, (unsigned long long)tick, first->proc, first->file,
                     first->slot, (double)first->at_us / 1e6, proc, file, slot, (double)sim.now_us / 1e6);
    TRACE("process %d: id of worker id %d, tick %llu, slot %d of file %d", proc, (int)worker, (unsigned long long)tick,
          slot, file);
    if (tick < before->marked && !is_unlisted_and_back(before, f, slot))
        oracle_found(PASSED, "tick %llu of worker id %d is below the watermark %llu", (unsigned long long)tick,
                     (int)worker, (unsigned long long)before->marked);
    if (slot < 0) {
        oracle_found(OUTSIDE, "tick %llu of worker id %d is in no lease of file %d", (unsigned long long)tick,
                     (int)worker, file);
        return;
    }
    if (file == before->file && tick + 1 <= before->given[slot])
        oracle_found(ORDER, "tick %llu of slot %d came after %llu", (unsigned long long)tick, slot,
                     (unsigned long long)before->given[slot] - 1);
    if (file == before->file && before->ended[slot])
        oracle_found(ENDED, "tick %llu is of slot %d, which was closed when the id was requested",
                     (unsigned long long)tick, slot);
    if (tick + 1 > f->was[slot].given) f->was[slot].given = tick + 1;
    const struct vesta_gen *gen = &sim.proc[proc].gen;
    if (before->is_uuid) check_uuid(before, f, tick);
    /* With history pacing, UUIDs raise `pass`, below which ids read no clock. */
    bool may_lead = before->is_uuid || (sim.has_uuids && gen->pacing == VESTA_PACING_HISTORY);
    uint64_t ahead = may_lead ? gen->lead_ticks_max : gen->ahead_ticks_max;
    check_time(f, slot, tick, ahead);
    check_fresh(before, f, tick);
    check_back(before, f, slot, tick, ahead);
}

void oracle_ids(const struct before *before, int proc, const uint64_t *ids, size_t n) {
    sim.proc[proc].ids_calm += n;
    for (size_t i = 0; i < n && sim.counts.ids < IDS_MAX; i++)
        check_id(before, proc, ids[i]);
}

/* ------------------------------------------------------------------ the words of a map */

static void check_slot(struct file *f, int index, int i) {
    const struct vs_slot *slot = &f->map->slot[i];
    uint64_t tick = atomic_load(&slot->tick), limit = atomic_load(&slot->limit);
    uint64_t was_tick = f->was[i].tick, was_limit = f->was[i].limit;
    bool was_open = was_tick && !(was_tick & VS_CLOSED), is_open = !(tick & VS_CLOSED);
    bool was_closed = was_tick & VS_CLOSED && was_tick < VS_FRESH;
    /* the rest of a lane, which was never issued */
    bool is_back = f->giving_back > 0 && tick >= f->was[i].given;
    bool lowered = (was_open && is_open && tick < was_tick && !is_back) || (was_open && tick >= VS_FRESH) ||
                   (was_closed && (is_open || tick >= VS_FRESH));
    f->was[i].tick = tick;
    f->was[i].limit = limit;
    if (sim.tracing && (limit != was_limit || is_open != was_open || (tick >= VS_FRESH) != (was_tick >= VS_FRESH)))
        sim_trace("slot %d of file %d is %s, worker id %d, limit %llu", i, index,
                  is_open            ? "open"
                  : tick >= VS_FRESH ? "claimed"
                                     : "closed",
                  (int)slot->worker, (unsigned long long)limit);
    if (lowered || limit < was_limit)
        oracle_found(LOWERED, "slot %d of file %d: cursor %llx after %llx, limit %llu after %llu", i, index,
                     (unsigned long long)tick, (unsigned long long)was_tick, (unsigned long long)limit,
                     (unsigned long long)was_limit);
    if (limit > was_limit && limit > store_granted(slot->owner))
        oracle_found(UNGRANTED, "slot %d of file %d has limit %llu, the store acknowledged %llu", i, index,
                     (unsigned long long)limit, (unsigned long long)store_granted(slot->owner));
}

void oracle_file(int file) {
    struct file *f = &sim.file[file];
    uint32_t used = atomic_load(&f->map->shared.slots_used);
    for (uint32_t i = 0; i < used && i < VS_SLOTS_MAX; i++)
        check_slot(f, file, (int)i);
    if (atomic_load(&f->map->shared.stopped) == VESTA_FAILSTOP && !sim.counts.failovers)
        oracle_found(FAILSTOP, "file %d: %s", file, (const char *)f->map->shared.keeper);
}

void oracle_fenced(const struct vs_lease *lease) {
    const struct vs_record *r = store_record(lease->worker);
    sim.counts.fenced++;
    if (lease->incarnation != store_incarnation()) return; /* a conflict in the earlier store */
    if (r->held && r->owner[0] == lease->owner[0] && r->owner[1] == lease->owner[1])
        oracle_found(SELF_FENCED, "%s gave up worker id %d, which the store holds for it", lease->holder,
                     (int)lease->worker);
}
