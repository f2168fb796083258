/* keeper.c -- the thread that carries out what the lease engine decides.  One a file and process; one process on the
 * host is elected by a lock and does the work, the others wait for it to die, or to fall silent: a process that is
 * stopped keeps its lock.  Election decides only who does the I/O: two keepers at once are wasteful, not wrong. */
#include "keeper/file.h"
#include "base/error.h"
#include "os/host.h"
#include "os/lock.h"
#include "os/process.h"
#include "os/random.h"
#include "os/thread.h"
#include "store/lineage.h"
#include "store/store.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ELECTION_US 200000 /* how often the others look whether the keeper has died */
#define NAP_US 500000      /* the longest sleep, so that a stop is noticed even if a wake-up is lost */
#define STORE_RETRY_US 1000000
_Static_assert(NAP_US < VS_PULSE_US, "a keeper that naps is not taken for one that is silent");
_Static_assert(STORE_RETRY_US > ELECTION_US, "whom the store turned away stands back for longer than others wait");
#define GIVE_BACK_US 3000000 /* who ends waits no longer than that for a store to take the lease back */

struct keeping {
    struct vs_term term; /* first: the term's operations find the rest behind it */
    struct vs_file *file;
    struct vs_store *store;
    char uri[VS_URI_MAX]; /* of that store */
    bool is_orphan;       /* another map has the name of ours: newcomers are there, and all are to follow */
    bool elected;         /* the lock is ours; not that of whose place was taken because it was silent */
};

_Static_assert(offsetof(struct keeping, term) == 0, "a term is the head of its keeping");

/* How a term was come by. */
struct seat {
    uint64_t token;
    bool elected;
    struct vs_watched was;
};

static struct keeping *keeping_of(struct vs_term *term) {
    return (struct keeping *)term;
}

static bool told_to_stop(struct vs_file *file) {
    return atomic_load_explicit(&file->stop, memory_order_acquire) != VS_KEEP_ON;
}

/* ------------------------------------------------------------------ the store and the file that names it */

/* At another address than the file's: is it the store that granted its leases?  Where it is not, that is one process's
 * mistake, which must not end the others' ids. */
static int check_store(struct keeping *k, struct vesta_error *err) {
    uint64_t known = vs_map_incarnation(k->file->mapping.map);
    struct vs_reply reply;
    assert(!vs_process_is_locked());
    if (vs_same_address(k->uri, k->file->anchor.header.store)) return VESTA_OK;
    k->store->ops->ns_read(k->store, &reply);
    bool answered = reply.outcome == VS_STORE_OK;
    if (answered && known && reply.ns.ver && reply.ns.incarnation == known) return VESTA_OK;
    k->store->ops->close(k->store);
    return vs_fail(err, VESTA_EMISMATCH, "%.180s",
                   answered ? "the store at the address given is not the one that granted this file's leases: name its "
                              "current address, or use another path"
                            : reply.text);
}

/* Which store granted the lease, and where it is, is told to those who start after the next boot. */
static void note_store(struct keeping *k) {
    struct vs_header *header = &k->file->anchor.header;
    uint64_t incarnation = vs_map_incarnation(k->file->mapping.map);
    if (!k->term.lease.published) return;
    assert(k->uri[0]); /* a lease came from somewhere */
    if (header->incarnation == incarnation && strcmp(header->store, k->uri) == 0) return;
    vs_process_lock();
    header->incarnation = incarnation;
    memcpy(header->store, k->uri, sizeof header->store);
    vs_process_unlock();
    (void)vs_anchor_note(k->file->path, &k->file->anchor); /* a file that cannot be written only knows less */
}

/* ------------------------------------------------------------------ what a term asks of the world */

/* Shows that all is well.  Who took the place of a silent keeper has its lock as soon as that one lets it go. */
static void beat(struct vs_term *term) {
    struct keeping *k = keeping_of(term);
    vs_term_beat(term, 0);
    if (!k->elected) k->elected = vs_lock_byte(k->file->mapping.fd, VS_BYTE_KEEPER, true);
}

/* Newcomers do not find this map.  Looked at where leaving costs nobody an id: while the store answers, or while there
 * is nothing to lose. */
static bool is_orphan(struct keeping *k) {
    const struct vs_lease *lease = &k->term.lease;
    bool is_well = !lease->published || (lease->after == VS_PH_HELD && lease->troubles == 0);
    bool stopped = atomic_load(&k->term.map->shared.stopped) != 0;
    return is_well && !stopped && !vs_mapping_is_named(&k->file->mapping);
}

