/* plain.c -- vesta_plain.h: closed handles, answers, the id 0, limits, and control characters in a value. */
#include "check.h"
#include "generator/generator.h"
#include "hand_clock.h"
#include "vesta_plain.h"

#include <inttypes.h>
#include <string.h>

static char answer[VESTA_ANSWER_MAX];
static struct vesta_error err;

/* Opens a generator by hand, because text has no clock. */
static uint64_t open_private(const char *layout) {
    struct vesta_opts opts = VESTA_OPTS_INIT;
    struct vesta_gen *gen = NULL;
    opts.layout = layout;
    opts.clock = &fake;
    opts.flags = VESTA_UNSAFE_PRIVATE;
    opts.has_worker = 1;
    if (vesta_open(&opts, &gen, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    return (uintptr_t)gen;
}

static void closed_handles(void) {
    const char *said = "code=closed\ntext=this generator is closed. Open it again\n";
    uint64_t ids[1];
    char text[VESTA_UUID_TEXT_MAX];
    CHECK_EQ_U64(vesta_plain_next(0), 0);
    CHECK_EQ_U64(vesta_plain_next_wait(0, 0, answer), 0);
    CHECK_STR(answer, said);
    int codes[] = {vesta_plain_batch(0, ids, 1, 0, answer), vesta_plain_explain(0, 1, answer),
                   vesta_plain_make(0, "time=1", answer), vesta_plain_info(0, answer),
                   vesta_plain_next_uuid(0, "uuid7", text, 0, answer)};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        CHECK_EQ_I64(codes[i], VESTA_ECLOSED);
    CHECK_STR(answer, said);
    vesta_plain_close(0);
}

static void failing_open(void) {
    CHECK_EQ_U64(vesta_plain_open("wroker=7", answer), 0);
    CHECK_STR(answer, "code=bad_option\ntext=wroker is not an option, did you mean worker?\n");
}

static void pauses(void) {
    uint64_t handle = open_private("sign:1 time:41 seq:2 worker:20 unit=1ms epoch=2020-01-01T00:00:00Z");
    unix_now_us += 1001 - unix_now_us % 1000; /* so that the next unit begins in 999 us */
    for (int i = 0; i < 4; i++)
        CHECK(vesta_plain_next(handle));
    CHECK_EQ_U64(vesta_plain_next(handle), 0);
    CHECK_EQ_U64(vesta_plain_next_wait(handle, 0, answer), 0);
    CHECK_STR(answer, "code=pause\nreason=full\nwait_ms=1\n"
                      "text=the sequence of this time unit is exhausted, and the next unit begins in 0.000999 s\n");
    uint64_t ids[2];
    CHECK_EQ_I64(vesta_plain_batch(handle, ids, 2, -5, answer), VESTA_EPAUSE);
    CHECK(strstr(answer, "reason=full\n"));
    vesta_plain_close(handle);
}

static void check_no_uuid(uint64_t handle, const char *shape, const char *said) {
    char text[VESTA_UUID_TEXT_MAX] = "x";
    CHECK_EQ_I64(vesta_plain_next_uuid(handle, shape, text, 0, answer), VESTA_EOPTION);
    CHECK_STR(answer, said);
    CHECK_STR(text, "x");
}

static void uuids(void) {
    static const char *const shapes[][2] = {{"uuid7", "dddddddd-dddd-7ddd-dddd-dddddddddddd"},
                                            {"uuid8", "dddddddd-dddd-8ddd-dddd-dddddddddddd"},
                                            {"ulid", "dddddddddddddddddddddddddd"},
                                            {"hex32", "dddddddddddddddddddddddddddddddd"}};
    uint64_t handle = open_private("time:30 worker:9 seq:24 sign:1 unit=1s epoch=2020-01-01T00:00:00Z");
    for (int i = 0; i < 4; i++) {
        char text[VESTA_UUID_TEXT_MAX] = "", before[VESTA_UUID_TEXT_MAX] = "";
        for (int j = 0; j < 2; j++) {
            memcpy(before, text, sizeof text);
            CHECK_EQ_I64(vesta_plain_next_uuid(handle, shapes[i][0], text, 0, answer), VESTA_OK);
            CHECK_STR(answer, "");
            CHECK(strcmp(before, text) < 0);
        }
        CHECK_EQ_U64(strlen(text), strlen(shapes[i][1]));
        for (size_t at = 0; at < strlen(text); at++)
            CHECK(shapes[i][1][at] == 'd' ? text[at] != '-' : text[at] == shapes[i][1][at]);
    }
    check_no_uuid(handle, "uuid6",
                  "code=bad_option\ntext=shape is 'uuid6', which must be uuid7, uuid8, ulid or hex32\n");
    struct vesta_gen *gen = (struct vesta_gen *)(uintptr_t)handle;
    gen->uuid.can[VESTA_ULID] = false; /* as vesta_open does without random bytes */
    check_no_uuid(handle, "ulid",
                  "code=bad_option\ntext=the kernel returned no random bytes for ulid when the generator was opened: permit "
                  "getrandom and open the generator again, or use uuid8\n");
    vesta_plain_close(handle);
    handle = open_private("time:30 worker:9 seq:25 unit=1s epoch=2020-01-01T00:00:00Z");
    check_no_uuid(handle, "hex32",
                  "code=bad_option\ntext=hex32 has room for a counter of 24 bits, and the layout needs 25: "
                  "use uuid8, or a layout with a shorter sequence\n");
    vesta_plain_close(handle);
}

static void skips_zero(void) {
    char layout[128];
    snprintf(layout, sizeof layout, "sign:1=0 time:40 seq:13 worker:10 unit=1s epoch=%" PRId64, unix_now_us / 1000);
    uint64_t handle = open_private(layout);
    CHECK_EQ_U64(vesta_plain_next(handle), 1 << 10);
    vesta_plain_close(handle);
    handle = open_private(layout);
    CHECK_EQ_U64(vesta_plain_next_wait(handle, 0, answer), 1 << 10);
    vesta_plain_close(handle);
}

static void batch_limits(void) {
    uint64_t handle = open_private("sign:1 time:31 seq:22 worker:10 unit=1s epoch=2020-01-01T00:00:00Z"),
             ids[2] = {7, 7};
    const int64_t wrong[] = {INT64_MIN, -1, 0, VESTA_BATCH_MAX + 1, INT64_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char said[64];
        snprintf(said, sizeof said, "a batch of %" PRId64 " ids was requested", wrong[i]);
        CHECK_EQ_I64(vesta_plain_batch(handle, ids, wrong[i], 0, answer), VESTA_EOPTION);
        CHECK(strstr(answer, said));
    }
    CHECK(ids[0] == 7 && ids[1] == 7);
    CHECK_EQ_I64(vesta_plain_batch(handle, ids, 2, INT64_MAX, answer), VESTA_OK);
    CHECK(ids[1] == ids[0] + 1024);
    CHECK_STR(answer, "");
    vesta_plain_close(handle);
}

static void reads_and_makes(void) {
    uint64_t handle = open_private("sign:1=0 time:31 seq:22 worker:10 unit=1s epoch=2020-01-01T00:00:00Z");
    CHECK_EQ_I64(vesta_plain_make(handle, "  time=5 seq=1\tworker=3 ", answer), VESTA_OK);
    CHECK_STR(answer, "id=21474837507\n");
    CHECK_EQ_I64(vesta_plain_explain(handle, 21474837507, answer), VESTA_OK);
    CHECK_STR(answer, "sign=0\ntime=5\nseq=1\nworker=3\nunix_ms=1577836805000\n");
    CHECK_EQ_I64(vesta_plain_explain(handle, UINT64_MAX, answer), VESTA_EID);
    for (int i = 0; i < 2; i++) { /* a field without a value, and one field more than a layout has */
        const char *wrong = i ? "a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1 i=1 j=1 k=1 l=1 m=1 n=1 o=1 p=1 q=1" : "time";
        CHECK_EQ_I64(vesta_plain_make(handle, wrong, answer), VESTA_EFIELD);
        CHECK(strstr(answer, i ? "more than 16 fields" : "'time' is not a field"));
    }
    CHECK_EQ_I64(vesta_plain_make(handle, "a_name_of_17_bytes=1", answer), VESTA_EFIELD);
    vesta_plain_close(handle);
}

static void formats_and_parses(void) {
    CHECK_EQ_I64(vesta_plain_format("base62", UINT64_MAX, answer), VESTA_OK);
    CHECK_STR(answer, "text=LygHa16AHYF\n");
    CHECK_EQ_I64(vesta_plain_parse("base62", "LygHa16AHYF", 11, answer), VESTA_OK);
    CHECK_STR(answer, "id=18446744073709551615\n");
    CHECK_EQ_I64(vesta_plain_parse("decimal", "7\0", 2, answer), VESTA_EID);
    CHECK_STR(answer, "code=bad_id\ntext='7\\x00' is not an id in base decimal, or exceeds 64 bits\n");
    CHECK_EQ_I64(vesta_plain_parse("base61", "7", 1, answer), VESTA_EOPTION);
    CHECK_EQ_I64(vesta_plain_format("", 7, answer), VESTA_EOPTION);
}

static void info_lines(void) {
    uint64_t handle = open_private("sign:1 time:31 seq:22 worker:10 unit=1s epoch=2020-01-01T00:00:00Z");
    struct vs_map *map = atomic_load(&((struct vesta_gen *)(uintptr_t)handle)->map);
    for (const char *c = "a\n\x01"
                         "b=c",
                    *from = c;
         c <= from + 6; c++)
        atomic_store(&map->shared.keeper[c - from], *c); /* as a database's message may be */
    CHECK(vesta_plain_next(handle));
    CHECK_EQ_I64(vesta_plain_info(handle, answer), VESTA_OK);
    CHECK(strncmp(answer, "namespace=", 10) == 0 && answer[strlen(answer) - 1] == '\n');
    CHECK_HAS(answer, "\nlayout=sign:1 time:31 seq:22 worker:10 unit=1s epoch=2020-01-01T00:00:00Z\n");
    CHECK_HAS(answer, "\nworker=0\n");
    CHECK_HAS(answer, "\nholds_lease=true\n");
    CHECK_HAS(answer, "\nkeeper=a  b=c\n");
    vesta_plain_close(handle);
}

static const struct check_case cases[] = {
    {"UUIDs are written as text, and a shape that cannot be had is rejected with the reason", uuids},
    {"every function accepts 0 as a closed handle, and fails with its code", closed_handles},
    {"an open that fails returns 0, and its answer has the code and the text", failing_open},
    {"a pause has its reason and a wait that is rounded up", pauses},
    {"the id 0, which would mean a failure, is skipped", skips_zero},
    {"a batch of a wrong size is rejected and writes nothing", batch_limits},
    {"an id is made from fields and split into them, and wrong fields are rejected", reads_and_makes},
    {"ids are written and parsed in each base, with the length that the caller gives", formats_and_parses},
    {"info has a line for each value, and a control character is written as a space", info_lines},
};

CHECK_MAIN(cases)
