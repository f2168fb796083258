/* inside.h -- the structs of loops and connections, private to this folder. */
#ifndef NET_INSIDE_H
#define NET_INSIDE_H

#include "net/net.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/types.h>

#define NET_READ_MAX 65536
/* bytes per read while connections wait for a slice, because bytes that are read ahead use memory */
#define NET_READ_LATE 4096
#define NET_ROUND_MAX 256  /* maximum number of events, and of held-back replies, in a round */

/* A round of the loop serves connections for at most NET_ROUND_US in total, and each connection for at most
 * NET_SLICE_US.  The remaining connections wait in their lines for the next round.  Each round begins with signals,
 * timers, new connections and connections of the urgent kind. */
#define NET_ROUND_US 1000
#define NET_SLICE_US 200
enum net_line {
    NET_LINE_URGENT,
    NET_LINE_PROMPT,
    NET_LINE_SHAKE, /* TLS handshakes that have begun, or that come from an address with few unfinished ones */
    NET_LINE_BUSY,  /* connections that used up their last slice, and the other TLS handshakes */
    NET_LINES
};

/* The first member of every struct that epoll reports events for. */
struct net_watched {
    void (*ready)(struct net_watched *of, uint32_t events);
};

/* A PROXY header that is being read. */
struct net_header {
    size_t have, size; /* bytes read so far, and length of the header (0: unknown) */
    unsigned char at[NET_PROXY_READ];
};

struct net_conn {
    struct net_watched watched;
    int fd, kind;
    bool readable;             /* there may be input (stored, because epoll reports an edge only once) */
    bool unsure;               /* there may be more input even after a short read */
    bool writable;             /* the socket may accept more of an unsent reply */
    bool lined_up;             /* in a line of this round or the next */
    bool is_busy;              /* the connection used up its last slice */
    bool is_cut;               /* requests in `buf`, or the pending request, wait for a slice */
    bool is_pending;           /* the layer above has an unanswered request of this connection */
    bool is_partway;           /* part of the reply to the pending request was sent */
    bool waits;                /* the request waits until the layer above resumes it */
    bool streams;              /* input is ignored, and the layer above sends events */
    bool last;                 /* the last reply is being written */
    bool lingering;            /* the last reply was written, and the client's close is awaited */
    bool ended;                /* the client closed its sending side */
    bool gone;                 /* the socket is closed (the memory is freed at the end of the round) */
    bool is_secure; /* the connection uses TLS */
    bool is_shaken; /* the TLS handshake is done */
    bool is_reversed;          /* TLS must write before it can read on */
    bool keeps_record;         /* TLS buffers part of a record, and that memory is counted */
    bool is_shaking;           /* member of loop->shaking: its handshake memory is counted */
    bool is_first_shake;       /* counted as the loop's first handshake */
    bool is_unfinished;        /* counted as an unfinished handshake of its address */
    bool is_proxied;           /* a balancer forwards the connection */
    bool has_header;           /* the PROXY header is still expected */
    bool is_unnamed;           /* does not count against an address yet */
    enum net_line line_of;
    struct vs_tls_conn *tls;     /* NULL before the handshake begins */
    struct net_writing *writing; /* a reply that the socket did not take completely (NULL: none) */
    struct net_loop *loop;
    TAILQ_ENTRY(net_conn) all, line, shaken;
    char *buf; /* bytes of an incomplete or unanswered request */
    size_t have, size;
    uint64_t partial_ms; /* when the incomplete request began */
    vs_count active_ms;  /* time of the last progress */
    uint64_t came_ns;    /* arrival of the waiting request (0: no request waits) */
    size_t unsent;       /* net_unsent at the last sweep */
    struct vs_peer peer;
    struct net_header header;
    max_align_t of[]; /* memory of the layer above */
};
TAILQ_HEAD(net_conns, net_conn);

/* Reasons why another thread wakes a loop. */
enum net_call { NET_CALL_STOP, NET_CALL_WAKE, NET_CALL_ARRIVAL, NET_CALLS };
enum net_timer { NET_TIMER_SWEEP, NET_TIMER_RETRY, NET_TIMER_REST, NET_TIMERS };

struct net_door {
    struct net_watched watched;
    int fd; /* this loop's own descriptor of the shared socket */
    struct net_loop *loop;
    int kind;
    bool listening, handed, is_secure;
    bool resting; /* accepting pauses for lack of descriptors or memory */
};

