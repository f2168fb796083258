/* zookeeper.c -- the store in ZooKeeper: zk://user:password@h1:2181,h2:2181/vesta.
 *
 *     /<namespace>                   its record as text (core/record.h)
 *     /<namespace>/i-<incarnation>   nothing: a write asks, in the same step, whether it is still there
 *     /~clock                        nothing: whoever writes it learns the leader's time
 *     /<namespace>/w/<n/128>/<n>     the record of worker n; in groups, so that no list of children gets long
 *
 * Nodes are persistent.  A session proves nothing and holds nothing: what decides is the version that a write carries.
 * A write is one multi: check the incarnation, set over the version.  A read is behind a sync, because a follower may
 * lag, and an old record would look as if the store had gone back.
 *
 * The czxid of the namespace's node is part of the incarnation that callers see: a node that was deleted and made
 * again, be it with the very same text, is another namespace.
 *
 * The store's clock is the leader's: a node's mtime.  Between writes it is counted on from the last one by boot time.
 */
#include "store/zk_link.h"
#include "core/core.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define PORT 2181

enum { KEY_SECRET_FILE, KEY_ACL };
static const char *const keys[] = {"secret_file", "acl", NULL};

static struct zk_store *self_of(struct vs_store *store) {
    return (struct zk_store *)store;
}

/* ------------------------------------------------------------------ nodes */

static void ns_path(const struct zk_store *self, char *path) {
    snprintf(path, VS_ZK_PATH_MAX, "/%s", self->namespace_);
}

static void incarnation_path(const struct zk_store *self, uint64_t stored, char *path) {
    snprintf(path, VS_ZK_PATH_MAX, "/%s/i-%016" PRIx64, self->namespace_, stored);
}

static void group_path(const struct zk_store *self, uint64_t worker, char *path) {
    snprintf(path, VS_ZK_PATH_MAX, "/%s/w/%" PRIu64, self->namespace_, worker / VS_ZK_GROUP);
}

static void worker_path(const struct zk_store *self, uint64_t worker, char *path) {
    snprintf(path, VS_ZK_PATH_MAX, "/%s/w/%" PRIu64 "/%" PRIu64, self->namespace_, worker / VS_ZK_GROUP, worker);
}

/* Between the incarnation that is stored and the one that callers see, both ways.  Even, so that none becomes 0. */
static uint64_t mix(uint64_t incarnation, int64_t czxid) {
    uint64_t z = (uint64_t)czxid + UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return incarnation ^ ((z ^ z >> 31) & ~UINT64_C(1));
}

/* What stands in the two nodes that a write is about. */
struct view {
    bool has_ns;
    uint64_t stored; /* the incarnation, as it is written */
    struct Stat ns_stat, stat;
};

static void take_ns(struct zk_store *self, const struct zk_call *call, struct view *view, struct vs_reply *reply) {
    if (call->rc == ZNONODE) return;
    if (call->rc != ZOK) {
        vs_zk_trouble(self, call->rc, reply);
        return;
    }
    if (!vs_take_ns(reply, call->text, (size_t)call->length, self->where)) return;
    view->has_ns = true;
    view->ns_stat = call->stat;
    view->stored = reply->ns.incarnation;
    reply->ns.incarnation = mix(view->stored, call->stat.czxid);
}

static void take_record(struct zk_store *self, const struct zk_call *call, uint64_t worker, struct view *view,
                        struct vs_reply *reply) {
    if (call->rc == ZNONODE) return;
    if (call->rc != ZOK) {
        vs_zk_trouble(self, call->rc, reply);
        return;
    }
    if (!vs_take_record(reply, call->text, (size_t)call->length, self->where, worker)) return;
    view->stat = call->stat;
    reply->record.written_ms = call->stat.mtime > 0 ? call->stat.mtime : 0;
}

enum { WANT_NS = 1, WANT_RECORD = 2 };

/* One round trip: sync, then what is wanted.  False with the reply filled; true: OK, and what is not there has ver 0.
 */
