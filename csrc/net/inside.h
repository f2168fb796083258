/* inside.h -- what the files of this folder share: the loop and its connections.  Only they include it. */
#ifndef NET_INSIDE_H
#define NET_INSIDE_H

#include "net/net.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/types.h>

#define NET_READ_MAX 65536
#define NET_READ_LATE 4096 /* ... while connections wait for their slice: bytes that are read ahead take memory */
#define NET_ROUND_MAX 256  /* events of one round, or replies */

/* A round of the loop serves for NET_ROUND_US, and each connection for NET_SLICE_US.  Other connections
 * wait in their lines for the next round, which begins with signals, timers, new connections and the urgent kind. */
#define NET_ROUND_US 1000
#define NET_SLICE_US 200
enum net_line {
    NET_LINE_URGENT,
    NET_LINE_PROMPT,
    NET_LINE_SHAKE, /* TLS handshakes that have begun, or that come from an address with few unfinished ones */
    NET_LINE_BUSY,  /* connections that used up their last slice, and the other TLS handshakes */
    NET_LINES
};

/* What a loop's epoll tells of: the first member of what it belongs to. */
struct net_watched {
    void (*ready)(struct net_watched *of, uint32_t events);
};

/* A PROXY header that is being read. */
struct net_header {
    size_t have, size; /* bytes read; in all, 0: not known yet */
    unsigned char at[NET_PROXY_READ];
};

struct net_conn {
    struct net_watched watched;
    int fd, kind;
    bool readable;             /* there may be something to read; epoll reports an edge once, so this remembers it */
    bool unsure;               /* ... even where a read got less than there was room for */
    bool writable;             /* the same, of a reply that is written later */
    bool lined_up;             /* to be served in this round, or the next */
    bool is_busy;              /* it used up its last slice */
    bool is_cut;               /* `buf`, or the request that was begun, is to be worked on when its slice comes */
    bool is_pending;           /* the layer above has a request of it that is not answered */
    bool is_partway;           /* ... and a part of its reply was sent */
    bool waits;                /* the layer above must go on with it first */
    bool streams;              /* nothing is read any more: the layer above sends events */
    bool last;                 /* the last reply is being written */
    bool lingering;            /* it was written: only the client's end is waited for */
    bool ended;                /* the client will send no more */
    bool gone;                 /* its socket is closed; its memory goes with the round */
    bool is_secure, is_shaken; /* TLS is spoken; the handshake is over */
    bool is_reversed;          /* TLS must write before it can read on */
    bool keeps_record;         /* TLS has a part of a record: its memory is counted */
    bool is_shaking;           /* among those of its loop: its handshake's memory is counted */
    bool is_first_shake;       /* ... as that of the loop's first */
    bool is_unfinished;        /* counted among the unfinished handshakes of its address */
    bool is_proxied;           /* a balancer passes it on */
    bool has_header;           /* ... and its PROXY header is still to come */
    bool is_unnamed;           /* ... so its place counts for no address */
    enum net_line line_of;
    struct vs_tls_conn *tls;     /* from the first byte of a handshake on */
    struct net_writing *writing; /* a reply that the socket did not take at once; NULL: none */
    struct net_loop *loop;
    TAILQ_ENTRY(net_conn) all, line, shaken;
    char *buf; /* bytes of a request that is not complete, or could not be answered yet */
    size_t have, size;
    uint64_t partial_ms; /* when the incomplete request began */
    vs_count active_ms;  /* last progress */
    uint64_t came_ns;    /* when the request came that waits; 0: none does */
    size_t unsent;       /* of a reply that is written later, when it was looked at last */
    struct vs_peer peer;
    struct net_header header;
    max_align_t of[]; /* the layer above's */
};
TAILQ_HEAD(net_conns, net_conn);

/* What other threads call a loop for. */
enum net_call { NET_CALL_STOP, NET_CALL_WAKE, NET_CALL_ARRIVAL, NET_CALLS };
enum net_timer { NET_TIMER_SWEEP, NET_TIMER_RETRY, NET_TIMER_REST, NET_TIMERS };