/* A store that is not asked for a while may close what others need; by this clock, for it goes on in its sleep.  A rest
 * begins before there is a store. */
static void lay_down(struct keeping *k, int64_t until_boot_us) {
    const struct vesta_clock *clock = k->term.clock;
    if (!k->store) return;
    int64_t ms = (until_boot_us - clock->boot_us(clock->self)) / 1000;
    if (k->store && k->store->ops->idle && ms > 0) k->store->ops->idle(k->store, ms);
}

/* A store that broke a connection, or is another file now, may have gone back: no id is given for longer than needs be
 * until that is known.  Once a second at most. */
static bool is_stirred(struct keeping *k) {
    const struct vs_lease *lease = &k->term.lease;
    bool is_well = lease->published && lease->after == VS_PH_HELD && lease->troubles == 0;
    int64_t age_us = k->term.clock->boot_us(k->term.clock->self) - lease->renewed_boot_us;
    assert(!is_well || k->store);
    return is_well && age_us >= STORE_RETRY_US && k->store->ops->stirred && k->store->ops->stirred(k->store);
}

/* Sleeps until an instant, a request for ids or a stop. */
static void nap(struct vs_term *term, int64_t until_boot_us, bool on_want) {
    const struct vesta_clock *clock = term->clock;
    _Atomic uint32_t *want_at = &term->map->shared.want;
    assert(!vs_process_is_locked());
    note_store(keeping_of(term));
    lay_down(keeping_of(term), until_boot_us);
    for (;;) {
        uint32_t want = atomic_load_explicit(want_at, memory_order_acquire);
        int64_t left_us = until_boot_us - clock->boot_us(clock->self);
        struct keeping *k = keeping_of(term);
        k->is_orphan = k->is_orphan || is_orphan(k);
        term->is_stirred = is_stirred(k);
        bool stop = term->is_stirred || told_to_stop(k->file) || vs_map_must_rest(term->map) || k->is_orphan;
        if (left_us <= 0 || stop || vs_term_is_replaced(term) || (on_want && want != term->want_seen)) return;
        beat(term);
        vs_futex_wait(want_at, want, left_us < NAP_US ? left_us : NAP_US);
    }
}

static enum vs_stop asked_to_stop(struct vs_term *term) {
    struct vs_file *file = keeping_of(term)->file;
    enum vs_stop stop = atomic_load_explicit(&file->stop, memory_order_acquire);
    if (stop == VS_KEEP_ON && keeping_of(term)->is_orphan) return VS_GIVE_BACK;
    bool shared = stop == VS_GIVE_BACK && !vs_lock_byte(file->mapping.fd, VS_BYTE_HERE, true);
    return shared ? VS_HAND_OVER : stop;
}

/* Keepers in their terms share a byte; who can have it alone for a moment is the only one. */
static bool is_alone(struct vs_term *term) {
    const struct vs_file *file = keeping_of(term)->file;
    bool alone = vs_lock_byte(file->mapping.fd, VS_BYTE_IN_OFFICE, true);
    vs_lock_byte(file->mapping.fd, VS_BYTE_IN_OFFICE, false);
    return alone;
}

static bool random_bits(struct vs_term *term, void *out, size_t size) {
    (void)term;
    return vs_random(out, size) == 0;
}

/* Whether a handle of this process has a say by now. */
static bool is_judged(const struct vs_file *file) {
    vs_process_lock();
    bool judged = file->question.choosers > 0;
    vs_process_unlock();
    return judged;
}

static void do_choose(struct keeping *k, struct vs_event *ev) {
    struct vs_listed *listed;
    struct vs_reply reply;
    size_t count;
    k->store->ops->list(k->store, &listed, &count, &reply);
    struct vs_listing listing = {listed, count, reply.store_ms};
    if (reply.outcome == VS_STORE_OK && is_judged(k->file))
        vs_question_ask(k->file, &k->term, listing, ev);
    else if (reply.outcome == VS_STORE_OK)
        vs_term_choose(&k->term, listing, ev);
    else
        snprintf(ev->text, sizeof ev->text, "%s", reply.text);
    free(listed);
}

