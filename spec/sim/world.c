/* world.c -- hosts with their clocks and boots, and generator files. Trust in a map is decided by the code of the real
 * opener. */
#include "sim.h"
#include "base/array.h"
#include "id/id.h"

#include <assert.h>
#include <stdlib.h>

struct world sim;

static struct vs_map maps[FILES_MAX];

/* Small sequences, so that time units are often exhausted. */
static const char *const layout_text[] = {
    "sign:1=0 time:41 pad:18=0 worker:2 seq:2 unit=1ms epoch=2026-01-01T00:00:00Z",
    "time:50 seq:2 pad:8=0 worker:3 seq:1 unit=1ms epoch=2026-01-01T00:00:00Z",
    "sign:1=0 worker:1 kind:2=1 time:41 pad:18=0 seq:1 unit=10ms epoch=2026-01-01T00:00:00Z seq_start=rotate:2",
    "time:34 seq:3 pad:24=5 worker:3 unit=1s epoch=2026-01-01T00:00:00Z",
    "sign:1=0 worker:2 pad:24=0 time:32 seq:5 unit=1s epoch=2026-01-01T00:00:00Z",
    "sign:1=0 time:40 pad:18=0 worker:1 seq:4 unit=1ms epoch=2026-01-01T00:00:00Z seq_start=spread:8",
};
/* One world in eight has one of these layouts: a tick of 1 or 10 us without a sequence, or ids above 2^63. */
static const char *const wide_text[] = {
    "kind:1=1 time:52 pad:8=5 worker:3 unit=1us epoch=2026-01-01T00:00:00Z",
    "time:41 pad:19=0 worker:2 seq:2 unit=1ms epoch=1990-01-01T00:00:00Z",
    "sign:1=0 worker:2 time:50 pad:11=0 unit=10us epoch=2026-01-01T00:00:00Z",
    "time:46 seq:16 worker:2 unit=1us epoch=2025-12-31T00:00:00Z",
};
static struct vesta_layout layouts[VS_COUNT(layout_text)], wide[VS_COUNT(wide_text)];
#define STORY_LAYOUT 3       /* eight ids a second */
#define STORY_LAYOUT_MILLI 1 /* eight ids a millisecond */
#define WIDE_WORLDS 8
#define WILD_WORLDS 4 /* one world in this many */
#define UUID_WORLDS 5
#define KERNEL_TICK_US (10 * MS)

/* The timings of a local store, a shared store and one with short leases. The real window of `local` is three times as
 * long as a schedule, so no lease would end. They do not follow changes of the presets, because those would change
 * every story. */
static const struct vs_lease_timing local_timing = {
    .window_ms = 5000, .renew_ms = 1500, .lease_ms = 15000, .skew_ms = 10000};
static const struct vs_lease_timing server_timing = {.window_ms = 5000,
                                                     .renew_ms = 1000,
                                                     .lease_ms = 15000,
                                                     .deadline_ms = 12000,
                                                     .skew_ms = 10000,
                                                     .floor_ms = 2000,
                                                     .idle_ms = 1000,
                                                     .is_shared = true};
static const struct vs_lease_timing hasty_timing = {
    .window_ms = 3000, .renew_ms = 800, .lease_ms = 3000, .skew_ms = 8000};

/* ------------------------------------------------------------------ clocks */

static int64_t with_rate(const struct host *host, int64_t us) {
    return us + us / 1000000 * host->rate_ppm;
}

int64_t host_boot_us(const struct host *host) {
    return with_rate(host, sim.now_us - host->booted_us) + SEC;
}

int64_t host_unix_us(const struct host *host) {
    return START_UNIX_US + with_rate(host, sim.now_us) + host->offset_us;
}

/* The kernel's ticks and every setting of the clock update the late clock. After a standstill a caller may read it
 * before the next tick. */
int64_t host_late_us(const struct host *host) {
    int64_t at_us = sim.now_us - sim.now_us % KERNEL_TICK_US;
    if (at_us < host->went_on_us) at_us = host->stood_us;
    if (at_us < host->set_us) at_us = host->set_us;
    return START_UNIX_US + with_rate(host, at_us) + host->offset_us;
}

