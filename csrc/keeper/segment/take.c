/* take.c -- takes numbers from a segment, and waits for them.  A taker never calls a database.  Once per range, it
 * wakes the thread that calls the database. */
#include "keeper/segment/counter.h"
#include "keeper/file.h"
#include "os/clock.h"
#include "os/lock.h"
#include "os/process.h"
#include "segment/next.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#define AGAIN_US 5000 /* sleep during a pause, because the time of a database's reply is unknown */
/* maximum sleep, because the process that fetched a range may be killed before it wakes the others */
#define SLICE_US 250000
#define CLOCK_US 1000 /* maximum sleep with a clock other than the system's */

/* ------------------------------------------------------------------ waking threads */

static bool is_handed(const struct vs_segment_part *part) {
    return atomic_load(&part->is_handed) && part->database->runs_in == vs_process_token();
}

static void hand_over(struct vesta_segment *seg) {
    assert(vs_process_is_locked());
    if (vs_words_are_closed(atomic_load(&seg->words)) && vs_segment_follow(seg, NULL) != VESTA_OK) return;
    /* a forked child does not inherit this lock */
    vs_lock_byte(atomic_load(&seg->live)->mapping.fd, VS_BYTE_HERE, false);
    for (uint32_t i = 0; i < seg->parts_count && seg->keeps; i++)
        if (vs_database_start(seg->part[i].database) == 0 && !is_handed(&seg->part[i]))
            (void)vs_database_hand_over(&seg->part[i], VS_LEAVE_NOT);
}

/* Wakes the threads.  `waits` is true if the caller got no number.  If the caller got a number, a thread that polls
 * anyway (`watches`) is not woken. */
static void seg_kick(struct vesta_segment *seg, bool waits) {
    bool is_ready = !vs_words_are_closed(atomic_load(&seg->words));
    for (uint32_t i = 0; i < seg->parts_count; i++)
        is_ready = is_ready && (!seg->keeps || is_handed(&seg->part[i]));
    if (!is_ready && vs_process_trylock()) {
        hand_over(seg);
        vs_process_unlock();
    }
    for (uint32_t i = 0; i < seg->parts_count; i++) {
        struct vs_segment_part *part = &seg->part[i];
        if (!is_handed(part)) continue;
        bool is_known = atomic_exchange(&part->wanted, 1), watches = atomic_load(&part->watches);
        if (watches ? waits : !is_known) vs_database_poke(part->database);
    }
}

void vs_segment_kick(struct vesta_segment *seg) {
    seg_kick(seg, true);
}

/* ------------------------------------------------------------------ taking */

static enum vesta_why why_none(const struct vesta_segment *seg, const struct vs_segment *words) {
    uint32_t all = (UINT32_C(1) << seg->parts_count) - 1;
    assert(seg->parts_count > 0 && seg->parts_count <= VS_DATABASES_MAX);
    return (atomic_load(&words->stopped) & all) == all ? VESTA_FAILSTOP : VESTA_RANGE;
}

/* Makes the thread call `ready` when there are numbers again.  `told` is the futex's value before the caller found no
 * number. */
static void seg_listen(struct vesta_segment *seg, uint32_t told) {
    uint64_t none = 0; /* do not replace an older value that another caller has set */
    if (seg->ready) atomic_compare_exchange_strong(&seg->awaits, &none, UINT64_C(1) << 32 | told);
}

/* Takes numbers.  Reads `told` first, so that a later publish ends a wait that begins with this value. */
static int take_or_pause(struct vesta_segment *seg, uint64_t n, struct vs_taken *taken, uint32_t *told,
                         struct vesta_pause *pause) {
    struct vs_segment *words = atomic_load(&seg->words);
    *told = atomic_load(&words->told);
    int rc = seg->strict ? VESTA_EPAUSE : vs_segment_take(words, n, taken);
    if (rc == VESTA_OK) {
        if (taken->wanted) seg_kick(seg, false);
        return VESTA_OK;
    }
    enum vesta_why why = rc == VESTA_EPAUSE ? why_none(seg, words) : VESTA_RANGE;
    *pause = (struct vesta_pause){.why = why, .wait_us = why == VESTA_FAILSTOP ? -1 : AGAIN_US};
    if (seg->strict) return VESTA_EPAUSE; /* the caller must draw a ticket */
    seg_listen(seg, *told);
    vs_segment_kick(seg);
    return VESTA_EPAUSE;
}

__attribute__((cold, noinline)) static int next_on(struct vesta_segment *seg, struct vs_segment *words, uint64_t at,
                                                   uint64_t *number, struct vesta_pause *pause) {
    struct vs_taken taken;
    uint32_t told;
    bool wanted = false;
    int rc = vs_segment_next_on(words, at, number, &wanted);
    if (rc == VESTA_OK) {
        if (wanted) seg_kick(seg, false);
        return VESTA_OK;
    }
    rc = take_or_pause(seg, 1, &taken, &told, pause);
    if (rc == VESTA_OK) *number = taken.first;
    return rc;
}

