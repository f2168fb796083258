/* shards.c -- ids modulo 2 to 1,024 of a worker that issues one id per second: without a mode, and in the mode that
 * `vesta layout` names for each preset.  VESTA_SHOW=1 prints a row for each preset, and VESTA_LONG=1 tests all moduli.
 */
#include "base/array.h"
#include "main/ids/chi.h"
#include "world.h"

#define NOON (INT64_C(1800000000) * SECOND)
#define IDS 100000
#define MOD_MAX 1024
#define P_MIN 0.01
#define STEPS_MAX 64

/* ------------------------------------------------------------------ ids in virtual time */

static uint64_t keys[IDS];

/* Issues IDS ids, `gap_us` apart, each late by a random time below `jitter_us`.  Sets keys to id >> shift. */
static void issue(const char *layout, enum vesta_pacing pacing, unsigned shift, int64_t jitter_us) {
    struct world w;
    struct vesta_pause pause;
    uint64_t id = 0, dice = 28;
    world_open(&w, layout, pacing, 0, NOON);
    grant_all(&w, 5 & vs_worker_max(&w.layout));
    for (int64_t i = 0; i < IDS; i++) {
        w.time.unix_us = NOON + i * SECOND + (jitter_us ? (int64_t)roll_below(&dice, (uint64_t)jitter_us) : 0);
        w.time.boot_us = WORLD_BOOT_US + w.time.unix_us - NOON;
        CHECK(vesta_next(&w.gen, &id, &pause) == VESTA_OK);
        keys[i] = id >> shift;
    }
    world_close(&w);
}

/* ------------------------------------------------------------------ the test of all moduli */

/* Ids at a fixed interval have few different distances.  Adding the distance modulo m is faster than dividing. */
static struct {
    uint64_t step[STEPS_MAX];
    uint8_t of[IDS];
    size_t count; /* 0: there are more than STEPS_MAX */
} steps;

static void find_steps(void) {
    steps.count = 0;
    for (size_t i = 1; i < IDS; i++) {
        uint64_t step = keys[i] - keys[i - 1];
        size_t at = 0;
        while (at < steps.count && steps.step[at] != step)
            at++;
        if (at == STEPS_MAX) {
            steps.count = 0;
            return;
        }
        if (at == steps.count) steps.step[steps.count++] = step;
        steps.of[i] = (uint8_t)at;
    }
}

static void count_remainders(unsigned m, uint64_t *counts) {
    uint32_t add[STEPS_MAX], remainder = (uint32_t)(keys[0] % m), few[MOD_MAX] = {0};
    for (size_t i = 0; i < steps.count; i++)
        add[i] = (uint32_t)(steps.step[i] % m);
    few[remainder]++;
    for (size_t i = 1; i < IDS; i++) {
        if (steps.count) {
            remainder += add[steps.of[i]];
            if (remainder >= m) remainder -= m;
        } else
            remainder = (uint32_t)(keys[i] % m);
        few[remainder]++;
    }
    for (unsigned r = 0; r < m; r++)
        counts[r] = few[r];
}

struct worst {
    double p;
    unsigned m, failed; /* the modulus of the lowest p, and the number of moduli whose p is at most P_MIN */
};

static void judge(struct worst *worst, unsigned m, const uint64_t *counts) {
    double p = vs_chi_square_p(vs_chi_square(counts, m, IDS), m - 1);
    if (p <= P_MIN) worst->failed++;
    if (p < worst->p) worst->p = p, worst->m = m;
}

/* Tests all m from 2 to MOD_MAX.  Counts of a small m are sums of those of its multiple. */
static struct worst test_all(void) {
    static uint64_t counts[MOD_MAX], folded[MOD_MAX];
    struct worst worst = {.p = 2};
    bool done[MOD_MAX + 1] = {false};
    find_steps();
    for (unsigned m = MOD_MAX; m > MOD_MAX / 2; m--) {
        count_remainders(m, counts);
        judge(&worst, m, counts);
        for (unsigned small = 2; small <= m / 2; small++) {
            if (m % small || done[small]) continue;
            done[small] = true;
            memset(folded, 0, sizeof folded);
            for (unsigned r = 0; r < m; r++)
                folded[r % small] += counts[r];
            judge(&worst, small, folded);
        }
    }
    return worst;
}

/* ------------------------------------------------------------------ the presets */

