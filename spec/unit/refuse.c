/* refuse.c -- options that vesta_open rejects. Each error names the value and, if possible, a remedy. */
#include "base/array.h"
#include "crowd.h"
#include "keeper/rows.h"
#include "said.h"

#include "world.h"

#include <grp.h>

static void refuses(struct vesta_opts opts, int code, const char *because) {
    opts.size = sizeof opts;
    struct vesta_gen *const untouched = (struct vesta_gen *)folder;
    struct vesta_gen *gen = untouched;
    struct vesta_error err = {.text = ""};
    int rc = vesta_open(&opts, &gen, &err);
    CHECK_STR(vesta_code_name(rc), vesta_code_name(code));
    CHECK_EQ_I64(err.code, code);
    CHECK_HAS(err.text, because);
    CHECK(gen == untouched);
    if (rc == VESTA_OK) vesta_close(gen);
    CHECK_EQ_I64(vesta_open(&opts, &gen, NULL), code); /* errors are optional */
}

#define REFUSES(code, because, ...) refuses((struct vesta_opts){__VA_ARGS__}, (code), (because))

static void namespaces(void) {
    static const char *const odd[] = {"",
                                      ".",
                                      "..",
                                      "../x",
                                      "a/b",
                                      "a b",
                                      "x ",
                                      "a`b",
                                      "' OR 1=1 --",
                                      "\xff\xfe",
                                      "a\r\nb",
                                      "%00",
                                      "\xf0\x9f\x98\x80",
                                      "a\tb",
                                      "0123456789012345678901234567890123456789012345678901234567890123x"};
    empty_folder();
    for (size_t i = 0; i < VS_COUNT(odd); i++)
        REFUSES(VESTA_EOPTION, "is not a namespace: use 1 to 64 of A-Z", .namespace_ = odd[i], .any_worker = 1);
    static char huge[1 << 20];
    memset(huge, 'a', sizeof huge - 1);
    REFUSES(VESTA_EOPTION, "is not a namespace", .namespace_ = huge, .any_worker = 1);
    struct vesta_gen *gen = must_open((struct vesta_opts){
        .namespace_ = "0123456789012345678901234567890123456789012345678901234567890123", .any_worker = 1});
    vesta_close(gen);
    struct vesta_gen *upper = must_open((struct vesta_opts){.namespace_ = "A", .any_worker = 1});
    struct vesta_gen *lower = must_open((struct vesta_opts){.namespace_ = "a", .any_worker = 1});
    CHECK(upper && lower);
    vesta_close(upper);
    vesta_close(lower);
}

static void workers(void) {
    empty_folder();
    REFUSES(VESTA_EFIELD, "1024", .layout = "snowflake", .has_worker = 1, .worker = 1024);
    REFUSES(VESTA_EFIELD, "1023", .layout = "snowflake", .has_worker = 1, .worker = 1024);
    REFUSES(VESTA_EFIELD, "18446744073709551615", .layout = "snowflake", .has_worker = 1, .worker = UINT64_MAX);
    REFUSES(VESTA_EFIELD, "the layout has no worker field",
            .layout = "sign:1 time:41 seq:21 other:1 unit=1ms epoch=2020-01-01T00:00:00Z", .has_worker = 1,
            .worker = 1);
    REFUSES(VESTA_ENOGEN, "there is no default", .layout = "snowflake");
    REFUSES(VESTA_ENOGEN, "there is no default", .layout = "snowflake", .flags = VESTA_UNSAFE_PRIVATE);
    CHECK(access(in_folder("default.gen"), F_OK) != 0);
}

static void numbers(void) {
    empty_folder();
    REFUSES(VESTA_EOPTION, "pacing 3 does not exist", .pacing = (enum vesta_pacing)3, .any_worker = 1);
    REFUSES(VESTA_EOPTION, "ahead_ms_max -2 is out of range", .ahead_ms_max = -2, .any_worker = 1);
    REFUSES(VESTA_EOPTION, "ahead_ms_max 86400001 is out of range", .ahead_ms_max = 86400001, .any_worker = 1);
    REFUSES(VESTA_EOPTION, "ahead_ms_max -9223372036854775808", .ahead_ms_max = INT64_MIN, .any_worker = 1);
    REFUSES(VESTA_EOPTION, "unknown flags in 0x100", .flags = 0x100, .any_worker = 1);
    REFUSES(VESTA_EOPTION, "there is no group 'no-such-group'", .group = "no-such-group", .any_worker = 1);
}

