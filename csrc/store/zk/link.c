/* link.c -- see link.h.  Does not interpret records. */
#include "store/zk/link.h"
#include "base/array.h"
#include "os/process.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define CLOCK_MS 10000 /* age after which the leader's time is read again */
#define FAREWELL_MS 200

/* ------------------------------------------------------------------ errors */

/* The server's errors for a request that it did not execute.  Errors of an ended session are handled in zk_is_lost.  A
 * code without a row is DOWN, because the next attempt may succeed. */
static const struct zk_meaning {
    int rc;
    enum vs_outcome outcome;
    enum vs_fault fault;
    const char *words; /* NULL selects the client library's own text (zerror) */
} zk_meanings[] = {
    {ZNONODE, VS_STORE_REFUSED, VS_FAULT_NO_ROOT, "its root is missing"},
    {ZNOAUTH, VS_STORE_REFUSED, VS_FAULT_OWNER, "not authorized"},
    {ZAUTHFAILED, VS_STORE_REFUSED, VS_FAULT_OWNER, NULL},
    {ZINVALIDACL, VS_STORE_REFUSED, VS_FAULT_OWNER, NULL},
    {ZSESSIONCLOSEDREQUIRESASLAUTH, VS_STORE_REFUSED, VS_FAULT_SASL, NULL},
    {VS_ZK_QUOTA, VS_STORE_REFUSED, VS_FAULT_FULL,
     "a quota of this node is exceeded: see ZooKeeper's listquota, setquota"},
    {ZNOCHILDRENFOREPHEMERALS, VS_STORE_REFUSED, VS_FAULT_NONE,
     "a node of its path is ephemeral: use another path in the URI"},
    {ZNOTREADONLY, VS_STORE_DOWN, VS_FAULT_MAJORITY, NULL},
    {ZTHROTTLEDOP, VS_STORE_DOWN, VS_FAULT_SILENT, "the server is overloaded and throttles requests"},
};

bool vs_zk_trouble(const struct zk_store *self, int rc, struct vs_reply *reply) {
    struct zk_meaning meaning = {rc, VS_STORE_DOWN, VS_FAULT_SERVER, NULL};
    assert(rc != ZOK);
    for (size_t i = 0; i < VS_COUNT(zk_meanings); i++)
        if (zk_meanings[i].rc == rc) meaning = zk_meanings[i];
    return vs_answer_fault(reply, meaning.outcome, meaning.fault, "%.70s: %.300s (%d)", self->place.where,
                           meaning.words ? meaning.words : zerror(rc), rc);
}

static bool zk_cut_short(struct zk_store *self, enum vs_fault fault, const char *why, struct vs_reply *reply) {
    vs_zk_drop(self);
    return vs_answer_fault(reply, reply->outcome, fault, "%.70s: %s", self->place.where, why);
}

bool vs_zk_no_answer(struct zk_store *self, const char *why, struct vs_reply *reply) {
    return zk_cut_short(self, VS_FAULT_NONE, why, reply);
}

/* ------------------------------------------------------------------ the session */

static void leave_read(struct zk_store *self) {
    if (self->read) vs_zk_call_leave(self->read);
    self->read = NULL;
}

void vs_zk_give_up(struct zk_store *self) {
    assert(!self->first == !self->end);
    while (self->first) {
        struct zk_call *call = self->first;
        self->first = call->next;
        vs_zk_call_leave(call);
    }
    self->end = NULL;
    self->is_short = false;
}

/* Forgets the parent's session without closing it.  The session's threads do not exist in this process, and its locks
 * may be held forever. */
static void zk_leave_to_parent(struct zk_store *self) {
    if (self->process == vs_process_token()) return;
    self->process = vs_process_token();
    self->making = NULL;
    self->session = NULL;
    self->first = self->end = self->read = NULL;
    self->is_short = false;
}

/* A pooled session, or a session that is being opened. */
struct zk_parked {
    struct zk_session *session;
    struct vs_errand *making;
};

