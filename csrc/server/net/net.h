/* net.h -- what net.c and loop.c share: the loop and its connections.  Only they include it. */
#ifndef VS_NET_H
#define VS_NET_H

#include "server/net/session.h"
#include "tls/tls.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/queue.h>

#define VS_READ_MAX 65536
#define VS_READ_LATE 4096 /* ... while connections wait for their slice: what is read ahead of it takes memory */
#define VS_ROUND_MAX 256  /* events of one round, or replies */

/* A round of the loop serves for VS_ROUND_US, and each connection for VS_SLICE_US.  What is left waits in its line for
 * the next round, which begins with signals, timers, new connections and the admin. */
#define VS_ROUND_US 1000
#define VS_SLICE_US 200
#define VS_QUEUES_US 500 /* of a round: for connections that waited for an id */
enum vs_line {
    VS_LINE_ADMIN,
    VS_LINE_PROMPT,
    VS_LINE_SHAKE, /* TLS handshakes that have begun, or whose address has few unfinished ones */
    VS_LINE_BUSY,  /* connections that used up their last slice, and the other TLS handshakes */
    VS_LINES
};

/* What a loop's epoll tells of: the first member of what it belongs to. */
struct watched {
    void (*ready)(struct watched *of, uint32_t events);
};

struct conn {
    struct watched watched;
    int fd;
    bool readable;  /* there may be something to read: an edge is told of once, so this is how it is remembered */
    bool unsure;    /* ... even where a read got less than there was room for */
    bool writable;  /* the same, of a reply that is written later */
    bool lined_up;  /* to be served in this round, or the next */
    bool is_busy;   /* it used up its last slice */
    bool is_cut;    /* `buf`, or the request that was begun, is to be worked on when its slice comes */
    enum vs_line line_of;
    bool waits;     /* for an id */
    bool last;      /* the last reply is being written */
    bool lingering; /* it was written: only the client's end is waited for */
    bool ended;     /* the client will send no more */
    bool gone;      /* its socket is closed; its memory goes with the round */
    bool is_secure, is_shaken; /* TLS is spoken; hands were shaken, and it says its protocol */
    bool is_reversed;          /* TLS must write before it can read on */
    struct vs_tls_conn *tls;   /* from the first byte of a handshake on */
    bool keeps_record;         /* TLS has a part of a record: its memory is counted */
    bool is_shaking;           /* among those of its loop: its handshake's memory is counted */
    struct ledger_memory *shaking_holder; /* ... for this holder; NULL: for none */
    bool is_unfinished;        /* counted among the unfinished handshakes of its address */
    struct writing *writing; /* a reply that the socket did not take at once; NULL: none */
    struct loop *loop;
    TAILQ_ENTRY(conn) all, queued, line, shaken;
    char *buf; /* bytes of a request that is not complete, or could not be answered yet */
    size_t have, size;
    uint64_t active_ms, partial_ms; /* last progress; when the incomplete request began */
    uint64_t came_ns;               /* when the request came that waits; 0: none does */
    struct vs_session session;
    uint64_t stranger_ms; /* when it was first seen without its password; 0: it needs none, or said it */
    size_t unsent;        /* of a reply that is written later, when it was looked at last */
    struct vs_peer peer;
    struct header *header; /* PROXY's, that is still to come; NULL: none */
};
TAILQ_HEAD(conns, conn);
TAILQ_HEAD(queues, queue);

/* What other threads call a loop for. */
enum vs_call_of_loop { VS_CALL_STOP, VS_CALL_WAKE, VS_CALL_ARRIVAL, VS_CALLS_OF_LOOP };
enum vs_timer { VS_TIMER_SWEEP, VS_TIMER_RETRY, VS_TIMER_REST, VS_TIMERS };