int vesta_segment_next(struct vesta_segment *seg, uint64_t *number, struct vesta_pause *pause) {
    struct vs_segment *words = atomic_load(&seg->words);
    uint64_t at;
    if (__builtin_expect(vs_segment_try_next(words, number, &at), 1)) return VESTA_OK;
    return next_on(seg, words, at, number, pause);
}

int vesta_segment_next_n(struct vesta_segment *seg, uint64_t n, struct vesta_numbers *out, struct vesta_pause *pause) {
    struct vs_taken taken;
    uint32_t told;
    assert(n > 0);
    int rc = take_or_pause(seg, n, &taken, &told, pause);
    if (rc == VESTA_OK) *out = (struct vesta_numbers){taken.first, taken.count, taken.stride};
    return rc;
}

/* ------------------------------------------------------------------ waiting */

struct waiting {
    int64_t us_max, until_us; /* both are 0 until the first pause */
};

/* Sleeps for a while, or until `told` has changed.  Returns false if the waiting time is over, or if waiting does not
 * help. */
static bool seg_wait_out(struct vesta_segment *seg, const struct vesta_pause *pause, uint32_t told,
                         struct waiting *waiting) {
    const struct vesta_clock *clock = seg->clock;
    struct vs_segment *words = atomic_load(&seg->words);
    int64_t now_us = clock->boot_us(clock->self);
    assert(pause->why == VESTA_RANGE || pause->why == VESTA_FAILSTOP);
    if (waiting->until_us == 0 && __builtin_add_overflow(now_us, waiting->us_max, &waiting->until_us))
        waiting->until_us = INT64_MAX;
    int64_t left_us = waiting->until_us - now_us;
    if (pause->why == VESTA_FAILSTOP || left_us <= 0) return false;
    if (clock == vs_clock_system() && !vs_words_are_closed(words))
        vs_futex_wait(vs_segment_told(seg), told, left_us < SLICE_US ? left_us : SLICE_US);
    else /* the clock is not the system's, or the map is being replaced */
        clock->sleep_us(clock->self, left_us < CLOCK_US ? left_us : CLOCK_US);
    return true;
}

static uint64_t draw_ticket(struct vesta_segment *seg, uint64_t n) {
    uint64_t ticket = vs_strict_ask(seg, n);
    vs_segment_kick(seg);
    return ticket;
}

/* Draws a ticket, and draws another one each time a ticket fails. */
static int strict_wait(struct vesta_segment *seg, uint64_t n, struct vs_taken *taken, struct waiting *waiting,
                       struct vesta_pause *pause) {
    enum vs_segment_answer answer = VS_FAILED;
    uint64_t ticket = 0;
    uint32_t told;
    do {
        struct vs_segment *words = atomic_load(&seg->words);
        enum vesta_why why = why_none(seg, words);
        *pause = (struct vesta_pause){.why = why, .wait_us = why == VESTA_FAILSTOP ? -1 : AGAIN_US};
        if (why == VESTA_FAILSTOP || waiting->us_max <= 0) return VESTA_EPAUSE; /* another ticket would be wasted */
        if (answer == VS_FAILED) ticket = draw_ticket(seg, n);
        told = atomic_load(vs_segment_told(seg));
        answer = vs_strict_answer(seg, ticket, &taken->first);
        if (answer == VS_ANSWERED) {
            *taken = (struct vs_taken){.first = taken->first, .count = n, .stride = 1};
            return VESTA_OK;
        }
    } while (answer == VS_FAILED || seg_wait_out(seg, pause, told, waiting));
    return VESTA_EPAUSE;
}

static int take_wait(struct vesta_segment *seg, uint64_t n, struct vs_taken *taken, struct waiting *waiting,
                     struct vesta_pause *pause) {
    uint32_t told;
    if (seg->strict) return strict_wait(seg, n, taken, waiting, pause);
    while (take_or_pause(seg, n, taken, &told, pause) != VESTA_OK)
        if (!seg_wait_out(seg, pause, told, waiting)) return VESTA_EPAUSE;
    assert(taken->count > 0);
    return VESTA_OK;
}

int vesta_segment_next_wait(struct vesta_segment *seg, uint64_t *number, int64_t wait_us_max,
                            struct vesta_pause *pause) {
    struct vs_taken taken;
    struct waiting waiting = {.us_max = wait_us_max};
    if (vesta_segment_next(seg, number, pause) == VESTA_OK) return VESTA_OK;
    int rc = take_wait(seg, 1, &taken, &waiting, pause);
    if (rc == VESTA_OK) *number = taken.first;
    return rc;
}

/* Returns true if the current range or a future one can contain n numbers.  If not, taking numbers would only waste
 * them. */
static bool may_hold(struct vesta_segment *seg, uint64_t n) {
    struct vs_segment_state state;
    vs_segment_get_state(atomic_load(&seg->words), &state);
    bool is_empty = seg->strict || (state.left == 0 && state.next_left == 0);
    return is_empty || state.count >= n || state.next_left >= n;
}

