/* net.h -- connections: reading and writing bytes, one event loop per thread, listeners, TLS, the PROXY header.
 *
 * Contains no protocol, request or client code.  The layer above handles these with the callbacks of struct
 * net_calls. */
#ifndef NET_H
#define NET_H

#include "base/count.h"
#include "base/out.h"
#include "net/proxy.h"
#include "os/address.h"
#include "vesta.h"

#define NET_KINDS 3 /* kinds of listeners, by protocol and purpose */
#define NET_THREADS_MAX 64
#define NET_LISTENERS_MAX 48

struct net_server;
struct net_loop;
struct net_conn;

/* ------------------------------------------------------------------ time */

/* The time slice of one connection.  When it is over, the connection's other requests wait until other connections were
 * served, so no connection can block its loop.  The clock is read after work that costs NET_QUANTUM_LOOK, not after
 * each request. */
#define NET_QUANTUM_LOOK 64
#define NET_QUANTUM_BYTES 256 /* bytes of requests and replies that cost as much as one short request */
struct net_quantum {
    int64_t now_us;   /* when the clock was last read */
    int64_t until_us; /* end of the slice (0: no limit, as in a test without a loop) */
    size_t cost;      /* cost since the clock was last read (a short request costs 1) */
};
void net_quantum_look(struct net_quantum *quantum);
static inline bool net_quantum_is_over(struct net_quantum *quantum) {
    if (quantum->cost >= NET_QUANTUM_LOOK) net_quantum_look(quantum);
    return quantum->until_us != 0 && quantum->now_us >= quantum->until_us;
}

/* ------------------------------------------------------------------ counts */

/* The result of a TLS handshake.  PLAIN: the client sent other bytes to a TLS listener.  MISLED: the client sent a
 * handshake to a listener without TLS. */
enum net_shake { NET_SHAKE_OK, NET_SHAKE_FAILED, NET_SHAKE_LATE, NET_SHAKE_PLAIN, NET_SHAKE_MISLED, NET_SHAKES };

/* The counters of a loop. */
struct net_counts {
    vs_count headers[NET_KINDS][NET_PROXY_RESULTS];
    vs_count shakes[NET_KINDS][NET_SHAKES];
    vs_count rests; /* pauses of listeners for lack of descriptors or memory */
};

/* ------------------------------------------------------------------ callbacks of the layer above */

/* The reason for a last reply. */
enum net_refusal {
    NET_FULL,     /* there are too many connections */
    NET_SHED,     /* clients hold too much memory */
    NET_SLOW,     /* a request was not complete in time */
    NET_SPOKEN,   /* the listener uses TLS, and the client does not */
    NET_UNSPOKEN, /* the client uses TLS, and the listener does not */
    NET_HEADER    /* the PROXY header was missing, wrong, late, or not allowed (`detail`: net_proxy_result) */
};

/* `step` returns the number of bytes that it consumed, or one of these values. */
enum {
    NET_MORE = 0,   /* the request is not complete */
    NET_WAITS = -1, /* in->used bytes were consumed, and the request waits until net_serve_waiter is called */
    NET_CLOSE = -2, /* the last reply was appended: send it and close the connection */
    NET_PART = -3   /* part of the reply was appended, and in->used bytes were consumed: call again */
};

struct net_input {
    const char *bytes; /* unused if is_pending */
    size_t length;
    bool is_pending;  /* continue the request for which `step` returned NET_WAITS or NET_PART */
    uint64_t came_ns; /* arrival of the request (0: in this round) */
    /* set by `step` */
    size_t used;  /* NET_WAITS, NET_PART: length of the request */
    bool streams; /* from now on, ignore input and let `look` send events */
};

/* Variables of a loop that belong to the layer above.  csrc/net sets all of them except `loop`. */
struct net_upper {
    void *loop;                  /* passed to the callbacks of the loop */
    struct net_quantum *quantum; /* slice of the connection that is being served */
    int64_t *now_us;             /* when this round began */
    struct net_counts *counts;
};

/* A new connection. */
struct net_arrival {
    struct net_conn *conn;
    int fd, kind;
    bool is_secure, is_proxied;
    const struct vs_peer *peer; /* valid as long as the connection (its value changes before `named` is called) */
};

/* Callbacks of the layer above.  `loop` is net_upper.loop.  `of` is the connection's memory for the layer above,
 * initially zero. */
struct net_calls {
    /* ---- a loop */
    bool (*loop)(void *self, int index, struct net_loop *loop, struct net_upper *upper); /* false: no memory */
    void (*replied)(void *loop, uint64_t us);   /* a round that ran requests took this long */
    void (*retry)(void *loop);                  /* the time of net_retry_at has come */
    void (*woken)(void *loop);                  /* net_wake was called */
    void (*sweep)(void *loop, uint64_t now_ms); /* called twice a second */
    void (*drain)(void *loop);                  /* the server stops, and each connection ends after its last reply */

    /* ---- admission of a connection.  is_proxied: a balancer will name the peer (`rename`).  Return false to reject */
    bool (*admit)(void *of, void *loop, int kind, const struct vs_peer *peer, bool is_proxied);
    bool (*rename)(void *of, const struct vs_peer *peer);
    void (*leave)(void *of); /* the connection no longer counts */

