/* list.c -- lists the records of a namespace in ZooKeeper: the groups, their children, the records.  The requests of a
 * level are sent together, so thousands of records take few round trips. */
#include "store/zk/link.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct numbers {
    uint64_t *at;
    size_t count, room;
};

static bool zk_list_keep(struct numbers *numbers, uint64_t number) {
    assert(numbers->count <= numbers->room);
    if (numbers->count == numbers->room) {
        size_t room = numbers->room ? 2 * numbers->room : 256;
        uint64_t *grown = realloc(numbers->at, room * sizeof *grown);
        if (!grown) return false;
        numbers->at = grown;
        numbers->room = room;
    }
    numbers->at[numbers->count++] = number;
    return true;
}

/* Takes the next answer, which is a list of children.  Adds the children with numbers as names, if they belong to the
 * group, or to any group if `group` is NULL.  A missing node has no children. */
static bool next_children(struct zk_store *self, const uint64_t *group, struct numbers *numbers,
                          struct vs_reply *reply) {
    const struct zk_answer *answer = vs_zk_next(self, reply);
    if (!answer) return false;
    if (answer->rc == ZNONODE) return true;
    if (answer->rc != ZOK) return vs_zk_trouble(self, answer->rc, reply);
    assert(!answer->length || !answer->text[answer->length - 1]); /* names are NUL-terminated */
    for (size_t i = 0; i < answer->length; i += strlen(answer->text + i) + 1) {
        uint64_t number;
        if (!vs_is_number(answer->text + i, &number) || (group && number / VS_ZK_GROUP != *group)) continue;
        if (!zk_list_keep(numbers, number)) return vs_answer(reply, VS_STORE_DOWN, "no memory for a list");
    }
    return true;
}

static bool list_workers(struct zk_store *self, const struct numbers *groups, struct numbers *workers,
                         struct vs_reply *reply) {
    char path[VS_ZK_PATH_MAX];
    for (size_t i = 0; i < groups->count; i++) {
        vs_zk_path(self, path, "/%s/w/%" PRIu64, self->namespace_, groups->at[i]);
        vs_zk_ask(self, ZK_CHILDREN, path);
    }
    for (size_t i = 0; i < groups->count; i++)
        if (!next_children(self, &groups->at[i], workers, reply)) return false;
    return true;
}

/* Takes the next answer, which is a record.  Skips a record that was deleted since. */
static bool next_listed(struct zk_store *self, uint64_t worker, struct vs_growing_list *list, struct vs_reply *reply) {
    const struct zk_answer *answer = vs_zk_next(self, reply);
    if (!answer) return false;
    if (answer->rc == ZNONODE) return true;
    if (answer->rc != ZOK) return vs_zk_trouble(self, answer->rc, reply);
    size_t length = answer->length < VS_RECORD_TEXT_MAX ? answer->length : VS_RECORD_TEXT_MAX;
    if (!vs_take_record(reply, answer->text, length, self->place.where, worker)) return false;
    reply->record.written_ms = answer->stat.mtime > 0 ? answer->stat.mtime : 0;
    return vs_list_add(list, worker, reply);
}

static bool list_records(struct zk_store *self, const struct numbers *workers, struct vs_listed **listed, size_t *count,
                         struct vs_reply *reply) {
    char path[VS_ZK_PATH_MAX];
    struct vs_growing_list list = {listed, count, 0};
    for (size_t i = 0; i < workers->count; i++) {
        vs_zk_path(self, path, "/%s/w/%" PRIu64 "/%" PRIu64, self->namespace_, workers->at[i] / VS_ZK_GROUP,
                   workers->at[i]);
        vs_zk_ask(self, ZK_GET, path);
    }
    for (size_t i = 0; i < workers->count; i++)
        if (!next_listed(self, workers->at[i], &list, reply)) return false;
    assert(*count <= workers->count);
    return true;
}

void vs_zk_list(struct vs_store *store, struct vs_listed **listed, size_t *count, struct vs_reply *reply) {
    struct zk_store *self = (struct zk_store *)store;
    struct numbers groups = {NULL, 0, 0}, workers = {NULL, 0, 0};
    char path[VS_ZK_PATH_MAX];
    *listed = NULL;
    *count = 0;
    if (!vs_zk_begin(self, VS_STORE_LIST_MS, reply)) return;
    vs_zk_path(self, path, "/%s/w", self->namespace_);
    vs_zk_ask(self, ZK_CHILDREN, path);
    if (vs_zk_time(self, reply) && next_children(self, NULL, &groups, reply) &&
        list_workers(self, &groups, &workers, reply) && list_records(self, &workers, listed, count, reply)) {
        vs_list_sort(*listed, *count);
        vs_done(reply);
    }
    free(groups.at);
    free(workers.at);
}
