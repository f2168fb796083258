/* request.h -- a request as a handler sees it: what was asked, of which namespace, the reply being built; never a
 * socket.  A handler never blocks: where no id is to be had it returns VS_WAITS, and is called again later, with the
 * arguments as they were. */
#ifndef VS_REQUEST_H
#define VS_REQUEST_H

#include "server/net/session.h"
#include "server/tags.h"

enum vs_reply_state {
    VS_ANSWERED,
    VS_WAITS,
    VS_AGAIN, /* a part was answered, and there is no room for more */
    VS_QUIT
};

struct vs_call;
struct vs_http;
struct vs_request {
    struct vs_session *session;
    const struct vs_call *call;
    const struct vs_args *args;
    struct vs_out *out;        /* HTTP: takes the body */
    size_t start;              /* out->used where the reply, or the body, begins */
    struct vs_namespace *ns;   /* the namespace that is asked; the first until a handler knows better */
    struct vesta_gen *gen;     /* the namespace's, for this protocol; NULL until a handler has entered one */
    struct vs_served_tag *tag; /* the tag that is asked, instead of a namespace; else NULL */
    struct vs_tag_set *tags;   /* where it was found, this time; NULL: nothing was looked for yet */
    uint64_t *ids;             /* VESTA_BATCH_MAX of them */
    enum vs_protocol protocol;
    const struct vs_http *http;   /* what was asked, beside args; NULL: over RESP */
    bool json;                    /* HTTP: problems, and answers where there is a choice, are JSON */
    struct vs_namespace *opening; /* the namespace that is asked, where it is not open yet */
    int held;                     /* enum vs_share_kind: what it asks for is over its share just now */
    uint64_t most; /* ids that it may have: decided once, so that a reload changes no request that waits; 0: not yet */
    size_t charged;               /* namespaces that this run came by, and that are charged with the request */
    bool reading;                 /* the name that is asked may be that of a tag, whose table is about to be read */
    struct vs_slice bytes;        /* RESP: as it came; none where it waited, or is a transaction's */
    size_t behind;                /* how many more came right behind it */
    /* set with the reply */
    size_t also;      /* how many of those behind, that are the same byte by byte, were answered with it */
    int code;         /* of vs_code_name; 0: all is well */
    int status;       /* HTTP, as what follows */
    const char *type; /* of the content, where it is not what `json` says */
    int retry_after_s;
    bool is_page;             /* HTTP: a file of the page, which a browser is to let do nothing else */
    unsigned allow;           /* HTTP: methods to tell of; 0: none */
    const char *origin;       /* HTTP: the listed origin whose page may read the reply; NULL: none's */
    struct vesta_pause pause; /* VS_WAITS */
};

typedef enum vs_reply_state vs_handler(struct vs_request *);

/* The i-th argument; a NULL text where it was not given. */
struct vs_slice vs_arg(const struct vs_request *request, int i);

/* Reads an argument as an id of the request's namespace.  false: it is none, and the reply says so. */
bool vs_read_id(struct vs_request *request, int at, uint64_t *id, struct vesta_parts *parts);

/* Writes an id as a reply, or as the next of an array: as the form of the request's tag says where there is one, else
 * in digits.  false: the form has no room for it, and the reply says so. */
bool vs_put_id(struct vs_request *request, uint64_t id);

/* Reads an argument as how many are asked for, 1 where it was not given.  false: it is none of 1 to max, and the reply
 * says so. */
bool vs_read_up_to(struct vs_request *request, struct vs_slice count, uint64_t max, uint64_t *n);
/* ... of ids: nor more than this client may have of one request. */
bool vs_read_n(struct vs_request *request, struct vs_slice count, uint64_t max, uint64_t *n);

/* Runs a request's handler and settles a pause.  VS_WAITS: it is in session->waiting from now on, and shall be run
 * again after waiting.wait_us; VS_AGAIN: run it again when there is room; else the reply is complete. */
enum vs_reply_state vs_request_run(struct vs_request *request);
/* The request that waits, as it came, for a reply that begins where `out` is. */
struct vs_request vs_request_recall(struct vs_session *session, struct vs_out *out);

