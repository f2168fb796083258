/* process.c -- processes: issuers that call vesta_next and vesta_next_n as a program would, and keepers that run the
 * core's term of office against the virtual store. */
#include "sim.h"
#include "core/core.h"

#include <assert.h>
#include <string.h>

#define ELECTION_US (600 * MS)
#define ISSUERS_MAX 3
#define REST_US_MAX (15 * SEC)
#define REST_STEP_US (10 * MS)

static int index_of(const struct proc *p) {
    return (int)(p - sim.proc);
}

/* ------------------------------------------------------------------ keepers */

/* What an office asks of the world: see vs_office_ops. */
struct keeping {
    struct vs_office office; /* first */
    struct proc *proc;
    int file;
};

static void office_sleep(struct vs_office *office, int64_t until_boot_us, bool on_want) {
    struct keeping *k = (struct keeping *)office;
    const struct host *host = &sim.host[sim.file[k->file].host];
    for (;;) {
        int64_t left_us = until_boot_us - host_boot_us(host);
        bool wanted = on_want && atomic_load(&office->map->shared.want) != office->want_seen;
        if (left_us <= 0 || k->proc->stop != VS_KEEP_ON || vs_map_must_rest(office->map) || wanted) return;
        vs_sim_point("sleeps");
        thread_sleep(left_us, &sim.file[k->file]);
    }
}

static bool others_are_here(const struct proc *self) {
    for (int i = 0; i < sim.procs; i++)
        if (sim.proc[i].alive && &sim.proc[i] != self && sim.proc[i].path == self->path) return true;
    return false;
}

static enum vs_stop office_stop(struct vs_office *office) {
    struct keeping *k = (struct keeping *)office;
    if (office->lease.phase == VS_PH_FENCED) oracle_fenced(&office->lease);
    sim.counts.left += office->lease.phase == VS_PH_CLOSING && office->lease.leaves;
    return k->proc->stop == VS_GIVE_BACK && others_are_here(k->proc) ? VS_HAND_OVER : k->proc->stop;
}

static bool office_random(struct vs_office *office, void *out, size_t size) {
    (void)office;
    for (size_t i = 0; i < size; i += 8) {
        uint64_t x = rnd();
        memcpy((char *)out + i, &x, size - i < 8 ? size - i : 8);
    }
    return true;
}

static const struct vs_office_ops office_ops = {
    .ask = store_ask,
    .sleep = office_sleep,
    .stop = office_stop,
    .random = office_random,
};

static void hold_office(struct proc *self, int file) {
    struct file *f = &sim.file[file];
    char holder[VS_HOLDER_MAX];
    struct keeping k = {.proc = self, .file = file};
    k.office =
        (struct vs_office){f->map, &sim.host[f->host].clock, sim.layout, &office_ops, .pid = (uint32_t)index_of(self)};
    snprintf(holder, sizeof holder, "process %d", index_of(self));
    vs_office_rest(&k.office);
    vs_office_enter(&k.office, holder, &sim.timing);
    if (k.office.lease.slot >= 0)
        TRACE("process %d takes office of file %d with slot %d, %s", index_of(self), k.file, k.office.lease.slot,
              k.office.lease.published ? "open" : "claimed");
    sim.counts.adoptions += k.office.lease.slot >= 0 && !k.office.lease.published;
    if (vs_office_serve(&k.office) == VS_TERM_USED_UP) file_retire(k.file);
}

static void keeper_main(struct proc *self) {
    int file = self->file;
    struct file *f = &sim.file[file];
    do {
        if (f->keeper < 0) {
            f->keeper = index_of(self);
            hold_office(self, file);
            if (f->keeper == index_of(self)) f->keeper = -1;
        } else {
            thread_sleep(ELECTION_US + rnd_around(SEC), f);
        }
    } while (self->stop == VS_KEEP_ON && atomic_load(&f->map->shared.stopped) != VESTA_CLOSED);
    if (self->file == file) self->keeper = NULL;
    if (self->exits) proc_kill(index_of(self));
}

static void start_keeper(struct proc *p) {
    if (p->keeper) return;
    p->stop = VS_KEEP_ON;
    p->keeper = thread_start(index_of(p), "keeper", keeper_main);
}

