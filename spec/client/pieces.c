/* pieces.c -- tests the parts of a client without a network: options, blocks, replies of servers. */
#include "base/array.h"
#include "check.h"
#include "client/layouts.h"
#include "client/reply.h"
#include "vesta_client.h"

#include <stdio.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ options */

static void refuses(const struct vesta_client_opts *opts, const char *part) {
    struct vesta_client *client = NULL;
    struct vesta_error err = {.text = ""};
    CHECK_EQ_I64(vesta_client_open(opts, &client, &err), VESTA_EOPTION);
    CHECK_EQ_I64(err.code, VESTA_EOPTION);
    CHECK_HAS(err.text, part);
    CHECK(client == NULL);
    for (const char *c = err.text; *c; c++)
        CHECK(*c >= ' ' && *c <= '~');
    CHECK(vesta_client_open(opts, &client, NULL) == VESTA_EOPTION);
}

static void takes(const struct vesta_client_opts *opts) {
    struct vesta_client *client;
    struct vesta_error err = {.text = ""};
    if (vesta_client_open(opts, &client, &err) != VESTA_OK)
        CHECK_FAIL("%s", err.text);
    else
        vesta_client_close(client);
}

#define OPTS(...)                                                                                                      \
    &(struct vesta_client_opts) {                                                                                      \
        .size = sizeof(struct vesta_client_opts), __VA_ARGS__                                                          \
    }

static void bad_servers(void) {
    char longest[4000];
    refuses(OPTS(.servers = NULL), "no address is given");
    refuses(OPTS(.servers = ""), "no address is given");
    refuses(OPTS(.servers = ","), "is empty");
    refuses(OPTS(.servers = "a:1,"), "is empty");
    refuses(OPTS(.servers = "a:1,,b:2"), "is empty");
    refuses(OPTS(.servers = "a:1, b:2"), "' b:2' is not an address");
    refuses(OPTS(.servers = "nowhere"), "'nowhere' is not an address");
    refuses(OPTS(.servers = "a:0"), "from 1 to 65535");
    refuses(OPTS(.servers = "a:65536"), "from 1 to 65535");
    refuses(OPTS(.servers = "a:99999999999999999999"), "from 1 to 65535");
    refuses(OPTS(.servers = "a:8x"), "from 1 to 65535");
    refuses(OPTS(.servers = ":80"), "not an address");
    refuses(OPTS(.servers = "::1:80"), "not an address");
    refuses(OPTS(.servers = "unix:"), "1 to");
    refuses(OPTS(.servers = "a:1,a:1"), "twice");
    refuses(OPTS(.servers = "a:1,b:1,c:1,d:1,e:1,f:1,g:1,h:1,i:1"), "more than 8");
    refuses(OPTS(.servers = "\x1b[31m:80\xff"), "\\x1b");
    refuses(OPTS(.servers = "a%n%s%s%s:b"), "a%n%s%s%s:b");
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    refuses(OPTS(.servers = longest), "longer than 2000");
    longest[300] = '\0';
    refuses(OPTS(.servers = longest), "longer than 255");
    takes(OPTS(.servers = "a:1,[::1]:65535,unix:/tmp/x.sock,b.example:8089,e:1,f:1,g:1,h:1"));
}

