/* net.h -- what net.c and loop.c share: the loop and its connections.  Only they include it. */
#ifndef VS_NET_H
#define VS_NET_H

#include "server/request.h"

#include <sys/queue.h>
#include <uv.h>

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
    TAILQ_ENTRY(conn) all, parking;
    struct vs_session session;
    char *buf; /* bytes of a request that is not complete, or could not be answered yet */
    size_t have, size;
    uint64_t active_ms, partial_ms; /* last progress; when the incomplete request began */
    uint64_t parked_ns;             /* when the parked request came; 0: none is parked */
    bool reading, writing, parked;
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
        union stream io;
        struct loop *loop;
        enum vs_face face;
        bool listening, handed;
        bool stalled; /* a client waits for the memory of its connection: libuv asks only when it is accepted */
    } listener[VS_LISTENERS_MAX];
    uv_async_t stop, wake;
    uv_timer_t sweep, retry;
    struct conns conns;
    struct line {
        struct conns conns;
        uint64_t retry_at_ms;       /* 0: nobody waits */
    } line[VS_SPACES_MAX];          /* those who wait for an id, by namespace */
    uint64_t retry_at_ms, drain_ms; /* the first of the lines'; 0: none, not draining */
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
};

/* Prepares a stream for a socket of that kind.  0, or libuv's negative code. */
int vs_stream_init(struct loop *loop, union stream *io, uv_handle_type type);

/* Serves the first of each line, and the next, until one must wait on. */
void vs_conn_retry(struct loop *loop);

/* uv_listen's callback; the stream's data is a struct listener. */
void vs_conn_accept(uv_stream_t *listener, int status);

/* Ends a listener, if it is there.  The socket is shared with the other loops and with who bound it: it is shut down
 * for all, so that the next client is refused instead of waiting for nobody. */
void vs_listener_close(struct listener *listener);

/* Closes at once; the memory goes when libuv is done with it. */
void vs_conn_end(struct conn *conn);

/* The last reply is written: says so, and waits a little for the client to have read it. */
void vs_conn_finish(struct conn *conn);

#endif
