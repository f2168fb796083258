/* guess.c -- which preset made an id, and which layout fits a need. */
#include "base/array.h"
#include "base/time.h"
#include "generator/generator.h"
#include "id/id.h"
#include "tools.h"

#define NOW_MS INT64_C(1795219200000) /* 2026-11-21 */

static uint64_t time_at(const struct vesta_layout *layout, int64_t unix_ms) {
    struct vs_shape shape;
    vs_shape_of(layout, &shape);
    return (uint64_t)vs_time_at(&shape, unix_ms * 1000);
}

static struct vesta_candidate guesses[32];

static const char *first_guess(uint64_t id) {
    return vesta_guess(id, NOW_MS, guesses, VS_COUNT(guesses)) > 0 ? guesses[0].preset->name : "none";
}

static void published_vesta_ids_are_legacy(void) {
    static const uint64_t ids[] = {UINT64_C(1138729511026688), UINT64_C(1138565321850880),
                                   UINT64_C(3456526092514361344)};
    for (size_t i = 0; i < VS_COUNT(ids); i++)
        CHECK_STR(first_guess(ids[i]), "vesta-legacy-second");
    first_guess(ids[0]);
    CHECK_EQ_U64(guesses[0].parts.time, 12235264);
    CHECK_EQ_U64(guesses[0].parts.worker, 1);
    CHECK_EQ_I64(guesses[0].parts.unix_ms, INT64_C(1432276864000));
}

/* snowflake, leaf and twitter are one split with three names.  Each id of one Butterfly preset is also an id of
 * the other.  Only several ids in a row distinguish them. */
static const char *family(const char *name) {
    static const char *const twins[][2] = {{"butterfly-v1.0.1", "butterfly"},
                                           {"leaf", "snowflake"},
                                           {"twitter", "snowflake"},
                                           {"yitter-js", "yitter"},
                                           {"yitter-net", "yitter"}};
    for (size_t i = 0; i < VS_COUNT(twins); i++)
        if (strcmp(name, twins[i][0]) == 0) return twins[i][1];
    return name;
}

static void own_ids_are_recognised(void) {
    static const struct {
        const char *name;
        uint64_t seq, worker; /* Butterfly's sequence does not restart, and sonyflake's machine is an address */
    } own[] = {{"vesta-second", 0, 1}, {"vesta-milli", 0, 1},  {"snowflake", 0, 1},
               {"butterfly", 300, 1},  {"sonyflake", 0, 1285}, {"yitter", 0, 1}};
    for (size_t i = 0; i < VS_COUNT(own); i++) {
        struct vesta_layout l = parsed(own[i].name);
        uint64_t time = time_at(&l, NOW_MS - 86412345), id = 0;
        for (uint64_t worker = 1; worker < 50; worker += 16) {
            const struct vesta_value given[] = {
                {"time", time}, {"seq", own[i].seq + worker % 3}, {"worker", worker * own[i].worker}};
            CHECK_EQ_I64(vesta_make(&l, given, 3, &id, NULL), VESTA_OK);
            CHECK_STR(family(first_guess(id)), own[i].name);
        }
    }
}

/* Returns whether the field is random, taken from an address, or counted up without restarting. */
static bool is_drawn(const char *preset, const struct vesta_field *f) {
    static const char *const drawn[] = {
        "butterfly seq", "butterfly-v1.0.1 seq", "sonyflake machine", "sonyflake-v2 machine", "instagram seq",
        "mastodon seq",  "tsid worker",          "tsid seq",          "seata worker",         "seata seq",
        "tid worker"};
    char name[64];
    snprintf(name, sizeof name, "%s %s", preset, f->name);
    for (size_t i = 0; i < VS_COUNT(drawn); i++)
        if (strcmp(drawn[i], name) == 0) return true;
    return false;
}