static void bad_others(void) {
    char longest[600];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    refuses(OPTS(.servers = "a:1", .name = ""), "name: ''");
    refuses(OPTS(.servers = "a:1", .name = "a b"), "'a b'");
    refuses(OPTS(.servers = "a:1", .name = "a\r\nFLUSHALL"), "\\x0d\\x0a");
    refuses(OPTS(.servers = "a:1", .name = longest), "name");
    takes(OPTS(.servers = "a:1", .name = longest + sizeof longest - 1 - 64));
    refuses(OPTS(.servers = "a:1", .name = longest + sizeof longest - 1 - 65), "name");
    refuses(OPTS(.servers = "a:1", .password = longest), "password is longer than 511");
    takes(OPTS(.servers = "a:1", .password = longest + sizeof longest - 1 - 511));
    static const int64_t wrong[] = {-1, INT64_MIN, INT64_MAX, 86400001};
    for (size_t i = 0; i < VS_COUNT(wrong); i++) {
        refuses(OPTS(.servers = "a:1", .ttl_ms = wrong[i]), "ttl_ms ");
        refuses(OPTS(.servers = "a:1", .timeout_ms = wrong[i]), "timeout_ms ");
        refuses(OPTS(.servers = "a:1", .block_min = wrong[i]), "block_min ");
        refuses(OPTS(.servers = "a:1", .block_max = wrong[i]), "block_max ");
    }
    refuses(OPTS(.servers = "a:1", .timeout_ms = 60001), "60001 is out of range: use 1 to 60000");
    refuses(OPTS(.servers = "a:1", .block_max = 100001), "use 1 to 100000");
    refuses(OPTS(.servers = "a:1", .block_min = 11, .block_max = 10), "block_min 11 is above block_max 10");
    takes(OPTS(.servers = "a:1", .block_max = 1));
    takes(OPTS(.servers = "a:1", .block_min = 100000));
    takes(OPTS(.servers = "a:1", .ttl_ms = 86400000, .timeout_ms = 60000));
}

static void sizes(void) {
    struct {
        struct vesta_client_opts opts;
        uint64_t newer;
    } later = {.opts = {.size = sizeof later, .servers = "a:1"}, .newer = 0};
    takes(&later.opts);
    later.newer = 1;
    refuses(&later.opts, "does not support");
    refuses(NULL, "VESTA_CLIENT_OPTS_INIT");
    refuses(&(struct vesta_client_opts){.servers = "a:1"}, "VESTA_CLIENT_OPTS_INIT");
    refuses(&(struct vesta_client_opts){.size = 1 << 20, .servers = "a:1"}, "VESTA_CLIENT_OPTS_INIT");
    vesta_client_close(NULL);
}

/* ------------------------------------------------------------------ blocks */

/* Returns the i-th id, taken in runs of at most n. */
static uint64_t id_at(struct vs_block block, uint64_t i, uint64_t n) {
    struct vs_run run;
    do {
        vs_block_take(&block, n, &run);
        if (i < run.count) return run.next + i * run.step;
        i -= run.count;
    } while (block.count > 0);
    return 0;
}

static void one_vector(char *line) {
    uint64_t value[12] = {0};
    bool is_ticks = strncmp(line, "ticks", 5) == 0;
    for (int i = 0; i < 12; i++) {
        char *cell = strsep(&line, ",\n");
        if (i > 0) value[i] = strtoull(cell, NULL, 10);
    }
    struct vs_block block = {.is_ticks = is_ticks,
                             .seq_bits = (uint8_t)value[1],
                             .time_shift = (uint8_t)value[2],
                             .seq_shift = (uint8_t)value[3],
                             .low_bits = (uint8_t)value[4],
                             .low_shift = (uint8_t)value[5],
                             .base = value[6],
                             .first = value[7],
                             .count = value[8],
                             .stride = is_ticks ? 1 : value[9]};
    const char *why = vs_block_reject(&block, block.count);
    if (why) CHECK_FAIL("%s", why);
    CHECK(vs_block_reject(&block, block.count - 1));
    for (uint64_t n = 1; n < 100; n += 3)
        CHECK_EQ_U64(id_at(block, value[10], n), value[11]);
}

static void vectors_hold(void) {
    char line[256];
    int count = 0;
    FILE *file = fopen(SPEC_DIR "/vectors/blocks.csv", "r");
    NEED(file);
    while (fgets(line, sizeof line, file))
        if (*line != '#') one_vector(line), count++;
    fclose(file);
    CHECK(count >= 20);
}

/* Returns a block of vesta-second, with the changes of a claim. */
static struct vs_block usual(void) {
    return (struct vs_block){.is_ticks = true,
                             .seq_bits = 20,
                             .time_shift = 30,
                             .seq_shift = 10,
                             .base = 7,
                             .first = UINT64_C(393457173528570),
                             .count = 1000,
                             .stride = 1};
}

