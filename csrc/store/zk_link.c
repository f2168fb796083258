/* zk_link.c -- the session under zookeeper.c; see zk_link.h.  Knows no record. */
#include "store/zk_link.h"
#include "core/core.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SESSION_MS 4000 /* what a silent server costs: after two thirds the client tries the next */
#define CLOCK_MS 10000  /* how long the leader's time is counted on by our own clock */

/* ------------------------------------------------------------------ waiting */

static int64_t left_us(const struct zk_store *self) {
    return self->until_us - self->clock->boot_us(self->clock->self);
}

bool vs_zk_await(struct zk_store *self, const bool *done) {
    while (!*done) {
        int64_t wait_us = left_us(self);
        if (wait_us <= 0) return false;
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        int64_t ns = until.tv_nsec + wait_us % 1000000 * 1000;
        until.tv_sec += wait_us / 1000000 + ns / 1000000000;
        until.tv_nsec = ns % 1000000000;
        pthread_cond_timedwait(&self->changed, &self->mutex, &until);
    }
    return true;
}

static void make_mutex(struct zk_store *self) {
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&self->changed, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&self->mutex, NULL);
}

/* ------------------------------------------------------------------ errors */

static bool is_lost(int rc) {
    return rc == ZCONNECTIONLOSS || rc == ZOPERATIONTIMEOUT || rc == ZSESSIONEXPIRED || rc == ZCLOSING ||
           rc == ZMARSHALLINGERROR || rc == ZRUNTIMEINCONSISTENCY;
}

void vs_zk_trouble(const struct zk_store *self, int rc, struct vs_reply *reply) {
    if (rc == ZNONODE)
        vs_answer(reply, VS_STORE_REFUSED,
                  "%.70s: its root is missing: run `vesta store init`, once (--again, if it was there before)",
                  self->where);
    else if (rc == ZNOAUTH)
        vs_answer(reply, VS_STORE_REFUSED, "%.60s: not authorized: is the user:password that of `vesta store init`?",
                  self->where);
    else if (rc == ZAUTHFAILED || rc == ZINVALIDACL)
        vs_answer(reply, VS_STORE_REFUSED, "%.70s: %.60s", self->where, zerror(rc));
    else
        vs_answer(reply, VS_STORE_DOWN, "%.70s: %.60s", self->where, zerror(rc));
}

/* ------------------------------------------------------------------ the session */

/* A library prints nothing. */
static void say_nothing(const char *message) {
    (void)message;
}

static void on_session(zhandle_t *zh, int type, int state, const char *path, void *context) {
    struct zk_store *self = context;
    (void)zh, (void)type, (void)state, (void)path;
    pthread_mutex_lock(&self->mutex);
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
}

/* The parent's session is left as it is: its threads are not in this process. */
static void leave_to_parent(struct zk_store *self) {
    if (self->pid == getpid()) return;
    self->pid = getpid();
    self->zh = NULL;
    make_mutex(self); /* a thread of the parent's may have held it */
}

void vs_zk_close(struct zk_store *self) {
    leave_to_parent(self);
    if (self->zh) zookeeper_close(self->zh); /* completes what is under way: abandoned calls are freed */
    self->zh = NULL;
}

static bool is_dead(const zhandle_t *zh) {
    int state = zoo_state((zhandle_t *)(uintptr_t)zh);
    return state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE || state == 0;
}

/* A state of 0 is that of a client whom nobody let in, and who may try again: for vesta one to be begun anew. */
static const char none_there[] = "no server can be reached there, or what answers is no ZooKeeper";

static void tell_unopened(const struct zk_store *self, int rc, int why, struct vs_reply *reply) {
    bool no_address = why == ENOENT || why == EINVAL; /* what the client makes of getaddrinfo's words */
    const char *text = self->zh     ? (rc == ZINVALIDSTATE ? none_there : zerror(rc))
                       : no_address ? "its hosts' names have no address, or nobody who knows it answers"
                                    : strerror(why);
    vs_answer(reply, VS_STORE_DOWN, "%.70s: %.80s", self->where, text);
}