static void fields(void) {
    empty_folder();
    static const struct {
        const char *fields, *because;
    } odd[] = {{"method=4", "method"}, {"colour=1", "colour"},  {"method", "method"},
               {"method=", "method"},  {"method=-1", "method"}, {"method=1 method=1", "method"},
               {"type=1", "type"},     {"method=1x", "1x"},     {"method=99999999999999999999", "method"},
               {"time=5", "time"},     {"seq=5", "seq"},        {"machine=5", "machine"}};
    for (size_t i = 0; i < VS_COUNT(odd); i++)
        REFUSES(VESTA_EFIELD, odd[i].because, .layout = "vesta-second", .fields = odd[i].fields, .any_worker = 1);
}

static void layouts(void) {
    empty_folder();
    REFUSES(VESTA_ELAYOUT, "nonsense", .layout = "nonsense", .any_worker = 1);
    REFUSES(VESTA_ELAYOUT, "", .layout = "", .any_worker = 1);
    REFUSES(VESTA_ELAYOUT, "is in the future", .layout = "snowflake epoch=2999-01-01T00:00:00Z", .any_worker = 1);
    REFUSES(VESTA_EEPOCH, "ended at 2024-11-20", .layout = "uid", .any_worker = 1);
    REFUSES(VESTA_EEPOCH, "under a new namespace", .layout = "uid", .any_worker = 1);
    CHECK(access(in_folder("default.gen"), F_OK) != 0);
}

static void paths(void) {
    char deep[6000], long_name[320];
    empty_folder();
    REFUSES(VESTA_EOPTION, "the path is empty", .path = "", .any_worker = 1);
    REFUSES(VESTA_EOPTION, "the path has the control character \\x0a at byte 7", .path = "/tmp/a\nb.gen",
            .any_worker = 1);
    REFUSES(VESTA_EOPTION, "names a folder, not a file", .path = "/tmp/", .any_worker = 1);
    memset(deep, 'd', sizeof deep - 1);
    deep[0] = '/', deep[sizeof deep - 1] = '\0';
    REFUSES(VESTA_EOPTION, "longer than 4095 bytes", .path = deep, .any_worker = 1);
    snprintf(long_name, sizeof long_name, "%s/", folder);
    size_t at = strlen(long_name);
    memset(long_name + at, 'n', 250);
    long_name[at + 250] = '\0';
    REFUSES(VESTA_EOPTION, "the path is longer than 255 bytes", .path = long_name, .any_worker = 1);
    REFUSES(VESTA_EIO, "No such file or directory. Create it for this user, or name another folder",
            .path = "/proc/nowhere/x.gen", .any_worker = 1);
    REFUSES(VESTA_EIO, "cannot create /proc/nowhere/q: No such file or directory. Create it for this user, or name another",
            .path = in_folder("q.gen"), .store = "file:/proc/nowhere", .namespace_ = "q", .any_worker = 1);
    FILE *file = fopen(in_folder("plain"), "w");
    CHECK(file && fputs("hello", file) >= 0 && fclose(file) == 0);
    REFUSES(VESTA_EIO, "plain", .path = in_folder("plain/x.gen"), .any_worker = 1);
    REFUSES(VESTA_EIO, "too short to be a generator file", .path = in_folder("plain"), .any_worker = 1);
    REFUSES(VESTA_EIO, "Is a directory", .path = folder, .any_worker = 1);
}

static void stores(void) {
    empty_folder();
    REFUSES(VESTA_EOPTION, "no store 'redis'", .store = "redis://h");
    REFUSES(VESTA_EOPTION, "needs an absolute path", .store = "file:here");
    REFUSES(VESTA_EOPTION, "no store ''", .store = "");
}