/* Closes the session in a separate thread, because the client library waits for the server.  Returns NULL if the
 * session is already closed, or if there is none. */
static struct vs_errand *send_away(struct zk_parked parked) {
    if (parked.making) vs_errand_leave(parked.making);
    if (!parked.session) return NULL;
    struct vs_errand *ending = vs_errand_send(vs_zk_session_end, vs_zk_session_ended, parked.session);
    if (!ending) vs_zk_session_end(parked.session);
    return ending;
}

static struct zk_parked take_out(struct zk_store *self) {
    zk_leave_to_parent(self);
    leave_read(self);
    vs_zk_give_up(self);
    struct zk_parked had = {self->session, self->making};
    self->session = NULL;
    self->making = NULL;
    return had;
}

void vs_zk_drop(struct zk_store *self) {
    struct zk_parked had = take_out(self);
    if (had.session && vs_zk_session_is_lost(had.session)) self->losses = vs_pool_lose(self->pool);
    struct vs_errand *ending = send_away(had);
    if (ending) vs_errand_leave(ending);
}

static bool zk_parked_is_lost(void *link) {
    struct zk_parked *parked = link;
    return parked->session && vs_zk_session_is_lost(parked->session);
}

static void zk_end_parked(void *link) {
    struct vs_errand *ending = send_away(*(struct zk_parked *)link);
    if (ending) vs_errand_leave(ending);
    free(link);
}

#define IDLE_US 2000000 /* close idle sessions early, because a server accepts only 60 sessions from one address */
static const struct vs_pool_kind kind = {IDLE_US, zk_parked_is_lost, zk_end_parked};

static int64_t zk_clock_us(const struct zk_store *self) {
    return self->base.clock->boot_us(self->base.clock->self);
}

bool vs_zk_enter(struct zk_store *self) {
    self->pool = vs_pool_enter(&kind, &self->place, sizeof self->place);
    return self->pool != NULL;
}

/* Unregisters the store.  The last store of a place closes its session and the pooled sessions. */
void vs_zk_leave(struct zk_store *self) {
    void *links[VS_POOL_MAX];
    if (!self->pool) return;
    vs_zk_park(self, zk_clock_us(self));
    unsigned count = vs_pool_leave(self->pool, links);
    for (; count > 1; count--)
        zk_end_parked(links[count - 1]);
    struct vs_errand *ending = count ? send_away(*(struct zk_parked *)links[0]) : NULL;
    if (count) free(links[0]);
    if (!ending) return;
    vs_call_begin(&self->base, FAREWELL_MS);
    vs_errand_wait(ending, &self->base);
    vs_errand_leave(ending);
}

void vs_zk_park(struct zk_store *self, int64_t now_us) {
    struct zk_parked had = take_out(self), *parked = NULL;
    if (!had.session && !had.making) return;
    if ((parked = malloc(sizeof *parked))) {
        *parked = had;
        vs_pool_put(self->pool, parked, now_us);
        return;
    }
    struct vs_errand *ending = send_away(had);
    if (ending) vs_errand_leave(ending);
}

static void zk_take_parked(struct zk_store *self, int64_t now_us) {
    struct zk_parked *parked = NULL;
    if (self->session || self->making)
        self->losses = vs_pool_losses(self->pool, now_us);
    else
        parked = vs_pool_take(self->pool, now_us, &self->losses);
    if (!parked) return;
    self->session = parked->session;
    self->making = parked->making;
    free(parked);
}

bool vs_zk_stirred(struct vs_store *store, int64_t now_boot_us) {
    const struct zk_store *self = (const struct zk_store *)store;
    if (self->process != vs_process_token()) return false;
    if (self->session) return vs_zk_session_is_lost(self->session);
    return vs_pool_losses(self->pool, now_boot_us) != self->losses;
}

