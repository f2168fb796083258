/* roster.h -- the open connections of all loops, for CLIENT LIST and the admin routes, and to end connections.
 *
 * Each loop has a separate part, which only that loop changes.  Other threads read it under the part's lock, which is
 * never held during a blocking call.  To end a connection, a thread marks it and wakes its loop. */
#ifndef VS_ROSTER_H
#define VS_ROSTER_H

#include "access/gate.h"
#include "server/counts.h"

#include <sys/queue.h>

#define VS_CLIENT_NAME_MAX 48

struct vs_call;
struct vs_session;

/* A connection in the roster.  It is part of the session.  All zero: not in the roster, as in a test without loops. */
struct vs_member {
    TAILQ_ENTRY(vs_member) all;
    const struct vs_session *session;
    struct roster_part *part; /* NULL: not in the roster */
    int fd;               /* its socket, open as long as the connection is in the roster */
    int count;            /* index of the client's counters (-1: not counted), guarded by the part's lock */
    /* written by its loop, read by any thread */
    vs_count requests, refused, ids, memory;
    vs_count commands;                  /* commands queued in its transaction, plus one (0: no transaction) */
    vs_count waits;                     /* 1: a request waits for an id */
    const struct vs_call *_Atomic call; /* the last command (NULL: none yet) */
    atomic_bool resp3;                  /* RESP: the client chose RESP3 with HELLO */
    atomic_bool is_to_end;
    /* written by its loop and read by any thread, under the part's lock */
    struct vs_peer peer;
    char name[VS_CLIENT_NAME_MAX], client[VS_ACCOUNT_NAME_MAX];
};

/* A copy of a connection's state. */
struct roster_seen {
    uint64_t id;
    enum vs_protocol protocol;
    struct vs_peer peer, own; /* own: the connection's local address */
    int fd, loop, multi;      /* multi: commands queued in its transaction (-1: no transaction) */
    int64_t age_us, idle_ms;
    bool resp3, waits;
    uint64_t requests, refused, ids, memory;
    const struct vs_call *call;
    char name[VS_CLIENT_NAME_MAX], client[VS_ACCOUNT_NAME_MAX];
};

/* A filter of connections.  A connection must match all members that are set.  All zero matches every connection. */
struct vs_wanted {
    const struct vs_session *me; /* only this connection, which is found without a search (NULL: any) */
    const uint64_t *ids; /* one of id_count ids (NULL: any) */
    size_t id_count;
    uint64_t after, but;        /* ids above `after`, except `but` */
    struct vs_slice peer, own;  /* addresses in text form (`at` is NULL: any) */
    struct vs_slice host;       /* the peer's address without the port */
    struct vs_slice client;     /* the client's name */
};

struct vs_roster;
struct vs_roster *vs_roster_new(int loops); /* NULL: no memory */
void vs_roster_free(struct vs_roster *roster);

/* Add and remove a connection.  Call vs_roster_leave before the socket is closed.  Threads: only the connection's loop
 * may call these and the next four functions. */
void vs_roster_enter(struct vs_session *session, int fd);
void vs_roster_leave(struct vs_session *session);
/* Set the connection's name (vs_roster_name), or its client and the index of the client's counters (vs_roster_know). */
void vs_roster_name(struct vs_session *session, struct vs_slice name);
void vs_roster_know(struct vs_session *session, const char *client, int count);
/* Updates the peer's address, after a PROXY header named the client. */
void vs_roster_move(struct vs_session *session);
/* Returns whether vs_roster_end has marked any of a loop's connections since the last call. */
bool vs_roster_is_to_end(struct vs_roster *roster, int loop);

/* Returns copies of the matching connections in order of their ids, at most `max` (0: all).  The caller frees the
 * array.  Returns NULL if there is no memory.  Threads: any. */
struct roster_seen *vs_roster_look(struct vs_server *server, const struct vs_wanted *wanted, size_t max, size_t *count);
/* Marks the matching connections, so that their loops end them, and returns their number.  Threads: any. */
size_t vs_roster_end(struct vs_server *server, const struct vs_wanted *wanted);

/* Returns when the client with that counter index last connected, or when the event VS_LAST_... last happened, and sets
 * *peer to the client's address.  Returns 0 if this never happened. */
int64_t vs_roster_last(struct vs_server *server, int count, struct vs_peer *peer);
enum { VS_LAST_TURNED = VS_COUNTED_MAX, VS_LAST_SHED = VS_LAST_TURNED + VS_PROTOCOLS, VS_LASTS };
void vs_roster_note(struct vs_server *server, int loop, int what, const struct vs_peer *peer);

#endif
