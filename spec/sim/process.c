/* process.c -- processes: issuers that call vesta_next and vesta_next_n, the other calls of a program about its lease,
 * and how processes start and end. */
#include "sim.h"

#include <assert.h>
#include <string.h>

#define ISSUERS_MAX 3
#define REST_US_MAX (15 * SEC)
#define REST_STEP_US (10 * MS)

/* Moves on to the successor of a used-up file. */
static void move_on(struct proc *p) {
    if (!file_is_used_up(p->file)) return;
    p->file = file_open(p->path);
    p->keeper = NULL; /* the used-up file's keeper ends by itself */
    vs_gen_move(&p->gen, sim.file[p->file].map);
}

/* Does the same as vs_handle_kick: moves on to the file's successor, or else makes a keeper fetch a lease. */
static void kick(struct proc *p) {
    move_on(p);
    keeper_start(p);
    file_kick(p->file);
}

/* ------------------------------------------------------------------ issuers */

/* In schedules with UUIDs, every second process issues them, so that they compete with ids for a generator file. */
static bool issues_uuids(const struct proc *self) {
    return sim.has_uuids && proc_index(self) % 2 == 1;
}

/* Takes the ids from which vesta_next_uuid and vesta_next_uuid_n make UUIDs. */
static int take_for_uuids(struct proc *self, uint64_t *ids, size_t *got, struct vesta_pause *pause) {
    struct vesta_block block;
    pause->why = 0;
    if (chance(70)) {
        int rc = vesta_next(&self->gen, ids, pause);
        return rc == VESTA_OK && vs_gen_is_in_span(&self->gen, *ids) ? rc : vs_gen_next_lead(&self->gen, rc, ids, pause);
    }
    int rc = vs_gen_take_lead(&self->gen, 1 + rnd_below(BATCH_MAX), &block, pause);
    if (rc != VESTA_OK) return rc;
    *got = (size_t)block.count;
    for (size_t i = 0; i < *got; i++)
        ids[i] = block.base + vs_place_tick(&self->gen.shape, block.first + i);
    return VESTA_OK;
}

static int take(struct proc *self, struct vesta_pause *pause) {
    uint64_t ids[BATCH_MAX];
    size_t got = 1;
    struct before before;
    if (self->gen.pacing == VESTA_PACING_HISTORY && !issues_uuids(self) && chance(35)) {
        int by_lane = lane_take(self, pause);
        if (by_lane != VESTA_EOPTION) return by_lane;
    }
    oracle_before(self->file, &before);
    before.is_uuid = issues_uuids(self);
    int rc = before.is_uuid ? take_for_uuids(self, ids, &got, pause)
             : chance(70) ? vesta_next(&self->gen, ids, pause)
                          : vesta_next_n(&self->gen, ids, 1 + rnd_below(BATCH_MAX), &got, pause);
    sim.counts.led += rc == VESTA_OK && before.is_uuid && pause->why != 0;
    if (rc == VESTA_OK) oracle_ids(&before, proc_index(self), ids, got);
    return rc;
}

