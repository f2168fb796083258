/* simulate.c -- a day of all issuers in virtual time: demand that rises and falls, restarts, numbers that are fenced
 * for a lease, renewals.  And the busiest issuer's busiest seconds, for which the generator itself gives the ids.  The
 * same seed gives the same day.
 *
 * Restarts are followed through the whole day.  Demand and renewals are looked at for some seconds of every ten
 * minutes, issuer by issuer. */
#include "cli/plan/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DAY_S 86400
#define SLOT_S 600
#define LOOK_S 5 /* of every slot */
#define CORE_S 3 /* the generator's own seconds, */
#define CORE_IDS_MAX 2000000
#define PEAK_HOUR 14
#define NIGHT 0.3 /* of the average is asked for at least */

struct day {
    const struct vs_need *need;
    const struct vs_fit *fit;
    const struct vs_lease_timing *timing;
    struct vs_simulated *out;
    uint64_t chance;    /* the generator of chances: a word */
    double steepness;   /* of the day's curve */
    float *due;         /* of each issuer: when it renews next, in seconds from the slot's begin */
    double *fence_ends; /* a ring of numbers that are fenced, in the order in which they become free */
    size_t fence_room, fence_first, fenced;
    uint64_t waiting;              /* issuers without a number */
    double starts[DAY_S / SLOT_S]; /* requests a second by issuers that start */
};

/* ------------------------------------------------------------------ chance */

