/* fit.c -- proposes how to split 63 bits for a need.  Pure. */
#include "base/array.h"
#include "base/error.h"
#include "base/time.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#define MS_PER_YEAR 31556952000.0 /* 365.2425 days */
#define ID_BITS 63                /* the sign bit stays 0, for databases and languages without unsigned numbers */
#define FIELD_BITS_MAX 53

struct split {
    int time, seq, worker;
    int32_t unit_ms;
};

/* The bits that hold 0 .. count - 1: at least 1; 64 for what is more than 63 hold. */
static int bits_for_time(double count) {
    int bits = 1;
    while (bits < 64 && count > (double)(UINT64_C(1) << bits))
        bits++;
    return bits;
}

static int bits_for_nodes(uint64_t count) {
    return count < 2 ? 1 : 64 - __builtin_clzll(count - 1);
}

static const char *unit_name(int32_t unit_ms) {
    return unit_ms == 1 ? "1ms" : unit_ms == 10 ? "10ms" : "1s";
}

static double rate_of(int32_t unit_ms, int seq_bits) {
    return seq_bits < 1 ? 0 : (double)(UINT64_C(1) << seq_bits) * (1000 / unit_ms);
}

/* Time and worker get what they need, the sequence all the rest, up to a field's limit; then time, then worker. */
static struct split split_for(const struct vesta_fit_need *need, int32_t unit_ms) {
    struct split s = {.unit_ms = unit_ms};
    s.worker = bits_for_nodes(need->nodes);
    s.time = bits_for_time(need->years * MS_PER_YEAR / unit_ms);
    s.seq = ID_BITS - s.time - s.worker;
    if (s.seq > FIELD_BITS_MAX) s.time += s.seq - FIELD_BITS_MAX, s.seq = FIELD_BITS_MAX;
    return s;
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

/* `s` is the split that holds most ids per second: it says which part is too much. */
static int no_split(const struct vesta_fit_need *need, const struct split *s, struct vesta_error *err) {
    if (need->years * MS_PER_YEAR / 1000 > (double)(UINT64_C(1) << FIELD_BITS_MAX))
        return vs_fail(err, VESTA_EFIELD, "%g years is too much: 53 bits of seconds are 285 million years",
                       need->years);
    if (s->worker > FIELD_BITS_MAX || s->worker + s->time >= ID_BITS)
        return vs_fail(
            err, VESTA_EFIELD,
            "%llu nodes is too much: they need %d bits, %g years need %d, and 63 bits have no room for a sequence",
            (unsigned long long)need->nodes, s->worker, need->years, s->time);
    return vs_fail(
        err, VESTA_EFIELD,
        "a rate of %g/s is too much: %llu nodes (%d bits) and %g years (%d bits of %s) leave %d of 63 bits, %.0f/s",
        need->rate, (unsigned long long)need->nodes, s->worker, need->years, s->time, unit_name(s->unit_ms), s->seq,
        rate_of(s->unit_ms, s->seq));
}

static void describe(const struct split *s, int64_t epoch_ms, struct vesta_proposal *out) {
    char text[128];
    snprintf(text, sizeof text, "sign:1=0 time:%d seq:%d worker:%d unit=%s epoch=%lld", s->time, s->seq, s->worker,
             unit_name(s->unit_ms), (long long)epoch_ms);
    int rc = vesta_layout_parse(text, &out->layout, NULL);
    assert(rc == VESTA_OK);
    (void)rc;
    out->rate_max = rate_of(s->unit_ms, s->seq);
    out->nodes_max = UINT64_C(1) << s->worker;
    out->years_max = (double)(UINT64_C(1) << s->time) * s->unit_ms / MS_PER_YEAR;
    out->end_ms = vesta_layout_end_ms(&out->layout);
}

/* The finest unit that does it: a finer time sorts and dates ids better, a coarser one gives larger bursts. */
int vesta_fit(const struct vesta_fit_need *need, struct vesta_proposal *out, struct vesta_error *err) {
    static const int32_t units_ms[] = {1, 10, 1000};
    int rc = check_need(need, err);
    if (rc != VESTA_OK) return rc;
    struct split best = split_for(need, 1000);
    for (size_t i = 0; i < VS_COUNT(units_ms); i++) {
        struct split s = split_for(need, units_ms[i]);
        if (s.time > FIELD_BITS_MAX || s.worker > FIELD_BITS_MAX) continue;
        if (need->rate <= rate_of(s.unit_ms, s.seq)) {
            describe(&s, need->epoch_ms, out);
            return VESTA_OK;
        }
        if (rate_of(s.unit_ms, s.seq) > rate_of(best.unit_ms, best.seq)) best = s;
    }
    return no_split(need, &best, err);
}