struct net_loop {
    struct net_server *server;
    const struct net_opts *opts;
    const struct net_calls *calls;
    struct net_upper upper;
    void (*serve)(struct net_conn *conn);  /* serves one connection from a line */
    void (*settle)(struct net_loop *loop); /* sends replies and frees ended connections */
    pthread_t thread;
    struct net_door door[NET_LISTENERS_MAX];
    int epoll, wakes; /* wakes: eventfd that wakes this loop */
    struct net_watched awake;
    atomic_uint called; /* bits of enum net_call */
    bool is_called;
    void (*on_call[NET_CALLS])(struct net_loop *loop);
    struct net_due {
        uint64_t at_ms;
        void (*then)(struct net_loop *loop); /* NULL: not started */
    } timer[NET_TIMERS];
    uint64_t now_ns, now_ms;          /* times at which this round began */
    struct net_conns line[NET_LINES]; /* connections that are to be served */
    int line_length[NET_LINES];
    bool is_late;             /* the last round ended before all connections in the lines were served */
    bool retries;             /* the next round begins by calling `retry` */
    struct net_conns gone;    /* connections that ended in this round */
    struct net_conns shaking; /* connections with an unfinished handshake, oldest first */
    bool serving; /* connections in the lines are being served, and replies may be sent later in the round */
    bool has_stepped;         /* a step was run in this round */
    struct net_reply {
        struct net_conn *conn;
        size_t from, length;
    } round[NET_ROUND_MAX]; /* held-back replies of this round, stored in `out` */
    int round_length;
    size_t round_used;      /* bytes of `out` that these replies use */
    struct net_conn *spare; /* memory for the next connection */
    struct net_conns conns;
    struct net_conns arrived; /* connections from other loops (guarded by listener.c's lock) */
    bool takes;               /* the loop accepts connections from other loops (guarded by listener.c's lock) */
    _Atomic int load; /* number of connections that are served, plus connections from other loops that have not begun */
    uint64_t drain_ms;        /* when draining began (0: not draining) */
    bool closed;              /* guarded by serve.c's lock */
    _Atomic uint64_t beat_ms; /* time of the last sweep, initially of the start */
    struct vs_out out;
    char in[NET_READ_MAX];
    char replies[];
};

/* The last failed handshake of a kind, for the log. */
struct net_shake_failed {
    char address[VS_PEER_TEXT_MAX], why[160];
};

struct net_server {
    const struct net_opts *opts;
    struct net_loop *loops[NET_THREADS_MAX];
    int count;
    bool stopping;
    struct net_told told_shakes[NET_SHAKES];
    struct net_shake_failed failed[NET_SHAKES]; /* guarded by secure.c's lock */
};

/* ---- loop.c: events.  Functions return 0, or -1 with errno, unless stated otherwise */

#define NET_READS (EPOLLIN | EPOLLPRI | EPOLLRDHUP | (uint32_t)EPOLLET)
int net_poll_watch(struct net_loop *loop, int fd, struct net_watched *of, uint32_t events);
int net_poll_change(struct net_loop *loop, int fd, struct net_watched *of, uint32_t events);
void net_poll_forget(struct net_loop *loop, int fd);
/* Calls `then` once, in_ms from now.  Replaces an earlier setting of this timer. */
void net_poll_timer(struct net_loop *loop, enum net_timer which, uint64_t in_ms, void (*then)(struct net_loop *loop));
/* Wakes the loop to run on_call[what].  Threads: any. */
void net_poll_call(struct net_loop *loop, enum net_call what);
/* Returns 0, or errno.  Release the resources with net_poll_end. */
int net_poll_init(struct net_loop *loop);
void net_poll_end(struct net_loop *loop);
/* Runs the loop until loop->closed is set. */
void net_poll_run(struct net_loop *loop);

/* ---- signals.c: delivers signals to the first loop.  Returns 0, or errno */

int net_signals_watch(struct net_server *server, void (*came)(struct net_server *server, int number, bool ends));
void net_signals_end(void);

/* ---- loop.c: which connection is served next */

/* net_line_up adds a connection to its line.  If this round has not served that line yet, the connection is served in
 * this round.  net_leave_line removes the connection. */
