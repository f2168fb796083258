/* tagged.h -- shared by the tests of counters and of reservations: PROGRAM URI [TABLE [PART OF A CLAIM]].  TABLE "-" is
 * the store's default table.  Each case has its own tag. */
#ifndef SPEC_TAGGED_H
#define SPEC_TAGGED_H

#include "base/array.h"
#include "stores.h"

static const char *uri, *table;
static char tag_name[64]; /* the current case's tag */

#define IS(call, want)                                                                                                 \
    do {                                                                                                               \
        enum vs_outcome got_ = (call);                                                                                 \
        if (got_ != (want)) CHECK_FAIL("%s: %s, want %s: %s", #call, outcome_name(got_), #want, reply.text);           \
    } while (0)

static struct vs_store *opened(void) {
    return open_store(uri, "counters", PATIENT_MS);
}

/* Creates a new tag with the first number `from` and a step of 10. */
static struct vs_store *fresh(uint64_t from) {
    static int turn;
    snprintf(tag_name, sizeof tag_name, "case.%d-%d", (int)getpid(), turn++);
    struct vs_store *store = opened();
    store->counters->tag_add(store, &(struct vs_counter){table, tag_name}, from, 10, &reply);
    if (reply.outcome != VS_STORE_OK) CHECK_FAIL("tag_add: %s", reply.text);
    return store;
}

static int tagged_main(int argc, char **argv, const struct check_case *cases, size_t count) {
    if (argc < 2) {
        fprintf(stderr, "%s URI [TABLE [PART OF A CLAIM]]\n", argv[0]);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    uri = argv[1];
    table = argc > 2 && strcmp(argv[2], "-") != 0 ? argv[2] : NULL;
    struct vs_store *store = opened();
    if (store->counters->tag_init) store->counters->tag_init(store, table, &reply);
    store->backend->close(store);
    return check_main(cases, count, argc > 3 ? argv[3] : NULL);
}

#endif
