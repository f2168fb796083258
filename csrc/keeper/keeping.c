/* keeping.c -- a keeper's term for a file.  Opens the store, and carries out the engine's store calls and sleeps. */
#include "base/error.h"
#include "keeper/file.h"
#include "os/host.h"
#include "os/lock.h"
#include "os/random.h"
#include "store/lineage.h"
#include "store/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAP_US 1000000   /* how often a sleeping keeper records that it is alive, and checks its map and store */
#define QUIET_US 4000000 /* longer interval for the same checks, used if nothing is urgent (is_quiet) */
#define MINUTES_MS 60000
_Static_assert(2 * NAP_US <= VS_PULSE_US, "a sleeping keeper beats in time, so that it is not replaced");

struct vs_keeping {
    struct vs_term term; /* first, so that keeping_of can cast */
    struct vs_file *file;
    struct vs_store *store;   /* NULL: not open yet, because the keeper is paused or opening the store failed */
    struct vs_listed *listed; /* the records that a policy chooses from */
    char *uri;                /* URI of the store */
    int64_t until_boot_us;    /* end of the sleep */
    int64_t look_us;          /* interval between checks during a sleep */
    bool asks;                /* a policy has been asked for a worker id, and has not answered yet */
    uint64_t named_at;        /* value of vs_maps_changes when the map was last found under its name */
    /* true if another map has this map's name now.  New processes use that map, and older processes must move to it */
    bool is_orphan;
    /* true: this keeper has the lock.  false: the unresponsive keeper that it replaced still has the lock */
    bool elected;
};

_Static_assert(offsetof(struct vs_keeping, term) == 0, "keeping_of casts a term to its keeping");

static struct vs_keeping *keeping_of(struct vs_term *term) {
    return (struct vs_keeping *)term;
}

/* ------------------------------------------------------------------ the store and the file that names it */

/* Checks the store if its address differs from the address in the file: it must be the store that granted the file's
 * leases. One process may have a wrong address, which must not stop the ids of the other processes. */
static int check_store(struct vs_keeping *k, struct vesta_error *err) {
    uint64_t known = vs_map_incarnation(k->file->mapping.map);
    struct vs_reply reply;
    assert(!vs_process_is_locked());
    if (vs_same_address(k->uri, k->file->anchor.header.store)) return VESTA_OK;
    k->store->leases->ns_read(k->store, &reply);
    bool answered = reply.outcome == VS_STORE_OK;
    if (answered && known && reply.ns.ver && reply.ns.incarnation == known) return VESTA_OK;
    k->store->backend->close(k->store);
    char text[sizeof err->text];
    return vs_fail(err, VESTA_EMISMATCH, "%s",
                   answered ? "the store at this address is not the one that granted this file's leases: name the "
                              "current address of that store. To move, see docs/stores.md, Moving to another store"
                            : vs_reply_say(&reply, "", text, sizeof text));
}

/* Writes the store's address and incarnation into the file, for processes that start after the next boot. */
static void note_store(struct vs_keeping *k) {
    struct vs_header *header = &k->file->anchor.header;
    uint64_t incarnation = vs_map_incarnation(k->file->mapping.map);
    if (!k->term.lease.published) return;
    assert(k->uri[0]); /* a published lease has a store */
    char shown[VS_URI_MAX] = "";
    vs_store_public(k->uri, shown); /* other users may read the file, so do not store the password */
    if (header->incarnation == incarnation && strcmp(header->store, shown) == 0) return;
    vs_process_lock();
    header->incarnation = incarnation;
    memcpy(header->store, shown, sizeof header->store);
    vs_process_unlock();
    /* if this fails, the file keeps its old address, which is harmless */
    (void)vs_anchor_note(k->file->path, &k->file->anchor);
}

/* ------------------------------------------------------------------ the term's operations */

/* Records that the keeper is alive.  If this keeper replaced an unresponsive keeper, also takes the lock as soon as the
 * lock is free. */
static void keeping_beat(struct vs_keeping *k) {
    vs_term_beat(&k->term, 2 * k->look_us);
    if (!k->elected) k->elected = vs_lock_byte(k->file->mapping.fd, VS_BYTE_KEEPER, true);
}

/* Returns true if new processes cannot find this map.  Checks only when leaving the map costs no ids: while the store
 * replies, or while there is no lease. */
