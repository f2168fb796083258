/* link.h -- the session under zk.c: made beside the calls, given up when its call is over; requests and their
 * answers, in order.  ZooKeeper's own client (session.h) has no deadlines: what does not come in time is left to it,
 * and the session is ended beside the calls as well. */
#ifndef VS_STORE_ZK_LINK_H
#define VS_STORE_ZK_LINK_H

#include "store/errand.h"
#include "store/pool.h"
#include "store/reply.h"
#include "store/zk/session.h"

#define VS_ZK_PORT 2181
#define VS_ZK_GROUP 128 /* workers under one node */
#define VS_ZK_COUNTERS "/~counters"
#define VS_ZK_SHARES "/~shares"
#define VS_ZK_FORMS "/~forms"
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
    struct vs_pool *pool;            /* the sessions of this place that no call has just now */
    unsigned losses;                 /* of the pool, when the last call began */
    uint64_t process;                /* whose session it is: vs_process_token */
    struct zk_session *session;      /* NULL: not connected */
    struct vs_errand *making;        /* the session that is on its way; NULL: none */
    struct zk_call *first, *end;     /* asked, and not yet answered to the caller */
    struct zk_call *read;            /* the answer that the caller looks at */
    bool is_short;                   /* of memory: a request could not be made */
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
void vs_zk_learn_time(struct zk_store *self, const struct Stat *stat);
/* The session is ended, beside the caller; a forked child forgets its parent's. */
void vs_zk_drop(struct zk_store *self);
/* Leaves it to whoever calls next. */
void vs_zk_park(struct zk_store *self, int64_t now_us);
/* One more store of self->place; false: no memory.  One less: behind the last, sessions are ended, which is waited for
 * a moment. */
bool vs_zk_enter(struct zk_store *self);
void vs_zk_leave(struct zk_store *self);

/* Whether the server has ended the connection, as it does where it is restarted. */
bool vs_zk_stirred(struct vs_store *store, int64_t now_boot_us);

/* A path below the root. */
__attribute__((format(printf, 3, 4))) void vs_zk_path(const struct zk_store *self, char path[static VS_ZK_PATH_MAX],
                                                      const char *format, ...);

/* Requests: sent at once, one behind the other. */
void vs_zk_ask(struct zk_store *self, enum zk_request request, const char *path);
/* Then operations, and vs_zk_send.  NULL where memory is out: the answers will say so. */
struct zk_call *vs_zk_multi(struct zk_store *self);
void vs_zk_send(struct zk_store *self, struct zk_call *multi);
/* Nobody waits any more for the answers to what was asked. */
void vs_zk_give_up(struct zk_store *self);

/* An answer, in order; it is there until the next one.  NULL: none came in time, or none that can be: the reply is
 * filled, with the outcome that it had, and the connection is gone. */
const struct zk_answer *vs_zk_next(struct zk_store *self, struct vs_reply *reply);
/* An answer that was read and is none: as above. */
bool vs_zk_no_answer(struct zk_store *self, const char *why, struct vs_reply *reply);

/* Fills the reply by an error that the server said: it was not done.  False. */
bool vs_zk_trouble(const struct zk_store *self, int rc, struct vs_reply *reply);

/* dial.c: makes sessions, beside the calls. */
struct zk_making {
    struct zk_place place;
    struct zk_session *session; /* NULL: it did not come about, and the reply says why */
    struct vs_reply reply;
};
void vs_zk_dial(void *making);
void vs_zk_drop_making(void *making);

/* list.c: every record of the namespace. */
void vs_zk_list(struct vs_store *store, struct vs_listed **listed, size_t *count, struct vs_reply *reply);

/* counter.c */
void vs_zk_take(struct vs_store *store, const struct vs_counter *counter, uint64_t step, struct vs_reply *reply);
void vs_zk_untake(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t until,
                  struct vs_reply *reply);
void vs_zk_tags(struct vs_store *store, const char *table, struct vs_tag_list *list, struct vs_reply *reply);
void vs_zk_tag_add(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t step,
                   struct vs_reply *reply);
void vs_zk_tag_step(struct vs_store *store, const struct vs_counter *counter, uint64_t step, struct vs_reply *reply);
void vs_zk_lift(struct vs_store *store, const struct vs_counter *counter, uint64_t floor, struct vs_reply *reply);
void vs_zk_share(struct vs_store *store, const struct vs_counter *counter, const struct vs_share *share,
                 struct vs_reply *reply);
void vs_zk_form(struct vs_store *store, const struct vs_counter *counter, uint64_t fingerprint, struct vs_reply *reply);

/* foreign.c: other generators' nodes, and what lies beside the namespace. */
void vs_zk_names(struct vs_store *store, const char *of, void (*tell)(void *to, const char *name), void *to,
                 struct vs_reply *reply);
void vs_zk_foreign(struct vs_store *store, const struct vs_foreign_ask *ask, struct vs_foreign_list *list,
                   struct vs_reply *reply);

#endif
