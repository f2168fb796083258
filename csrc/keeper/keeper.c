/* keeper.c -- the thread that carries out what the lease engine decides.  One a file and process; one process on the
 * host is elected by a lock and does the work, the others wait for it to die.  Election decides only who does the
 * I/O: two keepers at once would be wasteful, not wrong. */
#include "keeper/file.h"
#include "core/core.h"
#include "os/os.h"
#include "store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ELECTION_US 200000 /* how often the others look whether the keeper has died */
#define NAP_US 500000      /* the longest sleep, so that a stop is noticed even if a wake-up is lost */
#define STORE_RETRY_US 1000000

struct keeping {
    struct vs_file *file;
    struct vs_map *map;
    struct vs_store *store;
    struct vs_lease lease;
    uint32_t want_seen; /* the last value of shared.want that was answered */
};

static bool told_to_stop(struct vs_file *file) {
    return atomic_load_explicit(&file->stop, memory_order_acquire) != VS_KEEP_ON;
}

/* Byte by byte: readers are other threads and processes, and a mixed sentence does no harm. */
static void publish_text(struct vs_map *map, const char *text) {
    size_t i = 0;
    for (; text[i] && i + 1 < VS_SAID_MAX; i++)
        atomic_store_explicit(&map->shared.keeper[i], text[i], memory_order_relaxed);
    atomic_store_explicit(&map->shared.keeper[i], '\0', memory_order_relaxed);
}

/* Sleeps until an instant, a wish or a stop. */
static void nap(struct keeping *k, int64_t until_boot_us, bool on_want) {
    const struct vesta_clock *clock = k->file->clock;
    for (;;) {
        uint32_t want = atomic_load_explicit(&k->map->shared.want, memory_order_acquire);
        int64_t left_us = until_boot_us - clock->boot_us(clock->self);
        if (left_us <= 0 || told_to_stop(k->file) || (on_want && want != k->want_seen))
            return;
        vs_futex_wait(&k->map->shared.want, want, left_us < NAP_US ? left_us : NAP_US);
    }
}

/* ------------------------------------------------------------------ carrying out actions */

static void do_choose(struct keeping *k, struct vs_event *ev) {
    struct vs_listed *listed;
    struct vs_reply reply;
    size_t count;
    uint64_t random = 0;
    int leased = k->file->layout.worker;
    k->store->ops->list(k->store, &listed, &count, &reply);
    ev->kind = VS_EV_CHOSEN;
    ev->found = false;
    if (reply.outcome != VS_STORE_OK)
        snprintf(ev->text, sizeof ev->text, "%s", reply.text);
    else if (vs_random(&random, sizeof random) == 0)
        ev->found = vs_choose_any(&k->lease, listed, count, leased >= 0 ? k->file->layout.field[leased].max : 0,
                                  reply.store_ms, random, &ev->worker);
    free(listed);
}

static void do_take(struct keeping *k, const struct vs_action *action, struct vs_event *ev) {
    ev->kind = VS_EV_SLOT;
    ev->slot = -1;
    if (vs_random(ev->owner, sizeof ev->owner) != 0)
        return;
    ev->slot = action->slot;
    if (action->slot >= 0)
        vs_slot_refill(&k->map->slot[action->slot], action->worker, ev->owner, action->from);
    else
        ev->slot = vs_slot_take(k->map, action->worker, ev->owner, action->from);
}

static void do_publish(struct keeping *k, const struct vs_action *action) {
    if (!k->lease.has_worker && k->lease.record.epoch == 1)
        atomic_store_explicit(&k->map->shared.drew, (uint32_t)getpid(), memory_order_relaxed);
    vs_slot_publish(k->map, action->slot, action->limit, action->deadline_boot_us);
}

static void do_failstop(struct keeping *k) {
    uint64_t cursor;
    int active = vs_map_active(k->map);
    /* release: pairs with pause_lease; the text is for people and may come late */
    atomic_store_explicit(&k->map->shared.stopped, VESTA_FAILSTOP, memory_order_release);
    if (active >= 0)
        vs_slot_close(&k->map->slot[active], &cursor);
}

