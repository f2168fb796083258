/* zk_list.c -- every record of a namespace in ZooKeeper: the groups, their children, the records; each answer asks on,
 * so all of it is under way at once, and thousands of records take a few round trips.  Runs in the client's thread. */
#include "store/zk_link.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct listing;

/* A group or a record that was asked for. */
struct item {
    struct item *next;
    struct listing *listing;
    uint64_t number;
    bool is_record, found;
    struct vs_record record;
};

struct listing {
    struct zk_store *store;
    bool done, abandoned; /* of the store's mutex */
    size_t pending;
    struct item *items;
    struct vs_reply trouble; /* the first; its outcome is OK if there is none */
};

static void free_listing(struct listing *listing) {
    for (struct item *item = listing->items, *next; item; item = next) {
        next = item->next;
        free(item);
    }
    free(listing);
}

static void fail(struct listing *listing, int rc) {
    if (rc != ZOK && listing->trouble.outcome == VS_STORE_OK) vs_zk_trouble(listing->store, rc, &listing->trouble);
}

/* One answer less to wait for; the last one ends the listing.  With the mutex, which it gives back. */
static void settle(struct listing *listing) {
    struct zk_store *self = listing->store;
    bool last = --listing->pending == 0, abandoned = listing->abandoned;
    if (last) {
        listing->done = true;
        pthread_cond_broadcast(&self->changed);
    }
    pthread_mutex_unlock(&self->mutex);
    if (last && abandoned) free_listing(listing);
}

static void on_groups(int rc, const struct String_vector *names, const void *data);
static void on_workers(int rc, const struct String_vector *names, const void *data);
static void on_record(int rc, const char *value, int length, const struct Stat *stat, const void *data);

/* Asks for the children of a group, or for a record. */
static void ask_on(struct listing *listing, uint64_t number, bool is_record) {
    struct zk_store *self = listing->store;
    char path[VS_ZK_PATH_MAX];
    struct item *item = calloc(1, sizeof *item);
    if (!item) {
        fail(listing, ZSYSTEMERROR);
        return;
    }
    *item = (struct item){listing->items, listing, number, is_record, false, {0}};
    listing->items = item;
    int used =
        snprintf(path, sizeof path, "/%s/w/%" PRIu64, self->namespace_, is_record ? number / VS_ZK_GROUP : number);
    if (is_record) snprintf(path + used, sizeof path - (size_t)used, "/%" PRIu64, number);
    int rc = is_record ? zoo_aget(self->zh, path, 0, on_record, item)
                       : zoo_aget_children(self->zh, path, 0, on_workers, item);
    if (rc == ZOK) listing->pending++;
    fail(listing, rc);
}

static void on_groups(int rc, const struct String_vector *names, const void *data) {
    struct listing *listing = (struct listing *)(uintptr_t)data;
    pthread_mutex_lock(&listing->store->mutex);
    uint64_t group;
    if (rc != ZNONODE) fail(listing, rc); /* a namespace that is not there has no records */
    for (int i = 0; rc == ZOK && !listing->abandoned && i < names->count; i++)
        if (vs_is_number(names->data[i], &group)) ask_on(listing, group, false);
    settle(listing);
}

static void on_workers(int rc, const struct String_vector *names, const void *data) {
    struct item *group = (struct item *)(uintptr_t)data;
    struct listing *listing = group->listing;
    pthread_mutex_lock(&listing->store->mutex);
    uint64_t worker;
    if (rc != ZNONODE) fail(listing, rc);
    for (int i = 0; rc == ZOK && !listing->abandoned && i < names->count; i++)
        if (vs_is_number(names->data[i], &worker) && worker / VS_ZK_GROUP == group->number)
            ask_on(listing, worker, true);
    settle(listing);
}

static void on_record(int rc, const char *value, int length, const struct Stat *stat, const void *data) {
    struct item *item = (struct item *)(uintptr_t)data;
    struct listing *listing = item->listing;
    struct vs_reply one = {.outcome = VS_STORE_OK};
    if (rc == ZOK) vs_take_record(&one, value, length > 0 ? (size_t)length : 0, listing->store->where, item->number);
    pthread_mutex_lock(&listing->store->mutex);
    if (rc == ZOK && one.outcome == VS_STORE_OK) {
        item->found = true;
        item->record = one.record;
        item->record.written_ms = stat->mtime > 0 ? stat->mtime : 0;
    }
    if (one.outcome != VS_STORE_OK && listing->trouble.outcome == VS_STORE_OK) listing->trouble = one;
    if (rc != ZNONODE) fail(listing, rc);
    settle(listing);
}

static void collect(const struct listing *listing, struct vs_listed **listed, size_t *count, struct vs_reply *reply) {
    size_t room = 0;
    for (const struct item *item = listing->items; item; item = item->next) {
        if (!item->is_record || !item->found) continue;
        struct vs_listed *next = vs_list_room(listed, *count, &room);
        if (!next) {
            vs_answer(reply, VS_STORE_DOWN, "no memory for %zu records", *count + 1);
            return;
        }
        *next = (struct vs_listed){item->number, item->record};
        ++*count;
    }
    vs_list_sort(*listed, *count);
}

void vs_zk_list(struct zk_store *self, struct vs_listed **listed, size_t *count, struct vs_reply *reply) {
    char path[VS_ZK_PATH_MAX];
    struct listing *listing = calloc(1, sizeof *listing);
    if (!listing) {
        vs_answer(reply, VS_STORE_DOWN, "no memory for a list");
        return;
    }
    listing->store = self;
    listing->trouble.outcome = VS_STORE_OK;
    snprintf(path, sizeof path, "/%s/w", self->namespace_);
    listing->pending = 1;
    int rc = zoo_aget_children(self->zh, path, 0, on_groups, listing);
    if (rc != ZOK) {
        vs_zk_trouble(self, rc, reply);
        free_listing(listing);
        return;
    }
    pthread_mutex_lock(&self->mutex);
    bool came = vs_zk_await(self, &listing->done);
    if (!came) listing->abandoned = true; /* the last completion frees it */
    pthread_mutex_unlock(&self->mutex);
    if (!came) {
        vs_answer(reply, VS_STORE_DOWN, "%.70s: no list in %d ms", self->where, VS_STORE_LIST_MS);
        return;
    }
    if (listing->trouble.outcome != VS_STORE_OK)
        vs_answer(reply, listing->trouble.outcome, "%s", listing->trouble.text);
    else
        collect(listing, listed, count, reply);
    free_listing(listing);
}