static int64_t was_read(struct host *host, int64_t us) {
    if (us > host->read_max_us) host->read_max_us = us;
    return us;
}

int64_t host_late_s(void *self) {
    vs_sim_point("reads_clock");
    return was_read(self, host_late_us(self)) / SEC;
}

/* Draws no random number of the schedule, because this clock must decide nothing else. */
int64_t host_late_or_wild_us(void *self) {
    struct host *host = self;
    static const int64_t by_us[] = {0, -MS, MS, -9 * MS, 9 * MS, -20 * MS, 20 * MS, -10 * SEC, 3600 * SEC};
    uint64_t draw = ((uint64_t)sim.now_us + (uint64_t)thread_proc() + sim.counts.ids) * 0x9e3779b97f4a7c15u >> 40;
    int64_t right_us = host_unix_us(host), late_us = host_late_us(host);
    vs_sim_point("reads_clock");
    if (!host->is_wild) return was_read(host, late_us);
    return draw % 16 == 0 ? INT64_MIN : draw % 16 == 1 ? INT64_MAX : right_us + by_us[draw % VS_COUNT(by_us)];
}

static int64_t read_unix(void *self) {
    vs_sim_point("reads_clock");
    return was_read(self, host_unix_us(self));
}

static int64_t read_boot(void *self) {
    return host_boot_us(self);
}

void host_was_set(struct host *host) {
    host->sets++;
    host->set_us = sim.now_us;
}

void host_step(int host, int64_t by_us) {
    oracle_clock(host); /* a leap before the change may have lasted its minute */
    sim.host[host].offset_us += by_us;
    host_was_set(&sim.host[host]);
    sim.counts.rollbacks += by_us < 0;
    sim.counts.leaps += by_us > VS_CLOCK_LEAP_US;
    TRACE("host %d's clock is set by %+.3f s", host, (double)by_us / 1e6);
    oracle_clock(host);
}

void host_stop_ticks(int host) {
    sim.host[host].stood_us = sim.now_us;
    sim.host[host].went_on_us = NEVER;
}

void host_stand_still(int host, int64_t us) {
    TRACE("host %d stands still for %.1f s", host, (double)us / 1e6);
    sim.counts.stills++;
    sim.host[host].stood_us = sim.now_us;
    sim.host[host].went_on_us = sim.now_us + us;
    for (int i = 0; i < sim.procs; i++)
        if (sim.proc[i].alive && sim.path[sim.proc[i].path].host == host) proc_pause(i, us);
}

static void boot(int host) {
    struct host *h = &sim.host[host];
    h->booted_us = sim.now_us;
    h->read_max_us = host_unix_us(h);
    h->boots++;
}

void host_reboot(int host) {
    TRACE("host %d reboots", host);
    image_forget();
    sim.counts.reboots++;
    for (int i = 0; i < sim.procs; i++)
        if (sim.proc[i].alive && sim.path[sim.proc[i].path].host == host) proc_kill(i);
    boot(host);
    for (int i = 0; i < sim.paths; i++)
        if (sim.path[i].host == host && sim.path[i].made) sim.path[i].respawn_us = sim.now_us + rnd_around(3 * SEC);
}

/* ------------------------------------------------------------------ files */

static void identify(int path, int file, struct vs_file_identity *out) {
    int host = sim.path[path].host;
    memset(out, 0, sizeof *out);
    snprintf(out->boot_id, sizeof out->boot_id, "boot %u of host %d", sim.host[host].boots, host);
    out->dev = 1;
    out->ino = (uint64_t)file + 100;
}

static int new_inode(int path) {
    assert(sim.files < FILES_MAX);
    int file = sim.files++;
    struct file *f = &sim.file[file];
    *f = (struct file){.map = &maps[file], .path = path, .host = sim.path[path].host, .keeper = -1};
    f->boot = sim.host[f->host].boots;
    memset(f->map, 0, sizeof *f->map);
    return file;
}

