/* net.h -- connections: bytes in, replies out; one event loop a thread, listeners, TLS, the PROXY header.
 *
 * Knows no protocol, no request and no client.  All that depends on these is asked of the layer above, by struct
 * net_calls. */
#ifndef NET_H
#define NET_H

#include "base/count.h"
#include "base/out.h"
#include "net/proxy.h"
#include "os/address.h"
#include "vesta.h"

#define NET_KINDS 3 /* of listeners: what their clients speak, or may */
#define NET_THREADS_MAX 64
#define NET_LISTENERS_MAX 48

struct net_server;
struct net_loop;
struct net_conn;

/* ------------------------------------------------------------------ time */

/* The time that one connection may use at once.  Its other requests wait until other connections were served, so no
 * connection holds its loop.  The clock is read after work that costs NET_QUANTUM_LOOK, not after each request. */
#define NET_QUANTUM_LOOK 64
#define NET_QUANTUM_BYTES 256 /* of a request and its reply that cost as much as a plain request */
struct net_quantum {
    int64_t now_us;   /* when the clock was last read */
    int64_t until_us; /* 0: no limit, as in a test without a loop */
    size_t cost;      /* since that reading; a plain request costs 1 */
};
void net_quantum_look(struct net_quantum *quantum);
static inline bool net_quantum_is_over(struct net_quantum *quantum) {
    if (quantum->cost >= NET_QUANTUM_LOOK) net_quantum_look(quantum);
    return quantum->until_us != 0 && quantum->now_us >= quantum->until_us;
}

/* ------------------------------------------------------------------ counts */

/* The end of a TLS handshake.  PLAIN: the client sent none.  MISLED: a handshake came where TLS is not spoken. */
enum net_shake { NET_SHAKE_OK, NET_SHAKE_FAILED, NET_SHAKE_LATE, NET_SHAKE_PLAIN, NET_SHAKE_MISLED, NET_SHAKES };

/* What a loop counts. */
struct net_counts {
    vs_count headers[NET_KINDS][NET_PROXY_RESULTS];
    vs_count shakes[NET_KINDS][NET_SHAKES];
    vs_count rests; /* of listeners, for want of a descriptor or of memory */
};

/* ------------------------------------------------------------------ what the layer above does */

/* The reason of a last reply. */
enum net_refusal {
    NET_FULL,     /* there are too many connections */
    NET_SHED,     /* clients hold too much memory */
    NET_SLOW,     /* a request was not complete in time */
    NET_SPOKEN,   /* the listener speaks TLS, and the client does not */
    NET_UNSPOKEN, /* the other way round */
    NET_HEADER    /* ... plus a net_proxy_result: a PROXY header was missing, wrong, late, or came from a stranger */
};

/* `step` returns how many bytes it used, or one of these. */
enum {
    NET_MORE = 0,   /* the request is not complete */
    NET_WAITS = -1, /* nothing was appended, and in->used bytes are used: net_serve_waiter goes on with it */
    NET_CLOSE = -2, /* the last reply was appended: write it and close */
    NET_PART = -3   /* a part of the reply was appended, and in->used bytes are used: call again */
};

struct net_input {
    const char *bytes; /* none if is_pending */
    size_t length;
    bool is_pending;  /* go on with the request that waits, or of which a part was answered */
    uint64_t came_ns; /* when it came; 0: in this round */
    /* answers */
    size_t used;  /* NET_WAITS, NET_PART: bytes of the request */
    bool streams; /* nothing is read from now on: events are sent by `look` */
};

/* What the layer above keeps of a loop, and the network changes. */
struct net_upper {
    void *loop;                  /* the layer above's own, for its calls */
    struct net_quantum *quantum; /* of the connection that is served now */
    int64_t *now_us;             /* when this round began */
    struct net_counts *counts;
};

/* A connection that begins. */
struct net_arrival {
    struct net_conn *conn;
    int fd, kind;
    bool is_secure, is_proxied;
    const struct vs_peer *peer; /* as long as the connection lives; `named`: it has changed */
};

/* The layer above.  `loop` is net_upper.loop; `of` is its memory of a connection, which is zero at first. */
struct net_calls {
    /* ---- a loop */
    bool (*loop)(void *self, int index, struct net_loop *loop, struct net_upper *upper); /* false: no memory */
    void (*replied)(void *loop, uint64_t us);   /* requests of a round were answered, so long after it began */
    void (*retry)(void *loop);                  /* it is the time of net_retry_at */
    void (*woken)(void *loop);                  /* net_wake was called */
    void (*sweep)(void *loop, uint64_t now_ms); /* twice a second */
    void (*drain)(void *loop);                  /* the server ends: each connection gets its last reply */

    /* ---- the place of a connection.  is_proxied: a balancer will name its peer, by `rename`.  false: there is none */
    bool (*admit)(void *of, void *loop, int kind, const struct vs_peer *peer, bool is_proxied);
    bool (*rename)(void *of, const struct vs_peer *peer);
    void (*leave)(void *of); /* the place, and the memory of the connection, are free again */