void net_line_up(struct net_conn *conn);
void net_leave_line(struct net_conn *conn);
/* Serves a connection whose request waited, for one slice. */
void net_serve_late(struct net_conn *conn, void (*serve)(struct net_conn *conn));

/* ---- conn.c: bytes in, replies out */

/* Begins to serve a connection.  Threads: the loop's. */
void net_begin(struct net_conn *conn, struct net_loop *loop);
/* The loop's callbacks net_loop.serve and net_loop.settle. */
void net_serve_one(struct net_conn *conn);
void net_settle(struct net_loop *loop);
bool net_take(struct net_conn *conn, size_t bytes);
void net_give(struct net_conn *conn, size_t bytes);
void net_be_active(struct net_conn *conn);
/* Sends the last reply, which the layer above writes.  Sends nothing if the socket is full or a TLS handshake is not
 * done. */
void net_refuse(struct net_conn *conn, enum net_refusal why, int detail);
/* As net_refuse, but sends plain bytes to a socket that has no connection or no TLS yet. */
void net_refuse_plain(struct net_loop *loop, int fd, int kind, enum net_refusal why);
/* Closes the sending side after the last reply, and waits briefly until the client has read that reply. */
void net_finish(struct net_conn *conn);
/* Ends a connection to free memory.  Sends a last reply, if possible. */
void net_shed(struct net_conn *conn);
/* Lets the layer above send an event or end the connection. */
void net_look(struct net_conn *conn);
/* Returns how many bytes of a reply the socket has not accepted yet. */
size_t net_unsent(const struct net_conn *conn);

/* ---- header.c: the PROXY header of a listed balancer's connection */

/* Reads once.  Afterwards has_header is false, the connection has ended, or more bytes are needed. */
void net_header_read(struct net_conn *conn);
/* Ends the connection if its header is late. */
void net_header_look(struct net_conn *conn, uint64_t now_ms);
/* Returns whether the bytes begin a PROXY header, which an unlisted address must not send.  If so, rejects the
 * connection. */
bool net_header_is_unlisted(struct net_conn *conn, const char *bytes, size_t length);

/* ---- secure.c: the TLS handshake, and the bytes after it */

/* Continues the handshake.  Afterwards conn->is_shaken is set, the handshake needs more bytes, or the connection
 * ends. */
void net_secure_shake(struct net_conn *conn);
/* As recv and send.  Sets *more if there may be more to read. */
ssize_t net_secure_get(struct net_conn *conn, char *to, size_t room, bool *more);
ssize_t net_secure_put(struct net_conn *conn, const char *bytes, size_t length);
/* Sends the TLS close alert.  Nothing may be written after this call. */
void net_secure_end(struct net_conn *conn);
/* Counts the handshake as unfinished for the connection's address.  Does nothing before a balancer has named the
 * address. */
void net_secure_enter(struct net_conn *conn);
/* Stops counting the handshake.  Call it when the handshake is done or the socket is closed. */
void net_secure_leave(struct net_conn *conn);
void net_secure_free(struct net_conn *conn);
/* Returns whether the handshake takes too long.  If so, counts the handshake as late. */
bool net_secure_is_late(struct net_conn *conn, uint64_t now_ms);
/* Returns whether the bytes begin a TLS handshake on a listener without TLS.  If so, rejects the connection. */
bool net_secure_is_misled(struct net_conn *conn, const char *bytes, size_t length);
/* Logs failed handshakes from time to time.  Called on the first loop, twice a second. */
void net_secure_tell(struct net_server *server, uint64_t now_ms);

/* ---- listener.c: accepts clients, and hands each to the least loaded loop */

/* Opens a listener in this loop.  Returns 0, or errno. */
int net_door_open(struct net_loop *loop, struct net_door *door, const struct net_listener *from);
/* Accepts clients that epoll reported only to another loop, which has not accepted them yet. */
void net_door_look(struct net_door *door);
/* Closes a listener, if it is open.  The socket is shared with other loops and possibly other processes, so it is also
 * shut down.  Otherwise the kernel would still accept clients that no process serves.  A socket from a service manager
 * is not shut down. */
void net_door_close(struct net_door *door);
/* Between these calls, other loops may hand connections to this loop.  net_handover_end does nothing and returns false
 * if a connection has just been handed over. */
void net_handover_init(struct net_loop *loop);
bool net_handover_end(struct net_loop *loop);

#endif