static bool open_session(struct zk_store *self, struct vs_reply *reply) {
    self->zh = zookeeper_init2(self->servers, on_session, SESSION_MS, NULL, self, 0, say_nothing);
    int rc = self->zh ? ZOK : ZSYSTEMERROR;
    /* Names are looked up when a connection is made.  By default the client's thread does so whenever it wakes up, and
     * a fork in that moment leaves getaddrinfo's lock taken in the child for ever. */
    if (self->zh) rc = zoo_set_servers_resolution_delay(self->zh, -1);
    if (rc == ZOK && self->auth[0])
        rc = zoo_add_auth(self->zh, "digest", self->auth, (int)strlen(self->auth), NULL, NULL);
    if (rc == ZOK) return true;
    tell_unopened(self, rc, errno, reply);
    vs_zk_close(self);
    return false;
}

bool vs_zk_connect(struct zk_store *self, int64_t ms_max, struct vs_reply *reply) {
    vs_reply_clear(reply);
    leave_to_parent(self);
    self->until_us = self->clock->boot_us(self->clock->self) + ms_max * 1000;
    if (self->zh && is_dead(self->zh)) vs_zk_close(self);
    if (!self->zh && !open_session(self, reply)) return false;
    bool never = false;
    pthread_mutex_lock(&self->mutex);
    while (zoo_state(self->zh) != ZOO_CONNECTED_STATE && !is_dead(self->zh) && left_us(self) > 0) {
        int64_t until_us = self->until_us, soon_us = self->clock->boot_us(self->clock->self) + 50000;
        self->until_us = soon_us < until_us ? soon_us : until_us; /* not every change of state is told */
        vs_zk_await(self, &never);
        self->until_us = until_us;
    }
    pthread_mutex_unlock(&self->mutex);
    reply->outcome = VS_STORE_OK;
    if (zoo_state(self->zh) == ZOO_CONNECTED_STATE) return true;
    if (is_dead(self->zh))
        vs_answer(reply, VS_STORE_DOWN, "%.70s: %s", self->where,
                  zoo_state(self->zh) == 0 ? none_there : "the session has ended");
    else
        vs_answer(reply, VS_STORE_DOWN, "%.70s: no server answers within %d ms", self->where, (int)ms_max);
    return false;
}

/* ------------------------------------------------------------------ time */

int64_t vs_zk_now_ms(const struct zk_store *self) {
    return self->clock_ms + (self->clock->boot_us(self->clock->self) - self->clock_boot_us) / 1000;
}

void vs_zk_learn_time(struct zk_store *self, const struct Stat *stat) {
    self->clock_ms = stat->mtime > 0 ? stat->mtime : 0;
    self->clock_boot_us = self->clock->boot_us(self->clock->self);
}

static bool ask_time(struct zk_store *self, struct vs_reply *reply) {
    struct zk_call *call = vs_zk_call(self);
    if (call) {
        vs_zk_set(call, VS_ZK_CLOCK, 0, -1);
        vs_zk_send_multi(call);
    }
    if (!call || !vs_zk_wait(call, reply)) {
        reply->outcome = VS_STORE_DOWN; /* nobody waits for this write */
        return false;
    }
    if (call->rc == ZOK)
        vs_zk_learn_time(self, &call->stat);
    else
        vs_zk_trouble(self, call->rc, reply);
    free(call);
    return reply->outcome == VS_STORE_OK;
}

bool vs_zk_begin(struct zk_store *self, int64_t ms_max, struct vs_reply *reply) {
    if (!vs_zk_connect(self, ms_max, reply)) return false;
    int64_t age_us = self->clock->boot_us(self->clock->self) - self->clock_boot_us;
    if ((self->clock_ms == 0 || age_us > CLOCK_MS * 1000) && !ask_time(self, reply)) return false;
    reply->store_ms = vs_zk_now_ms(self);
    return true;
}

/* ------------------------------------------------------------------ completions: in the client's thread */

static void complete(struct zk_call *call, int rc) {
    struct zk_store *self = call->store;
    pthread_mutex_lock(&self->mutex);
    bool abandoned = call->abandoned;
    call->rc = rc;
    call->done = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    if (abandoned) free(call);
}

static struct zk_call *call_of(const void *data) {
    return (struct zk_call *)(uintptr_t)data;
}

