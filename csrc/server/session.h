/* session.h -- what a protocol knows of a connection: no socket is seen from here. */
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

/* Requests that wait for the tables of tags to be read, each for its own share; from VS_QUEUE_OF_IDS on: for an id of a
 * namespace, by its index, or for a number of a tag, by its place behind the namespaces. */
enum { VS_QUEUE_OF_TABLES, VS_QUEUE_OF_SHARES, VS_QUEUE_OF_IDS };
static inline int vs_queues_of(int namespaces) {
    return VS_QUEUE_OF_IDS + namespaces + VS_SERVED_TAGS_MAX;
}

TAILQ_HEAD(vs_waiters, vs_session);
TAILQ_HEAD(vs_waitlists, vs_waitlist);

/* Working memory of one loop: one request at a time. */
struct vs_scratch {
    const struct vs_serve_opts *opts; /* NULL, as the next: a test without a loop */
    struct served *served;
    struct net_loop *net;
    struct net_quantum quantum; /* of the connection that is served now */
    int loop;                   /* whose it is, as server->monitor.counts has them */
    bool draining;  /* the server is stopping */
    int64_t now_us; /* when this round began, by a clock that nobody sets */
    uint64_t unlooked, look_every; /* ids since it was looked at how much is left; and how often that is */
    struct vs_args args;
    uint64_t ids[VESTA_BATCH_MAX];
    char text[VS_HTTP_LINE_MAX + VS_HTTP_BODY_MAX]; /* percent-decoded parameters */
    struct vs_heads heads;
    struct vs_waitlist {
        int waiting;              /* connections of this loop that wait for an id of this namespace, or this tag */
        struct vesta_pause pause; /* what the last of them waits for */
        uint64_t charged_run;     /* the last run that was charged to this namespace as a request */
        struct vs_waiters waiters;
        uint64_t retry_at_ms; /* 0: no connection waits */
        TAILQ_ENTRY(vs_waitlist) waited;
    } * queue;                      /* vs_queues_of(server) */
    struct vs_waitlists waited_for; /* those in which a connection waits, or did since they were looked at */
    bool has_put_off;            /* queues that the last round had no time for */
    bool has_resumed;            /* a connection, since it began to look at the queues */
    uint64_t run;                 /* counts runs of handlers */
    uint64_t answered;            /* requests, in this step */
    uint64_t answered_now[VS_PROTOCOLS]; /* ... in this round, of those that came in it */
    uint64_t began_ns;            /* when those came that are answered now */
    struct ledger_memory shaking; /* memory of TLS handshakes, but for the first */
    struct {
        uint64_t id; /* of a connection; 0: none yet */
        char address[VS_PEER_TEXT_MAX];
    } noted;
    struct vs_http_plain http;
    int64_t usage_us;              /* as now_us: when INFO last measured the process; 0: never */
    struct vs_process_usage usage; /* what it measured */
    struct {
        int64_t at_us; /* as now_us; 0: never */
        bool is_ready;
    } ready; /* what /readyz last found, for clients that are shown no reasons */
    struct vs_counts *counts;
};

/* Makes what a loop has of each namespace.  false: no memory; what there is is freed as usual. */
bool vs_scratch_make(struct vs_scratch *scratch, int namespaces);
void vs_scratch_free(struct vs_scratch *scratch);

/* A request that waits: all that is known of it, so that nothing is parsed, taken or charged twice.  All zero: none. */
struct vs_waiting {
    struct vs_request *request; /* with its arguments; wait.c's */
    size_t bytes, size;         /* of it in what was read; of the memory that `request` has */
    struct vs_tag_set *tags;    /* in which its name was found: held; NULL: none */
    int64_t deadline_us;        /* by the fixed rules */
    int64_t wait_us;            /* try again after this long */
    int queue;                  /* ... in this one: vs_request_queue */
    bool by_policy;             /* past its deadline: one of server->waiting_by_policy */
    int64_t policy_until_us;    /* by the policy's verdict; 0: there is none yet */
    int64_t judged_until_us;    /* ... which is awaited until then */
    uint64_t *ids;              /* already taken for it: how many, and how many there is room for */
    size_t ids_count, ids_size;
    struct vs_desk_job *job; /* that it waits for; NULL: none */
    struct vs_charged {      /* to its rates */
        int64_t due_us;      /* when it may go on, as scratch->now_us; 0: now */
        int64_t again_us;    /* when it asks again */
        uint64_t ids;        /* that it has not taken yet */
        uint64_t client;     /* ledger_client_of when it was charged */
        struct vs_namespace *of; /* whose they are to be; NULL: a tag's */
        int kind;            /* enum vs_share_kind: the rate that due_us comes from */
        bool is_held;        /* it waited for a share, and was counted */
    } charged;
};

