/* link.h -- the session of a zk: store, and its requests and answers in order.  ZooKeeper's client library (session.h)
 * has no deadlines.  If an answer is late, its call is abandoned to the library.  Other threads open and close the
 * sessions. */
#ifndef VS_STORE_ZK_LINK_H
#define VS_STORE_ZK_LINK_H

#include "store/errand.h"
#include "store/pool.h"
#include "store/reply.h"
#include "store/zk/session.h"

#define VS_ZK_PORT 2181
#define VS_ZK_GROUP 128 /* number of worker ids under one node */
#define VS_ZK_COUNTERS "/~counters"
#define VS_ZK_SHARES "/~shares"
#define VS_ZK_FORMS "/~forms"
/* This node's name is not a valid namespace name.  `vesta store init` creates the node, so its absence shows that init
 * has not been run. */
#define VS_ZK_CLOCK "/~clock"

/* The servers and the credentials.  This is a complete copy, because another thread opens the session. */
struct zk_place {
    char hosts[512], auth[400], where[160];
};

struct zk_store {
    struct vs_store base;
    int64_t call_ms_max;
    struct zk_place place;
    char root[256], namespace_[VESTA_NAMESPACE_MAX];
    bool is_open; /* acl=open in the URI: any client may write */
    struct vs_met met;
    struct vs_pool *pool;
    unsigned losses;  /* result of vs_pool_losses at the start of the last call */
    uint64_t process; /* vs_process_token of the process that opened the session */
    struct zk_session *session;
    struct vs_errand *making;        /* the session that is being opened.  NULL: none */
    struct zk_call *first, *end;     /* requests with answers that the caller has not taken yet */
    struct zk_call *read;            /* the answer that the caller took last */
    bool is_short;                   /* there was no memory for a request */
    bool asks_time;                  /* the first answer of this call is the leader's time */
    int64_t clock_ms, clock_boot_us; /* the leader's time, and the boot time at which it arrived.  0: unknown */
};

/* Starts a call: connects, sets the deadline, and requests the leader's time if it is unknown. */
bool vs_zk_begin(struct zk_store *self, int64_t ms_max, struct vs_reply *reply);
/* Starts a call without requesting the time, because the root may not exist yet. */
bool vs_zk_connect(struct zk_store *self, int64_t ms_max, struct vs_reply *reply);
/* Sets reply->store_ms.  Call this after the requests were sent, and before the first vs_zk_next. */
bool vs_zk_time(struct zk_store *self, struct vs_reply *reply);
void vs_zk_learn_time(struct zk_store *self, const struct Stat *stat);
/* Closes the session in another thread.  A forked child only forgets its parent's session. */
void vs_zk_drop(struct zk_store *self);
void vs_zk_park(struct zk_store *self, int64_t now_us);
/* These two register and unregister this store with the pool for self->place.  vs_zk_enter returns false if there is no
 * memory.  The last vs_zk_leave closes the sessions, and waits a moment until they are closed. */
bool vs_zk_enter(struct zk_store *self);
void vs_zk_leave(struct zk_store *self);

/* Returns whether the server has ended the session, for example for a restart. */
bool vs_zk_stirred(struct vs_store *store, int64_t now_boot_us);

__attribute__((format(printf, 3, 4))) void vs_zk_path(const struct zk_store *self, char path[static VS_ZK_PATH_MAX],
                                                      const char *format, ...);

/* Sends a request, without waiting for earlier ones. */
void vs_zk_ask(struct zk_store *self, enum zk_request request, const char *path);
/* Starts a multi.  Add operations, then call vs_zk_send.  Returns NULL if there is no memory, which vs_zk_next will
 * report. */
struct zk_call *vs_zk_multi(struct zk_store *self);
void vs_zk_send(struct zk_store *self, struct zk_call *multi);
/* Abandons all unanswered requests. */
void vs_zk_give_up(struct zk_store *self);

/* Returns the next answer, in order.  The answer is valid until the next call.  If it did not come in time, or cannot
 * be used, fills the reply without changing its outcome, drops the session, and returns NULL. */
const struct zk_answer *vs_zk_next(struct zk_store *self, struct vs_reply *reply);
/* Reports that an answer was read, but cannot be used.  Fills the reply, drops the session, and returns false. */
bool vs_zk_no_answer(struct zk_store *self, const char *why, struct vs_reply *reply);

/* Fills the reply from a server error, which means that the request was not executed.  Returns false. */
bool vs_zk_trouble(const struct zk_store *self, int rc, struct vs_reply *reply);

/* dial.c: opens a session in another thread. */
struct zk_making {
    struct zk_place place;
    struct zk_session *session; /* NULL after a failure, with the reason in the reply */
    struct vs_reply reply;
};
void vs_zk_dial(void *making);
void vs_zk_drop_making(void *making);

/* list.c */
void vs_zk_list(struct vs_store *store, struct vs_listed **listed, size_t *count, struct vs_reply *reply);

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

/* foreign.c */
void vs_zk_names(struct vs_store *store, const char *of, void (*tell)(void *to, const char *name), void *to,
                 struct vs_reply *reply);
void vs_zk_foreign(struct vs_store *store, const struct vs_foreign_ask *ask, struct vs_foreign_list *list,
                   struct vs_reply *reply);

#endif
