/* A sqlite: store whose memory fails at one allocation of a call: where it was that of the connection itself, at the
 * call's beginning or behind its commit, the process crashed.  Now every such call says what it may say: that it is not
 * done, or, behind its commit, that nobody knows; and the next one finds the store whole. */
#include "a_store.h"
#include "crowd.h"

#include <sqlite3.h>

#define CALLS_MAX 5000

static sqlite3_mem_methods plenty;
static int fails_at; /* the n-th allocation from now on; 0: none */

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

/* How many calls it took until one needed no more; each is asked for with one more allocation that succeeds. */
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
    CHECK(seen[VS_STORE_UNKNOWN] > 0 || !writes); /* among them the look behind the commit */
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
    {"reading with the n-th allocation failing says that it is not done, for every n", reads},
    {"writing with the n-th allocation failing is done, not done or unknown, for every n", writes},
};

CHECK_MAIN_IN_FOLDER(cases)
