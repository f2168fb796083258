/* lane.c -- lanes used by the threads of a process: mostly each thread's own, sometimes another's. */
#include "sim.h"

static uint64_t token_of_this(void) {
    return atomic_load(&sim.proc[thread_proc()].token);
}

void lane_open(struct proc *self, int i, uint64_t n) {
    uint64_t most = vs_lane_max(&sim.shape);
    struct lane *lane = &self->lane[i];
    vs_lane_init(&lane->lane, &self->gen, n < most ? n : most, &self->token, token_of_this);
    lane->is_open = true;
    lane->last = 0;
}

int lane_next(struct proc *self, int i, struct vesta_pause *pause) {
    struct before before;
    uint64_t id;
    oracle_before_lane(self->file, &before);
    int rc = vesta_lane_next(&self->lane[i].lane, &id, pause);
    if (rc != VESTA_OK) return rc;
    oracle_ids(&before, proc_index(self), &id, 1);
    oracle_lane(&self->lane[i], id);
    return rc;
}

/* Returns the file of the lane's run. The process may use another file by now. */
static struct file *file_of(const struct lane *lane) {
    const struct vs_slot *slot = lane->lane.slot;
    for (int i = 0; slot && i < sim.files; i++)
        if (slot >= sim.file[i].map->slot && slot < sim.file[i].map->slot + VS_SLOTS_MAX) return &sim.file[i];
    return NULL;
}

static void gave_back(struct lane *lane) {
    if (!lane->gives_back) return;
    oracle_file((int)(lane->gives_back - sim.file));
    lane->gives_back->giving_back--;
    lane->gives_back = NULL;
}

void lane_close(struct proc *self, int i) {
    struct lane *lane = &self->lane[i];
    lane->gives_back = file_of(lane);
    if (lane->gives_back) lane->gives_back->giving_back++;
    sim.counts.given_back += vs_lane_end(&lane->lane);
    gave_back(lane);
    lane->is_open = false;
}

void lanes_kill(struct proc *self) {
    for (int i = 0; i < LANES_MAX; i++)
        gave_back(&self->lane[i]);
}

void lanes_fork(struct proc *child, const struct proc *parent) {
    for (int i = 0; i < LANES_MAX; i++) {
        child->lane[i] = parent->lane[i];
        child->lane[i].gives_back = NULL;
        child->lane[i].lane.gen = &child->gen;
        child->lane[i].lane.process = &child->token;
    }
}

/* The first thread that uses a lane owns it, and only the owner may close it. */
static bool is_own(const struct proc *self, const struct lane *lane) {
    return atomic_load(&lane->lane.owner) == (vs_sim_thread() ^ atomic_load(&self->token));
}

int lane_take(struct proc *self, struct vesta_pause *pause) {
    int i = (int)(chance(95) ? vs_sim_thread() % LANES_MAX : rnd_below(LANES_MAX));
    struct lane *lane = &self->lane[i];
    if (lane->is_open && is_own(self, lane) && chance(4)) lane_close(self, i);
    if (!lane->is_open) lane_open(self, i, 1 + rnd_below(BATCH_MAX));
    return lane_next(self, i, pause);
}
