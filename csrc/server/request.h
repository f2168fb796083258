/* request.h -- a request as a handler sees it: what was asked, of which namespace, the reply being built.  Knows no
 * socket.
 *
 * A handler runs once and never blocks.  It states what it needs and which function goes on from there:
 * vs_request_enter finds the namespace or the tag, the vs_take_... functions (take.h) take ids, and the last function
 * writes the reply.  If something is not there yet, these return VS_WAITS, and wait.c runs the stage again later. */
#ifndef VS_REQUEST_H
#define VS_REQUEST_H

#include "server/session.h"
#include "server/tags.h"

enum vs_reply_state {
    VS_ANSWERED,
    VS_WAITS, /* for request->waits_for */
    VS_AGAIN, /* a part of the reply was written: request->stage writes the next one when there is room */
    VS_QUIT
};

/* What a request waits for. */
enum vs_waits_for {
    VS_FOR_NOTHING,
    VS_FOR_OPENING, /* its namespace is being opened */
    VS_FOR_SHARE,   /* its client, its address or its namespace is over a rate or a fair share */
    VS_FOR_TABLES,  /* the tables of tags are being read, and one of them may have its name */
    VS_FOR_IDS,
    VS_FOR_JOB /* a database has session->waiting.job */
};

/* What the name in a request must be.  If a namespace and a tag have the same name, the kinds up to VS_KIND_LAYOUT mean
 * the namespace, and the others mean the tag. */
enum vs_kind {
    VS_KIND_ANY,       /* a namespace, or a tag that issues numbers */
    VS_KIND_NAMESPACE, /* ids that have parts */
    VS_KIND_LAYOUT,    /* the same, if ids are only read or made by hand: the namespace may have ended */
    VS_KIND_ANY_TAG,   /* as VS_KIND_ANY; the handler rejects a namespace */
    VS_KIND_TAG,       /* numbers that count */
    VS_KIND_COUNTER,   /* ... and that are written in digits, because they are added up */
    VS_KIND_DENSE      /* ... without a gap */
};

struct vs_call;
struct vs_http;
struct vs_request;
typedef enum vs_reply_state vs_handler(struct vs_request *);

