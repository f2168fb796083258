/* layout.c -- layout texts: which are read, which are rejected, and that writing is the exact inverse. */
#include "base/array.h"
#include "base/time.h"
#include "id/id.h"
#include "tools.h"

static void check_round_trip(const struct vesta_layout *layout) {
    char text[VESTA_LAYOUT_TEXT_MAX], again[VESTA_LAYOUT_TEXT_MAX];
    CHECK_EQ_U64(vesta_layout_text(layout, text), strlen(text));
    struct vesta_layout back = parsed(text);
    back.read_only = layout->read_only; /* the preset's name can be read-only although its fields are not */
    CHECK(memcmp(&back, layout, sizeof back) == 0);
    vesta_layout_text(&back, again);
    CHECK_STR(again, text);
}

static void presets_are_canonical(void) {
    char text[VESTA_LAYOUT_TEXT_MAX];
    int i = 0;
    for (; vesta_preset_at(i); i++) {
        struct vesta_layout by_name = parsed(vesta_preset_at(i)->name), by_text = parsed(vesta_preset_at(i)->text);
        by_text.read_only = by_name.read_only; /* the preset's name can be read-only although its fields are not */
        CHECK(memcmp(&by_name, &by_text, sizeof by_name) == 0);
        vesta_layout_text(&by_name, text);
        CHECK_STR(text, vesta_preset_at(i)->text);
        CHECK(strlen(vesta_preset_at(i)->about) > 0);
        CHECK(strncmp(vesta_preset_at(i)->source, "https://", 8) == 0);
        CHECK(strlen(vesta_preset_at(i)->why) > 0);
        CHECK_EQ_I64(by_name.read_only == NULL, vesta_preset_at(i)->may_issue);
        check_round_trip(&by_name);
    }
    CHECK(i >= 28);
    CHECK(!vesta_preset_at(-1));
}

static void the_start_of_sequences_is_no_part_of_a_layouts_name(void) {
    struct vesta_layout now = parsed("tsid"), before = parsed("tsid seq_start=spread:1"),
                        other = parsed("tsid epoch=0");
    CHECK_STR(vs_layout_shown("tsid seq_start=spread:1"), "tsid");
    CHECK_STR(vs_layout_shown(vesta_preset_at(0)->text), vesta_preset_at(0)->name);
    CHECK_STR(vs_layout_shown("leaf"), "leaf"); /* not replaced by snowflake, which has the same ids */
    CHECK_STR(vs_layout_shown("tsid epoch=0"), "tsid epoch=0");
    CHECK(vs_layout_is_same(&now, &before));
    CHECK(!vs_layout_is_same(&now, &other));
    now = parsed("vesta-milli version:1=1"), before = parsed("vesta-milli");
    CHECK(!vs_layout_is_same(&now, &before) && !vs_layout_is_same(&before, &now));
}

static void ends_are_right(void) {
    static const struct {
        const char *preset, *end;
    } want[] = {
        {"vesta-second", "2049-01-09T05:37:04Z"},
        {"vesta-milli", "2049-11-03T11:53:47.776Z"},
        {"vesta-legacy-second", "2049-01-09T05:37:04Z"},
        {"vesta-legacy-milli", "2049-11-03T11:53:47.776Z"},
        {"snowflake", "2080-07-10T17:30:30.209Z"},
        {"twitter", "2080-07-10T17:30:30.209Z"},
        {"leaf", "2080-07-10T17:30:30.209Z"},
        {"butterfly", "2089-10-28T07:47:35.552Z"},
        {"butterfly-v1.0.1", "2089-10-28T07:47:35.552Z"},
        {"uid", "2024-11-20T13:24:16Z"},
        {"sonyflake epoch=2025-01-01T00:00:00Z", "2199-03-19T03:28:58.880Z"},
        {"js53", "2161-02-07T06:28:16Z"},
    };
    char buf[VESTA_ISO_MAX];
    for (size_t i = 0; i < VS_COUNT(want); i++) {
        struct vesta_layout layout = parsed(want[i].preset);
        vesta_iso(vesta_layout_end_ms(&layout), buf);
        CHECK_STR(buf, want[i].end);
    }
}

