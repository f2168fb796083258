/* zk_link.c -- the connection under zookeeper.c; see zk_link.h.  Knows no record. */
#include "store/zk_link.h"
#include "core/core.h"
#include "os/os.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLOCK_MS 10000 /* how long the leader's time is counted on by our own clock */
#define READ_MIN 65536

/* ------------------------------------------------------------------ errors */

bool vs_zk_trouble(const struct zk_store *self, int32_t rc, struct vs_reply *reply) {
    const char *where = self->place.where;
    if (rc == ZK_NONODE)
        return vs_answer(reply, VS_STORE_REFUSED,
                         "%.70s: its root is missing: run `vesta store init`, once (--again, if it was there before)",
                         where);
    if (rc == ZK_NOAUTH)
        return vs_answer(reply, VS_STORE_REFUSED,
                         "%.60s: not authorized: is the user:password that of `vesta store init`?", where);
    bool is_for_a_person = rc == ZK_AUTHFAILED || rc == ZK_INVALIDACL || rc == ZK_QUOTA;
    return vs_answer(reply, is_for_a_person ? VS_STORE_REFUSED : VS_STORE_DOWN, "%.70s: %.90s (%d)", where,
                     vs_zk_error(rc), (int)rc);
}

bool vs_zk_no_answer(struct zk_store *self, const char *why, struct vs_reply *reply) {
    vs_zk_drop(self);
    return vs_answer(reply, reply->outcome, "%.70s: %s", self->place.where, why);
}

/* ------------------------------------------------------------------ the connection */

#define XID_MASK 0x3fffffff /* where a connection's numbers begin: no other's answer fits; and where it ends */

static void forget(struct zk_store *self) {
    uint32_t dice = 0;
    (void)vs_random(&dice, sizeof dice);
    self->sent_xid = (int32_t)(dice & XID_MASK);
    self->fd = -1;
    self->zxid = 0;
    self->out.length = self->sent = self->in_begin = self->in_end = 0;
    self->out.is_short = false;
    self->read_xid = self->given_up_xid = self->sent_xid;
}

/* The parent's connection goes on: closing our end of it says nothing to the server. */
static void leave_to_parent(struct zk_store *self) {
    if (self->process == vs_process_token()) return;
    if (self->process && self->fd >= 0) close(self->fd);
    self->process = vs_process_token();
    self->making = NULL;
    forget(self);
}

void vs_zk_drop(struct zk_store *self) {
    leave_to_parent(self);
    if (self->fd >= 0) close(self->fd);
    if (self->making) vs_errand_leave(self->making);
    self->making = NULL;
    forget(self);
}

/* A session that is over is told so, if that costs nothing: the server need not keep it. */
static void say_goodbye(struct zk_store *self) {
    struct zk_out out = {0};
    vs_zk_begin_frame(&out, self->sent_xid + 1, ZK_CLOSE);
    vs_zk_end_frame(&out);
    if (!out.is_short) (void)!send(self->fd, out.at, out.length, MSG_NOSIGNAL | MSG_DONTWAIT);
    free(out.at);
}

void vs_zk_close(struct zk_store *self) {
    leave_to_parent(self);
    if (self->fd >= 0 && self->sent == self->out.length) say_goodbye(self);
    vs_zk_drop(self);
    free(self->in);
    free(self->out.at);
    self->in = self->out.at = NULL;
    self->in_room = self->out.room = 0;
}