static int make_file(int path) {
    struct path *p = &sim.path[path];
    struct vs_file_identity now;
    int file = new_inode(path);
    struct file *f = &sim.file[file];
    struct vs_header *header = &f->map->header;
    identify(path, file, &now);
    header->pacing = p->pacing;
    header->size = sizeof *f->map;
    header->dev = now.dev;
    header->ino = now.ino;
    header->fingerprint = sim.layout->fingerprint;
    header->ahead_ticks_max = p->ahead_ticks;
    header->worker = p->worker;
    header->has_worker = p->has_worker;
    header->incarnation = p->incarnation;
    memcpy(header->boot_id, now.boot_id, sizeof header->boot_id);
    memcpy(header->identity, p->identity, sizeof p->identity);
    sim.locked = true; /* the creation lock: no process sees half a file or creates a second one */
    vs_map_format(f->map, &sim.host[p->host].clock);
    sim.locked = false;
    f->legit_us = atomic_load(&f->map->shared.offset_us);
    p->file = file;
    TRACE("file %d is made at %s", file, p->identity);
    return file;
}

int file_open(int path) {
    struct path *p = &sim.path[path];
    struct vs_file_identity now;
    if (p->file < 0 || file_is_used_up(p->file)) return make_file(path);
    identify(path, p->file, &now);
    if (!vs_map_trusted(&sim.file[p->file].map->header, &now)) return make_file(path);
    sim.file[p->file].path = path;
    return p->file;
}

int file_copy(int from_path, int to_path) {
    int from = sim.path[from_path].file, to = new_inode(to_path);
    *sim.file[to].map = *sim.file[from].map;
    sim.path[to_path].file = to;
    sim.counts.copies++;
    TRACE("file %d is copied to %s as file %d", from, sim.path[to_path].identity, to);
    return to;
}

void file_lose(int path) {
    if (sim.path[path].file < 0) return;
    TRACE("file %d of %s is removed", sim.path[path].file, sim.path[path].identity);
    sim.path[path].file = -1;
    sim.counts.lost++;
}

bool file_is_named(int file) {
    return sim.path[sim.file[file].path].file == file;
}

bool file_is_used_up(int file) {
    return atomic_load(&sim.file[file].map->shared.stopped) == VESTA_CLOSED;
}

void file_kick(int file) {
    atomic_fetch_add(&sim.file[file].map->shared.want, 1);
    threads_wake(&sim.file[file]);
}

/* ------------------------------------------------------------------ making a world */

static void parse_layout(const char *text, struct vesta_layout *out) {
    struct vesta_error err;
    if (!out->field_count && vesta_layout_parse(text, out, &err) != VESTA_OK) {
        fprintf(stderr, "vesta_sim: %s\n", err.text);
        abort();
    }
}

static void use_layout(const char *text, struct vesta_layout *layout) {
    uint64_t values[VESTA_FIELDS_MAX];
    parse_layout(text, layout);
    sim.layout = layout;
    vs_shape_of(sim.layout, &sim.shape);
    vs_fields_parse(sim.layout, NULL, NULL, values, NULL);
    sim.base = vs_layout_base(sim.layout, 0, values);
    sim.worker_max = sim.layout->field[sim.layout->worker].max;
}

static void choose_layout(void) {
    uint32_t i = rnd_below(VS_COUNT(layout_text)), w = (uint32_t)(sim.seed / WIDE_WORLDS % VS_COUNT(wide_text));
    if (sim.seed % WIDE_WORLDS == WIDE_WORLDS - 1)
        use_layout(wide_text[w], &wide[w]);
    else
        use_layout(layout_text[i], &layouts[i]);
    static const struct vs_lease_timing *const timings[] = {&local_timing, &server_timing, &hasty_timing,
                                                            &hasty_timing};
    sim.timing = *timings[rnd_below(VS_COUNT(timings))];
}