static bool is_used_up(int file) {
    return atomic_load(&sim.file[file].map->shared.stopped) == VESTA_CLOSED;
}

/* On to a used-up file's successor. */
static void move_on(struct proc *p) {
    if (!is_used_up(p->file)) return;
    p->file = file_open(p->path);
    p->keeper = NULL; /* the used-up file's keeper ends by itself */
    vs_gen_move(&p->gen, sim.file[p->file].map);
}

/* What vs_handle_kick does: on to the file's successor, else somebody has to fetch a lease. */
static void kick(struct proc *p) {
    move_on(p);
    start_keeper(p);
    file_kick(p->file);
}

/* ------------------------------------------------------------------ issuers */

static int take(struct proc *self, struct vesta_pause *pause) {
    uint64_t ids[BATCH_MAX];
    size_t got = 1;
    struct before before;
    oracle_before(self->file, &before);
    int rc = chance(70) ? vesta_next(&self->gen, ids, pause)
                        : vesta_next_n(&self->gen, ids, 1 + rnd_below(BATCH_MAX), &got, pause);
    if (rc == VESTA_OK) oracle_ids(&before, index_of(self), ids, got);
    return rc;
}

/* A policy now and then wants another number, or lets the slot run ahead of the clock. */
static void verdict(struct proc *self, const struct vesta_pause *pause) {
    const struct file *f = &sim.file[self->file];
    const struct vs_map *map = f->map;
    if (pause->why == VESTA_CLOCK_BACK && !map->header.has_worker && chance(90)) {
        if (vs_map_active(map) == (int)pause->slot) vs_map_leave(f->map, pause->slot, host_boot_us(&sim.host[f->host]));
        kick(self);
        return;
    }
    if (chance(50)) {
        sim.counts.loans++;
        vesta_borrow(&self->gen, pause, chance(50) ? -1 : rnd_around(2000));
        return;
    }
    uint64_t now = vs_tick_at(&sim.shape, host_unix_us(&sim.host[f->host]));
    uint64_t tick = now + pause->ahead_ticks + rnd_below(4u << sim.shape.seq_bits);
    int rc = vesta_allow_ahead(&self->gen, pause, tick);
    assert(rc == VESTA_OK);
    (void)rc;
}

static void wait_out(struct proc *self, const struct vesta_pause *pause) {
    int64_t wait_us = pause->wait_us;
    switch (pause->why) {
    case VESTA_LEASE:
    case VESTA_CLOSED:
    case VESTA_FAILSTOP:
        kick(self);
        wait_us = rnd_around(100 * MS);
        break;
    case VESTA_FULL:
    case VESTA_AHEAD:
    case VESTA_CLOCK_BACK:
        if (!sim.calm && chance(pause->why == VESTA_CLOCK_BACK ? 60 : 4)) verdict(self, pause);
        break;
    default: break;
    }
    int64_t most_us = sim.calm ? 30 * SEC : SEC;
    thread_sleep(wait_us < 0 || wait_us > most_us ? most_us : wait_us, NULL);
}

static void think(void) {
    if (sim.calm)
        thread_sleep(rnd_around(600 * MS), NULL);
    else if (chance(45))
        thread_sleep(rnd_around(2 * MS), NULL);
    else
        thread_sleep(rnd_around(chance(70) ? SEC : 10 * SEC), NULL);
}

static void issuer_main(struct proc *self) {
    struct vesta_pause pause;
    for (;;) {
        int burst = 1 + (int)rnd_below(sim.calm ? 4 : 10);
        while (burst-- > 0)
            if (take(self, &pause) != VESTA_OK) wait_out(self, &pause);
        think();
    }
}

/* ------------------------------------------------------------------ the life of processes */

static int new_proc(int path, int file) {
    if (sim.procs == PROCS_MAX) return -1;
    int proc = sim.procs++;
    struct proc *p = &sim.proc[proc];
    memset(p, 0, sizeof *p);
    p->alive = true;
    p->path = path;
    p->file = file;
    vs_gen_init(&p->gen, sim.file[file].map, sim.layout, sim.base, &sim.host[sim.path[path].host].clock);
    return proc;
}

