/* zk_link.h -- the session under zookeeper.c: opened, lost, opened again; and calls that end at a deadline although
 * ZooKeeper's client has none.  A call that was given up is freed by its late completion, never before. */
#ifndef VS_STORE_ZK_LINK_H
#define VS_STORE_ZK_LINK_H

#include "store/reply.h"

#include <pthread.h>
#include <zookeeper/zookeeper.h>

#define VS_ZK_PATH_MAX 128 /* of a node below the root: /<namespace>/w/<group>/<worker> */
#define VS_ZK_OPS_MAX 4
#define VS_ZK_CLOCK "/~clock" /* a name that no namespace can have; made by init, so it says whether that was done */

struct zk_store {
    struct vs_store base;
    const struct vesta_clock *clock;
    int64_t call_ms_max, until_us; /* until_us: when the call under way is over, in boot time */
    char servers[640];             /* with the root behind them */
    char root[256], auth[400], namespace_[VESTA_NAMESPACE_MAX], where[160];
    bool is_open; /* the operator says that anyone may write */
    struct vs_met met;
    pid_t pid; /* whose session it is */
    zhandle_t *zh;
    int64_t clock_ms, clock_boot_us; /* the leader's time, and the boot time at which it came; 0: unknown */
    pthread_mutex_t mutex;           /* calls' `done` and lists, between the caller and the client's threads */
    pthread_cond_t changed;
};

/* A request and its answer.  The caller's until it has been given up. */
struct zk_call {
    struct zk_store *store;
    bool done, abandoned;
    int rc; /* ZOK, or the first error of a multi */
    int length;
    char text[VS_RECORD_TEXT_MAX]; /* of a get */
    struct Stat stat;              /* of a get or a set */
    bool anyone_writes;            /* of an ACL */
    int op_count;
    zoo_op_t op[VS_ZK_OPS_MAX];
    zoo_op_result_t result[VS_ZK_OPS_MAX];
    char path[VS_ZK_OPS_MAX][VS_ZK_PATH_MAX];
    char made[VS_ZK_OPS_MAX][VS_ZK_PATH_MAX + 256]; /* where the client puts the names of what it created */
    char body[VS_RECORD_TEXT_MAX];
};

/* Opens a call: connected, with a deadline, the leader's time known.  False with the reply filled. */
bool vs_zk_begin(struct zk_store *self, int64_t ms_max, struct vs_reply *reply);
/* As above, without asking for the time: the root may not be there yet. */
bool vs_zk_connect(struct zk_store *self, int64_t ms_max, struct vs_reply *reply);
void vs_zk_close(struct zk_store *self);

/* A new call, NULL where memory is out. */
struct zk_call *vs_zk_call(struct zk_store *self);
/* Adds to a multi.  Bodies must be in the call. */
void vs_zk_check(struct zk_call *call, const char *path, int version);
void vs_zk_create(struct zk_call *call, const char *path, int length);
void vs_zk_set(struct zk_call *call, const char *path, int length, int version);
void vs_zk_delete(struct zk_call *call, const char *path);

/* Send.  What cannot be sent is done at once, with its rc. */
void vs_zk_send_sync(struct zk_call *call);
void vs_zk_send_get(struct zk_call *call, const char *path);
void vs_zk_send_acl(struct zk_call *call, const char *path);
void vs_zk_send_multi(struct zk_call *call);

/* Waits for the answer.  False: given up at the deadline, or lost with the connection: the reply says DOWN, or UNKNOWN
 * for a multi, and the call is gone.  True: call->rc is what the server said. */
bool vs_zk_wait(struct zk_call *call, struct vs_reply *reply);

/* The leader's time as of now. */
int64_t vs_zk_now_ms(const struct zk_store *self);
void vs_zk_learn_time(struct zk_store *self, const struct Stat *stat);

/* Fills the reply by an error that the server said: it was not done. */
void vs_zk_trouble(const struct zk_store *self, int rc, struct vs_reply *reply);

/* Waits until *done, under the mutex, no later than the deadline: false if it came first. */
bool vs_zk_await(struct zk_store *self, const bool *done);

/* zk_list.c: every record of the namespace. */
void vs_zk_list(struct zk_store *self, struct vs_listed **listed, size_t *count, struct vs_reply *reply);
#define VS_ZK_GROUP 128 /* workers under one node */

/* zk_foreign.c: other generators' nodes, and what lies beside the namespace. */
void vs_zk_names(struct vs_store *store, void (*tell)(void *to, const char *name), void *to, struct vs_reply *reply);
void vs_zk_foreign(struct vs_store *store, enum vs_foreign_kind kind, const char *name, struct vs_foreign **rows,
                   size_t *count, struct vs_reply *reply);

#endif
