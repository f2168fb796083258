/* Regression: the process crashed if one allocation of a sqlite: store failed: the connection's own, the first of a
 * call, or one after the commit. Each such call now returns not done, or unknown after its commit, and the next call
 * finds an intact store. */
#include "a_store.h"
#include "crowd.h"

#include <sqlite3.h>

#define CALLS_MAX 5000

static sqlite3_mem_methods plenty;
static int fails_at; /* The n-th allocation from now on fails. 0: none. */

static bool fails(void) {
    return fails_at > 0 && --fails_at == 0;
}

static void *scarce_malloc(int size) {
    return fails() ? NULL : plenty.xMalloc(size);
}

static void *scarce_realloc(void *at, int size) {
    return fails() ? NULL : plenty.xRealloc(at, size);
}

static struct vs_store *scarce_store(void) {
    if (!plenty.xMalloc) {
        CHECK(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &plenty) == SQLITE_OK);
        sqlite3_mem_methods scarce = plenty;
        scarce.xMalloc = scarce_malloc;
        scarce.xRealloc = scarce_realloc;
        CHECK(sqlite3_config(SQLITE_CONFIG_MALLOC, &scarce) == SQLITE_OK);
    }
    struct vs_store *store = a_store("sqlite:", in_folder("vesta.db"));
    begin_namespace(store);
    CHECK(swap_of(store, 7, 0, 1) == VS_STORE_OK);
    return store;
}

static uint64_t version(struct vs_store *store) {
    CHECK(read_of(store, 7) == VS_STORE_OK);
    return reply.record.ver;
}

/* Returns the number of calls until one needed no more allocations. Each call is granted one allocation more. */
static int calls_until_enough(struct vs_store *store, bool writes) {
    int n = 0, seen[VS_STORE_UNKNOWN + 1] = {0};
    bool failed = true;
    while (failed && ++n < CALLS_MAX) {
        uint64_t before = version(store);
        fails_at = n;
        enum vs_outcome outcome = writes ? swap_of(store, 7, before, before + 1) : read_of(store, 7);
        failed = fails_at == 0;
        fails_at = 0;
        seen[outcome]++;
        uint64_t after = version(store);
        CHECK(outcome == VS_STORE_OK || outcome == VS_STORE_DOWN || (writes && outcome == VS_STORE_UNKNOWN));
        if (outcome != VS_STORE_UNKNOWN) CHECK_EQ_U64(after, before + (writes && outcome == VS_STORE_OK));
        CHECK(failed || outcome == VS_STORE_OK);
    }
    CHECK(!failed);
    CHECK(seen[VS_STORE_DOWN] > 0);
    CHECK(seen[VS_STORE_UNKNOWN] > 0 || !writes); /* One of them is the read after the commit. */
    return n;
}

static void reads(void) {
    empty_folder();
    struct vs_store *store = scarce_store();
    CHECK(calls_until_enough(store, false) > 10);
    store->backend->close(store);
}

static void writes(void) {
    empty_folder();
    struct vs_store *store = scarce_store();
    CHECK(calls_until_enough(store, true) > 10);
    store->backend->close(store);
}

static const struct check_case cases[] = {
    {"a read with a failing n-th allocation returns not done, for every n", reads},
    {"a write with a failing n-th allocation returns done, not done or unknown, for every n", writes},
};

CHECK_MAIN_IN_FOLDER(cases)