static bool zk_start_making(struct zk_store *self, struct vs_reply *reply) {
    assert(!self->making); /* otherwise `making` would leak */
    assert(!self->session);
    struct zk_making *making = calloc(1, sizeof *making);
    if (!making) return vs_answer(reply, VS_STORE_DOWN, "no memory for a connection");
    making->place = self->place;
    vs_reply_clear(&making->reply);
    self->making = vs_errand_send(vs_zk_dial, vs_zk_drop_making, making);
    if (self->making) return true;
    vs_zk_drop_making(making);
    return vs_answer(reply, VS_STORE_DOWN, "no thread for a connection");
}

/* Waits for the session until the call's deadline.  If the session takes longer, the next call continues to wait. */
static bool zk_await_making(struct zk_store *self, struct vs_reply *reply) {
    assert(!self->session); /* otherwise `session` would leak */
    if (!vs_errand_wait(self->making, &self->base))
        return vs_answer_fault(reply, VS_STORE_DOWN, VS_FAULT_SILENT,
                               "%.70s: the connection was not open before the deadline", self->place.where);
    struct zk_making *making = vs_errand_take(self->making);
    self->making = NULL;
    self->session = making->session;
    making->session = NULL;
    if (!self->session) *reply = making->reply;
    vs_zk_drop_making(making);
    assert(self->session || reply->outcome != VS_STORE_OK);
    return self->session;
}

/* Returns whether there is a session.  Drops a lost session, instead of waiting until the client library reconnects.
 * The library may reconnect to a server of another store, which only a new session detects. */
static bool has_session(struct zk_store *self) {
    if (self->session && vs_zk_session_is_lost(self->session)) vs_zk_drop(self);
    return self->session;
}

bool vs_zk_connect(struct zk_store *self, int64_t ms_max, struct vs_reply *reply) {
    vs_reply_clear(reply);
    zk_leave_to_parent(self);
    int64_t now_us = vs_call_begin(&self->base, ms_max);
    self->asks_time = false;
    leave_read(self);
    vs_zk_give_up(self); /* abandon the requests of the last call */
    zk_take_parked(self, now_us);
    if (has_session(self)) return true;
    if (self->making && vs_errand_is_done(self->making) && !zk_await_making(self, reply))
        vs_reply_clear(reply); /* retry after an error that occurred between two calls, and report the new error */
    if (has_session(self)) return true;
    if ((!self->making && !zk_start_making(self, reply)) || !zk_await_making(self, reply)) return false;
    /* opening had a separate deadline, because otherwise the first call to a distant server would always fail */
    vs_call_begin(&self->base, ms_max);
    return true;
}

/* ------------------------------------------------------------------ requests */

void vs_zk_path(const struct zk_store *self, char path[static VS_ZK_PATH_MAX], const char *format, ...) {
    va_list args;
    int length = snprintf(path, VS_ZK_PATH_MAX, "%s", self->root);
    assert(path[0] == '/'); /* the root is never "/" (zk_read_uri) */
    assert(length > 1);
    va_start(args, format);
    length += vsnprintf(path + length, VS_ZK_PATH_MAX - (size_t)length, format, args);
    va_end(args);
    assert(length < VS_ZK_PATH_MAX); /* a truncated path would be another node */
}

static struct zk_call *zk_put(struct zk_store *self, struct zk_call *call) {
    self->is_short |= !call;
    if (!call) return NULL;
    assert(!call->next);
    assert(!self->first == !self->end);
    assert(!self->end || !self->end->next); /* answers come in the order of this list */
    if (self->end) self->end->next = call;
    if (!self->first) self->first = call;
    self->end = call;
    return call;
}

void vs_zk_ask(struct zk_store *self, enum zk_request request, const char *path) {
    assert(self->process == vs_process_token()); /* never use a parent's session */
    struct zk_call *call = self->session ? zk_put(self, vs_zk_call(self->session, false)) : NULL;
    if (call) vs_zk_call_ask(call, request, path);
}

struct zk_call *vs_zk_multi(struct zk_store *self) {
    assert(self->process == vs_process_token());
    struct zk_call *call = self->session ? vs_zk_call(self->session, true) : NULL;
    self->is_short |= !call;
    return call;
}