/* ------------------------------------------------------------------ the meaning of texts */

static void the_fields_follow_the_text(void) {
    struct vesta_layout l =
        parsed("version:1 type:1=1 method:2 time:40 seq:10 machine:10 unit=1ms epoch=2014-12-31T16:00:00Z");
    CHECK_EQ_I64(l.field_count, 6);
    CHECK_EQ_I64(l.time, 3);
    CHECK_EQ_I64(l.seq, 4);
    CHECK_EQ_I64(l.worker, 5);
    CHECK_EQ_I64(l.epoch_ms, 1420041600000);
    CHECK_EQ_I64(l.unit_us, 1000);
    CHECK_EQ_U64(l.spread, 0);
    CHECK_EQ_U64(l.field[3].max, (UINT64_C(1) << 40) - 1);
    static const uint8_t shifts[] = {63, 62, 60, 20, 10, 0}, fixed[] = {0, 1, 0, 0, 0, 0};
    for (int i = 0; i < 6; i++) {
        CHECK_EQ_U64(l.field[i].shift, shifts[i]);
        CHECK_EQ_U64(l.field[i].fixed, fixed[i]);
        CHECK_EQ_U64(l.field[i].value, fixed[i]);
    }
}

static void texts_that_mean_the_same(void) {
    static const struct {
        const char *text, *canonical;
    } same[] = {
        {"time:41 worker:10 seq:12 unit=1ms epoch=0",
         "sign:1=0 time:41 worker:10 seq:12 unit=1ms epoch=1970-01-01T00:00:00Z"},
        {"unit=1ms epoch=1288834974657 time:41 worker:10 seq:12",
         "sign:1=0 time:41 worker:10 seq:12 unit=1ms epoch=2010-11-04T01:42:54.657Z"},
        {"\n time:41\tworker:10\r\n  seq:12 unit=1ms epoch=0 \n",
         "sign:1=0 time:41 worker:10 seq:12 unit=1ms epoch=1970-01-01T00:00:00Z"},
        {"snowflake epoch=2026-01-01T08:00:00+08:00",
         "sign:1=0 time:41 worker:10 seq:12 unit=1ms epoch=2026-01-01T00:00:00Z"},
        {"uid time:29 worker:21", "sign:1=0 time:29 worker:21 seq:13 unit=1s epoch=2016-05-19T16:00:00Z"},
        {"uid epoch=2026-01-01T00:00:00Z unit=10ms",
         "sign:1=0 time:28 worker:22 seq:13 unit=10ms epoch=2026-01-01T00:00:00Z"},
        {"butterfly sign:1", "sign:1 time:41 seq:8 worker:13 seq:1 unit=1ms epoch=2020-02-21T16:00:00Z"},
        {"butterfly seq:7 worker:12 seq:3",
         "sign:1=0 time:41 seq:7 worker:12 seq:3 unit=1ms epoch=2020-02-21T16:00:00Z"},
        {"vesta-second method:2=1 version:1=1",
         "version:1=1 type:1=0 method:2=1 time:30 seq:20 machine:10 unit=1s epoch=2014-12-31T16:00:00Z"},
        {"snowflake seq_start=spread:4095",
         "sign:1=0 time:41 worker:10 seq:12 unit=1ms epoch=2010-11-04T01:42:54.657Z seq_start=spread:4095"},
        {"leaf seq:6 time:47",
         "sign:1=0 time:47 worker:10 seq:6 unit=1ms epoch=2010-11-04T01:42:54.657Z seq_start=spread:50"},
        {"tsid worker:14 seq:8", "time:42 worker:14 seq:8 unit=1ms epoch=2020-01-01T00:00:00Z seq_start=spread:256"},
        {"tsid worker:6 seq:16", "time:42 worker:6 seq:16 unit=1ms epoch=2020-01-01T00:00:00Z seq_start=spread:65536"},
        {"cosid machine:6 seq:16",
         "sign:1=0 time:41 machine:6 seq:16 unit=1ms epoch=2019-12-24T16:00:00Z seq_start=rotate:2048"},
        {"discord worker:9 seq:8",
         "time:42 worker:9 process:5 seq:8 unit=1ms epoch=2015-01-01T00:00:00Z seq_start=rotate:256"},
        {"discord seq_start=spread:3",
         "time:42 worker:5 process:5 seq:12 unit=1ms epoch=2015-01-01T00:00:00Z seq_start=spread:3"},
        {"butterfly seq_start=rotate:512",
         "sign:1=0 time:41 seq:8 worker:13 seq:1 unit=1ms epoch=2020-02-21T16:00:00Z seq_start=rotate:512"},
        {"tid seq_start=spread:1", "sign:1=0 time:53 worker:10 unit=1us epoch=1970-01-01T00:00:00Z seq_start=spread:1"},
        {"leaf seq_start=spread:1",
         "sign:1=0 time:41 worker:10 seq:12 unit=1ms epoch=2010-11-04T01:42:54.657Z seq_start=spread:1"},
        {"time:10 seq:52 a:2=3 unit=10ms epoch=253402300799999",
         "time:10 seq:52 a:2=3 unit=10ms epoch=9999-12-31T23:59:59.999Z"},
        {"time:48 seq:16 unit=1ms epoch=0", "time:48 seq:16 unit=1ms epoch=1970-01-01T00:00:00Z"},
        {"time:53 worker:10 unit=1us epoch=0", "sign:1=0 time:53 worker:10 unit=1us epoch=1970-01-01T00:00:00Z"},
        {"time:11 node:53 unit=1000000us epoch=0", "time:11 node:53 unit=1s epoch=1970-01-01T00:00:00Z"},
        {"snowflake unit=1000us", "sign:1=0 time:41 worker:10 seq:12 unit=1ms epoch=2010-11-04T01:42:54.657Z"},
        {"snowflake unit=500000us", "sign:1=0 time:41 worker:10 seq:12 unit=500ms epoch=2010-11-04T01:42:54.657Z"},
        {"snowflake unit=1250us", "sign:1=0 time:41 worker:10 seq:12 unit=1250us epoch=2010-11-04T01:42:54.657Z"},
        {"snowflake unit=005ms", "sign:1=0 time:41 worker:10 seq:12 unit=5ms epoch=2010-11-04T01:42:54.657Z"},
        {"time:007 seq:00053 z:4 unit=1s epoch=000", "time:7 seq:53 z:4 unit=1s epoch=1970-01-01T00:00:00Z"},
    };
    for (size_t i = 0; i < VS_COUNT(same); i++) {
        char text[VESTA_LAYOUT_TEXT_MAX];
        struct vesta_layout layout = parsed(same[i].text);
        vesta_layout_text(&layout, text);
        CHECK_STR(text, same[i].canonical);
        check_round_trip(&layout);
    }
}

