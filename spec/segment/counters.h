/* counters.h -- creates, reads and sets counters in a test's own database from outside, like another program. */
#ifndef SPEC_COUNTERS_H
#define SPEC_COUNTERS_H

#include "crowd.h"
#include "os/clock.h"
#include "store/store.h"

/* Returns the store of a counter: "sqlite:" or "file:" and a path in the test's folder. */
__attribute__((unused)) static const char *scheme = "sqlite:";

__attribute__((unused)) static const char *uri_of(const char *name) {
    static char uris[4][200];
    static unsigned turn;
    char *uri = uris[turn++ % 4];
    snprintf(uri, sizeof uris[0], "%s%s", scheme, in_folder(name));
    return uri;
}

__attribute__((unused)) static struct vs_store *open_counters(const char *uri) {
    struct vs_store_opts opts = {
        .namespace_ = "default", .group = -1, .clock = vs_clock_system(), .call_ms_max = 20000};
    struct vesta_error err = {.text = ""};
    struct vs_store *store = NULL;
    if (vs_store_open(uri, &opts, &store, &err) != VESTA_OK) {
        fprintf(stderr, "cannot open %s: %s\n", uri, err.text);
        exit(2);
    }
    return store;
}

/* Creates a counter with its first range at `from`. */
__attribute__((unused)) static void add_tag(const char *uri, const char *tag, uint64_t from, uint64_t step) {
    struct vs_store *store = open_counters(uri);
    struct vs_reply reply;
    store->counters->tag_add(store, &(struct vs_counter){NULL, tag}, from, step, &reply);
    if (reply.outcome != VS_STORE_OK) CHECK_FAIL("tag_add: %s", reply.text);
    store->backend->close(store);
}

/* Returns where the next range of a counter starts.  0: no such counter. */
__attribute__((unused)) static uint64_t counter_at(const char *uri, const char *tag) {
    struct vs_store *store = open_counters(uri);
    struct vs_tag_list list = {.rows = NULL};
    struct vs_reply reply;
    uint64_t at = 0;
    store->counters->tags(store, NULL, &list, &reply);
    if (reply.outcome != VS_STORE_OK) CHECK_FAIL("tags: %s", reply.text);
    for (size_t i = 0; i < list.count; i++) {
        const char *why;
        const struct vs_tag *row = vs_tag_usable(&list.rows[i], &why);
        if (row && strcmp(row->tag, tag) == 0) at = (uint64_t)row->max;
    }
    free(list.rows);
    store->backend->close(store);
    return at;
}

/* Raises the counter like another program. */
__attribute__((unused)) static void raise_counter(const char *uri, const char *tag, uint64_t step) {
    struct vs_store *store = open_counters(uri);
    struct vs_reply reply;
    store->counters->take(store, &(struct vs_counter){NULL, tag}, step, &reply);
    if (reply.outcome != VS_STORE_OK) CHECK_FAIL("take: %s", reply.text);
    store->backend->close(store);
}

__attribute__((unused)) static struct vesta_segment *must_open_segment(struct vesta_segment_opts opts) {
    struct vesta_segment *seg = NULL;
    struct vesta_error err = {.text = ""};
    opts.size = sizeof opts;
    if (vesta_segment_open(&opts, &seg, &err) != VESTA_OK) {
        fprintf(stderr, "vesta_segment_open: %s\n", err.text);
        exit(2);
    }
    return seg;
}

#define LONG_US ((int64_t)CHECK_PATIENCE_MS * 1000)

/* Returns a number, without a time limit. */
__attribute__((unused)) static uint64_t number_of(struct vesta_segment *seg) {
    struct vesta_pause pause = {.why = 0};
    uint64_t number = 0;
    char text[512];
    if (vesta_segment_next_wait(seg, &number, LONG_US, &pause) == VESTA_OK) return number;
    vesta_segment_pause_text(seg, &pause, text, sizeof text);
    CHECK_FAIL("no number: %s: %s", vesta_why_name(pause.why), text);
    return 0;
}

#endif