/* How long a call may be silent: as long as its deadline lets it.  What waits for a disk has none. */
static int64_t call_us_max(const struct vs_store *store, enum vs_do kind) {
    if (store->ops->is_local) return VS_PULSE_US;
    return (kind == VS_DO_CHOOSE ? store->list_ms_max : store->call_ms_max) * INT64_C(1000) + VS_PULSE_US / 2;
}

static struct vs_lineage lineage_of(const struct keeping *k) {
    assert(vs_store_is_local(k->uri)); /* it has no secret */
    return (struct vs_lineage){.uri = k->uri, .name = k->term.map->header.namespace_, .clock = k->term.clock};
}

static void turn_away(int rc, const struct vesta_error *err, struct vs_reply *reply) {
    assert(rc != VESTA_OK);
    *reply = (struct vs_reply){.outcome = rc == VESTA_EMISMATCH ? VS_STORE_REFUSED : VS_STORE_DOWN};
    snprintf(reply->text, sizeof reply->text, "%.180s", err->text);
}

/* On one host the first user makes the namespace: with a layout that may be, by its name. */
static void do_ns_swap(struct keeping *k, const struct vs_action *action, struct vs_reply *reply) {
    const struct vs_lineage lineage = lineage_of(k);
    struct vesta_error err;
    int rc = vs_lineage_admit(&lineage, &k->file->layout, &err);
    if (rc == VESTA_OK)
        k->store->ops->ns_swap(k->store, action->old_ver, &action->ns, reply);
    else
        turn_away(rc, &err, reply);
}

/* Where first users make namespaces, another may have been made beside ours: behind every swap, and by whoever comes
 * after one that was cut short, it is looked at before the first lease. */
static void do_ns_read(struct keeping *k, struct vs_reply *reply) {
    struct vesta_error err;
    k->store->ops->ns_read(k->store, reply);
    bool is_there = reply->outcome == VS_STORE_OK && reply->ns.ver;
    if (!is_there || !k->store->ops->is_local || vs_map_incarnation(k->term.map)) return;
    const struct vs_lineage lineage = lineage_of(k);
    int rc = vs_lineage_enter(&lineage, k->store, &reply->ns, &err);
    if (rc != VESTA_OK) turn_away(rc, &err, reply);
}

/* Everything the engine may want to know of the store's answer goes into the event. */
static void ask(struct vs_term *term, const struct vs_action *action, struct vs_event *ev) {
    struct keeping *k = keeping_of(term);
    const struct vs_store_ops *ops = k->store->ops;
    struct vs_reply reply;
    assert(!vs_process_is_locked()); /* a store may take as long as it likes */
    vs_term_beat(term, call_us_max(k->store, action->kind));
    switch (action->kind) {
    case VS_DO_CHOOSE: do_choose(k, ev); return;
    case VS_DO_NS_READ: do_ns_read(k, &reply); break;
    case VS_DO_NS_SWAP: do_ns_swap(k, action, &reply); break;
    case VS_DO_READ: ops->read(k->store, action->worker, &reply); break;
    default:
        assert(action->kind == VS_DO_SWAP);
        ops->swap(k->store, action->worker, action->old_ver, &action->record, &reply);
        break;
    }
    ev->outcome = reply.outcome;
    ev->store_ms = reply.store_ms;
    ev->record = reply.record;
    ev->ns = reply.ns;
    memcpy(ev->text, reply.text, sizeof ev->text);
}

static const struct vs_term_ops term_ops = {
    .ask = ask,
    .sleep = nap,
    .stop = asked_to_stop,
    .random = random_bits,
    .alone = is_alone,
};

/* ------------------------------------------------------------------ a term */

static void serve(struct keeping *k) {
    char host[64], holder[VS_HOLDER_MAX];
    vs_host_name(host, sizeof host);
    snprintf(holder, sizeof holder, "%s pid %d", host, (int)getpid());
    k->term.is_judged = is_judged(k->file);
    vs_term_begin(&k->term, holder, vs_lease_preset(k->file->anchor.header.lease));
    enum vs_term_end end = vs_term_serve(&k->term);
    const struct vs_lease *lease = &k->term.lease;
    struct vs_kept *kept = &k->file->kept;
    kept->ms = end == VS_TERM_GAVE_BACK && lease->not_given_back ? lease->timing.lease_ms : 0;
    if (kept->ms) snprintf(kept->why, sizeof kept->why, "%s", lease->said);
    note_store(k); /* a program that gave one id and ends has not napped */
    if (end == VS_TERM_USED_UP || (end == VS_TERM_GAVE_BACK && k->is_orphan)) vs_map_retire(k->term.map);
}

