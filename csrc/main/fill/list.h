/* list.h -- the list in Redis that is kept filled: how long it is, and ids at its end.  Knows no generator. */
#ifndef VS_FILL_LIST_H
#define VS_FILL_LIST_H

#include "main/fill/redis.h"

#define VS_LIST_NAME_MAX 512
#define VS_LIST_PUSH_MAX 5000 /* ids in one command */
#define VS_RUN_ID_MAX 64

struct vs_list {
    struct vs_redis redis;
    const char *name, *user, *password;
    uint64_t db;
    char mark[VS_LIST_NAME_MAX + 16]; /* a key beside the list: the history of Redis in which it was filled */
    char replid[VS_RUN_ID_MAX];       /* of the connection: it changes whenever the server becomes a master */
    char history[2 * VS_RUN_ID_MAX];  /* run id and replication id, as the mark has them */
    bool is_told;                     /* the server tells its history */
    bool is_ours;                     /* this process has found the list as it should be, or made it so */
    int64_t cleared;                  /* ids that were thrown away on connecting */
};

/* The name of the mark; the list's own name decides its place in a cluster. */
void vs_list_init(struct vs_list *list);

/* Connects where that is needed, and looks how long the list is.  OK: *length.  Else redis.text says why. */
enum vs_redis_outcome vs_list_look(struct vs_list *list, int64_t *length);

/* Puts ids, as text, at the list's end.  Shape: n is 1 to VS_LIST_PUSH_MAX; OK: *length behind them.  UNKNOWN: these
 * ids are never to be pushed again. */
enum vs_redis_outcome vs_list_push(struct vs_list *list, const char *const *ids, int n, int64_t *length);

/* What a person can do about a refusal ("READONLY ..."), or NULL. */
const char *vs_list_remedy(const char *refusal);

#endif
