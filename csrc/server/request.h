/* request.h -- a request as handlers use it: the arguments, the namespace, the reply being built.  Contains no socket
 * code.
 *
 * A handler runs once and never blocks.  It calls vs_request_enter to find the namespace or tag, or a vs_take_...
 * function (take.h) to take ids, and passes the function that then continues the request.  The last such function
 * writes the reply.  If ids or a namespace are not available yet, the called function returns VS_WAITS, and wait.c runs
 * that stage again later. */
#ifndef VS_REQUEST_H
#define VS_REQUEST_H

#include "id/wide.h"
#include "server/session.h"
#include "server/tags.h"

enum vs_reply_state {
    VS_ANSWERED,
    VS_WAITS, /* waits for request->waits_for */
    VS_AGAIN, /* part of the reply is written, and request->stage writes the next part when there is room */
    VS_QUIT   /* the reply is written, and the connection must close */
};

enum vs_waits_for {
    VS_FOR_NOTHING,
    VS_FOR_OPENING, /* the namespace is being opened */
    VS_FOR_SHARE,   /* the client, address or namespace exceeds a rate limit or a fair share */
    VS_FOR_TABLES,  /* tables of tags are being read, and may contain the name */
    VS_FOR_IDS,
    VS_FOR_LEASE, /* a store works on session->waiting.job, for another program */
    VS_FOR_JOB    /* a database works on session->waiting.job */
};

/* The kind of name that a request accepts.  If a namespace and a tag have the same name, kinds up to VS_KIND_LAYOUT
 * select the namespace, and later kinds select the tag. */
enum vs_kind {
    VS_KIND_ANY,       /* a namespace, or a tag that issues numbers */
    VS_KIND_NAMESPACE, /* a namespace */
    VS_KIND_MASKED,    /* a namespace or a tag with a mask, which is read (the layout may have ended) */
    VS_KIND_LAYOUT,    /* a namespace whose layout is used to decode or make ids (the layout may have ended) */
    VS_KIND_ANY_TAG,   /* as VS_KIND_ANY, but the handler rejects a namespace */
    VS_KIND_TAG,       /* a tag */
    VS_KIND_COUNTER,   /* a tag without a text form for its numbers */
    VS_KIND_DENSE      /* a tag with gapless numbers */
};

struct vs_call;
struct vs_http;
struct vs_request;
typedef enum vs_reply_state vs_handler(struct vs_request *);

struct vs_request {
    struct vs_session *session;
    const struct vs_call *call;
    const struct vs_slice *arg; /* array of arg_count arguments */
    int arg_count;
    struct vs_out *out;        /* for HTTP, receives the body */
    size_t start;              /* out->used where the reply, or the body, begins */
    struct vs_namespace *ns;   /* the entered namespace, initially the first */
    struct vesta_gen *gen;     /* the entered namespace's generator for this protocol (NULL: not entered) */
    struct vs_served_tag *tag; /* the entered tag (NULL: none) */
    struct vs_tag_set *tags;   /* the set for lookups of tags (NULL: no lookup yet) */
    uint64_t *ids;             /* room for VESTA_BATCH_MAX ids */
    enum vs_protocol protocol;
    const struct vs_http *http; /* the HTTP request (NULL: over RESP) */
    bool json;                  /* HTTP: errors, and replies that could be JSON or text, are JSON */
    enum vs_waits_for waits_for;
    int held;          /* VS_FOR_SHARE: the exhausted share (enum vs_share_kind) */
    vs_handler *stage; /* runs again when the request resumes */
    vs_handler *then;  /* runs after the stage */
    /* vs_request_enter */
    enum vs_kind kind;
    int name, names, entered; /* index of the first name in `arg`, number of names, number of entered names */
    bool has_form;            /* the ids of an entered namespace or tag have a text form */
    enum vesta_shape shape;   /* 0: ids of 64 bits */
    int prefix;               /* index of the argument with the prefix of TypeIDs (0: no TypeIDs) */
    /* take.h */
    uint64_t n; /* number of ids wanted, then of ids taken */
    union {
        struct vesta_block block;
        struct vesta_numbers numbers;
    } got;
    void (*fail)(struct vs_request *, const char *text); /* writes an error reply (NULL: the usual form) */
    struct vs_slice bytes; /* RESP: the raw request (empty if it waited or is part of a transaction) */
    size_t behind;         /* bytes of input after the request */
    /* set with the reply */
    size_t also;      /* number of identical requests after this request that were answered together with it */
    int code;         /* see vs_code_name (0: success) */
    int status;       /* HTTP: the status */
    const char *type; /* HTTP: the content type (NULL: determined by `json`) */
    int retry_after_s;
    bool is_page;             /* HTTP: a file of the admin page */
    unsigned allow;           /* HTTP: methods for the Allow header (0: none) */
    const char *origin;       /* HTTP: listed origin whose pages may read the reply (NULL: none) */
    struct vesta_pause pause; /* set with VS_WAITS: why no id is available */
};

/* Returns the i-th argument.  Its `at` is NULL if the argument is missing. */
static inline struct vs_slice vs_arg(const struct vs_request *request, int i) {
    return i < request->arg_count ? request->arg[i] : (struct vs_slice){NULL, 0};
}

/* Returns the mask of the request's ids, or NULL. */
static inline const struct vs_mask *vs_request_mask(const struct vs_request *r) {
    return r->tag ? r->tag->mask : r->ns->mask;
}

/* Returns whether the request's ids have a text form or a mask. */
static inline bool vs_request_has_text(const struct vs_request *r) {
    return vs_request_mask(r) || (r->tag && r->tag->form);
}

