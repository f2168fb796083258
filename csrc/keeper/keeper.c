/* keeper.c -- carries out what the lease engine decides.  Each process has one keeper per file.  A lock elects one of
 * the keepers on the host to do the work.  The other keepers wait until the elected keeper dies or stops responding.
 * They cannot rely on the lock alone, because a suspended process does not release its lock.  The election only decides
 * which process does the I/O: two active keepers are wasteful, but safe.
 *
 * A keeper is not a thread.  Its turns run in a thread that serves all files of one store (shift.c).  Its last turns
 * run in the thread that stops the keeper. */
#include "base/error.h"
#include "keeper/file.h"
#include "os/lock.h"
#include "os/process.h"
#include "os/random.h"
#include "store/store.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#define STAND_BY_US 200000 /* a process that issues a few ids and exits does not need a keeper */
#define ELECTION_US 500000 /* how often the other keepers check whether the elected one has died */
_Static_assert(VS_STORE_RETRY_US > ELECTION_US, "a keeper that failed stands back until the others have tried");
#define GIVE_BACK_US 3000000 /* maximum time that an ending process waits for the store to take the lease back */

bool vs_file_is_to_stop(const struct vs_file *file) {
    return atomic_load_explicit(&file->stop, memory_order_acquire) != VS_KEEP_ON;
}

bool vs_file_waits(struct vs_file *file, uint32_t want, int64_t until_boot_us) {
    file->task.seen = want;
    file->task.until_boot_us = until_boot_us;
    return false;
}

static int64_t keeper_now_us(const struct vs_file *file) {
    return file->clock->boot_us(file->clock->self);
}

static uint32_t want_of(const struct vs_file *file) {
    return atomic_load_explicit(&file->mapping.map->shared.want, memory_order_acquire);
}

/* ------------------------------------------------------------------ a seat */

/* Makes this process the keeper, by taking the lock or by replacing an unresponsive keeper. */
static bool take_seat(struct vs_file *file, struct vs_seat *seat) {
    struct vs_map *map = file->mapping.map;
    assert(file->mapping.fd >= 0);
    seat->elected = vs_lock_byte(file->mapping.fd, VS_BYTE_KEEPER, true);
    if (seat->elected) seat->was.token = atomic_load(&map->shared.keeper_token);
    if (!seat->elected && !vs_term_is_silent(map, &seat->was, keeper_now_us(file))) return false;
    if (vs_random(&seat->token, sizeof seat->token) != 0) {
        vs_map_say(map, VS_NO_RANDOM);
        return false;
    }
    return vs_term_take(map, seat->was.token, seat->token |= 1, (uint32_t)getpid(), keeper_now_us(file));
}

static void leave_seat(struct vs_file *file, uint64_t token) {
    atomic_compare_exchange_strong(&file->mapping.map->shared.keeper_token, &token, 0);
    /* make the lock shared again, because asked_to_stop may have made it exclusive */
    vs_lock_byte(file->mapping.fd, VS_BYTE_HERE, false);
    vs_unlock_byte(file->mapping.fd, VS_BYTE_IN_OFFICE);
    vs_unlock_byte(file->mapping.fd, VS_BYTE_KEEPER);
}

/* ------------------------------------------------------------------ a turn */

enum keeper_step { AGAIN, WAITS, OVER };

/* Returns true if no more ids are issued from this map.  Either another map replaced this map, or this map was
 * truncated (guard.c).  A truncated map is recognized by a failstop without a store in `failed_in`. */
static bool keeper_is_over(const struct vs_shared *shared) {
    uint32_t stopped = atomic_load(&shared->stopped);
    return stopped == VESTA_CLOSED || (stopped == VESTA_FAILSTOP && !atomic_load(&shared->failed_in));
}

static bool is_done_with(const struct vs_file *file) {
    return vs_file_is_to_stop(file) || keeper_is_over(&file->mapping.map->shared);
}

/* Ends the keeper's standby.  Returns false if the keeper was no longer on standby. */
static bool end_standing_by(struct vs_file *file) {
    return atomic_exchange(&file->stands_by, 0);
}

static enum keeper_step keeper_stand_by(struct vs_file *file) {
    enum vs_stop stop = atomic_load(&file->stop);
    assert(!file->has_looked);
    /* A process that only used an existing lease ends without a store call. */
    if (stop == VS_HAND_OVER) return OVER;
    if (stop == VS_KEEP_ON && atomic_load(&file->stands_by) && keeper_now_us(file) < file->until_boot_us) {
        vs_file_waits(file, want_of(file), file->until_boot_us);
        return WAITS;
    }
    end_standing_by(file);
    file->stage = VS_LOOKS;
    return AGAIN;
}

/* Waits long enough for a keeper in another process to be elected. */
static enum keeper_step stand_back(struct vs_file *file) {
    assert(!file->keeping);
    if (is_done_with(file)) return OVER;
    file->stage = VS_LOOKS;
    if (keeper_now_us(file) >= file->until_boot_us) return AGAIN;
    file->stage = VS_STANDS_BACK;
    vs_file_waits(file, want_of(file), file->until_boot_us);
    return WAITS;
}

/* Ends the seat after a check, and after the term if there was one.  Schedules the next check. */
static enum keeper_step look_back(struct vs_file *file, bool was_seated, bool stays) {
    assert(was_seated || stays); /* the keeper stands back only after a term */
    if (was_seated || file->seat.elected) leave_seat(file, file->seat.token);
    if (is_done_with(file)) return OVER;
    file->stage = stays ? VS_LOOKS : VS_STANDS_BACK;
    file->until_boot_us = keeper_now_us(file) + VS_STORE_RETRY_US;
    if (!stays || (was_seated && !vs_map_must_rest(file->mapping.map))) return AGAIN;
    vs_file_waits(file, file->want_before, vs_shift_look_us(&file->task, keeper_now_us(file), ELECTION_US));
    return WAITS;
}