static void no_leased_field_is_a_layout_too(void) {
    struct vesta_layout l = parsed("time:42 seq:20 node:2 unit=1ms epoch=0");
    CHECK_EQ_I64(l.worker, -1);
    CHECK_EQ_I64(vesta_layout_find(&l, "worker"), -1);
    CHECK_EQ_I64(vesta_layout_find(&l, "machine"), -1);
    CHECK_EQ_I64(vesta_layout_find(&l, "node"), 2);
}

static void both_names_find_the_leased_field(void) {
    struct vesta_layout machine = parsed("vesta-second"), worker = parsed("snowflake");
    CHECK_EQ_I64(vesta_layout_find(&machine, "worker"), 5);
    CHECK_EQ_I64(vesta_layout_find(&machine, "machine"), 5);
    CHECK_EQ_I64(vesta_layout_find(&worker, "worker"), 2);
    CHECK_EQ_I64(vesta_layout_find(&worker, "machine"), 2);
    CHECK_EQ_I64(vesta_layout_find(&worker, "time"), 1);
    CHECK_EQ_I64(vesta_layout_find(&worker, "wor"), -1);
    CHECK_EQ_I64(vesta_layout_find(&worker, ""), -1);
}

/* ------------------------------------------------------------------ rejected texts */

#define REST " seq:12 unit=1ms epoch=0"

