/* keeper.c -- keepers of the virtual processes: who is elected by a lock or takes the place of one that is silent, as
 * csrc/keeper does it, and then runs the core's term of office against the virtual store. */
#include "sim.h"

#include <string.h>

#define ELECTION_US (200 * MS)
#define NAP_US (900 * MS) /* the real one's is shorter; a beat is for two seconds */
#define LEFT_US SEC       /* for how long who lost office leaves it to others */

int proc_index(const struct proc *p) {
    return (int)(p - sim.proc);
}

/* ------------------------------------------------------------------ what an office asks of the world */

struct keeping {
    struct vs_office office; /* first */
    struct proc *proc;
    int file;
    bool is_orphan; /* another map has the name of ours */
};

/* Shows that all is well; who took the place of a silent keeper has its lock as soon as that one lets it go. */
static void beat(struct vs_office *office) {
    struct keeping *k = (struct keeping *)office;
    vs_office_beat(office, 0);
    if (sim.file[k->file].keeper < 0 && !vs_office_is_replaced(office)) sim.file[k->file].keeper = proc_index(k->proc);
}

/* Newcomers do not find this map; looked at where leaving costs nobody an id. */
static bool is_orphan(const struct keeping *k) {
    const struct vs_lease *lease = &k->office.lease;
    bool is_well = !lease->published || (lease->after == VS_PH_HELD && lease->troubles == 0);
    return is_well && !atomic_load(&k->office.map->shared.stopped) && !file_is_named(k->file);
}

/* Which store granted the lease is told to who makes the next map. */
static void note_store(const struct keeping *k) {
    const struct vs_map *map = k->office.map;
    if (k->office.lease.published) sim.path[sim.file[k->file].path].incarnation = vs_map_incarnation(map);
}

static void office_sleep(struct vs_office *office, int64_t until_boot_us, bool on_want) {
    struct keeping *k = (struct keeping *)office;
    const struct host *host = &sim.host[sim.file[k->file].host];
    note_store(k);
    for (;;) {
        k->is_orphan = k->is_orphan || is_orphan(k);
        int64_t left_us = until_boot_us - host_boot_us(host);
        bool wanted = on_want && atomic_load(&office->map->shared.want) != office->want_seen;
        bool stop = k->proc->stop != VS_KEEP_ON || vs_map_must_rest(office->map) || k->is_orphan;
        if (left_us <= 0 || stop || vs_office_is_replaced(office) || wanted) return;
        beat(office);
        vs_sim_point("sleeps");
        thread_sleep(left_us < NAP_US ? left_us : NAP_US, &sim.file[k->file]);
    }
}

/* A call has a deadline, and may be silent until then. */
static void office_ask(struct vs_office *office, const struct vs_action *action, struct vs_event *ev) {
    vs_office_beat(office, sim.timing.is_shared ? STORE_TIMEOUT_US + VS_PULSE_US / 2 : VS_PULSE_US);
    store_ask(office, action, ev);
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
    if (k->proc->stop == VS_KEEP_ON && k->is_orphan) return VS_GIVE_BACK;
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

static bool office_alone(struct vs_office *office) {
    struct keeping *k = (struct keeping *)office;
    for (int i = 0; i < sim.procs; i++)
        if (sim.file[k->file].in_office[i] && &sim.proc[i] != k->proc) return false;
    return true;
}

static const struct vs_office_ops office_ops = {
    .ask = office_ask,
    .sleep = office_sleep,
    .stop = office_stop,
    .random = office_random,
    .alone = office_alone,
};

/* ------------------------------------------------------------------ a term of office */

/* How office was come by. */
struct seat {
    uint64_t token;
    struct vs_watched was;
};

/* False: it is to be left to another process for a while. */
static bool hold_office(struct proc *self, int file, const struct seat *seat) {
    struct file *f = &sim.file[file];
    char holder[VS_HOLDER_MAX];
    struct keeping k = {.proc = self, .file = file};
    k.office = (struct vs_office){f->map,      &sim.host[f->host].clock,          sim.layout,
                                  &office_ops, .pid = (uint32_t)proc_index(self), .token = seat->token};
    snprintf(holder, sizeof holder, "process %d", proc_index(self));
    vs_office_rest(&k.office);
    vs_office_enter(&k.office, holder, &sim.timing);
    if (k.office.lease.slot >= 0)
        TRACE("process %d takes office of file %d with slot %d, %s", proc_index(self), k.file, k.office.lease.slot,
              k.office.lease.published ? "open" : "claimed");
    sim.counts.adoptions += k.office.lease.slot >= 0 && !k.office.lease.published;
    enum vs_term term = vs_office_serve(&k.office);
    if (term == VS_TERM_USED_UP || (term == VS_TERM_GAVE_BACK && k.is_orphan)) {
        TRACE("file %d is %s", file, k.is_orphan ? "left: others are at another map" : "used up");
        sim.counts.retired++;
        vs_map_retire(f->map);
    }
    return !vs_office_is_replaced(&k.office);
}

/* Elected, or in the place of who is silent. */
static bool take_seat(struct proc *self, struct file *f, struct seat *seat) {
    bool elected = f->keeper < 0;
    if (elected) {
        f->keeper = proc_index(self);
        seat->was.token = atomic_load(&f->map->shared.keeper_token);
    } else if (!vs_office_is_silent(f->map, &seat->was, host_boot_us(&sim.host[f->host]))) {
        return false;
    }
    vs_sim_point("takes_seat");
    seat->token = rnd() | 1;
    bool seated = vs_office_seat(f->map, seat->was.token, seat->token, (uint32_t)proc_index(self),
                                 host_boot_us(&sim.host[f->host]));
    if (seated && !elected) TRACE("process %d takes the place of a silent keeper", proc_index(self));
    sim.counts.replaced += seated && !elected;
    return seated;
}

static void leave_seat(struct proc *self, struct file *f) {
    f->in_office[proc_index(self)] = false;
    if (f->keeper == proc_index(self)) f->keeper = -1;
}

static void keeper_main(struct proc *self) {
    int file = self->file;
    struct file *f = &sim.file[file];
    struct seat seat = {0};
    do {
        bool seated = take_seat(self, f, &seat), stays = true;
        if (seated) {
            f->in_office[proc_index(self)] = true;
            stays = hold_office(self, file, &seat);
        }
        leave_seat(self, f);
        if (!stays)
            thread_sleep(LEFT_US, NULL);
        else if (self->stop == VS_KEEP_ON && (!seated || vs_map_must_rest(f->map)))
            thread_sleep(ELECTION_US + (sim.told ? 0 : rnd_around(SEC)), f);
    } while (self->stop == VS_KEEP_ON && atomic_load(&f->map->shared.stopped) != VESTA_CLOSED);
    if (self->file == file) self->keeper = NULL;
    if (self->exits) proc_kill(proc_index(self));
}

void keeper_start(struct proc *p) {
    if (p->keeper) return;
    p->stop = VS_KEEP_ON;
    p->keeper = thread_start(proc_index(p), "keeper", keeper_main);
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