/* Returns a random number, more often a small one. */
static uint64_t usual_value(const struct vesta_field *f, uint64_t *dice) {
    /* a separate statement, so that the order of rolls does not depend on the compiler */
    uint64_t any = roll(dice) & f->max;
    return any >> roll_below(dice, f->width);
}

/* Returns an id of the last three years as generators make it: mostly sequence 0, and more often a small worker id. */
static uint64_t usual_id(const char *preset, const struct vesta_layout *l, uint64_t *dice) {
    int64_t end = vesta_layout_end_ms(l), until = end < NOW_MS ? end : NOW_MS, ago = INT64_C(94608000000);
    if (until - ago < l->epoch_ms) ago = until - l->epoch_ms;
    int64_t at = until - 1 - (int64_t)roll_below(dice, (uint64_t)ago);
    uint64_t id = 0, value[VESTA_FIELDS_MAX] = {0};
    for (int i = 0; i < l->field_count; i++) {
        const struct vesta_field *f = &l->field[i];
        value[i] = f->fixed              ? f->value
                   : i == l->time        ? time_at(l, at)
                   : is_drawn(preset, f) ? roll(dice) & f->max
                   : i != l->seq         ? usual_value(f, dice)
                   : roll_below(dice, 4) ? 0
                                         : roll_below(dice, 8) & f->max;
    }
    CHECK_EQ_I64(vesta_compose(l, value, &id, NULL), VESTA_OK);
    return id;
}

/* Returns whether the guess has the same bits and unit of time. Layouts that agree in these differ only in the epoch,
 * which only a known time reveals. */
static bool reads_the_same_time(const char *name, const struct vesta_layout *l) {
    if (strcmp(name, "none") == 0) return false;
    struct vesta_layout other = parsed(name);
    return other.unit_us == l->unit_us && other.field[other.time].shift == l->field[l->time].shift;
}

/* Presets with a random clock id below the time, with a random worker id above it, or with a rare unit have fewer
 * hits. */
static int hits_wanted(const char *preset) {
    static const struct {
        const char *name;
        int hits;
    } less[] = {{"tid", 850}, {"cockroachdb", 650}, {"seata", 850}};
    for (size_t i = 0; i < VS_COUNT(less); i++)
        if (strcmp(preset, less[i].name) == 0) return less[i].hits;
    return 900;
}

static void nine_of_ten_first_guesses_hit(void) {
    uint64_t dice = 9;
    for (int p = 0; vesta_preset_at(p); p++) {
        const char *name = vesta_preset_at(p)->name;
        struct vesta_layout l = parsed(name);
        int hits = 0;
        for (int i = 0; i < 1000; i++)
            hits += reads_the_same_time(first_guess(usual_id(name, &l, &dice)), &l);
        if (hits < hits_wanted(name)) CHECK_FAIL("%s: %d of 1000", name, hits);
    }
}

static bool among(const char *name, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(guesses[i].preset->name, name) == 0) return true;
    return false;
}

static void every_maker_is_among_the_guesses(void) {
    for (int p = 0; vesta_preset_at(p); p++) {
        struct vesta_layout l = parsed(vesta_preset_at(p)->name);
        int64_t end = vesta_layout_end_ms(&l) - 1, at = end < NOW_MS ? end : NOW_MS;
        uint64_t id = 0, time = time_at(&l, at), value[VESTA_FIELDS_MAX];
        for (int f = 0; f < l.field_count; f++)
            value[f] = f == l.time ? time : f == l.seq ? l.field[f].max : f == l.worker ? 3 : l.field[f].value;
        CHECK_EQ_I64(vesta_compose(&l, value, &id, NULL), VESTA_OK);
        CHECK(among(vesta_preset_at(p)->name, vesta_guess(id, NOW_MS, guesses, VS_COUNT(guesses))));
    }
}