static const unsigned some[] = {2, 3, 4, 7, 10, 16, 60, 64, 100, 256, 257, 640, 899, 1000, 1023, 1024};

/* How a preset's ids are even modulo `m`. */
struct mode {
    char layout[VESTA_LAYOUT_TEXT_MAX];
    enum vesta_pacing pacing;
    unsigned shift;
};

static struct mode mode_of(const char *name, unsigned m) {
    struct mode mode = {.pacing = VESTA_PACING_CLOCK};
    struct vesta_layout layout = parsed(name);
    struct vs_shards_plan plan;
    vs_shards_plan(&layout, &plan);
    mode.shift = plan.shift;
    if (m <= plan.max)
        snprintf(mode.layout, sizeof mode.layout, "%s seq_start=shards:%u", name, m);
    else if (plan.by_history) {
        snprintf(mode.layout, sizeof mode.layout, "%s", name);
        mode.pacing = VESTA_PACING_HISTORY;
    } else {
        CHECK(plan.wider[0]);
        snprintf(mode.layout, sizeof mode.layout, "%s %s seq_start=shards:%u", name, plan.wider, m);
        mode.shift = plan.wider_shift;
    }
    return mode;
}

static double p_in_mode(const char *name, unsigned m, int64_t jitter_us) {
    static uint64_t counts[MOD_MAX];
    struct mode mode = mode_of(name, m);
    issue(mode.layout, mode.pacing, mode.shift, jitter_us);
    memset(counts, 0, sizeof counts);
    for (size_t i = 0; i < IDS; i++)
        counts[keys[i] % m]++;
    double p = vs_chi_square_p(vs_chi_square(counts, m, IDS), m - 1);
    if (p <= P_MIN) CHECK_FAIL("%s, pacing %d: p is %g modulo %u", mode.layout, mode.pacing, p, m);
    return p;
}

static const char *issuable(const struct vesta_preset *preset) {
    return strcmp(preset->name, "uid") == 0 ? "uid epoch=2026-01-01T00:00:00Z" : preset->name; /* its time has ended */
}

/* Returns the lowest p of the preset's ids in its modes. */
static struct worst worst_in_mode(const char *name, bool all) {
    struct worst worst = {.p = 2};
    for (unsigned i = 0, m = 2; all ? m <= MOD_MAX : i < VS_COUNT(some); i++, m++) {
        double p = p_in_mode(name, all ? m : some[i], 0);
        if (p < worst.p) worst.p = p, worst.m = all ? m : some[i];
    }
    return worst;
}

static void every_preset_is_even_in_its_mode(void) {
    const struct vesta_preset *preset;
    for (int i = 0; (preset = vesta_preset_at(i)); i++) {
        if (!preset->may_issue) continue;
        const char *name = issuable(preset);
        struct worst with = worst_in_mode(name, getenv("VESTA_LONG") != NULL);
        p_in_mode(name, 16, SECOND); /* and at random times */
        p_in_mode(name, 1000, SECOND);
        if (!getenv("VESTA_SHOW")) continue;
        issue(name, VESTA_PACING_CLOCK, 0, 0);
        struct worst without = test_all();
        printf("%-20s %.4f at %-4u  without: %.2g at %u, %u of 1023 are uneven\n", preset->name, with.p, with.m,
               without.p, without.m, without.failed);
    }
}

static void without_the_mode_shards_are_uneven(void) {
    static const struct {
        const char *layout;
        unsigned uneven; /* how many of the moduli from 2 to 1,024 */
    } cases[] = {
        {"vesta-second", 512}, {"snowflake", 614},      {"js53", 512},
        {"sonyflake", 614},    {"shardingsphere", 409}, {"leaf", 143},
    };
    for (size_t i = 0; i < VS_COUNT(cases); i++) {
        issue(cases[i].layout, VESTA_PACING_CLOCK, 0, 0);
        CHECK_EQ_U64(test_all().failed, cases[i].uneven);
    }
}

