/* store_file.c -- the file: store in a real folder: compare-and-set by many processes and under kill -9, and its errors
 * about damaged records, full disks and folders without permission. */
#include "a_store.h"
#include "base/array.h"
#include "crowd.h"
#include "fs_type.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/mount.h>

static struct vs_store *store_at(const char *dir) {
    return a_store("file:", dir);
}

/* Returns a store that has a namespace. */
static struct vs_store *store_with_namespace(const char *dir) {
    struct vs_store *store = store_at(dir);
    begin_namespace(store);
    return store;
}

static void put(const char *name, const char *text, size_t length) {
    int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && write(fd, text, length) == (ssize_t)length);
    close(fd);
}

/* ------------------------------------------------------------------ compare and set */

static void a_swap_needs_the_version(void) {
    empty_folder();
    struct vs_store *store = store_with_namespace(folder);
    int64_t before_ms = vs_clock_system()->unix_us(NULL) / 1000;
    CHECK(read_of(store, 7) == VS_STORE_OK);
    CHECK_EQ_U64(reply.record.ver, 0);
    CHECK(swap_of(store, 7, 1, 10) == VS_STORE_CONFLICT);
    CHECK(swap_of(store, 7, 0, 10) == VS_STORE_OK);
    CHECK_EQ_U64(reply.record.ver, 1);
    /* the store set this time */
    CHECK(reply.record.written_ms >= before_ms && reply.record.written_ms == reply.store_ms);
    CHECK(swap_of(store, 7, 0, 99) == VS_STORE_CONFLICT);
    CHECK_EQ_U64(reply.record.ver, 1);
    CHECK_EQ_U64(reply.record.until, 10); /* a conflict returns the current record */
    CHECK(swap_of(store, 7, 2, 99) == VS_STORE_CONFLICT);
    CHECK(swap_of(store, 7, 1, 20) == VS_STORE_OK);
    CHECK(read_of(store, 7) == VS_STORE_OK);
    CHECK_EQ_U64(reply.record.until, 20);
    store->backend->close(store);
}

/* The record was restored to a state before our claim. Then another process claimed it and reached the same version. */
static void the_same_version_of_another(void) {
    struct vs_record mine = {.epoch = 1, .until = 10, .held = true, .owner = {1, 2}}, other = mine;
    empty_folder();
    struct vs_store *store = store_with_namespace(folder);
    for (mine.ver = 1; mine.ver <= 2; mine.ver++) {
        store->leases->swap(store, 7, mine.ver - 1, &mine, &reply);
        CHECK(reply.outcome == VS_STORE_OK);
    }
    CHECK(unlink(in_folder("ns/7")) == 0);
    other.owner[0] = 3;
    for (other.ver = 1; other.ver <= 2; other.ver++) {
        store->leases->swap(store, 7, other.ver - 1, &other, &reply);
        CHECK(reply.outcome == VS_STORE_OK);
    }
    store->leases->swap(store, 7, 2, &mine, &reply);
    CHECK(reply.outcome == VS_STORE_CONFLICT);
    CHECK_EQ_U64(reply.record.owner[0], 3);
    store->backend->close(store);
}

static void a_namespace_record_needs_its_version_too(void) {
    empty_folder();
    struct vs_store *store = store_at(folder);
    struct vs_ns_record ns = {.ver = 1, .fingerprint = 5, .incarnation = 6};
    store->leases->ns_read(store, &reply);
    CHECK(reply.outcome == VS_STORE_OK && reply.ns.ver == 0);
    store->leases->ns_swap(store, 0, &ns, &reply);
    CHECK(reply.outcome == VS_STORE_OK);
    ns.incarnation = 7;
    store->leases->ns_swap(store, 0, &ns, &reply);
    CHECK(reply.outcome == VS_STORE_CONFLICT && reply.ns.incarnation == 6);
    store->backend->close(store);
}

static void a_list_is_in_order_and_has_only_records(void) {
    static const uint64_t workers[] = {1000, 7, 12, 0, 3, 999999999999, 2};
    struct vs_listed *listed;
    size_t count;
    empty_folder();
    struct vs_store *store = store_with_namespace(folder);
    for (size_t i = 0; i < VS_COUNT(workers); i++)
        CHECK(swap_of(store, workers[i], 0, workers[i] + 1) == VS_STORE_OK);
    put("ns/007", "x", 1);
    put("ns/8.new", "x", 1);
    put("ns/-1", "x", 1);
    put("ns/99999999999999999999999", "x", 1);
    store->leases->list(store, &listed, &count, &reply);
    CHECK(reply.outcome == VS_STORE_OK);
    CHECK_EQ_U64(count, VS_COUNT(workers));
    for (size_t i = 0; i < count; i++) {
        CHECK(i == 0 || listed[i].worker > listed[i - 1].worker);
        CHECK_EQ_U64(listed[i].record.until, listed[i].worker + 1);
    }
    free(listed);
    store->backend->close(store);
}