    /* ---- a connection */
    void (*begin)(void *of, void *loop, const struct net_arrival *arrival);
    void (*named)(void *of);                    /* a balancer named its peer */
    /* the TLS handshake is done.  `name` is the name in the client certificate, or NULL.  Returns false if out of
     * memory */
    bool (*shaken)(void *of, const char *name);
    int (*step)(void *of, struct net_input *in, struct vs_out *out);
    void (*wait)(void *of);        /* the request begins to wait */
    void (*unwait)(void *of);      /* the connection of a waiting request ends */
    void (*half_closed)(void *of); /* the client of a waiting request closed its sending side */
    /* called twice a second.  May write an event, unless `out` is NULL.  Returns false to end the connection */
    bool (*look)(void *of, uint64_t now_ms, struct vs_out *out);
    void (*end)(void *of);
    /* writes the last reply.  `of` is NULL if the connection has not begun.  `detail` is only set for NET_HEADER */
    void (*refuse)(void *of, int kind, enum net_refusal why, int detail, struct vs_out *out);

    /* ---- memory of connections */
    bool (*take)(void *of, size_t bytes);
    void (*give)(void *of, size_t bytes);
    bool (*is_short)(void *of); /* the connection should free memory */
    /* a connection was closed to free memory.  `peer` may be NULL */
    void (*shed)(void *loop, int kind, const struct vs_peer *peer);

    /* ---- TLS.  `unfinished` adds `change` to the number of unfinished handshakes of an address and returns the sum.
     * take_shake and give_shake count the memory of handshakes.  Each loop has a separate share, and its first
     * handshake is always granted */
    int (*unfinished)(void *of, int change);
    bool (*take_shake)(void *loop, bool is_first, size_t bytes);
    void (*give_shake)(void *loop, bool is_first, size_t bytes);
};

/* ------------------------------------------------------------------ connections, for the layer above */

/* Returns the monotonic time of the connection's last progress.  Threads: any, while the connection exists. */
uint64_t net_active_ms(const struct net_conn *conn);
/* Continues a waiting request by calling `step`.  If the request must wait again, calls `wait`. */
void net_serve_waiter(struct net_conn *conn);
/* Closes a connection at once.  Its memory is freed at the end of the round. */
void net_end(struct net_conn *conn);

/* ------------------------------------------------------------------ loops, for the layer above (only on its thread) */

/* Schedules `retry` for at_ms.  If an earlier time is already scheduled, this call has no effect, and `retry` must call
 * it again. */
void net_retry_at(struct net_loop *loop, uint64_t at_ms);
/* Calls `retry` in the next round, which begins at once. */
void net_retry_next_round(struct net_loop *loop);
/* Time per round for waiting requests. */
#define NET_WAITERS_US 500
/* Calls `with` for each connection.  `with` may end the connection. */
void net_each(struct net_loop *loop, void (*with)(void *of, struct net_conn *conn));

/* ------------------------------------------------------------------ serving */

struct net_listener {
    int fd, kind;
    bool handed;    /* passed by a service manager, which keeps it open after this server ends */
    bool is_secure; /* TLS */
};

struct vs_tls;
struct vs_tls_server;

struct net_opts {
    const struct net_calls *calls;
    void *self;
    struct net_listener listener[NET_LISTENERS_MAX];
    int listener_count, threads;
    const struct vs_network *proxy; /* connections from these networks begin with a PROXY header */
    int proxy_count;
    const char *const *kind_name; /* names of the kinds, for the log */
    int urgent_kind;              /* each round serves connections of this kind first */
    const char *alpn[NET_KINDS];  /* protocol name that TLS offers by ALPN (NULL: none) */
    uint64_t idle_ms[NET_KINDS];  /* how long a client may be idle */
    size_t of_size;               /* bytes of memory of the layer above per connection */
    size_t reply_max, out_max;    /* bytes of one reply and of one write */
    const struct vs_tls *tls;     /* NULL: no listener is secure */
    struct vs_tls_server *tls_server;
    /* called once, when the server begins to serve connections and signals */
    void (*ready)(void *of_signals);
    void (*on_signal)(void *of_signals, int number); /* called for HUP, USR1 and USR2 (NULL: ignored) */
    void (*stopping)(void *of_signals);              /* called when the first TERM or INT was received (may be NULL) */
    void *of_signals;
};

/* Blocks HUP, USR1 and USR2 until net_serve handles them.  Threads: the thread that will call net_serve, before it
 * starts others. */
void net_hold_signals(void);

/* Serves until TERM or INT, then stops accepting, finishes requests in flight and returns.  A second TERM or INT ends
 * the process at once.  *server is set while the server runs.  Errors: VESTA_EIO, VESTA_ENOMEM. */
int net_serve(const struct net_opts *opts, struct net_server **server, struct vesta_error *err);

/* Threads: any, for the following functions.  Without a running server, net_wake and net_stop have no effect, and
 * net_passed and net_alive return true. */
void net_wake(struct net_server **server); /* calls `woken` in each loop */
void net_stop(struct net_server **server); /* stops the server, as TERM does */
/* Returns whether each loop has finished the step that it was running at since_us (vs_monotonic_us). */
bool net_passed(struct net_server **server, int64_t since_us);
/* Returns whether each loop has swept within the last within_ms. */
bool net_alive(struct net_server **server, int64_t within_ms);

/* Limits a log line to one in ten seconds.  Returns the number of events since the last line, or 0 if that line is less
 * than ten seconds old.  `count` is the total number of events. */
struct net_told {
    uint64_t at_ms, count;
};
static inline uint64_t net_untold(struct net_told *told, uint64_t count, uint64_t now_ms) {
    uint64_t more = count - told->count;
    if (more == 0 || (told->at_ms && now_ms - told->at_ms < 10000)) return 0;
    *told = (struct net_told){now_ms, count};
    return more;
}

#endif
