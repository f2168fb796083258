/* schedule.c -- csrc/segment under every order of its steps that a die can think of: takers, refillers, a closer, and
 * another server on the same counter, each a coroutine that may lose the processor at every point of the code.
 *
 *     schedule --seeds FROM..TO           1 and a sentence where a number was given twice
 *     schedule --seeds FROM..TO --kill    of a mutant: 1 where no seed gives a number twice
 *
 * It is built with an offset of few bits, and two places for ranges, so that what takes years is there in a moment.
 */
#define _XOPEN_SOURCE 700
#include "segment/segment.h"
#include "generator/point.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define TAKERS 3
#define REFILLERS 3
#define CREW (TAKERS + REFILLERS + 2)
#define STACK_BYTES 65536
#define NUMBERS 4096
#define STEPS_MAX 40000

enum owner { NOBODY, TAKEN, OTHERS };

static struct vs_segment seg;
static uint64_t counter, dice;
static unsigned char owner_of[NUMBERS];
static uint64_t twice;
static bool is_over;

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

static uint64_t raise_counter(uint64_t step) {
    uint64_t from = counter;
    counter += step;
    return from;
}

static void lower_counter(uint64_t from, uint64_t until) {
    if (counter == until) counter = from;
}

/* ------------------------------------------------------------------ who does what */

static void take(void) {
    struct vs_taken taken;
    while (!is_over) {
        int rc = vs_segment_take(&seg, 1 + roll(VS_TAKE_MAX), &taken);
        for (uint64_t i = 0; i < taken.count; i++)
            give(taken.first + i * taken.stride, TAKEN);
        if (rc != VESTA_OK || roll(4) == 0) yield();
        if (rc == VESTA_ECLOSED) return;
    }
}

static void refill(void) {
    while (!is_over) {
        struct vs_range range;
        uint64_t step = 2 + roll(3), from;
        if (!vs_segment_is_due(&seg) && roll(4)) { /* at times in vain: as one that slept since it was due */
            yield();
            continue;
        }
        from = raise_counter(step);
        yield();
        if (vs_range_of(from, from + step, 1, 0, &range)) abort();
        enum vs_published rc = vs_segment_publish(&seg, &range);
        if (rc != VS_PUBLISHED) lower_counter(from, from + step);
        if (rc == VS_SEGMENT_CLOSED) return;
        if (roll(4) == 0) yield();
    }
}

static void close_once(void) {
    struct vs_unused unused[2];
    int count = 0;
    for (uint64_t wait = roll(400); wait > 0 && !is_over; wait--)
        yield();
    if (!vs_segment_close(&seg, unused, &count)) abort();
    for (int i = 0; i < count; i++) {
        yield();
        lower_counter(unused[i].from, unused[i].until);
    }
}

/* Uses all that it is granted: what was given back to it, too. */
static void other_server(void) {
    while (!is_over) {
        uint64_t step = 1 + roll(3), from = raise_counter(step);
        for (uint64_t i = 0; i < step; i++)
            give(from + i, OTHERS);
        for (uint64_t wait = roll(30); wait > 0; wait--)
            yield();
    }
}

static void (*const roles[])(void) = {take, refill, close_once, other_server};

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

/* True if no number was given twice.  Some members sleep for long: every step is one that somebody was stopped in. */
static bool is_sound(uint64_t seed) {
    int64_t sleeps[CREW] = {0};
    dice = seed * 0x9e3779b97f4a7c15u + 1;
    counter = 1, twice = 0, is_over = false;
    memset(owner_of, 0, sizeof owner_of);
    vs_segment_format(&seg, 0);
    for (int i = 0; i < CREW; i++)
        enlist(i, i < TAKERS ? 0 : i < TAKERS + REFILLERS ? 1 : i - TAKERS - REFILLERS + 2);
    for (int64_t step = 0; step < STEPS_MAX && counter < NUMBERS / 4; step++) {
        int member = (int)roll(CREW);
        if (has_ended[member] || sleeps[member] > step) continue;
        running = member;
        swapcontext(&scheduler, &crew[member]);
        running = -1;
        if (roll(60) == 0) sleeps[member] = step + (int64_t)roll(1500);
    }
    is_over = true; /* the rest of the crew is left where it stands, as after kill -9 */
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
    return kill || given == 0;
}