static bool is_orphan(struct vs_keeping *k) {
    const struct vs_lease *lease = &k->term.lease;
    bool is_well = !lease->published || (lease->after == VS_PH_HELD && lease->troubles == 0);
    bool stopped = atomic_load(&k->term.map->shared.stopped) != 0;
    if (!is_well || stopped) return false;
    uint64_t changes = vs_maps_changes(k->file->anchor.header.maps, k->term.boot_us);
    if (changes != k->named_at && !vs_mapping_is_named(&k->file->mapping)) return true;
    k->named_at = changes;
    return false;
}

/* Tells the store how long it will not be called, so that the store can close connections.  The store is NULL if the
 * term begins paused. */
static void lay_down(struct vs_keeping *k, int64_t now_us, int64_t until_boot_us) {
    if (k->store && k->store->leases->idle && until_boot_us >= now_us)
        k->store->leases->idle(k->store, now_us, until_boot_us);
}

/* Returns true if a connection to the store broke, or if the store's file was replaced.  The store may have been
 * restored from a backup, so the lease is then renewed early to find out.  Returns true at most once a second. */
static bool is_stirred(struct vs_keeping *k) {
    const struct vs_lease *lease = &k->term.lease;
    bool is_well = lease->published && lease->after == VS_PH_HELD && lease->troubles == 0;
    int64_t now_us = k->term.boot_us;
    assert(!is_well || k->store);
    return is_well && now_us - lease->renewed_boot_us >= VS_STORE_RETRY_US && k->store->leases->stirred &&
           k->store->leases->stirred(k->store, now_us);
}

/* Returns true if the keeper has a lease, and has nothing to do until the next renewal. */
static bool is_at_ease(const struct vs_keeping *k, bool on_want) {
    return on_want && k->term.lease.published;
}

/* Returns true if nothing is urgent: the window has minutes left, and no id was issued since the renewal.  Returns
 * false with history pacing, where the window is counted in ids and may be exhausted in a moment.  Also returns false
 * if the store can detect that it was replaced, because each nap checks that. */
static bool is_quiet(const struct vs_keeping *k, bool on_want) {
    const struct vs_lease *lease = &k->term.lease;
    return is_at_ease(k, on_want) && !lease->is_history && lease->timing.window_ms >= MINUTES_MS &&
           k->term.cursor == lease->renewed_cursor && !k->store->leases->stirred;
}

/* Begins a sleep.  Aligns its end with the other tasks of the thread, so that the thread wakes once for all of them. */
static void begin_nap(struct vs_keeping *k, int64_t now_us, int64_t until_boot_us, bool on_want) {
    note_store(k);
    lay_down(k, now_us, until_boot_us);
    k->look_us = is_quiet(k, on_want) ? QUIET_US : NAP_US;
    k->until_boot_us = until_boot_us;
    if (!is_at_ease(k, on_want)) return;
    int64_t next_us = vs_shift_look_us(&k->file->task, now_us, k->look_us);
    if (next_us <= until_boot_us)
        k->until_boot_us = vs_shift_look_us(&k->file->task, until_boot_us, k->look_us) - k->look_us;
    else if (k->look_us == QUIET_US)
        k->until_boot_us = next_us;
}

/* Returns true if the sleep is over, because its time has come, ids were requested, or the keeper must stop.  Otherwise
 * schedules the next turn and returns false. */
static bool keeping_nap(struct vs_term *term, int64_t until_boot_us, bool on_want) {
    struct vs_keeping *k = keeping_of(term);
    uint32_t want = atomic_load_explicit(&term->map->shared.want, memory_order_acquire);
    int64_t now_us = term->boot_us;
    assert(!vs_process_is_locked());
    if (!term->is_under_way) begin_nap(k, now_us, until_boot_us, on_want);
    until_boot_us = k->until_boot_us;
    k->is_orphan = k->is_orphan || is_orphan(k);
    term->is_stirred = is_stirred(k);
    bool stop = term->is_stirred || vs_file_is_to_stop(k->file) || vs_map_must_rest(term->map) || k->is_orphan;
    if (now_us >= until_boot_us || stop || vs_term_is_replaced(term) || (on_want && want != term->want_seen))
        return true;
    keeping_beat(k);
    int64_t look_us = vs_shift_look_us(&k->file->task, now_us, k->look_us);
    return vs_file_waits(k->file, want, look_us < until_boot_us ? look_us : until_boot_us);
}