static void on_string(int rc, const char *value, const void *data) {
    (void)value;
    complete(call_of(data), rc);
}

static void on_multi(int rc, const void *data) {
    complete(call_of(data), rc);
}

static void on_get(int rc, const char *value, int length, const struct Stat *stat, const void *data) {
    struct zk_call *call = call_of(data);
    if (rc == ZOK) {
        call->length = length < 0 ? 0 : length < VS_RECORD_TEXT_MAX ? length : VS_RECORD_TEXT_MAX;
        if (call->length) memcpy(call->text, value, (size_t)call->length);
        call->stat = *stat;
    }
    complete(call, rc);
}

static void on_acl(int rc, struct ACL_vector *acl, struct Stat *stat, const void *data) {
    struct zk_call *call = call_of(data);
    const int writes = ZOO_PERM_WRITE | ZOO_PERM_CREATE | ZOO_PERM_DELETE | ZOO_PERM_ADMIN;
    (void)stat;
    for (int i = 0; rc == ZOK && i < acl->count; i++)
        if (strcmp(acl->data[i].id.scheme, "world") == 0 && (acl->data[i].perms & writes)) call->anyone_writes = true;
    complete(call, rc);
}

/* ------------------------------------------------------------------ calls */

struct zk_call *vs_zk_call(struct zk_store *self) {
    struct zk_call *call = calloc(1, sizeof *call);
    if (call) call->store = self;
    return call;
}

static const char *keep_path(struct zk_call *call, const char *path) {
    assert(call->op_count < VS_ZK_OPS_MAX);
    snprintf(call->path[call->op_count], VS_ZK_PATH_MAX, "%s", path);
    return call->path[call->op_count];
}

void vs_zk_check(struct zk_call *call, const char *path, int version) {
    const char *kept = keep_path(call, path);
    zoo_check_op_init(&call->op[call->op_count++], kept, version);
}

void vs_zk_create(struct zk_call *call, const char *path, int length) {
    const char *kept = keep_path(call, path);
    int i = call->op_count++;
    zoo_create_op_init(&call->op[i], kept, call->body, length,
                       call->store->is_open ? &ZOO_OPEN_ACL_UNSAFE : &ZOO_CREATOR_ALL_ACL, ZOO_PERSISTENT,
                       call->made[i], sizeof call->made[i]);
}

void vs_zk_set(struct zk_call *call, const char *path, int length, int version) {
    const char *kept = keep_path(call, path);
    zoo_set_op_init(&call->op[call->op_count++], kept, call->body, length, version, &call->stat);
}

void vs_zk_delete(struct zk_call *call, const char *path) {
    const char *kept = keep_path(call, path);
    zoo_delete_op_init(&call->op[call->op_count++], kept, -1);
}

/* What was not even sent has its answer. */
static void sent(struct zk_call *call, int rc) {
    if (rc == ZOK) return;
    call->rc = rc;
    call->done = true;
}

void vs_zk_send_sync(struct zk_call *call) {
    sent(call, zoo_async(call->store->zh, "/", on_string, call));
}

void vs_zk_send_get(struct zk_call *call, const char *path) {
    sent(call, zoo_aget(call->store->zh, path, 0, on_get, call));
}

void vs_zk_send_acl(struct zk_call *call, const char *path) {
    sent(call, zoo_aget_acl(call->store->zh, path, on_acl, call));
}

void vs_zk_send_multi(struct zk_call *call) {
    sent(call, zoo_amulti(call->store->zh, call->op_count, call->op, call->result, on_multi, call));
}

bool vs_zk_wait(struct zk_call *call, struct vs_reply *reply) {
    struct zk_store *self = call->store;
    bool writes = call->op_count > 0;
    pthread_mutex_lock(&self->mutex);
    bool came = vs_zk_await(self, &call->done);
    if (!came) call->abandoned = true; /* its completion frees it */
    pthread_mutex_unlock(&self->mutex);
    if (came && !is_lost(call->rc)) return true;
    vs_answer(reply, writes ? VS_STORE_UNKNOWN : VS_STORE_DOWN, "%.70s: %.60s", self->where,
              came ? zerror(call->rc) : "no answer in time");
    if (came) free(call);
    return false;
}