static void twins_stand_in_the_order_of_the_table(void) {
    size_t count = vesta_guess(UINT64_C(1724551110456250368), NOW_MS, guesses, VS_COUNT(guesses));
    CHECK(count >= 3);
    CHECK_STR(guesses[0].preset->name, "snowflake");
    CHECK_STR(guesses[1].preset->name, "leaf");
    CHECK_STR(guesses[2].preset->name, "twitter"); /* five bits of datacenter that are all 0 are weaker evidence than
                                                      a worker id of 1 */
}

static void no_future_and_no_other_constant(void) {
    uint64_t dice = 7;
    for (int i = 0; i < 20000; i++) {
        uint64_t id = roll(&dice) >> roll_below(&dice, 64);
        size_t count = vesta_guess(id, NOW_MS, guesses, VS_COUNT(guesses));
        for (size_t n = 0; n < count; n++) {
            struct vesta_layout l = parsed(guesses[n].preset->name);
            CHECK(guesses[n].parts.unix_ms <= NOW_MS + 86400000);
            for (int f = 0; f < l.field_count; f++)
                CHECK(!l.field[f].fixed || guesses[n].parts.values[f] == l.field[f].value);
        }
    }
}

static void a_clock_may_be_a_day_fast(void) {
    struct vesta_layout l = parsed("js53");
    uint64_t id = 0;
    for (int64_t days = 0; days <= 2; days++) {
        const struct vesta_value given[] = {{"time", time_at(&l, NOW_MS + days * 86400000)}, {"seq", 0}, {"worker", 0}};
        CHECK_EQ_I64(vesta_make(&l, given, 3, &id, NULL), VESTA_OK);
        CHECK_EQ_I64(among("js53", vesta_guess(id, NOW_MS, guesses, VS_COUNT(guesses))), days < 2);
    }
}

static void only_fitting_candidates_are_written(void) {
    struct vesta_candidate two[3];
    memset(two, 0, sizeof two);
    CHECK_EQ_U64(vesta_guess(0, NOW_MS, two, 2), 2);
    CHECK(two[0].preset && two[1].preset && !two[2].preset);
    CHECK_EQ_U64(vesta_guess(0, NOW_MS, NULL, 0), 0);
    CHECK_EQ_U64(vesta_guess(0, INT64_MIN + 1, two, 3), 0); /* this time is before every epoch */
    CHECK(vesta_guess(UINT64_MAX, INT64_MAX, guesses, VS_COUNT(guesses)) >= 6);
}

/* ------------------------------------------------------------------ fit */

#define EPOCH_MS INT64_C(1767225600000) /* 2026-01-01 */

static void fits_have_their_text(void) {
    static const struct {
        double rate;
        uint64_t nodes;
        double years;
        const char *text;
        double rate_max;
    } want[] = {
        {50000, 4000, 30, "sign:1=0 time:41 seq:8 worker:14 unit=1ms epoch=2026-01-01T00:00:00Z", 256000},
        {4096000, 1024, 69, "sign:1=0 time:41 seq:12 worker:10 unit=1ms epoch=2026-01-01T00:00:00Z", 4096000},
        {1, 1, 1, "sign:1=0 time:42 seq:14 worker:7 unit=1ms epoch=2026-01-01T00:00:00Z", 16384000},
        {20000, 65536, 170, "sign:1=0 time:39 seq:8 worker:16 unit=10ms epoch=2026-01-01T00:00:00Z", 25600},
        {10, 4000000, 8.5, "sign:1=0 time:38 seq:3 worker:22 unit=1ms epoch=2026-01-01T00:00:00Z", 8000},
        {8100, 4000000, 8.5, "sign:1=0 time:28 seq:13 worker:22 unit=1s epoch=2026-01-01T00:00:00Z", 8192},
        {2.5, 12700000, 89, "sign:1=0 time:35 seq:4 worker:24 unit=100ms epoch=2026-01-01T00:00:00Z", 160},
        {32.8e6, 25, 235.2, "sign:1=0 time:33 seq:25 worker:5 unit=1s epoch=2026-01-01T00:00:00Z", 33554432},
        {280000, 3998, 221.2, "sign:1=0 time:46 seq:5 worker:12 unit=100us epoch=2026-01-01T00:00:00Z", 320000},
        {5.9e6, 543, 44, "sign:1=0 time:47 seq:6 worker:10 unit=10us epoch=2026-01-01T00:00:00Z", 6400000},
        {63e6, 87, 35, "sign:1=0 time:50 seq:6 worker:7 unit=1us epoch=2026-01-01T00:00:00Z", 64000000},
        {1, 1, 1e-9, "sign:1=0 time:22 seq:24 worker:17 unit=1ms epoch=2026-01-01T00:00:00Z", 16777216000.0},
    };
    for (size_t i = 0; i < VS_COUNT(want); i++) {
        struct vesta_proposal fit;
        struct vesta_error err;
        char text[VESTA_LAYOUT_TEXT_MAX];
        int rc = vesta_fit(&(struct vesta_fit_need){want[i].rate, want[i].nodes, want[i].years, EPOCH_MS}, &fit, &err);
        if (rc != VESTA_OK) {
            CHECK_FAIL("want %s: %s", want[i].text, err.text);
            continue;
        }
        vesta_layout_text(&fit.layout, text);
        CHECK_STR(text, want[i].text);
        CHECK(want[i].rate_max == 0 || fit.rate_max == want[i].rate_max);
    }
}