static enum vs_stop asked_to_stop(struct vs_term *term) {
    struct vs_file *file = keeping_of(term)->file;
    enum vs_stop stop = atomic_load_explicit(&file->stop, memory_order_acquire);
    if (stop == VS_KEEP_ON && keeping_of(term)->is_orphan) return VS_GIVE_BACK;
    bool shared = stop == VS_GIVE_BACK && !vs_lock_byte(file->mapping.fd, VS_BYTE_HERE, true);
    return shared ? VS_HAND_OVER : stop;
}

/* Returns true if no other keeper is in a term.  Keepers in their terms have a shared lock on a byte, so an exclusive
 * lock succeeds only if there is no other keeper. */
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

/* Returns true if a handle of this process chooses worker ids. */
static bool is_judged(const struct vs_file *file) {
    vs_process_lock();
    bool judged = file->question.choosers > 0;
    vs_process_unlock();
    return judged;
}

static bool keeping_choose(struct vs_keeping *k, struct vs_event *ev) {
    struct vs_reply reply;
    size_t count;
    assert(!k->listed);
    k->store->leases->list(k->store, &k->listed, &count, &reply);
    struct vs_listing listing = {k->listed, count, reply.store_ms};
    k->asks = reply.outcome == VS_STORE_OK && is_judged(k->file);
    if (k->asks) {
        vs_question_ask(k->file, &k->term, listing);
        int64_t now_us = k->term.clock->boot_us(k->term.clock->self);
        lay_down(k, now_us, now_us);
        return false;
    }
    if (reply.outcome == VS_STORE_OK)
        vs_term_choose(&k->term, listing, ev);
    else
        vs_reply_say(&reply, "", ev->text, sizeof ev->text);
    return true;
}

/* Chooses a worker id.  Returns false, which ends the turn, while a policy has not answered yet. */
static bool do_choose(struct vs_keeping *k, struct vs_event *ev) {
    bool is_done = k->asks ? false : keeping_choose(k, ev);
    if (!is_done && !vs_question_is_over(k->file, &k->term, ev)) return false;
    k->asks = false;
    free(k->listed);
    k->listed = NULL;
    return true;
}

/* Returns how long a keeper may be in a store call before it counts as unresponsive.  A call over the network ends at
 * its deadline.  A call to a store on a disk has no deadline. */
static int64_t call_us_max(const struct vs_store *store, enum vs_do kind) {
    if (store->backend->is_local) return VS_PULSE_US;
    return (kind == VS_DO_CHOOSE ? store->list_ms_max : store->call_ms_max) * INT64_C(1000) + VS_PULSE_US / 2;
}

static struct vs_lineage lineage_of(const struct vs_keeping *k) {
    return (struct vs_lineage){
        .uri = k->uri, .name = k->term.map->header.namespace_, .clock = k->term.clock, .store = k->store};
}

/* Calls the store, and copies the reply into the event. */
static bool keeping_ask(struct vs_term *term, const struct vs_action *action, struct vs_event *ev) {
    struct vs_keeping *k = keeping_of(term);
    const struct vs_store_leases *leases = k->store->leases;
    const struct vs_lineage lineage = lineage_of(k);
    struct vs_reply reply;
    assert(!vs_process_is_locked()); /* a store call may take long */
    vs_term_beat(term, call_us_max(k->store, action->kind));
    switch (action->kind) {
    case VS_DO_CHOOSE: return do_choose(k, ev);
    case VS_DO_NS_READ: vs_lineage_ns_read(&lineage, !vs_map_incarnation(term->map), &reply); break;
    case VS_DO_NS_SWAP: vs_lineage_ns_create(&lineage, &k->file->layout, &action->ns, &reply); break;
    case VS_DO_READ: leases->read(k->store, action->worker, &reply); break;
    default:
        assert(action->kind == VS_DO_SWAP);
        leases->swap(k->store, action->worker, action->old_ver, &action->record, &reply);
        break;
    }
    ev->outcome = reply.outcome;
    ev->store_ms = reply.store_ms;
    ev->record = reply.record;
    ev->ns = reply.ns;
    vs_reply_say(&reply, "", ev->text, sizeof ev->text);
    return true;
}

static const struct vs_term_ops term_ops = {
    .ask = keeping_ask,
    .sleep = keeping_nap,
    .stop = asked_to_stop,
    .random = random_bits,
    .alone = is_alone,
};

/* ------------------------------------------------------------------ a term */

