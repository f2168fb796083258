/* request.h -- a request as a handler sees it: the arguments, the namespace, the reply being built.  Knows no socket.
 *
 * A handler runs once and never blocks.  It states its needs and the function that continues when they are met:
 * vs_request_enter finds the namespace or the tag, the vs_take_... functions (take.h) take ids, and the last function
 * writes the reply.  If something is not there yet, these functions return VS_WAITS, and wait.c runs the stage again
 * later. */
#ifndef VS_REQUEST_H
#define VS_REQUEST_H

#include "server/session.h"
#include "server/tags.h"

enum vs_reply_state {
    VS_ANSWERED,
    VS_WAITS, /* for request->waits_for */
    VS_AGAIN, /* a part of the reply is written: request->stage writes the next part when there is room */
    VS_QUIT
};

/* What a request waits for. */
enum vs_waits_for {
    VS_FOR_NOTHING,
    VS_FOR_OPENING, /* its namespace is being opened */
    VS_FOR_SHARE,   /* its client, its address or its namespace exceeds a rate or a fair share */
    VS_FOR_TABLES,  /* the tables of tags are being read, and one of them may have its name */
    VS_FOR_IDS,
    VS_FOR_JOB /* a database works on session->waiting.job */
};

/* The kind of name that a request accepts.  If a namespace and a tag have the same name, the kinds up to VS_KIND_LAYOUT
 * mean the namespace, and the others mean the tag. */
enum vs_kind {
    VS_KIND_ANY,       /* a namespace, or a tag that issues numbers */
    VS_KIND_NAMESPACE, /* a namespace, whose ids have parts */
    VS_KIND_LAYOUT,    /* a namespace whose ids are only decoded or made by hand: it may have ended */
    VS_KIND_ANY_TAG,   /* as VS_KIND_ANY, but the handler rejects a namespace */
    VS_KIND_TAG,       /* a tag */
    VS_KIND_COUNTER,   /* a tag whose numbers are digits, so that they can be added up */
    VS_KIND_DENSE      /* a tag whose numbers have no gap */
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
    struct vs_namespace *ns;   /* the namespace; the first one until a handler has entered another */
    struct vesta_gen *gen;     /* the namespace's handle for this protocol; NULL until a handler has entered one */
    struct vs_served_tag *tag; /* the tag, if the name means one, else NULL */
    struct vs_tag_set *tags;   /* the set in which tags are looked up; NULL until the first lookup */
    uint64_t *ids;             /* room for VESTA_BATCH_MAX */
    enum vs_protocol protocol;
    const struct vs_http *http;   /* the rest of the HTTP request (NULL: over RESP) */
    bool json;                    /* HTTP: problems are JSON, and so are answers that could be either */
    enum vs_waits_for waits_for;
    int held;          /* VS_FOR_SHARE: the enum vs_share_kind that it waits for */
    vs_handler *stage; /* runs when the request's needs are met */
    vs_handler *then;  /* runs after the stage */
    /* vs_request_enter */
    enum vs_kind kind;
    int name, names, entered; /* the first argument that is a name, the number of names, and how many were entered */
    bool has_form;            /* a tag's numbers are written by a form */
    /* take.h */
    uint64_t n; /* ids wanted */
    union {
        struct vesta_block block;
        struct vesta_numbers numbers;
    } got;
    void (*fail)(struct vs_request *, const char *text); /* writes the reply of a failure (NULL: the usual form) */
    struct vs_slice bytes;        /* RESP: the raw request; empty if it waited or belongs to a transaction */
    size_t behind;                /* bytes that were read after it */
    /* set with the reply */
    size_t also;      /* how many identical requests after it were answered together with it */
    int code;         /* index for vs_code_name (0: success) */
    int status;       /* HTTP, like the following members */
    const char *type; /* the content type, if `json` does not determine it */
    int retry_after_s;
    bool is_page;             /* HTTP: a file of the page: sent with a strict content security policy */
    unsigned allow;           /* HTTP: methods for the Allow header (0: none) */
    const char *origin;       /* HTTP: the listed origin whose page may read the reply (NULL: no page) */
    struct vesta_pause pause; /* set with VS_WAITS */
};

/* Returns the i-th argument; its text is NULL if it was not given. */
static inline struct vs_slice vs_arg(const struct vs_request *request, int i) {
    return i < request->arg_count ? request->arg[i] : (struct vs_slice){NULL, 0};
}