/* ------------------------------------------------------------------ a crowd */

#define EACH 150

static void count_with(struct vs_store *store) {
    for (int i = 0; i < EACH;) {
        CHECK(read_of(store, 7) == VS_STORE_OK);
        uint64_t ver = reply.record.ver, until = reply.record.until;
        enum vs_outcome outcome = swap_of(store, 7, ver, until + 1);
        CHECK(outcome == VS_STORE_OK || outcome == VS_STORE_CONFLICT);
        i += outcome == VS_STORE_OK;
    }
}

static void count_up(uint64_t unused) {
    struct vs_store *store = store_at(folder);
    (void)unused;
    count_with(store);
    store->backend->close(store);
}

static void no_update_is_lost(void) {
    pid_t pids[8];
    empty_folder();
    struct vs_store *store = store_with_namespace(folder);
    for (uint64_t i = 0; i < 8; i++)
        pids[i] = spawn(count_up, i);
    for (int i = 0; i < 8; i++)
        reap(pids[i], false);
    CHECK(read_of(store, 7) == VS_STORE_OK);
    CHECK_EQ_U64(reply.record.ver, 8 * EACH);
    CHECK_EQ_U64(reply.record.until, 8 * EACH);
    store->backend->close(store);
}

/* A copy in place of the folder has its own lock, which new processes use. Old processes must use the same lock.
 * Otherwise both could write the same version and both succeed. */
static void count_up_after(uint64_t i) {
    struct vs_store *store = store_at(folder);
    CHECK(read_of(store, 7) == VS_STORE_OK); /* the store uses the first folder's lock */
    put(i ? "met1" : "met0", "", 0);
    while (access(in_folder("copied"), F_OK) != 0)
        usleep(1000);
    count_with(store);
    store->backend->close(store);
}

static void put_copy_in_place(void) {
    char command[400];
    snprintf(command, sizeof command, "cd %s && cp -a ns copy && mv ns away && mv copy ns", folder);
    CHECK(system(command) == 0);
}

static void a_copy_in_its_place_has_another_lock(void) {
    pid_t pids[4];
    empty_folder();
    struct vs_store *store = store_with_namespace(folder);
    for (uint64_t i = 0; i < 2; i++)
        pids[i] = spawn(count_up_after, i);
    while (access(in_folder("met0"), F_OK) != 0 || access(in_folder("met1"), F_OK) != 0)
        usleep(1000);
    put_copy_in_place();
    put("copied", "", 0);
    for (int i = 2; i < 4; i++)
        pids[i] = spawn(count_up, 0);
    for (int i = 0; i < 4; i++)
        reap(pids[i], false);
    CHECK(read_of(store, 7) == VS_STORE_OK);
    CHECK_EQ_U64(reply.record.ver, 4 * EACH);
    CHECK_EQ_U64(reply.record.until, 4 * EACH);
    store->backend->close(store);
}

static void a_folder_that_is_gone_for_a_while(void) {
    empty_folder();
    struct vs_store *store = store_with_namespace(folder);
    CHECK(swap_of(store, 7, 0, 10) == VS_STORE_OK);
    CHECK(rename(in_folder("ns"), in_folder("away")) == 0);
    CHECK(read_of(store, 7) == VS_STORE_REFUSED); /* an error, not a missing record */
    CHECK_HAS(reply.text, "/ns: No such file");
    CHECK(swap_of(store, 7, 1, 20) == VS_STORE_REFUSED);
    CHECK(rename(in_folder("away"), in_folder("ns")) == 0);
    CHECK(swap_of(store, 7, 1, 20) == VS_STORE_OK);
    CHECK(rename(in_folder("ns"), in_folder("away")) == 0);
    CHECK(read_of(store, 7) == VS_STORE_REFUSED);
    store->backend->close(store);
}

/* An older vesta locks the whole folder by fcntl while it writes. */
static void lock_as_an_older_one(uint64_t unused) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    int fd = open(in_folder("ns/lock"), O_RDWR);
    (void)unused;
    CHECK(fd >= 0 && fcntl(fd, F_SETLK, &lock) == 0);
    put("locked", "", 0);
    pause();
}

static void an_older_vesta_is_awaited_and_named(void) {
    char who[64];
    empty_folder();
    struct vs_store *store = store_with_namespace(folder);
    CHECK(swap_of(store, 7, 0, 10) == VS_STORE_OK);
    pid_t pid = spawn(lock_as_an_older_one, 0);
    while (access(in_folder("locked"), F_OK) != 0)
        usleep(1000);
    CHECK(swap_of(store, 7, 1, 20) == VS_STORE_DOWN);
    snprintf(who, sizeof who, "process %d, an older version of vesta, has locked ", (int)pid);
    CHECK_HAS(reply.text, who);
    CHECK(read_of(store, 7) == VS_STORE_OK); /* a reader needs no lock */
    CHECK_EQ_U64(reply.record.until, 10);
    kill(pid, SIGKILL);
    reap(pid, true);
    CHECK(swap_of(store, 7, 1, 20) == VS_STORE_OK);
    store->backend->close(store);
}