struct vs_keeping *vs_keeping_begin(struct vs_file *file) {
    struct vs_keeping *k = calloc(1, sizeof *k);
    assert(file->seat.token);
    if (!k) return NULL;
    k->term = (struct vs_term){.map = file->mapping.map,
                               .clock = file->clock,
                               .layout = &file->layout,
                               .ops = &term_ops,
                               .pid = (uint32_t)getpid(),
                               .token = file->seat.token};
    k->file = file;
    k->elected = file->seat.elected;
    return k;
}

static int keeping_open_store(struct vs_keeping *k, const char *secret, struct vesta_error *err) {
    const struct vs_map *map = k->term.map;
    struct vs_file *file = k->file;
    struct vs_store_opts opts = {.namespace_ = map->header.namespace_,
                                 .group = map->header.group,
                                 .clock = file->clock,
                                 .secret = *secret ? secret : NULL,
                                 .call_ms_max = vs_lease_preset(file->anchor.header.lease)->call_ms,
                                 .cut_us = &file->cut_us};
    if (vs_store_is_gone(k->uri, vs_map_incarnation(map)))
        return vs_fail(err, VESTA_EIO, "the store's folder %.120s is gone: restore it", k->uri + 5);
    int rc = vs_store_open(k->uri, &opts, &k->store, err);
    return rc == VESTA_OK ? check_store(k, err) : rc;
}

/* Opens the store and begins the term.  Runs after a pause, before the first step of the term. */
static int begin_term(struct vs_keeping *k, struct vesta_error *err) {
    char secret[VS_SECRET_MAX], host[64], holder[VS_HOLDER_MAX];
    vs_process_lock();
    snprintf(secret, sizeof secret, "%s", k->file->secret ? k->file->secret : "");
    k->uri = strdup(k->file->store);
    vs_process_unlock();
    int rc = k->uri ? keeping_open_store(k, secret, err) : vs_fail(err, VESTA_ENOMEM, "no memory for a keeper");
    explicit_bzero(secret, sizeof secret);
    if (rc != VESTA_OK) return rc;
    vs_host_name(host, sizeof host);
    snprintf(holder, sizeof holder, "%s pid %d", host, (int)getpid());
    k->term.is_judged = is_judged(k->file);
    k->term.is_local = k->store->backend->is_local;
    vs_term_begin(&k->term, holder, vs_lease_preset(k->file->anchor.header.lease));
    return VESTA_OK;
}

static void end_term(struct vs_keeping *k, enum vs_term_end end) {
    assert(k->store);
    const struct vs_lease *lease = &k->term.lease;
    struct vs_kept *kept = &k->file->kept;
    assert(!k->asks);
    kept->ms = end == VS_TERM_GAVE_BACK && lease->not_given_back ? lease->timing.lease_ms : 0;
    if (kept->ms) snprintf(kept->why, sizeof kept->why, "%s", lease->said);
    note_store(k); /* a program that issues one id and ends never naps, so note the store here */
    if (end == VS_TERM_USED_UP || (end == VS_TERM_GAVE_BACK && k->is_orphan)) vs_map_retire(k->term.map);
    k->store->backend->close(k->store);
}

bool vs_keeping_holds(const struct vs_keeping *k) {
    return k->term.lease.published;
}

static void free_keeping(struct vs_keeping *k) {
    assert(!k->listed);
    if (k->uri) explicit_bzero(k->uri, strlen(k->uri));
    free(k->uri);
    free(k);
}

enum vs_keeps vs_keeping_serve(struct vs_keeping *k) {
    struct vs_map *map = k->term.map;
    struct vesta_error err;
    if (!k->store) {
        if (!vs_term_rest(&k->term)) return VS_KEEPS_WAITS;
        if (begin_term(k, &err) != VESTA_OK) {
            vs_map_say(map, err.text);
            atomic_store(&map->shared.retry_boot_us, k->term.clock->boot_us(k->term.clock->self) + VS_STORE_RETRY_US);
            free_keeping(k);
            return VS_KEEPS_LEAVES;
        }
    }
    enum vs_term_end end = vs_term_serve(&k->term);
    if (end == VS_TERM_WAITS) return VS_KEEPS_WAITS;
    end_term(k, end);
    bool is_replaced = vs_term_is_replaced(&k->term);
    free_keeping(k);
    return is_replaced ? VS_KEEPS_LEAVES : VS_KEEPS_STAYS;
}
