/* zk.c -- the store in ZooKeeper: zk://user:password@h1:2181,h2:2181/vesta.
 *
 *     /<namespace>                   its record as text (lease/record.h)
 *     /<namespace>/i-<incarnation>   an empty node.  Each write checks in the same step that it still exists
 *     /<namespace>/w/<n/128>/<n>     the record of worker id n, in groups, so that lists of children stay short
 *     /~clock                        empty: writing it returns the leader's time
 *     /~counters/<tag>               see counter.c
 *
 * All nodes are persistent.  A session gives no guarantee.  Only the version that a write carries decides whether the
 * write is done.  A write is one multi that checks the incarnation and sets the record over its version.  A get follows
 * in the same message, and the write counts as done only if the get shows it.  A read follows a sync, because a
 * follower may lag, and an old record would look as if the store had been rolled back.
 *
 * The czxid of the namespace's node is part of the incarnation that callers see.  So a node that was deleted and
 * created again is another namespace, even with the same text.
 *
 * The store's clock is the leader's: the mtime of a node.  Between writes, it is extrapolated by boot time. */
#include "store/zk/nodes.h"
#include "base/error.h"
#include "base/slice.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct vs_backend vs_store_zk;

_Static_assert(sizeof((struct zk_place *)0)->auth >
                   sizeof((struct vs_uri *)0)->user + sizeof((struct vs_uri *)0)->password,
               "user:password of a URI");
_Static_assert(sizeof((struct zk_store *)0)->root >= sizeof((struct vs_uri *)0)->path, "the path of a URI");
_Static_assert(sizeof((struct zk_place *)0)->hosts >= sizeof((struct vs_uri *)0)->hosts, "the hosts of a URI");

/* A single store closes its session if it will be idle this long, because a server accepts 60 sessions from one
 * address. */
#define IDLE_MS 2000

/* The header declares zookeeper_init_ssl, but Debian's library is built without OpenSSL and lacks it. */
#define NO_TLS                                                                                                         \
    "libzookeeper-mt is built without TLS (it has no zookeeper_init_ssl). docs/stores.md describes a workaround"

enum { KEY_SECRET_FILE, KEY_TLS, KEY_ACL };
static const char *const keys[] = {"secret_file", "tls", "acl", NULL};
_Static_assert(sizeof keys / sizeof *keys == KEY_ACL + 2, "a place for each key, and the end");

static struct zk_store *zk_self_of(struct vs_store *store) {
    assert(store->backend == &vs_store_zk);
    return (struct zk_store *)store;
}

/* ------------------------------------------------------------------ reading */

static void zk_read(struct vs_store *store, uint64_t worker, struct vs_reply *reply) {
    struct zk_store *self = zk_self_of(store);
    struct zk_view view;
    if (vs_zk_begin(self, self->call_ms_max, reply) && vs_zk_look_at_record(self, worker, &view, reply)) vs_done(reply);
}

static void zk_ns_read(struct vs_store *store, struct vs_reply *reply) {
    struct zk_store *self = zk_self_of(store);
    struct zk_view view;
    char path[VS_ZK_PATH_MAX], shown[VS_ZK_PATH_MAX];
    if (!vs_zk_begin(self, self->call_ms_max, reply)) return;
    memset(&view, 0, sizeof view);
    vs_zk_ns_path(self, path);
    snprintf(shown, sizeof shown, "/%s", self->namespace_);
    vs_zk_ask(self, ZK_SYNC, self->root);
    vs_zk_ask(self, ZK_GET, path);
    vs_zk_ask(self, ZK_GET_ACL, self->root);
    vs_zk_ask(self, ZK_GET_ACL, path);
    if (!vs_zk_time(self, reply) || !vs_zk_next_sync(self, reply) || !vs_zk_next_ns(self, &view, reply) ||
        !vs_zk_next_acl(self, "/", true, reply) || !vs_zk_next_acl(self, shown, view.has_ns, reply))
        return;
    vs_meet(&self->met, reply);
    vs_done(reply);
}

/* ------------------------------------------------------------------ writing */

/* Reports that a node was deleted by hand, together with everything below it.  A new claim there would start below the
 * old bounds. */