/* ------------------------------------------------------------------ existing files */

static void mismatches(void) {
    empty_folder();
    struct vesta_gen *gen = must_open((struct vesta_opts){.layout = "snowflake", .has_worker = 1, .worker = 7});
    vesta_close(gen);
    const char *path = in_folder("default.gen");
    REFUSES(VESTA_EMISMATCH, "was created with layout snowflake, not vesta-milli", .layout = "vesta-milli", .path = path);
    REFUSES(VESTA_EMISMATCH, "a namespace and a path of its own", .layout = "vesta-milli", .path = path);
    REFUSES(VESTA_EMISMATCH, "created with namespace default, not orders", .namespace_ = "orders", .path = path);
    REFUSES(VESTA_EMISMATCH, "not file:/elsewhere, and", .store = "file:/elsewhere", .path = path);
    REFUSES(VESTA_EMISMATCH, "created with pacing clock, not history", .pacing = VESTA_PACING_HISTORY, .path = path);
    REFUSES(VESTA_EMISMATCH, "created with ahead_ms_max 0 ms, not 500 ms", .ahead_ms_max = 500, .path = path);
    REFUSES(VESTA_EMISMATCH, "created with worker id 7, not 8", .has_worker = 1, .worker = 8, .path = path);
    gen = must_open((struct vesta_opts){.layout = "snowflake",
                                        .has_worker = 1,
                                        .worker = 7,
                                        .pacing = VESTA_PACING_CLOCK,
                                        .namespace_ = "default",
                                        .ahead_ms_max = -1});
    CHECK(gen != NULL);
    vesta_close(gen);
    gen = must_open((struct vesta_opts){.layout = "snowflake seq_start=spread:100"});
    CHECK(gen != NULL); /* the fingerprint does not cover seq_start */
    vesta_close(gen);
    gen = must_open((struct vesta_opts){.path = in_folder("drawn.gen"), .any_worker = 1});
    vesta_close(gen);
    REFUSES(VESTA_EMISMATCH, "created with worker id drawn at random, not 8", .has_worker = 1, .worker = 8,
            .path = in_folder("drawn.gen"));
}

static void groups(void) {
    empty_folder();
    const struct group *own = getgrgid(getegid());
    if (!own) return;
    char name[64], want[128];
    snprintf(name, sizeof name, "%s", own->gr_name);
    vesta_close(must_open((struct vesta_opts){.any_worker = 1}));
    snprintf(want, sizeof want, "created with group none, not %s. ", name);
    REFUSES(VESTA_EMISMATCH, want, .group = name);
    const char *path = in_folder("shared.gen");
    vesta_close(must_open((struct vesta_opts){.path = path, .any_worker = 1, .group = name}));
    vesta_close(must_open((struct vesta_opts){.path = path, .group = name}));
    /* a handle without a group accepts the file's */
    vesta_close(must_open((struct vesta_opts){.path = path}));
    snprintf(want, sizeof want, "created with group %s, not ", name);
    for (const struct group *other = getgrent(); other; other = getgrent())
        if (other->gr_gid != getegid()) {
            char another[64];
            snprintf(another, sizeof another, "%s", other->gr_name);
            REFUSES(VESTA_EMISMATCH, want, .path = path, .group = another);
            break;
        }
    endgrent();
}

/* An option that differs from the existing file's is a mismatch, unless the option belongs to the handle. Add every new
 * option here. */
