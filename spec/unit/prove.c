/* prove.c -- a proof that two layouts have no common id is right, and so is a common id that it finds. */
#include "base/array.h"
#include "id/id.h"
#include "tools.h"

#include <stdio.h>

static struct vesta_made all_of(const struct vesta_layout *l) {
    return (struct vesta_made){l, INT64_MIN, INT64_MAX};
}

/* ------------------------------------------------------------------ layouts of few bits, checked id by id */

/* Layouts of 64 bits in which all but the lowest bits are a constant 0, so that every id can be tried. */
enum { SMALL_BITS = 10 };

struct draft {
    char text[256];
    size_t used;
    unsigned left;
};

static void add(struct draft *d, const char *name, unsigned width, int64_t constant) {
    if (width > d->left) width = d->left;
    if (!width) return;
    d->left -= width;
    d->used += (size_t)snprintf(d->text + d->used, sizeof d->text - d->used, "%s:%u", name, width);
    if (constant >= 0)
        d->used += (size_t)snprintf(d->text + d->used, sizeof d->text - d->used, "=%llu",
                                    (unsigned long long)constant & ((1U << width) - 1));
    d->text[d->used++] = ' ';
}

/* Puts the time at any place, with constants of random widths around it and the sequence at the end, sometimes in two
 * parts. */
static struct vesta_layout small_layout(uint64_t *dice) {
    static const char *const names[] = {"a", "b", "c"};
    struct draft d = {.left = SMALL_BITS - 1};
    unsigned at = (unsigned)roll_below(dice, 4);
    d.used = (size_t)snprintf(d.text, sizeof d.text, "high:53=0 higher:1=0 ");
    for (unsigned i = 0; i < 4; i++) {
        if (i == at)
            add(&d, "time", 1 + (unsigned)roll_below(dice, 3), -1);
        else
            add(&d, names[i > at ? i - 1 : i], 1 + (unsigned)roll_below(dice, 2),
                roll_below(dice, 3) ? (int64_t)roll_below(dice, 4) : -1);
    }
    d.left++;
    add(&d, "seq", d.left, -1);
    snprintf(d.text + d.used, sizeof d.text - d.used, "unit=%s epoch=%d", roll_below(dice, 2) ? "1ms" : "10ms",
             (int)roll_below(dice, 20));
    return parsed(d.text);
}

/* By definition an id is made if it is of that layout and its time unit overlaps the interval. */
static bool is_made(const struct vesta_made *made, uint64_t id) {
    struct vesta_parts parts;
    if (vesta_explain(made->layout, id, &parts, NULL) != VESTA_OK) return false;
    return vs_time_ms(made->layout, parts.time) < made->until_ms &&
           vs_time_ms(made->layout, parts.time + 1) > made->from_ms && made->from_ms < made->until_ms;
}

/* Returns the smallest common id by trying each id, or UINT64_MAX. */
static uint64_t common(const struct vesta_made *a, const struct vesta_made *b) {
    for (uint64_t id = 0; id < 1 << SMALL_BITS; id++)
        if (is_made(a, id) && is_made(b, id)) return id;
    return UINT64_MAX;
}

static void random_span(uint64_t *dice, struct vesta_made *made) {
    if (roll_below(dice, 3) == 0) return;
    made->from_ms = (int64_t)roll_below(dice, 60);
    made->until_ms = made->from_ms + (int64_t)roll_below(dice, 40);
}

static void the_proof_agrees_with_every_id(void) {
    uint64_t dice = 11;
    size_t met[3] = {0};
    for (int round = 0; round < 8000; round++) {
        struct vesta_layout l[2] = {small_layout(&dice), small_layout(&dice)};
        struct vesta_made made[2] = {all_of(&l[0]), all_of(&l[1])};
        struct vesta_proof proof;
        random_span(&dice, &made[0]), random_span(&dice, &made[1]);
        uint64_t id = common(&made[0], &made[1]);
        met[vesta_layout_prove(&made[0], &made[1], &proof)]++;
        if ((proof.by == VESTA_COLLIDE) != (id != UINT64_MAX)) {
            char text[2][VESTA_LAYOUT_TEXT_MAX];
            vesta_layout_text(&l[0], text[0]), vesta_layout_text(&l[1], text[1]);
            CHECK_FAIL("%s | %s: %d, and the first id in common is %llu", text[0], text[1], (int)proof.by,
                       (unsigned long long)id);
            return;
        }
        if (proof.by == VESTA_COLLIDE) CHECK_EQ_U64(proof.id, id);
        if (proof.by != VESTA_DISJOINT_BITS) continue;
        const struct vesta_field *f[2] = {&l[0].field[proof.field[0]], &l[1].field[proof.field[1]]};
        CHECK(f[0]->fixed && f[1]->fixed);
        CHECK((vs_field_put(f[0], f[0]->value) >> proof.bit & 1) != (vs_field_put(f[1], f[1]->value) >> proof.bit & 1));
    }
    CHECK(met[VESTA_COLLIDE] > 400 && met[VESTA_DISJOINT_BITS] > 400 && met[VESTA_DISJOINT_TIMES] > 400);
}

/* ------------------------------------------------------------------ real layouts */