struct loop {
    struct server *server;
    pthread_t thread;
    struct listener {
        struct watched watched;
        int fd; /* this loop's own, of the socket that all loops share */
        struct loop *loop;
        enum vs_protocol protocol;
        bool listening, handed, is_secure;
        bool resting; /* nobody can be let in just now: for want of a descriptor or of memory */
    } listener[VS_LISTENERS_MAX];
    int epoll, wakes;     /* wakes: an eventfd, by which others call this loop */
    struct watched awake;
    atomic_uint calls;    /* bits, by vs_call_of_loop */
    bool has_calls;
    void (*on_call[VS_CALLS_OF_LOOP])(struct loop *loop);
    struct timer {
        uint64_t at_ms;
        void (*then)(struct loop *loop); /* NULL: it was not started */
    } timer[VS_TIMERS];
    uint64_t now_ns, now_ms; /* when this round began */
    struct conns line[VS_LINES]; /* to be served */
    int line_length[VS_LINES];
    bool is_late; /* the last round ended before all lines were served */
    struct conns gone; /* ended in this round */
    struct conns shaking; /* whose handshakes have begun, the eldest first */
    struct ledger_memory shaking_holder; /* their memory, without that of a handshake that begins while there is no other */
    bool serving;      /* the line; replies may stand until it was served */
    struct replies {
        struct conn *conn;
        size_t from, length;
    } round[VS_ROUND_MAX]; /* ... in `out` */
    int round_length;
    size_t round_used;               /* of `out`, by them */
    uint64_t answered[VS_PROTOCOLS]; /* requests, in this round */
    struct conn *spare;              /* for the next to come */
    struct conns conns;
    struct conns arrived; /* let in by other loops, to be served by this one; under handover.c's lock */
    bool takes;           /* more of them; the same */
    _Atomic int load;     /* connections that it serves, or is to serve */
    struct queue {
        struct conns conns;
        uint64_t retry_at_ms; /* 0: nobody waits */
        TAILQ_ENTRY(queue) waited;
    } *queue;                       /* those who wait, by vs_request_queue */
    bool has_put_off;               /* queues that the last round had no time for */
    bool has_resumed;               /* a connection, since it began to look at the queues */
    struct queues waited_for;       /* those in which somebody waits, or did since they were looked at */
    uint64_t retry_at_ms, drain_ms; /* the first of the queues'; 0: none, not draining */
    bool closed;                    /* under loop.c's lock */
    _Atomic uint64_t beat_ms;       /* when it swept last, or began */
    struct vs_out out;
    struct vs_scratch scratch;
    char in[VS_READ_MAX];
    char replies[VS_OUT_MAX];
};

/* Why hands were not shaken. */
struct vs_shake_failed {
    char address[VS_PEER_TEXT_MAX], why[160];
};

struct server {
    const struct vs_serve_opts *opts;
    struct loop *loops[VS_THREADS_MAX];
    int count;
    bool stopping;
    struct told { /* by the log, of those who found no place */
        uint64_t at_ms, count;
    } told_turned[VS_PROTOCOLS], told_shed, told_rests;
    uint64_t told_address[VS_PROTOCOLS]; /* of those turned away, who had too many from one address */
    struct told told_shakes[VS_SHAKES];
    struct vs_shake_failed failed[VS_SHAKES]; /* the last of them; under secure.c's lock */
};

/* Has the loop's epoll tell of a descriptor, by these events; again, by others; no more.  0, or -1 and errno. */
int vs_poll_watch(struct loop *loop, int fd, struct watched *of, uint32_t events);
int vs_poll_change(struct loop *loop, int fd, struct watched *of, uint32_t events);
void vs_poll_forget(struct loop *loop, int fd);
/* Has a loop do something once, then; again: at another time. */
void vs_poll_timer(struct loop *loop, enum vs_timer which, uint64_t in_ms, void (*then)(struct loop *loop));
/* Has the loop run its on_call.  Threads: any. */
void vs_poll_call(struct loop *loop, enum vs_call_of_loop what);
/* 0, or errno; `wakes` and `epoll` are closed by vs_poll_end. */
int vs_poll_init(struct loop *loop);
void vs_poll_end(struct loop *loop);
/* Goes round until loop->closed. */
void vs_poll_run(struct loop *loop);

/* Has the first loop hear of signals; ends that.  0, or errno. */
int vs_signals_watch(struct server *server);
void vs_signals_end(void);
/* loop.c's: a signal came; `ends`: it asks the server to end. */
void vs_signal_came(struct server *server, int number, bool ends);

/* Before its protocol, a connection of a listed balancer says a PROXY header.  expect: of one that was let in, which is
 * uncounted until then; false: no memory.  read: once, of which `readable` is told; then c->header is NULL, or the
 * connection is finished, or there is more to come.  look: it may be late. */
bool vs_header_expect(struct conn *c);
void vs_header_read(struct conn *c);
void vs_header_look(struct conn *c, uint64_t now_ms);
void vs_header_drop(struct conn *c);
/* Refuses a connection whose protocol begins with a header. */
bool vs_header_is_unlisted(struct conn *c, const char *bytes, size_t length);
#define VS_READS (EPOLLIN | EPOLLPRI | EPOLLRDHUP | (uint32_t)EPOLLET)

/* ---- secure.c: the stage of a connection's handshake, and TLS's bytes behind it */

