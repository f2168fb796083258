/* hiredis.h -- one connection to a Redis server: a command out, its reply in, each by a deadline.  A connection on
 * which a call was not answered, or not understood, is closed and never used again.  It is a module that `vesta fill`
 * loads, because no other command needs its library. */
#ifndef VS_FILL_HIREDIS_H
#define VS_FILL_HIREDIS_H

#include "client/link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct redisReader;
struct redisReply;

enum vs_redis_outcome {
    VS_REDIS_OK,
    VS_REDIS_REFUSED, /* the server says so, and did nothing: `text` begins with its word, "READONLY" */
    VS_REDIS_DOWN,    /* nothing was sent */
    VS_REDIS_UNKNOWN  /* the command was sent, or a part of it: it may be done, now or later */
};

struct vs_redis;

/* What the module exports as `vs_redis_module`. */
#define VS_REDIS_ABI 3
struct vs_redis_client {
    uint32_t abi, redis_bytes;
    /* Begins with a new `link`.  false: no memory. */
    bool (*begin)(struct vs_redis *redis);
    void (*close)(struct vs_redis *redis);
    /* One command, on a connection that is there. */
    enum vs_redis_outcome (*call)(struct vs_redis *redis, int argc, const char **argv);
};

struct vs_redis {
    const struct vs_redis_client *client;
    const char *address; /* HOST:PORT, [v6]:PORT, unix:PATH, or tls:HOST:PORT */
    int64_t call_ms_max;
    struct vs_link link;
    struct redisReader *reader;
    struct redisReply *reply; /* of the last call; `text` may be in it */
    /* The reply, or why the call was not OK.  Valid until the next call. */
    const char *text; /* NULL: the reply has none */
    size_t length;
    int64_t number;
    bool is_number;
    char why[200];
};

#endif