static void every_option_is_a_mismatch_or_the_handles(void) {
    static const struct {
        const char *name, *other; /* a value that differs from the file's; NULL: an option of the handle */
    } options[] = {{"layout", "vesta-milli"}, {"worker", "8"},          {"store", "file:/elsewhere"},
                   {"lease", "balanced"},     {"identity", "another"},  {"pacing", "history"},
                   {"ahead_ms_max", "500"},   {"namespace", "another"}, {"group", "root"},
                   {"path", NULL},            {"fields", NULL},         {"method", NULL},
                   {"secret", NULL},          {"any_worker", NULL},     {"unsafe_private", NULL}};
    size_t known = 0;
    empty_folder();
    vesta_close(must_open((struct vesta_opts){.layout = "snowflake", .has_worker = 1, .worker = 7}));
    for (int i = 0; vs_row_at(i); i++)
        for (size_t k = 0; k < VS_COUNT(options); k++) {
            char text[600];
            struct vesta_gen *gen = NULL;
            struct vesta_error err;
            if (strcmp(vs_row_name(vs_row_at(i)), options[k].name) != 0) continue;
            known++;
            if (!options[k].other) continue;
            snprintf(text, sizeof text, "path=%s %s=%s", in_folder("default.gen"), options[k].name, options[k].other);
            CHECK_EQ_I64(vesta_open_text(text, &gen, &err), VESTA_EMISMATCH);
            CHECK_HAS(err.text, options[k].other);
            vesta_close(gen);
        }
    CHECK_EQ_I64(known, VS_COUNT(options));
    CHECK(vs_row_at((int)known) == NULL);
}

/* Proofs that the ids of two layouts differ rely on the namespace's record. */
static void constants(void) {
    empty_folder();
    struct vesta_opts opts = {.layout = "vesta-milli version:1=0", .namespace_ = "fixed", .any_worker = 1};
    struct vesta_gen *gen = must_open(opts);
    struct vesta_pause pause;
    uint64_t id;
    CHECK(vesta_next_wait(gen, &id, 5000000, &pause) == VESTA_OK); /* by then the namespace exists */
    vesta_close(gen);
    REFUSES(VESTA_EMISMATCH, "fixed.gen was created with layout version:1=0 ", .layout = "vesta-milli", .namespace_ = "fixed");
    REFUSES(VESTA_EMISMATCH, "not version:1=1 ", .layout = "vesta-milli version:1=1", .namespace_ = "fixed");
    opts.layout = "vesta-milli version:1=0 method:2=1"; /* its ids are also ids of the file's layout */
    vesta_close(must_open(opts));
    REFUSES(VESTA_EMISMATCH, "namespace fixed has version:1=0, not version:1=1: write that constant into the layout",
            .layout = "vesta-milli version:1=1", .namespace_ = "fixed", .any_worker = 1, .path = in_folder("2.gen"));
    REFUSES(VESTA_EMISMATCH, "namespace fixed has version:1=0, not version:1: ", .layout = "vesta-milli",
            .namespace_ = "fixed", .any_worker = 1, .path = in_folder("2.gen"));
}

static void patch(size_t at, const void *bytes, size_t length) {
    FILE *file = fopen(in_folder("default.gen"), "r+");
    CHECK(file && fseek(file, (long)at, SEEK_SET) == 0 && fwrite(bytes, length, 1, file) == 1 && fclose(file) == 0);
}

static void headers_that_disagree_with_themselves(void) {
    empty_folder();
    vesta_close(must_open((struct vesta_opts){.layout = "snowflake", .has_worker = 1, .worker = 7}));
    patch(offsetof(struct vs_header, worker), &(uint64_t){1024}, 8);
    REFUSES(VESTA_EIO, "its header is damaged", .path = in_folder("default.gen"));
    empty_folder();
    vesta_close(must_open((struct vesta_opts){.layout = "snowflake", .has_worker = 1, .worker = 7}));
    patch(offsetof(struct vs_header, ahead_ticks_max), &(uint64_t){UINT64_MAX}, 8);
    REFUSES(VESTA_EIO, "its header is damaged", .path = in_folder("default.gen"));
    empty_folder();
    vesta_close(must_open((struct vesta_opts){.layout = "snowflake", .has_worker = 1, .worker = 7}));
    patch(offsetof(struct vs_header, fingerprint), &(uint64_t){1}, 8);
    REFUSES(VESTA_EIO, "its header is damaged", .path = in_folder("default.gen"));
    empty_folder();
    vesta_close(must_open((struct vesta_opts){.layout = "snowflake", .has_worker = 1, .worker = 7}));
    patch(offsetof(struct vs_header, layout), "sign:9", 6);
    REFUSES(VESTA_ELAYOUT, "", .path = in_folder("default.gen"));
}