static bool look(struct zk_store *self, int want, uint64_t worker, struct view *view, struct vs_reply *reply) {
    char path[VS_ZK_PATH_MAX];
    struct zk_call *call[3] = {0};
    memset(view, 0, sizeof *view);
    for (int i = 0; i < 3; i++) {
        if (i > 0 && !(want & i)) continue;
        if (!(call[i] = vs_zk_call(self))) {
            vs_answer(reply, VS_STORE_DOWN, "no memory for a call");
            break;
        }
        if (i == 0) vs_zk_send_sync(call[i]);
        if (i == WANT_NS) ns_path(self, path);
        if (i == WANT_RECORD) worker_path(self, worker, path);
        if (i > 0) vs_zk_send_get(call[i], path);
    }
    for (int i = 0; i < 3; i++) {
        if (!call[i] || !vs_zk_wait(call[i], reply)) continue;
        if (reply->outcome != VS_STORE_OK) {
        } else if (i == 0 && call[i]->rc != ZOK) {
            vs_zk_trouble(self, call[i]->rc, reply);
        } else if (i == WANT_NS) {
            take_ns(self, call[i], view, reply);
        } else if (i == WANT_RECORD) {
            take_record(self, call[i], worker, view, reply);
        }
        free(call[i]);
    }
    return reply->outcome == VS_STORE_OK;
}

/* ------------------------------------------------------------------ reading */

static void zk_read(struct vs_store *store, uint64_t worker, struct vs_reply *reply) {
    struct zk_store *self = self_of(store);
    struct view view;
    if (vs_zk_begin(self, self->call_ms_max, reply)) look(self, WANT_RECORD, worker, &view, reply);
}

/* A node that anyone may write is no store, unless the operator says so. */
static bool check_acl(struct zk_store *self, const char *path, struct vs_reply *reply) {
    struct zk_call *call = vs_zk_call(self);
    if (!call) {
        vs_answer(reply, VS_STORE_DOWN, "no memory for a call");
        return false;
    }
    vs_zk_send_acl(call, path);
    if (!vs_zk_wait(call, reply)) return false;
    if (call->rc != ZOK)
        vs_zk_trouble(self, call->rc, reply);
    else if (call->anyone_writes && !self->is_open)
        vs_answer(reply, VS_STORE_REFUSED,
                  "%.50s%.30s: anyone may write there, and so repeat ids: close its ACL, or say acl=open in the URI",
                  self->where, path);
    free(call);
    return reply->outcome == VS_STORE_OK;
}

static void zk_ns_read(struct vs_store *store, struct vs_reply *reply) {
    struct zk_store *self = self_of(store);
    struct view view;
    char path[VS_ZK_PATH_MAX];
    if (!vs_zk_begin(self, self->call_ms_max, reply) || !look(self, WANT_NS, 0, &view, reply)) return;
    vs_meet(&self->met, reply);
    ns_path(self, path);
    if (check_acl(self, "/", reply) && view.has_ns) check_acl(self, path, reply);
}

static void zk_list(struct vs_store *store, struct vs_listed **listed, size_t *count, struct vs_reply *reply) {
    struct zk_store *self = self_of(store);
    *listed = NULL;
    *count = 0;
    if (vs_zk_begin(self, VS_STORE_LIST_MS, reply)) vs_zk_list(self, listed, count, reply);
}

/* ------------------------------------------------------------------ writing */

/* A multi that only makes what others may have made meanwhile.  True unless the reply is filled. */
static bool make_group(struct zk_store *self, uint64_t worker, struct vs_reply *reply) {
    char path[VS_ZK_PATH_MAX];
    struct zk_call *call = vs_zk_call(self);
    if (!call) {
        vs_answer(reply, VS_STORE_DOWN, "no memory for a call");
        return false;
    }
    group_path(self, worker, path);
    vs_zk_create(call, path, 0);
    vs_zk_send_multi(call);
    if (!vs_zk_wait(call, reply)) {
        reply->outcome = VS_STORE_DOWN; /* of the record, nothing was written */
        return false;
    }
    if (call->rc == ZNONODE)
        vs_answer(reply, VS_STORE_MOVED, "the namespace is not in the store");
    else if (call->rc != ZOK && call->rc != ZNODEEXISTS)
        vs_zk_trouble(self, call->rc, reply);
    free(call);
    return reply->outcome == VS_STORE_OK;
}

