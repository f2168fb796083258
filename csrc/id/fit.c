/* fit.c -- proposes a layout for a given rate, node count and lifetime. */
#include "base/array.h"
#include "base/error.h"
#include "base/time.h"
#include "id/id.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#define US_PER_YEAR 31556952e6 /* 365.2425 days */
#define ID_BITS 63       /* the sign bit is always 0, because some databases and languages have no unsigned integers */
#define YEARS_ENOUGH 200 /* spare bits extend the lifetime up to this */
#define RATE_USUAL                                                                                                     \
    1e5 /* ids per second of a burst that a layout should support even if the requested rate is                        \
         * lower */
#define FIELD_BITS_MAX 53

/* Units in the order of preference.  A millisecond comes first, because the clocks of hosts differ by about that much,
 * and most timestamps are in milliseconds.  Coarser units come next, because they leave more bits to the sequence,
 * which then holds larger bursts.  Finer units come last, because they hardly increase the rate. */
static const int32_t units_us[] = {1000, 10000, 100000, 1000000, 100, 10, 1};

struct split {
    int time, seq, worker;
    int32_t unit_us;
};

/* Returns the number of bits that can hold 0 to count - 1: at least 1 bit, and 64 if 63 bits are too few. */
static int bits_for_time(double count) {
    int bits = 1;
    while (bits < 64 && count > (double)(UINT64_C(1) << bits))
        bits++;
    return bits;
}

static int bits_for_nodes(uint64_t count) {
    return count < 2 ? 1 : 64 - __builtin_clzll(count - 1);
}

static double rate_of(const struct split *s) {
    return s->seq < 0 ? 0 : (double)(UINT64_C(1) << s->seq) * 1e6 / s->unit_us;
}

/* Gives the time and the worker id the bits that they need, and gives the remaining bits to the sequence. */
static struct split split_for(const struct vesta_fit_need *need, int32_t unit_us, int bits) {
    struct split s = {.unit_us = unit_us};
    s.worker = bits_for_nodes(need->nodes);
    s.time = bits_for_time(need->years * US_PER_YEAR / unit_us);
    s.seq = bits - s.time - s.worker;
    return s;
}

/* Returns the minimum number of bits of the sequence.  Only a layout with short units may have no sequence, because
 * each time unit then has only one id. */
static int seq_min(const struct split *s) {
    return s->unit_us < 1000 ? 0 : 1;
}

static bool is_enough(const struct vesta_fit_need *need, const struct split *s) {
    return s->time <= FIELD_BITS_MAX && s->worker <= FIELD_BITS_MAX && s->seq >= seq_min(s) && need->rate <= rate_of(s);
}

static int check_need(const struct vesta_fit_need *need, struct vesta_error *err) {
    if (!(need->rate > 0) || !isfinite(need->rate))
        return vs_fail(err, VESTA_EFIELD, "rate cannot be %g: it must be ids per second and node, above 0", need->rate);
    if (need->nodes < 1) return vs_fail(err, VESTA_EFIELD, "nodes cannot be 0: at least one is needed");
    if (!(need->years > 0) || !isfinite(need->years))
        return vs_fail(err, VESTA_EFIELD, "years cannot be %g: it must be above 0", need->years);
    if (need->epoch_ms < 0 || need->epoch_ms > VS_EPOCH_MS_MAX)
        return vs_fail(err, VESTA_EFIELD, "epoch cannot be %lld ms: it must be between 1970 and 9999",
                       (long long)need->epoch_ms);
    return VESTA_OK;
}

static double years_of(const struct split *s) {
    return (double)(UINT64_C(1) << s->time) * s->unit_us / US_PER_YEAR;
}

/* Takes the bits that the rate does not need from the sequence.  Gives each of these bits to the part that exceeds its
 * need by the smallest factor. */