static const struct {
    const char *text, *why;
} hostile[] = {
    {"", "empty"},
    {" \n\t ", "empty"},
    /* widths */
    {"time:41 worker:9" REST, "add up to 62"},
    {"time:41 worker:12" REST, "add up to 65"},
    {"sign:1=0 time:41 worker:9" REST, "(it is there): make it 64"},
    {"uid worker:21", "(it is there): make it 64"},
    {"uid worker:20", "add up to 62"},
    {"time:0 worker:10" REST, "1 to 53"},
    {"time:64 worker:10" REST, "1 to 53"},
    {"time:54 worker:1" REST, "1 to 53"},
    {"time:-1" REST, "1 to 53"},
    {"time:+41" REST, "1 to 53"},
    {"time:4e1" REST, "1 to 53"},
    {"time:" REST, "1 to 53"},
    {"time:99999999999999999999999" REST, "1 to 53"},
    {"time:4294967337" REST, "1 to 53"},
    {"time:4.1" REST, "1 to 53"},
    {"time:0x29" REST, "1 to 53"},
    /* fields */
    {"time:41 time:10" REST, "written twice"},
    {"time:41 worker:10 seq:12 seq:1 unit=1ms epoch=0", "write them as one, seq:13"},
    {"time:41 seq:4 worker:10 seq:4 x:3 seq:1 unit=1ms epoch=0", "one part or two"},
    {"a:41 worker:10" REST, "'time' is missing"},
    {"time:41 worker:5 machine:5" REST, "a layout has only one"},
    {"worker:5 time:41 worker:5" REST, "written twice"},
    {"time:41=5 worker:10" REST, "change with every id"},
    {"time:41 worker:10=7" REST, "change with every id"},
    {"time:41 machine:10=7" REST, "change with every id"},
    {"time:41 worker:10 seq:12=0 unit=1ms epoch=0", "change with every id"},
    {"Time:41 worker:10" REST, "lower-case letter"},
    {"1a:10 time:41" REST, "lower-case letter"},
    {":41 worker:10" REST, "lower-case letter"},
    {"_a:10 time:41" REST, "lower-case letter"},
    {"a-b:10 time:41" REST, "lower-case letter"},
    {"sixteenletters__:10 time:41" REST, "up to 14"},
    {"\xc3\xa9:10 time:41" REST, "\\xc3\\xa9"},
    {"a\x1b[2J:10 time:41" REST, "\\x1b"},
    {"id:10 time:41" REST, "means something else"},
    {"iso:10 time:41" REST, "means something else"},
    {"unit:10 time:41" REST, "means something else"},
    {"epoch:10 time:41" REST, "means something else"},
    {"unix_ms:10 time:41" REST, "means something else"},
    {"seq_start:10 time:41" REST, "means something else"},
    {"a:1 b:1 c:1 d:1 e:1 f:1 g:1 h:1 i:1 j:1 k:1 l:1 m:1 n:1 o:1 time:20 seq:29 unit=1s epoch=0", "at most 16 fields"},
    {"a:1 b:1 c:1 d:1 e:1 f:1 g:1 h:1 i:1 j:1 k:1 l:1 m:1 n:1 time:20 seq:29 unit=1s epoch=0",
     "(there are 16 fields): make it 64"},
    /* constants */
    {"a:2=4 time:40 worker:10" REST, "at most 3"},
    {"a:2= time:40 worker:10" REST, "decimal number"},
    {"a:2=-1 time:40 worker:10" REST, "decimal number"},
    {"a:2=1=1 time:40 worker:10" REST, "decimal number"},
    {"a:2=18446744073709551616 time:40 worker:10" REST, "decimal number"},
    {"a:53=9007199254740992" REST, "at most 9007199254740991"},
    /* options */
    {"time:41 worker:10 seq:12 epoch=0", "unit= is missing"},
    {"time:41 worker:10 seq:12 unit=1ms", "epoch= is missing"},
    {"time:41 worker:10 seq:12 unit=1ms unit=1ms epoch=0", "twice"},
    {"time:41 worker:10" REST " epoch=0", "twice"},
    {"leaf seq_start=spread:1 seq_start=spread:1", "twice"},
    {"uid epoch=0 epoch=0", "twice"},
    {"uid time:29 time:28", "twice"},
    {"snowflake unit=3ms", "a second is a multiple of it"},
    {"snowflake unit=", "from 1us to 1s"},
    {"snowflake unit=1", "from 1us to 1s"},
    {"snowflake unit=us", "from 1us to 1s"},
    {"snowflake unit=0us", "from 1us to 1s"},
    {"snowflake unit=-1us", "from 1us to 1s"},
    {"snowflake unit=1.5ms", "from 1us to 1s"},
    {"snowflake unit=1ns", "from 1us to 1s"},
    {"snowflake unit=1min", "from 1us to 1s"},
    {"snowflake unit=2s", "a second is a multiple of it"},
    {"snowflake unit=1001ms", "a second is a multiple of it"},
    {"snowflake unit=1000001us", "from 1us to 1s"},
    {"snowflake unit=18446744073709551617us", "from 1us to 1s"},
    {"snowflake unit=-1", "from 1us to 1s"},
    {"snowflake unit=1MS", "from 1us to 1s"},
    {"snowflake epoch=", "epoch: '' is not a time"},
    {"snowflake epoch=yesterday", "'yesterday' is not a time"},
    {"snowflake epoch=-1", "is not a time"},
    {"snowflake epoch=2026-02-30T00:00:00Z", "no such day"},
    {"snowflake epoch=1969-12-31T23:59:59Z", "between 1970 and 9999"},
    {"snowflake epoch=253402300800000", "between 1970 and 9999"},
    {"snowflake epoch=9223372036854775808", "is not a time"},
    {"snowflake epoch=9223372036854775807", "between 1970 and 9999"},
    {"snowflake seq_start=spread:0", "1 to 4096"},
    {"snowflake seq_start=spread:4097", "1 to 4096"},
    {"snowflake seq_start=spread:-1", "spread:N"},
    {"snowflake seq_start=rotate:0", "seq_start=rotate:0 must be from 1 to 4096, because seq has 12 bits"},
    {"butterfly seq_start=rotate:513", "must be from 1 to 512, because seq has 9 bits"},
    {"tid seq_start=rotate:2", "seq_start=rotate:2 needs the field seq"},
    {"snowflake seq_start=shards:0", "seq_start=shards:0 must be from 1 to 4096, because seq has 12 bits"},
    {"sonyflake seq_start=shards:257", "must be from 1 to 256, because seq has 8 bits"},
    {"butterfly seq_start=shards:257", "must be from 1 to 256, because the upper part of seq has 8 bits"},
    {"snowflake seq_start=shards", "shards:N"},
    {"snowflake seq_start=shards:", "shards:N"},
    {"snowflake seq_start=", "shards:N"},
    {"snowflake seq_start=rotate", "rotate:N"},
    {"snowflake seq_start=rotate:x", "rotate:N"},
    {"snowflake seq_start=rotate:2 seq_start=spread:2", "twice"},
    {"snowflake seq_start=100", "spread:N"},
    {"snowflake seq_start=random:100", "spread:N"},
    {"snowflake seq_start=spread:18446744073709551616", "spread:N"},
    {"time:8 seq:53 worker:2 unit=1s epoch=0 seq_start=spread:1073741824", "1073741823"},
    {"snowflake worker=7", "The only options are unit="},
    {"snowflake =", "The only options are unit="},
    {"snowflake layout=x", "The only options are unit="},
    {"=", "The only options are unit="},
    /* presets */
    {"snowflakes", "no preset 'snowflakes', did you mean snowflake?"},
    {"Snowflake", "did you mean snowflake?"},
    {"TWITTER", "did you mean twitter?"},
    {"sonyflake_v2", "did you mean sonyflake-v2?"},
    {"shard", "did you mean shardingsphere?"},
    {"uid-generator", "did you mean uid?"},
    {"leaf-snowflake", "did you mean snowflake?"},
    {"vesta_milli unit=1s", "did you mean vesta-milli?"},
    {"qwertz", "no preset 'qwertz': `vesta layout` lists"},
    {"snowflake leaf", "comes first and alone"},
    {"time:41 snowflake", "comes first and alone"},
    {"snowflake datacenter:5 worker:5", "no such field, it has sign time worker seq"},
    {"snowflake machine:10", "no such field"},
    {"../../etc/passwd", "no preset"},
    {"snowflake, epoch=0", "no preset 'snowflake,'"},
};