static void a_requested_unit(void) {
    static const struct {
        double rate, years;
        int32_t unit_us;
        const char *said;
    } asked[] = {
        {500000, 285, 1, "sign:1=0 time:53 worker:10 unit=1us epoch=2026-01-01T00:00:00Z"},
        {2000000, 285, 1, "a rate of 2e+06/s is too much: 1000 nodes (10 bits) and 285 years (53 bits of 1us) leave 0"},
        {1, 500, 1, "500 years is too much: 53 bits of 1us are 285 years"},
        {50000, 30, 5000, "sign:1=0 time:40 seq:11 worker:12 unit=5ms epoch=2026-01-01T00:00:00Z"},
        {50000, 30, 1000000, "sign:1=0 time:32 seq:19 worker:12 unit=1s epoch=2026-01-01T00:00:00Z"},
    };
    for (size_t i = 0; i < VS_COUNT(asked); i++) {
        struct vesta_fit_need need = {asked[i].rate, 1000, asked[i].years, EPOCH_MS};
        struct vesta_proposal fit;
        struct vesta_error err = {0};
        char text[VESTA_LAYOUT_TEXT_MAX];
        if (vs_fit_as(&need, &(struct vs_fit_how){.unit_us = asked[i].unit_us}, &fit, &err) != VESTA_OK) {
            CHECK_HAS(err.text, asked[i].said);
            continue;
        }
        vesta_layout_text(&fit.layout, text);
        CHECK_STR(text, asked[i].said);
    }
}

static void a_proposal_meets_the_need(void) {
    uint64_t dice = 8;
    int fitting = 0;
    for (int i = 0; i < 20000; i++) {
        struct vesta_fit_need need = {(double)(roll(&dice) >> (24 + roll_below(&dice, 40))) + 0.5,
                                      1 + (roll(&dice) >> (34 + roll_below(&dice, 30))),
                                      (double)(1 + roll_below(&dice, 3000)) / 10, EPOCH_MS};
        struct vesta_proposal fit;
        struct vs_fit_how how = {.bits = roll_below(&dice, 2) ? 0 : VS_FIT_BITS_MIN + (int)roll_below(&dice, 32)};
        if (vs_fit_as(&need, &how, &fit, NULL) != VESTA_OK) continue;
        fitting++;
        int above = fit.layout.field[0].width;
        CHECK_EQ_U64(above, 64 - (how.bits ? how.bits : 63));
        CHECK(fit.rate_max >= need.rate && fit.nodes_max >= need.nodes && fit.years_max >= need.years);
        CHECK_EQ_U64(fit.nodes_max, fit.layout.field[fit.layout.worker].max + 1);
        CHECK_EQ_I64(fit.end_ms, vesta_layout_end_ms(&fit.layout));
        char text[VESTA_LAYOUT_TEXT_MAX];
        struct vesta_layout again;
        vesta_layout_text(&fit.layout, text);
        CHECK_EQ_I64(vesta_layout_parse(text, &again, NULL), VESTA_OK);
        CHECK_EQ_U64(again.fingerprint, fit.layout.fingerprint);
    }
    CHECK(fitting > 5000);
}