/* Ids of one shard after the other, whatever the rate and the number of ids at a time. */
static void shards_take_turns(void) {
    static const char *const layouts[] = {"snowflake seq_start=shards:12", "vesta-second seq_start=shards:7",
                                          "butterfly seq_start=shards:100", "js53 seq_start=shards:1000",
                                          "seq:12 time:41 worker:10 unit=1ms epoch=0 seq_start=shards:5",
                                          "time:30 seq:10 worker:2 seq:22 unit=1s epoch=2026-01-01T00:00:00Z seq_start=shards:1024"};
    for (size_t l = 0; l < VS_COUNT(layouts); l++) {
        struct world w;
        struct vesta_pause pause;
        uint64_t dice = 1, ids[8], turn = 0, last = 0;
        world_open(&w, layouts[l], VESTA_PACING_CLOCK, 0, NOON);
        grant_all(&w, 5 & vs_worker_max(&w.layout));
        unsigned shift = w.gen.shape.key_shift, low = 1u << w.gen.shape.low_bits;
        for (int i = 0; i < 3000; i++) {
            pass_us(&w.time, (int64_t)(1 + roll_below(&dice, 9)) * w.layout.unit_us);
            size_t n = low == 1 ? take_n(&w, ids, 1 + roll_below(&dice, 8), &pause) : take_n(&w, ids, 1, &pause);
            for (size_t k = 0; k < n; k++) {
                uint64_t shard = (ids[k] >> shift) % w.layout.spread;
                if (i + k > 0) CHECK_EQ_U64(shard, turn);
                CHECK(ids[k] > last || l == 4); /* in layout 4, the sequence is above the time */
                turn = (shard + 1) % w.layout.spread;
                last = ids[k];
            }
        }
        world_close(&w);
    }
}

/* One id in each of many adjacent time units.  If the turn has all sequences, the start after the last one is 0, which
 * the next unit does not repeat. */
static void rotating_starts_repeat_none(void) {
    static const char *const layouts[] = {"discord", "yitter seq_start=rotate:64", "snowflake seq_start=rotate:4096",
                                          "shardingsphere"};
    for (size_t l = 0; l < VS_COUNT(layouts); l++) {
        struct world w;
        struct vesta_pause pause;
        world_open(&w, layouts[l], VESTA_PACING_CLOCK, 0, NOON);
        grant_all(&w, 5 & vs_worker_max(&w.layout));
        for (uint64_t i = 0; i < 3 * (uint64_t)w.layout.spread; i++) {
            pass_us(&w.time, w.layout.unit_us);
            uint64_t tick = next_tick(&w, &pause), seqs = (uint64_t)1 << w.gen.shape.seq_bits;
            CHECK_EQ_U64(tick % seqs, i % w.layout.spread);
        }
        world_close(&w);
    }
}

/* Each of many adjacent time units is exhausted. */
static void full_units_issue_each_sequence_once(void) {
    static const char *const layouts[] = {"snowflake seq_start=shards:1000", "yitter seq_start=shards:63",
                                          "vesta-milli seq_start=shards:1024", "butterfly seq_start=shards:100",
                                          "discord", "tsid"};
    static uint64_t ids[4096];
    for (size_t l = 0; l < VS_COUNT(layouts); l++) {
        struct world w;
        struct vesta_pause pause;
        uint64_t tick = 0;
        world_open(&w, layouts[l], VESTA_PACING_CLOCK, 0, NOON);
        grant_all(&w, 5 & vs_worker_max(&w.layout));
        for (int unit = 0; unit < 20; unit++) {
            size_t got = 0;
            for (size_t n; (n = take_n(&w, ids, 1 + (size_t)unit * 100, &pause)) > 0; got += n)
                for (size_t i = 0; i < n; i++) {
                    uint64_t next = tick_of(&w.layout, ids[i]);
                    if (tick) CHECK_EQ_U64(next, tick + 1); /* none is skipped or repeated, also between units */
                    tick = next;
                }
            if (unit > 0) CHECK_EQ_U64(got, (uint64_t)1 << w.gen.shape.seq_bits);
            pass_us(&w.time, w.layout.unit_us);
        }
        world_close(&w);
    }
}

static const struct check_case cases[] = {
    {"every preset is even modulo 2 to 1,024 at one id per second in its mode", every_preset_is_even_in_its_mode},
    {"without the mode, many moduli are uneven", without_the_mode_shards_are_uneven},
    {"with seq_start=shards:N, the shards take turns at any rate", shards_take_turns},
    {"with seq_start=rotate:N, adjacent time units start at all values in turn", rotating_starts_repeat_none},
    {"exhausted time units issue each sequence once, in order, in every mode", full_units_issue_each_sequence_once},
};
CHECK_MAIN(cases)