/* masked.c: writes the masked texts of n ids, one after the other, to `texts`.  If an id exceeds the mask, returns
 * false, and the reply is an error. */
bool vs_masked_write(struct vs_request *request, const uint64_t *ids, size_t n, char *texts);
/* Writes ids as elements of an array over RESP, as JSON strings, or as lines. */
void vs_masked_put(struct vs_request *request, const uint64_t *ids, size_t n);
/* Reads the number of a masked text.  If the client has no right to it, or the text is wrong, returns false, and the
 * reply is an error. */
bool vs_masked_read(struct vs_request *request, struct vs_slice text, uint64_t *number, int *version);

/* Reads an argument as an id of the request's namespace.  If it is not an id, returns false, and the reply is an
 * error. */
bool vs_read_id(struct vs_request *request, int at, uint64_t *id, struct vesta_parts *parts);

/* Writes an id as the reply or as the next element of an array: masked, or in the text form of the request's tag, or else
 * in digits.  If the number does not fit, returns false, and the reply is an error. */
bool vs_put_id(struct vs_request *request, uint64_t id);

/* Reads the shape of ids and the prefix of TypeIDs from two arguments, which may be missing.  If one of them is
 * invalid, or if the request's name has no such ids, returns false, and the reply is an error. */
bool vs_read_shape(struct vs_request *request, int shape, int prefix);

/* Writes ids[0] as the reply. */
enum vs_reply_state vs_put_one(struct vs_request *request);

/* Reads a count from 1 to max.  A missing count means 1.  If it is invalid, returns false, and the reply is an
 * error. */
bool vs_read_up_to(struct vs_request *request, struct vs_slice count, uint64_t max, uint64_t *n);
/* As vs_read_up_to, but the count must also not exceed the client's limit of ids per request. */
bool vs_read_n(struct vs_request *request, struct vs_slice count, uint64_t max, uint64_t *n);

/* Checks a request's rate limits and runs its handler.  VS_WAITS: the request continues after waiting.wait_us.
 * VS_AGAIN: the request continues when there is room for the next part of the reply.  In both cases,
 * session->waiting.request is the copy to continue.  Otherwise the reply is complete, and the caller must call
 * vs_request_end. */
enum vs_reply_state vs_request_run(struct vs_request *request);
/* Continues session->waiting.request and appends its reply to `out`.  Returns the same values as vs_request_run. */
enum vs_reply_state vs_request_go_on(struct vs_request *request, struct vs_out *out);
/* Counts an answered request and frees its memory. */
void vs_request_end(struct vs_request *request);
/* Discards the waiting request, if there is one, because its connection closes. */
void vs_request_forget(struct vs_session *session);

/* Makes `stage` run again when `what` may be available, or at the deadline.  Always returns VS_WAITS. */
static inline enum vs_reply_state vs_wait_for(struct vs_request *r, enum vs_waits_for what, vs_handler *stage) {
    r->waits_for = what;
    r->stage = stage;
    return VS_WAITS;
}

/* Replies with an error.  `code` is a name in faults.h ("bad_id").  Always returns VS_ANSWERED. */
enum vs_reply_state vs_refuse(struct vs_request *request, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Withdraws an error reply, so that the request can continue. */
void vs_unrefuse(struct vs_request *request);

/* Replies with the admin page if a browser requests it on an admin listener.  Returns whether it did. */
bool vs_put_page(struct vs_request *request);

static inline void vs_request_turn(struct vs_request *r, struct vs_namespace *ns) {
    r->ns = ns;
    /* if the namespace is not open, another thread may be writing ns->gen */
    r->gen = vs_namespace_is_open(ns) ? ns->gen[r->protocol] : NULL;
    r->tag = NULL;
}

/* Returns the index of the queue for the request's namespace or tag. */
static inline int vs_request_queue(const struct vs_request *r) {
    const struct vs_server *server = r->session->server;
    return VS_QUEUE_OF_IDS + (r->tag ? server->names.count + r->tag->place : (int)(r->ns - server->names.at));
}

/* Returns the client counter for an error code. */
enum vs_client_count vs_code_reason(int code);

void vs_shares_took(struct vs_request *request, uint64_t n); /* shares.h */

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

/* Replies that the memory for clients is used up.  Always returns VS_ANSWERED. */
enum vs_reply_state vs_refuse_memory(struct vs_request *request);

#define VS_NO_NAME (1 << 30) /* passed instead of an index: no argument is a name */
/* Finds the namespace or tag with the given name, sets it in the request, charges the request to the namespace, and
 * calls `then`.  `name` is the index of the argument.  If that argument is missing, the first namespace is used. */
enum vs_reply_state vs_request_enter(struct vs_request *request, int name, enum vs_kind kind, vs_handler *then);
/* As vs_request_enter, but all arguments are names.  Afterwards, the request's namespace or tag is the last one
 * named. */
enum vs_reply_state vs_request_enter_all(struct vs_request *request, vs_handler *then);
/* Rejects a request that has waited long enough for its namespace or tag.  Always returns VS_ANSWERED. */
enum vs_reply_state vs_request_not_entered(struct vs_request *request);
/* Returns whether the request's tag was removed while the request waited.  If so, rejects the request.  This ensures
 * that no request receives a tag's number after another request was rejected because the tag is unknown. */
bool vs_request_is_lost(struct vs_request *request);
/* Sets the request's namespace or tag by name.  If the name is unknown, returns false and does not change the
 * request. */
bool vs_request_find(struct vs_request *request, struct vs_slice name);
/* Returns the set in which the request looks up tags. */
struct vs_tag_set *vs_request_tags(struct vs_request *request);

#endif