static bool say_gone(const struct zk_store *self, const char *what, struct vs_reply *reply) {
    return vs_answer(reply, VS_STORE_REFUSED, "%.40s/%.40s/%s was deleted: `vesta store advance` recreates it",
                     self->place.where, self->namespace_, what);
}

/* Creates the group's node before its first record.  Another host may create it at the same time. */
static bool make_group(struct zk_store *self, uint64_t worker, struct vs_reply *reply) {
    char path[VS_ZK_PATH_MAX];
    struct zk_multi made;
    vs_zk_group_path(self, worker, path);
    vs_zk_put_node(self, path);
    if (!vs_zk_next_multi(self, &made, reply)) return false;
    if (made.rc == ZNONODE) return say_gone(self, "w", reply);
    return made.rc == ZOK || made.rc == ZNODEEXISTS || vs_zk_trouble(self, made.rc, reply);
}

/* The result of a write.  OTHER: another write came first.  AGAIN: the group is missing.  TOLD: the reply has been
 * filled. */
enum zk_fate { FATE_OK, FATE_OTHER, FATE_AGAIN, FATE_TOLD };

/* Evaluates the server's error for a write that it did not execute. */
static enum zk_fate fate_of(struct zk_store *self, const struct zk_multi *made, bool is_first, struct vs_reply *reply) {
    assert(made->rc != ZOK);
    bool is_same = made->count > 1 && made->each[0] == ZOK && made->each[1] == ZOK;
    vs_not_done(reply);
    if (made->count > 1 && made->each[0] == ZOK && made->each[1] == ZNONODE) {
        say_gone(self, "i-...", reply);
        return FATE_TOLD;
    }
    if (made->rc == ZNONODE && is_same && is_first) return FATE_AGAIN;
    if (made->rc == ZNONODE || made->rc == ZBADVERSION || made->rc == ZNODEEXISTS) return FATE_OTHER;
    vs_zk_trouble(self, made->rc, reply);
    return FATE_TOLD;
}

/* Returns whether the get after the write shows that the write was done.  Either the record has the write's own
 * transaction, or later writes have replaced it and the answer shows the node's next change. */
static bool zk_shows(struct zk_store *self, uint64_t worker, const struct vs_record *record,
                     const struct zk_writing *writing, struct vs_reply *reply) {
    struct vs_reply seen = {.outcome = reply->outcome};
    struct zk_view view;
    if (!vs_zk_next_record(self, worker, &view, &seen)) {
        vs_answer_as(reply, reply->outcome, &seen);
        return false;
    }
    const struct Stat *made = &writing->made.stat, *at = &view.stat;
    bool stands = vs_zk_is_of(at, made) && vs_is_same_write(record, &seen.record);
    bool moved_on =
        at->mzxid > made->mzxid && vs_zk_version_is_later(at->version, made->version) && seen.record.ver > record->ver;
    return (view.has_record && vs_zk_is_new(writing) && (stands || moved_on)) ||
           vs_zk_no_answer(self, "the written node cannot be read back", reply);
}

/* Sends the multi, and the get after it. */
static void put_write(struct zk_store *self, uint64_t worker, const struct zk_view *view, const char *text,
                      size_t length) {
    char path[VS_ZK_PATH_MAX];
    struct zk_call *multi = vs_zk_multi(self);
    if (!multi) return;
    vs_zk_ns_path(self, path);
    vs_zk_op_check(multi, path, view->ns_stat.version);
    vs_zk_tag_path(self, view->stored, path);
    vs_zk_op_exists(multi, path);
    vs_zk_worker_path(self, worker, path);
    if (!view->has_record) vs_zk_op_create(multi, path, text, length, self->is_open);
    /* a set is also needed after a create, because only a set returns the time */
    vs_zk_op_set(multi, path, text, length, view->has_record ? view->stat.version : 0);
    vs_zk_send(self, multi);
    vs_zk_ask(self, ZK_GET, path);
}

