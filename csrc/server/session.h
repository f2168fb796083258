/* session.h -- the server's state of a connection.  Contains no socket code. */
#ifndef VS_SERVER_SESSION_H
#define VS_SERVER_SESSION_H

#include "access/grant.h"
#include "net/net.h"
#include "os/process.h"
#include "proto/http.h"
#include "proto/json.h"
#include "proto/resp.h"
#include "server/clients/roster.h"
#include "server/desk.h"
#include "server/room.h"

_Static_assert(VS_RESP_BULK_MAX + 32 <= VS_REPLY_MAX, "an echo fits a reply");

/* The queues of a loop.  VS_QUEUE_OF_TABLES: requests that wait for tables of tags to be read.  VS_QUEUE_OF_LEASES:
 * requests that wait for a worker id of another program.  VS_QUEUE_OF_SHARES:
 * requests that wait because of a rate limit or fair share.  From VS_QUEUE_OF_IDS on: one queue per namespace (by
 * index), then one per tag (by place). */
enum { VS_QUEUE_OF_TABLES, VS_QUEUE_OF_LEASES, VS_QUEUE_OF_SHARES, VS_QUEUE_OF_IDS };
static inline int vs_queues_of(int namespaces) {
    return VS_QUEUE_OF_IDS + namespaces + VS_SERVED_TAGS_MAX;
}

TAILQ_HEAD(vs_waiters, vs_session);
TAILQ_HEAD(vs_waitlists, vs_waitlist);

/* Working memory of one loop, which handles one request at a time. */
struct vs_scratch {
    const struct vs_serve_opts *opts; /* this and the next two are NULL in a test without a loop */
    struct served *served;
    struct net_loop *net;
    struct net_quantum quantum; /* the time slice of the connection being served */
    int loop;                   /* index in server->monitor.counts */
    bool draining;  /* the server is stopping */
    int64_t now_us; /* monotonic time when this round began */
    /* unlooked: ids issued since the remaining ids of the time unit were last checked.  look_every: ids between two
     * checks */
    uint64_t unlooked, look_every;
    struct vs_args args;
    uint64_t ids[VESTA_BATCH_MAX];
    char text[VS_HTTP_LINE_MAX + VS_HTTP_BODY_MAX]; /* percent-decoded parameters */
    struct vs_heads heads;
    struct vs_waitlist {
        int waiting;
        struct vesta_pause pause; /* why the last connection waits */
        uint64_t charged_run;     /* `run` when a request was last charged to this namespace */
        struct vs_waiters waiters;
        uint64_t retry_at_ms; /* when to resume the queue (0: no connection waits) */
        TAILQ_ENTRY(vs_waitlist) waited;
    } * queue;                      /* vs_queues_of(server) */
    struct vs_waitlists waited_for; /* queues with waiting connections (some may be empty by now) */
    bool has_put_off;            /* this round had no time for all queues */
    bool has_resumed;            /* a connection was resumed in this round */
    uint64_t run;                 /* number of handler runs */
    uint64_t answered;            /* requests answered in this step */
    uint64_t answered_now[VS_PROTOCOLS]; /* requests answered in this round that had not waited */
    uint64_t began_ns;            /* when the requests being served were read */
    struct ledger_memory shaking; /* memory of the loop's TLS handshakes, except the first */
    struct {
        uint64_t id; /* id of the connection (0: none yet) */
        char address[VS_PEER_TEXT_MAX];
    } noted; /* cache of the last address in the access log */
    struct vs_http_plain http;
    int64_t usage_us;              /* when INFO last measured the process (0: never) */
    struct vs_process_usage usage; /* the result of that measurement */
    struct {
        int64_t at_us; /* when it was computed (0: never) */
        bool is_ready;
    } ready; /* cached result of /readyz, for clients that may not see reasons */
    struct vs_counts *counts;
};

/* Allocates the queues and counters of a loop.  Returns false if there is no memory.  Call vs_scratch_free in either
 * case. */
bool vs_scratch_make(struct vs_scratch *scratch, int namespaces);
void vs_scratch_free(struct vs_scratch *scratch);

/* A waiting request and all work done for it so far, so that nothing is parsed, taken or charged twice.  All zero: no
 * request waits. */
