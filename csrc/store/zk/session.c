#include "store/zk/session.h"
#include "os/thread.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHILDREN_MAX (1 << 20) /* a server's reply has at most 1 MiB */
#define TEXT_MAX (16 << 20)

/* ------------------------------------------------------------------ the session */

static void say_nothing(const char *message) {
    (void)message;
}

static void on_session(zhandle_t *zh, int type, int state, const char *path, void *context) {
    struct zk_session *session = context;
    (void)zh, (void)path;
    if (type != ZOO_SESSION_EVENT) return;
    pthread_mutex_lock(&session->mutex);
    bool ends = state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE;
    session->is_lost |= ends || (session->is_up && state != ZOO_CONNECTED_STATE);
    session->is_up |= state == ZOO_CONNECTED_STATE;
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->mutex);
}

static struct zk_session *new_session(void) {
    struct zk_session *session = calloc(1, sizeof *session);
    if (!session) return NULL;
    pthread_mutex_init(&session->mutex, NULL);
    vs_cond_init(&session->changed);
    return session;
}

static void free_call(struct zk_call *call) {
    assert(call->is_done || call->unsent != ZOK); /* otherwise the client library would still write to it */
    assert(call->is_left);                        /* otherwise the caller would still read it */
    free(call->answer.text);
    free(call->ops);
    free(call);
}

void vs_zk_session_end(void *work) {
    struct zk_session *session = work;
    if (session->zh) zookeeper_close(session->zh); /* this completes the calls in progress */
    while (session->unsent) {
        struct zk_call *call = session->unsent;
        session->unsent = call->next_unsent;
        free_call(call);
    }
    pthread_cond_destroy(&session->changed);
    int held = pthread_mutex_destroy(&session->mutex);
    assert(held == 0); /* otherwise a caller is still waiting for an answer */
    (void)held;
    free(session);
}

void vs_zk_session_ended(void *session) {
    (void)session;
}

struct zk_session *vs_zk_session_begin(const char *servers, int session_ms) {
    struct zk_session *session = new_session();
    if (!session) return NULL;
    session->zh = zookeeper_init2(servers, on_session, session_ms, NULL, session, 0, say_nothing);
    int rc = session->zh ? ZOK : ZSYSTEMERROR, why = errno;
    /* Disable the library's own name lookups.  By default, its thread looks up names whenever it wakes.  A fork at that
     * moment would leave getaddrinfo's lock held in the child forever. */
    if (rc == ZOK) rc = zoo_set_servers_resolution_delay(session->zh, -1);
    if (rc == ZOK) return session;
    vs_zk_session_end(session);
    errno = why;
    return NULL;
}

bool vs_zk_session_name(struct zk_session *session, const char *auth) {
    return !auth[0] || zoo_add_auth(session->zh, "digest", auth, (int)strlen(auth), NULL, NULL) == ZOK;
}

bool vs_zk_session_is_lost(struct zk_session *session) {
    pthread_mutex_lock(&session->mutex);
    bool is_lost = session->is_lost;
    pthread_mutex_unlock(&session->mutex);
    return is_lost;
}

bool vs_zk_wait(struct zk_session *session, const bool *flag, int64_t ms) {
    int64_t until_us = vs_monotonic_us() + ms * 1000;
    assert(ms >= 0);
    pthread_mutex_lock(&session->mutex);
    while (!*flag && vs_cond_wait(&session->changed, &session->mutex, until_us))
        ;
    bool is_set = *flag;
    pthread_mutex_unlock(&session->mutex);
    return is_set;
}

/* ------------------------------------------------------------------ calls */

struct zk_call *vs_zk_call(struct zk_session *session, bool multi) {
    struct zk_call *call = calloc(1, sizeof *call);
    if (!call) return NULL;
    call->session = session;
    call->ops = multi ? calloc(1, sizeof *call->ops) : NULL;
    if (call->ops || !multi) return call;
    free(call);
    return NULL;
}

void vs_zk_call_leave(struct zk_call *call) {
    pthread_mutex_lock(&call->session->mutex);
    assert(!call->is_left);
    bool is_over = call->is_done && call->unsent == ZOK;
    call->is_left = true;
    pthread_mutex_unlock(&call->session->mutex);
    if (is_over) free_call(call);
}

/* ------------------------------------------------------------------ completions: in the client's thread */

static void zk_session_complete(const void *data, int rc) {
    struct zk_call *call = (struct zk_call *)(uintptr_t)data;
    pthread_mutex_lock(&call->session->mutex);
    bool is_over = call->is_left && call->unsent == ZOK;
    assert(!call->is_done);
    call->answer.rc = rc;
    call->is_done = true;
    pthread_cond_broadcast(&call->session->changed);
    pthread_mutex_unlock(&call->session->mutex);
    if (is_over) free_call(call);
}

static struct zk_answer *zk_answer_of(const void *data) {
    return &((struct zk_call *)(uintptr_t)data)->answer;
}

static void on_sync(int rc, const char *value, const void *data) {
    zk_session_complete(data, rc == ZOK && !value ? ZMARSHALLINGERROR : rc);
}

