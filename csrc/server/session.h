/* session.h -- the server's state of a connection.  Knows no socket. */
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

/* The queues of a loop: requests that wait for the tables of tags to be read, requests that each wait for their own
 * share, and, from VS_QUEUE_OF_IDS on, one queue per namespace (by its index) and then per tag (by its place). */
enum { VS_QUEUE_OF_TABLES, VS_QUEUE_OF_SHARES, VS_QUEUE_OF_IDS };
static inline int vs_queues_of(int namespaces) {
    return VS_QUEUE_OF_IDS + namespaces + VS_SERVED_TAGS_MAX;
}

TAILQ_HEAD(vs_waiters, vs_session);
TAILQ_HEAD(vs_waitlists, vs_waitlist);

/* Working memory of one loop, which handles one request at a time. */
struct vs_scratch {
    const struct vs_serve_opts *opts; /* NULL, as the next two: a test without a loop */
    struct served *served;
    struct net_loop *net;
    struct net_quantum quantum; /* the time left for the connection that is being served */
    int loop;                   /* index in server->monitor.counts */
    bool draining;  /* the server is stopping */
    int64_t now_us; /* when this round began, by the monotonic clock */
    /* ids since the last look at the room left in the time unit; how many may pass before the next look */
    uint64_t unlooked, look_every;
    struct vs_args args;
    uint64_t ids[VESTA_BATCH_MAX];
    char text[VS_HTTP_LINE_MAX + VS_HTTP_BODY_MAX]; /* percent-decoded parameters */
    struct vs_heads heads;
    struct vs_waitlist {
        int waiting;              /* connections of this loop in this queue */
        struct vesta_pause pause; /* why the last of them waits */
        uint64_t charged_run;     /* `run` when a request was last charged to this namespace */
        struct vs_waiters waiters;
        uint64_t retry_at_ms; /* 0: no connection waits */
        TAILQ_ENTRY(vs_waitlist) waited;
    } * queue;                      /* vs_queues_of(server) */
    struct vs_waitlists waited_for; /* queues with waiting connections, and perhaps some that have become empty */
    bool has_put_off;            /* the last round had no time for some queues */
    bool has_resumed;            /* a connection was resumed since this round of the queues began */
    uint64_t run;                 /* number of handler runs */
    uint64_t answered;            /* requests answered in this step */
    uint64_t answered_now[VS_PROTOCOLS]; /* requests answered in this round, without those that had waited */
    uint64_t began_ns;            /* when the requests of this round were read */
    struct ledger_memory shaking; /* memory of TLS handshakes, except the first one */
    struct {
        uint64_t id; /* of a connection (0: none yet) */
        char address[VS_PEER_TEXT_MAX];
    } noted;
    struct vs_http_plain http;
    int64_t usage_us;              /* as now_us: when INFO last measured the process (0: never) */
    struct vs_process_usage usage; /* the result of that measurement */
    struct {
        int64_t at_us; /* as now_us (0: never) */
        bool is_ready;
    } ready; /* the last result of /readyz, for clients that may not see reasons */
    struct vs_counts *counts;
};

/* Allocates the queues of a loop.  false: no memory.  In either case call vs_scratch_free. */
bool vs_scratch_make(struct vs_scratch *scratch, int namespaces);
void vs_scratch_free(struct vs_scratch *scratch);

/* A request that waits, with all that was done for it, so that nothing is parsed, taken or charged twice.  All zero: no
 * request waits. */
struct vs_waiting {
    struct vs_request *request; /* including its arguments (owned by wait.c) */
    size_t bytes, size;         /* length of the request in the input, and size of `request` in memory */
    struct vs_tag_set *tags;    /* the set in which its name was found, held (NULL: none) */
    int64_t deadline_us;        /* by the fixed rules, without a policy */
    int64_t wait_us;            /* time until the next try */
    int queue;                  /* as vs_request_queue */
    bool by_policy;             /* past its deadline: counted in server->waiting_by_policy */
    int64_t policy_until_us;    /* until when the policy's verdict lets it wait (0: no verdict yet) */
    int64_t judged_until_us;    /* until when it waits for the verdict */
    uint64_t *ids;              /* taken for it so far */
    size_t ids_count, ids_size;
    struct vs_desk_job *job; /* the desk's job that it waits for (NULL: none) */
    struct vs_charged {      /* the charge to its rates */
        int64_t due_us;      /* when its turn comes, as scratch->now_us (0: now) */
        int64_t again_us;    /* when it checks its share again */
        uint64_t ids;        /* charged but not taken yet */
        uint64_t client;     /* ledger_client_of at the time of the charge */
        struct vs_namespace *of; /* the namespace (NULL: a tag) */
        int kind;            /* enum vs_share_kind: the rate that determines due_us */
        bool is_held;        /* it waited for a share and was counted for that */
    } charged;
};

