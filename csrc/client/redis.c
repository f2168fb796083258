/* redis.c -- the wire, with the formatter and the parser of hiredis.  This file handles sockets and deadlines itself.
 * The timeout of hiredis applies to each read, so a server that sends a byte now and then would never exceed it. */
#include "client/wire.h"
#include "os/clock.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define SLICE_MS 50 /* how often a waiting thread checks `is_cut` */

#if HIREDIS_MAJOR < 1
typedef int elements; /* type of the element count in createArray */
#else
typedef size_t elements;
#endif

/* ------------------------------------------------------------------ the parser's objects: entries of an answer
 *
 * By default, hiredis allocates objects of any size that a reply announces.  These functions accept a flat array of
 * short texts only.  For everything else they return NULL, which hiredis treats as out of memory. */

static void *redis_put(const redisReadTask *task, const char *text, size_t length) {
    struct vs_wire_answer *answer = task->privdata;
    if (length > sizeof answer->bytes - answer->used || answer->count == VS_REPLY_VALUES_MAX) return NULL;
    char *to = answer->bytes + answer->used;
    memcpy(to, text, length);
    answer->used += length;
    answer->at[answer->count++] = (struct vs_slice){to, length};
    return answer;
}

static void *put_text(const redisReadTask *task, char *text, size_t length) {
    struct vs_wire_answer *answer = task->privdata;
    if (task->type == REDIS_REPLY_STRING && task->parent) return redis_put(task, text, length);
    if (task->parent) return NULL;
    answer->heard = task->type == REDIS_REPLY_ERROR ? VS_HEARD_ERROR : VS_HEARD_STATUS;
    snprintf(answer->text, sizeof answer->text, "%.*s", (int)(length < 200 ? length : 200), text);
    return answer;
}

static void *put_array(const redisReadTask *task, elements count) {
    struct vs_wire_answer *answer = task->privdata;
    answer->heard = VS_HEARD_VALUES;
    return task->parent || count > VS_REPLY_VALUES_MAX ? NULL : answer;
}

static void *put_number(const redisReadTask *task, long long value) {
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%lld", value);
    return task->parent ? redis_put(task, digits, (size_t)length) : NULL;
}

static void *put_nothing(const redisReadTask *task) {
    (void)task;
    return NULL;
}

static void redis_keep(void *answer) {
    (void)answer; /* the caller owns it */
}

static redisReplyObjectFunctions entries = {.createString = put_text,
                                            .createArray = put_array,
                                            .createInteger = put_number,
                                            .createNil = put_nothing,
                                            .freeObject = redis_keep};

/* ------------------------------------------------------------------ sending and reading */

static int64_t redis_now_us(void) {
    const struct vesta_clock *clock = vs_clock_system();
    return clock->boot_us(clock->self);
}

static void redis_set(struct vs_wire_answer *answer, enum vs_heard heard, const char *text) {
    answer->heard = heard;
    snprintf(answer->text, sizeof answer->text, "%s", text);
}

/* Waits until the socket is ready.  Returns false and sets the answer if the deadline has passed, or if the wait was
 * cut. */
static bool redis_await(const struct vs_wire_question *q, short events, struct vs_wire_answer *answer) {
    struct pollfd ready = vs_link_poll(q->link, events);
    for (;;) {
        int64_t left_ms = (q->until_boot_us - redis_now_us() + 999) / 1000;
        if (left_ms <= 0 || (q->is_cut && atomic_load(q->is_cut))) break;
        int rc = poll(&ready, 1, left_ms < SLICE_MS ? (int)left_ms : SLICE_MS);
        if (rc > 0) return true;
        if (rc < 0 && errno != EINTR) break;
    }
    redis_set(answer, VS_HEARD_NOTHING, "no reply before the deadline");
    return false;
}

