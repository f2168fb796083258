/* nodes.h -- the nodes of a namespace: their paths, and how they are read and written. */
#ifndef VS_STORE_ZK_NODES_H
#define VS_STORE_ZK_NODES_H

#include "store/zk/link.h"

void vs_zk_ns_path(const struct zk_store *self, char path[static VS_ZK_PATH_MAX]);
/* writes a path that ends in "i-<incarnation>" */
void vs_zk_tag_path(const struct zk_store *self, uint64_t stored, char path[static VS_ZK_PATH_MAX]);
void vs_zk_workers_path(const struct zk_store *self, char path[static VS_ZK_PATH_MAX]);
void vs_zk_group_path(const struct zk_store *self, uint64_t worker, char path[static VS_ZK_PATH_MAX]);
void vs_zk_worker_path(const struct zk_store *self, uint64_t worker, char path[static VS_ZK_PATH_MAX]);

/* These two convert the stored incarnation into the incarnation that callers use, and back. */
uint64_t vs_zk_mix(uint64_t incarnation, int64_t czxid);

/* The nodes of a call as they were read. */
struct zk_view {
    bool has_ns, has_record;
    uint64_t stored; /* the incarnation as it is stored */
    struct Stat ns_stat, stat;
};

/* Each of these takes the next answer, which must be of the kind that the function's name states. */
bool vs_zk_next_sync(struct zk_store *self, struct vs_reply *reply);
bool vs_zk_next_ns(struct zk_store *self, struct zk_view *view, struct vs_reply *reply);
bool vs_zk_next_record(struct zk_store *self, uint64_t worker, struct zk_view *view, struct vs_reply *reply);

/* These two send a sync and the gets in one message, and take the answers.  A missing node has version 0. */
bool vs_zk_look_at_record(struct zk_store *self, uint64_t worker, struct zk_view *view, struct vs_reply *reply);
bool vs_zk_look_at_ns(struct zk_store *self, struct zk_view *view, struct vs_reply *reply);
bool vs_zk_look_at_both(struct zk_store *self, uint64_t worker, struct zk_view *view, struct vs_reply *reply);

/* Whether the other two nodes of a namespace exist, which every write requires. */
struct zk_beside {
    bool tag, workers;
};
bool vs_zk_look_beside(struct zk_store *self, const struct zk_view *view, struct zk_beside *beside,
                       struct vs_reply *reply);

/* ------------------------------------------------------------------ writes */

/* These two take the next answer, which must be the answer to a multi, or an ACL.  An ACL that allows anyone to write
 * is REFUSED, unless the URI has acl=open. */
bool vs_zk_next_multi(struct zk_store *self, struct zk_multi *multi, struct vs_reply *reply);
bool vs_zk_next_acl(struct zk_store *self, const char *path, bool is_there, struct vs_reply *reply);

/* vs_zk_put_node sends the creation of an empty node.  vs_zk_make_node also takes the answer, and accepts an existing
 * node. */
void vs_zk_put_node(struct zk_store *self, const char *path);
bool vs_zk_make_node(struct zk_store *self, const char *path, struct vs_reply *reply);

/* Returns whether ZooKeeper can compare a write with the version of the node that was read.  `stat` is all 0 if there
 * is no node.  If the node has the version VS_ZK_UNCOMPARED, an administrator must write it once.  In that case, fills
 * the reply, which calls the node `what`, and returns false. */
bool vs_zk_is_compared(const struct zk_store *self, const struct Stat *stat, const char *what, struct vs_reply *reply);

/* A write that was sent, and the values that its answers must contain. */
struct zk_writing {
    size_t length;
    int32_t version;     /* the node's version after the write */
    int64_t before_zxid; /* id of the last transaction that was read before the write */
    struct zk_multi made;
};
/* Returns whether the multi's answer belongs to this write, not to an earlier one.  If so, its time becomes the store's
 * clock. */
bool vs_zk_is_new(const struct zk_writing *writing);
/* Returns whether the node is in the state in which the write's own transaction left it. */
bool vs_zk_is_of(const struct Stat *at, const struct Stat *made);

#endif