static enum zk_fate send_write(struct zk_store *self, uint64_t worker, const struct vs_record *record,
                               const struct zk_view *view, struct vs_reply *reply) {
    char text[VS_RECORD_TEXT_MAX];
    int64_t seen_zxid = view->has_record ? view->stat.mzxid : 0, ns_zxid = view->ns_stat.mzxid;
    struct zk_writing writing = {.length = vs_record_write(record, text),
                                 .version = view->has_record ? vs_zk_version_behind(view->stat.version) : 1,
                                 .before_zxid = seen_zxid > ns_zxid ? seen_zxid : ns_zxid};
    assert(view->has_ns);            /* the write compares the namespace's version */
    assert(writing.before_zxid > 0); /* otherwise the answer to an earlier write would be accepted */
    put_write(self, worker, view, text, writing.length);
    vs_sent(reply);
    if (!vs_zk_next_multi(self, &writing.made, reply)) return FATE_TOLD;
    if (writing.made.rc != ZOK) {
        vs_zk_give_up(self); /* the node will be read again */
        return fate_of(self, &writing.made, !view->has_record, reply);
    }
    if (!zk_shows(self, worker, record, &writing, reply)) return FATE_TOLD;
    vs_zk_learn_time(self, &writing.made.stat);
    reply->record = *record;
    reply->store_ms = reply->record.written_ms = writing.made.stat.mtime;
    return FATE_OK;
}

/* Reports that another record is stored.  If it is the result of this very write, an earlier attempt was executed
 * although the server denied it, so the outcome is UNKNOWN. */
static void say_other(const struct vs_record *record, bool was_sent, struct vs_reply *reply) {
    if (was_sent && vs_is_same_write(record, &reply->record))
        vs_sent(reply);
    else
        vs_not_first(reply);
}

static void zk_swap(struct vs_store *store, uint64_t worker, uint64_t old_ver, const struct vs_record *record,
                    struct vs_reply *reply) {
    struct zk_store *self = zk_self_of(store);
    struct zk_view view;
    if (!vs_zk_begin(self, self->call_ms_max, reply)) return;
    /* the second attempt is for a missing group, the third for another write that came first */
    for (int tries = 0; tries < 3; tries++) {
        if (tries) vs_sent(reply); /* UNKNOWN until the stored record has been read */
        if (!vs_zk_look_at_both(self, worker, &view, reply) || !vs_is_met(&self->met, reply)) return;
        assert(view.has_record == (reply->record.ver > 0));
        if (!vs_follows(record, &reply->record, old_ver)) {
            say_other(record, tries > 0, reply);
            return;
        }
        vs_not_done(reply);
        if (!vs_zk_is_compared(self, &view.ns_stat, self->namespace_, reply) ||
            !vs_zk_is_compared(self, &view.stat, "the worker id's record", reply))
            return;
        enum zk_fate fate = send_write(self, worker, record, &view, reply);
        if (fate == FATE_OK) vs_done(reply);
        if (fate == FATE_OK || fate == FATE_TOLD) return;
        if (fate == FATE_AGAIN && !make_group(self, worker, reply)) return;
    }
    vs_answer(reply, VS_STORE_DOWN, "%.90s: other writers changed it during each attempt: try again",
              self->place.where);
}

/* ------------------------------------------------------------------ the namespace */

/* Sends a multi, and a get after it.  The multi writes the namespace's record over the version that was read, and
 * creates the namespace's nodes.  Returns the length of the text. */
static size_t put_ns(struct zk_store *self, const struct vs_ns_record *stored, const struct zk_view *view,
                     const struct zk_beside *beside) {
    char path[VS_ZK_PATH_MAX], old[VS_ZK_PATH_MAX], tag[VS_ZK_PATH_MAX], text[VS_RECORD_TEXT_MAX];
    size_t length = vs_ns_record_write(stored, text);
    assert(view->has_ns || !beside->tag); /* no node exists below a missing node */
    assert(view->has_ns || !beside->workers);
    struct zk_call *multi = vs_zk_multi(self);
    if (!multi) return length;
    vs_zk_ns_path(self, path);
    vs_zk_tag_path(self, stored->incarnation, tag);
    vs_zk_tag_path(self, view->stored, old);
    bool is_other = !view->has_ns || strcmp(old, tag) != 0;
    if (!view->has_ns) vs_zk_op_create(multi, path, text, length, self->is_open);
    vs_zk_op_set(multi, path, text, length, view->has_ns ? view->ns_stat.version : 0);
    if (beside->tag && is_other) vs_zk_op_delete(multi, old);
    if (is_other || !beside->tag) vs_zk_op_create(multi, tag, NULL, 0, self->is_open);
    vs_zk_workers_path(self, path);
    if (!beside->workers) vs_zk_op_create(multi, path, NULL, 0, self->is_open);
    vs_zk_send(self, multi);
    vs_zk_ns_path(self, path);
    vs_zk_ask(self, ZK_GET, path);
    return length;
}

