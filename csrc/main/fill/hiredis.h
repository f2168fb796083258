/* hiredis.h -- a connection to a Redis server: sends a command and reads its reply, with a deadline for each call.  If
 * a call gets no reply or a malformed reply, the connection is closed and not used again.  It is in a module that only
 * `vesta fill` loads, because no other command needs the library. */
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
    /* the server rejected the command and did nothing: `text` begins with its error code, such as "READONLY" */
    VS_REDIS_REFUSED,
    VS_REDIS_DOWN,    /* nothing was sent */
    VS_REDIS_UNKNOWN  /* the command was sent, at least in part: the server may execute it, now or later */
};

struct vs_redis;

/* The type of `vs_redis_module`, which the module exports. */
#define VS_REDIS_ABI 3
struct vs_redis_client {
    uint32_t abi, redis_bytes;
    /* Begins to use a new `link`.  Returns false if there is no memory. */
    bool (*begin)(struct vs_redis *redis);
    void (*close)(struct vs_redis *redis);
    /* Runs one command on an open connection. */
    enum vs_redis_outcome (*call)(struct vs_redis *redis, int argc, const char **argv);
};

struct vs_redis {
    const struct vs_redis_client *client;
    const char *address; /* HOST:PORT, [v6]:PORT, unix:PATH, or tls:HOST:PORT */
    int64_t call_ms_max;
    struct vs_link link;
    struct redisReader *reader;
    struct redisReply *reply; /* the last reply (`text` may point into it) */
    /* Text of the reply, or the reason if the call failed.  Valid until the next call. */
    const char *text; /* NULL: the reply has no text */
    size_t length;
    int64_t number;
    bool is_number;
    char why[200];
};

#endif