static enum keeper_step keeper_look(struct vs_file *file) {
    assert(!file->keeping); /* only one term at a time */
    if (file->has_looked && is_done_with(file)) return OVER;
    file->has_looked = true;
    file->want_before = want_of(file);
    if (!take_seat(file, &file->seat)) return look_back(file, false, true);
    vs_lock_byte(file->mapping.fd, VS_BYTE_IN_OFFICE, false);
    file->keeping = vs_keeping_begin(file);
    file->stage = VS_IN_TERM;
    if (file->keeping) return AGAIN;
    vs_map_say(file->mapping.map, "no memory for a keeper");
    return look_back(file, true, false);
}

static enum keeper_step keeper_serve(struct vs_file *file) {
    assert(file->keeping);
    enum vs_keeps keeps = vs_keeping_serve(file->keeping);
    if (keeps == VS_KEEPS_WAITS) return WAITS;
    file->keeping = NULL;
    return look_back(file, true, keeps == VS_KEEPS_STAYS);
}

static enum keeper_step take_step(struct vs_file *file) {
    switch (file->stage) {
    case VS_STANDS_BY: return keeper_stand_by(file);
    case VS_LOOKS: return keeper_look(file);
    case VS_IN_TERM: return keeper_serve(file);
    case VS_STANDS_BACK: return stand_back(file);
    }
    return OVER;
}

static bool keeper_turn(struct vs_task *task) {
    struct vs_file *file = (struct vs_file *)(void *)((char *)task - offsetof(struct vs_file, task));
    enum keeper_step step;
    assert(file->keeper_in == vs_process_token());
    while ((step = take_step(file)) == AGAIN)
        ;
    task->holds = file->keeping && vs_keeping_holds(file->keeping);
    return step == WAITS;
}

/* ------------------------------------------------------------------ starting and stopping */

void vs_keeper_want(struct vs_map *map) {
    atomic_fetch_add_explicit(&map->shared.want, 1, memory_order_release);
    vs_futex_wake(&map->shared.want);
}

static bool is_kept_here(const struct vs_file *file) {
    return file->keeper_in == vs_process_token();
}

/* Resets the state, because a forked child inherits the parent's file, but not the parent's keeper. */
static void keeper_begin_anew(struct vs_file *file, enum vs_begin begin) {
    atomic_store(&file->stop, VS_KEEP_ON);
    atomic_store(&file->cut_us, 0);
    file->kept.ms = 0;
    atomic_store(&file->stands_by, begin == VS_STAND_BY);
    atomic_store(&file->question.open, 0); /* the parent's keeper may have asked a question */
    file->stage = VS_STANDS_BY;
    file->until_boot_us = keeper_now_us(file) + STAND_BY_US;
    file->has_looked = false;
    file->seat = (struct vs_seat){.token = 0};
    file->keeping = NULL;
    file->task = (struct vs_task){.turn = keeper_turn, .word = &file->mapping.map->shared.want, .clock = file->clock};
}

int vs_keeper_start(struct vs_file *file, enum vs_begin begin) {
    char address[VS_URI_MAX];
    assert(vs_process_is_locked());
    assert(file->handles > 0);
    assert(file->closing_in != vs_process_token());
    if (is_kept_here(file)) {
        bool ends = file->joining_in == vs_process_token(); /* a keeper that is ending may no longer have a shift */
        if (begin == VS_AT_ONCE && !ends && end_standing_by(file)) vs_task_kick(&file->task);
        return 0;
    }
    vs_lock_byte(file->mapping.fd, VS_BYTE_HERE, false); /* a forked child does not inherit the lock */
    keeper_begin_anew(file, begin);
    file->keeper_in = vs_process_token();
    int rc = vs_shift_enter(&file->task, vs_store_public(file->store, address));
    if (rc != 0) file->keeper_in = 0;
    return rc;
}

/* Returns true to the one thread that must end the keeper.  Returns false to other threads once the keeper has ended.
 */
static bool may_join(struct vs_file *file) {
    vs_process_lock();
    while (file->joining_in == vs_process_token()) {
        vs_process_unlock();
        usleep(1000);
        vs_process_lock();
    }
    bool mine = is_kept_here(file);
    if (mine) file->joining_in = vs_process_token();
    vs_process_unlock();
    return mine;
}

static void end_keeper(struct vs_file *file, enum vs_stop how) {
    assert(how != VS_KEEP_ON);
    assert(!vs_process_is_locked());                          /* the keeper may need the lock to end */
    int64_t wait_us = how == VS_GIVE_BACK ? GIVE_BACK_US : 0; /* 0: cancel the store call under way */
    atomic_store(&file->cut_us, keeper_now_us(file) + wait_us + 1);
    atomic_store_explicit(&file->stop, how, memory_order_release);
    vs_shift_leave(&file->task);
    assert(!file->keeping);
}

struct vs_kept vs_keeper_stop(struct vs_file *file, enum vs_stop how) {
    if (!may_join(file)) return (struct vs_kept){0};
    end_keeper(file, how);
    vs_process_lock();
    assert(is_kept_here(file)); /* no other thread has ended the keeper or started another */
    assert(file->joining_in == vs_process_token());
    struct vs_kept kept = file->kept;
    file->keeper_in = file->joining_in = 0;
    vs_process_unlock();
    return kept;
}