/* What became of a write.  OTHER: something stood there that was not seen before.  AGAIN: its group is missing. */
enum fate { FATE_OK, FATE_OTHER, FATE_AGAIN, FATE_TOLD };

static enum fate send_write(struct zk_store *self, uint64_t worker, uint64_t old_ver, const struct vs_record *record,
                            const struct view *view, struct vs_reply *reply) {
    char path[VS_ZK_PATH_MAX];
    struct zk_call *call = vs_zk_call(self);
    if (!call) {
        vs_answer(reply, VS_STORE_DOWN, "no memory for a call");
        return FATE_TOLD;
    }
    int length = (int)vs_record_write(record, call->body);
    ns_path(self, path);
    vs_zk_check(call, path, view->ns_stat.version);
    incarnation_path(self, view->stored, path);
    vs_zk_check(call, path, -1);
    worker_path(self, worker, path);
    if (old_ver == 0) vs_zk_create(call, path, length);
    /* also over what was made a moment ago: only a set brings its time back */
    vs_zk_set(call, path, length, old_ver ? view->stat.version : 0);
    vs_zk_send_multi(call);
    if (!vs_zk_wait(call, reply)) return FATE_TOLD;
    enum fate fate = FATE_OTHER;
    bool is_same = call->result[0].err == ZOK && call->result[1].err == ZOK;
    if (call->rc == ZOK) {
        vs_zk_learn_time(self, &call->stat);
        reply->record = *record;
        reply->store_ms = reply->record.written_ms = call->stat.mtime;
        fate = FATE_OK;
    } else if (call->rc != ZNONODE && call->rc != ZBADVERSION && call->rc != ZNODEEXISTS) {
        vs_zk_trouble(self, call->rc, reply);
        fate = FATE_TOLD;
    } else if (call->rc == ZNONODE && is_same && old_ver == 0) {
        fate = FATE_AGAIN;
    }
    free(call);
    return fate;
}

static void zk_swap(struct vs_store *store, uint64_t worker, uint64_t old_ver, const struct vs_record *record,
                    struct vs_reply *reply) {
    struct zk_store *self = self_of(store);
    struct view view;
    if (!vs_zk_begin(self, self->call_ms_max, reply)) return;
    for (int tries = 0; tries < 3; tries++) { /* once for its group that was missing, once for somebody in between */
        if (!look(self, WANT_NS | WANT_RECORD, worker, &view, reply) || !vs_is_met(&self->met, reply)) return;
        if (!vs_follows(record, &reply->record, old_ver)) {
            reply->outcome = VS_STORE_CONFLICT;
            return;
        }
        enum fate fate = send_write(self, worker, old_ver, record, &view, reply);
        if (fate == FATE_OK || fate == FATE_TOLD) return;
        if (fate == FATE_AGAIN && !make_group(self, worker, reply)) return;
    }
    vs_answer(reply, VS_STORE_DOWN, "%.90s: it changes all the time", self->where);
}

/* The multi that writes the namespace's record over what was seen. */
static void put_ns(struct zk_store *self, const struct vs_ns_record *record, const struct view *view,
                   struct zk_call *call) {
    char path[VS_ZK_PATH_MAX], old[VS_ZK_PATH_MAX], tag[VS_ZK_PATH_MAX];
    struct vs_ns_record stored = *record;
    if (view->has_ns) stored.incarnation = mix(record->incarnation, view->ns_stat.czxid);
    int length = (int)vs_ns_record_write(&stored, call->body);
    ns_path(self, path);
    incarnation_path(self, stored.incarnation, tag);
    incarnation_path(self, view->stored, old);
    if (!view->has_ns) vs_zk_create(call, path, length);
    vs_zk_set(call, path, length, view->has_ns ? view->ns_stat.version : 0);
    if (view->has_ns && strcmp(old, tag) != 0) vs_zk_delete(call, old);
    if (!view->has_ns || strcmp(old, tag) != 0) vs_zk_create(call, tag, 0);
    if (!view->has_ns) {
        snprintf(path, sizeof path, "/%s/w", self->namespace_);
        vs_zk_create(call, path, 0);
    }
    vs_zk_send_multi(call);
}

