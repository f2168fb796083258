#include "store/zk/nodes.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof((struct zk_store *)0)->root + VESTA_NAMESPACE_MAX +
                       sizeof "/w/18446744073709551615/18446744073709551615" <
                   VS_ZK_PATH_MAX,
               "a cut path would be another node");

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

/* Mixes czxid into the incarnation.  Does not change the lowest bit, so that no incarnation becomes 0. */
uint64_t vs_zk_mix(uint64_t incarnation, int64_t czxid) {
    uint64_t z = (uint64_t)czxid + UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    uint64_t mixed = incarnation ^ ((z ^ z >> 31) & ~UINT64_C(1));
    assert(mixed & 1 || !(incarnation & 1));
    return mixed;
}

/* Takes the next answer, which is the answer to a get.  Sets *found to whether the node exists. */
static const struct zk_answer *next_data(struct zk_store *self, struct Stat *stat, bool *found,
                                         struct vs_reply *reply) {
    const struct zk_answer *answer = vs_zk_next(self, reply);
    if (!answer) return NULL;
    *found = answer->rc == ZOK;
    if (answer->rc != ZOK && answer->rc != ZNONODE) {
        vs_zk_trouble(self, answer->rc, reply);
        return NULL;
    }
    if (*found) *stat = answer->stat;
    return answer;
}

/* Limits the length of a text.  The parser rejects a longer text anyway, so the end of the text is not needed. */
static size_t zk_clipped(size_t length) {
    return length < VS_RECORD_TEXT_MAX ? length : VS_RECORD_TEXT_MAX;
}

bool vs_zk_next_ns(struct zk_store *self, struct zk_view *view, struct vs_reply *reply) {
    memset(&reply->ns, 0, sizeof reply->ns);
    const struct zk_answer *answer = next_data(self, &view->ns_stat, &view->has_ns, reply);
    if (!answer) return false;
    if (!view->has_ns) return true;
    if (!vs_take_ns(reply, answer->text, zk_clipped(answer->length), self->place.where)) return false;
    view->stored = reply->ns.incarnation;
    reply->ns.incarnation = vs_zk_mix(view->stored, view->ns_stat.czxid);
    return true;
}

bool vs_zk_next_record(struct zk_store *self, uint64_t worker, struct zk_view *view, struct vs_reply *reply) {
    memset(&reply->record, 0, sizeof reply->record);
    const struct zk_answer *answer = next_data(self, &view->stat, &view->has_record, reply);
    if (!answer) return false;
    if (!view->has_record) return true;
    reply->record.written_ms = 0;
    if (!vs_take_record(reply, answer->text, zk_clipped(answer->length), self->place.where, worker)) return false;
    reply->record.written_ms = view->stat.mtime > 0 ? view->stat.mtime : 0;
    return true;
}

bool vs_zk_next_sync(struct zk_store *self, struct vs_reply *reply) {
    const struct zk_answer *answer = vs_zk_next(self, reply);
    return answer && (answer->rc == ZOK || vs_zk_trouble(self, answer->rc, reply));
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
    const struct zk_answer *answer = vs_zk_next(self, reply);
    if (!answer) return false;
    *found = answer->rc == ZOK;
    return *found || answer->rc == ZNONODE || vs_zk_trouble(self, answer->rc, reply);
}

bool vs_zk_look_beside(struct zk_store *self, const struct zk_view *view, struct zk_beside *beside,
                       struct vs_reply *reply) {
    char path[VS_ZK_PATH_MAX];
    assert(view->has_ns); /* without has_ns, the tag is unknown */
    vs_zk_tag_path(self, view->stored, path);
    vs_zk_ask(self, ZK_EXISTS, path);
    vs_zk_workers_path(self, path);
    vs_zk_ask(self, ZK_EXISTS, path);
    return next_exists(self, &beside->tag, reply) && next_exists(self, &beside->workers, reply);
}

bool vs_zk_next_acl(struct zk_store *self, const char *path, bool is_there, struct vs_reply *reply) {
    const struct zk_answer *answer = vs_zk_next(self, reply);
    if (!answer) return false;
    if (answer->rc == ZNONODE && !is_there) return true;
    if (answer->rc != ZOK) return vs_zk_trouble(self, answer->rc, reply);
    return !answer->anyone_writes || self->is_open ||
           vs_answer(
               reply, VS_STORE_REFUSED,
               "%.50s%.30s: anyone may write there and cause duplicates: restrict its ACL, or set acl=open in the URI",
               self->place.where, path);
}

bool vs_zk_next_multi(struct zk_store *self, struct zk_multi *multi, struct vs_reply *reply) {
    const struct zk_answer *answer = vs_zk_next(self, reply);
    assert(!answer || answer->rc != ZOK || answer->multi.count > 0); /* it must be the answer to a multi */
    if (answer) *multi = answer->multi;
    return answer;
}

void vs_zk_put_node(struct zk_store *self, const char *path) {
    struct zk_call *multi = vs_zk_multi(self);
    if (multi) vs_zk_op_create(multi, path, NULL, 0, self->is_open);
    vs_zk_send(self, multi);
}

bool vs_zk_make_node(struct zk_store *self, const char *path, struct vs_reply *reply) {
    struct zk_multi made;
    vs_zk_put_node(self, path);
    vs_sent(reply);
    if (!vs_zk_next_multi(self, &made, reply)) return false;
    vs_not_done(reply);
    return made.rc == ZOK || made.rc == ZNODEEXISTS || vs_zk_trouble(self, made.rc, reply);
}

bool vs_zk_is_compared(const struct zk_store *self, const struct Stat *stat, const char *what, struct vs_reply *reply) {
    return stat->version != VS_ZK_UNCOMPARED ||
           vs_answer(reply, VS_STORE_REFUSED,
                     "%.60s: the node of %.64s has version -1, and ZooKeeper does not compare a write with that "
                     "version: stop the processes that use it, and set its data once, unchanged",
                     self->place.where, what);
}

/* Returns whether `version` is the node's version after the write.  A write over version -2 leads to version 0 on a
 * server that uses -1, and to version 1 on a server that skips -1 (vs_zk_op_set). */
static bool is_behind(int version, const struct zk_writing *writing) {
    return version == writing->version || (writing->version == 0 && version == 1);
}

bool vs_zk_is_new(const struct zk_writing *writing) {
    const struct Stat *made = &writing->made.stat;
    assert(writing->made.rc == ZOK);
    return made->mzxid > writing->before_zxid && made->mtime > 0 && is_behind(made->version, writing) &&
           (size_t)made->dataLength == writing->length;
}

bool vs_zk_is_of(const struct Stat *at, const struct Stat *made) {
    return at->mzxid == made->mzxid && at->mtime == made->mtime && at->version == made->version;
}