#define REJECTED(part, change)                                                                                         \
    do {                                                                                                               \
        struct vs_block b = usual();                                                                                   \
        change;                                                                                                        \
        const char *why_ = vs_block_reject(&b, 1000);                                                                  \
        CHECK_HAS(why_ ? why_ : "it is accepted", part);                                                               \
    } while (0)

static void overlaps(void) {
    struct vs_block a = usual(), b = usual();
    CHECK(vs_block_overlaps(&a, &b));
    b.first += 999;
    CHECK(vs_block_overlaps(&a, &b) && vs_block_overlaps(&b, &a));
    b.first += 1;
    CHECK(!vs_block_overlaps(&a, &b) && !vs_block_overlaps(&b, &a));
    b = usual(), b.base = 8;
    CHECK(!vs_block_overlaps(&a, &b)); /* another worker id's */
    a = (struct vs_block){.first = 10, .count = 5, .stride = 2}, b = a;
    CHECK(vs_block_overlaps(&a, &b));
    b.first = 11; /* another database's */
    CHECK(!vs_block_overlaps(&a, &b));
    b.first = 18;
    CHECK(vs_block_overlaps(&a, &b) && vs_block_overlaps(&b, &a));
    b.first = 20;
    CHECK(!vs_block_overlaps(&a, &b) && !vs_block_overlaps(&b, &a));
    b = (struct vs_block){.first = 17, .count = 1, .stride = 1}; /* unknown, so: no */
    CHECK(vs_block_overlaps(&a, &b));
}

static void impossible_blocks(void) {
    struct vs_block well = usual();
    CHECK(vs_block_reject(&well, 1000) == NULL);
    REJECTED("no ids", b.count = 0);
    REJECTED("more ids than", b.count = 1001);
    REJECTED("shifts or widths", b.seq_bits = 63);
    REJECTED("shifts or widths", b.time_shift = 64);
    REJECTED("shifts or widths", b.seq_shift = 255);
    REJECTED("shifts or widths", b.low_shift = 64);
    REJECTED("wider than the whole", b.low_bits = 21);
    REJECTED("more ticks than a layout allows", b.first = UINT64_MAX);
    REJECTED("more ticks than a layout allows", b.first = (UINT64_C(1) << 62) - 500);
    REJECTED("more than 64 bits", b.time_shift = 63);
    REJECTED("more than 64 bits", b.seq_shift = 63);
    REJECTED("overlap", b.time_shift = 29);
    REJECTED("overlap", b.seq_shift = 11);
    REJECTED("overlap", (b.low_bits = 1, b.low_shift = 12));
    REJECTED("base overlaps", b.base = UINT64_C(1) << 10);
    REJECTED("base overlaps", b.base = UINT64_C(1) << 30);
    REJECTED("base overlaps", b.base = UINT64_MAX);
    REJECTED("stride is 0", (b.is_ticks = false, b.stride = 0));
    REJECTED("exceed 2^63 - 1", (b.is_ticks = false, b.first = INT64_MAX - 998));
    REJECTED("exceed 2^63 - 1", (b.is_ticks = false, b.first = 1, b.stride = UINT64_MAX));
    REJECTED("exceed 2^63 - 1", (b.is_ticks = false, b.first = UINT64_MAX));
}

/* ------------------------------------------------------------------ replies */

static int read_words(const char *const *words, struct vs_block *out, struct vesta_error *err) {
    struct vs_slice at[VS_REPLY_VALUES_MAX];
    int count = 0;
    while (words[count])
        at[count] = (struct vs_slice){words[count], strlen(words[count])}, count++;
    return vs_reply_read(&(struct vs_client_values){at, count}, "orders", 1000, out, err);
}

