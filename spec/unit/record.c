/* record.c -- records as text: a written record is read back, and other texts are rejected. */
#include "lease/record.h"
#include "base/array.h"
#include "tools.h"

static const struct vs_record full = {.ver = VS_VER_MAX,
                                      .epoch = UINT64_MAX,
                                      .owner = {UINT64_MAX, 1},
                                      .until = ((uint64_t)1 << 62) - 1,
                                      .fingerprint = 0x0123456789abcdef,
                                      .written_ms = INT64_MAX,
                                      .lease_ms = INT64_MAX,
                                      .seen_ms = 0,
                                      .held = true,
                                      .identity = "/var/lib/vesta/default.gen",
                                      .holder = "host pid 1"};

static const struct vs_ns_record ns_full = {.ver = 3,
                                            .fingerprint = 9,
                                            .incarnation = UINT64_MAX,
                                            .floor_ms = INT64_MAX,
                                            .static_first = 924,
                                            .static_count = 100,
                                            .layout =
                                                "sign:1 time:41 seq:12 worker:10 unit=1ms epoch=2020-01-01T00:00:00Z"};

static const struct vs_counter_record counter_full = {
    .ver = VS_VER_MAX, .max = INT64_MAX, .step = 1000, .updated_ms = INT64_MAX, .tag = "orders.eu:1_-"};

static bool same(const struct vs_record *a, const struct vs_record *b) {
    return a->ver == b->ver && a->epoch == b->epoch && a->owner[0] == b->owner[0] && a->owner[1] == b->owner[1] &&
           a->until == b->until && a->fingerprint == b->fingerprint && a->written_ms == b->written_ms &&
           a->lease_ms == b->lease_ms && a->seen_ms == b->seen_ms && a->held == b->held &&
           a->has_low == b->has_low && a->low == b->low && a->pin_ms == b->pin_ms && a->stop_ms == b->stop_ms &&
           strcmp(a->identity, b->identity) == 0 && strcmp(a->holder, b->holder) == 0;
}

static void round_trip(const struct vs_record *record) {
    char text[VS_RECORD_TEXT_MAX];
    struct vs_record back;
    size_t length = vs_record_write(record, text);
    CHECK(length < sizeof text);
    const char *why = vs_record_read(at_wall(text, length), length, &back);
    CHECK_STR(why ? why : "", "");
    if (!why) CHECK(same(record, &back));
}

static void comes_back(void) {
    struct vs_record r = full;
    round_trip(&r);
    r.has_low = true;
    r.low = r.until;
    r.pin_ms = r.stop_ms = INT64_MAX;
    round_trip(&r);
    memset(r.identity, 'i', sizeof r.identity - 1);
    memset(r.holder, 'h', sizeof r.holder - 1);
    round_trip(&r);
    r = (struct vs_record){.ver = 1};
    round_trip(&r);
    r = (struct vs_record){.ver = 1, .until = (uint64_t)1 << 62}; /* the last tick of the longest layout */
    round_trip(&r);
    uint64_t dice = 3;
    for (int i = 0; i < 1000; i++) {
        r = (struct vs_record){.ver = roll(&dice) >> 1 | 1,
                               .epoch = roll(&dice),
                               .owner = {roll(&dice), roll(&dice)},
                               .until = roll(&dice) >> 2,
                               .fingerprint = roll(&dice),
                               .written_ms = (int64_t)(roll(&dice) >> 1),
                               .lease_ms = (int64_t)(roll(&dice) >> 1),
                               .seen_ms = (int64_t)(roll(&dice) >> 1),
                               .held = i % 2};
        round_trip(&r);
    }
    char text[VS_RECORD_TEXT_MAX];
    struct vs_ns_record back;
    size_t length = vs_ns_record_write(&ns_full, text);
    CHECK(vs_ns_record_read(at_wall(text, length), length, &back) == NULL);
    CHECK(back.ver == 3 && back.fingerprint == 9 && back.incarnation == UINT64_MAX && back.floor_ms == INT64_MAX);
    CHECK_STR(back.layout, ns_full.layout);
    CHECK(back.static_first == 924 && back.static_count == 100);
    length = vs_ns_record_write(&(struct vs_ns_record){.ver = 1}, text);
    CHECK(vs_ns_record_read(at_wall(text, length), length, &back) == NULL);
    CHECK(back.ver == 1 && back.static_count == 0);
    CHECK(memmem(text, length, "static", 6) == NULL); /* a record without static worker ids can be read by older
                                                         versions */
    const struct vs_ns_record wide = {.ver = 1, .static_first = UINT64_MAX, .static_count = 1};
    length = vs_ns_record_write(&wide, text);
    CHECK(vs_ns_record_read(at_wall(text, length), length, &back) != NULL);
    struct vs_counter_record counter;
    length = vs_counter_record_write(&counter_full, text);
    CHECK(vs_counter_record_read(at_wall(text, length), length, &counter) == NULL);
    CHECK(counter.ver == VS_VER_MAX && counter.max == INT64_MAX && counter.step == 1000);
    CHECK_EQ_I64(counter.updated_ms, INT64_MAX);
    CHECK_STR(counter.tag, counter_full.tag);
}

