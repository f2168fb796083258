/* A file: store on a disk that loses unsynced writes (power.h): all acknowledged writes are intact wherever the
 * power is cut. To prove that the test would detect a missing fsync, it also runs with disks that ignore fsync of
 * files, or of folders. */
#include "a_store.h"
#include "power.h"

#define WRITES 12

static uint64_t acked_until, acked_ns, acked_counter;
static const struct vs_counter counter = {NULL, "orders"};

static struct vs_store *store_below(const char *place) {
    char below[200];
    snprintf(below, sizeof below, "%s/deep", place);
    return a_store("file:", below);
}

static bool is_lost(const char *found) {
    struct vs_store *store = store_below(found);
    struct vs_reply seen; /* The call in progress uses the other reply. */
    store->leases->ns_read(store, &seen);
    bool lost = seen.outcome != VS_STORE_OK || seen.ns.ver < acked_ns;
    store->leases->read(store, 7, &seen);
    lost = lost || seen.outcome != VS_STORE_OK || seen.record.until < acked_until;
    if (acked_counter) store->counters->take(store, &counter, 1, &seen);
    lost = lost || (acked_counter && (seen.outcome != VS_STORE_OK || seen.grant.from < acked_counter));
    store->backend->close(store);
    return lost;
}

static void work(void) {
    struct vs_store *store = store_below(power.place);
    NEED(store);
    begin_namespace(store);
    acked_ns = 1;
    store->counters->tag_add(store, &counter, 1, 10, &reply);
    CHECK(reply.outcome == VS_STORE_OK);
    acked_counter = 1;
    for (uint64_t i = 0; i < WRITES; i++) {
        power_cut();
        struct vs_record next = {.ver = i + 1, .until = 100 * (i + 1), .owner = {1, 2}, .held = true};
        store->leases->swap(store, 7, i, &next, &reply);
        CHECK(reply.outcome == VS_STORE_OK);
        acked_until = next.until;
        power_cut();
        store->counters->take(store, &counter, 0, &reply);
        CHECK(reply.outcome == VS_STORE_OK);
        acked_counter = reply.grant.until;
        power_cut();
    }
    store->backend->close(store);
}

static void run_disk(bool (*forgets)(const char *path, bool is_folder)) {
    empty_folder();
    acked_until = acked_ns = acked_counter = 0;
    power_on(4, is_lost, forgets);
    work();
    power_off();
    CHECK(power.cuts > WRITES * 5 * 6);
}

static bool files(const char *path, bool is_folder) {
    (void)path;
    return !is_folder;
}

static bool folders(const char *path, bool is_folder) {
    (void)path;
    return is_folder;
}

static void what_is_acknowledged_is_there(void) {
    run_disk(NULL);
    CHECK_EQ_U64(power.losses, 0);
}

static void a_missing_sync_of_files_is_seen(void) {
    run_disk(files);
    CHECK(power.losses > 0);
}

static void a_missing_sync_of_folders_is_seen(void) {
    run_disk(folders);
    CHECK(power.losses > 0);
}

static const struct check_case cases[] = {
    {"writes acknowledged by a file: store survive a power cut at any call", what_is_acknowledged_is_there},
    {"the test detects a file: store that does not sync its files", a_missing_sync_of_files_is_seen},
    {"the test detects a file: store that does not sync its folders", a_missing_sync_of_folders_is_seen},
};

CHECK_MAIN_IN_FOLDER(cases)