static void make_path(int path, bool has_worker) {
    struct path *p = &sim.path[path];
    uint64_t unit = (uint64_t)1 << sim.shape.seq_bits;
    *p = (struct path){.host = (int)rnd_below((uint32_t)sim.hosts), .file = -1};
    p->has_worker = has_worker;
    p->worker = rnd_below(2);
    p->pacing = chance(55) ? VESTA_PACING_HISTORY : VESTA_PACING_CLOCK;
    if (sim.is_marked) p->pacing = VESTA_PACING_CLOCK;
    p->ahead_ticks = chance(50) ? 0 : chance(50) ? unit : rnd_below(3 * (uint32_t)unit);
    p->procs_wanted = 1 + (int)rnd_below(2);
    p->respawn_us = NEVER;
    p->made = true;
    snprintf(p->identity, sizeof p->identity, "path %d", path);
}

static void clear(uint64_t seed) {
    memset(&sim.host, 0, sizeof sim.host);
    memset(&sim.counts, 0, sizeof sim.counts);
    sim.seed = seed;
    sim.now_us = 0;
    sim.calm = sim.told = sim.is_marked = false;
    sim.marked = 0;
    sim.has_uuids = seed % UUID_WORLDS == UUID_WORLDS - 1;
    sim.found = NOTHING;
    sim.files = sim.procs = sim.paths = 0;
    image_forget();
    sched_reset(seed);
    oracle_reset();
}

/* One host with a right clock, eight ids a second, and worker id 1 for every path. */
void world_for_story(void) {
    clear(0);
    sim.told = true;
    store_reset();
    use_layout(layout_text[STORY_LAYOUT], &layouts[STORY_LAYOUT]);
    sim.hosts = 1;
    sim.host[0].clock = (struct vesta_clock){&sim.host[0], read_unix, read_boot, NULL};
    boot(0);
    world_timing("local");
}

void world_by_milliseconds(void) {
    use_layout(layout_text[STORY_LAYOUT_MILLI], &layouts[STORY_LAYOUT_MILLI]);
    store_init();
}

bool world_timing(const char *name) {
    static const struct {
        const char *name;
        const struct vs_lease_timing *timing;
    } known[] = {{"local", &local_timing}, {"shared", &server_timing}, {"hasty", &hasty_timing}};
    for (size_t i = 0; i < VS_COUNT(known); i++)
        if (strcmp(name, known[i].name) == 0) {
            sim.timing = *known[i].timing;
            store_init();
            return true;
        }
    return false;
}

void world_path(int path, enum vesta_pacing pacing) {
    struct path *p = &sim.path[path];
    *p = (struct path){.file = -1, .has_worker = true, .worker = 1, .pacing = pacing, .procs_wanted = 1, .made = true};
    p->respawn_us = NEVER;
    snprintf(p->identity, sizeof p->identity, "path %d", path);
}

/* Paths with processes come first. The last ones are only names for copied files. */
void world_make(uint64_t seed) {
    clear(seed);
    store_reset();
    choose_layout();
    store_init();
    sim.hosts = 1 + (int)rnd_below(HOSTS_MAX);
    mark_reset();
    if (sim.is_marked && !sim.timing.is_shared) sim.hosts = 1; /* its records have instants of the host's boot clock */
    for (int i = 0; i < sim.hosts; i++) {
        sim.host[i].clock = (struct vesta_clock){&sim.host[i], read_unix, read_boot, NULL};
        sim.host[i].rate_ppm = chance(50) ? 0 : rnd_between(-1000, 1001);
        sim.host[i].is_wild = seed % WILD_WORLDS == (uint64_t)i;
        sim.host[i].offset_us = chance(60) ? 0 : rnd_between(-20 * SEC, 20 * SEC);
        boot(i);
    }
    bool given = chance(35);
    sim.paths = 3 + (int)rnd_below(3);
    for (int i = 0; i < PATHS_MAX; i++)
        make_path(i, given || chance(10));
    for (int i = sim.paths; i < PATHS_MAX; i++)
        sim.path[i].made = false;
    sim.paths = PATHS_MAX;
    for (int i = 0; i < sim.paths; i++)
        for (int n = 0; sim.path[i].made && n < sim.path[i].procs_wanted; n++)
            proc_start(i);
}