/* Returns whether the get after the write shows that the record is stored.  The incarnation that callers use contains
 * the record's czxid. */
static bool zk_shows_ns(struct zk_store *self, const struct vs_ns_record *stored, const struct zk_writing *writing,
                        struct vs_reply *reply) {
    struct vs_reply seen = {.outcome = reply->outcome};
    struct zk_view view;
    if (!vs_zk_next_ns(self, &view, &seen)) {
        vs_answer_as(reply, reply->outcome, &seen);
        return false;
    }
    bool is_it = view.has_ns && seen.ns.ver == stored->ver && view.stored == stored->incarnation &&
                 seen.ns.floor_ms == stored->floor_ms && vs_zk_is_new(writing) &&
                 vs_zk_is_of(&view.ns_stat, &writing->made.stat);
    reply->ns = seen.ns;
    return is_it || vs_zk_no_answer(self, "the written node cannot be read back", reply);
}

static enum zk_fate zk_write_ns(struct zk_store *self, const struct vs_ns_record *record, const struct zk_view *view,
                                const struct zk_beside *beside, struct vs_reply *reply) {
    struct vs_ns_record stored = *record;
    struct zk_writing writing = {.version = view->has_ns ? vs_zk_version_behind(view->ns_stat.version) : 1,
                                 .before_zxid = view->has_ns ? view->ns_stat.mzxid : 0};
    const struct zk_multi *made = &writing.made;
    if (view->has_ns) stored.incarnation = vs_zk_mix(record->incarnation, view->ns_stat.czxid);
    writing.length = put_ns(self, &stored, view, beside);
    vs_sent(reply);
    if (!vs_zk_next_multi(self, &writing.made, reply)) return FATE_TOLD;
    if (made->rc == ZOK) {
        if (!zk_shows_ns(self, &stored, &writing, reply)) return FATE_TOLD;
        vs_zk_learn_time(self, &made->stat);
        reply->store_ms = made->stat.mtime;
        return FATE_OK;
    }
    vs_zk_give_up(self);
    if (made->rc == ZBADVERSION || made->rc == ZNODEEXISTS || made->rc == ZNONODE) return FATE_OTHER;
    vs_not_done(reply);
    vs_zk_trouble(self, made->rc, reply);
    return FATE_TOLD;
}

static void zk_ns_swap(struct vs_store *store, uint64_t old_ver, const struct vs_ns_record *record,
                       struct vs_reply *reply) {
    struct zk_store *self = zk_self_of(store);
    struct zk_view view;
    struct zk_beside beside = {false, false};
    assert(record->ver == old_ver + 1);
    if (!vs_zk_begin(self, self->call_ms_max, reply) || !vs_zk_look_at_ns(self, &view, reply)) return;
    assert(view.has_ns == (reply->ns.ver > 0));
    if (reply->ns.ver != old_ver) {
        vs_not_first(reply);
        return;
    }
    if (!vs_zk_is_compared(self, &view.ns_stat, self->namespace_, reply)) return;
    if (view.has_ns && !vs_zk_look_beside(self, &view, &beside, reply)) return;
    enum zk_fate fate = zk_write_ns(self, record, &view, &beside, reply);
    if (fate == FATE_OK)
        vs_done(reply);
    else if (fate == FATE_OTHER && vs_zk_look_at_ns(self, &view, reply) && reply->ns.ver != record->ver)
        /* if the versions are equal, this write may have been executed although the server denied it */
        vs_not_first(reply);
}

/* ------------------------------------------------------------------ creating, opening */