int vesta_segment_batch_wait(struct vesta_segment *seg, uint64_t n, struct vesta_numbers *out, int64_t wait_us_max,
                             struct vesta_pause *pause) {
    struct vs_taken taken = {0};
    struct waiting waiting = {.us_max = wait_us_max};
    assert(n > 0);
    *pause = (struct vesta_pause){.why = VESTA_RANGE, .wait_us = -1};
    if (n > VESTA_NUMBERS_MAX) return VESTA_EFULL;
    while (taken.count < n) {
        if (!may_hold(seg, n)) return VESTA_EFULL;
        int rc = take_wait(seg, n, &taken, &waiting, pause);
        if (rc != VESTA_OK) return rc;
    }
    *out = (struct vesta_numbers){taken.first, taken.count, taken.stride};
    return VESTA_OK;
}

/* ------------------------------------------------------------------ asking, for callers that cannot wait */

int vesta_segment_ask(struct vesta_segment *seg, uint64_t n, uint64_t *ticket) {
    if (!seg->strict) return VESTA_EOPTION;
    if (n < 1 || n > VESTA_NUMBERS_MAX) return VESTA_EFULL;
    *ticket = draw_ticket(seg, n);
    return VESTA_OK;
}

int vesta_segment_answer(struct vesta_segment *seg, uint64_t ticket, uint64_t n, struct vesta_numbers *out,
                         struct vesta_pause *pause) {
    if (!seg->strict) return VESTA_EOPTION;
    enum vesta_why why = why_none(seg, atomic_load(&seg->words));
    uint32_t told = atomic_load(vs_segment_told(seg));
    uint64_t first;
    enum vs_segment_answer answer = vs_strict_answer(seg, ticket, &first);
    *pause = (struct vesta_pause){.why = why, .wait_us = why == VESTA_FAILSTOP ? -1 : AGAIN_US};
    if (answer == VS_FAILED) return VESTA_ENOTNOW;
    if (answer == VS_ANSWERED) {
        *out = (struct vesta_numbers){first, n, 1};
        return VESTA_OK;
    }
    seg_listen(seg, told);
    /* kick again: a forked child has no thread yet, and the first kick may have done nothing because the lock was taken
     */
    vs_segment_kick(seg);
    return VESTA_EPAUSE;
}

int vesta_segment_await(struct vesta_segment *seg, uint64_t ticket, int64_t wait_us_max) {
    struct vesta_pause pause = {.why = VESTA_RANGE};
    struct waiting waiting = {.us_max = wait_us_max};
    uint64_t first;
    if (!seg->strict) return VESTA_EOPTION;
    for (;;) {
        uint32_t told = atomic_load(vs_segment_told(seg));
        if (vs_strict_answer(seg, ticket, &first) != VS_NOT_YET) return VESTA_OK;
        vs_segment_kick(seg);
        pause.why = why_none(seg, atomic_load(&seg->words));
        if (!seg_wait_out(seg, &pause, told, &waiting)) return VESTA_EPAUSE;
    }
}

/* ------------------------------------------------------------------ notification and texts */

void vesta_segment_on_ready(struct vesta_segment *seg, void (*ready)(void *self), void *self) {
    vs_process_lock(); /* `ready` is called with this lock held, so this waits until a running call has ended */
    seg->ready = ready;
    seg->ready_self = self;
    vs_process_unlock();
}

/* Writes a message about the first database that was rolled back, with the value that it granted again, and the
 * expected value. */
static bool stopped_text(struct vesta_segment *seg, char *buf, size_t size) {
    const struct vs_segment *words = atomic_load(&seg->words);
    for (uint32_t i = 0; i < seg->parts_count; i++) {
        if (!(atomic_load(&words->stopped) >> i & 1)) continue;
        snprintf(buf, size,
                 "the counter '%s' of %.120s went back: it grants %" PRIu64 " again, and this host was granted all "
                 "below %" PRIu64
                 ": set it above all numbers that any host was granted, then: vesta segments resume %s",
                 seg->tag, seg->part[i].shown, atomic_load(&words->lowered[i]), vs_segment_granted(words, i), seg->tag);
        return true;
    }
    return false;
}

void vesta_segment_pause_text(struct vesta_segment *seg, const struct vesta_pause *pause, char *buf, size_t size) {
    char said[VS_SAID_MAX] = "";
    if (size) buf[0] = '\0';
    if (pause->why == VESTA_FAILSTOP && stopped_text(seg, buf, size)) return;
    for (uint32_t i = 0; i < seg->parts_count && !said[0]; i++)
        vs_part_said(&seg->part[i], said);
    const char *where = seg->keeps ? "" : ". Another process of this host must fetch it: vesta serve";
    snprintf(buf, size, "no range of '%s' is available%s%s%s", seg->tag, said[0] ? ": " : "", said, where);
}