/* What a protocol knows of a connection. */
struct vs_session {
    struct net_conn *conn; /* NULL: a test without a loop */
    TAILQ_ENTRY(vs_session) queued;
    uint64_t stranger_ms; /* when it was first seen without its password; 0: it needs none, or said it */
    struct vs_server *server;
    struct vs_scratch *scratch;
    enum vs_protocol protocol;
    int wrong;    /* secrets that it sent */
    bool waits;   /* in a queue */
    bool local;   /* over a unix socket, and no balancer's */
    bool proxied; /* a balancer passes it on: whoever it is, nothing says that it is on this machine */
    bool secure;  /* over TLS */
    bool draining;  /* the server is stopping: this reply is the last */
    bool continued; /* HTTP: 100 Continue was sent for the request that is being read */
    bool known;     /* RESP: it said the password */
    bool by_config_token; /* admin: the config's own token was right */
    bool is_metered;      /* some rate holds for its requests */
    const char *certified; /* what its certificate calls it; NULL: it has shown none */
    const struct vs_peer *peer;
    uint64_t id;
    size_t need;    /* bytes that the next request has at least; 0: unknown */
    struct vs_waiting waiting;
    int64_t began_us;        /* boot_us */
    struct ledger_entry entry; /* what it is counted to */
    struct vs_member member; /* what of it others may see */
    struct access_grant grant;
    size_t parts;                  /* bytes of a reply that was begun, and is not complete */
    uint64_t noted_ids;            /* those that the access log has told of */
    struct vs_multi *multi;        /* RESP: the transaction that was begun; NULL: none */
    struct client_listing *listing;    /* RESP: a list of clients of which a part was answered; NULL: none */
    struct vs_viewer *viewer;      /* HTTP: what it reads from now on are events; NULL: it asks */
};

/* A secret is needed, and was not said yet. */
static inline bool vs_session_is_stranger(const struct vs_session *session) {
    if (session->grant.accounts) return session->protocol != VS_ADMIN && !session->grant.account;
    return session->protocol == VS_RESP && session->server->rules.resp_password && !session->known;
}

/* Whether a request that waits shall be tried out of turn: its job is done, or, by a policy, the verdict is still awaited
 * or the time that it granted is over. */
bool vs_session_is_due(const struct vs_session *session, int64_t now_us);

/* Counts memory that is held for a connection, and will be given back with the same number.  false: clients would hold
 * more than they may. */
bool vs_session_take(struct vs_session *session, size_t bytes);
void vs_session_give(struct vs_session *session, size_t bytes);
/* Makes room for so many ids in session->waiting.ids. */
bool vs_session_keep(struct vs_session *session, size_t count);
/* The connection closes: gives back what the session holds. */
void vs_session_end(struct vs_session *session);

/* Reads one request from buf and appends its reply to out, which has room for VS_REPLY_MAX.  Returns what net_calls.step
 * does.  After NET_WAITS, and after NET_PART, waiting.bytes are used, and vs_..._again goes on. */
int vs_http_step(struct vs_session *session, const char *buf, size_t len, struct vs_out *out);
int vs_resp_step(struct vs_session *session, const char *buf, size_t len, struct vs_out *out);
/* The same for the request that waits, or whose reply has begun. */
int vs_http_again(struct vs_session *session, struct vs_out *out);
int vs_resp_again(struct vs_session *session, struct vs_out *out);

/* ---- waiters.c: requests that wait, by what they wait for */

/* Waits in the queue of its request; waits no more. */
void vs_waiters_enter(struct vs_session *session);
void vs_waiters_leave(struct vs_session *session);
/* Goes on with the first of each queue that is due, and the next, until one must wait on; of all queues. */
void vs_waiters_retry(struct vs_scratch *scratch);
void vs_waiters_retry_all(struct vs_scratch *scratch);

#endif
