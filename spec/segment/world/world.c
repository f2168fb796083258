/* world.c -- runs one seed after another: random faults for a while, then a calm phase in which every process must get
 * numbers again.
 *
 *     segment_world --seeds FROM..TO           1 and a message if a number was issued twice or was never granted
 *     segment_world --seeds FROM..TO --kill    for a mutant: 1 if no seed finds anything */
#include "world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define STORM_US (90 * SEC)
#define CALM_US (60 * SEC)

struct world world;

uint64_t roll(uint64_t below) {
    world.dice = world.dice * 6364136223846793005u + 1442695040888963407u;
    return (world.dice >> 33) % below;
}

bool chance(uint64_t percent) {
    return roll(100) < percent;
}

void found(const char *format, ...) {
    va_list args;
    if (world.found[0]) return;
    va_start(args, format);
    vsnprintf(world.found, sizeof world.found, format, args);
    va_end(args);
}

/* ------------------------------------------------------------------ numbers */

static void give(uint64_t n, unsigned life, int holder) {
    if (n >= NUMBERS) return;
    world.counts.numbers++;
    if (world.is_given[n]) found("number %" PRIu64 " was issued twice", n);
    bool was_granted = world.granted_to[n] == life || (world.restores && world.granted_before[n] == life);
    if (!was_granted) found("number %" PRIu64 " was issued by a holder that it was not granted to", n);
    if (world.held_by[n] != holder) found("number %" PRIu64 " does not belong to the block that it was issued from", n);
    world.is_given[n] = true;
}

/* ------------------------------------------------------------------ maps */

static void identify(const struct map *map, int path, struct vs_file_identity *out) {
    memset(out, 0, sizeof *out);
    snprintf(out->boot_id, sizeof out->boot_id, "boot %u", world.boot[path]);
    out->ino = (uint64_t)(map - world.maps) + 1;
}

static void make_words(struct map *map, int path) {
    struct vs_file_identity now;
    identify(map, path, &now);
    map->header.ino = now.ino;
    memcpy(map->header.boot_id, now.boot_id, sizeof now.boot_id);
    map->life = ++world.lives;
    vs_segment_format(&map->words);
}

static struct map *new_map(void) {
    struct map *map = &world.maps[world.maps_count++];
    memset(map, 0, sizeof *map);
    return map;
}

static bool gives_nothing(const struct map *map) {
    return atomic_load(&map->words.cursor) & VS_CLOSED;
}

/* Returns the map that a process finds at the path.  NULL: too many maps already. */
static struct map *opened(int path) {
    struct vs_file_identity now;
    struct map *map = world.at[path];
    if (map) identify(map, path, &now);
    if (map && vs_map_trusted(&map->header, &now) && !gives_nothing(map)) return map;
    if (world.maps_count == MAPS_MAX) return NULL;
    struct map *old = map && vs_map_trusted(&map->header, &now) ? map : NULL;
    map = world.at[path] = new_map();
    make_words(map, path);
    if (old) vs_segment_inherit(&map->words, &old->words);
    return map;
}

/* ------------------------------------------------------------------ refillers */

static void start_refiller(struct refiller *r, struct map *map, int database) {
    *r = (struct refiller){.map = map, .did = {.kind = VS_REFILL_SLEEP}};
    vs_refill_init(&r->machine, &(struct vs_refill_opts){.step = (uint64_t)world.databases * 6,
                                                         .step_max = 80,
                                                         .delta = (uint64_t)world.databases,
                                                         .remainder = (uint64_t)database,
                                                         .database = (uint32_t)database,
                                                         .entropy = roll(1 << 30)});
}

/* The process that took the rest out gives it back, each database's part by its own refiller. */
static void claim(const struct proc *p, struct map *map, int database, bool ends, struct vs_refill_event *ev) {
    struct vs_unclaimed *rest = map->rest[p - world.proc];
    struct vs_unused unused[2];
    int count;
    bool is_ours =
        ends ? vs_segment_close(&map->words, unused, &count) : vs_segment_take_rest(&map->words, unused, &count);
    for (int i = 0; is_ours && i < count; i++)
        if (!vs_rest_keep(rest, p->token, &unused[i])) (void)vs_segment_put_back(&map->words, &unused[i]);
    ev->unused_count = vs_rest_claim(rest, p->token, (uint32_t)database, ev->unused);
}

