/* schedule.c -- runs csrc/segment in random orders of its steps: callers that take numbers, refillers of which one
 * gives back and ends, and another server on the same counter.  In every fourth seed, the database fails over to a
 * replica that lacks the last grants, and no other server uses it.  Each is a coroutine that may be interrupted at
 * every point of the code.
 *
 *     schedule --seeds FROM..TO           1 and a message if a number was issued twice
 *     schedule --seeds FROM..TO --kill    for a mutant: 1 if no seed issues a number twice
 *
 * It is built with an offset of few bits and with four places for ranges, so that rare states are reached at once. */
#define _XOPEN_SOURCE 700
#include "segment/refill.h"
#include "generator/point.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define TAKERS 3
#define REFILLERS 3
#define CREW (TAKERS + REFILLERS + 1)
#define STACK_BYTES 65536
#define NUMBERS 4096
#define STEPS_MAX 40000
#define STEP_US 50000

enum owner { NOBODY, TAKEN, OTHERS };

static struct vs_segment seg;
static struct vs_unclaimed rests[CREW][VS_RESTS_MAX]; /* each member's own memory */
static uint64_t counter, most, dice, now_us;          /* most: the highest value of the counter */
static unsigned char owner_of[NUMBERS];
static uint64_t twice, false_halts;
static bool is_over;
static bool may_close, fails_over; /* in this seed, the words may come to their end, or the database may fail over */

static ucontext_t scheduler, crew[CREW];
static char stacks[CREW][STACK_BYTES];
static bool has_ended[CREW];
static int running = -1;

static uint64_t roll(uint64_t below) {
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (dice >> 33) % below;
}

static void yield(void) {
    swapcontext(&crew[running], &scheduler);
}

void vs_sim_point(const char *name) {
    (void)name;
    if (running >= 0 && roll(3) == 0) yield();
}

static void give(uint64_t number, enum owner to) {
    if (number >= NUMBERS) return;
    if (owner_of[number] != NOBODY && !twice) twice = number;
    owner_of[number] = (unsigned char)to;
}

/* ------------------------------------------------------------------ the counter's database */

/* A reply without a range contains values that a careless caller might use: its own range, or the next one. */
static void raise_counter(uint64_t step, struct vs_refill_event *ev) {
    static const enum vs_outcome without[] = {VS_STORE_CONFLICT, VS_STORE_REFUSED, VS_STORE_DOWN, VS_STORE_UNKNOWN};
    uint64_t luck = roll(20);
    ev->outcome = luck < 4 ? without[luck] : luck == 4 ? VS_STORE_UNKNOWN : VS_STORE_OK;
    ev->from = counter;
    ev->until = counter + step;
    if (luck >= 4) counter += step;
    if (most < counter) most = counter;
}

static void lower_counter(struct vs_unused unused, struct vs_refill_event *ev) {
    uint64_t luck = roll(6); /* 0: not done, 1: done.  The refiller gets no reply in both cases */
    bool fits = counter == unused.until;
    if (fits && luck > 0) counter = unused.from;
    ev->outcome = luck < 2 ? VS_STORE_UNKNOWN : fits ? VS_STORE_OK : VS_STORE_CONFLICT;
}

/* Sometimes fails over to a replica, which has the counter's value of some time ago. */
static void lose_grants(void) {
    uint64_t replica = counter;
    while (!is_over) {
        for (uint64_t wait = roll(30); wait > 0; wait--)
            yield();
        if (counter < replica || roll(2))
            replica = counter;
        else
            counter = replica;
    }
}

/* ------------------------------------------------------------------ the two servers */

static void take(void) {
    struct vs_taken taken;
    while (!is_over) {
        taken = (struct vs_taken){.count = 1};
        int rc = roll(2) ? vs_segment_next(&seg, &taken.first, &taken.wanted)
                         : vs_segment_take(&seg, 1 + roll(VS_TAKE_MAX), &taken);
        for (uint64_t i = 0; rc == VESTA_OK && i < taken.count; i++)
            give(taken.first + i * taken.stride, TAKEN);
        if (rc != VESTA_OK || roll(4) == 0) yield();
        if (rc == VESTA_ECLOSED) return;
    }
}

static void claim(bool ends, struct vs_refill_event *ev) {
    struct vs_unused unused[2];
    int count, self = running;
    uint64_t token = (uint64_t)self + 1;
    bool is_ours = ends ? vs_segment_close(&seg, unused, &count) : vs_segment_take_rest(&seg, unused, &count);
    for (int i = 0; is_ours && i < count; i++)
        if (!vs_rest_keep(rests[self], token, &unused[i])) (void)vs_segment_put_back(&seg, &unused[i]);
    ev->unused_count = vs_rest_claim(rests[self], token, 0, ev->unused);
}