/* Creates the root, starting with the first part of its path. */
static bool make_root(struct zk_store *self, struct vs_reply *reply) {
    char part[sizeof self->root];
    for (size_t i = 1; i <= strlen(self->root); i++) {
        if (self->root[i] != '/' && self->root[i] != '\0') continue;
        snprintf(part, sizeof part, "%.*s", (int)i, self->root);
        if (!vs_zk_make_node(self, part, reply)) return false;
    }
    return true;
}

static void zk_init(struct vs_store *store, struct vs_reply *reply) {
    struct zk_store *self = zk_self_of(store);
    char path[VS_ZK_PATH_MAX];
    vs_reply_clear(reply);
    if (!self->place.auth[0] && !self->is_open) {
        vs_answer(reply, VS_STORE_REFUSED,
                  "%.50s: the URI has no user:password, so anyone could write there: write zk://USER:PASSWORD@..., or "
                  "allow it with ?acl=open",
                  self->place.where);
        return;
    }
    if (!vs_zk_connect(self, VS_STORE_LIST_MS, reply) || !make_root(self, reply)) return;
    vs_zk_path(self, path, VS_ZK_CLOCK);
    if (!vs_zk_make_node(self, path, reply)) return;
    vs_zk_ask(self, ZK_GET_ACL, self->root);
    if (vs_zk_next_acl(self, "/", true, reply)) vs_done(reply);
}

static void zk_inspect(struct vs_store *store, vs_tell_fault *tell, void *to, struct vs_reply *reply) {
    static const char todo[] = "restore it from a backup, or run `vesta store advance`, which recreates it";
    struct zk_store *self = zk_self_of(store);
    struct zk_view view;
    struct zk_beside beside = {true, true};
    if (!vs_zk_begin(self, self->call_ms_max, reply) || !vs_zk_look_at_ns(self, &view, reply)) return;
    if (!vs_zk_is_compared(self, &view.ns_stat, self->namespace_, reply)) return;
    if (view.has_ns && !vs_zk_look_beside(self, &view, &beside, reply)) return;
    if (!beside.workers) tell(to, "the node w, with all records, is missing", todo);
    if (!beside.tag) tell(to, "the node i-... is missing, without which nothing is written", todo);
    vs_done(reply);
}

static void zk_idle(struct vs_store *store, int64_t now_boot_us, int64_t until_boot_us) {
    struct zk_store *self = zk_self_of(store);
    if (self->session && until_boot_us - now_boot_us >= IDLE_MS * INT64_C(1000) && vs_pool_is_one_stores(self->pool))
        vs_zk_drop(self);
    else
        vs_zk_park(self, now_boot_us);
}

static int zk_read_uri(const char *text, struct vs_uri *uri, struct vesta_error *err) {
    char host[256];
    unsigned port = VS_ZK_PORT;
    int rc = vs_uri_parse(text, keys, uri, err);
    if (rc == VESTA_OK && *uri->value[KEY_TLS] && strcmp(uri->value[KEY_TLS], "off") != 0)
        rc = vs_fail(err, VESTA_EOPTION, "tls=%.40s in the store's URI: " NO_TLS, uri->value[KEY_TLS]);
    struct vs_slice one, rest = {uri->hosts, strlen(uri->hosts)};
    for (bool more = true; rc == VESTA_OK && more;) {
        char name[sizeof uri->hosts];
        more = vs_slice_split(rest, ',', &one, &rest);
        if (!more) one = rest;
        assert(one.length < sizeof name);
        snprintf(name, sizeof name, "%.*s", (int)one.length, one.at);
        rc = vs_uri_host(name, host, sizeof host, &port, err);
    }
    if (rc != VESTA_OK) return rc;
    size_t length = strlen(uri->path);
    if (length > 2 && uri->path[length - 1] == '/') uri->path[--length] = '\0';
    if (length < 2 || uri->path[length - 1] == '/' || strstr(uri->path, "//") || strstr(uri->path, "/."))
        return vs_fail(err, VESTA_EOPTION, "the store's URI does not name a node under /: write zk://%.150s/vesta",
                       uri->hosts);
    if (!uri->user[0] != !uri->password[0] && !uri->value[KEY_SECRET_FILE][0])
        return vs_fail(
            err, VESTA_EOPTION,
            "the store's URI has only a user or only a password: write both before the '@', or use a secret_file");
    if (uri->value[KEY_ACL][0] && strcmp(uri->value[KEY_ACL], "open") != 0)
        return vs_fail(err, VESTA_EOPTION, "acl in the store's URI must be open, or absent");
    return VESTA_OK;
}