struct net_door {
    struct net_watched watched;
    int fd; /* this loop's own, of the socket that all loops share */
    struct net_loop *loop;
    int kind;
    bool listening, handed, is_secure;
    bool resting; /* no client can be let in just now: for want of a descriptor or of memory */
};

struct net_loop {
    struct net_server *server;
    const struct net_opts *opts;
    const struct net_calls *calls;
    struct net_upper upper;
    void (*serve)(struct net_conn *conn);  /* serves a connection that was lined up */
    void (*settle)(struct net_loop *loop); /* sends replies, forgets connections that ended */
    pthread_t thread;
    struct net_door door[NET_LISTENERS_MAX];
    int epoll, wakes; /* wakes: an eventfd, by which others call this loop */
    struct net_watched awake;
    atomic_uint called; /* bits, by net_call */
    bool is_called;
    void (*on_call[NET_CALLS])(struct net_loop *loop);
    struct net_due {
        uint64_t at_ms;
        void (*then)(struct net_loop *loop); /* NULL: it was not started */
    } timer[NET_TIMERS];
    uint64_t now_ns, now_ms;          /* when this round began */
    struct net_conns line[NET_LINES]; /* to be served */
    int line_length[NET_LINES];
    bool is_late;             /* the last round ended before all lines were served */
    bool retries;             /* the next round begins with `retry` */
    struct net_conns gone;    /* ended in this round */
    struct net_conns shaking; /* connections with a handshake that has begun, the eldest first */
    bool serving;             /* the lines; replies may stand until they were served */
    bool has_stepped;         /* in this round */
    struct net_reply {
        struct net_conn *conn;
        size_t from, length;
    } round[NET_ROUND_MAX]; /* ... in `out` */
    int round_length;
    size_t round_used;      /* of `out`, by them */
    struct net_conn *spare; /* for the next to come */
    struct net_conns conns;
    struct net_conns arrived; /* let in by other loops, to be served by this one; under listener.c's lock */
    bool takes;               /* more of them; the same */
    _Atomic int load;         /* connections that it serves, or is to serve */
    uint64_t drain_ms;        /* 0: not draining */
    bool closed;              /* under serve.c's lock */
    _Atomic uint64_t beat_ms; /* when it swept last, or began */
    struct vs_out out;
    char in[NET_READ_MAX];
    char replies[];
};

/* Why a handshake failed. */
struct net_shake_failed {
    char address[VS_PEER_TEXT_MAX], why[160];
};

struct net_server {
    const struct net_opts *opts;
    struct net_loop *loops[NET_THREADS_MAX];
    int count;
    bool stopping;
    struct net_told told_shakes[NET_SHAKES];
    struct net_shake_failed failed[NET_SHAKES]; /* the last of them; under secure.c's lock */
};

/* ---- loop.c: what a loop waits for.  0, or -1 and errno, unless another is named */

#define NET_READS (EPOLLIN | EPOLLPRI | EPOLLRDHUP | (uint32_t)EPOLLET)
int net_poll_watch(struct net_loop *loop, int fd, struct net_watched *of, uint32_t events);
int net_poll_change(struct net_loop *loop, int fd, struct net_watched *of, uint32_t events);
void net_poll_forget(struct net_loop *loop, int fd);
/* Has a loop do something once, then; again: at another time. */
void net_poll_timer(struct net_loop *loop, enum net_timer which, uint64_t in_ms, void (*then)(struct net_loop *loop));
/* Has the loop run its on_call.  Threads: any. */
void net_poll_call(struct net_loop *loop, enum net_call what);
/* 0, or errno; closed by net_poll_end. */
int net_poll_init(struct net_loop *loop);
void net_poll_end(struct net_loop *loop);
/* Goes round until loop->closed. */
void net_poll_run(struct net_loop *loop);

/* ---- signals.c: has the first loop hear of signals.  0, or errno */

int net_signals_watch(struct net_server *server, void (*came)(struct net_server *server, int number, bool ends));
void net_signals_end(void);

