/* shares.h -- part of the tests of counters: a database remembers its share of a counter's numbers. */
#ifndef SPEC_SHARES_H
#define SPEC_SHARES_H

#include "tagged.h"

static enum vs_outcome share(struct vs_store *store, const char *tag, uint64_t delta, uint64_t remainder) {
    store->counters->share(store, &(struct vs_counter){table, tag}, &(struct vs_share){delta, remainder}, &reply);
    return reply.outcome;
}

static void a_share_is_remembered(void) {
    struct vs_store *store = fresh(1);
    if (store->counters->share) {
        char first[sizeof tag_name];
        IS(share(store, tag_name, 3, 2), VS_STORE_OK);
        IS(share(store, tag_name, 3, 2), VS_STORE_OK);
        store->backend->close(store);
        store = opened();
        IS(share(store, tag_name, 3, 1), VS_STORE_REFUSED);
        CHECK_HAS(reply.text, "number 2 of 3 stores");
        CHECK_HAS(reply.text, "now number 1 of 3");
        IS(share(store, tag_name, 2, 0), VS_STORE_REFUSED);
        IS(share(store, tag_name, 1, 0), VS_STORE_REFUSED); /* listed alone */
        CHECK_HAS(reply.text, "number 2 of 3 stores");
        CHECK_HAS(reply.text, "including number 0, 1");
        IS(share(store, tag_name, 3, 2), VS_STORE_OK);
        snprintf(first, sizeof first, "%s", tag_name);
        store->backend->close(store);
        store = fresh(1);
        IS(share(store, tag_name, 3, 0), VS_STORE_OK); /* another tag has its own share */
        IS(share(store, first, 3, 2), VS_STORE_OK);
        store->backend->close(store);
        store = fresh(1);
        IS(share(store, tag_name, 1, 0), VS_STORE_OK);
        IS(share(store, tag_name, 1, 0), VS_STORE_OK);
        IS(share(store, tag_name, 2, 0),
           VS_STORE_REFUSED); /* as the only listed database, it may have issued the others' numbers */
        CHECK_HAS(reply.text, "number 0 of 1 stores");
        IS(share(store, "nobody", 3, 2), VS_STORE_REFUSED);
        IS(share(store, "'; DROP", 3, 2), VS_STORE_REFUSED);
    }
    store->backend->close(store);
}

#endif
