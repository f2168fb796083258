/* A sqlite: store on a disk that loses unsynced writes (power.h), with the rollback journal that vesta uses, and
 * with a write-ahead log if another program has set the file to that. Wherever the power is cut, acknowledged writes
 * are present and the file is intact. To prove that the test would detect a missing sync, it also runs with disks
 * that ignore syncs of the database, of its journal or log, or of the folder. SQLite syncs the folder at the end of
 * a commit with a journal and synchronous=FULL. VESTA_PROVE=1 makes more writes, and loses unsynced data in more
 * ways. */
#include "a_store.h"
#include "power.h"

#include <sqlite3.h>

static uint64_t acked_until, acked_ns;
static bool has_log;

/* ------------------------------------------------------------------ the reader
 *  The power is cut while this process is inside SQLite, so another process opens the remaining files. */

struct question {
    uint64_t ns, until;
    char found[160];
};

static int asks[2], answers[2];

static bool is_there(const struct question *q) {
    char path[200];
    snprintf(path, sizeof path, "%s/vesta.db", q->found);
    struct vs_store *store = a_store("sqlite:", path);
    if (!store) return false;
    store->leases->ns_read(store, &reply);
    bool well = reply.outcome == VS_STORE_OK && reply.ns.ver >= q->ns;
    if (well && q->until > 0) {
        store->leases->read(store, 7, &reply);
        well = reply.outcome == VS_STORE_OK && reply.record.until >= q->until;
    }
    store->backend->close(store);
    return well;
}

static void begin_looking(void) {
    struct question q;
    if (asks[1]) return;
    if (pipe(asks) != 0 || pipe(answers) != 0) abort();
    if (fork() != 0) {
        close(asks[0]);
        close(answers[1]);
        return;
    }
    close(asks[1]);
    while (read(asks[0], &q, sizeof q) == (ssize_t)sizeof q) {
        char found = is_there(&q);
        if (write(answers[1], &found, 1) != 1) break;
    }
    _exit(0);
}

static bool is_lost(const char *found) {
    struct question q = {.ns = acked_ns, .until = acked_until};
    char answer = 0;
    snprintf(q.found, sizeof q.found, "%s", found);
    if (write(asks[1], &q, sizeof q) != (ssize_t)sizeof q || read(answers[0], &answer, 1) != 1) abort();
    return !answer;
}

/* ------------------------------------------------------------------ a store in use */

static int many(int few, int prove) {
    return getenv("VESTA_PROVE") ? prove : few;
}

static void set_to_log(const char *path) {
    sqlite3 *db = NULL;
    CHECK(sqlite3_open(path, &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db, "PRAGMA synchronous = EXTRA; PRAGMA journal_mode = WAL", NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(db);
}

/* In the file's header, 1 is a journal and 2 a log. */
static uint64_t way_of(const char *path) {
    unsigned char way = 0;
    int fd = open(path, O_RDONLY);
    CHECK(pread(fd, &way, 1, 18) == 1);
    close(fd);
    return way;
}

static void work(void) {
    char path[200];
    snprintf(path, sizeof path, "%s/vesta.db", power.place);
    struct vs_store *store = a_store("sqlite:", path);
    NEED(store);
    if (has_log) set_to_log(path);
    begin_namespace(store);
    acked_ns = 1;
    for (uint64_t i = 0; i < (uint64_t)many(3, 30) && !(power.forgets && power.losses); i++) {
        power_cut();
        struct vs_record next = {.ver = i + 1, .until = 100 * (i + 1), .owner = {1, 2}, .held = true};
        store->leases->ns_read(store, &reply);
        store->leases->swap(store, 7, i, &next, &reply);
        if (reply.outcome != VS_STORE_OK) CHECK_FAIL("write %d: %s", (int)i, reply.text);
        acked_until = next.until;
        power_cut();
    }
    store->backend->close(store);
    CHECK_EQ_U64(way_of(path), has_log ? 2 : 1);
}

static void run_disk(bool (*forgets)(const char *path, bool is_folder)) {
    empty_folder();
    acked_until = acked_ns = 0;
    begin_looking();
    power_on(many(4, 40), is_lost, forgets);
    work();
    power_off();
    CHECK(power.cuts > 300 || power.losses > 0);
    printf("# %zu power cuts, %zu of them lost something\n", power.cuts, power.losses);
}

static void with_either(bool (*forgets)(const char *path, bool is_folder), bool loses) {
    for (int i = 0; i < 2; i++) {
        has_log = i;
        run_disk(forgets);
        if (loses != (power.losses > 0))
            CHECK_FAIL("with a %s: %zu of %zu power cuts lost something", has_log ? "log" : "journal", power.losses,
                       power.cuts);
    }
}

static bool ends_with(const char *path, const char *end) {
    size_t length = strlen(path), wanted = strlen(end);
    return length >= wanted && strcmp(path + length - wanted, end) == 0;
}

static bool database(const char *path, bool is_folder) {
    return !is_folder && ends_with(path, "/vesta.db");
}

static bool journal(const char *path, bool is_folder) {
    return !is_folder && (ends_with(path, "-journal") || ends_with(path, "-wal"));
}

static bool folders(const char *path, bool is_folder) {
    (void)path;
    return is_folder;
}

static void what_is_granted_is_there(void) {
    with_either(NULL, false);
}

static void a_missing_sync_of_the_database_is_seen(void) {
    with_either(database, true);
}

static void a_missing_sync_of_the_journal_is_seen(void) {
    with_either(journal, true);
}

static void a_missing_sync_of_the_folder_is_seen(void) {
    with_either(folders, true);
}

static const struct check_case cases[] = {
    {"writes acknowledged by a sqlite: store survive a power cut at any call, with a journal and with a log",
     what_is_granted_is_there},
    {"the test detects a store that does not sync its database", a_missing_sync_of_the_database_is_seen},
    {"the test detects a store that does not sync its journal or log", a_missing_sync_of_the_journal_is_seen},
    {"the test detects a store that does not sync its folder", a_missing_sync_of_the_folder_is_seen},
};

CHECK_MAIN_IN_FOLDER(cases)
