/* keeper.c -- keepers of the virtual processes. A keeper is elected by a lock, or replaces a silent keeper, as in
 * csrc/keeper. It then runs the core's term against the virtual store. */
#include "sim.h"

#include <string.h>

#define ELECTION_US (200 * MS)
#define NAP_US (900 * MS) /* longer than a real keeper's sleep, but shorter than the two seconds that a pulse lasts */
#define LEFT_US SEC       /* how long a process that lost its term leaves it to others */

int proc_index(const struct proc *p) {
    return (int)(p - sim.proc);
}

/* ------------------------------------------------------------------ operations of a term */

struct keeping {
    struct vs_term term; /* first, so that a term can be cast to its keeper */
    struct proc *proc;
    int file;
    bool is_orphan; /* another map has this map's name */
    enum vs_outcome outcome; /* of the last request */
};

/* Records the pulse of a keeper. A keeper that replaced a silent one also takes its lock as soon as that is free. */
static void beat(struct vs_term *term) {
    struct keeping *k = (struct keeping *)term;
    vs_term_beat(term, 0);
    if (sim.file[k->file].keeper < 0 && !vs_term_is_replaced(term)) sim.file[k->file].keeper = proc_index(k->proc);
}

/* Returns whether new processes find another map instead of this one. Only checked while leaving costs no ids. */
static bool is_orphan(const struct keeping *k) {
    const struct vs_lease *lease = &k->term.lease;
    bool is_well = !lease->published || (lease->after == VS_PH_HELD && lease->troubles == 0);
    return is_well && !atomic_load(&k->term.map->shared.stopped) && !file_is_named(k->file);
}

/* Tells the next map which store granted the lease. */
static void note_store(const struct keeping *k) {
    const struct vs_map *map = k->term.map;
    if (k->term.lease.published) sim.path[sim.file[k->file].path].incarnation = vs_map_incarnation(map);
}

static bool term_sleep(struct vs_term *term, int64_t until_boot_us, bool on_want) {
    struct keeping *k = (struct keeping *)term;
    const struct host *host = &sim.host[sim.file[k->file].host];
    note_store(k);
    k->is_orphan = k->is_orphan || is_orphan(k);
    int64_t left_us = until_boot_us - host_boot_us(host);
    bool wanted = on_want && atomic_load(&term->map->shared.want) != term->want_seen;
    bool stop = k->proc->stop != VS_KEEP_ON || vs_map_must_rest(term->map) || k->is_orphan;
    if (left_us <= 0 || stop || vs_term_is_replaced(term) || wanted) return true;
    beat(term);
    vs_sim_point("sleeps");
    thread_sleep(left_us < NAP_US ? left_us : NAP_US, &sim.file[k->file]);
    return false; /* a keeper's turn ends with each sleep */
}

/* A call has a deadline, and may block until then without a pulse. */
static bool term_ask(struct vs_term *term, const struct vs_action *action, struct vs_event *ev) {
    vs_term_beat(term, sim.timing.is_shared ? STORE_TIMEOUT_US + VS_PULSE_US / 2 : VS_PULSE_US);
    store_ask(term, action, ev);
    ((struct keeping *)term)->outcome = ev->outcome;
    return true;
}

static bool others_are_here(const struct proc *self) {
    for (int i = 0; i < sim.procs; i++)
        if (sim.proc[i].alive && &sim.proc[i] != self && sim.proc[i].path == self->path) return true;
    return false;
}

static enum vs_stop term_stop(struct vs_term *term) {
    struct keeping *k = (struct keeping *)term;
    if (term->lease.phase == VS_PH_FENCED) oracle_fenced(&term->lease);
    sim.counts.left += term->lease.phase == VS_PH_CLOSING && term->lease.leaves;
    if (k->proc->stop == VS_KEEP_ON && k->is_orphan) return VS_GIVE_BACK;
    return k->proc->stop == VS_GIVE_BACK && others_are_here(k->proc) ? VS_HAND_OVER : k->proc->stop;
}

static bool term_random(struct vs_term *term, void *out, size_t size) {
    (void)term;
    for (size_t i = 0; i < size; i += 8) {
        uint64_t x = rnd();
        memcpy((char *)out + i, &x, size - i < 8 ? size - i : 8);
    }
    return true;
}

