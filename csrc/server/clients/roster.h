/* roster.h -- who is connected, over all loops: for who asks (CLIENT LIST, the admin), and to have connections ended.
 *
 * Each loop has its own part, and alone changes it; others look under the part's lock, which is held for no call that
 * waits.  A connection is ended by its own loop, which is woken for it. */
#ifndef VS_ROSTER_H
#define VS_ROSTER_H

#include "access/gate.h"
#include "server/counts.h"

#include <sys/queue.h>

#define VS_CLIENT_NAME_MAX 48

struct vs_call;
struct vs_session;

/* A connection, in its session.  All zero: it stands in no roster, as in a test without loops. */
struct vs_member {
    TAILQ_ENTRY(vs_member) all;
    const struct vs_session *session;
    struct roster_part *part; /* NULL: none */
    int fd;               /* its socket, as long as it is a member */
    int count;            /* under the part's lock: vs_gate_count_of; -1: it is not counted */
    /* its loop's to change, anybody's to read */
    vs_count requests, refused, ids, memory;
    vs_count commands;                  /* of its transaction, and one; 0: it has none */
    vs_count waits;                     /* 1: for an id */
    const struct vs_call *_Atomic call; /* the last; NULL: none yet */
    atomic_bool resp3;                  /* RESP: what the client asked for with HELLO */
    atomic_bool is_to_end;
    /* the same, under the part's lock */
    struct vs_peer peer;
    char name[VS_CLIENT_NAME_MAX], client[VS_ACCOUNT_NAME_MAX];
};

/* A connection as it was when it was looked at. */
struct roster_seen {
    uint64_t id;
    enum vs_protocol protocol;
    struct vs_peer peer, own; /* own: the address that it came to */
    int fd, loop, multi;      /* multi: commands of its transaction; -1: it has none */
    int64_t age_us, idle_ms;
    bool resp3, waits;
    uint64_t requests, refused, ids, memory;
    const struct vs_call *call;
    char name[VS_CLIENT_NAME_MAX], client[VS_ACCOUNT_NAME_MAX];
};

/* Which are meant: those of which all is true that is asked for.  All zero: every one. */
struct vs_wanted {
    const struct vs_session *me; /* NULL: any; else that one, which is found without a look at the others */
    const uint64_t *ids; /* NULL: any; else one of so many */
    size_t id_count;
    uint64_t after, but;        /* ids above the first, and not the second */
    struct vs_slice peer, own;  /* addresses as they are shown; a NULL text: any */
    struct vs_slice host;       /* ... without the port */
    struct vs_slice client;     /* a client's name */
};

struct vs_roster;
struct vs_roster *vs_roster_new(int loops); /* NULL: no memory */
void vs_roster_free(struct vs_roster *roster);

/* A connection comes; goes, before its socket is closed.  Threads: its loop's, as the next four. */
void vs_roster_enter(struct vs_session *session, int fd);
void vs_roster_leave(struct vs_session *session);
/* It is named so from now on; it is that client's, which is counted as that. */
void vs_roster_name(struct vs_session *session, struct vs_slice name);
void vs_roster_know(struct vs_session *session, const char *client, int count);
/* Its peer is another: a balancer has said whose it is. */
void vs_roster_move(struct vs_session *session);
/* Whether some of a loop's are to end, said once. */
bool vs_roster_is_to_end(struct vs_roster *roster, int loop);

/* Those that are meant, by id; at most `max` of them, 0: all.  Own: free it.  NULL: no memory.  Threads: any. */
struct roster_seen *vs_roster_look(struct vs_server *server, const struct vs_wanted *wanted, size_t max, size_t *count);
/* Has those that are meant ended, and returns how many they are.  Threads: any. */
size_t vs_roster_end(struct vs_server *server, const struct vs_wanted *wanted);

/* The last address from which a client came, by its count, or to which what follows happened, and when; 0: to none. */
int64_t vs_roster_last(struct vs_server *server, int count, struct vs_peer *peer);
enum { VS_LAST_TURNED = VS_COUNTED_MAX, VS_LAST_SHED = VS_LAST_TURNED + VS_PROTOCOLS, VS_LASTS };
void vs_roster_note(struct vs_server *server, int loop, int what, const struct vs_peer *peer);

#endif