static void zk_ns_swap(struct vs_store *store, uint64_t old_ver, const struct vs_ns_record *record,
                       struct vs_reply *reply) {
    struct zk_store *self = self_of(store);
    struct view view;
    if (!vs_zk_begin(self, self->call_ms_max, reply) || !look(self, WANT_NS, 0, &view, reply)) return;
    if (reply->ns.ver != old_ver) {
        reply->outcome = VS_STORE_CONFLICT;
        return;
    }
    struct zk_call *call = vs_zk_call(self);
    if (!call) {
        vs_answer(reply, VS_STORE_DOWN, "no memory for a call");
        return;
    }
    put_ns(self, record, &view, call);
    if (!vs_zk_wait(call, reply)) return;
    int rc = call->rc;
    if (rc == ZOK) {
        vs_zk_learn_time(self, &call->stat);
        reply->ns = *record;
        reply->store_ms = call->stat.mtime;
        if (!view.has_ns) reply->ns.incarnation = mix(record->incarnation, call->stat.czxid);
    }
    free(call);
    if (rc == ZOK) return;
    if (rc != ZBADVERSION && rc != ZNODEEXISTS && rc != ZNONODE)
        vs_zk_trouble(self, rc, reply);
    else if (look(self, WANT_NS, 0, &view, reply))
        reply->outcome = VS_STORE_CONFLICT;
}

/* ------------------------------------------------------------------ making, opening */

/* One node, where it is missing.  The root's path is made from above it, by another session. */
static bool make_node(struct zk_store *self, const char *path, struct vs_reply *reply) {
    struct zk_call *call = vs_zk_call(self);
    if (!call) {
        vs_answer(reply, VS_STORE_DOWN, "no memory for a call");
        return false;
    }
    vs_zk_create(call, path, 0);
    vs_zk_send_multi(call);
    if (!vs_zk_wait(call, reply)) return false;
    if (call->rc != ZOK && call->rc != ZNODEEXISTS) vs_zk_trouble(self, call->rc, reply);
    free(call);
    return reply->outcome == VS_STORE_OK;
}

/* The root lies under what the session takes for "/", so it is made by a session that sees all. */
static void make_root(struct zk_store *self, struct vs_reply *reply) {
    char part[sizeof self->root];
    struct zk_store *above = calloc(1, sizeof *above);
    if (!above) {
        vs_answer(reply, VS_STORE_DOWN, "no memory for a session");
        return;
    }
    *above = *self;
    above->zh = NULL;
    above->pid = 0;
    *strchr(above->servers, '/') = '\0';
    if (vs_zk_connect(above, VS_STORE_LIST_MS, reply))
        for (size_t i = 1; i <= strlen(self->root) && reply->outcome == VS_STORE_OK; i++) {
            if (self->root[i] != '/' && self->root[i] != '\0') continue;
            snprintf(part, sizeof part, "%.*s", (int)i, self->root);
            make_node(above, part, reply);
        }
    vs_zk_close(above);
    free(above);
}

static void zk_init(struct vs_store *store, struct vs_reply *reply) {
    struct zk_store *self = self_of(store);
    if (!self->auth[0] && !self->is_open) {
        vs_answer(reply, VS_STORE_REFUSED,
                  "%.50s: without user:password in the URI anyone could write there; if that is meant, say acl=open",
                  self->where);
        return;
    }
    make_root(self, reply);
    if (reply->outcome != VS_STORE_OK || !vs_zk_connect(self, VS_STORE_LIST_MS, reply)) return;
    if (make_node(self, VS_ZK_CLOCK, reply)) check_acl(self, "/", reply);
}