/* splitmix64: every seed is as good as another. */
static uint64_t draw(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* In (0, 1). */
static double fraction(uint64_t *state) {
    return ((double)(draw(state) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *state) {
    double radius = sqrt(-2 * log(fraction(state)));
    return radius * cos(2 * M_PI * fraction(state));
}

/* How many come where `mean` do on average; `none` is exp(-mean). */
static uint64_t poisson(uint64_t *state, double mean, double none) {
    if (mean > 30) return (uint64_t)fmax(0, floor(mean + sqrt(mean) * normal(state) + 0.5));
    uint64_t n = 0;
    for (double left = fraction(state); left > none; n++)
        left *= fraction(state);
    return n;
}

/* ------------------------------------------------------------------ demand */

/* Ids a second: from NIGHT of the average to the peak, the steeper the further the average lies below the peak. */
static double demand(const struct vs_need *need, double steepness, double second) {
    double wave = (1 + cos(2 * M_PI * (second / DAY_S - PEAK_HOUR / 24.0))) / 2;
    return NIGHT * need->rate + (need->peak - NIGHT * need->rate) * pow(wave, steepness);
}

static double mean_of(const struct vs_need *need, double steepness) {
    double sum = 0;
    for (int i = 0; i < 1440; i++)
        sum += demand(need, steepness, i * 60);
    return sum / 1440;
}

static double steepness_of(const struct vs_need *need) {
    double low = 0, high = 10000;
    for (int i = 0; i < 40; i++) {
        double middle = (low + high) / 2;
        if (mean_of(need, middle) > need->rate)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* ------------------------------------------------------------------ restarts, and numbers that are fenced */

static void free_fenced(struct day *day, double now_s) {
    while (day->fenced && day->fence_ends[day->fence_first] <= now_s) {
        day->fence_first = (day->fence_first + 1) % day->fence_room;
        day->fenced--;
    }
}

/* One ends, and another comes in its place, with a number of its own: if there is one. */
static void restart(struct day *day, double now_s) {
    uint64_t held = day->need->issuers - day->waiting;
    day->out->restarts++;
    day->starts[(int)now_s / SLOT_S] += 3.0 / SLOT_S;
    if (day->need->is_given || held == 0) return;
    if (day->fenced < day->fence_room) {
        size_t at = (day->fence_first + day->fenced++) % day->fence_room;
        day->fence_ends[at] = now_s + (double)day->timing->lease_ms / 1000;
    }
    day->waiting++;
}

/* Who waits takes what has become free. */
static void take_free(struct day *day) {
    uint64_t held = day->need->issuers - day->waiting, used = held + day->fenced;
    uint64_t left = day->fit->numbers > used ? day->fit->numbers - used : 0;
    day->waiting -= left < day->waiting ? left : day->waiting;
    used = day->need->issuers - day->waiting + day->fenced;
    if (used > day->out->numbers_max) day->out->numbers_max = used;
    if (day->waiting > day->out->waiting_max) day->out->waiting_max = day->waiting;
}

static void run_restarts(struct day *day, int from_s, int until_s) {
    double mean = (double)day->need->issuers * (double)day->need->restarts / DAY_S, none = exp(-mean);
    for (int second = from_s; second < until_s; second++) {
        free_fenced(day, second);
        take_free(day);
        uint64_t ended = mean > 0 ? poisson(&day->chance, mean, none) : 0;
        for (uint64_t i = 0; i < ended; i++)
            restart(day, second);
        take_free(day);
    }
}

/* ------------------------------------------------------------------ some seconds of a slot */

/* One issuer's second: what it gives, and what it asks the store. */
static uint64_t live(struct day *day, uint64_t issuer, double mean, double none, int second) {
    uint64_t asked = poisson(&day->chance, mean, none);
    double room = day->fit->capacity, given = fmin((double)asked, room), unit_mean = mean * day->fit->unit_s;
    day->out->ids += given;
    day->out->refused += (double)asked - given;
    if (unit_mean > 0) day->out->late += given * day->fit->late * fmin(1, mean / day->need->busiest);
    if (day->due[issuer] > (float)second) return 0;
    double idle_s = (double)(day->timing->idle_ms ? day->timing->idle_ms : day->timing->renew_ms) / 1000;
    day->due[issuer] += (float)(asked ? (double)day->timing->renew_ms / 1000 : idle_s);
    return 1;
}

static void look(struct day *day, int slot) {
    double mean = demand(day->need, day->steepness, slot * SLOT_S) / (double)day->need->issuers;
    double none = exp(-mean), period = (double)day->timing->renew_ms / 1000, before = day->out->ids;
    double writes = 0, idle_s = (double)(day->timing->idle_ms ? day->timing->idle_ms : day->timing->renew_ms) / 1000;
    double rests = exp(-mean * period); /* no id in a whole period: it is idle, and renews less often */
    for (uint64_t i = 0; i < day->need->issuers; i++)
        day->due[i] = (float)(fraction(&day->chance) * (fraction(&day->chance) < rests ? idle_s : period));
    for (int second = 0; second < LOOK_S; second++) {
        double now = 0;
        for (uint64_t i = 0; i < day->need->issuers; i++)
            now += (double)live(day, i, mean, none, second + 1);
        now += day->starts[slot];
        if (now > day->out->writes_max) day->out->writes_max = now;
        writes += now;
    }
    day->out->writes += writes / LOOK_S / (DAY_S / SLOT_S);
    day->out->hour_ids[slot / 6] += (day->out->ids - before) / LOOK_S / 6;
    day->out->hour_writes[slot / 6] += writes / LOOK_S / 6;
}

/* ------------------------------------------------------------------ the generator itself */

struct core {
    int64_t now_us;
};

static int64_t core_us(void *self) {
    return ((struct core *)self)->now_us;
}

static void core_sleep(void *self, int64_t us) {
    ((struct core *)self)->now_us += us;
}

static int by_value(const void *a, const void *b) {
    int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;
    return (one > other) - (one < other);
}

/* One request at `when`: it waits until the generator has an id.  Its wait, or -1: there will be none. */
static int64_t ask(struct vesta_gen *gen, struct core *core, double when_us) {
    struct vesta_pause pause;
    uint64_t id;
    if (core->now_us < (int64_t)when_us) core->now_us = (int64_t)when_us;
    while (vesta_next(gen, &id, &pause) != VESTA_OK) {
        if (pause.wait_us < 0) return -1;
        core->now_us += pause.wait_us ? pause.wait_us : 1;
    }
    return core->now_us - (int64_t)when_us;
}

static int run_core(struct day *day) {
    int64_t epoch_ms = day->fit->layout.epoch_ms, days = (day->need->now_ms - epoch_ms) / (DAY_S * 1000) + 1;
    struct core core = {(epoch_ms + days * DAY_S * 1000) * 1000}; /* at the same place of a time unit on every run */
    const struct vesta_clock clock = {&core, core_us, core_us, core_sleep};
    struct vesta_opts opts = VESTA_OPTS_INIT;
    struct vesta_error err;
    struct vesta_gen *gen;
    double begin_us = (double)core.now_us, when_us = begin_us, step_us = 1e6 / day->need->busiest;
    int64_t *waits = malloc(CORE_IDS_MAX * sizeof *waits);
    opts.layout = day->fit->text;
    opts.has_worker = 1;
    opts.flags = VESTA_UNSAFE_PRIVATE;
    opts.clock = &clock;
    if (!waits) return vs_say("no memory"), VS_FAILED;
    int rc = vesta_open(&opts, &gen, &err);
    if (rc != VESTA_OK) return free(waits), vs_report(&err);
    while (day->out->asked < CORE_IDS_MAX && when_us < begin_us + CORE_S * 1e6) {
        when_us -= step_us * log(fraction(&day->chance));
        int64_t wait_us = ask(gen, &core, when_us);
        if (wait_us < 0) break;
        waits[day->out->asked++] = wait_us;
        day->out->waited += wait_us > 0;
    }
    vesta_close(gen);
    if (day->out->asked) {
        qsort(waits, day->out->asked, sizeof *waits, by_value);
        day->out->wait_us_99 = waits[day->out->asked * 99 / 100];
        day->out->wait_us_max = waits[day->out->asked - 1];
    }
    free(waits);
    return VS_DONE;
}

/* ------------------------------------------------------------------ the day */

int vs_plan_simulate(const struct vs_need *need, const struct vs_fit *fit, const struct vs_load *load,
                     struct vs_simulated *out) {
    struct vs_progress progress = {.began_us = 0};
    struct vs_lease_timing timing = vs_lease_timing_for(load->timing, need->is_given);
    struct day day = {.need = need, .fit = fit, .timing = &timing, .out = out, .chance = out->seed};
    day.steepness = steepness_of(need);
    /* more numbers than there are cannot be fenced */
    day.fence_room = fit->numbers < 4 * (VS_PLAN_ISSUERS_MAX + load->numbers)
                         ? fit->numbers
                         : 4 * (VS_PLAN_ISSUERS_MAX + load->numbers);
    day.due = calloc(need->issuers, sizeof *day.due);
    day.fence_ends = calloc(day.fence_room, sizeof *day.fence_ends);
    day.waiting = fit->numbers < need->issuers ? need->issuers - fit->numbers : 0;
    int rc = day.due && day.fence_ends ? VS_DONE : (vs_say("no memory"), VS_FAILED);
    for (int slot = 0; rc == VS_DONE && slot < DAY_S / SLOT_S; slot++) {
        run_restarts(&day, slot * SLOT_S, (slot + 1) * SLOT_S);
        look(&day, slot);
        vs_progress_show(&progress, "slots of a day", (uint64_t)slot + 1, DAY_S / SLOT_S);
    }
    if (rc == VS_DONE) rc = run_core(&day);
    vs_progress_end();
    free(day.due);
    free(day.fence_ends);
    return rc;
}
