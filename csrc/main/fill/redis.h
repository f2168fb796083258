/* redis.h -- one connection to a Redis server: a command out, its reply in, each by a deadline.  A connection on which
 * a call was not answered, or not understood, is closed and never used again.  It is a module that `vesta fill` loads,
 * for no other command needs its library. */
#ifndef VS_FILL_REDIS_H
#define VS_FILL_REDIS_H

#include "vesta.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct redisReader;

#define VS_REDIS_TEXT_MAX 200

enum vs_redis_outcome {
    VS_REDIS_OK,
    VS_REDIS_REFUSED, /* it says so, and did nothing: `text` begins with its word, "READONLY" */
    VS_REDIS_DOWN,    /* nothing was sent */
    VS_REDIS_UNKNOWN  /* it was sent, or a part of it: it may be done, now or later */
};

struct vs_redis;

/* What the module exports as `vs_redis_module`. */
#define VS_REDIS_ABI 1
struct vs_redis_client {
    uint32_t abi, redis_bytes;
    /* Connects, if it is not connected.  *is_new: it was not. */
    enum vs_redis_outcome (*connect)(struct vs_redis *redis, bool *is_new);
    void (*close)(struct vs_redis *redis);
    /* One command, on a connection that is there; `text`, `number` and `is_nil` are its reply. */
    enum vs_redis_outcome (*call)(struct vs_redis *redis, int argc, const char *const *argv);
    /* INFO's value of a field, such as run_id, into buf.  REFUSED also where there is no such field. */
    enum vs_redis_outcome (*info)(struct vs_redis *redis, const char *section, const char *field, char *buf, size_t size);
};

/* NULL with err, which names what to install. */
const struct vs_redis_client *vs_redis_find(struct vesta_error *err);

struct vs_redis {
    const struct vs_redis_client *client;
    const char *address; /* HOST:PORT, [v6]:PORT, unix:PATH */
    int64_t call_ms_max;
    int fd; /* -1: not connected */
    struct redisReader *reader;
    char text[VS_REDIS_TEXT_MAX]; /* why the last call was not OK; what a status or a string said */
    int64_t number;               /* what it said, where that is an integer */
    bool is_nil;
};

#endif