static void needs_that_cannot_be(void) {
    static const struct {
        struct vesta_fit_need need;
        const char *why;
    } bad[] = {
        {{0, 1, 1, 0}, "rate cannot be 0"},
        {{-1, 1, 1, 0}, "rate cannot be -1"},
        {{1.0 / 0.0, 1, 1, 0}, "rate cannot be inf"},
        {{0.0 / 0.0, 1, 1, 0}, "rate cannot be"},
        {{1, 0, 1, 0}, "nodes cannot be 0"},
        {{1, 1, 0, 0}, "years cannot be 0"},
        {{1, 1, -3, 0}, "years cannot be -3"},
        {{1, 1, 0.0 / 0.0, 0}, "years cannot be"},
        {{1, 1, 1.0 / 0.0, 0}, "years cannot be inf"},
        {{1, 1, 1, -1}, "epoch cannot be -1 ms"},
        {{1, 1, 1, VS_EPOCH_MS_MAX + 1}, "epoch cannot be"},
        {{1, 1, 1e300, 0}, "1e+300 years is too much"},
        {{1, 1, 300e6, 0}, "years is too much"},
        {{1, UINT64_MAX, 1, 0}, "18446744073709551615 nodes is too much"},
        {{1, UINT64_C(1) << 54, 1, 0}, "nodes is too much"},
        {{1, UINT64_C(1) << 60, 1e-9, 0}, "nodes is too much"},
        {{1, UINT64_C(1) << 40, 30, 0}, "1099511627776 nodes is too much: they need 40 bits"},
        {{1e9, 4000, 30, 0},
         "rate of 1e+09/s is too much: 4000 nodes (12 bits) and 30 years (30 bits of 1s) leave 21 of 63 bits, "
         "2097152/s"},
        {{1e300, 1, 1, 0}, "rate of 1e+300/s is too much"},
    };
    for (size_t i = 0; i < VS_COUNT(bad); i++) {
        struct vesta_proposal fit = {.nodes_max = 77};
        struct vesta_error err = {0};
        CHECK_EQ_I64(vesta_fit(&bad[i].need, &fit, &err), VESTA_EFIELD);
        CHECK_HAS(err.text, bad[i].why);
        CHECK_EQ_U64(fit.nodes_max, 77);
    }
}

static const struct check_case cases[] = {
    {"the ids that Vesta (Java)'s documents show are guessed as vesta-legacy-second", published_vesta_ids_are_legacy},
    {"an id of yesterday is guessed as the preset that made it", own_ids_are_recognised},
    {"the time of at least nine of ten usual ids is found at the first guess, for most presets",
     nine_of_ten_first_guesses_hit},
    {"the preset that made an id is always among its guesses", every_maker_is_among_the_guesses},
    {"snowflake and its twin leaf are in the order of the table, followed by twitter",
     twins_stand_in_the_order_of_the_table},
    {"no guess lies in the future or has another constant", no_future_and_no_other_constant},
    {"a clock may have been a day fast, but not two", a_clock_may_be_a_day_fast},
    {"no more candidates are written than fit", only_fitting_candidates_are_written},
    {"known needs have known layouts", fits_have_their_text},
    {"a requested unit is used, or rejected with the reason", a_requested_unit},
    {"a proposal meets the need, and parses", a_proposal_meets_the_need},
    {"an impossible need is rejected with the part that is too large", needs_that_cannot_be},
};
CHECK_MAIN(cases)