struct vs_request {
    struct vs_session *session;
    const struct vs_call *call;
    const struct vs_slice *arg; /* arg_count of them */
    int arg_count;
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
    enum vs_waits_for waits_for;
    int held;          /* VS_FOR_SHARE: enum vs_share_kind, which one */
    vs_handler *stage; /* runs when what the request waits for is there */
    vs_handler *then;  /* what the stage calls when it is done */
    /* vs_request_enter */
    enum vs_kind kind;
    int name, names, entered; /* the first of its arguments that are names, how many are, how many were entered */
    bool has_form;            /* some tag's numbers are written by a form */
    /* take.h */
    uint64_t n; /* ids that are wanted */
    union {
        struct vesta_block block;
        struct vesta_numbers numbers;
    } got;
    void (*fail)(struct vs_request *, const char *text); /* writes the reply of a failure; NULL: in the usual form */
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

/* The i-th argument; a NULL text where it was not given. */
static inline struct vs_slice vs_arg(const struct vs_request *request, int i) {
    return i < request->arg_count ? request->arg[i] : (struct vs_slice){NULL, 0};
}

/* Reads an argument as an id of the request's namespace.  false: it is none, and the reply says so. */
bool vs_read_id(struct vs_request *request, int at, uint64_t *id, struct vesta_parts *parts);

/* Writes an id as a reply, or as the next of an array: as the form of the request's tag says where there is one, else
 * in digits.  false: the form has no room for it, and the reply says so. */
bool vs_put_id(struct vs_request *request, uint64_t id);

/* Writes ids[0] as the reply. */
enum vs_reply_state vs_put_one(struct vs_request *request);

/* Reads an argument as how many are asked for, 1 where it was not given.  false: it is none of 1 to max, and the reply
 * says so. */
bool vs_read_up_to(struct vs_request *request, struct vs_slice count, uint64_t max, uint64_t *n);
/* ... of ids: nor more than this client may have of one request. */
bool vs_read_n(struct vs_request *request, struct vs_slice count, uint64_t max, uint64_t *n);

/* Admits a request and runs its handler.  VS_WAITS: session->waiting.request goes on after waiting.wait_us; VS_AGAIN: it
 * goes on when there is room; else the reply is complete, and vs_request_end is called when it was sent. */
enum vs_reply_state vs_request_run(struct vs_request *request);
/* Goes on with session->waiting.request, whose reply begins where `out` is; returns the same. */
enum vs_reply_state vs_request_go_on(struct vs_request *request, struct vs_out *out);
/* Counts a request that was answered, and forgets what was kept for it. */
void vs_request_end(struct vs_request *request);
/* Forgets the request that waits, if there is one: its connection closes. */
void vs_request_forget(struct vs_session *session);

/* Has `stage` run again when that is there, at the latest when the request may wait no longer.  Always VS_WAITS. */
static inline enum vs_reply_state vs_wait_for(struct vs_request *r, enum vs_waits_for what, vs_handler *stage) {
    r->waits_for = what;
    r->stage = stage;
    return VS_WAITS;
}

/* Answers with a failure: `code` is a stable name ("bad_id"), the rest a printf text.  Always VS_ANSWERED. */
enum vs_reply_state vs_refuse(struct vs_request *request, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Takes a refusal back: the request is answered after all. */
void vs_unrefuse(struct vs_request *request);

/* Answers with the admin's page, where a browser asks for it there. */
bool vs_put_page(struct vs_request *request);

/* Turns the request to a namespace. */
static inline void vs_request_turn(struct vs_request *r, struct vs_namespace *ns) {
    r->ns = ns;
    r->gen = vs_namespace_is_open(ns) ? ns->gen[r->protocol] : NULL; /* else another thread may be setting it */
    r->tag = NULL;
}

/* The queue of those that wait for an id of the same namespace or tag. */
static inline int vs_request_queue(const struct vs_request *r) {
    const struct vs_server *server = r->session->server;
    return VS_QUEUE_OF_IDS + (r->tag ? server->names.count + r->tag->place : (int)(r->ns - server->names.at));
}

/* Whose doing a failure is. */
enum vs_client_count vs_code_reason(int code);

void vs_shares_took(struct vs_request *request, uint64_t n); /* shares.h */

/* Counts ids that a request was given, from its namespace or tag. */
static inline void vs_count_ids(struct vs_request *r, uint64_t n) {
    struct vs_scratch *scratch = r->session->scratch;
    vs_add(r->tag ? &r->tag->counts[scratch->loop].given[r->protocol]
                  : &scratch->counts->ns[r->ns - r->session->server->names.at].ids[r->protocol],
           n);
    vs_add(&scratch->counts->of_client[r->session->grant.count][VS_CLIENT_IDS], n);
    if (!r->tag) scratch->unlooked += n;
    if (r->session->is_metered || access_pool_is_shared(&r->ns->pool) || scratch->unlooked >= scratch->look_every)
        vs_shares_took(r, n);
    vs_add(&r->session->member.ids, n);
}

/* Answers that there is no memory for what the request needs.  Always VS_ANSWERED. */
enum vs_reply_state vs_refuse_memory(struct vs_request *request);

#define VS_NO_NAME (1 << 30) /* no argument is the name: the first namespace is meant */
/* Turns the request to what its name means, charges it to a namespace, and calls `then`.  `name` is the argument that
 * contains the name; if it was not given, the first namespace is meant. */
enum vs_reply_state vs_request_enter(struct vs_request *request, int name, enum vs_kind kind, vs_handler *then);
/* The same for all arguments; the request is turned to the last one. */
enum vs_reply_state vs_request_enter_all(struct vs_request *request, vs_handler *then);
/* Rejects a request that has waited for its namespace or its tag for long enough.  Always VS_ANSWERED. */
enum vs_reply_state vs_request_not_entered(struct vs_request *request);
/* Whether a tag that the request asks was removed while it waited.  true: the request is rejected.  So no request gets a
 * number of a tag after another request heard that the tag is unknown. */
bool vs_request_is_lost(struct vs_request *request);
/* Turns the request to what a name means.  false: nothing, and it is as it was. */
bool vs_request_find(struct vs_request *request, struct vs_slice name);
/* The tags that there are for this request. */
struct vs_tag_set *vs_request_tags(struct vs_request *request);

#endif