/* These callers were compiled with an older vesta.h, with a newer one, or without VESTA_OPTS_INIT. */
static void other_sizes(void) {
    struct {
        struct vesta_opts known;
        uint64_t newer[2];
    } given = {.known = {.layout = FAST, .any_worker = 1, .fields = "nonsense"}};
    struct vesta_gen *gen = NULL;
    struct vesta_error err;
    static const size_t none[] = {0, 7, sizeof given.known - 1, 4104, (size_t)-1};
    empty_folder();
    for (size_t i = 0; i < VS_COUNT(none); i++) {
        given.known.size = none[i];
        CHECK_EQ_I64(vesta_open(&given.known, &gen, &err), VESTA_EOPTION);
        CHECK_HAS(err.text, "begin with struct vesta_opts opts = VESTA_OPTS_INIT");
    }
    given.known.size = sizeof given.known;
    CHECK_EQ_I64(vesta_open(&given.known, &gen, &err), VESTA_EFIELD);
    /* an older caller does not know the fields, so it has not set them */
    given.known.size = offsetof(struct vesta_opts, fields);
    CHECK_EQ_I64(vesta_open(&given.known, &gen, &err), VESTA_OK);
    vesta_close(gen);
    given.known.fields = NULL;
    given.known.size = sizeof given;
    CHECK_EQ_I64(vesta_open(&given.known, &gen, &err), VESTA_OK);
    vesta_close(gen);
    given.newer[1] = 1;
    gen = NULL;
    CHECK_EQ_I64(vesta_open(&given.known, &gen, &err), VESTA_EOPTION);
    CHECK_HAS(err.text, "use the library that belongs to your vesta.h");
    CHECK(!gen);
}

static void the_layouts_end(void) {
    struct fake_time time = {.boot_us = WORLD_BOOT_US};
    struct vesta_clock clock = {&time, fake_unix_us, fake_boot_us, fake_sleep_us};
    struct vesta_layout layout = parsed("snowflake");
    struct vesta_info info;
    int64_t end_us = vesta_layout_end_ms(&layout) * 1000;
    struct vesta_opts opts = {
        .size = sizeof opts, .layout = "snowflake", .flags = VESTA_UNSAFE_PRIVATE, .has_worker = 1, .clock = &clock};
    time.unix_us = end_us - 365 * DAY;
    struct vesta_gen *gen = must_open(opts);
    vesta_get_info(gen, &info);
    CHECK_STR(info.warning, "");
    vesta_close(gen);
    time.unix_us = end_us - 100 * DAY;
    gen = must_open(opts);
    vesta_get_info(gen, &info);
    CHECK_HAS(info.warning, "in 100 days");
    vesta_close(gen);
    time.unix_us = end_us;
    refuses(opts, VESTA_EEPOCH, "the layout's time ended at");
    time.unix_us = layout.epoch_ms * 1000 - 1000;
    refuses(opts, VESTA_ELAYOUT, "is in the future: use an earlier epoch, or correct the clock");
    time.unix_us = -1;
    refuses(opts, VESTA_ELAYOUT, "is in the future");
}

/* ------------------------------------------------------------------ a store that went back */