/* Delivers the reply to the last action, if there is one.  False: not yet. */
static bool hear(const struct proc *p, struct refiller *r, int database, struct vs_refill_event *ev) {
    struct vs_segment *words = &r->map->words;
    const struct vs_refill_action *did = &r->did;
    *ev = (struct vs_refill_event){.kind = VS_REFILL_WAKE};
    switch (did->kind) {
    case VS_REFILL_TAKE:
    case VS_REFILL_UNTAKE:
    case VS_REFILL_RAISE:
        if (!r->asked || world.now_us < r->asked->answer_us) return false;
        ev->kind = VS_REFILL_REPLY;
        ev->outcome = r->asked->outcome == VS_STORE_OK ? r->asked->reply.outcome : r->asked->outcome;
        ev->from = r->asked->reply.grant.from;
        ev->until = r->asked->reply.grant.until;
        ev->step = r->asked->reply.grant.step;
        if (did->kind == VS_REFILL_TAKE && ev->outcome == VS_STORE_OK)
            vs_raise_u64(&words->answered[database], ev->until);
        r->asked->is_heard = true; /* the database may still do it later */
        r->asked = NULL;
        return true;
    case VS_REFILL_PUBLISH:
        ev->kind = VS_REFILL_PUBLISHED;
        if (world.maps_count < MAPS_MAX / 2 && roll(500) == 0) { /* so that few generations are enough */
            world.counts.spent++;
            ev->published = VS_SEGMENT_SPENT;
        } else
            ev->published = vs_segment_publish(words, &did->range);
        return true;
    case VS_REFILL_CLOSE:
    case VS_REFILL_CLAIM:
        ev->kind = VS_REFILL_CLAIMED;
        claim(p, r->map, database, did->kind == VS_REFILL_CLOSE, ev);
        return true;
    case VS_REFILL_PUT_BACK:
        ev->kind = VS_REFILL_KEPT;
        ev->is_kept = vs_segment_put_back(words, &did->unused);
        world.counts.kept += ev->is_kept;
        return true;
    case VS_REFILL_HALT:
        world.counts.noticed++;
        if (!world.restores) found("a counter was reported to have gone back, and had not");
        atomic_fetch_or(&words->stopped, UINT32_C(1) << database);
        return true;
    default: return world.now_us >= did->until_boot_us || (did->on_want && vs_segment_is_due(words)) || chance(5);
    }
}

static void ask(struct refiller *r, int database) {
    const struct vs_refill_action *did = &r->did;
    struct vs_counter_change change = {.what = VS_TAKE, .step = did->step};
    if (did->kind == VS_REFILL_UNTAKE)
        change = (struct vs_counter_change){.what = VS_UNTAKE, .from = did->unused.from, .until = did->unused.until};
    else if (did->kind == VS_REFILL_RAISE)
        change = (struct vs_counter_change){.what = VS_LIFT, .from = did->floor};
    else if (did->kind != VS_REFILL_TAKE)
        return;
    r->asked = database_ask(database, &change, r->map->life);
}

static void run_refiller(struct proc *p, int database) {
    struct refiller *r = &p->refiller[database];
    struct vs_segment *words = &r->map->words;
    struct vs_refill_event ev;
    if (r->did.kind == VS_REFILL_END) {
        if (!p->ends && p->map != r->map) start_refiller(r, p->map, database);
        return;
    }
    bool asks = r->did.kind == VS_REFILL_TAKE || r->did.kind == VS_REFILL_UNTAKE || r->did.kind == VS_REFILL_RAISE;
    if (asks && !r->asked) ask(r, database);
    if (!hear(p, r, database, &ev)) return;
    ev.boot_us = world.now_us;
    ev.stop = p->ends;
    ev.due = vs_segment_is_due(words);
    ev.stopped = atomic_load(&words->stopped) >> database & 1;
    ev.closed = atomic_load(&words->cursor) & VS_CLOSED;
    ev.forgone = atomic_load(&words->forgone);
    ev.granted = vs_segment_granted(words, (uint32_t)database);
    ev.answered = atomic_load(&words->answered[database]);
    vs_refill_step(&r->machine, &ev, &r->did);
    ask(r, database);
}

/* ------------------------------------------------------------------ processes */

static void start_refillers(struct proc *p) {
    for (int i = 0; i < world.databases; i++)
        start_refiller(&p->refiller[i], p->map, i);
}

/* Inherits the memory of `parent`, which may be NULL. */
static struct proc *start_proc(int path, const struct proc *parent) {
    for (struct proc *p = world.proc; p < world.proc + PROCS; p++) {
        if (p->is_alive) continue;
        *p = (struct proc){.path = path, .map = opened(path), .token = ++world.tokens};
        if (!p->map) return NULL;
        p->is_alive = true;
        start_refillers(p);
        for (int i = 0; i < world.maps_count; i++)
            if (parent)
                memcpy(world.maps[i].rest[p - world.proc], world.maps[i].rest[parent - world.proc],
                       sizeof world.maps[i].rest[0]);
            else
                memset(world.maps[i].rest[p - world.proc], 0, sizeof world.maps[i].rest[0]);
        return p;
    }
    return NULL;
}