/* Goes on with the handshake; behind it c->is_shaken, or the connection is at its end. */
void vs_secure_shake(struct conn *conn);
/* As recv and send; *more: there may be more to read. */
ssize_t vs_secure_get(struct conn *conn, char *to, size_t room, bool *more);
ssize_t vs_secure_put(struct conn *conn, const char *bytes, size_t length);
/* Nothing is written behind it. */
void vs_secure_end(struct conn *conn);
/* Its address is known from now on: counts its handshake there, if it has one. */
void vs_secure_enter(struct conn *conn);
/* Its socket is closed. */
void vs_secure_leave(struct conn *conn);
void vs_secure_free(struct conn *conn);
/* Whether its handshake goes before those that an address begins while it has many unfinished ones. */
bool vs_secure_is_urgent(const struct conn *conn);
/* Ends one whose handshake takes too long. */
bool vs_secure_is_late(struct conn *conn, uint64_t now_ms);
/* Refuses a connection that begins with a handshake where TLS is not spoken. */
bool vs_secure_is_misled(struct conn *conn, const char *bytes, size_t length);
/* Logs whose hands were not shaken, now and then.  Called on the first loop, twice a second. */
void vs_secure_tell(struct server *server, uint64_t now_ms);

/* ---- refusal.c: the last that a connection hears, by its protocol */

struct vs_refusal {
    const char *resp;   /* an error without its line's end; NULL: nothing is said */
    const char *status; /* HTTP's: "400 Bad Request" */
    const char *text;   /* ... and a line of text; NULL: none */
    bool again;         /* ... that it may ask again in a second */
};
extern const struct vs_refusal vs_too_many;

#define VS_REFUSAL_MAX 512
size_t vs_refusal_write(const struct vs_refusal *refusal, enum vs_protocol protocol, char buf[VS_REFUSAL_MAX]);
/* If the socket takes it; as it is, also where TLS is spoken. */
void vs_refusal_send(const struct vs_refusal *refusal, enum vs_protocol protocol, int fd);
/* The same as the connection's own bytes: nothing where a handshake is still to come. */
void vs_conn_refuse(struct conn *conn, const struct vs_refusal *refusal);

/* ---- line.c: which connection is served next */

/* To be served: in this round, if its line has not been served yet; no more. */
void vs_conn_line_up(struct conn *conn);
void vs_conn_leave_line(struct conn *conn);

/* Gives a slice to a connection that waited and has left its queue. */
void vs_conn_serve_waiter(struct conn *conn);

/* Serves connections that are lined up, each once, until the round's time is over; the others stay in their lines. */
void vs_conn_serve(struct loop *loop);

/* ---- net.c: bytes in, replies out */

/* Does what one connection is lined up for; sends the replies of a round. */
void vs_conn_serve_one(struct conn *conn);
void vs_conn_send_round(struct loop *loop);
/* Forgets connections that have ended. */
void vs_conn_bury(struct loop *loop);

/* Goes on with a connection that nothing holds up any more. */
void vs_conn_resume(struct conn *conn);

/* Its request waits for an id; waits no more. */
void vs_conn_wait(struct conn *conn);
void vs_conn_leave_queue(struct conn *conn);

/* Serves the first of each queue, and the next, until one must wait on. */
void vs_conn_retry(struct loop *loop);
/* The same of queues for which the last round had no time. */
void vs_conn_retry_on(struct loop *loop);

/* Has the loop with the fewest clients serve this one, which `own` let in; its place was taken.  `c` has its socket,
 * peer and protocol, is zero otherwise, and no longer the caller's.  Threads: own's. */
void vs_conn_place(struct conn *c, struct loop *own);
/* Serves it in this loop, whose thread this is. */
void vs_conn_begin(struct conn *c, struct loop *loop);

/* A loop serves what others hand to it, from init until end; not yet, false, where something has just arrived. */
void vs_handover_init(struct loop *loop);
bool vs_handover_end(struct loop *loop);

/* Lets clients in from a listening socket.  0, or errno: then the listener is not listening. */
int vs_listener_open(struct loop *loop, struct listener *listener, const struct vs_listener *from);

/* Logs who found no place, now and then.  Called on the first loop, twice a second. */
void vs_listeners_tell(struct server *server, uint64_t now_ms);

/* How many there are that the log has not told of; 0 also where it told of others a moment ago. */
uint64_t vs_untold(struct told *told, uint64_t count, uint64_t now_ms);

/* Lets in who is there and was told to another loop that did not come to it. */
void vs_listener_look(struct listener *listener);

/* Ends a listener, if it is there.  The socket is shared with the other loops and with who bound it: it is shut down
 * for all, so that the next client is refused instead of waiting for nobody. */
void vs_listener_close(struct listener *listener);

/* How many bytes of a reply the socket has not taken yet. */
size_t vs_conn_unsent(const struct conn *conn);

/* Sends who watches the newest event, unless it has it. */
void vs_conn_show(struct conn *conn);

/* Closes at once; the memory goes with the round. */
void vs_conn_end(struct conn *conn);
/* The same of those that somebody wants to be ended. */
void vs_conn_end_asked(struct loop *loop);

/* There is no memory for what the connection needs: it ends, with a word if that can be said. */
void vs_conn_shed(struct conn *conn);

/* The last reply is written: says so, and waits a little for the client to have read it. */
void vs_conn_finish(struct conn *conn);

#endif
