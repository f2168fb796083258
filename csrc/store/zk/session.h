/* session.h -- a session of ZooKeeper's own client, and the calls that are under way in it.  The client completes a
 * call in a thread of its own, at any time: what a call needs lives until then, whoever has given it up. */
#ifndef VS_STORE_ZK_SESSION_H
#define VS_STORE_ZK_SESSION_H

#include "lease/record.h"

#include <pthread.h>
#include <zookeeper/zookeeper.h>

#define VS_ZK_PATH_MAX 640 /* the longest that can be is another generator's: see foreign.c */
#define VS_ZK_OPS_MAX 6
#define VS_ZK_QUOTA (-125) /* the server says it, its client of 3.8 has no name for it */

/* What became of a multi's operations. */
struct zk_multi {
    int rc; /* the first error */
    int count;
    int each[VS_ZK_OPS_MAX];
    struct Stat stat; /* of its last set */
};

/* What the client made of an answer. */
struct zk_answer {
    int rc;             /* ZOK, or what the server said: then there is nothing else, but for a multi */
    struct Stat stat;   /* of a get, an exists or of children's parent */
    char *text;         /* a get's, without an end; children's names, each with its end */
    size_t length;      /* of the text */
    bool anyone_writes; /* an ACL's */
    struct zk_multi multi;
};

struct zk_session {
    zhandle_t *zh;
    pthread_mutex_t mutex; /* of all below, and of its calls */
    pthread_cond_t changed;
    struct zk_call *unsent; /* calls that are kept to its end */
    bool is_up, is_lost; /* is_lost: it was up, or cannot be any more; the client may make it again, we make another */
};

/* A request and its answer.  The caller's, until it is left before it is done. */
struct zk_call {
    struct zk_call *next;
    struct zk_session *session;
    bool is_done, is_left;
    int unsent; /* the client's error: it has not sent this, and no answer is to be waited for */
    struct zk_call *next_unsent;
    struct zk_answer answer; /* the client's, until it is done */
    struct zk_ops *ops;      /* a multi's */
};

struct zk_ops {
    int count;
    zoo_op_t op[VS_ZK_OPS_MAX];
    zoo_op_result_t result[VS_ZK_OPS_MAX];
    char path[VS_ZK_OPS_MAX][VS_ZK_PATH_MAX];
    struct Stat stat;
};

/* Begins one: names are looked up, and its threads begin to connect.  NULL with errno.  Takes long. */
struct zk_session *vs_zk_session_begin(const char *servers, int session_ms);
/* It is up: says who we are, in front of all requests.  False: it is no more. */
bool vs_zk_session_name(struct zk_session *session, const char *auth);
/* Ends it, and all that is under way in it.  Takes long. */
void vs_zk_session_end(void *session);
void vs_zk_session_ended(void *session); /* nothing is left of it */
bool vs_zk_session_is_lost(struct zk_session *session);
/* Waits until *flag of the session or of one of its calls is set, no longer than so long. */
bool vs_zk_wait(struct zk_session *session, const bool *flag, int64_t ms);

/* A request; `multi`: room for its operations.  NULL where memory is out. */
struct zk_call *vs_zk_call(struct zk_session *session, bool multi);
/* Whoever needs it no more. */
void vs_zk_call_leave(struct zk_call *call);

/* Asks; what cannot even be sent has the reason in `unsent`. */
enum zk_request { ZK_GET, ZK_EXISTS, ZK_GET_ACL, ZK_CHILDREN, ZK_SYNC };
void vs_zk_call_ask(struct zk_call *call, enum zk_request request, const char *path);

/* A write or a check that names version -1 is done over any version, and a node reaches -1 by its writes: its version is
 * an int32_t that wraps.  So the functions that take a version reject -1, and the others have no version. */
#define VS_ZK_UNCOMPARED (-1)

/* The version behind a set over `version`. */
int vs_zk_version_behind(int version);
/* Whether the version `later` is that of a write behind `version`. */
bool vs_zk_version_is_later(int later, int version);

/* Operations, then the multi itself.  A body stays where it is until that is sent. */
void vs_zk_op_check(struct zk_call *call, const char *path, int version);
void vs_zk_op_exists(struct zk_call *call, const char *path);
void vs_zk_op_create(struct zk_call *call, const char *path, const char *body, size_t length, bool for_anyone);
void vs_zk_op_set(struct zk_call *call, const char *path, const char *body, size_t length, int version);
/* Whatever the node's version; `touch` leaves it without a text, and brings its new time back. */
void vs_zk_op_touch(struct zk_call *call, const char *path);
void vs_zk_op_delete(struct zk_call *call, const char *path);
void vs_zk_call_multi(struct zk_call *call);

#endif
