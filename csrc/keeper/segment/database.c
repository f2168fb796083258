/* database.c -- the thread of a database in this process.  The thread fetches ranges for all segments that have a part
 * in the database, one call at a time, and sleeps while no range is due.  The first caller that needs a range starts
 * the thread.  A forked child starts another thread with another connection. */
#include "keeper/segment/counter.h"
#include "os/lock.h"
#include "os/process.h"
#include "os/thread.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAP_US ((int64_t)1000000)  /* maximum sleep, so that the thread notices a stop even if a wake-up is lost */
#define LISTEN_US ((int64_t)10000) /* poll interval for ranges that other processes publish, while a caller waits */
/* parts that are due within this time run now, so that many idle segments wake the thread rarely */
#define GRAIN_US ((int64_t)5000)
#define REST_US ((int64_t)100000)  /* how long segments do not call a database that did not reply */
#define OPEN_US ((int64_t)1000000) /* interval between attempts to open a store */

static struct vs_database *databases; /* databases of this process, guarded by the process lock */

/* Variables of one database's thread. */
struct fetching {
    struct vs_database *database;
    struct vs_store *store; /* NULL while the store is not open */
    int64_t open_at_us;     /* boot time of the next attempt to open the store */
    int64_t rest_until_us;
    char why[VS_SAID_MAX]; /* why the store could not be opened */
};

static int64_t db_now_us(const struct vs_database *database) {
    return database->clock->boot_us(database->clock->self);
}

/* ------------------------------------------------------------------ the thread */

static void db_open_store(struct fetching *f) {
    const struct vs_database *db = f->database;
    struct vs_store_opts opts = {.namespace_ = "default",
                                 .group = db->group,
                                 .clock = db->clock,
                                 .secret = db->secret[0] ? db->secret : NULL,
                                 .cut_us = &db->cut_us};
    struct vesta_error err;
    assert(!f->store);
    f->why[0] = '\0';
    if (vs_store_open(db->uri, &opts, &f->store, &err) == VESTA_OK && f->store->counters) return;
    if (f->store)
        f->store->backend->close(f->store),
            snprintf(f->why, sizeof f->why, "the store has no counters: use another store");
    else
        snprintf(f->why, sizeof f->why, "%.*s", VS_SAID_MAX - 1, err.text);
    f->store = NULL;
    f->open_at_us = db_now_us(db) + OPEN_US;
}

/* Returns the store, or NULL if it must not be called now. */
static struct vs_store *db_store_of(struct fetching *f) {
    int64_t now = db_now_us(f->database);
    if (now < f->rest_until_us) return NULL;
    if (!f->store && now >= f->open_at_us) db_open_store(f);
    return f->store;
}

static uint64_t db_silences(const struct vs_segment_part *part) {
    return atomic_load(&part->answers[VS_STORE_DOWN]) + atomic_load(&part->answers[VS_STORE_UNKNOWN]);
}

/* Moves the part to a new map.  The refiller has ended because the map was closed, not because the part must be
 * released. */
static void go_on(struct vs_segment_part *part) {
    assert(part->refill.phase == VS_RF_ENDED);
    vs_process_lock();
    (void)vs_segment_follow(part->segment, NULL); /* if it fails, the next run tries again */
    vs_process_unlock();
    vs_part_reset(part);
    part->due_us = db_now_us(part->database) + OPEN_US;
}

/* Runs a part.  Returns false if the thread must release the part. */
static bool db_serve(struct fetching *f, struct vs_segment_part *part) {
    uint64_t before = db_silences(part);
    if (atomic_load(&part->leave) == VS_LEAVE_QUIETLY) return false;
    struct vs_store *store = db_store_of(f);
    bool goes_on = vs_part_run(part, store, f->why);
    if (store && db_silences(part) != before) f->rest_until_us = db_now_us(f->database) + REST_US;
    if (goes_on) return true;
    if (atomic_load(&part->leave) != VS_LEAVE_NOT) return false;
    go_on(part);
    return true;
}

/* Releases the part.  The thread must not use the part after this, because the part may be freed.  The wake-up may then
 * hit an unrelated futex, which is harmless. */
static void let_go(struct vs_segment_part *part) {
    atomic_store(&part->is_handed, false);
    atomic_fetch_add(&part->left, 1);
    vs_futex_wake(&part->left);
}

static void db_welcome(struct vs_database *db) {
    struct vs_segment_part *part = atomic_exchange(&db->handed_over, NULL), *next;
    for (; part; part = next) {
        assert(part->database == db);
        assert(atomic_load(&part->is_handed));
        next = part->next;
        part->next = db->parts;
        db->parts = part;
    }
}

/* Calls the segment's `ready` if a caller got a pause and there may be numbers again.  Returns false to be called again
 * soon. */
static bool db_tell(struct vesta_segment *seg) {
    uint64_t awaits = atomic_load(&seg->awaits);
    if (!awaits) return true;
    bool is_closed = vs_words_are_closed(atomic_load(&seg->words));
    if ((uint32_t)awaits == atomic_load(vs_segment_told(seg)) && !is_closed) return false;
    if (!vs_process_trylock()) return false;
    atomic_store(&seg->awaits, 0); /* clear this before `ready`, because the woken caller may get a pause again */
    if (seg->ready) seg->ready(seg->ready_self);
    vs_process_unlock();
    return true;
}

static bool db_is_due(const struct vs_segment_part *part, int64_t now) {
    return part->due_us <= now + GRAIN_US || atomic_load(&part->leave) != VS_LEAVE_NOT ||
           (part->on_want && atomic_load(&part->wanted));
}