/* False: it is to be left to another process for a while.  That one may be able to open the store where this one is
 * not; or it took this one's place, and is to find the lock free. */
static bool keep_term(struct vs_file *file, const struct seat *seat) {
    struct keeping *k = calloc(1, sizeof *k);
    struct vs_map *map = file->mapping.map;
    struct vesta_error err = {.text = "no memory for a keeper"};
    int rc = VESTA_ENOMEM;
    assert(seat->token);
    if (k) {
        char secret[VS_SECRET_MAX];
        vs_process_lock();
        memcpy(secret, file->secret, sizeof secret);
        memcpy(k->uri, file->store, sizeof k->uri);
        vs_process_unlock();
        k->term = (struct vs_term){
            map, file->clock, &file->layout, &term_ops, .pid = (uint32_t)getpid(), .token = seat->token};
        k->file = file;
        k->elected = seat->elected;
        struct vs_store_opts opts = {.namespace_ = map->header.namespace_,
                                     .group = map->header.group,
                                     .clock = file->clock,
                                     .call_ms_max = vs_lease_preset(file->anchor.header.lease)->call_ms,
                                     .cut_us = &file->cut_us};
        vs_term_rest(&k->term);
        if (*secret) opts.secret = secret;
        if (vs_store_is_gone(k->uri, vs_map_incarnation(map)))
            rc = vs_fail(&err, VESTA_EIO, "the store's folder %.120s is gone: restore it", k->uri + 5);
        else
            rc = vs_store_open(k->uri, &opts, &k->store, &err);
        if (rc == VESTA_OK) rc = check_store(k, &err);
        explicit_bzero(secret, sizeof secret);
    }
    bool stays = false;
    if (rc == VESTA_OK) {
        serve(k);
        k->store->ops->close(k->store);
        stays = !vs_term_is_replaced(&k->term);
    } else {
        vs_map_say(map, err.text);
        atomic_store(&map->shared.retry_boot_us, file->clock->boot_us(file->clock->self) + STORE_RETRY_US);
    }
    if (k) explicit_bzero(k->uri, sizeof k->uri);
    free(k);
    return stays;
}

/* Longer than others wait to be elected, and no longer than it takes to notice a stop. */
static void rest(struct vs_file *file) {
    _Atomic uint32_t *want = &file->mapping.map->shared.want;
    int64_t until_us = file->clock->boot_us(file->clock->self) + STORE_RETRY_US, left_us;
    while (!told_to_stop(file) && (left_us = until_us - file->clock->boot_us(file->clock->self)) > 0)
        vs_futex_wait(want, atomic_load_explicit(want, memory_order_acquire), left_us < NAP_US ? left_us : NAP_US);
}

/* Elected, or in the place of who is silent. */
static bool take_seat(struct vs_file *file, struct seat *seat) {
    struct vs_map *map = file->mapping.map;
    seat->elected = vs_lock_byte(file->mapping.fd, VS_BYTE_KEEPER, true);
    if (seat->elected) seat->was.token = atomic_load(&map->shared.keeper_token);
    if (!seat->elected && !vs_term_is_silent(map, &seat->was, file->clock->boot_us(file->clock->self))) return false;
    if (vs_random(&seat->token, sizeof seat->token) != 0) {
        vs_map_say(map, VS_NO_RANDOM);
        return false;
    }
    int64_t now_us = file->clock->boot_us(file->clock->self);
    return vs_term_take(map, seat->was.token, seat->token |= 1, (uint32_t)getpid(), now_us);
}

static void leave_seat(struct vs_file *file, uint64_t token) {
    atomic_compare_exchange_strong(&file->mapping.map->shared.keeper_token, &token, 0);
    vs_lock_byte(file->mapping.fd, VS_BYTE_HERE, false); /* giving back had locked the others out */
    vs_unlock_byte(file->mapping.fd, VS_BYTE_IN_OFFICE);
    vs_unlock_byte(file->mapping.fd, VS_BYTE_KEEPER);
}

/* Nobody gives ids from this map any more: another is in its place, or it was cut short (guard.c), which is a failstop
 * that no store is to blame for. */