static void refused_with_a_reason(void) {
    for (size_t i = 0; i < VS_COUNT(hostile); i++) {
        struct vesta_layout layout, before;
        struct vesta_error err = {0};
        memset(&layout, 0x5a, sizeof layout);
        before = layout;
        if (vesta_layout_parse(hostile[i].text, &layout, &err) != VESTA_ELAYOUT)
            CHECK_FAIL("'%s' is accepted", hostile[i].text);
        CHECK_EQ_I64(err.code, VESTA_ELAYOUT);
        CHECK(memcmp(&layout, &before, sizeof layout) == 0);
        CHECK_HAS(err.text, hostile[i].why);
        CHECK_EQ_I64(vesta_layout_parse(hostile[i].text, &layout, NULL), VESTA_ELAYOUT);
    }
}

static void huge_texts_are_refused_at_once(void) {
    enum { SIZE = 10 << 20 };
    char *text = malloc(SIZE + 1);
    static const char fills[] = "a:=1 ";
    struct vesta_layout layout;
    struct vesta_error err;
    NEED(text);
    for (const char *fill = fills; *fill; fill++) {
        memset(text, *fill, SIZE);
        text[SIZE] = 0;
        CHECK_EQ_I64(vesta_layout_parse(text, &layout, &err), VESTA_ELAYOUT);
        CHECK(strlen(err.text) < sizeof err.text - 1);
    }
    free(text);
}