/* Runs all due parts.  Returns the boot time at which the next one is due. */
static int64_t db_go_round(struct fetching *f) {
    struct vs_database *db = f->database;
    int64_t until_us = db_now_us(db) + NAP_US;
    db_welcome(db);
    for (struct vs_segment_part **at = &db->parts, *part; (part = *at);) {
        if (db_is_due(part, db_now_us(db)) && !db_serve(f, part)) {
            *at = part->next;
            let_go(part);
            continue;
        }
        if (part->due_us < until_us) until_us = part->due_us;
        if (!db_tell(part->segment)) until_us = db_now_us(db) + LISTEN_US;
        at = &part->next;
    }
    return until_us;
}

static void *database_main(void *arg) {
    struct fetching f = {.database = arg};
    struct vs_database *db = f.database;
    while (!atomic_load(&db->stop)) {
        uint32_t work = atomic_load(&db->work);
        int64_t left_us = db_go_round(&f) - db_now_us(db);
        if (left_us > 0) vs_futex_wait(&db->work, work, left_us);
    }
    if (f.store) f.store->backend->close(f.store);
    assert(!db->parts); /* vs_database_leave is called only after the thread has released all parts */
    return NULL;
}

/* ------------------------------------------------------------------ its life */

void vs_database_poke(struct vs_database *database) {
    atomic_fetch_add(&database->work, 1);
    vs_futex_wake(&database->work);
}

struct vs_leaving vs_database_hand_over(struct vs_segment_part *part, enum vs_leave how) {
    struct vs_database *db = part->database;
    struct vs_leaving leaving = {true, atomic_load(&part->left)};
    assert(vs_process_is_locked());
    assert(db->runs_in == vs_process_token());
    assert(!atomic_load(&part->is_handed));
    vs_part_reset(part);
    atomic_store(&part->leave, how);
    atomic_store(&part->is_handed, true);
    struct vs_segment_part *first = atomic_load(&db->handed_over);
    do
        part->next = first;
    while (!atomic_compare_exchange_weak(&db->handed_over, &first, part));
    vs_database_poke(db);
    return leaving;
}

/* Resets the state that a forked child inherited from its parent. */
static void db_begin_anew(struct vs_database *db) {
    assert(vs_process_is_locked());
    atomic_store(&db->stop, 0);
    atomic_store(&db->cut_us, 0);
    atomic_store(&db->handed_over, NULL);
    db->parts = NULL;
    for (struct vesta_segment *seg = vs_segments_first(); seg; seg = seg->next)
        for (uint32_t i = 0; i < seg->parts_count; i++)
            if (seg->part[i].database == db) atomic_store(&seg->part[i].is_handed, false);
}

int vs_database_start(struct vs_database *db) {
    assert(vs_process_is_locked());
    assert(db->users > 0);
    if (db->runs_in == vs_process_token()) return 0;
    db->runs_in = vs_process_token();
    db_begin_anew(db);
    int rc = vs_thread_start(&db->thread, database_main, db);
    if (rc != 0) db->runs_in = 0;
    return rc;
}

struct vs_database *vs_database_enter(const char *uri, const char *secret, int group, const struct vesta_clock *clock) {
    struct vs_database *db = databases;
    assert(vs_process_is_locked());
    for (; db; db = db->next)
        if (strcmp(db->uri, uri) == 0 && strcmp(db->secret, secret ? secret : "") == 0 && db->group == group &&
            db->clock == clock)
            break;
    if (!db) {
        if (!(db = calloc(1, sizeof *db))) return NULL;
        snprintf(db->uri, sizeof db->uri, "%s", uri);
        if (secret) snprintf(db->secret, sizeof db->secret, "%s", secret);
        db->group = group;
        db->clock = clock;
        db->next = databases;
        databases = db;
    }
    db->users++;
    return db;
}

void vs_database_leave(struct vs_database *db) {
    vs_process_lock();
    assert(db->users > 0);
    bool last = --db->users == 0, runs = db->runs_in == vs_process_token();
    struct vs_database **at = &databases;
    for (; last && *at != db; at = &(*at)->next)
        assert(*at);
    if (last) *at = db->next; /* after this, no other thread can find the database */
    vs_process_unlock();
    if (!last) return;
    if (runs) {
        atomic_store(&db->stop, 1);
        atomic_store(&db->cut_us, 1);
        vs_database_poke(db);
        pthread_join(db->thread, NULL);
    }
    explicit_bzero(db->uri, sizeof db->uri);
    explicit_bzero(db->secret, sizeof db->secret);
    free(db);
}

struct vs_leaving vs_part_leave(struct vs_segment_part *part, enum vs_leave how) {
    struct vs_leaving leaving = {false, atomic_load(&part->left)};
    assert(how != VS_LEAVE_NOT);
    assert(vs_process_is_locked());
    leaving.is_awaited =
        part->database && part->database->runs_in == vs_process_token() && atomic_load(&part->is_handed);
    if (!leaving.is_awaited) return leaving;
    atomic_store(&part->leave, how);
    vs_database_poke(part->database);
    return leaving;
}

void vs_part_await(struct vs_segment_part *part, const struct vs_leaving *leaving) {
    assert(!vs_process_is_locked()); /* the thread may need the lock to release the part */
    while (leaving->is_awaited && atomic_load(&part->left) == leaving->left)
        vs_futex_wait(&part->left, leaving->left, NAP_US);
}