/* A folder's name must not become a line of the record. */
static void texts_cannot_break_out(void) {
    struct vs_record r = full, back;
    char text[VS_RECORD_TEXT_MAX];
    snprintf(r.identity, sizeof r.identity, "/tmp/a\nuntil 0\x01\x7f\r");
    size_t length = vs_record_write(&r, text);
    CHECK(vs_record_read(text, length, &back) == NULL);
    CHECK_STR(back.identity, "/tmp/a?until 0???");
    CHECK_EQ_U64(back.until, full.until);
}

static void every_prefix_is_refused(void) {
    char text[VS_RECORD_TEXT_MAX];
    struct vs_record r = {.ver = 77};
    struct vs_ns_record n = {.ver = 77};
    size_t length = vs_record_write(&full, text);
    for (size_t i = 0; i < length; i++)
        CHECK(vs_record_read(at_wall(text, i), i, &r) != NULL);
    length = vs_ns_record_write(&ns_full, text);
    for (size_t i = 0; i < length; i++)
        CHECK(vs_ns_record_read(at_wall(text, i), i, &n) != NULL);
    struct vs_counter_record c = {.ver = 77};
    length = vs_counter_record_write(&counter_full, text);
    for (size_t i = 0; i < length; i++)
        CHECK(vs_counter_record_read(at_wall(text, i), i, &c) != NULL);
    CHECK(c.ver == 77 && r.ver == 77 && n.ver == 77);
}

static void every_changed_byte_is_refused(void) {
    char text[VS_RECORD_TEXT_MAX];
    struct vs_record r;
    struct vs_ns_record n;
    size_t length = vs_record_write(&full, text);
    for (size_t i = 0; i < length; i++)
        for (int change = 1; change < 256; change++) {
            text[i] = (char)(text[i] ^ change);
            if (vs_record_read(text, length, &r) == NULL) CHECK_FAIL("byte %zu changed by %#x was accepted", i, change);
            text[i] = (char)(text[i] ^ change);
        }
    length = vs_ns_record_write(&ns_full, text);
    for (size_t i = 0; i < length; i++)
        for (int change = 1; change < 256; change++) {
            text[i] = (char)(text[i] ^ change);
            if (vs_ns_record_read(text, length, &n) == NULL)
                CHECK_FAIL("byte %zu changed by %#x was accepted", i, change);
            text[i] = (char)(text[i] ^ change);
        }
    struct vs_counter_record c;
    length = vs_counter_record_write(&counter_full, text);
    for (size_t i = 0; i < length; i++)
        for (int change = 1; change < 256; change++) {
            text[i] = (char)(text[i] ^ change);
            if (vs_counter_record_read(text, length, &c) == NULL)
                CHECK_FAIL("byte %zu changed by %#x was accepted", i, change);
            text[i] = (char)(text[i] ^ change);
        }
}

static uint64_t checksum(const char *text, size_t length) {
    uint64_t sum = 0xcbf29ce484222325u; /* FNV-1a again, because a hostile writer knows it too */
    for (size_t i = 0; i < length; i++)
        sum = (sum ^ (unsigned char)text[i]) * 0x100000001b3u;
    return sum;
}