static void every_prefix_is_safe(void) {
    for (int i = 0; vesta_preset_at(i); i++) {
        char text[VESTA_LAYOUT_TEXT_MAX];
        struct vesta_layout layout;
        size_t length = strlen(vesta_preset_at(i)->text);
        for (size_t cut = 0; cut <= length; cut++) {
            memcpy(text, vesta_preset_at(i)->text, cut);
            text[cut] = 0;
            int rc = vesta_layout_parse(at_wall(text, cut + 1), &layout, NULL);
            CHECK(cut < length || rc == VESTA_OK);
        }
    }
    for (size_t i = 0; i < VS_COUNT(hostile); i++) {
        struct vesta_layout layout;
        vesta_layout_parse(at_wall(hostile[i].text, strlen(hostile[i].text) + 1), &layout, NULL);
    }
}

static void every_changed_byte_is_safe(void) {
    static const char *const text = "leaf time:40 worker:11 unit=1ms epoch=2014-12-31T16:00:00Z";
    char changed[128];
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++)
        for (int byte = 0; byte < 256; byte++) {
            struct vesta_layout layout;
            memcpy(changed, text, length + 1);
            changed[i] = (char)byte;
            if (vesta_layout_parse(at_wall(changed, length + 1), &layout, NULL) == VESTA_OK) check_round_trip(&layout);
        }
}

/* ------------------------------------------------------------------ random layouts */

static void shuffled_order(uint64_t *dice, int *order, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t j = roll_below(dice, i + 1);
        order[i] = order[j];
        order[j] = (int)i;
    }
}

/* Divides 64 bits into `count` fields of 1 to 53 bits.  Fields 0 and 1 have at most 62 together. */
static bool cut_bits(uint64_t *dice, unsigned *widths, size_t count) {
    for (size_t i = 0; i < count; i++)
        widths[i] = 1;
    for (size_t left = 64 - count; left > 0; left--)
        widths[roll_below(dice, count)]++;
    for (size_t i = 0; i < count; i++)
        if (widths[i] > 53) return false;
    return true;
}

