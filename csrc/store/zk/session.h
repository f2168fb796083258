/* session.h -- a session of ZooKeeper's client library, and the calls in progress.  The library completes a call in its
 * own thread at any time.  So a call's memory must stay valid until then, even if its caller has abandoned the call. */
#ifndef VS_STORE_ZK_SESSION_H
#define VS_STORE_ZK_SESSION_H

#include "lease/record.h"

#include <pthread.h>
#include <zookeeper/zookeeper.h>

#define VS_ZK_PATH_MAX 640 /* the longest path belongs to another generator (foreign.c) */
#define VS_ZK_OPS_MAX 6
#define VS_ZK_QUOTA (-125) /* an error of servers that the client library 3.8 does not define */

struct zk_multi {
    int rc; /* the first error of the operations */
    int count;
    int each[VS_ZK_OPS_MAX];
    struct Stat stat; /* of the node after the multi's last set */
};

/* An answer as the client library delivered it. */
struct zk_answer {
    int rc;           /* ZOK, or the server's error.  After an error, only a multi sets other members */
    struct Stat stat; /* of the node, or of the children's parent */
    char *text;       /* the content for a get, without a NUL, or the children's names, each with a NUL */
    size_t length;
    bool anyone_writes; /* the ACL allows anyone to write */
    struct zk_multi multi;
};

struct zk_session {
    zhandle_t *zh;
    pthread_mutex_t mutex; /* guards all members below, and the calls */
    pthread_cond_t changed;
    struct zk_call *unsent; /* calls that could not be sent, retained until the session ends */
    /* is_lost: the session lost its connection, or can never get one.  The library may reconnect, but callers open
     * another session */
    bool is_up, is_lost;
};

/* A request and its answer.  Owned by the caller until the call is done, or until the caller abandons it. */
struct zk_call {
    struct zk_call *next;
    struct zk_session *session;
    bool is_done, is_left;
    int unsent; /* the library's error if it could not send the request, in which case no answer is awaited */
    struct zk_call *next_unsent;
    struct zk_answer answer; /* written by the library until is_done is set */
    struct zk_ops *ops;
};

struct zk_ops {
    int count;
    zoo_op_t op[VS_ZK_OPS_MAX];
    zoo_op_result_t result[VS_ZK_OPS_MAX];
    char path[VS_ZK_OPS_MAX][VS_ZK_PATH_MAX];
    struct Stat stat;
};

/* Starts a session: looks up names and starts threads that connect.  Returns NULL and sets errno if it fails.  May take
 * long. */
struct zk_session *vs_zk_session_begin(const char *servers, int session_ms);
/* Authenticates a connected session before its first request.  Returns false if the session is no longer connected. */
bool vs_zk_session_name(struct zk_session *session, const char *auth);
/* Ends the session and all calls in progress.  May take long. */
void vs_zk_session_end(void *session);
void vs_zk_session_ended(void *session); /* the drop function of an errand that ends a session.  Frees nothing */
bool vs_zk_session_is_lost(struct zk_session *session);
/* Waits until *flag of the session or of one of its calls is set, for at most ms.  Returns *flag. */
bool vs_zk_wait(struct zk_session *session, const bool *flag, int64_t ms);

/* Creates a call, with room for operations if `multi` is true.  Returns NULL if there is no memory. */
struct zk_call *vs_zk_call(struct zk_session *session, bool multi);
/* Abandons a call that the caller no longer needs. */
void vs_zk_call_leave(struct zk_call *call);

/* Sends a request.  If that fails, sets `unsent` to the error. */
enum zk_request { ZK_GET, ZK_EXISTS, ZK_GET_ACL, ZK_CHILDREN, ZK_SYNC };
void vs_zk_call_ask(struct zk_call *call, enum zk_request request, const char *path);

/* The version that ZooKeeper does not compare: a write or a check with it matches any version.  A node's version is an
 * int32_t that wraps around, so it can reach -1.  The functions that take a version reject -1.  The other functions
 * take no version. */
#define VS_ZK_UNCOMPARED (-1)

/* Returns the version after a set over `version`. */
int vs_zk_version_behind(int version);
/* Returns whether a node had the version `later` after it had the version `version`. */
bool vs_zk_version_is_later(int later, int version);

/* These functions add operations to a multi, which is then sent.  A body must stay valid until the multi is sent. */
void vs_zk_op_check(struct zk_call *call, const char *path, int version);
void vs_zk_op_exists(struct zk_call *call, const char *path);
void vs_zk_op_create(struct zk_call *call, const char *path, const char *body, size_t length, bool for_anyone);
void vs_zk_op_set(struct zk_call *call, const char *path, const char *body, size_t length, int version);
/* These two match any version.  touch empties the node and returns its new time. */
void vs_zk_op_touch(struct zk_call *call, const char *path);
void vs_zk_op_delete(struct zk_call *call, const char *path);
void vs_zk_call_multi(struct zk_call *call);

#endif