/* Answers with a failure: `code` is a stable name ("bad_id"), the rest a printf text.  Always VS_ANSWERED. */
enum vs_reply_state vs_refuse(struct vs_request *request, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Takes a refusal back: the request is answered after all. */
void vs_unrefuse(struct vs_request *request);
/* Answers with a failure of the server's own: what failed, and `why` for clients that may be shown it, since it may name
 * databases and paths.  Always VS_ANSWERED. */
enum vs_reply_state vs_refuse_why(struct vs_request *request, const char *code, const char *what, const char *why);

/* Answers with the admin's page, where a browser asks for it there. */
bool vs_put_page(struct vs_request *request);

/* Turns the request to a namespace. */
static inline void vs_request_turn(struct vs_request *r, struct vs_namespace *ns) {
    r->ns = ns;
    r->gen = vs_namespace_is_open(ns) ? ns->gen[r->protocol] : NULL; /* else another thread may be setting it */
    r->tag = NULL;
}

/* Where who waits for the same as this request queues up. */
static inline int vs_request_queue(const struct vs_request *r) {
    if (r->held) return VS_QUEUE_OF_SHARES;
    if (r->reading) return VS_QUEUE_OF_TABLES;
    const struct vs_app *app = r->session->app;
    return VS_QUEUE_OF_IDS + (r->tag ? app->ns_count + r->tag->place : (int)(r->ns - app->ns));
}

/* Whose doing a failure is. */
enum vs_client_count vs_code_reason(int code);

void vs_shares_took(struct vs_request *request, uint64_t n); /* shares.h */

/* Counts ids that a request was given, from its namespace or tag; a request that was answered. */
static inline void vs_count_ids(struct vs_request *r, uint64_t n) {
    struct vs_scratch *scratch = r->session->scratch;
    vs_add(r->tag ? &r->tag->counts[scratch->loop].given[r->protocol]
                  : &scratch->counts->ns[r->ns - r->session->app->ns].ids[r->protocol],
           n);
    vs_add(&scratch->counts->of_client[r->session->grant.count][VS_CLIENT_IDS], n);
    if (!r->tag) scratch->unlooked += n;
    if (r->session->share.is_metered || vs_pot_is_shared(&r->ns->pot) || scratch->unlooked >= scratch->look_every)
        vs_shares_took(r, n);
    vs_add(&r->session->member.ids, n);
}

static inline void vs_count_request(struct vs_request *r) {
    vs_count *of_client = r->session->scratch->counts->of_client[r->session->grant.count];
    vs_add(&of_client[r->code ? vs_code_reason(r->code) : VS_CLIENT_ANSWERED], 1 + r->also);
    vs_add(&r->session->scratch->counts->requests[r->session->protocol][r->code], 1 + r->also);
    vs_add(r->code ? &r->session->member.refused : &r->session->member.requests, 1 + r->also);
    atomic_store_explicit(&r->session->member.call, r->call, memory_order_relaxed);
    r->session->scratch->answered += 1 + r->also;
}

/* Answers that there is no memory for what the request needs.  Always VS_ANSWERED. */
enum vs_reply_state vs_refuse_memory(struct vs_request *request);

/* Turns the request to what a name means, a namespace or a tag; a name that was not given means the first namespace.
 * false: there is none, or it is not open, and the reply says so. */
bool vs_request_enter(struct vs_request *request, struct vs_slice name);
/* The same where only a namespace, or only a tag, is of use: for ids that have parts, for numbers that count. */
bool vs_request_enter_namespace(struct vs_request *request, struct vs_slice name);
/* A namespace whose ids are read, or made by hand: it may have ended. */
bool vs_request_enter_layout(struct vs_request *request, struct vs_slice name);
bool vs_request_enter_tag(struct vs_request *request, struct vs_slice name);
/* ... or only a tag whose numbers are written in digits: for numbers that add up. */
bool vs_request_enter_counter(struct vs_request *request, struct vs_slice name);
/* Turns the request to what a name means.  false: nothing, and it is as it was. */
bool vs_request_find(struct vs_request *request, struct vs_slice name);
/* The tags that there are for this request. */
struct vs_tag_set *vs_request_tags(struct vs_request *request);

#endif