#define SAYS(part, ...)                                                                                                \
    do {                                                                                                               \
        struct vs_block block_ = {.count = 77};                                                                        \
        struct vesta_error err_ = {.text = "it is accepted"};                                                          \
        int rc_ = read_words((const char *const[]){__VA_ARGS__, NULL}, &block_, &err_);                                \
        CHECK_EQ_I64(rc_, part ? VESTA_EIO : VESTA_OK);                                                                \
        if (part) CHECK_HAS(err_.text, part ? part : "");                                                              \
        if (part) CHECK_EQ_U64(block_.count, 77);                                                                      \
    } while (0)

#define SHIFTS "seq_bits", "20", "time_shift", "30", "seq_shift", "10", "low_bits", "0", "low_shift", "0"
#define TICKS "kind", "ticks", "base", "7", "first", "393457173528570"

static void replies(void) {
    const char *none = NULL;
    SAYS(none, "ns", "orders", TICKS, "count", "1000", SHIFTS);
    SAYS(none, "later", "?", "count", "1", SHIFTS, "ns", "orders", TICKS, "", "");
    SAYS(none, "ns", "orders", "kind", "numbers", "first", "5", "count", "3", "stride", "2");
    SAYS("without a value", "ns", "orders", "kind");
    SAYS("does not have ns", "kind", "ticks");
    SAYS("does not have kind", "ns", "orders");
    SAYS("about 'order', not 'orders'", "ns", "order", TICKS, "count", "1", SHIFTS);
    SAYS("'\\x01\\xff'", "ns", "orders", "kind", "\x01\xff");
    SAYS("does not have count", "ns", "orders", TICKS, SHIFTS);
    SAYS("does not have low_shift", "ns", "orders", TICKS, "count", "1", "seq_bits", "20", "time_shift", "30",
         "seq_shift", "10", "low_bits", "0");
    SAYS("does not have stride", "ns", "orders", "kind", "numbers", "first", "5", "count", "3");
    SAYS("count twice", "ns", "orders", TICKS, "count", "1", "count", "1", SHIFTS);
    SAYS("count '-1', which is not a number", "ns", "orders", TICKS, "count", "-1", SHIFTS);
    SAYS("count '1e3', which is not a number", "ns", "orders", TICKS, "count", "1e3", SHIFTS);
    SAYS("count '', which is not a number", "ns", "orders", TICKS, "count", "", SHIFTS);
    SAYS("'18446744073709551616', which is not a number", "ns", "orders", TICKS, "count", "18446744073709551616",
         SHIFTS);
    SAYS("more ids than the client requested", "ns", "orders", TICKS, "count", "1001", SHIFTS);
    SAYS("its shifts or widths is too large", "ns", "orders", TICKS, "count", "1", "seq_bits", "276", "time_shift", "30",
         "seq_shift", "10", "low_bits", "0", "low_shift", "0");
    SAYS("'beads'", "ns", "orders", "kind", "beads", "count", "1");
}

#define REST " time:30 seq:28 worker:4 unit=1s epoch=2020-01-01T00:00:00Z"

static int take(struct vs_layouts *known, const char *text) {
    struct vesta_error err = {.code = VESTA_OK};
    int rc = vs_layouts_take(known, (struct vs_slice){text, strlen(text)}, &err);
    CHECK_EQ_I64(rc, err.code);
    return rc;
}