static bool is_over(const struct vs_shared *shared) {
    uint32_t stopped = atomic_load(&shared->stopped);
    return stopped == VESTA_CLOSED || (stopped == VESTA_FAILSTOP && !atomic_load(&shared->failed_in));
}

/* False: the thread had begun its work. */
static bool end_standing_by(struct vs_file *file) {
    bool stood = atomic_exchange(&file->stands_by, 0);
    if (stood) vs_futex_wake(&file->stands_by);
    return stood;
}

static void *keeper_main(void *arg) {
    struct vs_file *file = arg;
    struct vs_shared *shared = &file->mapping.map->shared;
    struct seat seat = {0};
    vs_futex_wait(&file->stands_by, 1, ELECTION_US);
    end_standing_by(file);
    /* who gives some ids of a lease that is there, and ends, needs no store */
    if (atomic_load(&file->stop) == VS_HAND_OVER) return NULL;
    do {
        uint32_t want = atomic_load_explicit(&shared->want, memory_order_acquire);
        bool seated = take_seat(file, &seat), stays = true;
        if (seated) {
            vs_lock_byte(file->mapping.fd, VS_BYTE_IN_OFFICE, false);
            stays = keep_term(file, &seat);
        }
        if (seated || seat.elected) leave_seat(file, seat.token);
        if (!stays)
            rest(file);
        else if (!told_to_stop(file) && (!seated || vs_map_must_rest(file->mapping.map)))
            vs_futex_wait(&shared->want, want, ELECTION_US);
    } while (!told_to_stop(file) && !is_over(shared));
    return NULL;
}

/* ------------------------------------------------------------------ starting and stopping */

void vs_keeper_want(struct vs_map *map) {
    atomic_fetch_add_explicit(&map->shared.want, 1, memory_order_release);
    vs_futex_wake(&map->shared.want);
}

int vs_keeper_start(struct vs_file *file, enum vs_begin begin) {
    assert(vs_process_is_locked());
    assert(file->handles > 0);
    assert(file->closing_in != vs_process_token());
    if (file->keeper_in == vs_process_token()) {
        if (begin == VS_AT_ONCE) end_standing_by(file);
        return 0;
    }
    sigset_t all, was;
    vs_lock_byte(file->mapping.fd, VS_BYTE_HERE, false); /* a forked child has not inherited it */
    atomic_store(&file->stop, VS_KEEP_ON);
    atomic_store(&file->cut_us, 0);
    file->kept.ms = 0;
    atomic_store(&file->stands_by, begin == VS_STAND_BY);
    atomic_store(&file->question.open, 0); /* the parent's keeper may have asked */
    vs_signals_to_block(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was); /* the thread inherits this: signals are the program's business */
    int rc = pthread_create(&file->thread, NULL, keeper_main, file);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    if (rc == 0) file->keeper_in = vs_process_token();
    return rc;
}

/* True for the one thread that shall end the keeper; others return when it has ended. */
static bool may_join(struct vs_file *file) {
    vs_process_lock();
    while (file->joining_in == vs_process_token()) {
        vs_process_unlock();
        usleep(1000);
        vs_process_lock();
    }
    bool mine = file->keeper_in == vs_process_token();
    if (mine) file->joining_in = vs_process_token();
    vs_process_unlock();
    return mine;
}

static void end_thread(struct vs_file *file, enum vs_stop how) {
    assert(how != VS_KEEP_ON);
    assert(!vs_process_is_locked()); /* it may need that to come to its end */
    assert(!pthread_equal(file->thread, pthread_self()));
    int64_t wait_us = how == VS_GIVE_BACK ? GIVE_BACK_US : 0; /* what was under way is nobody's concern any more */
    atomic_store(&file->cut_us, file->clock->boot_us(file->clock->self) + wait_us + 1);
    atomic_store_explicit(&file->stop, how, memory_order_release);
    if (!end_standing_by(file)) vs_keeper_want(file->mapping.map);
    pthread_join(file->thread, NULL);
}

struct vs_kept vs_keeper_stop(struct vs_file *file, enum vs_stop how) {
    if (!may_join(file)) return (struct vs_kept){0};
    end_thread(file, how);
    vs_process_lock();
    assert(file->keeper_in == vs_process_token()); /* nobody else has ended it, or begun another */
    assert(file->joining_in == vs_process_token());
    struct vs_kept kept = file->kept;
    file->keeper_in = file->joining_in = 0;
    vs_process_unlock();
    return kept;
}
