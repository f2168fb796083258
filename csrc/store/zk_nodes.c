/* zk_nodes.c -- see zk_nodes.h. */
#include "store/zk_nodes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void vs_zk_ns_path(const struct zk_store *self, char path[static VS_ZK_PATH_MAX]) {
    vs_zk_path(self, path, "/%s", self->namespace_);
}

void vs_zk_tag_path(const struct zk_store *self, uint64_t stored, char path[static VS_ZK_PATH_MAX]) {
    vs_zk_path(self, path, "/%s/i-%016" PRIx64, self->namespace_, stored);
}

void vs_zk_workers_path(const struct zk_store *self, char path[static VS_ZK_PATH_MAX]) {
    vs_zk_path(self, path, "/%s/w", self->namespace_);
}

void vs_zk_group_path(const struct zk_store *self, uint64_t worker, char path[static VS_ZK_PATH_MAX]) {
    vs_zk_path(self, path, "/%s/w/%" PRIu64, self->namespace_, worker / VS_ZK_GROUP);
}

void vs_zk_worker_path(const struct zk_store *self, uint64_t worker, char path[static VS_ZK_PATH_MAX]) {
    vs_zk_path(self, path, "/%s/w/%" PRIu64 "/%" PRIu64, self->namespace_, worker / VS_ZK_GROUP, worker);
}

/* Even, so that no incarnation becomes 0. */
uint64_t vs_zk_mix(uint64_t incarnation, int64_t czxid) {
    uint64_t z = (uint64_t)czxid + UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return incarnation ^ ((z ^ z >> 31) & ~UINT64_C(1));
}

/* The body of a get: a text, which is not copied, and its stat.  False: it is none. */
static bool take_data(struct zk_in *body, const char **text, size_t *length, struct zk_stat *stat) {
    *text = vs_zk_take_bytes(body, length);
    vs_zk_take_stat(body, stat);
    return vs_zk_is_whole(body) && stat->mzxid > 0 && stat->czxid > 0 && (size_t)stat->length == *length;
}

/* The next answer is a get's.  False with the reply filled; *found: whether there is such a node. */
static bool next_data(struct zk_store *self, const char **text, size_t *length, struct zk_stat *stat, bool *found,
                      struct vs_reply *reply) {
    struct zk_answer answer;
    if (!vs_zk_next(self, &answer, reply)) return false;
    *found = answer.rc == ZK_OK;
    if (answer.rc == ZK_NONODE) return true;
    if (answer.rc != ZK_OK) return vs_zk_trouble(self, answer.rc, reply);
    return take_data(&answer.body, text, length, stat) || vs_zk_no_answer(self, "half an answer", reply);
}

/* A record is no longer than its text may be; what is longer is read as far as that, and refused. */
static size_t clipped(size_t length) {
    return length < VS_RECORD_TEXT_MAX ? length : VS_RECORD_TEXT_MAX;
}

bool vs_zk_next_ns(struct zk_store *self, struct zk_view *view, struct vs_reply *reply) {
    const char *text = NULL;
    size_t length = 0;
    memset(&reply->ns, 0, sizeof reply->ns);
    if (!next_data(self, &text, &length, &view->ns_stat, &view->has_ns, reply)) return false;
    if (!view->has_ns) return true;
    if (!vs_take_ns(reply, text, clipped(length), self->place.where)) return false;
    view->stored = reply->ns.incarnation;
    reply->ns.incarnation = vs_zk_mix(view->stored, view->ns_stat.czxid);
    return true;
}

bool vs_zk_next_record(struct zk_store *self, uint64_t worker, struct zk_view *view, struct vs_reply *reply) {
    const char *text = NULL;
    size_t length = 0;
    memset(&reply->record, 0, sizeof reply->record);
    if (!next_data(self, &text, &length, &view->stat, &view->has_record, reply)) return false;
    if (!view->has_record) return true;
    reply->record.written_ms = 0;
    if (!vs_take_record(reply, text, clipped(length), self->place.where, worker)) return false;
    reply->record.written_ms = view->stat.mtime > 0 ? view->stat.mtime : 0;
    return true;
}

bool vs_zk_next_sync(struct zk_store *self, struct vs_reply *reply) {
    struct zk_answer answer;
    char path[VS_ZK_PATH_MAX];
    if (!vs_zk_next(self, &answer, reply)) return false;
    if (answer.rc != ZK_OK) return vs_zk_trouble(self, answer.rc, reply);
    vs_zk_take_text(&answer.body, path, sizeof path);
    bool is_it = vs_zk_is_whole(&answer.body) && strcmp(path, self->root) == 0;
    return is_it || vs_zk_no_answer(self, "an answer to something else", reply);
}

bool vs_zk_look_at_record(struct zk_store *self, uint64_t worker, struct zk_view *view, struct vs_reply *reply) {
    char path[VS_ZK_PATH_MAX];
    memset(view, 0, sizeof *view);
    vs_zk_worker_path(self, worker, path);
    vs_zk_ask(self, ZK_SYNC, self->root);
    vs_zk_ask(self, ZK_GET, path);
    return vs_zk_time(self, reply) && vs_zk_next_sync(self, reply) && vs_zk_next_record(self, worker, view, reply);
}

bool vs_zk_look_at_ns(struct zk_store *self, struct zk_view *view, struct vs_reply *reply) {
    char path[VS_ZK_PATH_MAX];
    memset(view, 0, sizeof *view);
    vs_zk_ns_path(self, path);
    vs_zk_ask(self, ZK_SYNC, self->root);
    vs_zk_ask(self, ZK_GET, path);
    return vs_zk_time(self, reply) && vs_zk_next_sync(self, reply) && vs_zk_next_ns(self, view, reply);
}

bool vs_zk_look_at_both(struct zk_store *self, uint64_t worker, struct zk_view *view, struct vs_reply *reply) {
    char path[VS_ZK_PATH_MAX];
    memset(view, 0, sizeof *view);
    vs_zk_ask(self, ZK_SYNC, self->root);
    vs_zk_ns_path(self, path);
    vs_zk_ask(self, ZK_GET, path);
    vs_zk_worker_path(self, worker, path);
    vs_zk_ask(self, ZK_GET, path);
    return vs_zk_time(self, reply) && vs_zk_next_sync(self, reply) && vs_zk_next_ns(self, view, reply) &&
           vs_zk_next_record(self, worker, view, reply);
}

static bool next_exists(struct zk_store *self, bool *found, struct vs_reply *reply) {
    struct zk_answer answer;
    struct zk_stat stat;
    if (!vs_zk_next(self, &answer, reply)) return false;
    *found = answer.rc == ZK_OK;
    if (answer.rc == ZK_NONODE) return true;
    if (answer.rc != ZK_OK) return vs_zk_trouble(self, answer.rc, reply);
    vs_zk_take_stat(&answer.body, &stat);
    return vs_zk_is_whole(&answer.body) || vs_zk_no_answer(self, "half an answer", reply);
}

bool vs_zk_look_beside(struct zk_store *self, const struct zk_view *view, struct zk_beside *beside,
                       struct vs_reply *reply) {
    char path[VS_ZK_PATH_MAX];
    vs_zk_tag_path(self, view->stored, path);
    vs_zk_ask(self, ZK_EXISTS, path);
    vs_zk_workers_path(self, path);
    vs_zk_ask(self, ZK_EXISTS, path);
    return next_exists(self, &beside->tag, reply) && next_exists(self, &beside->workers, reply);
}