    /* ---- a connection */
    void (*begin)(void *of, void *loop, const struct net_arrival *arrival);
    void (*named)(void *of);                    /* a balancer has named its peer */
    bool (*shaken)(void *of, const char *name); /* TLS is spoken; `name`: the certificate's, or NULL; false: no memory */
    int (*step)(void *of, struct net_input *in, struct vs_out *out);
    void (*wait)(void *of);        /* its request waits */
    void (*unwait)(void *of);      /* ... no more: the connection ends */
    void (*half_closed)(void *of); /* the client of a request that waits sends no more */
    /* Twice a second.  It may write an event; `out` is NULL if nothing can be sent.  false: ends the connection. */
    bool (*look)(void *of, uint64_t now_ms, struct vs_out *out);
    void (*end)(void *of);
    /* Writes the last reply.  `of` is NULL if the connection did not begin.  `detail`: for NET_HEADER. */
    void (*refuse)(void *of, int kind, enum net_refusal why, int detail, struct vs_out *out);

    /* ---- memory that is held for a connection */
    bool (*take)(void *of, size_t bytes);
    void (*give)(void *of, size_t bytes);
    bool (*is_short)(void *of); /* it holds some, and there is little left */
    /* A connection was closed for want of memory.  `peer` may be NULL. */
    void (*shed)(void *loop, int kind, const struct vs_peer *peer);

    /* ---- TLS.  The unfinished handshakes of an address, after a change.  The memory of a handshake: each loop has its
     * own part, and its first handshake is always granted */
    int (*unfinished)(void *of, int change);
    bool (*take_shake)(void *loop, bool is_first, size_t bytes);
    void (*give_shake)(void *loop, bool is_first, size_t bytes);
};

/* ------------------------------------------------------------------ connections, for the layer above */

/* When it made progress last, by the monotonic clock.  Threads: any, while it lives. */
uint64_t net_active_ms(const struct net_conn *conn);
/* Goes on with a request that waits; then `step` was called, and perhaps `wait`. */
void net_serve_waiter(struct net_conn *conn);
/* Closes at once; the memory goes with the round. */
void net_end(struct net_conn *conn);

/* ------------------------------------------------------------------ loops, for the layer above; only on its thread */

/* Has `retry` called then, or once more before if it was to be called before. */
void net_retry_at(struct net_loop *loop, uint64_t at_ms);
/* Has `retry` called in the next round, which begins at once. */
void net_retry_next_round(struct net_loop *loop);
/* How much of a round is for requests that wait. */
#define NET_WAITERS_US 500
/* Calls it with each connection, which it may end. */
void net_each(struct net_loop *loop, void (*with)(void *of, struct net_conn *conn));

/* ------------------------------------------------------------------ serving */

struct net_listener {
    int fd, kind;
    bool handed;    /* a service manager's: it goes on listening when this server ends */
    bool is_secure; /* TLS is spoken there */
};

struct vs_tls;
struct vs_tls_server;

struct net_opts {
    const struct net_calls *calls;
    void *self;
    struct net_listener listener[NET_LISTENERS_MAX];
    int listener_count, threads;
    const struct vs_network *proxy; /* connections from these begin with a PROXY header */
    int proxy_count;
    const char *const *kind_name; /* NET_KINDS of them, for the log */
    int urgent_kind;              /* these connections come first in a round */
    const char *alpn[NET_KINDS];  /* what TLS offers; NULL: nothing */
    uint64_t idle_ms[NET_KINDS];  /* how long a client may rest */
    size_t of_size;               /* memory of the layer above for a connection */
    size_t reply_max, out_max;    /* bytes of one reply; of one write */
    const struct vs_tls *tls;     /* NULL: no listener is secure */
    struct vs_tls_server *tls_server;
    void (*ready)(void *of_signals);                 /* called once, when connections and signals will be answered */
    void (*on_signal)(void *of_signals, int number); /* HUP, USR1, USR2; NULL: they are ignored */
    void (*stopping)(void *of_signals);              /* the first TERM or INT came; may be NULL */
    void *of_signals;
};

/* HUP, USR1 and USR2 wait from here on until net_serve watches for them.  Threads: the one that will call net_serve,
 * before it starts others. */
void net_hold_signals(void);

/* Serves until TERM or INT.  Then it stops accepting, answers requests in flight and returns.  A second TERM or INT
 * ends the process at once.  *server is set while it serves.  Errors: VESTA_EIO, VESTA_ENOMEM. */
int net_serve(const struct net_opts *opts, struct net_server **server, struct vesta_error *err);

/* The next are for any thread while *server may be set and cleared; nothing happens while it does not serve. */
void net_wake(struct net_server **server); /* calls `woken` of each loop */
void net_stop(struct net_server **server); /* as TERM does */
/* Whether each loop has ended what it did at that instant (vs_monotonic_us). */
bool net_passed(struct net_server **server, int64_t since_us);
/* Whether each loop has swept within that time. */
bool net_alive(struct net_server **server, int64_t within_ms);

/* How many more there are than the log was told of; 0 if it was told a moment ago. */
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