/* The tally's mark is the highest `until` that was acknowledged. */
static void raise_until_killed(uint64_t unused) {
    struct vs_store *store = store_at(folder);
    (void)unused;
    for (;;) {
        CHECK(read_of(store, 7) == VS_STORE_OK);
        uint64_t ver = reply.record.ver, until = reply.record.until + 1;
        if (swap_of(store, 7, ver, until) != VS_STORE_OK) _exit(9);
        atomic_store(&tally->mark, until);
    }
}

static void killed_while_writing(void) {
    uint64_t dice = 21, worst = 0;
    empty_folder();
    tally_clear();
    struct vs_store *store = store_with_namespace(folder);
    for (int i = 0; i < 200; i++) {
        pid_t pid = spawn(raise_until_killed, 0);
        usleep((useconds_t)(500 + roll_below(&dice, 8000)));
        kill(pid, SIGKILL);
        reap(pid, true);
        if (read_of(store, 7) != VS_STORE_OK) CHECK_FAIL("after kill %d: %s", i, reply.text);
        CHECK(reply.record.until >= atomic_load(&tally->mark));
        CHECK(reply.record.until >= worst && reply.record.until == reply.record.ver);
        worst = reply.record.until;
    }
    CHECK(worst > 200);
    store->backend->close(store);
}

/* ------------------------------------------------------------------ failures */

static void refused(struct vs_store *store, const char *because) {
    struct vs_listed *listed;
    size_t count;
    CHECK(read_of(store, 7) == VS_STORE_REFUSED);
    CHECK_HAS(reply.text, because);
    CHECK_HAS(reply.text, "ns/7");
    for (uint64_t ver = 0; ver < 3; ver++)
        CHECK(swap_of(store, 7, ver, 99) == VS_STORE_REFUSED);
    store->leases->list(store, &listed, &count, &reply);
    CHECK(reply.outcome == VS_STORE_REFUSED);
    free(listed);
}

static void damaged_records(void) {
    struct vs_record plain = {.ver = 2, .until = 50};
    char text[VS_RECORD_TEXT_MAX];
    size_t length = vs_record_write(&plain, text);
    empty_folder();
    struct vs_store *store = store_with_namespace(folder);
    put("ns/7", text, length);
    CHECK(read_of(store, 7) == VS_STORE_OK);
    put("ns/7", text, length - 5);
    refused(store, "it is truncated");
    put("ns/7", text, 0);
    refused(store, "it is empty");
    text[20] ^= 1;
    put("ns/7", text, length);
    refused(store, "its checksum is wrong");
    put("ns/7", "vesta lease 2\nsomething\n", 24);
    refused(store, "a newer vesta wrote it");
    put("ns/7", "hello\n", 6);
    refused(store, "it is not a vesta record");
    static char huge[1 << 20];
    memset(huge, '7', sizeof huge);
    put("ns/7", huge, sizeof huge);
    refused(store, "it is not a vesta record");
    CHECK(unlink(in_folder("ns/7")) == 0 && mkdir(in_folder("ns/7"), 0700) == 0);
    refused(store, "Is a directory");
    CHECK(rmdir(in_folder("ns/7")) == 0 && symlink("/etc/passwd", in_folder("ns/7")) == 0);
    refused(store, "Too many levels of symbolic links");
    store->backend->close(store);
}