static struct vesta_proof proof_of(const char *a, const char *b) {
    struct vesta_layout l[2] = {parsed(a), parsed(b)};
    struct vesta_made made[2] = {all_of(&l[0]), all_of(&l[1])};
    struct vesta_proof proof;
    CHECK(vesta_layout_prove(&made[0], &made[1], &proof) == (int)proof.by);
    if (proof.by == VESTA_COLLIDE) {
        struct vesta_parts parts;
        CHECK_EQ_I64(vesta_explain(&l[0], proof.id, &parts, NULL), VESTA_OK);
        CHECK_EQ_I64(vesta_explain(&l[1], proof.id, &parts, NULL), VESTA_OK);
    }
    return proof;
}

static void by_the_type_and_by_the_version(void) {
    struct vesta_proof proof = proof_of("vesta-second", "vesta-milli");
    CHECK_EQ_I64(proof.by, VESTA_DISJOINT_BITS);
    CHECK_EQ_I64(proof.bit, 62);
    CHECK_EQ_I64(proof.field[0], 1);
    proof = proof_of("vesta-milli version:1=0", "vesta-milli version:1=1");
    CHECK_EQ_I64(proof.by, VESTA_DISJOINT_BITS);
    CHECK_EQ_I64(proof.bit, 63);
}

static void a_field_that_may_change_proves_nothing(void) {
    CHECK_EQ_I64(proof_of("vesta-milli", "vesta-milli version:1=1").by, VESTA_COLLIDE);
    CHECK_EQ_I64(proof_of("vesta-milli", "vesta-milli").by, VESTA_COLLIDE);
    CHECK_EQ_I64(proof_of("snowflake", "butterfly").by, VESTA_COLLIDE);
    CHECK_EQ_I64(proof_of("vesta-second", "vesta-legacy-second").by, VESTA_COLLIDE);
}

static void by_times(void) {
    struct vesta_layout a = parsed("time:41 seq:12 worker:10 unit=1ms epoch=0"),
                        b = parsed("time:41 seq:12 worker:10 unit=1ms epoch=1000000");
    struct vesta_made old = {&a, INT64_MIN, 5000}, new = {&b, 1005000, INT64_MAX};
    struct vesta_proof proof;
    CHECK_EQ_I64(vesta_layout_prove(&old, &new, &proof), VESTA_DISJOINT_TIMES);
    CHECK_EQ_I64(vesta_layout_prove(&new, &old, &proof), VESTA_DISJOINT_TIMES);
    old.until_ms++;
    CHECK_EQ_I64(vesta_layout_prove(&old, &new, &proof), VESTA_COLLIDE);
    CHECK_EQ_U64(proof.id, UINT64_C(5000) << 22);
    new.from_ms = new.until_ms = 7;
    CHECK_EQ_I64(vesta_layout_prove(&old, &new, &proof), VESTA_DISJOINT_TIMES);
}

static void constants(void) {
    static const char theirs[] = "version:1=0 kind:2 time:30 seq:27 worker:4 unit=1s epoch=2020-01-01T00:00:00Z";
    static const struct {
        const char *layout, *departs; /* NULL: it keeps all constants */
    } rows[] = {
        {"version:1=0 kind:2 time:30 seq:27 worker:4 unit=1s epoch=2020-01-01T00:00:00Z", NULL},
        {"version:1=0 kind:2=3 time:30 seq:27 worker:4 unit=1s epoch=2020-01-01T00:00:00Z", NULL},
        {"version:1=1 kind:2 time:30 seq:27 worker:4 unit=1s epoch=2020-01-01T00:00:00Z",
         "version:1=0, not version:1=1"},
        {"version:1 kind:2 time:30 seq:27 worker:4 unit=1s epoch=2020-01-01T00:00:00Z", "version:1=0, not version:1"},
        {"version:1=1 kind:2 time:30 seq:26 worker:5 unit=1s epoch=2020-01-01T00:00:00Z",
         NULL}, /* the fingerprint differs, so constants are not compared */
    };
    char buf[VS_DEPARTURE_MAX];
    for (size_t i = 0; i < VS_COUNT(rows); i++) {
        struct vesta_layout layout = parsed(rows[i].layout);
        const char *departs = vs_layout_departs(&layout, theirs, buf);
        CHECK_STR(departs ? departs : "not at all", rows[i].departs ? rows[i].departs : "not at all");
    }
    struct vesta_layout longest =
        parsed("abcdefghijklmno:53=9007199254740991 time:10 unit=1s epoch=2020-01-01T00:00:00Z");
    CHECK_STR(vs_layout_departs(&longest,
                                "abcdefghijklmno:53=9007199254740990 time:10 unit=1s epoch=2020-01-01T00:00:00Z", buf),
              "abcdefghijklmno:53=9007199254740990, not abcdefghijklmno:53=9007199254740991");
    CHECK(!vs_layout_departs(&longest, "nonsense", buf));
}

static const struct check_case cases[] = {
    {"a layout must keep the constants of another, and may have more", constants},
    {"for thousands of pairs of small layouts the proof agrees with trying each id", the_proof_agrees_with_every_id},
    {"vesta's layouts differ by the type, and a layout from its copy by the version", by_the_type_and_by_the_version},
    {"a field without a constant proves nothing, and a common id is returned", a_field_that_may_change_proves_nothing},
    {"disjoint times are a proof, to the millisecond", by_times},
};
CHECK_MAIN(cases)