/* Returns false if bytes, or the end of the connection, arrived before the question was sent. */
static bool redis_is_quiet(const struct vs_link *link, struct vs_wire_answer *answer) {
    char byte;
    ssize_t got = vs_link_read(link, &byte, 1);
    if (vs_link_is_for_later(got)) return true;
    if (got > 0)
        redis_set(answer, VS_HEARD_BROKEN, "the server sent an unexpected reply");
    else
        redis_set(answer, VS_HEARD_END, "the server closed the connection");
    return false;
}

static bool send_all(const struct vs_wire_question *q, const char *bytes, size_t length,
                     struct vs_wire_answer *answer) {
    while (length > 0) {
        ssize_t sent = vs_link_write(q->link, bytes, length);
        if (sent < 0 && !vs_link_is_for_later(sent))
            return redis_set(answer, VS_HEARD_END, vs_link_why(q->link)), false;
        if (sent < 0 && !redis_await(q, POLLOUT, answer)) return false;
        if (sent > 0) bytes += sent, length -= (size_t)sent;
    }
    return true;
}

/* Feeds one piece of a reply to the reader.  Reads before it polls, because poll does not report bytes that TLS has
 * buffered.  Returns false if no more bytes can come. */
static bool redis_receive(const struct vs_wire_question *q, redisReader *reader, size_t *total,
                          struct vs_wire_answer *answer) {
    char piece[4096];
    ssize_t got = vs_link_read(q->link, piece, sizeof piece);
    if (vs_link_is_for_later(got)) return redis_await(q, POLLIN, answer);
    if (got <= 0 && *total == 0)
        return redis_set(answer, VS_HEARD_END, got ? vs_link_why(q->link) : "the server closed the connection"), false;
    if (got <= 0) return redis_set(answer, VS_HEARD_BROKEN, "the connection ended in the middle of a reply"), false;
    *total += (size_t)got;
    if (*total > VS_ANSWER_BYTES_MAX) return redis_set(answer, VS_HEARD_BROKEN, "a reply is too long"), false;
    if (redisReaderFeed(reader, piece, (size_t)got) == REDIS_OK) return true;
    return redis_set(answer, VS_HEARD_BROKEN, "a reply cannot be read"), false;
}

static void read_reply(const struct vs_wire_question *q, redisReader *reader, struct vs_wire_answer *answer) {
    void *whole = NULL;
    size_t total = 0;
    while (!whole && redis_receive(q, reader, &total, answer))
        if (redisReaderGetReply(reader, &whole) != REDIS_OK) {
            redis_set(answer, VS_HEARD_BROKEN,
                      "unexpected reply: check that this is the port of the Redis protocol of a vesta server");
            return;
        }
    if (whole && reader->pos < reader->len) redis_set(answer, VS_HEARD_BROKEN, "more than one reply arrived");
}

static void redis_exchange(const struct vs_wire_question *q, const char *bytes, size_t length,
                           struct vs_wire_answer *answer) {
    redisReader *reader = redisReaderCreateWithFunctions(&entries);
    if (!reader) {
        redis_set(answer, VS_HEARD_NOTHING, "no memory");
        return;
    }
    reader->privdata = answer;
    if (send_all(q, bytes, length, answer)) read_reply(q, reader, answer);
    redisReaderFree(reader);
}

static void redis_ask(const struct vs_wire_question *q, struct vs_wire_answer *answer) {
    char *bytes = NULL;
    answer->count = 0;
    answer->used = 0;
    answer->text[0] = '\0';
    if (!redis_is_quiet(q->link, answer)) return;
    int length = (int)redisFormatCommandArgv(&bytes, q->count, (const char **)(uintptr_t)q->words, NULL);
    if (length < 0) {
        redis_set(answer, VS_HEARD_NOTHING, "no memory");
        return;
    }
    redis_exchange(q, bytes, (size_t)length, answer);
    redisFreeCommand(bytes);
}

const struct vs_wire vs_wire_redis = {
    .abi = VS_WIRE_ABI, .answer_bytes = sizeof(struct vs_wire_answer), .ask = redis_ask};