static int zk_check(const char *text, struct vesta_error *err) {
    struct vs_uri uri;
    return zk_read_uri(text, &uri, err);
}

static void zk_close(struct vs_store *store) {
    struct zk_store *self = zk_self_of(store);
    vs_zk_leave(self);
    explicit_bzero(self->place.auth, sizeof self->place.auth);
    free(self);
}

static int zk_open(const char *text, const struct vs_store_opts *opts, struct vs_store **store,
                   struct vesta_error *err) {
    struct vs_uri uri;
    char own[sizeof uri.user + sizeof uri.password + 1] = "";
    struct zk_store *self = calloc(1, sizeof *self);
    if (!self) return vs_fail(err, VESTA_ENOMEM, "no memory");
    self->base = vs_store_base(&vs_store_zk, opts);
    self->call_ms_max = opts->call_ms_max ? opts->call_ms_max : VS_STORE_CALL_MS;
    self->base.call_ms_max = 2 * self->call_ms_max; /* once for opening the connection, and once for the call */
    self->base.list_ms_max = 2 * VS_STORE_LIST_MS;
    int rc = zk_read_uri(text, &uri, err);
    if (rc == VESTA_OK) {
        if (uri.password[0]) snprintf(own, sizeof own, "%s:%s", uri.user, uri.password);
        struct vs_store_secret from = {opts->secret, uri.value[KEY_SECRET_FILE], own};
        rc = vs_uri_secret(&from, self->place.auth, sizeof self->place.auth, err);
    }
    if (rc == VESTA_OK && self->place.auth[0] && !strchr(self->place.auth, ':'))
        rc = vs_fail(err, VESTA_EOPTION, "the secret of a zk: store must be user:password");
    snprintf(self->place.hosts, sizeof self->place.hosts, "%s", uri.hosts);
    snprintf(self->root, sizeof self->root, "%s", uri.path);
    snprintf(self->namespace_, sizeof self->namespace_, "%s", opts->namespace_);
    snprintf(self->place.where, sizeof self->place.where, "zk %.60s%.60s", uri.hosts, uri.path);
    self->is_open = uri.value[KEY_ACL][0] != '\0';
    explicit_bzero(own, sizeof own);
    explicit_bzero(&uri, sizeof uri);
    if (rc == VESTA_OK && !vs_zk_enter(self)) rc = vs_fail(err, VESTA_ENOMEM, "no memory");
    if (rc != VESTA_OK) {
        zk_close(&self->base);
        return rc;
    }
    *store = &self->base;
    return VESTA_OK;
}

static const struct vs_store_leases zk_leases = {
    .list = vs_zk_list,
    .read = zk_read,
    .swap = zk_swap,
    .ns_read = zk_ns_read,
    .ns_swap = zk_ns_swap,
    .idle = zk_idle,
    .stirred = vs_zk_stirred,
    .names = vs_zk_names,
};

static const struct vs_store_counters zk_counters = {
    .take = vs_zk_take,
    .untake = vs_zk_untake,
    .tags = vs_zk_tags,
    .tag_add = vs_zk_tag_add,
    .tag_step = vs_zk_tag_step,
    .lift = vs_zk_lift,
    .share = vs_zk_share,
    .keep_form = vs_zk_form,
};

static const struct vs_store_admin zk_admin = {
    .init = zk_init,
    .inspect = zk_inspect,
    .foreign = vs_zk_foreign,
};

const struct vs_backend vs_store_zk = {
    .scheme = "zk",
    .form = "zk://HOSTS/PATH",
    .made = "the root node exists",
    .rights = "a process that leases must use the same user:password, which owns what is created",
    .secret = "auth",
    .tls = NO_TLS,
    .check = zk_check,
    .open = zk_open,
    .close = zk_close,
    .leases = &zk_leases,
    .counters = &zk_counters,
    .admin = &zk_admin,
};
