/* roster.h -- the open connections of all loops, for CLIENT LIST and the admin, and to end connections.
 *
 * Each loop has its own part, which only this loop changes.  Other threads read it under the part's lock, which
 * is never held during a blocking call.  A connection is ended by its own loop, which is woken for that. */
#ifndef VS_ROSTER_H
#define VS_ROSTER_H

#include "access/gate.h"
#include "server/counts.h"

#include <sys/queue.h>

#define VS_CLIENT_NAME_MAX 48

struct vs_call;
struct vs_session;

/* A connection's row, which is part of its session.  All zero: it is not in the roster, as in a test without loops. */
struct vs_member {
    TAILQ_ENTRY(vs_member) all;
    const struct vs_session *session;
    struct roster_part *part; /* NULL: not in the roster */
    int fd;               /* its socket, open while it is in the roster */
    int count;            /* under the part's lock: vs_gate_count_of (-1: not counted) */
    /* written by its loop, read by any thread */
    vs_count requests, refused, ids, memory;
    vs_count commands;                  /* queued in its transaction, plus one (0: no transaction) */
    vs_count waits;                     /* 1: it waits for an id */
    const struct vs_call *_Atomic call; /* the last command (NULL: none yet) */
    atomic_bool resp3;                  /* RESP: the protocol version chosen with HELLO */
    atomic_bool is_to_end;
    /* written by its loop, read by any thread, both under the part's lock */
    struct vs_peer peer;
    char name[VS_CLIENT_NAME_MAX], client[VS_ACCOUNT_NAME_MAX];
};

/* A copy of a connection's state. */
struct roster_seen {
    uint64_t id;
    enum vs_protocol protocol;
    struct vs_peer peer, own; /* own: the server's address of the connection */
    int fd, loop, multi;      /* multi: commands queued in its transaction (-1: no transaction) */
    int64_t age_us, idle_ms;
    bool resp3, waits;
    uint64_t requests, refused, ids, memory;
    const struct vs_call *call;
    char name[VS_CLIENT_NAME_MAX], client[VS_ACCOUNT_NAME_MAX];
};

/* A filter: a connection must match all members that are set.  All zero: every connection matches. */
struct vs_wanted {
    const struct vs_session *me; /* only this connection, which is found without reading the others (NULL: any) */
    const uint64_t *ids; /* one of id_count ids (NULL: any) */
    size_t id_count;
    uint64_t after, but;        /* ids above `after`, except `but` */
    struct vs_slice peer, own;  /* addresses in their text form (a NULL text: any) */
    struct vs_slice host;       /* the peer's address without the port */
    struct vs_slice client;     /* the client's name */
};

struct vs_roster;
struct vs_roster *vs_roster_new(int loops); /* NULL: no memory */
void vs_roster_free(struct vs_roster *roster);

/* Adds and removes a connection.  vs_roster_leave comes before the socket is closed.  Threads: its loop's, as for the
 * next four. */
void vs_roster_enter(struct vs_session *session, int fd);
void vs_roster_leave(struct vs_session *session);
/* vs_roster_name: the connection's name.  vs_roster_know: its client, and the counter of that client. */
void vs_roster_name(struct vs_session *session, struct vs_slice name);
void vs_roster_know(struct vs_session *session, const char *client, int count);
/* The peer's address changed, because a PROXY header named another. */
void vs_roster_move(struct vs_session *session);
/* Returns whether connections of a loop are to be ended, and resets that. */
bool vs_roster_is_to_end(struct vs_roster *roster, int loop);

/* Returns copies of the matching connections by id, at most `max` (0: all).  Own: free it.  NULL: no memory.  Threads:
 * any. */
struct roster_seen *vs_roster_look(struct vs_server *server, const struct vs_wanted *wanted, size_t max, size_t *count);
/* Marks the matching connections to be ended and returns their number.  Threads: any. */
size_t vs_roster_end(struct vs_server *server, const struct vs_wanted *wanted);

/* Returns when a client with that counter last connected, or when an event of VS_LAST_... last happened, and its
 * address (0: never). */
int64_t vs_roster_last(struct vs_server *server, int count, struct vs_peer *peer);
enum { VS_LAST_TURNED = VS_COUNTED_MAX, VS_LAST_SHED = VS_LAST_TURNED + VS_PROTOCOLS, VS_LASTS };
void vs_roster_note(struct vs_server *server, int loop, int what, const struct vs_peer *peer);

#endif