/* ---- loop.c: which connection is served next */

/* To be served: in this round, if its line has not been served yet; no more. */
void net_line_up(struct net_conn *conn);
void net_leave_line(struct net_conn *conn);
/* Gives a slice to a connection that waited. */
void net_serve_late(struct net_conn *conn, void (*serve)(struct net_conn *conn));

/* ---- conn.c: bytes in, replies out */

/* Begins to serve a connection in this loop.  Threads: the loop's. */
void net_begin(struct net_conn *conn, struct net_loop *loop);
/* What a loop does with its connections: net_loop.serve, net_loop.settle. */
void net_serve_one(struct net_conn *conn);
void net_settle(struct net_loop *loop);
bool net_take(struct net_conn *conn, size_t bytes);
void net_give(struct net_conn *conn, size_t bytes);
void net_be_active(struct net_conn *conn);
/* Has the layer above write the last reply, and sends it: if the socket takes it.  Nothing if a handshake is to come.
 */
void net_refuse(struct net_conn *conn, enum net_refusal why, int detail);
/* The same to a socket without a connection, or before TLS. */
void net_refuse_plain(struct net_loop *loop, int fd, int kind, enum net_refusal why);
/* The last reply is written: closes the sending side, and waits a little for the client to have read it. */
void net_finish(struct net_conn *conn);
/* Ends a connection for want of memory, with a last reply if that can be sent. */
void net_shed(struct net_conn *conn);
/* The layer above may send, or end the connection. */
void net_look(struct net_conn *conn);
/* How many bytes of a reply the socket has not taken yet. */
size_t net_unsent(const struct net_conn *conn);

/* ---- header.c: a listed balancer's connection begins with a PROXY header */

/* Reads once.  Then has_header is false, or the connection is finished, or there is more to come. */
void net_header_read(struct net_conn *conn);
/* It may be late. */
void net_header_look(struct net_conn *conn, uint64_t now_ms);
/* Refuses a connection that sends a header and may not. */
bool net_header_is_unlisted(struct net_conn *conn, const char *bytes, size_t length);

/* ---- secure.c: the handshake of a connection, and TLS's bytes behind it */

/* Goes on with the handshake; behind it conn->is_shaken, or the connection is at its end. */
void net_secure_shake(struct net_conn *conn);
/* As recv and send; *more: there may be more to read. */
ssize_t net_secure_get(struct net_conn *conn, char *to, size_t room, bool *more);
ssize_t net_secure_put(struct net_conn *conn, const char *bytes, size_t length);
/* Nothing is written behind it. */
void net_secure_end(struct net_conn *conn);
/* Its address is known from now on: counts its handshake there. */
void net_secure_enter(struct net_conn *conn);
/* Its socket is closed. */
void net_secure_leave(struct net_conn *conn);
void net_secure_free(struct net_conn *conn);
/* Whether its handshake takes too long; counts it. */
bool net_secure_is_late(struct net_conn *conn, uint64_t now_ms);
/* Refuses a connection that begins with a handshake where TLS is not spoken. */
bool net_secure_is_misled(struct net_conn *conn, const char *bytes, size_t length);
/* Logs failed handshakes, now and then.  Called on the first loop, twice a second. */
void net_secure_tell(struct net_server *server, uint64_t now_ms);

/* ---- listener.c: clients are let in, and handed to the loop that has fewest */

/* 0, or errno: then the door is not listening. */
int net_door_open(struct net_loop *loop, struct net_door *door, const struct net_listener *from);
/* Lets in clients that were told to another loop that did not come to them. */
void net_door_look(struct net_door *door);
/* Ends a listener, if it is there.  The socket is shared with the other loops and with its owner: it is shut down
 * for all, so that the next client is refused instead of waiting for nothing. */
void net_door_close(struct net_door *door);
/* A loop serves what others hand to it, from init until end; not yet, false, where something has just arrived. */
void net_handover_init(struct net_loop *loop);
bool net_handover_end(struct net_loop *loop);

#endif