/* A server that ended the session has closed the connection. */
static bool is_stale(const struct zk_store *self) {
    char byte;
    ssize_t got = recv(self->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

bool vs_zk_stirred(struct vs_store *store) {
    const struct zk_store *self = (const struct zk_store *)store;
    return self->fd >= 0 && self->process == vs_process_token() && is_stale(self);
}

static bool start_making(struct zk_store *self, struct vs_reply *reply) {
    struct zk_making *making = calloc(1, sizeof *making);
    if (!making) return vs_answer(reply, VS_STORE_DOWN, "no memory for a connection");
    making->place = self->place;
    making->fd = -1;
    vs_reply_clear(&making->reply);
    self->making = vs_errand_send(vs_zk_dial, vs_zk_drop_making, making);
    if (self->making) return true;
    vs_zk_drop_making(making);
    return vs_answer(reply, VS_STORE_DOWN, "no thread for a connection");
}

/* Waits for the connection that is on its way as long as this call may: the next one goes on waiting. */
static bool await_making(struct zk_store *self, struct vs_reply *reply) {
    if (!vs_errand_wait(self->making, &self->base))
        return vs_answer(reply, VS_STORE_DOWN, "%.70s: no answer in time: the connection is still being made",
                         self->place.where);
    struct zk_making *making = vs_errand_take(self->making);
    self->making = NULL;
    self->fd = making->fd;
    making->fd = -1;
    if (self->fd < 0) *reply = making->reply;
    vs_zk_drop_making(making);
    return self->fd >= 0;
}

bool vs_zk_connect(struct zk_store *self, int64_t ms_max, struct vs_reply *reply) {
    vs_reply_clear(reply);
    leave_to_parent(self);
    vs_call_begin(&self->base, ms_max);
    self->asks_time = false;
    self->given_up_xid = self->sent_xid; /* what the last call did not wait for */
    if (self->fd >= 0 && (is_stale(self) || self->sent_xid > 2 * XID_MASK - VS_FOREIGN_MAX)) vs_zk_drop(self);
    if (self->fd >= 0) return true;
    if (self->making && vs_errand_is_done(self->making) && !await_making(self, reply))
        vs_reply_clear(reply); /* what went wrong between two calls may be over: again, and then it is said */
    if (self->fd >= 0 && !is_stale(self)) return true;
    if (self->fd >= 0) vs_zk_drop(self);
    if ((!self->making && !start_making(self, reply)) || !await_making(self, reply)) return false;
    vs_call_begin(&self->base, ms_max); /* the way there has its own time, or a far server's would be lost at its end */
    return true;
}

/* ------------------------------------------------------------------ requests */

void vs_zk_path(const struct zk_store *self, char path[static VS_ZK_PATH_MAX], const char *format, ...) {
    va_list args;
    int length = snprintf(path, VS_ZK_PATH_MAX, "%s", self->root);
    va_start(args, format);
    vsnprintf(path + length, VS_ZK_PATH_MAX - (size_t)length, format, args);
    va_end(args);
}

static void begin_request(struct zk_store *self, int32_t type) {
    vs_zk_begin_frame(&self->out, ++self->sent_xid, type);
}

void vs_zk_ask(struct zk_store *self, int32_t type, const char *path) {
    begin_request(self, type);
    vs_zk_put_text(&self->out, path);
    if (type == ZK_GET || type == ZK_CHILDREN || type == ZK_EXISTS) vs_zk_put_bool(&self->out, false); /* no watch */
    vs_zk_end_frame(&self->out);
}

struct zk_out *vs_zk_multi(struct zk_store *self) {
    begin_request(self, ZK_MULTI);
    return &self->out;
}

/* ------------------------------------------------------------------ answers */

/* As much as the server takes now.  False: the connection is broken. */
static bool push(struct zk_store *self) {
    while (self->sent < self->out.length) {
        ssize_t put = send(self->fd, self->out.at + self->sent, self->out.length - self->sent, MSG_NOSIGNAL);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return errno == EAGAIN;
        self->sent += (size_t)put;
    }
    self->out.length = self->sent = 0;
    return true;
}

/* Room behind what came: what was read is moved out of the way. */
static bool make_room(struct zk_store *self, size_t frame) {
    size_t have = self->in_end - self->in_begin, need = frame > READ_MIN ? frame : READ_MIN;
    if (have) memmove(self->in, self->in + self->in_begin, have);
    self->in_begin = 0;
    self->in_end = have;
    if (self->in_room >= need) return true;
    char *grown = realloc(self->in, need);
    if (!grown) return false;
    self->in = grown;
    self->in_room = need;
    return true;
}

/* Sends what is to be sent, and reads what comes.  False: nothing came in time, or the connection is broken. */
static bool pull(struct zk_store *self, size_t frame) {
    int64_t slice_ms;
    if (self->in_room < frame || self->in_end == self->in_room)
        if (!make_room(self, frame)) return false;
    while ((slice_ms = vs_call_slice_ms(&self->base)) > 0) {
        if (!push(self)) return false;
        struct pollfd fd = {.fd = self->fd, .events = (short)(self->out.length ? POLLIN | POLLOUT : POLLIN)};
        if (poll(&fd, 1, (int)slice_ms) <= 0 || !(fd.revents & ~POLLOUT)) continue;
        ssize_t got = recv(self->fd, self->in + self->in_end, self->in_room - self->in_end, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (got > 0) self->in_end += (size_t)got;
        return got > 0;
    }
    errno = ETIMEDOUT;
    return false;
}

/* The next frame, whole. */
static bool next_frame(struct zk_store *self, struct zk_in *frame) {
    size_t need = 4;
    for (;;) {
        struct zk_in in = {self->in + self->in_begin, self->in_end - self->in_begin, false};
        if (in.left >= 4) {
            int32_t length = vs_zk_take_int(&in);
            errno = EPROTO;
            if (length < 16 || length > VS_ZK_FRAME_MAX) return false; /* an answer has a head of 16 */
            need = 4 + (size_t)length;
            if (in.left >= (size_t)length) {
                *frame = (struct zk_in){in.at, (size_t)length, false};
                self->in_begin += need;
                return true;
            }
        }
        if (self->in_begin + need > self->in_room && !make_room(self, need)) return false;
        errno = ECONNRESET;
        if (!pull(self, need)) return false;
    }
}

bool vs_zk_next(struct zk_store *self, struct zk_answer *answer, struct vs_reply *reply) {
    if (self->out.is_short) return vs_zk_no_answer(self, "no memory for a request", reply);
    for (;;) {
        struct zk_in frame;
        if (!next_frame(self, &frame))
            return vs_zk_no_answer(self,
                                   errno == ETIMEDOUT ? "no answer in time"
                                   : errno == EPROTO  ? "an answer that is none of ZooKeeper's"
                                                      : "the connection broke",
                                   reply);
        int32_t xid = vs_zk_take_int(&frame), due = self->read_xid + 1;
        answer->zxid = vs_zk_take_long(&frame);
        answer->rc = vs_zk_take_int(&frame);
        answer->body = frame;
        if (xid != due) return vs_zk_no_answer(self, "an answer to something else", reply);
        bool is_ours = self->read_xid >= self->given_up_xid;
        self->read_xid = due;
        if (answer->zxid > self->zxid) self->zxid = answer->zxid;
        if (is_ours && answer->rc != ZK_OK && frame.left) /* an error has no body */
            return vs_zk_no_answer(self, "half an answer, or more than one", reply);
        if (is_ours) return true;
    }
}

/* ------------------------------------------------------------------ time */

void vs_zk_learn_time(struct zk_store *self, const struct zk_stat *stat) {
    self->clock_ms = stat->mtime > 0 ? stat->mtime : 0;
    self->clock_boot_us = self->base.clock->boot_us(self->base.clock->self);
}

bool vs_zk_begin(struct zk_store *self, int64_t ms_max, struct vs_reply *reply) {
    char clock[VS_ZK_PATH_MAX];
    if (!vs_zk_connect(self, ms_max, reply)) return false;
    int64_t age_us = self->base.clock->boot_us(self->base.clock->self) - self->clock_boot_us;
    self->asks_time = self->clock_ms == 0 || age_us > CLOCK_MS * 1000;
    if (!self->asks_time) return true;
    vs_zk_path(self, clock, VS_ZK_CLOCK);
    struct zk_out *multi = vs_zk_multi(self);
    vs_zk_op_set(multi, clock, NULL, 0, -1);
    vs_zk_end_multi(multi);
    return true;
}

bool vs_zk_time(struct zk_store *self, struct vs_reply *reply) {
    static const int32_t types[] = {ZK_SET};
    struct zk_answer answer;
    struct zk_multi multi;
    if (self->asks_time) {
        self->asks_time = false;
        if (!vs_zk_next(self, &answer, reply)) return false;
        if (answer.rc != ZK_OK) return vs_zk_trouble(self, answer.rc, reply);
        if (!vs_zk_take_multi(&answer.body, types, 1, &multi) || (multi.rc == ZK_OK && multi.stat.mtime <= 0))
            return vs_zk_no_answer(self, "an answer to something else", reply);
        if (multi.rc != ZK_OK) return vs_zk_trouble(self, multi.rc, reply);
        vs_zk_learn_time(self, &multi.stat);
    }
    reply->store_ms = self->clock_ms + (self->base.clock->boot_us(self->base.clock->self) - self->clock_boot_us) / 1000;
    return true;
}