/* The protocol's state of a connection. */
struct vs_session {
    struct net_conn *conn; /* NULL: a test without a loop */
    TAILQ_ENTRY(vs_session) queued;
    uint64_t stranger_ms; /* since when the client has not authenticated (0: it has, or need not) */
    struct vs_server *server;
    struct vs_scratch *scratch;
    enum vs_protocol protocol;
    int wrong;    /* wrong secrets received */
    bool waits;   /* in a queue */
    bool local;   /* over a unix socket, not forwarded by a balancer */
    bool proxied; /* forwarded by a balancer: the client may be on any machine */
    bool secure;  /* over TLS */
    bool draining;  /* the server is stopping: the connection closes after this reply */
    bool continued; /* HTTP: 100 Continue was sent for the request being read */
    bool known;     /* RESP: it authenticated with the password */
    bool by_config_token; /* admin: it sent the config's admin token */
    bool is_metered;      /* a rate limits its requests */
    const char *certified; /* the client name of its certificate (NULL: no certificate) */
    const struct vs_peer *peer;
    uint64_t id;
    size_t need;    /* least length of the next request (0: unknown) */
    struct vs_waiting waiting;
    int64_t began_us;        /* boot_us */
    struct ledger_entry entry; /* its usage in the ledger */
    struct vs_member member; /* its row in the roster */
    struct access_grant grant;
    size_t parts;                  /* bytes of an incomplete reply that were written */
    uint64_t noted_ids;            /* `ids` as last recorded in the access log */
    struct vs_multi *multi;        /* RESP: the open transaction (NULL: none) */
    struct client_listing *listing;    /* RESP: a partly written list of clients (NULL: none) */
    struct vs_viewer *viewer;      /* HTTP: the connection has become an event stream (NULL: it has not) */
};

/* Returns whether a secret is required and the client has not sent it yet. */
static inline bool vs_session_is_stranger(const struct vs_session *session) {
    if (session->grant.accounts) return session->protocol != VS_ADMIN && !session->grant.account;
    return session->protocol == VS_RESP && session->server->rules.resp_password && !session->known;
}

/* Returns whether a waiting request is to be tried before its turn: its job is done, it still waits for a policy's
 * verdict, or the time that the policy allowed has passed. */
bool vs_session_is_due(const struct vs_session *session, int64_t now_us);

/* Adds memory of a connection to the client's account.  vs_session_give must be called with the same size.  false:
 * clients would hold more than their limit. */
bool vs_session_take(struct vs_session *session, size_t bytes);
void vs_session_give(struct vs_session *session, size_t bytes);
/* Makes room for `count` ids in session->waiting.ids. */
bool vs_session_keep(struct vs_session *session, size_t count);
/* Releases all that the session holds, because the connection closes. */
void vs_session_end(struct vs_session *session);

/* Reads one request from buf and appends its reply to out, which has room for VS_REPLY_MAX.  Returns as net_calls.step.
 * After NET_WAITS and NET_PART, waiting.bytes were consumed, and vs_..._again goes on. */
int vs_http_step(struct vs_session *session, const char *buf, size_t len, struct vs_out *out);
int vs_resp_step(struct vs_session *session, const char *buf, size_t len, struct vs_out *out);
/* The same for a waiting request, or one whose reply has begun. */
int vs_http_again(struct vs_session *session, struct vs_out *out);
int vs_resp_again(struct vs_session *session, struct vs_out *out);

/* ---- waiters.c: queues of waiting requests */

/* Adds the session to the queue of its request; removes it. */
void vs_waiters_enter(struct vs_session *session);
void vs_waiters_leave(struct vs_session *session);
/* Resumes the connections of each queue that is due, in order, until one must wait on.  vs_waiters_retry_all treats all
 * queues as due. */
void vs_waiters_retry(struct vs_scratch *scratch);
void vs_waiters_retry_all(struct vs_scratch *scratch);

#endif