/* Reads an argument as an id of the request's namespace.  false: it is not an id, and the reply is an error. */
bool vs_read_id(struct vs_request *request, int at, uint64_t *id, struct vesta_parts *parts);

/* Writes an id as the reply, or as the next element of an array: in the form of the request's tag if it has one, else
 * in digits.  false: the form has no room for it, and the reply is an error. */
bool vs_put_id(struct vs_request *request, uint64_t id);

/* Writes ids[0] as the reply. */
enum vs_reply_state vs_put_one(struct vs_request *request);

/* Reads a count from 1 to max; 1 if it was not given.  false: it is out of range, and the reply is an error. */
bool vs_read_up_to(struct vs_request *request, struct vs_slice count, uint64_t max, uint64_t *n);
/* The same for a count of ids, which must not exceed the client's limit per request. */
bool vs_read_n(struct vs_request *request, struct vs_slice count, uint64_t max, uint64_t *n);

/* Checks a request's rights and rates, and runs its handler.  VS_WAITS: session->waiting.request goes on after
 * waiting.wait_us.  VS_AGAIN: it goes on when there is room.  Otherwise the reply is complete, and the caller calls
 * vs_request_end after sending it. */
enum vs_reply_state vs_request_run(struct vs_request *request);
/* Goes on with session->waiting.request, whose reply begins where `out` is.  Returns as vs_request_run. */
enum vs_reply_state vs_request_go_on(struct vs_request *request, struct vs_out *out);
/* Counts an answered request, and frees its memory. */
void vs_request_end(struct vs_request *request);
/* Discards the waiting request, if there is one, because its connection closes. */
void vs_request_forget(struct vs_session *session);

/* Makes `stage` run again when `what` is there, or when the request may wait no longer.  Always VS_WAITS. */
static inline enum vs_reply_state vs_wait_for(struct vs_request *r, enum vs_waits_for what, vs_handler *stage) {
    r->waits_for = what;
    r->stage = stage;
    return VS_WAITS;
}

/* Replies with an error: `code` is a stable name ("bad_id"), the rest a printf format.  Always VS_ANSWERED. */
enum vs_reply_state vs_refuse(struct vs_request *request, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Withdraws an error reply, so that the request can be answered after all. */
void vs_unrefuse(struct vs_request *request);

/* Replies with the admin's page if a browser requests it on an admin's listener. */
bool vs_put_page(struct vs_request *request);

/* Makes a namespace the request's. */
static inline void vs_request_turn(struct vs_request *r, struct vs_namespace *ns) {
    r->ns = ns;
    /* if not open, another thread may be writing gen */
    r->gen = vs_namespace_is_open(ns) ? ns->gen[r->protocol] : NULL;
    r->tag = NULL;
}

/* Returns the index of the queue for the request's namespace or tag. */
static inline int vs_request_queue(const struct vs_request *r) {
    const struct vs_server *server = r->session->server;
    return VS_QUEUE_OF_IDS + (r->tag ? server->names.count + r->tag->place : (int)(r->ns - server->names.at));
}

/* Returns the client counter that a failure belongs to. */
enum vs_client_count vs_code_reason(int code);

void vs_shares_took(struct vs_request *request, uint64_t n); /* shares.h */

/* Counts ids that the request received. */
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

/* Replies that the memory for clients is used up.  Always VS_ANSWERED. */
enum vs_reply_state vs_refuse_memory(struct vs_request *request);

#define VS_NO_NAME (1 << 30) /* no argument is the name: the request means the first namespace */
/* Finds what the name means, makes it the request's, charges the request to a namespace, and calls `then`.  `name` is
 * the index of the argument; if that was not given, the request means the first namespace. */
enum vs_reply_state vs_request_enter(struct vs_request *request, int name, enum vs_kind kind, vs_handler *then);
/* The same for all arguments.  The last one becomes the request's. */
enum vs_reply_state vs_request_enter_all(struct vs_request *request, vs_handler *then);
/* Rejects a request that has waited long enough for its namespace or its tag.  Always VS_ANSWERED. */
enum vs_reply_state vs_request_not_entered(struct vs_request *request);
/* Returns whether the request's tag was removed while it waited, and then rejects the request.  So no request receives
 * a number of a tag after another request was told that the tag is unknown. */
bool vs_request_is_lost(struct vs_request *request);
/* Makes what a name means the request's.  false: the name is unknown, and the request is unchanged. */
bool vs_request_find(struct vs_request *request, struct vs_slice name);
/* Returns the tags that this request can see. */
struct vs_tag_set *vs_request_tags(struct vs_request *request);

#endif