/* Its requests in transit remain. */
static void kill_proc(struct proc *p) {
    p->is_alive = false;
    for (int i = 0; i < world.databases; i++)
        if (p->refiller[i].asked) p->refiller[i].asked->is_heard = true;
}

static struct proc *some_proc(void) {
    struct proc *p = &world.proc[roll(PROCS)];
    return p->is_alive && world.now_us >= p->stopped_us ? p : NULL;
}

static bool take(struct proc *p, uint64_t n, struct vs_taken *out, struct map **from) {
    int rc = vs_segment_take(&p->map->words, n, out);
    *from = p->map;
    struct map *now = rc == VESTA_ECLOSED && !p->ends ? opened(p->path) : NULL;
    if (now) p->map = now;
    return rc == VESTA_OK;
}

static void take_some(void) {
    struct proc *p = some_proc();
    struct vs_taken taken;
    struct map *map;
    if (!p || !take(p, 1 + roll(4), &taken, &map)) return;
    for (uint64_t i = 0; i < taken.count; i++)
        give(taken.first + i * taken.stride, map->life, 0);
    p->taken += taken.count;
}

/* A release, which may be followed by a close or another release, or it continues. */
static void end_proc(struct proc *p) {
    bool is_over = true;
    for (int i = 0; i < world.databases; i++)
        is_over = is_over && p->refiller[i].did.kind == VS_REFILL_END;
    if (!p->ends || !is_over) return;
    p->is_alive = p->ended++ < 4 && chance(60);
    p->ends = chance(70);
    if (p->is_alive && !gives_nothing(p->map)) start_refillers(p);
}

/* Runs next to a process that gives back, and soon also in a child. */
static void fork_an_ending(struct proc *p) {
    struct proc *child = start_proc(p->path, p);
    world.counts.forks++;
    if (child) child->ends = chance(50);
}

static void run_refillers(void) {
    struct proc *p = some_proc();
    if (!p) return;
    if (p->ends && chance(3)) fork_an_ending(p);
    for (int i = 0; i < world.databases; i++)
        run_refiller(p, i);
    end_proc(p);
}

/* ------------------------------------------------------------------ clients */

static void fetch_block(struct client *c, int index) {
    struct proc *server = some_proc();
    struct vs_taken taken;
    struct map *map;
    uint64_t asks = 1 + roll(12);
    if (!server || !take(server, asks, &taken, &map)) return;
    world.counts.blocks++;
    struct vs_block block = {.first = taken.first, .count = taken.count, .stride = taken.stride};
    if (chance(10)) return; /* the reply is lost */
    for (uint64_t i = 0; i < taken.count && taken.first + i * taken.stride < NUMBERS; i++)
        world.held_by[taken.first + i * taken.stride] = (unsigned char)(index + 1);
    if (vs_block_reject(&block, asks)) {
        found("a server's valid block was rejected");
        return;
    }
    c->block = block;
    c->life = map->life;
}

/* A client continues, or a new one without its numbers replaces it.  A child starts without numbers. */
static void run_client(void) {
    int index = (int)roll(CLIENTS);
    struct client *c = &world.client[index];
    struct vs_run run;
    if (chance(2)) c->block.count = 0; /* killed */
    if (chance(60)) return;            /* a block may be old */
    if (!c->block.count) fetch_block(c, index);
    if (!c->block.count) return;
    vs_block_take(&c->block, 1 + roll(6), &run);
    for (uint64_t i = 0; i < run.count; i++)
        give(run.next + i * run.step, c->life, index + 1);
}

/* ------------------------------------------------------------------ what goes wrong */

static void reboot(int path) {
    world.counts.reboots++;
    world.boot[path]++;
    for (int i = 0; i < PROCS; i++)
        if (world.proc[i].is_alive && world.proc[i].path == path) kill_proc(&world.proc[i]);
}

/* Copies a map's bytes to another path, as a copy of some time ago. */
static void copy_map(int from, int to) {
    if (from == to || !world.at[from] || world.maps_count == MAPS_MAX) return;
    struct map *copy = new_map();
    *copy = *world.at[from];
    memset(copy->rest, 0, sizeof copy->rest);
    world.boot[to] = world.boot[from]; /* on the same host */
    world.at[to] = copy;
    world.counts.copies++;
}

