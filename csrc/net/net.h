/* net.h -- connections: reading and writing bytes, one event loop per thread, listeners, TLS, the PROXY header.
 *
 * Knows no protocol, no request and no client.  The layer above handles these with the callbacks of struct
 * net_calls. */
#ifndef NET_H
#define NET_H

#include "base/count.h"
#include "base/out.h"
#include "net/proxy.h"
#include "os/address.h"
#include "vesta.h"

#define NET_KINDS 3 /* of listeners: their protocol and purpose */
#define NET_THREADS_MAX 64
#define NET_LISTENERS_MAX 48

struct net_server;
struct net_loop;
struct net_conn;

/* ------------------------------------------------------------------ time */

/* The time that one connection may use at once.  Its other requests wait until other connections were served, so no
 * connection can block its loop.  The clock is read after work that costs NET_QUANTUM_LOOK, not after each request. */
#define NET_QUANTUM_LOOK 64
#define NET_QUANTUM_BYTES 256 /* bytes of a request and its reply that cost as much as a plain request */
struct net_quantum {
    int64_t now_us;   /* when the clock was last read */
    int64_t until_us; /* 0: no limit, as in a test without a loop */
    size_t cost;      /* since that reading (a plain request costs 1) */
};
void net_quantum_look(struct net_quantum *quantum);
static inline bool net_quantum_is_over(struct net_quantum *quantum) {
    if (quantum->cost >= NET_QUANTUM_LOOK) net_quantum_look(quantum);
    return quantum->until_us != 0 && quantum->now_us >= quantum->until_us;
}

/* ------------------------------------------------------------------ counts */

/* The result of a TLS handshake.  PLAIN: the client sent none.  MISLED: a handshake came to a listener without TLS. */
enum net_shake { NET_SHAKE_OK, NET_SHAKE_FAILED, NET_SHAKE_LATE, NET_SHAKE_PLAIN, NET_SHAKE_MISLED, NET_SHAKES };

/* The counters of a loop. */
struct net_counts {
    vs_count headers[NET_KINDS][NET_PROXY_RESULTS];
    vs_count shakes[NET_KINDS][NET_SHAKES];
    vs_count rests; /* pauses of listeners for lack of descriptors or memory */
};

/* ------------------------------------------------------------------ callbacks of the layer above */

/* The reason of a last reply. */
enum net_refusal {
    NET_FULL,     /* there are too many connections */
    NET_SHED,     /* clients hold too much memory */
    NET_SLOW,     /* a request was not complete in time */
    NET_SPOKEN,   /* the listener uses TLS, and the client does not */
    NET_UNSPOKEN, /* the client uses TLS, and the listener does not */
    NET_HEADER    /* ... plus a net_proxy_result: a PROXY header was missing, wrong, late, or not permitted */
};

/* `step` returns the number of bytes it consumed, or one of these. */
enum {
    NET_MORE = 0,   /* the request is not complete */
    NET_WAITS = -1, /* nothing was appended, and in->used bytes were consumed: net_serve_waiter continues */
    NET_CLOSE = -2, /* the last reply was appended: write it and close */
    NET_PART = -3   /* part of the reply was appended, and in->used bytes were consumed: call again */
};

struct net_input {
    const char *bytes; /* none if is_pending */
    size_t length;
    bool is_pending;  /* continue the request that waits, or was answered in part */
    uint64_t came_ns; /* when the request came (0: in this round) */
    /* set by `step` */
    size_t used;  /* NET_WAITS, NET_PART: length of the request */
    bool streams; /* input is no longer read: `look` sends events */
};

/* Memory of the layer above that the network sets. */
struct net_upper {
    void *loop;                  /* the layer above's state of the loop, passed to its calls */
    struct net_quantum *quantum; /* of the connection being served */
    int64_t *now_us;             /* when this round began */
    struct net_counts *counts;
};

/* A new connection. */
struct net_arrival {
    struct net_conn *conn;
    int fd, kind;
    bool is_secure, is_proxied;
    const struct vs_peer *peer; /* valid as long as the connection (it changes before `named`) */
};

/* The layer above.  `loop` is net_upper.loop; `of` is its memory of a connection, which is zero at first. */
struct net_calls {
    /* ---- a loop */
    bool (*loop)(void *self, int index, struct net_loop *loop, struct net_upper *upper); /* false: no memory */
    void (*replied)(void *loop, uint64_t us);   /* requests of a round were answered, this long after its start */
    void (*retry)(void *loop);                  /* the time of net_retry_at has come */
    void (*woken)(void *loop);                  /* net_wake was called */
    void (*sweep)(void *loop, uint64_t now_ms); /* twice a second */
    void (*drain)(void *loop);                  /* the server is stopping: every connection gets its last reply */

    /* ---- admission of a connection.  is_proxied: a balancer will name its peer (`rename`).  false: rejected */
    bool (*admit)(void *of, void *loop, int kind, const struct vs_peer *peer, bool is_proxied);
    bool (*rename)(void *of, const struct vs_peer *peer);
    void (*leave)(void *of); /* the connection's place and memory are free again */