static void split_share(const struct vesta_fit_need *need, struct split *s) {
    int spare = 0;
    for (struct split less = *s; less.seq > seq_min(s) && (less.seq--, rate_of(&less) >= need->rate); spare++)
        s->seq = less.seq;
    for (; spare > 0; spare--) {
        double years = years_of(s), rate = need->rate > RATE_USUAL ? need->rate : RATE_USUAL;
        double time = s->time < FIELD_BITS_MAX && years < YEARS_ENOUGH ? years / need->years : HUGE_VAL;
        double worker =
            s->worker < FIELD_BITS_MAX ? (double)(UINT64_C(1) << s->worker) / (double)need->nodes : HUGE_VAL;
        double seq = s->seq < FIELD_BITS_MAX ? rate_of(s) / rate : HUGE_VAL;
        if (time <= worker && time <= seq && time < HUGE_VAL)
            s->time++;
        else if (worker <= seq && worker < HUGE_VAL)
            s->worker++;
        else
            s->seq++;
    }
}

/* Fails with a message about the part of the need that does not fit. */
static int no_split(const struct vesta_fit_need *need, const struct split *s, int bits, struct vesta_error *err) {
    char unit[VS_UNIT_MAX];
    vs_unit_text(s->unit_us, unit);
    if (s->time > FIELD_BITS_MAX)
        return vs_fail(err, VESTA_EFIELD, "%g years is too much: 53 bits of %s are %.3g years", need->years, unit,
                       (double)(UINT64_C(1) << FIELD_BITS_MAX) * s->unit_us / US_PER_YEAR);
    if (s->worker > FIELD_BITS_MAX || s->seq < seq_min(s))
        return vs_fail(err, VESTA_EFIELD,
                       "%llu nodes is too much: they need %d bits, %g years need %d of %s, and %d bits have no room "
                       "for a sequence",
                       (unsigned long long)need->nodes, s->worker, need->years, s->time, unit, bits);
    return vs_fail(
        err, VESTA_EFIELD,
        "a rate of %g/s is too much: %llu nodes (%d bits) and %g years (%d bits of %s) leave %d of %d bits, %.0f/s",
        need->rate, (unsigned long long)need->nodes, s->worker, need->years, s->time, unit, s->seq, bits, rate_of(s));
}

static void fit_describe(const struct split *s, int64_t epoch_ms, struct vesta_proposal *out) {
    char text[128], seq[16] = "", unit[VS_UNIT_MAX];
    int above = 64 - s->time - s->seq - s->worker;
    if (s->seq > 0) snprintf(seq, sizeof seq, " seq:%d", s->seq);
    snprintf(text, sizeof text, "%s:%d=0 time:%d%s worker:%d unit=%s epoch=%lld", above == 1 ? "sign" : "zero", above,
             s->time, seq, s->worker, vs_unit_text(s->unit_us, unit), (long long)epoch_ms);
    int rc = vesta_layout_parse(text, &out->layout, NULL);
    assert(rc == VESTA_OK);
    (void)rc;
    out->rate_max = rate_of(s);
    out->nodes_max = UINT64_C(1) << s->worker;
    out->years_max = years_of(s);
    out->end_ms = vesta_layout_end_ms(&out->layout);
}

int vs_fit_as(const struct vesta_fit_need *need, const struct vs_fit_how *how, struct vesta_proposal *out,
              struct vesta_error *err) {
    int bits = how->bits ? how->bits : ID_BITS, rc = check_need(need, err);
    if (rc != VESTA_OK) return rc;
    /* if no unit suffices, the message describes the unit with the highest rate */
    struct split best = split_for(need, how->unit_us ? how->unit_us : VS_UNIT_US_MAX, bits);
    for (size_t i = 0; i < (how->unit_us ? 1 : VS_COUNT(units_us)); i++) {
        struct split s = how->unit_us ? best : split_for(need, units_us[i], bits);
        if (is_enough(need, &s)) {
            split_share(need, &s);
            fit_describe(&s, need->epoch_ms, out);
            return VESTA_OK;
        }
        if (s.time <= FIELD_BITS_MAX && s.worker <= FIELD_BITS_MAX && rate_of(&s) > rate_of(&best)) best = s;
    }
    return no_split(need, &best, bits, err);
}

int vesta_fit(const struct vesta_fit_need *need, struct vesta_proposal *out, struct vesta_error *err) {
    return vs_fit_as(need, &(struct vs_fit_how){0}, out, err);
}
