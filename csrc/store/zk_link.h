/* zk_link.h -- the connection under zookeeper.c: made beside the calls, given up when its call is over; requests and
 * their answers, in order.  It is spoken to directly (zk_wire.h): a call ends at its deadline, an answer is read whole
 * or is none, and there is no thread between two calls. */
#ifndef VS_STORE_ZK_LINK_H
#define VS_STORE_ZK_LINK_H

#include "store/errand.h"
#include "store/reply.h"
#include "store/zk_wire.h"

#include <sys/types.h>

#define VS_ZK_PORT 2181
#define VS_ZK_GROUP 128       /* workers under one node */
#define VS_ZK_CLOCK "/~clock" /* a name that no namespace can have; made by init, so it says whether that was done */

/* Whom to connect to, and as whom: whole in itself, for a connection is made by another thread than the call's. */
struct zk_place {
    char hosts[512], auth[400], where[160];
};

struct zk_store {
    struct vs_store base;
    int64_t call_ms_max;
    struct zk_place place;
    char root[256], namespace_[VESTA_NAMESPACE_MAX];
    bool is_open; /* the operator says that anyone may write */
    struct vs_met met;
    uint64_t process;                         /* whose connection it is: vs_process_token */
    int fd;                                   /* -1: not connected */
    struct vs_errand *making;                 /* the connection that is on its way; NULL: none */
    int32_t sent_xid, read_xid, given_up_xid; /* answers up to given_up_xid are nobody's any more */
    int64_t zxid;                             /* the last transaction that an answer of this connection knew of */
    struct zk_out out;                        /* frames, of which `sent` bytes are gone */
    size_t sent;
    char *in; /* what came, from in_begin to in_end */
    size_t in_begin, in_end, in_room;
    bool asks_time;                  /* this call's first answer is the leader's time */
    int64_t clock_ms, clock_boot_us; /* the leader's time, and the boot time at which it came; 0: unknown */
};

/* Opens a call: connected, with a deadline, the leader's time asked for where it is not known.  False with the reply
 * filled. */
bool vs_zk_begin(struct zk_store *self, int64_t ms_max, struct vs_reply *reply);
/* As above, without asking for the time: the root may not be there yet. */
bool vs_zk_connect(struct zk_store *self, int64_t ms_max, struct vs_reply *reply);
/* The requests of a call are put: the leader's time comes first, into reply->store_ms.  False with the reply filled. */
bool vs_zk_time(struct zk_store *self, struct vs_reply *reply);
void vs_zk_learn_time(struct zk_store *self, const struct zk_stat *stat);
void vs_zk_close(struct zk_store *self);
void vs_zk_drop(struct zk_store *self);

/* Whether the server has ended the connection, as it does where it is restarted. */
bool vs_zk_stirred(struct vs_store *store);

/* A path below the root. */
__attribute__((format(printf, 3, 4))) void vs_zk_path(const struct zk_store *self, char path[static VS_ZK_PATH_MAX],
                                                      const char *format, ...);

/* Requests: put, and sent when answers are waited for.  A frame that begins is a request more. */
void vs_zk_ask(struct zk_store *self, int32_t type, const char *path); /* get, ACL, children, sync, exists */
struct zk_out *vs_zk_multi(struct zk_store *self);                     /* then operations, and vs_zk_end_multi */

/* An answer, in order.  False: none came in time, or it answers something else: the reply is filled, with the outcome
 * that it had, and the connection is gone. */
struct zk_answer {
    int32_t rc; /* ZK_OK, or what the server said; then there is no body */
    int64_t zxid;
    struct zk_in body;
};
bool vs_zk_next(struct zk_store *self, struct zk_answer *answer, struct vs_reply *reply);
/* An answer that was read and is none: as above. */
bool vs_zk_no_answer(struct zk_store *self, const char *why, struct vs_reply *reply);

/* Fills the reply by an error that the server said: it was not done.  False. */
bool vs_zk_trouble(const struct zk_store *self, int32_t rc, struct vs_reply *reply);

/* zk_dial.c: makes connections, beside the calls. */
struct zk_making {
    struct zk_place place;
    int fd; /* -1: it did not come about, and the reply says why */
    struct vs_reply reply;
};
void vs_zk_dial(void *making);
void vs_zk_drop_making(void *making);

/* zk_list.c: every record of the namespace. */
void vs_zk_list(struct vs_store *store, struct vs_listed **listed, size_t *count, struct vs_reply *reply);

/* zk_foreign.c: other generators' nodes, and what lies beside the namespace. */
void vs_zk_names(struct vs_store *store, void (*tell)(void *to, const char *name), void *to, struct vs_reply *reply);
void vs_zk_foreign(struct vs_store *store, enum vs_foreign_kind kind, const char *name, struct vs_foreign **rows,
                   size_t *count, struct vs_reply *reply);

#endif