/* Replaces a part and computes the checksum again. */
static void sealed(const char *from, const char *to, const char *because) {
    char text[VS_RECORD_TEXT_MAX], other[2 * VS_RECORD_TEXT_MAX];
    struct vs_record r;
    struct vs_record plain = {.ver = 5, .until = 1000, .lease_ms = 15000, .identity = "me", .holder = "pid"};
    size_t length = vs_record_write(&plain, text);
    text[length] = '\0';
    char *at = strstr(text, from), *sum = strstr(text, "sum ");
    CHECK(at != NULL && sum != NULL);
    if (!at || !sum) return;
    *sum = '\0';
    int body = snprintf(other, sizeof other, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    int whole = body + snprintf(other + body, sizeof other - (size_t)body, "sum %016" PRIx64 "\n",
                                checksum(other, (size_t)body));
    const char *why = vs_record_read(other, (size_t)whole, &r);
    CHECK_STR(why ? why : "taken", because);
}

static void hostile_values(void) {
    const char *wrong = "one of its lines is invalid", *uncounted = "its version is higher than writes can have counted";
    char wide[400], text[VS_RECORD_TEXT_MAX];
    struct vs_ns_record ns = {.ver = VS_VER_MAX + 1}, back;
    const char *why = vs_ns_record_read(text, vs_ns_record_write(&ns, text), &back);
    CHECK_STR(why ? why : "taken", uncounted);
    sealed("ver 5", "ver 5", "taken"); /* the checksum is right without a change */
    sealed("ver 5", "ver 0", wrong);
    sealed("ver 5", "ver 18446744073709551616", wrong);
    sealed("ver 5", "ver 9223372036854775807", "taken");
    sealed("ver 5", "ver 9223372036854775808", uncounted);
    sealed("ver 5", "ver 18446744073709551615", uncounted);
    sealed("ver 5", "ver -1", wrong);
    sealed("ver 5", "ver +5", wrong);
    sealed("ver 5", "ver 0x5", wrong);
    sealed("ver 5", "ver  5", wrong);
    sealed("ver 5", "ver ", wrong);
    sealed("ver 5", "ver 5 ", wrong);
    sealed("ver 5\n", "", wrong);
    sealed("ver 5\n", "ver 5\nver 5\n", wrong);
    sealed("until 1000", "until 4611686018427387905", wrong); /* above 2^62, because no layout is that long */
    sealed("until 1000", "until 9223372036854775807", wrong);
    sealed("until 1000", "until 18446744073709551615", wrong);
    sealed("lease_ms 15000", "lease_ms 9223372036854775808", wrong);
    sealed("held 0", "held 2", wrong);
    sealed("held 0", "held 00", "taken");
    sealed("held 0\n", "held 0\nlow 1001\npin_ms 0\nstop_ms 0\n", "taken"); /* it is read as `until` */
    sealed("holder pid\n", "holder pid\nextra 1\n", wrong);
    sealed("lease 1", "lease 2", "a newer vesta wrote it");
    sealed("lease 1", "lease 99999999999999999999999", wrong);
    sealed("vesta lease 1", "vesta namespace 1", "it is not a vesta record");
    struct vs_counter_record counter;
    static const struct vs_counter_record beyond[] = {{.ver = 1, .max = (uint64_t)INT64_MAX + 1, .tag = "t"},
                                                      {.ver = 1, .step = UINT64_MAX, .tag = "t"},
                                                      {.ver = 0, .tag = "t"},
                                                      {.ver = VS_VER_MAX + 1, .tag = "t"}};
    for (size_t i = 0; i < VS_COUNT(beyond); i++)
        CHECK(vs_counter_record_read(text, vs_counter_record_write(&beyond[i], text), &counter) != NULL);
    memset(wide, 'x', sizeof wide - 1);
    wide[sizeof wide - 1] = '\0';
    memcpy(wide, "identity ", 9);
    sealed("identity me", wide, wrong);
}

static void other_files(void) {
    static const char *const texts[] = {"",
                                        "\n",
                                        "vesta",
                                        "vesta lease",
                                        "vesta lease 1",
                                        "vesta lease 1\n",
                                        "#!/bin/sh\n",
                                        "vesta lease one\n",
                                        "vesta  lease 1\n",
                                        "VESTA LEASE 1\n",
                                        "sum 0\n"};
    struct vs_record r;
    for (size_t i = 0; i < VS_COUNT(texts); i++)
        CHECK(vs_record_read(at_wall(texts[i], strlen(texts[i])), strlen(texts[i]), &r) != NULL);
    uint64_t dice = 9;
    char noise[VS_RECORD_TEXT_MAX];
    for (int i = 0; i < 2000; i++) {
        size_t length = roll_below(&dice, sizeof noise);
        for (size_t k = 0; k < length; k++)
            noise[k] = (char)roll(&dice);
        CHECK(vs_record_read(at_wall(noise, length), length, &r) != NULL);
    }
}

static const struct check_case cases[] = {
    {"a record is read back unchanged", comes_back},
    {"a text cannot break out of its line", texts_cannot_break_out},
    {"every prefix is rejected", every_prefix_is_refused},
    {"every changed byte is rejected", every_changed_byte_is_refused},
    {"hostile values with a right checksum are rejected", hostile_values},
    {"other files are rejected", other_files},
};

CHECK_MAIN(cases)