static void swap_as_nobody(uint64_t unused) {
    struct vs_store *store = store_at(folder);
    (void)unused;
    CHECK(setgroups(0, NULL) == 0 && setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
    CHECK(swap_of(store, 7, 1, 99) == VS_STORE_REFUSED);
    CHECK_HAS(reply.text, "cannot write");
    CHECK_HAS(reply.text, "Permission denied");
    store->backend->close(store);
}

static void a_folder_that_cannot_be_written(void) {
    if (geteuid() != 0) {
        printf("# skipped: a folder that cannot be written (needs root)\n");
        return;
    }
    empty_folder();
    struct vs_store *store = store_with_namespace(folder);
    CHECK(swap_of(store, 7, 0, 10) == VS_STORE_OK);
    CHECK(chmod(in_folder("ns"), 0755) == 0 && chmod(in_folder("ns/7"), 0644) == 0 &&
          chmod(in_folder("ns/namespace"), 0644) == 0);
    reap(spawn(swap_as_nobody, 0), false);
    CHECK(read_of(store, 7) == VS_STORE_OK);
    CHECK_EQ_U64(reply.record.until, 10);
    store->backend->close(store);
}

static void a_full_disk(void) {
    char disk[160];
    empty_folder();
    snprintf(disk, sizeof disk, "%s", in_folder("disk"));
    CHECK(mkdir(disk, 0755) == 0);
    if (mount("tmpfs", disk, "tmpfs", 0, "size=32k") != 0) {
        printf("# skipped: a full disk (no right to mount a small one: %s)\n", strerror(errno));
        return;
    }
    struct vs_store *store = store_with_namespace(disk);
    static char fill[4096];
    CHECK(swap_of(store, 7, 0, 10) == VS_STORE_OK);
    int fd = open(in_folder("disk/fill"), O_WRONLY | O_CREAT, 0600);
    while (write(fd, fill, sizeof fill) > 0)
        ;
    close(fd);
    CHECK(swap_of(store, 7, 1, 20) == VS_STORE_REFUSED);
    CHECK_HAS(reply.text, "No space left on device");
    CHECK(read_of(store, 7) == VS_STORE_OK);
    CHECK_EQ_U64(reply.record.until, 10);
    CHECK(unlink(in_folder("disk/fill")) == 0);
    CHECK(swap_of(store, 7, 1, 20) == VS_STORE_OK); /* the store works again by itself */
    store->backend->close(store);
    CHECK(umount(disk) == 0);
}

/* A process that was killed while writing leaves a temporary file, perhaps of another user. It must block no other
 * process. */
static void files_of_a_killed_writer(void) {
    empty_folder();
    struct vs_store *store = store_with_namespace(folder);
    put("ns/7.new", "half a rec", 10);
    CHECK(chmod(in_folder("ns/7.new"), 0) == 0);
    CHECK(swap_of(store, 7, 0, 10) == VS_STORE_OK);
    CHECK(access(in_folder("ns/7.new"), F_OK) != 0);
    store->backend->close(store);
}

/* ------------------------------------------------------------------ file systems */

/* Two machines could write there. Their clocks differ, and locks may not work across them. */
static void a_file_system_of_the_network(void) {
    struct vesta_error err = {.text = ""};
    char uri[200];
    empty_folder();
    snprintf(uri, sizeof uri, "file:%s", folder);
    fs_type = 0x6969;
    CHECK(!try_store(uri, "ns", 0, &err));
    CHECK_EQ_I64(err.code, VESTA_EIO);
    fs_type = 0;
    CHECK_HAS(err.text, "/ns is on NFS: a store must be on a local file system");
}

static void uris(void) {
    struct vesta_error err;
    CHECK(vs_store_check("redis://localhost", &err) == VESTA_EOPTION);
    CHECK_HAS(err.text, "there is no store 'redis': choose one of file:, sqlite:, mysql:, postgresql:, zk:");
    CHECK(vs_store_check("file:relative/path", &err) == VESTA_EOPTION);
    CHECK_HAS(err.text, "needs an absolute path");
    CHECK(vs_store_check("file:", &err) == VESTA_EOPTION);
    CHECK(vs_store_check("", &err) == VESTA_EOPTION);
    char uri[VS_URI_MAX + 10];
    memset(uri, 'x', sizeof uri);
    memcpy(uri, "file:/", 6);
    uri[sizeof uri - 1] = '\0';
    CHECK(vs_store_check(uri, &err) == VESTA_EOPTION);
    CHECK_HAS(err.text, "longer than 1023 bytes");
    CHECK(vs_store_check("file:/var/lib/vesta", &err) == VESTA_OK);
}

static const struct check_case cases[] = {
    {"a swap needs the current version", a_swap_needs_the_version},
    {"the same version by another owner is rejected", the_same_version_of_another},
    {"a swap of the namespace's record needs its version too", a_namespace_record_needs_its_version_too},
    {"a list is sorted and has only records", a_list_is_in_order_and_has_only_records},
    {"eight processes count up: no update is lost", no_update_is_lost},
    {"a copy in place of the folder has another lock: no update is lost", a_copy_in_its_place_has_another_lock},
    {"a folder that is missing for a while is not treated as empty", a_folder_that_is_gone_for_a_while},
    {"an older vesta that writes is waited for, and named", an_older_vesta_is_awaited_and_named},
    {"200 writers are killed: the record is intact, and no bound is lower than acknowledged", killed_while_writing},
    {"damaged records are rejected, and never overwritten", damaged_records},
    {"a folder without permission to write is an error", a_folder_that_cannot_be_written},
    {"a full disk keeps the old record", a_full_disk},
    {"temporary files of a killed writer block no other process", files_of_a_killed_writer},
    {"network file systems are rejected", a_file_system_of_the_network},
    {"invalid store URIs are rejected", uris},
};

CHECK_MAIN_IN_FOLDER(cases)