static void strike(void) {
    struct proc *p = some_proc();
    int path = world.restores ? 0 : (int)roll(PATHS);
    switch (roll(world.restores ? 5 : 11)) {
    case 0: start_proc(path, NULL); break;
    case 1:
        if (p) kill_proc(p), world.counts.kills++;
        break;
    case 2:
        if (p) start_proc(p->path, p), world.counts.forks++; /* a child starts its own refillers */
        break;
    case 3: world.down_us[roll((uint64_t)world.databases)] = world.now_us + (int64_t)roll(6 * SEC); break;
    case 4:
        if (world.restores) database_save_or_restore((int)roll((uint64_t)world.databases));
        break;
    case 5:
        if (p) p->stopped_us = world.now_us + (int64_t)roll(20 * SEC), world.counts.stops++;
        break;
    case 6: reboot(path); break;
    case 7: copy_map(path, (int)roll(PATHS)); break;
    default:
        if (p && !p->ends) p->ends = true, world.counts.ends++;
        start_proc(path, NULL);
    }
}

/* ------------------------------------------------------------------ a seed */

static void turn(void) {
    world.now_us += (int64_t)roll(20 * MS);
    database_work();
    run_refillers();
    if (chance(world.seed % 2 ? 70 : 15)) take_some();
    if (chance(world.seed % 2 ? 60 : 15)) run_client();
    if (!world.is_calm && !world.restores && chance(world.seed % 4)) database_foreign();
    if (!world.is_calm && chance(1)) strike();
    if (world.is_calm && world.restores && roll(300) == 0) /* also repairs databases whose restore was detected only
                                                              now */
        database_put_right((int)roll((uint64_t)world.databases));
}

static void begin_calm(void) {
    world.is_calm = true;
    for (int i = 0; i < world.databases; i++) {
        world.down_us[i] = 0;
        if (world.restores) database_put_right(i);
    }
    for (int path = 0; path < (world.restores ? 1 : PATHS); path++)
        start_proc(path, NULL);
    for (int i = 0; i < PROCS; i++)
        world.proc[i].stopped_us = 0, world.proc[i].taken = 0;
}

static void check_calm(void) {
    for (int i = 0; i < PROCS; i++)
        if (world.proc[i].is_alive && !world.proc[i].ends && !world.proc[i].taken)
            found("process %d got no number in the %d s since the last fault: %s", i, (int)(CALM_US / SEC),
                  world.proc[i].refiller[0].machine.said);
}

static bool is_full(void) {
    for (int i = 0; i < world.databases; i++)
        if (world.row[i].max > NUMBERS - 4000) return true;
    return world.maps_count > MAPS_MAX - 4;
}

static void run_seed(uint64_t seed) {
    struct counts counts = world.counts;
    memset(&world, 0, sizeof world);
    world.counts = counts;
    world.seed = seed;
    world.dice = seed * 0x9e3779b97f4a7c15u + 1;
    world.restores = seed % 3 == 0;
    world.databases = 1 + (int)roll(DATABASES_MAX);
    database_reset();
    for (int i = 0; i < 4; i++)
        start_proc(world.restores ? 0 : (int)roll(PATHS), NULL);
    while (world.now_us < STORM_US && !world.found[0] && !is_full())
        turn();
    if (!world.found[0]) begin_calm();
    int64_t until_us = world.now_us + CALM_US;
    bool was_full = false;
    while (world.now_us < until_us && !world.found[0] && !(was_full = is_full()))
        turn();
    if (!was_full && !world.found[0]) check_calm();
}

static bool print_counts(uint64_t seeds) {
    bool is_rich = true;
#define PRINT(name)                                                                                                    \
    printf(" " #name " %.1f", (double)world.counts.name / (double)seeds);                                              \
    is_rich = is_rich && world.counts.name * 20 >= seeds;
    COUNTS(PRINT)
#undef PRINT
    printf("\n");
    return is_rich;
}

int main(int argc, char **argv) {
    unsigned long long from = 1, to = 0;
    bool kill = argc > 3 && strcmp(argv[3], "--kill") == 0;
    if (argc < 3 || strcmp(argv[1], "--seeds") != 0 || sscanf(argv[2], "%llu..%llu", &from, &to) != 2) {
        fprintf(stderr, "usage: segment_world --seeds FROM..TO [--kill]\n");
        return 2;
    }
    for (unsigned long long seed = from; seed <= to; seed++) {
        run_seed(seed);
        if (!world.found[0]) continue;
        printf("seed %llu: %s\n", seed, world.found);
        return kill ? 0 : 1;
    }
    printf("%llu seeds, nothing found; a seed:", to - from + 1);
    bool is_rich = print_counts(to - from + 1);
    if (!is_rich) printf("something that was to be met is hardly met any more\n");
    return kill || !is_rich;
}