void vs_zk_send(struct zk_store *self, struct zk_call *multi) {
    if (multi) vs_zk_call_multi(zk_put(self, multi));
}

/* ------------------------------------------------------------------ answers */

/* Returns whether the error comes from the client library, not from the server.  In that case, the request may have
 * been sent and executed. */
static bool zk_is_lost(int rc) {
    bool is_clients = rc < 0 && rc > ZAPIERROR;
    return is_clients || rc == ZSESSIONEXPIRED || rc == ZCLOSING || rc == ZSESSIONMOVED;
}

const struct zk_answer *vs_zk_next(struct zk_store *self, struct vs_reply *reply) {
    int64_t slice_ms;
    struct zk_call *call = self->first;
    leave_read(self);
    assert(!call || call->session == self->session); /* the call must not belong to a session that was dropped */
    if (!call || self->is_short) {
        vs_zk_no_answer(self, "no memory for a request", reply);
        return NULL;
    }
    bool is_done = call->unsent != ZOK;
    while (!is_done && (slice_ms = vs_call_slice_ms(&self->base)) > 0)
        is_done = vs_zk_wait(call->session, &call->is_done, slice_ms);
    int rc = call->unsent != ZOK ? call->unsent : is_done ? call->answer.rc : ZOPERATIONTIMEOUT;
    bool is_foreign = rc == ZMARSHALLINGERROR || rc == ZRUNTIMEINCONSISTENCY;
    if (zk_is_lost(rc)) {
        zk_cut_short(self, is_done && is_foreign ? VS_FAULT_STRANGER : VS_FAULT_SILENT,
                     !is_done     ? "no reply before the deadline"
                     : is_foreign ? "the reply is not ZooKeeper's"
                                  : "the connection broke",
                     reply);
        return NULL;
    }
    assert(call->unsent == ZOK); /* otherwise the client library may still write to the answer */
    self->first = call->next;
    if (!self->first) self->end = NULL;
    self->read = call;
    return &call->answer;
}

/* ------------------------------------------------------------------ time */

void vs_zk_learn_time(struct zk_store *self, const struct Stat *stat) {
    assert(stat->mtime > 0); /* the caller has checked this.  0 would mean an unknown time */
    self->clock_ms = stat->mtime;
    self->clock_boot_us = self->base.clock->boot_us(self->base.clock->self);
}

bool vs_zk_begin(struct zk_store *self, int64_t ms_max, struct vs_reply *reply) {
    char clock[VS_ZK_PATH_MAX];
    if (!vs_zk_connect(self, ms_max, reply)) return false;
    assert(!self->first); /* the first answer must be the time */
    int64_t age_us = self->base.clock->boot_us(self->base.clock->self) - self->clock_boot_us;
    self->asks_time = self->clock_ms == 0 || age_us > CLOCK_MS * 1000;
    if (!self->asks_time) return true;
    vs_zk_path(self, clock, VS_ZK_CLOCK);
    struct zk_call *multi = vs_zk_multi(self);
    if (multi) vs_zk_op_touch(multi, clock);
    vs_zk_send(self, multi);
    return true;
}

bool vs_zk_time(struct zk_store *self, struct vs_reply *reply) {
    if (self->asks_time) {
        self->asks_time = false;
        const struct zk_answer *answer = vs_zk_next(self, reply);
        if (!answer) return false;
        if (answer->rc != ZOK) return vs_zk_trouble(self, answer->rc, reply);
        if (answer->multi.stat.mtime <= 0) return vs_zk_no_answer(self, "the reply belongs to another request", reply);
        vs_zk_learn_time(self, &answer->multi.stat);
    }
    assert(self->clock_ms > 0); /* if it was unknown, vs_zk_begin has requested it */
    reply->store_ms = self->clock_ms + (self->base.clock->boot_us(self->base.clock->self) - self->clock_boot_us) / 1000;
    return true;
}