/* A policy sometimes requests another worker id, or lets the slot run ahead of the clock. */
static void verdict(struct proc *self, const struct vesta_pause *pause) {
    struct file *f = &sim.file[self->file];
    const struct vs_map *map = f->map;
    if (pause->why == VESTA_CLOCK_BACK && !map->header.has_worker && chance(90)) {
        if (vs_map_active(map) == (int)pause->slot) vs_map_leave(f->map, pause->slot, host_boot_us(&sim.host[f->host]));
        kick(self);
        return;
    }
    oracle_verdict(f, pause->slot);
    if (chance(50)) {
        sim.counts.loans++;
        vesta_borrow(&self->gen, pause, chance(50) ? -1 : rnd_around(2000));
        oracle_verdict(f, pause->slot);
        return;
    }
    uint64_t now = vs_tick_at(&sim.shape, host_unix_us(&sim.host[f->host]));
    uint64_t tick = now + pause->ahead_ticks + rnd_below(4u << sim.shape.seq_bits);
    int rc = vesta_allow_ahead(&self->gen, pause, tick);
    assert(rc == VESTA_OK);
    (void)rc;
    oracle_verdict(f, pause->slot);
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
    atomic_store(&p->token, (uint64_t)(proc + 1) << 32);
    vs_gen_init(&p->gen, sim.file[file].map, sim.layout, sim.base, &sim.host[sim.path[path].host].clock);
    vs_gen_read_late(&p->gen, host_late_s, host_late_or_wild_us);
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

/* The child gets the parent's memory, so also its handle and mapping, and a single thread. */
int proc_fork(int parent) {
    int child = new_proc(sim.proc[parent].path, sim.proc[parent].file);
    if (child < 0) return -1;
    TRACE("process %d forks process %d", parent, child);
    sim.counts.forks++;
    memcpy(&sim.proc[child].gen, &sim.proc[parent].gen, sizeof sim.proc[child].gen);
    lanes_fork(&sim.proc[child], &sim.proc[parent]);
    if (!sim.told) thread_start(child, "issuer", issuer_main);
    return child;
}

void proc_kill(int proc) {
    struct proc *p = &sim.proc[proc];
    struct path *path = &sim.path[p->path];
    TRACE("process %d is gone", proc);
    bool itself = thread_proc() == proc;
    p->alive = false;
    lanes_kill(p);
    for (int i = 0; i < sim.files; i++) {
        if (sim.file[i].keeper == proc) sim.file[i].keeper = -1;
        sim.file[i].in_term[proc] = false;
    }
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
    TRACE("process %d releases its lease%s", proc, exits ? " and ends" : "");
    sim.counts.releases++;
    p->exits = exits;
    keeper_start(p);
    p->stop = VS_GIVE_BACK;
    threads_wake(&sim.file[p->file]);
}

void proc_kick(int proc) {
    kick(&sim.proc[proc]);
}

/* Does the same as vesta_drop. */
static void drop_main(struct proc *self) {
    if (vs_map_drop(atomic_load(&self->gen.map))) sim.counts.drops++;
    kick(self);
}

void proc_drop(int proc) {
    TRACE("process %d drops its lease", proc);
    thread_start(proc, "dropper", drop_main);
}

/* Returns whether the path's memory may be copied. An id that a thread has not yet returned would be copied with it,
 * and vesta_prepare_snapshot cannot prevent that. Nor does it know of a removed map that processes still use. */
static bool may_be_copied(int path, int file) {
    for (int i = 0; i < sim.procs; i++) {
        const struct proc *p = &sim.proc[i];
        if (!p->alive || p->path != path) continue;
        if (thread_has_tick(i) || (p->file != file && !file_is_used_up(p->file))) return false;
    }
    return true;
}

/* Calls what vesta_prepare_snapshot calls, then copies the machine like its caller would. */
static void snapshot_main(struct proc *self) {
    move_on(self);
    int file = self->file;
    struct vs_map *map = sim.file[file].map;
    atomic_store(&map->shared.rest, VS_REST_ASKED);
    keeper_start(self);
    vs_sim_point("asked_to_rest");
    for (int64_t waited_us = 0; vs_map_must_rest(map); waited_us += REST_STEP_US) {
        if (waited_us >= REST_US_MAX) return;
        threads_wake(&sim.file[file]);
        thread_sleep(REST_STEP_US, NULL);
    }
    if (atomic_load(&map->shared.rest) != VS_RESTING || file_is_used_up(file) || !file_is_named(file)) return;
    TRACE("file %d is at rest", file);
    sim.counts.rests++;
    if (may_be_copied(self->path, file)) image_take(self->path);
}

void proc_snapshot(int proc) {
    TRACE("process %d prepares a snapshot", proc);
    sim.proc[proc].copier = thread_start(proc, "snapshot", snapshot_main);
}

bool path_alive(int path) {
    for (int i = 0; i < sim.procs; i++)
        if (sim.proc[i].alive && sim.proc[i].path == path) return true;
    return false;
}
