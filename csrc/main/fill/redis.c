/* redis.c -- the connection of `vesta fill`; see redis.h.  hiredis writes commands and reads replies here; sockets and
 * deadlines are ours, because its own hold for each read, not for a reply. */
#include "main/fill/redis.h"

#include "os/address.h"
#include "os/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_ROOM 16384

static int64_t boot_ms(void) {
    const struct vesta_clock *clock = vs_clock_system();
    return clock->boot_us(clock->self) / 1000;
}

static void redis_close(struct vs_redis *redis) {
    if (redis->fd >= 0) close(redis->fd);
    if (redis->reader) redisReaderFree(redis->reader);
    redis->fd = -1;
    redis->reader = NULL;
}

/* Whatever else may come on this connection is of no use: it would be taken for the next call's. */
static enum vs_redis_outcome lost(struct vs_redis *redis, enum vs_redis_outcome outcome, const char *why) {
    snprintf(redis->text, sizeof redis->text, "%.*s", VS_REDIS_TEXT_MAX - 1, why);
    redis_close(redis);
    return outcome;
}

static enum vs_redis_outcome redis_connect(struct vs_redis *redis, bool *is_new) {
    struct vesta_error err = {.text = ""};
    *is_new = redis->fd < 0;
    if (!*is_new) return VS_REDIS_OK;
    redis->fd = vs_connect(redis->address, (int)redis->call_ms_max, &err);
    size_t length = strlen(redis->address); /* which whoever tells of it puts in front */
    bool names_it = strncmp(err.text, redis->address, length) == 0 && strncmp(err.text + length, ": ", 2) == 0;
    if (redis->fd < 0) return lost(redis, VS_REDIS_DOWN, err.text + (names_it ? length + 2 : 0));
    if (fcntl(redis->fd, F_SETFL, O_NONBLOCK) != 0) return lost(redis, VS_REDIS_DOWN, strerror(errno));
    redis->reader = redisReaderCreate();
    return redis->reader ? VS_REDIS_OK : lost(redis, VS_REDIS_DOWN, "no memory");
}

/* ------------------------------------------------------------------ bytes, by a deadline */

static bool await(const struct vs_redis *redis, short what, int64_t until_ms) {
    struct pollfd at = {.fd = redis->fd, .events = what};
    int64_t left_ms = until_ms - boot_ms();
    while (left_ms > 0) {
        int n = poll(&at, 1, left_ms < INT_MAX ? (int)left_ms : INT_MAX);
        if (n > 0) return true;
        if (n < 0 && errno != EINTR) return false;
        left_ms = until_ms - boot_ms();
    }
    return false;
}

static enum vs_redis_outcome send_all(struct vs_redis *redis, const char *bytes, size_t length, int64_t until_ms) {
    size_t sent = 0;
    while (sent < length) {
        ssize_t n = send(redis->fd, bytes + sent, length - sent, MSG_NOSIGNAL);
        if (n > 0) {
            sent += (size_t)n;
            continue;
        }
        enum vs_redis_outcome outcome = sent > 0 ? VS_REDIS_UNKNOWN : VS_REDIS_DOWN;
        if (n < 0 && errno != EAGAIN && errno != EINTR) return lost(redis, outcome, strerror(errno));
        if (!await(redis, POLLOUT, until_ms)) return lost(redis, outcome, "it takes nothing within --timeout-ms");
    }
    return VS_REDIS_OK;
}

static enum vs_redis_outcome read_reply(struct vs_redis *redis, int64_t until_ms, redisReply **reply) {
    char bytes[READ_ROOM];
    *reply = NULL;
    while (!*reply) {
        if (!await(redis, POLLIN, until_ms)) return lost(redis, VS_REDIS_UNKNOWN, "no answer within --timeout-ms");
        ssize_t n = read(redis->fd, bytes, sizeof bytes);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (n <= 0) return lost(redis, VS_REDIS_UNKNOWN, n < 0 ? strerror(errno) : "it closed the connection");
        if (redisReaderFeed(redis->reader, bytes, (size_t)n) != REDIS_OK ||
            redisReaderGetReply(redis->reader, (void **)reply) != REDIS_OK)
            return lost(redis, VS_REDIS_UNKNOWN, "what it answers is not the Redis protocol");
    }
    if (redis->reader->pos == redis->reader->len) return VS_REDIS_OK;
    freeReplyObject(*reply);
    return lost(redis, VS_REDIS_UNKNOWN, "it answers more than it was asked");
}

/* A reply that was read whole; the caller frees it. */
static enum vs_redis_outcome call(struct vs_redis *redis, int argc, const char *const *argv, redisReply **reply) {
    int64_t until_ms = boot_ms() + redis->call_ms_max;
    char *bytes = NULL;
    const char **words = (const char **)argv; /* hiredis leaves them as they are */
    int length = redisFormatCommandArgv(&bytes, argc, words, NULL);
    if (length < 0) return lost(redis, VS_REDIS_DOWN, "no memory");
    enum vs_redis_outcome outcome = send_all(redis, bytes, (size_t)length, until_ms);
    free(bytes);
    return outcome == VS_REDIS_OK ? read_reply(redis, until_ms, reply) : outcome;
}

/* ------------------------------------------------------------------ replies */

static enum vs_redis_outcome redis_call(struct vs_redis *redis, int argc, const char *const *argv) {
    redisReply *reply;
    enum vs_redis_outcome outcome = call(redis, argc, argv, &reply);
    if (outcome != VS_REDIS_OK) return outcome;
    redis->number = reply->type == REDIS_REPLY_INTEGER ? reply->integer : -1;
    redis->is_nil = reply->type == REDIS_REPLY_NIL;
    snprintf(redis->text, sizeof redis->text, "%s", reply->str ? reply->str : "");
    if (reply->type == REDIS_REPLY_ERROR) outcome = VS_REDIS_REFUSED;
    freeReplyObject(reply);
    return outcome;
}

static enum vs_redis_outcome redis_info(struct vs_redis *redis, const char *section, const char *field, char *buf,
                                        size_t size) {
    redisReply *reply;
    enum vs_redis_outcome outcome = call(redis, 2, (const char *const[]){"INFO", section}, &reply);
    if (outcome != VS_REDIS_OK) return outcome;
    size_t length = strlen(field);
    const char *at = reply->type == REDIS_REPLY_STRING ? reply->str : NULL;
    while (at && !(strncmp(at, field, length) == 0 && at[length] == ':')) {
        at = strchr(at, '\n');
        if (at) at++;
    }
    *buf = '\0';
    if (at) snprintf(buf, size, "%.*s", (int)strcspn(at + length + 1, "\r\n"), at + length + 1);
    snprintf(redis->text, sizeof redis->text, "%s", reply->type == REDIS_REPLY_ERROR ? reply->str : "it says nothing");
    freeReplyObject(reply);
    return *buf ? VS_REDIS_OK : VS_REDIS_REFUSED;
}

VESTA_API extern const struct vs_redis_client vs_redis_module;
const struct vs_redis_client vs_redis_module = {
    VS_REDIS_ABI, sizeof(struct vs_redis), redis_connect, redis_close, redis_call, redis_info,
};
