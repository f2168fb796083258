/* hiredis.c -- the connection of `vesta fill` (see hiredis.h).  hiredis formats commands and parses replies.  This file
 * implements sockets and deadlines, because a deadline of hiredis applies to each read, not to a whole reply. */
#include "main/fill/hiredis.h"

#include "os/clock.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_ROOM 16384

static int64_t hiredis_boot_ms(void) {
    const struct vesta_clock *clock = vs_clock_system();
    return clock->boot_us(clock->self) / 1000;
}

static void hiredis_forget_reply(struct vs_redis *redis) {
    if (redis->reply) freeReplyObject(redis->reply);
    redis->reply = NULL;
    redis->text = NULL;
    redis->length = 0;
    redis->is_number = false;
}

static void hiredis_close(struct vs_redis *redis) {
    vs_link_close(&redis->link);
    if (redis->reader) redisReaderFree(redis->reader);
    redis->reader = NULL;
    hiredis_forget_reply(redis);
}

/* Closes the connection, because a late reply would be read as the reply to the next call. */
static enum vs_redis_outcome hiredis_lost(struct vs_redis *redis, enum vs_redis_outcome outcome, const char *why) {
    snprintf(redis->why, sizeof redis->why, "%.*s", (int)sizeof redis->why - 1, why);
    hiredis_close(redis);
    redis->text = redis->why;
    redis->length = strlen(redis->why);
    return outcome;
}

static bool hiredis_begin(struct vs_redis *redis) {
    redis->reader = redisReaderCreate();
    return redis->reader != NULL;
}

/* ------------------------------------------------------------------ input and output with a deadline */

static bool hiredis_await(const struct vs_redis *redis, short what, int64_t until_ms) {
    struct pollfd at = vs_link_poll(&redis->link, what);
    int64_t left_ms = until_ms - hiredis_boot_ms();
    while (left_ms > 0) {
        int n = poll(&at, 1, left_ms < INT_MAX ? (int)left_ms : INT_MAX);
        if (n > 0) return true;
        if (n < 0 && errno != EINTR) return false;
        left_ms = until_ms - hiredis_boot_ms();
    }
    return false;
}

static enum vs_redis_outcome hiredis_send_all(struct vs_redis *redis, const char *bytes, size_t length,
                                              int64_t until_ms) {
    size_t sent = 0;
    while (sent < length) {
        ssize_t n = vs_link_write(&redis->link, bytes + sent, length - sent);
        if (n > 0) {
            sent += (size_t)n;
            continue;
        }
        enum vs_redis_outcome outcome = sent > 0 ? VS_REDIS_UNKNOWN : VS_REDIS_DOWN;
        if (n < 0 && !vs_link_is_for_later(n)) return hiredis_lost(redis, outcome, vs_link_why(&redis->link));
        if (!hiredis_await(redis, POLLOUT, until_ms))
            return hiredis_lost(redis, outcome, "it accepted no data within --timeout-ms");
    }
    return VS_REDIS_OK;
}

static enum vs_redis_outcome hiredis_read_reply(struct vs_redis *redis, int64_t until_ms) {
    char bytes[READ_ROOM];
    while (!redis->reply) {
        ssize_t n = vs_link_read(&redis->link, bytes, sizeof bytes);
        if (vs_link_is_for_later(n)) {
            if (hiredis_await(redis, POLLIN, until_ms)) continue;
            return hiredis_lost(redis, VS_REDIS_UNKNOWN, "no answer within --timeout-ms");
        }
        if (n <= 0)
            return hiredis_lost(redis, VS_REDIS_UNKNOWN, n < 0 ? vs_link_why(&redis->link) : "it closed the connection");
        if (redisReaderFeed(redis->reader, bytes, (size_t)n) != REDIS_OK ||
            redisReaderGetReply(redis->reader, (void **)&redis->reply) != REDIS_OK)
            return hiredis_lost(redis, VS_REDIS_UNKNOWN, "its reply is not the Redis protocol");
    }
    if (redis->reader->pos == redis->reader->len) return VS_REDIS_OK;
    return hiredis_lost(redis, VS_REDIS_UNKNOWN, "it sent more replies than requests");
}

static enum vs_redis_outcome hiredis_call(struct vs_redis *redis, int argc, const char **argv) {
    int64_t until_ms = hiredis_boot_ms() + redis->call_ms_max;
    char *bytes = NULL;
    hiredis_forget_reply(redis);
    int length = redisFormatCommandArgv(&bytes, argc, argv, NULL);
    if (length < 0) return hiredis_lost(redis, VS_REDIS_DOWN, "no memory");
    enum vs_redis_outcome outcome = hiredis_send_all(redis, bytes, (size_t)length, until_ms);
    free(bytes);
    if (outcome == VS_REDIS_OK) outcome = hiredis_read_reply(redis, until_ms);
    if (outcome != VS_REDIS_OK) return outcome;
    redis->is_number = redis->reply->type == REDIS_REPLY_INTEGER;
    redis->number = redis->is_number ? redis->reply->integer : 0;
    redis->text = redis->reply->str;
    redis->length = redis->text ? redis->reply->len : 0;
    return redis->reply->type == REDIS_REPLY_ERROR ? VS_REDIS_REFUSED : VS_REDIS_OK;
}

VESTA_API extern const struct vs_redis_client vs_redis_module;
const struct vs_redis_client vs_redis_module = {
    VS_REDIS_ABI, sizeof(struct vs_redis), hiredis_begin, hiredis_close, hiredis_call,
};