/* Does what the refiller requests.  Its result is the next event. */
static void perform(const struct vs_refill_action *did, struct vs_refill_event *ev) {
    *ev = (struct vs_refill_event){.kind = VS_REFILL_REPLY};
    yield();
    switch (did->kind) {
    case VS_REFILL_TAKE: raise_counter(did->step, ev); break;
    case VS_REFILL_UNTAKE: lower_counter(did->unused, ev); break;
    case VS_REFILL_PUBLISH:
        ev->kind = VS_REFILL_PUBLISHED;
        ev->published = vs_segment_publish(&seg, &did->range);
        if (ev->published == VS_SEGMENT_SPENT && !(may_close && roll(2) == 0))
            ev->published = VS_NOT_NEEDED; /* with so few places, they are soon full */
        break;
    case VS_REFILL_CLOSE:
    case VS_REFILL_CLAIM:
        ev->kind = VS_REFILL_CLAIMED;
        claim(did->kind == VS_REFILL_CLOSE, ev);
        break;
    case VS_REFILL_PUT_BACK:
        ev->kind = VS_REFILL_KEPT;
        ev->is_kept = vs_segment_put_back(&seg, &did->unused);
        break;
    case VS_REFILL_RAISE: ev->outcome = VS_STORE_OK; break;
    default: ev->kind = VS_REFILL_WAKE;
    }
    yield();
}

static void refill_until(uint64_t end_us) {
    struct vs_refill refill;
    struct vs_refill_action did = {.kind = VS_REFILL_SLEEP};
    struct vs_refill_event ev;
    vs_refill_init(&refill, &(struct vs_refill_opts){.step = 2, .step_max = 4, .delta = 1, .entropy = dice});
    while (!is_over && did.kind != VS_REFILL_END) {
        perform(&did, &ev);
        ev.boot_us = (int64_t)now_us;
        ev.stop = now_us > end_us;
        ev.closed = atomic_load(&seg.cursor) & VS_CLOSED;
        ev.forgone = atomic_load(&seg.forgone);
        ev.granted = atomic_load(&seg.granted[0]);
        ev.due = vs_segment_is_due(&seg) || roll(4) == 0; /* at random too early, like a process that slept since it was
                                                             due */
        vs_refill_step(&refill, &ev, &did);
        if (did.kind == VS_REFILL_HALT) {
            false_halts += !fails_over;
            counter = most; /* an operator repairs it at once */
        }
    }
}

static void refill(void) {
    refill_until(UINT64_MAX);
}

/* Gives back the rest, and once more.  Then it is another process. */
static void refill_and_end(void) {
    while (!is_over)
        refill_until(now_us + roll(1000) * STEP_US);
}

/* Uses all granted numbers, including numbers that were put back. */
static void other_server(void) {
    while (!is_over) {
        for (uint64_t step = 1 + roll(4); step > 0; step--)
            give(counter++, OTHERS);
        for (uint64_t wait = roll(30); wait > 0; wait--)
            yield();
    }
}

static void (*const roles[])(void) = {take, refill, refill_and_end, other_server, lose_grants};

static int role_of(int member) {
    if (member < TAKERS) return 0;
    if (member < TAKERS + REFILLERS - 1) return 1;
    if (member < TAKERS + REFILLERS) return 2;
    return fails_over ? 4 : 3;
}

static void begin(int role) {
    roles[role]();
    has_ended[running] = true;
    swapcontext(&crew[running], &scheduler);
}

static void enlist(int member, int role) {
    getcontext(&crew[member]);
    crew[member].uc_stack.ss_sp = stacks[member];
    crew[member].uc_stack.ss_size = STACK_BYTES;
    has_ended[member] = false;
    makecontext(&crew[member], (void (*)(void))begin, 1, role);
}

/* ------------------------------------------------------------------ a seed */

/* Returns true if no number was issued twice.  Some members sleep for long, so that a process is interrupted at every
 * step. */
static bool is_sound(uint64_t seed) {
    int64_t sleeps[CREW] = {0};
    dice = seed * 0x9e3779b97f4a7c15u + 1;
    counter = most = 1, twice = 0, now_us = 1000000, is_over = false;
    may_close = seed % 2 == 0, fails_over = seed % 4 == 3;
    memset(owner_of, 0, sizeof owner_of);
    memset(rests, 0, sizeof rests);
    vs_segment_format(&seg);
    for (int i = 0; i < CREW; i++)
        enlist(i, role_of(i));
    for (int64_t step = 0; step < STEPS_MAX && counter < NUMBERS / 4; step++) {
        now_us += STEP_US;
        int member = (int)roll(CREW);
        if (has_ended[member] || sleeps[member] > step) continue;
        running = member;
        swapcontext(&scheduler, &crew[member]);
        running = -1;
        if (roll(60) == 0) sleeps[member] = step + (int64_t)roll(1500);
    }
    is_over = true; /* abandons the other members where they are, as after kill -9 */
    return !twice;
}

int main(int argc, char **argv) {
    unsigned long long from = 1, to = 0, given = 0;
    bool kill = argc > 3 && strcmp(argv[3], "--kill") == 0;
    if (argc < 3 || strcmp(argv[1], "--seeds") != 0 || sscanf(argv[2], "%llu..%llu", &from, &to) != 2) {
        fprintf(stderr, "usage: schedule --seeds FROM..TO [--kill]\n");
        return 2;
    }
    for (unsigned long long seed = from; seed <= to; seed++) {
        bool sound = is_sound(seed);
        for (size_t i = 0; i < NUMBERS; i++)
            given += owner_of[i] == TAKEN;
        if (sound) continue;
        printf("seed %llu: number %llu was given twice\n", seed, (unsigned long long)twice);
        return kill ? 0 : 1;
    }
    printf("%llu seeds, %llu numbers taken, none twice\n", to - from + 1, given);
    if (false_halts) printf("%llu times the counter was said to have gone back\n", (unsigned long long)false_halts);
    return kill || given == 0 || false_halts;
}