static void layouts_of_blocks(void) {
    struct vs_layouts known = {.count = 0};
    char many[120];
    for (int i = 0; i < 100; i++) { /* one namespace: its hosts may set constants in its free fields */
        CHECK_EQ_I64(take(&known, "version:1 kind:1=0" REST), VESTA_OK);
        CHECK_EQ_I64(take(&known, "version:1=0 kind:1=0" REST), VESTA_OK);
        CHECK_EQ_I64(take(&known, ""), VESTA_OK);
    }
    CHECK_EQ_I64(known.count, 1);
    CHECK_EQ_I64(take(&known, "version:1=1 kind:1=0 time:40 seq:18 worker:4 unit=1ms epoch=2020-01-01T00:00:00Z"),
                 VESTA_EMISMATCH); /* distinct only because of the hosts' constants */
    CHECK_EQ_I64(take(&known, "version:1 kind:1=1 time:40 seq:18 worker:4 unit=1ms epoch=2020-01-01T00:00:00Z"),
                 VESTA_OK);
    CHECK_EQ_I64(take(&known, "a newer server's"), VESTA_ELAYOUT);
    CHECK_EQ_I64(known.count, 2);
    known = (struct vs_layouts){.count = 0};
    CHECK_EQ_I64(take(&known, "a newer server's"), VESTA_OK); /* as long as there is no other */
    CHECK_EQ_I64(take(&known, "a newer server's"), VESTA_OK);
    CHECK_EQ_I64(take(&known, "another newer server's"), VESTA_ELAYOUT);
    CHECK_EQ_I64(take(&known, "version:1=0 kind:1=0" REST), VESTA_ELAYOUT);
    known = (struct vs_layouts){.count = 0};
    for (int i = 0; i <= VS_LAYOUTS_MAX; i++) {
        snprintf(many, sizeof many, "n:5=%d time:30 seq:25 worker:4 unit=1s epoch=20%02d-01-01T00:00:00Z", i, i);
        CHECK_EQ_I64(take(&known, many), i < VS_LAYOUTS_MAX ? VESTA_OK : VESTA_EFULL);
    }
    CHECK_EQ_I64(known.count, VS_LAYOUTS_MAX);
    char huge[VESTA_LAYOUT_TEXT_MAX + 1];
    memset(huge, 'x', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    CHECK_EQ_I64(take(&known, huge), VESTA_ELAYOUT);
}

/* of the namespace's first, second and third layout.  The third has the fields of the first */
static int take_host(struct vs_layouts *known, int generation, int dc) {
    char text[120];
    snprintf(text, sizeof text, "version:2=%d dc:6=%d time:30 seq:21 worker:4 unit=1s epoch=20%02d-01-01T00:00:00Z",
             generation, dc, generation == 1 ? 25 : 20);
    return take(known, text);
}

static void layouts_of_hosts(void) {
    struct vs_layouts known = {.count = 0};
    for (int dc = 0; dc < 64; dc++)
        for (int generation = 0; generation < 3; generation++)
            CHECK_EQ_I64(take_host(&known, generation, dc), VESTA_OK);
    CHECK(known.count <= VS_LAYOUTS_MAX);
    for (int dc = 0; dc < 64; dc++) /* earlier layouts are still known, and so are the ids that they may have issued */
        for (int generation = 0; generation < 3; generation++)
            CHECK_EQ_I64(take_host(&known, generation, dc), VESTA_OK);
    for (int version = 0; version < 3; version++)
        for (int dc = 0; dc < 64; dc++) {
            char text[120];
            snprintf(text, sizeof text,
                     "version:2=%d dc:6=%d time:34 seq:17 worker:4 unit=1s epoch=2020-01-01T00:00:00Z", version, dc);
            CHECK_EQ_I64(take(&known, text), VESTA_EMISMATCH);
        }
    CHECK_EQ_I64(take(&known, "version:2=3 dc:6 time:34 seq:17 worker:4 unit=1s epoch=2020-01-01T00:00:00Z"), VESTA_OK);
}

static const struct check_case cases[] = {
    {"an invalid list of servers is rejected, and the message has the wrong part", bad_servers},
    {"every other option is rejected if it is wrong, empty, huge or hostile", bad_others},
    {"options of another size are read as far as they are known", sizes},
    {"the test vectors for clients hold, however the ids are taken", vectors_hold},
    {"a block that no layout can have is rejected", impossible_blocks},
    {"blocks with a common id are detected", overlaps},
    {"ids of two layouts are issued if they are distinct, and only one of them if that is unknown", layouts_of_blocks},
    {"any number of hosts may set different constants in a field, and they stay distinct from other layouts",
     layouts_of_hosts},
    {"a reply is read by its names, and all values are checked", replies},
};
CHECK_MAIN(cases)