/* Receives the answer to a get.  The client library does not report a truncated answer, so the length in its stat must
 * match the text. */
static void on_get(int rc, const char *value, int length, const struct Stat *stat, const void *data) {
    struct zk_answer *answer = zk_answer_of(data);
    if (rc == ZOK && (!stat || stat->mzxid <= 0 || stat->czxid <= 0 || length > TEXT_MAX ||
                      stat->dataLength != (length < 0 ? 0 : length) || (length > 0 && !value)))
        rc = ZMARSHALLINGERROR;
    if (rc == ZOK) {
        answer->stat = *stat;
        answer->length = length > 0 ? (size_t)length : 0;
        answer->text = malloc(answer->length + 1);
        if (!answer->text) rc = ZSYSTEMERROR;
        if (answer->text && length > 0) memcpy(answer->text, value, (size_t)length);
    }
    zk_session_complete(data, rc);
}

static void on_exists(int rc, const struct Stat *stat, const void *data) {
    if (rc == ZOK && (!stat || stat->czxid <= 0)) rc = ZMARSHALLINGERROR;
    if (rc == ZOK) zk_answer_of(data)->stat = *stat;
    zk_session_complete(data, rc);
}

static void on_acl(int rc, struct ACL_vector *acl, struct Stat *stat, const void *data) {
    const int writes = ZOO_PERM_WRITE | ZOO_PERM_CREATE | ZOO_PERM_DELETE | ZOO_PERM_ADMIN;
    if (rc == ZOK && (!acl || !stat || stat->czxid <= 0 || acl->count <= 0 || acl->count > CHILDREN_MAX || !acl->data))
        rc = ZMARSHALLINGERROR;
    for (int i = 0; rc == ZOK && i < acl->count; i++) {
        const struct ACL *row = &acl->data[i];
        if (!row->id.scheme || !row->id.id)
            rc = ZMARSHALLINGERROR;
        else if (strcmp(row->id.scheme, "world") == 0 && (row->perms & writes))
            zk_answer_of(data)->anyone_writes = true;
    }
    zk_session_complete(data, rc);
}

/* Stores the names one after another, each NUL-terminated. */
static int keep_names(const struct String_vector *names, struct zk_answer *answer) {
    size_t length = 0;
    if (!names || names->count < 0 || names->count > CHILDREN_MAX || (names->count && !names->data))
        return ZMARSHALLINGERROR;
    for (int i = 0; i < names->count; i++) {
        if (!names->data[i]) return ZMARSHALLINGERROR;
        length += strlen(names->data[i]) + 1;
    }
    assert(!answer->text); /* a call has only one request */
    answer->text = malloc(length + 1);
    if (!answer->text) return ZSYSTEMERROR;
    for (int i = 0; i < names->count; i++) {
        size_t size = strlen(names->data[i]) + 1;
        memcpy(answer->text + answer->length, names->data[i], size);
        answer->length += size;
    }
    assert(answer->length == length);
    return ZOK;
}

static void on_children(int rc, const struct String_vector *names, const struct Stat *stat, const void *data) {
    if (rc == ZOK && (!stat || stat->czxid <= 0 || !names || stat->numChildren != names->count)) rc = ZMARSHALLINGERROR;
    if (rc == ZOK) zk_answer_of(data)->stat = *stat;
    zk_session_complete(data, rc == ZOK ? keep_names(names, zk_answer_of(data)) : rc);
}

/* Receives the answer to a multi.  The client library also completes a multi that gets no answer.  Operations without
 * an answer retain their initial error. */
static void on_multi(int rc, const void *data) {
    const struct zk_call *call = data;
    struct zk_multi *multi = &zk_answer_of(data)->multi;
    assert(call->ops->count > 0);
    assert(call->ops->count <= VS_ZK_OPS_MAX);
    multi->rc = rc;
    multi->count = call->ops->count;
    multi->stat = call->ops->stat;
    for (int i = 0; i < multi->count; i++) {
        multi->each[i] = call->ops->result[i].err;
        if (rc == ZOK && multi->each[i] != ZOK) rc = ZRUNTIMEINCONSISTENCY;
    }
    zk_session_complete(data, rc);
}

/* ------------------------------------------------------------------ requests */

/* Handles the result of sending a request.  The client library may complete a request although it reported that it
 * could not send it.  In zookeeper.c of 3.8.0, zoo_awget and zoo_amulti register the completion first, and then call
 * queue_buffer_bytes, whose malloc may fail.  When the connection breaks or is closed, the library completes everything
 * that is registered (free_completions).  It does not report whether it has registered a request.  So only the
 * completion ends a call, and a call that was not sent is retained until the session ends. */
static void zk_session_sent(struct zk_call *call, int rc) {
    if (rc == ZOK) return;
    pthread_mutex_lock(&call->session->mutex);
    assert(!call->is_left); /* otherwise it may already be freed */
    call->unsent = rc;
    call->next_unsent = call->session->unsent;
    call->session->unsent = call;
    pthread_mutex_unlock(&call->session->mutex);
}