static void a_failstop_outlives_its_keeper(void) {
    struct vesta_pause pause;
    struct vesta_info info;
    char command[400];
    uint64_t id;
    empty_folder();
    struct vesta_gen *gen = must_open((struct vesta_opts){.layout = FAST, .has_worker = 1, .worker = 7});
    NEED(gen != NULL);
    CHECK(vesta_next_wait(gen, &id, 5000000, &pause) == VESTA_OK);
    snprintf(command, sizeof command, "cp %s/default/7 %s/backup", folder, folder);
    CHECK(system(command) == 0);
    vesta_get_info(gen, &info);
    uint64_t renewals = info.renewals.ok;
    for (int i = 0; info.renewals.ok == renewals && i < 300; i++, vesta_get_info(gen, &info)) {
        CHECK(vesta_next_wait(gen, &id, 5000000, &pause) == VESTA_OK);
        usleep(100000);
    }
    CHECK(info.renewals.ok > renewals);
    snprintf(command, sizeof command, "cp %s/backup %s/default/7", folder, folder);
    for (int i = 0; i < 300 && (vesta_next_wait(gen, &id, 100000, &pause) == VESTA_OK || pause.why != VESTA_FAILSTOP);
         i++) {
        CHECK(system(command) == 0); /* again, because a renewal may have overwritten it */
        usleep(100000);
    }
    CHECK_STR(vesta_why_name(pause.why), "failstop");
    await_pause_text(gen, &pause, "until an operator acts: the store went back: worker id 7 is at version ");
    vesta_close(gen);
    gen = must_open((struct vesta_opts){0});
    CHECK(vesta_keep(gen) == VESTA_OK);
    usleep(300000);
    CHECK(vesta_next_wait(gen, &id, 1500000, &pause) == VESTA_EPAUSE);
    CHECK_STR(vesta_why_name(pause.why), "failstop");
    await_pause_text(gen, &pause, "went back");
    vesta_close(gen);
}

/* The keeper was killed between two steps: it had recorded the failstop, and not yet closed the slot. With history
 * pacing the open lease would otherwise last for hours. */
static void an_interrupted_failstop_is_completed(void) {
    struct vesta_pause pause;
    uint64_t id;
    empty_folder();
    struct vesta_gen *gen =
        must_open((struct vesta_opts){.layout = FAST, .has_worker = 1, .worker = 7, .pacing = VESTA_PACING_HISTORY});
    NEED(gen != NULL);
    CHECK(vesta_next_wait(gen, &id, 5000000, &pause) == VESTA_OK);
    vesta_close(gen);
    gen = must_open((struct vesta_opts){.flags = VESTA_NO_KEEPER});
    NEED(gen != NULL);
    struct vs_map *map = atomic_load(&gen->map);
    atomic_store(&map->shared.failed_in, vs_map_incarnation(map));
    atomic_store(&map->shared.stopped, VESTA_FAILSTOP);
    CHECK(vesta_next(gen, &id, &pause) == VESTA_OK); /* the slot was left open */
    struct vesta_gen *other = must_open((struct vesta_opts){0});
    NEED(other != NULL);
    CHECK(vesta_keep(other) == VESTA_OK);
    for (int i = 0; i < 1000 && vesta_next(gen, &id, &pause) == VESTA_OK; i++)
        usleep(10000);
    CHECK(vesta_next(gen, &id, &pause) == VESTA_EPAUSE);
    CHECK_STR(vesta_why_name(pause.why), "failstop");
    vesta_close(other);
    vesta_close(gen);
}

static const struct check_case cases[] = {
    {"invalid namespaces are rejected", namespaces},
    {"a worker id that the layout lacks, and a missing worker id, are rejected", workers},
    {"refused: pacing, ahead_ms_max, flags, group", numbers},
    {"refused: fields", fields},
    {"invalid layouts, and layouts whose time has ended or not begun, are rejected", layouts},
    {"refused: paths", paths},
    {"refused: stores", stores},
    {"another layout, namespace, store, pacing, ahead_ms_max or worker id is rejected, and the error names both values",
     mismatches},
    {"an option that differs from the file's is rejected, unless it belongs to the handle",
     every_option_is_a_mismatch_or_the_handles},
    {"a group that differs from the file's is rejected; the same group or none is accepted", groups},
    {"a constant that differs from the file's or the namespace's is rejected", constants},
    {"inconsistent headers are rejected", headers_that_disagree_with_themselves},
    {"options of another size: missing options have their defaults, unknown ones are rejected", other_sizes},
    {"opening warns within a year of the layout's end, and then fails", the_layouts_end},
    {"a failstop outlives its keeper", a_failstop_outlives_its_keeper},
    {"the next keeper completes an interrupted failstop", an_interrupted_failstop_is_completed},
};

CHECK_MAIN_IN_FOLDER(cases)
