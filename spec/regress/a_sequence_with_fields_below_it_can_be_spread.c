/* Regression: seq_start=spread:N was accepted with another field below the sequence, and the ids of distinct time
 * units were then all equal modulo 16. */
#include "base/array.h"
#include "world.h"

#define NOON (INT64_C(1800000000) * SECOND)
#define IDS 2000

/* Counts each remainder of one id in each of 2,000 time units. Returns the number of distinct remainders. */
static int remainders(const char *text, uint64_t modulus, uint32_t *counts) {
    struct world w;
    struct vesta_pause pause;
    int taken = 0;
    memset(counts, 0, modulus * sizeof *counts);
    world_open(&w, text, VESTA_PACING_CLOCK, 0, NOON);
    grant_all(&w, 7);
    for (int i = 0; i < IDS; i++) {
        uint64_t id;
        pass_us(&w.time, w.layout.unit_us * 3);
        if (vesta_next(&w.gen, &id, &pause) == VESTA_OK) counts[id % modulus]++, taken++;
    }
    world_close(&w);
    return taken;
}

static void check_spread(const char *text, uint64_t modulus) {
    uint32_t counts[64];
    CHECK_EQ_I64(remainders(text, modulus, counts), IDS);
    for (uint64_t r = 0; r < modulus; r++) /* their share minus six standard deviations */
        if (counts[r] < IDS / modulus / 2)
            CHECK_FAIL("%s: %u of %d ids are %" PRIu64 " modulo %" PRIu64, text, counts[r], IDS, r, modulus);
}

static void accepted_is_spread(void) {
    static const char *const fields[] = {
        "vesta-second",
        "vesta-milli",
        "snowflake",
        "leaf",
        "butterfly",
        "butterfly-v1.0.1",
        "sonyflake",
        "js53",
        "version:1 type:1=0 method:2 time:30 seq:16 machine:10 seq:4 unit=1s epoch=2014-12-31T16:00:00Z",
        "time:41 seq:12 a:2 worker:6 b:2 unit=1ms epoch=2020-01-01T00:00:00Z",
        "seq:12 time:41 worker:10 unit=1ms epoch=2020-01-01T00:00:00Z",
        "worker:10 time:41 seq:12 unit=1ms epoch=2020-01-01T00:00:00Z",
        "time:41 worker:10 seq:8 pad:1 seq:3 unit=1ms epoch=2020-01-01T00:00:00Z",
    };
    static const uint64_t modulus[] = {2, 4, 7, 16};
    int accepted = 0;
    for (size_t i = 0; i < VS_COUNT(fields); i++)
        for (size_t m = 0; m < VS_COUNT(modulus); m++) {
            char text[160];
            struct vesta_layout layout;
            snprintf(text, sizeof text, "%s seq_start=spread:%" PRIu64, fields[i], modulus[m]);
            if (vesta_layout_parse(text, &layout, NULL) != VESTA_OK) continue;
            check_spread(text, modulus[m]);
            accepted++;
        }
    CHECK_EQ_I64(accepted, 4 + 4 + 1 + 4 + 4 + 4 + 3); /* snowflake, leaf, butterfly's 2, js53, and three others */
}

static void refused_with_the_way_out(void) {
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"vesta-second seq_start=spread:16", "machine is below the sequence"},
        {"vesta-second seq_start=spread:16", "seq:16 machine:10 seq:4"},
        {"vesta-milli seq_start=spread:5", "seq:7 machine:10 seq:3"},
        {"butterfly-v1.0.1 seq_start=spread:2", "seq:8 worker:13 seq:1"},
        {"butterfly seq_start=spread:3", "1 to 2"},
        {"sonyflake seq_start=spread:255", "machine is below the sequence"},
        {"seq:12 time:41 worker:10 unit=1ms epoch=0 seq_start=spread:2", "worker is below the sequence"},
        {"time:41 seq:12 worker:6 b:4 unit=1ms epoch=0 seq_start=spread:2", "b is below the sequence"},
        {"time:41 seq:8 worker:6 seq:4 b:4 unit=1ms epoch=0 seq_start=spread:2", "b is below the sequence"},
    };
    for (size_t i = 0; i < VS_COUNT(wrong); i++) {
        struct vesta_layout layout;
        struct vesta_error err = {0};
        CHECK_EQ_I64(vesta_layout_parse(wrong[i].text, &layout, &err), VESTA_ELAYOUT);
        CHECK_HAS(err.text, wrong[i].says);
    }
    CHECK_EQ_U64(parsed("vesta-second seq_start=spread:1").spread, 1); /* There is no sequence to spread. */
}

static const struct check_case cases[] = {
    {"2,000 ids of distinct time units spread modulo N wherever seq_start=spread:N is accepted",
     accepted_is_spread},
    {"a spread without effect is rejected, and the message names a text that works", refused_with_the_way_out},
};
CHECK_MAIN(cases)