static bool term_alone(struct vs_term *term) {
    struct keeping *k = (struct keeping *)term;
    for (int i = 0; i < sim.procs; i++)
        if (sim.file[k->file].in_term[i] && &sim.proc[i] != k->proc) return false;
    return true;
}

static const struct vs_term_ops term_ops = {
    .ask = term_ask,
    .sleep = term_sleep,
    .stop = term_stop,
    .random = term_random,
    .alone = term_alone,
};

/* ------------------------------------------------------------------ a term */

/* How a keeper got its term. */
struct seat {
    uint64_t token;
    struct vs_watched was;
};

/* Returns false if another process should have the term for a while. */
static bool keep_term(struct proc *self, int file, const struct seat *seat) {
    struct file *f = &sim.file[file];
    char holder[VS_HOLDER_MAX];
    struct keeping k = {.proc = self, .file = file};
    k.term = (struct vs_term){f->map,    &sim.host[f->host].clock,          sim.layout,
                              &term_ops, .pid = (uint32_t)proc_index(self), .token = seat->token};
    k.term.is_local = !sim.timing.is_shared;
    snprintf(holder, sizeof holder, "process %d", proc_index(self));
    while (!vs_term_rest(&k.term))
        ;
    vs_term_begin(&k.term, holder, &sim.timing);
    if (k.term.lease.slot >= 0)
        TRACE("process %d begins a term of file %d with slot %d, %s", proc_index(self), k.file, k.term.lease.slot,
              k.term.lease.published ? "open" : "claimed");
    sim.counts.adoptions += k.term.lease.slot >= 0 && !k.term.lease.published;
    enum vs_term_end end;
    while ((end = vs_term_serve(&k.term)) == VS_TERM_WAITS)
        ;
    const struct vs_lease *lease = &k.term.lease;
    bool is_known = lease->incarnation == store_incarnation() && k.outcome == VS_STORE_MOVED;
    if (end == VS_TERM_GAVE_BACK && lease->not_given_back && is_known)
        oracle_found(KEPT, "process %d still holds worker id %d", proc_index(self), (int)lease->worker);
    if (end == VS_TERM_USED_UP || (end == VS_TERM_GAVE_BACK && k.is_orphan)) {
        TRACE("file %d is %s", file, k.is_orphan ? "left: new processes use another map" : "used up");
        sim.counts.retired++;
        vs_map_retire(f->map);
    }
    return !vs_term_is_replaced(&k.term);
}

/* Becomes keeper by election, or replaces a silent keeper. */
static bool take_seat(struct proc *self, struct file *f, struct seat *seat) {
    bool elected = f->keeper < 0;
    if (elected) {
        f->keeper = proc_index(self);
        seat->was.token = atomic_load(&f->map->shared.keeper_token);
    } else if (!vs_term_is_silent(f->map, &seat->was, host_boot_us(&sim.host[f->host]))) {
        return false;
    }
    vs_sim_point("takes_seat");
    seat->token = rnd() | 1;
    bool seated = vs_term_take(f->map, seat->was.token, seat->token, (uint32_t)proc_index(self),
                               host_boot_us(&sim.host[f->host]));
    if (seated && !elected) TRACE("process %d takes the place of a silent keeper", proc_index(self));
    sim.counts.replaced += seated && !elected;
    return seated;
}

static void leave_seat(struct proc *self, struct file *f) {
    f->in_term[proc_index(self)] = false;
    if (f->keeper == proc_index(self)) f->keeper = -1;
}

static void keeper_main(struct proc *self) {
    int file = self->file;
    struct file *f = &sim.file[file];
    struct seat seat = {0};
    do {
        bool seated = take_seat(self, f, &seat), stays = true;
        if (seated) {
            f->in_term[proc_index(self)] = true;
            stays = keep_term(self, file, &seat);
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
    TRACE("process %d loses the keeper's lock without noticing it", path_keeper(path));
    sim.counts.two_keepers++;
    sim.file[sim.path[path].file].keeper = -1;
}