static int read_uri(const char *text, struct vs_uri *uri, struct vesta_error *err) {
    char host[256];
    unsigned port;
    int rc = vs_uri_parse(text, keys, uri, err);
    struct vs_word one, rest = {uri->hosts, strlen(uri->hosts)};
    for (bool more = true; rc == VESTA_OK && more;) {
        char name[sizeof uri->hosts];
        more = vs_split(rest, ',', &one, &rest);
        if (!more) one = rest;
        snprintf(name, sizeof name, "%.*s", (int)one.length, one.at);
        rc = vs_uri_host(name, PORT, host, sizeof host, &port, err);
    }
    if (rc != VESTA_OK) return rc;
    size_t length = strlen(uri->path);
    if (length < 2 || uri->path[length - 1] == '/' || strstr(uri->path, "//") || strstr(uri->path, "/."))
        return vs_fail(err, VESTA_EOPTION, "the store's URI names no node of its own: zk://%.150s/vesta", uri->hosts);
    if (!uri->user[0] != !uri->password[0] && !uri->value[KEY_SECRET_FILE][0])
        return vs_fail(err, VESTA_EOPTION,
                       "the store's URI has half a user:password; both stand in front of the '@', or in a secret_file");
    if (uri->value[KEY_ACL][0] && strcmp(uri->value[KEY_ACL], "open") != 0)
        return vs_fail(err, VESTA_EOPTION, "acl in the store's URI must be open, or left out");
    return VESTA_OK;
}

static int zk_check(const char *text, struct vesta_error *err) {
    struct vs_uri uri;
    return read_uri(text, &uri, err);
}

static void zk_close(struct vs_store *store) {
    struct zk_store *self = self_of(store);
    vs_zk_close(self);
    explicit_bzero(self->auth, sizeof self->auth);
    free(self);
}

static int zk_open(const char *text, const struct vs_store_opts *opts, struct vs_store **store,
                   struct vesta_error *err) {
    struct vs_uri uri;
    char own[sizeof uri.user + sizeof uri.password + 1] = "";
    struct zk_store *self = calloc(1, sizeof *self);
    if (!self) return vs_fail(err, VESTA_ENOMEM, "no memory");
    self->base.ops = &vs_store_zookeeper;
    self->clock = self->base.clock = opts->clock;
    self->base.list_ms_max = VS_STORE_LIST_MS;
    self->call_ms_max = self->base.call_ms_max = opts->call_ms_max ? opts->call_ms_max : VS_STORE_CALL_MS;
    int rc = read_uri(text, &uri, err);
    if (rc == VESTA_OK) {
        if (uri.password[0]) snprintf(own, sizeof own, "%s:%s", uri.user, uri.password);
        rc = vs_uri_secret(opts, uri.value[KEY_SECRET_FILE], own, self->auth, sizeof self->auth, err);
    }
    if (rc == VESTA_OK && self->auth[0] && !strchr(self->auth, ':'))
        rc = vs_fail(err, VESTA_EOPTION, "a ZooKeeper's secret is user:password");
    if (rc == VESTA_OK &&
        snprintf(self->servers, sizeof self->servers, "%s%s", uri.hosts, uri.path) >= (int)sizeof self->servers)
        rc = vs_fail(err, VESTA_EOPTION, "the store's URI has too many hosts");
    snprintf(self->root, sizeof self->root, "%s", uri.path);
    snprintf(self->namespace_, sizeof self->namespace_, "%s", opts->namespace_);
    snprintf(self->where, sizeof self->where, "zk %.60s%.60s", uri.hosts, uri.path);
    self->is_open = uri.value[KEY_ACL][0] != '\0';
    explicit_bzero(own, sizeof own);
    explicit_bzero(&uri, sizeof uri);
    if (rc != VESTA_OK) {
        zk_close(&self->base);
        return rc;
    }
    *store = &self->base;
    return VESTA_OK;
}

const struct vs_store_ops vs_store_zookeeper = {
    .scheme = "zk",
    .check = zk_check,
    .open = zk_open,
    .close = zk_close,
    .list = zk_list,
    .read = zk_read,
    .swap = zk_swap,
    .ns_read = zk_ns_read,
    .ns_swap = zk_ns_swap,
    .init = zk_init,
    .foreign = vs_zk_foreign,
    .names = vs_zk_names,
};
