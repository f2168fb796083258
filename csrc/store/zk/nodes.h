/* nodes.h -- what stands in the nodes of a namespace: their paths, and what a look at them finds. */
#ifndef VS_STORE_ZK_NODES_H
#define VS_STORE_ZK_NODES_H

#include "store/zk/link.h"

void vs_zk_ns_path(const struct zk_store *self, char path[static VS_ZK_PATH_MAX]);
void vs_zk_tag_path(const struct zk_store *self, uint64_t stored, char path[static VS_ZK_PATH_MAX]); /* i-... */
void vs_zk_workers_path(const struct zk_store *self, char path[static VS_ZK_PATH_MAX]);
void vs_zk_group_path(const struct zk_store *self, uint64_t worker, char path[static VS_ZK_PATH_MAX]);
void vs_zk_worker_path(const struct zk_store *self, uint64_t worker, char path[static VS_ZK_PATH_MAX]);

/* Between the incarnation that is stored and the one that callers see, both ways. */
uint64_t vs_zk_mix(uint64_t incarnation, int64_t czxid);

/* What stands in the nodes that a call is about. */
struct zk_view {
    bool has_ns, has_record;
    uint64_t stored; /* the incarnation, as it is written */
    struct Stat ns_stat, stat;
};

/* The next answer is of that kind.  False with the reply filled. */
bool vs_zk_next_sync(struct zk_store *self, struct vs_reply *reply);
bool vs_zk_next_ns(struct zk_store *self, struct zk_view *view, struct vs_reply *reply);
bool vs_zk_next_record(struct zk_store *self, uint64_t worker, struct zk_view *view, struct vs_reply *reply);

/* One message: sync, and what is wanted.  True: what is not there has ver 0. */
bool vs_zk_look_at_record(struct zk_store *self, uint64_t worker, struct zk_view *view, struct vs_reply *reply);
bool vs_zk_look_at_ns(struct zk_store *self, struct zk_view *view, struct vs_reply *reply);
bool vs_zk_look_at_both(struct zk_store *self, uint64_t worker, struct zk_view *view, struct vs_reply *reply);

/* The nodes beside the namespace's own, which every write stands on: whether they are there. */
struct zk_beside {
    bool tag, workers;
};
bool vs_zk_look_beside(struct zk_store *self, const struct zk_view *view, struct zk_beside *beside,
                       struct vs_reply *reply);

/* ------------------------------------------------------------------ writes */

/* The next answer is a multi's, or the ACL's of a node that anyone who may write there makes no store, unless the
 * operator says so.  False with the reply filled. */
bool vs_zk_next_multi(struct zk_store *self, struct zk_multi *multi, struct vs_reply *reply);
bool vs_zk_next_acl(struct zk_store *self, const char *path, bool is_there, struct vs_reply *reply);

/* Asks for a node without a text; makes one where it is missing: false with the reply filled. */
void vs_zk_put_node(struct zk_store *self, const char *path);
bool vs_zk_make_node(struct zk_store *self, const char *path, struct vs_reply *reply);

/* Whether a write can name the version of a node that was read (all 0: there is none).  False with the reply filled:
 * the node of `what` is at VS_ZK_UNCOMPARED, and a person must write it once more. */
bool vs_zk_is_compared(const struct zk_store *self, const struct Stat *stat, const char *what, struct vs_reply *reply);

/* A write that was sent: what its answers are held against. */
struct zk_writing {
    size_t length;       /* of its text */
    int32_t version;     /* of the node, behind it */
    int64_t before_zxid; /* the last transaction that was seen before */
    struct zk_multi made;
};
/* The multi's answer is this write's, and not one from before: also its time, which is taken for the store's. */
bool vs_zk_is_new(const struct zk_writing *writing);
/* The node is as the write's own transaction left it. */
bool vs_zk_is_of(const struct Stat *at, const struct Stat *made);

#endif