static void random_text(uint64_t *dice, char *text, size_t size) {
    static const char *const units[] = {"1ms", "10ms", "1s", "1us", "125us", "5ms", "500000us", "1000us"};
    unsigned widths[VESTA_FIELDS_MAX];
    int order[VESTA_FIELDS_MAX];
    size_t count = 3 + roll_below(dice, 14), used = 0;
    while (!cut_bits(dice, widths, count))
        count = 3 + roll_below(dice, 14);
    shuffled_order(dice, order, count);
    for (size_t n = 0; n < count; n++) {
        int i = order[n];
        char name[VESTA_NAME_MAX];
        snprintf(name, sizeof name,
                 i == 0   ? "time"
                 : i == 1 ? "seq"
                 : i == 2 ? (count % 2 ? "worker" : "machine")
                          : "fifteen_chars%02d",
                 i);
        used += (size_t)snprintf(text + used, size - used, "%s:%u", name, widths[i]);
        if (i > 2 && roll_below(dice, 2))
            used +=
                (size_t)snprintf(text + used, size - used, "=%" PRIu64, roll(dice) & ((UINT64_C(1) << widths[i]) - 1));
        text[used++] = ' ';
    }
    used += (size_t)snprintf(text + used, size - used, "unit=%s epoch=%" PRIu64, units[roll_below(dice, 8)],
                             roll_below(dice, VS_EPOCH_MS_MAX + 1));
    if (roll_below(dice, 4) == 0)
        snprintf(text + used, size - used, " seq_start=%s:%" PRIu64, roll_below(dice, 2) ? "rotate" : "shards",
                 1 + roll_below(dice, (UINT64_C(1) << (widths[1] < 30 ? widths[1] : 30)) - 1));
    else if (roll_below(dice, 2) && widths[1] < 31) /* spread requires the sequence in the lowest bits */
        snprintf(text + used, size - used, " seq_start=spread:%" PRIu64,
                 order[count - 1] == 1 ? 1 + roll_below(dice, (UINT64_C(1) << widths[1]) - 1) : 1);
}

/* These are read-only because of the preset's name, or because the cursor has too few bits. The same fields written out
 * can issue ids. */
static void some_are_only_read(void) {
    static const struct {
        const char *text, *why;
    } layouts[] = {
        {"mastodon", "62 bits"},
        {"time:48 seq:16 unit=1ms epoch=0", "62 bits"},
        {"time:53 seq:10 unit=1s epoch=0", "62 bits"},
        {"time:32 worker:1 seq:31 unit=1s epoch=0", "62 bits"},
        {"instagram", "never restarts"},
        {"cockroachdb epoch=0", "the cluster"},
        {"time:53 seq:9 worker:2 unit=1us epoch=0", NULL},
        {"time:41 shard:13 seq:10 unit=1ms epoch=0", NULL},
        {"discord", NULL},
        {"tid", NULL},
    };
    for (size_t i = 0; i < VS_COUNT(layouts); i++) {
        struct vesta_layout l = parsed(layouts[i].text);
        CHECK_EQ_I64(l.read_only == NULL, layouts[i].why == NULL);
        if (l.read_only && layouts[i].why) CHECK_HAS(l.read_only, layouts[i].why);
    }
}

static void random_layouts_come_back(void) {
    uint64_t dice = 4;
    char text[1024];
    for (int i = 0; i < 20000; i++) {
        random_text(&dice, text, sizeof text);
        struct vesta_layout layout = parsed(text);
        check_round_trip(&layout);
        unsigned shift = 64;
        for (int n = 0; n < layout.field_count; n++) {
            shift -= layout.field[n].width;
            CHECK_EQ_U64(layout.field[n].shift, shift);
        }
        CHECK_EQ_U64(shift, 0);
    }
}