int proc_start(int path) {
    int proc = new_proc(path, file_open(path));
    if (proc < 0) return -1;
    TRACE("process %d starts at %s", proc, sim.path[path].identity);
    for (int n = sim.told ? 0 : 1 + (int)rnd_below(ISSUERS_MAX); n > 0; n--)
        thread_start(proc, "issuer", issuer_main);
    return proc;
}

/* The child has the parent's memory, so its handle and mapping, and one thread. */
int proc_fork(int parent) {
    int child = new_proc(sim.proc[parent].path, sim.proc[parent].file);
    if (child < 0) return -1;
    TRACE("process %d forks process %d", parent, child);
    sim.counts.forks++;
    memcpy(&sim.proc[child].gen, &sim.proc[parent].gen, sizeof sim.proc[child].gen);
    thread_start(child, "issuer", issuer_main);
    return child;
}

void proc_kill(int proc) {
    struct proc *p = &sim.proc[proc];
    struct path *path = &sim.path[p->path];
    TRACE("process %d is gone", proc);
    bool itself = thread_proc() == proc;
    p->alive = false;
    for (int i = 0; i < sim.files; i++)
        if (sim.file[i].keeper == proc) sim.file[i].keeper = -1;
    if (path->respawn_us == NEVER) path->respawn_us = sim.now_us + rnd_around(4 * SEC);
    sim.respawns = true;
    threads_kill(proc);
    if (itself) thread_exit();
}

void proc_pause(int proc, int64_t us) {
    TRACE("process %d stands still for %.1f s", proc, (double)us / 1e6);
    threads_stop(proc, sim.now_us + us);
    sim.counts.pauses += us > sim.timing.lease_ms * 1000;
}

void proc_release(int proc, bool exits) {
    struct proc *p = &sim.proc[proc];
    TRACE("process %d gives its lease back%s", proc, exits ? " and ends" : "");
    sim.counts.releases++;
    p->exits = exits;
    start_keeper(p);
    p->stop = VS_GIVE_BACK;
    threads_wake(&sim.file[p->file]);
}

void proc_kick(int proc) {
    kick(&sim.proc[proc]);
}

/* What vesta_drop does. */
static void drop_main(struct proc *self) {
    if (vs_map_drop(atomic_load(&self->gen.map))) sim.counts.drops++;
    kick(self);
}

void proc_drop(int proc) {
    TRACE("process %d drops its lease", proc);
    thread_start(proc, "dropper", drop_main);
}

/* What vesta_prepare_snapshot does; who called it then copies the machine. */
static void snapshot_main(struct proc *self) {
    move_on(self);
    int file = self->file;
    struct vs_map *map = sim.file[file].map;
    atomic_store(&map->shared.rest, VS_REST_ASKED);
    start_keeper(self);
    for (int64_t waited_us = 0; vs_map_must_rest(map); waited_us += REST_STEP_US) {
        if (waited_us >= REST_US_MAX) return;
        threads_wake(&sim.file[file]);
        thread_sleep(REST_STEP_US, NULL);
    }
    if (atomic_load(&map->shared.rest) != VS_RESTING || is_used_up(file)) return;
    TRACE("file %d is at rest", file);
    sim.counts.rests++;
    for (int i = 0; i < sim.procs;
         i++) /* an id that a thread has in its hand is copied with it, which no rest can help */
        if (sim.proc[i].alive && sim.proc[i].path == self->path && thread_has_tick(i)) return;
    image_take(self->path);
}

void proc_snapshot(int proc) {
    TRACE("process %d prepares a snapshot", proc);
    thread_start(proc, "snapshot", snapshot_main);
}

int path_keeper(int path) {
    return sim.path[path].file >= 0 ? sim.file[sim.path[path].file].keeper : -1;
}

void keeper_forget_lock(int path) {
    if (path_keeper(path) < 0) return;
    TRACE("process %d loses the keeper's lock and does not know it", path_keeper(path));
    sim.counts.two_keepers++;
    sim.file[sim.path[path].file].keeper = -1;
}

bool path_alive(int path) {
    for (int i = 0; i < sim.procs; i++)
        if (sim.proc[i].alive && sim.proc[i].path == path) return true;
    return false;
}