    /* ---- a connection */
    void (*begin)(void *of, void *loop, const struct net_arrival *arrival);
    void (*named)(void *of);                    /* a balancer named its peer */
    /* the handshake is done; `name` is the certificate's, or NULL (false: no memory) */
    bool (*shaken)(void *of, const char *name);
    int (*step)(void *of, struct net_input *in, struct vs_out *out);
    void (*wait)(void *of);        /* its request begins to wait */
    void (*unwait)(void *of);      /* its request no longer waits: the connection ends */
    void (*half_closed)(void *of); /* the client of a waiting request closed its sending side */
    /* Twice a second.  May write an event, unless `out` is NULL.  false: end the connection. */
    bool (*look)(void *of, uint64_t now_ms, struct vs_out *out);
    void (*end)(void *of);
    /* Writes the last reply.  `of` is NULL if the connection has not begun.  `detail` is for NET_HEADER. */
    void (*refuse)(void *of, int kind, enum net_refusal why, int detail, struct vs_out *out);

    /* ---- memory of connections */
    bool (*take)(void *of, size_t bytes);
    void (*give)(void *of, size_t bytes);
    bool (*is_short)(void *of); /* it holds memory, and little is left */
    /* A connection was closed to free memory.  `peer` may be NULL. */
    void (*shed)(void *loop, int kind, const struct vs_peer *peer);

    /* ---- TLS.  `unfinished` changes the number of unfinished handshakes of an address.  The next two count the memory
     * of handshakes: each loop has its own part, and its first handshake is always granted */
    int (*unfinished)(void *of, int change);
    bool (*take_shake)(void *loop, bool is_first, size_t bytes);
    void (*give_shake)(void *loop, bool is_first, size_t bytes);
};

/* ------------------------------------------------------------------ connections, for the layer above */

/* When the connection last made progress, by the monotonic clock.  Threads: any, while it exists. */
uint64_t net_active_ms(const struct net_conn *conn);
/* Continues a waiting request: calls `step`, and perhaps `wait` again. */
void net_serve_waiter(struct net_conn *conn);
/* Closes a connection at once.  Its memory is freed at the end of the round. */
void net_end(struct net_conn *conn);

/* ------------------------------------------------------------------ loops, for the layer above (only on its thread) */

/* Calls `retry` at that time, or earlier if an earlier time is already set; then set the later time again. */
void net_retry_at(struct net_loop *loop, uint64_t at_ms);
/* Calls `retry` in the next round, which begins at once. */
void net_retry_next_round(struct net_loop *loop);
/* The part of a round for waiting requests. */
#define NET_WAITERS_US 500
/* Calls `with` for each connection, which it may end. */
void net_each(struct net_loop *loop, void (*with)(void *of, struct net_conn *conn));

/* ------------------------------------------------------------------ serving */

struct net_listener {
    int fd, kind;
    bool handed;    /* a service manager passed it and keeps it open when this server ends */
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
    const char *const *kind_name; /* NET_KINDS names for the log */
    int urgent_kind;              /* connections of this kind are served first in a round */
    const char *alpn[NET_KINDS];  /* protocol that TLS offers (NULL: none) */
    uint64_t idle_ms[NET_KINDS];  /* how long a client may be idle */
    size_t of_size;               /* bytes of memory of the layer above per connection */
    size_t reply_max, out_max;    /* bytes of one reply and of one write */
    const struct vs_tls *tls;     /* NULL: no listener is secure */
    struct vs_tls_server *tls_server;
    /* called once, when connections and signals are served from now on */
    void (*ready)(void *of_signals);
    void (*on_signal)(void *of_signals, int number); /* HUP, USR1, USR2 (NULL: ignored) */
    void (*stopping)(void *of_signals);              /* the first TERM or INT was received; may be NULL */
    void *of_signals;
};

/* Blocks HUP, USR1 and USR2 until net_serve handles them.  Threads: the thread that will call net_serve, before it
 * starts others. */
void net_hold_signals(void);

/* Serves until TERM or INT.  Then it stops accepting, finishes requests in flight and returns.  A second TERM or INT
 * ends the process at once.  *server is set while it serves.  Errors: VESTA_EIO, VESTA_ENOMEM. */
int net_serve(const struct net_opts *opts, struct net_server **server, struct vesta_error *err);

/* The following functions may be called by any thread, also before and after serving, when they have no effect. */
void net_wake(struct net_server **server); /* calls `woken` of each loop */
void net_stop(struct net_server **server); /* as TERM does */
/* Whether each loop has finished the step it was in at that instant (vs_monotonic_us). */
bool net_passed(struct net_server **server, int64_t since_us);
/* Whether each loop has swept within that time. */
bool net_alive(struct net_server **server, int64_t within_ms);

/* Returns how many events were not logged yet, or 0 if the log had a line in the last ten seconds. */
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