/* Asks the store; everything the engine may want to know of the answer goes into the event. */
static void do_store(struct keeping *k, const struct vs_action *action, struct vs_event *ev) {
    struct vs_reply reply;
    const struct vs_store_ops *ops = k->store->ops;
    switch (action->kind) {
    case VS_DO_NS_READ: ops->ns_read(k->store, &reply); break;
    case VS_DO_NS_SWAP: ops->ns_swap(k->store, action->old_ver, &action->ns, &reply); break;
    case VS_DO_READ: ops->read(k->store, action->worker, &reply); break;
    default: ops->swap(k->store, action->worker, action->old_ver, &action->record, &reply); break;
    }
    ev->kind = VS_EV_REPLY;
    ev->outcome = reply.outcome;
    ev->store_ms = reply.store_ms;
    ev->record = reply.record;
    ev->ns = reply.ns;
    memcpy(ev->text, reply.text, sizeof ev->text);
}

static void do_sleep(struct keeping *k, const struct vs_action *action) {
    publish_text(k->map, k->lease.said);
    atomic_store_explicit(&k->map->shared.retry_boot_us, action->on_want ? 0 : action->until_boot_us,
                          memory_order_relaxed);
    nap(k, action->until_boot_us, action->on_want);
}

static void carry_out(struct keeping *k, const struct vs_action *action, struct vs_event *ev) {
    ev->kind = VS_EV_DONE;
    switch (action->kind) {
    case VS_DO_SLEEP: do_sleep(k, action), ev->kind = VS_EV_WAKE; break;
    case VS_DO_NS_READ:
    case VS_DO_NS_SWAP:
    case VS_DO_READ:
    case VS_DO_SWAP: do_store(k, action, ev); break;
    case VS_DO_CHOOSE: do_choose(k, ev); break;
    case VS_DO_TAKE: do_take(k, action, ev); break;
    case VS_DO_PUBLISH: do_publish(k, action); break;
    case VS_DO_RAISE: vs_slot_raise(&k->map->slot[action->slot], action->limit, action->deadline_boot_us); break;
    case VS_DO_CLOSE:
        ev->kind = VS_EV_CLOSED;
        ev->found = vs_slot_close(&k->map->slot[action->slot], &ev->cursor);
        break;
    case VS_DO_FAILSTOP: do_failstop(k); break;
    case VS_DO_END: break;
    }
}

/* What is true now, whatever happened. */
static void look_around(struct keeping *k, struct vs_event *ev) {
    const struct vesta_clock *clock = k->file->clock;
    uint32_t want = atomic_load_explicit(&k->map->shared.want, memory_order_acquire);
    ev->unix_us = clock->unix_us(clock->self);
    ev->boot_us = clock->boot_us(clock->self);
    ev->doubt_us = vs_clock_doubt_us(k->map, clock, ev->unix_us);
    ev->wanted = want != k->want_seen;
    ev->stop = told_to_stop(k->file);
    if (ev->kind == VS_EV_WAKE)
        k->want_seen = want;
    if (ev->kind != VS_EV_CLOSED && k->lease.slot >= 0 && k->lease.published)
        vs_slot_cursor(&k->map->slot[k->lease.slot], &ev->cursor);
    vs_clock_anchor(k->map, clock);
}

/* ------------------------------------------------------------------ a term of office */

/* The lease that the map has: its open slot, else the newest claim that was sent and never published. */
static void find_lease(struct vs_map *map, struct vs_lease_opts *opts) {
    uint64_t cursor;
    uint32_t used = atomic_load_explicit(&map->shared.slots_used, memory_order_acquire);
    int active = vs_map_active(map), at = active;
    opts->slot = -1;
    if (active >= 0 && vs_slot_cursor(&map->slot[active], &cursor)) {
        opts->published = true;
    } else {
        at = (int)(used < VS_SLOTS_MAX ? used : VS_SLOTS_MAX) - 1;
        struct vs_slot *slot = at >= 0 ? &map->slot[at] : NULL;
        /* acquire: pairs with the release in slot.c's fill; a half-filled slot is skipped */
        if (at <= active || atomic_load_explicit(&slot->state, memory_order_acquire) != VS_SLOT_CLAIMING ||
            atomic_load_explicit(&slot->tick, memory_order_acquire) != VS_FRESH)
            return;
    }
    opts->slot = at;
    opts->slot_worker = map->slot[at].worker;
    opts->slot_owner[0] = map->slot[at].owner[0];
    opts->slot_owner[1] = map->slot[at].owner[1];
    opts->slot_from = map->slot[at].from;
    opts->slot_limit = atomic_load_explicit(&map->slot[at].limit, memory_order_acquire);
}