struct vs_waiting {
    struct vs_request *request; /* a copy with its arguments (owned by wait.c) */
    size_t bytes, size;         /* bytes: length of the request in the input.  size: memory of `request` */
    struct vs_tag_set *tags;    /* a reference to the set that contains its tag (NULL: none) */
    int64_t deadline_us;        /* deadline set by the config, before any policy's verdict */
    int64_t wait_us;            /* time until the next try */
    int queue;                  /* index of the request's queue */
    bool by_policy;             /* waits beyond its deadline, and is counted in server->waiting_by_policy */
    int64_t policy_until_us;    /* when the wait that the policy allowed ends (0: no verdict yet) */
    int64_t judged_until_us;    /* end of the wait for a verdict */
    uint64_t *ids;
    size_t ids_count, ids_size;
    struct vs_desk_job *job; /* the desk job for which it waits (NULL: none) */
    struct vs_charged {      /* what was charged to rate limits */
        int64_t due_us;      /* when the request may be served, as scratch->now_us (0: now) */
        int64_t again_us;    /* when its share is checked again */
        uint64_t ids;        /* number of ids charged but not taken yet */
        uint64_t client;     /* ledger_client_of at the time of the charge */
        struct vs_namespace *of; /* the charged namespace (NULL: a tag) */
        int kind;            /* the rate limit that determines due_us (enum vs_share_kind) */
        bool is_held;        /* already counted as waiting for a share */
    } charged;
};

/* The server's state of a connection. */
struct vs_session {
    struct net_conn *conn; /* NULL: a test without a loop */
    TAILQ_ENTRY(vs_session) queued;
    uint64_t stranger_ms; /* when authentication became due (0: not required, or done) */
    struct vs_server *server;
    struct vs_scratch *scratch;
    enum vs_protocol protocol;
    int wrong;    /* wrong secrets received */
    bool waits;   /* member of a queue */
    bool local;   /* over a unix socket, not forwarded by a balancer */
    bool proxied; /* forwarded by a balancer: the client may be on any machine */
    bool secure;  /* over TLS */
    bool draining;  /* the server is stopping, so the connection closes after this reply */
    bool continued; /* HTTP: 100 Continue was sent for the current request */
    bool known;     /* RESP: the client authenticated */
    bool by_config_token; /* admin: the client sent the config's admin token */
    bool is_metered;      /* its requests are subject to a rate limit */
    const char *certified; /* client name in the certificate (NULL: no certificate) */
    const struct vs_peer *peer;
    uint64_t id;
    size_t need;    /* minimum length of the next request (0: unknown) */
    struct vs_waiting waiting;
    int64_t began_us;        /* boot_us when the connection began */
    struct ledger_entry entry; /* its usage in the ledger */
    struct vs_member member; /* its row in the roster */
    struct access_grant grant;
    size_t parts;                  /* bytes written of an incomplete reply */
    uint64_t noted_ids;            /* member.ids at the last line of the access log */
    struct vs_multi *multi;        /* RESP: the open transaction (NULL: none) */
    struct client_listing *listing;    /* RESP: a partly sent list of clients (NULL: none) */
    struct vs_viewer *viewer;      /* HTTP: the viewer of an event stream (NULL: no stream) */
};

/* Returns whether a secret is required and the client has not sent it yet. */
static inline bool vs_session_is_stranger(const struct vs_session *session) {
    if (session->grant.accounts) return session->protocol != VS_ADMIN && !session->grant.account;
    return session->protocol == VS_RESP && session->server->rules.resp_password && !session->known;
}

/* Returns whether a waiting request must be tried before its turn: its job is done, the time that a policy allowed is
 * over, or it waits for a policy's verdict. */
bool vs_session_is_due(const struct vs_session *session, int64_t now_us);

/* Charge memory to the connection's client, and release the charge.  vs_session_take returns false if a limit would be
 * exceeded. */
bool vs_session_take(struct vs_session *session, size_t bytes);
void vs_session_give(struct vs_session *session, size_t bytes);
/* Makes room for `count` ids in session->waiting.ids.  Returns false if there is no memory. */
bool vs_session_keep(struct vs_session *session, size_t count);
/* Releases all that the session holds, because the connection closes. */
void vs_session_end(struct vs_session *session);

/* Reads one request from buf and appends its reply to out, which has room for VS_REPLY_MAX.  Returns the same values as
 * net_calls.step.  After NET_WAITS or NET_PART, waiting.bytes is the number of consumed bytes, and vs_..._again
 * continues the request. */
int vs_http_step(struct vs_session *session, const char *buf, size_t len, struct vs_out *out);
int vs_resp_step(struct vs_session *session, const char *buf, size_t len, struct vs_out *out);
/* Continue a request that waits or has an incomplete reply. */
int vs_http_again(struct vs_session *session, struct vs_out *out);
int vs_resp_again(struct vs_session *session, struct vs_out *out);

/* ---- waiters.c: queues of waiting requests */

/* Add the session to the queue of its request, and remove it. */
void vs_waiters_enter(struct vs_session *session);
void vs_waiters_leave(struct vs_session *session);
/* Resumes connections in each queue that is due, in order, until a connection must wait again.  vs_waiters_retry_all
 * treats all queues as due. */
void vs_waiters_retry(struct vs_scratch *scratch);
void vs_waiters_retry_all(struct vs_scratch *scratch);

#endif