static void longest_text_fits(void) {
    char text[1024], out[VESTA_LAYOUT_TEXT_MAX];
    size_t used = (size_t)snprintf(text, sizeof text, "time:10 ");
    for (int i = 0; i < 14; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "fifteen_chars%02d:%d=%d ", i, i == 0 ? 8 : 1,
                                 i == 0 ? 255 : 1);
    snprintf(text + used, sizeof text - used, "seq:33 unit=10ms epoch=253402300799999 seq_start=shards:1073741823");
    struct vesta_layout layout = parsed(text);
    CHECK_EQ_I64(layout.field_count, VESTA_FIELDS_MAX);
    CHECK(vesta_layout_text(&layout, out) < VESTA_LAYOUT_TEXT_MAX);
    check_round_trip(&layout);
}

/* ------------------------------------------------------------------ fingerprints */

static void fingerprints(void) {
    static const char *const all_differ[] = {
        "vesta-second",
        "vesta-second epoch=2014-12-31T16:00:00.001Z",
        "vesta-second unit=10ms",
        "vesta-second time:29 seq:21",
        "vesta-legacy-second",
        "version:1 typo:1=0 method:2 time:30 seq:20 machine:10 unit=1s epoch=2014-12-31T16:00:00Z",
        "version:1 type:1=0 method:2 time:30 seq:20 worker:10 unit=1s epoch=2014-12-31T16:00:00Z",
        "vesta-milli",
        "butterfly",
        "butterfly-v1.0.1",
        "butterfly seq:7 worker:13 seq:2",
    };
    for (size_t i = 0; i < VS_COUNT(all_differ); i++)
        for (size_t j = 0; j < i; j++) {
            struct vesta_layout a = parsed(all_differ[i]), b = parsed(all_differ[j]);
            CHECK(a.fingerprint != b.fingerprint);
        }
    struct vesta_layout second = parsed("vesta-second"),
                        other = parsed("vesta-second type:1=1 method:2=3 seq_start=spread:1");
    CHECK_EQ_U64(second.fingerprint, other.fingerprint);
    struct vesta_layout leaf = parsed("leaf"), snowflake = parsed("snowflake");
    CHECK_EQ_U64(leaf.fingerprint, snowflake.fingerprint);
}

/* The FNV-1a 64 of "version:1 type:1 method:2 time:30 seq:20 machine:10 unit=1s epoch=2014-12-31T16:00:00Z". It must
 * never change, because files and stores contain it. */
static void the_fingerprint_is_frozen(void) {
    struct vesta_layout l = parsed("vesta-second");
    CHECK_EQ_U64(l.fingerprint, UINT64_C(0x46895b58eedffa27));
}

static const struct check_case cases[] = {
    {"a layout has its preset's name, whatever its seq_start is", the_start_of_sequences_is_no_part_of_a_layouts_name},
    {"every preset is its own canonical text and comes back from it unchanged", presets_are_canonical},
    {"layouts end at the times in their documents", ends_are_right},
    {"a layout has a reason if its ids can only be read", some_are_only_read},
    {"fields, shifts, maxima, unit and epoch are those in the text", the_fields_follow_the_text},
    {"texts with the same meaning have one canonical text", texts_that_mean_the_same},
    {"a layout may have no leased field", no_leased_field_is_a_layout_too},
    {"worker and machine both find the leased field, and unknown names find nothing", both_names_find_the_leased_field},
    {"an invalid text is rejected with the reason, and nothing is set", refused_with_a_reason},
    {"10 MiB of nonsense are rejected", huge_texts_are_refused_at_once},
    {"no byte after the end of a text is read, wherever it is cut", every_prefix_is_safe},
    {"any one byte of a text may be any other", every_changed_byte_is_safe},
    {"20,000 random layouts of up to 16 fields are read back from their text", random_layouts_come_back},
    {"the longest layout fits its text", longest_text_fits},
    {"a fingerprint depends on names, widths, order, unit and epoch, and on nothing else", fingerprints},
    {"the fingerprint of vesta-second is the one in existing files", the_fingerprint_is_frozen},
};
CHECK_MAIN(cases)
