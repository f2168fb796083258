/* net.h -- what net.c and loop.c share: the loop and its connections.  Only they include it. */
#ifndef VS_NET_H
#define VS_NET_H

#include "server/net/session.h"

#include <sys/queue.h>
#include <uv.h>

#define VS_READ_MAX 65536

union stream {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
};

struct conn {
    union stream io;
    uv_os_fd_t fd; /* of io, while that is open */
    struct loop *loop;
    TAILQ_ENTRY(conn) all, queued;
    struct vs_session session;
    struct vs_peer peer;
    size_t unsent; /* of a reply that is written later, when it was looked at last */
    char *buf;     /* bytes of a request that is not complete, or could not be answered yet */
    size_t have, size;
    uint64_t active_ms, partial_ms; /* last progress; when the incomplete request began */
    uint64_t stranger_ms;           /* when it was first seen without its password; 0: it needs none, or said it */
    uint64_t came_ns;               /* when the request came that waits; 0: none does */
    bool reading, writing, waits;
    bool last;      /* the last reply is being written */
    bool lingering; /* it was written: only the client's end is waited for */
    bool ended;     /* the client will send no more */
};
TAILQ_HEAD(conns, conn);

struct loop {
    uv_loop_t uv;
    struct server *server;
    uv_thread_t thread;
    struct listener {
        uv_poll_t poll;
        int fd; /* this loop's own, of the socket that all loops share */
        struct loop *loop;
        enum vs_protocol protocol;
        bool listening, handed;
        bool resting; /* nobody can be let in just now: for want of a descriptor or of memory */
    } listener[VS_LISTENERS_MAX];
    uv_async_t stop, wake, arrival;
    uv_timer_t sweep, retry, rest;
    struct conn *spare; /* for the next to come */
    struct conns conns;
    struct conns arrived; /* let in by other loops, to be served by this one; under handover.c's lock */
    bool takes;           /* more of them; the same */
    _Atomic int load;     /* connections that it serves, or is to serve */
    struct queue {
        struct conns conns;
        uint64_t retry_at_ms;       /* 0: nobody waits */
    } queue[VS_QUEUES_MAX];         /* those who wait for an id, by namespace, and for a number, by tag */
    int queues_used;                /* none behind them was */
    uint64_t retry_at_ms, drain_ms; /* the first of the queues'; 0: none, not draining */
    bool closed;                    /* under loop.c's lock */
    _Atomic uint64_t beat_ms;       /* when it swept last, or began */
    struct vs_out out;
    struct vs_scratch scratch;
    char in[VS_READ_MAX];
    char replies[VS_OUT_MAX];
};

enum { VS_SIGNALS = 5 }; /* TERM, INT, HUP, USR1, USR2 */

struct server {
    const struct vs_serve_opts *opts;
    struct loop *loops[VS_THREADS_MAX];
    int count;
    uv_signal_t signal[VS_SIGNALS]; /* on the first loop */
    bool stopping;
    struct told { /* by the log, of those who found no place */
        uint64_t at_ms, count;
    } told_turned[VS_PROTOCOLS], told_shed, told_rests;
    uint64_t told_address[VS_PROTOCOLS]; /* of those turned away, who had too many from one address */
};

/* Serves the first of each queue, and the next, until one must wait on. */
void vs_conn_retry(struct loop *loop);

/* Has the loop with the fewest clients serve this one, which `own` let in; its place was taken.  `c` has its socket, peer
 * and protocol, is zero otherwise, and no longer the caller's.  Threads: own's. */
void vs_conn_place(struct conn *c, struct loop *own);
/* Serves it in this loop, whose thread this is. */
void vs_conn_begin(struct conn *c, struct loop *loop);

/* A loop serves what others hand to it, from init until end; not yet, false, where something has just arrived. */
void vs_handover_init(struct loop *loop);
bool vs_handover_end(struct loop *loop);

/* Lets clients in from a listening socket.  0, or libuv's negative code: then the listener is not listening. */
int vs_listener_open(struct loop *loop, struct listener *listener, const struct vs_listener *from);

/* Prepares the timer that wakes resting listeners. */
void vs_listeners_init(struct loop *loop);

/* Logs who found no place, now and then.  Called on the first loop, twice a second. */
void vs_listeners_tell(struct server *server, uint64_t now_ms);

/* Ends a listener, if it is there.  The socket is shared with the other loops and with who bound it: it is shut down
 * for all, so that the next client is refused instead of waiting for nobody. */
void vs_listener_close(struct listener *listener);

/* Sends who watches the newest event, unless it has it. */
void vs_conn_show(struct conn *conn);

/* Closes at once; the memory goes when libuv is done with it. */
void vs_conn_end(struct conn *conn);

/* There is no memory for what the connection needs: it ends, with a word if that can be said. */
void vs_conn_shed(struct conn *conn);

/* The last reply is written: says so, and waits a little for the client to have read it. */
void vs_conn_finish(struct conn *conn);

#endif