static void start_lease(struct keeping *k) {
    struct vs_map *map = k->map;
    char host[64], holder[VS_HOLDER_MAX];
    vs_host_name(host, sizeof host);
    snprintf(holder, sizeof holder, "%s pid %d", host, (int)getpid());
    struct vs_lease_opts opts = {
        .layout = &k->file->layout,
        .identity = map->header.identity,
        .holder = holder,
        .has_worker = map->header.has_worker,
        .worker = map->header.worker,
        .timing = vs_lease_timing_file,
        .incarnation = atomic_load(&map->shared.incarnation),
    };
    find_lease(map, &opts);
    vs_random(&opts.entropy, sizeof opts.entropy);
    vs_lease_init(&k->lease, &opts);
}

static void retire(struct keeping *k) {
    struct vesta_error err;
    vs_process_lock();
    int rc = vs_mapping_retire(k->file->path, k->file->mapping.dev, k->file->mapping.ino, &err);
    vs_process_unlock();
    if (rc != VESTA_OK)
        publish_text(k->map, err.text);
    else /* release: pairs with pause_lease; the name is free before anyone is sent to look for the successor */
        atomic_store_explicit(&k->map->shared.stopped, VESTA_CLOSED, memory_order_release);
}

/* Steps the engine until it ends, or until this process shall stop and others are there to go on. */
static void serve(struct keeping *k) {
    struct vs_event ev = {.kind = VS_EV_WAKE};
    struct vs_action action;
    for (;;) {
        look_around(k, &ev);
        bool give_back = atomic_load(&k->file->stop) == VS_GIVE_BACK;
        if (ev.stop && !(give_back && vs_lock_byte(k->file->lock_fd, VS_BYTE_HERE, true)))
            return;
        vs_lease_step(&k->lease, &ev, &action);
        atomic_store(&k->map->shared.incarnation, k->lease.incarnation);
        if (action.kind == VS_DO_END)
            break;
        carry_out(k, &action, &ev);
    }
    if (!ev.stop)
        retire(k);
}

static void hold_office(struct vs_file *file) {
    struct keeping *k = calloc(1, sizeof *k);
    struct vesta_error err = {.text = "no memory for a keeper"};
    int rc = VESTA_ENOMEM;
    if (k) {
        k->file = file;
        k->map = file->mapping.map;
        struct vs_store_opts opts = {k->map->header.namespace_, k->map->header.group, file->clock};
        rc = vs_store_open(k->map->header.store, &opts, &k->store, &err);
    }
    if (rc == VESTA_OK) {
        start_lease(k);
        serve(k);
        k->store->ops->close(k->store);
    } else {
        int64_t retry_us = file->clock->boot_us(file->clock->self) + STORE_RETRY_US;
        publish_text(file->mapping.map, err.text);
        atomic_store(&file->mapping.map->shared.retry_boot_us, retry_us);
        if (k)
            nap(k, retry_us, false);
    }
    free(k);
}

static void *keeper_main(void *arg) {
    struct vs_file *file = arg;
    struct vs_shared *shared = &file->mapping.map->shared;
    do {
        uint32_t want = atomic_load_explicit(&shared->want, memory_order_acquire);
        if (vs_lock_byte(file->lock_fd, VS_BYTE_KEEPER, true)) {
            hold_office(file);
            vs_lock_byte(file->lock_fd, VS_BYTE_HERE, false); /* giving back had locked the others out */
            vs_unlock_byte(file->lock_fd, VS_BYTE_KEEPER);
        } else if (!told_to_stop(file)) {
            vs_futex_wait(&shared->want, want, ELECTION_US);
        }
    } while (!told_to_stop(file) && atomic_load(&shared->stopped) != VESTA_CLOSED);
    return NULL;
}

/* ------------------------------------------------------------------ starting and stopping */

void vs_keeper_want(struct vs_map *map) {
    atomic_fetch_add_explicit(&map->shared.want, 1, memory_order_release);
    vs_futex_wake(&map->shared.want);
}

int vs_keeper_start(struct vs_file *file) {
    if (file->keeper_pid == getpid())
        return 0;
    sigset_t all, was;
    vs_lock_byte(file->lock_fd, VS_BYTE_HERE, false); /* a forked child has not inherited it */
    atomic_store(&file->stop, VS_KEEP_ON);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was); /* the thread inherits this: signals are the program's business */
    int rc = pthread_create(&file->thread, NULL, keeper_main, file);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    if (rc == 0)
        file->keeper_pid = getpid();
    return rc;
}

void vs_keeper_stop(struct vs_file *file, enum vs_keeper_stop how) {
    if (file->keeper_pid != getpid())
        return;
    atomic_store_explicit(&file->stop, how, memory_order_release);
    vs_keeper_want(file->mapping.map);
    pthread_join(file->thread, NULL);
    file->keeper_pid = 0;
}