void vs_zk_call_ask(struct zk_call *call, enum zk_request request, const char *path) {
    zhandle_t *zh = call->session->zh;
    assert(path[0] == '/');
    assert(!call->ops); /* vs_zk_call_multi sends multis */
    switch (request) {
    case ZK_GET: zk_session_sent(call, zoo_aget(zh, path, 0, on_get, call)); return;
    case ZK_EXISTS: zk_session_sent(call, zoo_aexists(zh, path, 0, on_exists, call)); return;
    case ZK_GET_ACL: zk_session_sent(call, zoo_aget_acl(zh, path, on_acl, call)); return;
    case ZK_CHILDREN: zk_session_sent(call, zoo_aget_children2(zh, path, 0, on_children, call)); return;
    case ZK_SYNC: zk_session_sent(call, zoo_async(zh, path, on_sync, call)); return;
    }
    assert(!"a request of enum zk_request"); /* otherwise the caller would wait until the deadline */
}

static zoo_op_t *next_op(struct zk_call *call, const char *path, const char **kept) {
    struct zk_ops *ops = call->ops;
    assert(ops->count < VS_ZK_OPS_MAX);
    assert(path[0] == '/');
    assert(strlen(path) < VS_ZK_PATH_MAX); /* a truncated path would be another node */
    snprintf(ops->path[ops->count], VS_ZK_PATH_MAX, "%s", path);
    *kept = ops->path[ops->count];
    return &ops->op[ops->count++];
}

#define LAST_BEFORE_UNCOMPARED (-2)

int vs_zk_version_behind(int version) {
    assert(version != VS_ZK_UNCOMPARED);
    return version == LAST_BEFORE_UNCOMPARED ? 0 : (int)((unsigned)version + 1);
}

bool vs_zk_version_is_later(int later, int version) {
    return (int)((unsigned)later - (unsigned)version) > 0;
}

static void zk_session_check(struct zk_call *call, const char *path, int version) {
    const char *kept;
    zoo_op_t *op = next_op(call, path, &kept);
    zoo_check_op_init(op, kept, version);
}

void vs_zk_op_check(struct zk_call *call, const char *path, int version) {
    assert(version != VS_ZK_UNCOMPARED); /* ZooKeeper does not compare version -1 */
    zk_session_check(call, path, version);
}

void vs_zk_op_exists(struct zk_call *call, const char *path) {
    zk_session_check(call, path, VS_ZK_UNCOMPARED);
}

/* Adds the creation of a node.  Grants all rights to anyone, or to this session's user. */
void vs_zk_op_create(struct zk_call *call, const char *path, const char *body, size_t length, bool for_anyone) {
    const char *kept;
    zoo_op_t *op = next_op(call, path, &kept);
    assert(body || length == 0);
    assert(length <= VS_RECORD_TEXT_MAX); /* a longer text could not be read back */
    const struct ACL_vector *acl = for_anyone ? &ZOO_OPEN_ACL_UNSAFE : &ZOO_CREATOR_ALL_ACL;
    zoo_create_op_init(op, kept, body, body ? (int)length : -1, acl, ZOO_PERSISTENT, NULL, 0);
}

static void zk_session_set(struct zk_call *call, const char *path, const char *body, size_t length, int version) {
    const char *kept;
    zoo_op_t *op = next_op(call, path, &kept);
    assert(body || length == 0);
    assert(length <= VS_RECORD_TEXT_MAX);
    zoo_set_op_init(op, kept, body, body ? (int)length : -1, version, &call->ops->stat);
}

/* Adds a set.  A set over version -2 makes the version -1, except on servers since 3.9, which make it 0
 * (ZOOKEEPER-4743).  No later write can be compared with -1.  So a second set in the same transaction, with the same
 * text, moves the version on. */
void vs_zk_op_set(struct zk_call *call, const char *path, const char *body, size_t length, int version) {
    assert(version != VS_ZK_UNCOMPARED); /* a set over -1 would overwrite any version */
    zk_session_set(call, path, body, length, version);
    if (version == LAST_BEFORE_UNCOMPARED) zk_session_set(call, path, body, length, VS_ZK_UNCOMPARED);
}

void vs_zk_op_touch(struct zk_call *call, const char *path) {
    zk_session_set(call, path, NULL, 0, VS_ZK_UNCOMPARED);
}

void vs_zk_op_delete(struct zk_call *call, const char *path) {
    const char *kept;
    zoo_op_t *op = next_op(call, path, &kept);
    zoo_delete_op_init(op, kept, VS_ZK_UNCOMPARED);
}

void vs_zk_call_multi(struct zk_call *call) {
    struct zk_ops *ops = call->ops;
    assert(ops->count > 0); /* the client library reports success for an empty multi */
    for (int i = 0; i < ops->count; i++)
        ops->result[i].err = ZRUNTIMEINCONSISTENCY;
    int rc = zoo_amulti(call->session->zh, ops->count, ops->op, ops->result, on_multi, call);
    zk_session_sent(call, rc);
}
