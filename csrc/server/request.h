/* request.h -- what the files of the server share: limits, arguments, replies, requests, the table of commands.
 *
 * A handler sees a struct vs_request: a generator, arguments, a reply being built; never a socket.  It never blocks:
 * where no id is to be had it returns VS_PAUSED, and net.c tries the same bytes again a little later. */
#ifndef VS_REQUEST_H
#define VS_REQUEST_H

#include "server/accept.h"
#include "server/counts.h"

/* ------------------------------------------------------------------ limits */

#define VS_HTTP_LINE_MAX 4096  /* the request line */
#define VS_HTTP_HEAD_MAX 16384 /* request line and headers */
#define VS_HTTP_HEADERS_MAX 64
#define VS_HTTP_BODY_MAX 65536
#define VS_RESP_ARGS_MAX 1024
#define VS_RESP_BULK_MAX 65536
#define VS_RESP_INLINE_MAX 65536
#define VS_RESP_REQUEST_MAX (1 << 20)

#define VS_REPLY_MAX (288 * 1024) /* one reply */
#define VS_OUT_MAX (576 * 1024)   /* the replies of one write */
#define VS_READ_MAX 65536
#define VS_CLIENT_NAME_MAX 48
#define VS_REDIS_VERSION "7.0.0" /* clients read a version from it; ours stands in INFO's vesta_version */
#define VS_BLOCK_MAX 100000      /* ids of one block: who asks for more takes whole seconds from everybody else */

#define VS_PARTIAL_MS 10000 /* a request must be complete this long after its first byte */

_Static_assert(VESTA_BATCH_MAX *(VESTA_FORMAT_MAX + 4) + 16 <= VS_REPLY_MAX,
               "a batch fits a reply, as bulk strings too");
_Static_assert(VS_RESP_BULK_MAX + 32 <= VS_REPLY_MAX, "an echo fits a reply");
_Static_assert(2 * VS_REPLY_MAX <= VS_OUT_MAX, "there is room for a reply until half of it is full");

/* ------------------------------------------------------------------ arguments */

/* A word whose `at` is NULL was not given. */
struct vs_args {
    int count;
    const char *broken; /* set by a parser that returns < 0: why */
    bool is_inline;     /* RESP: typed by hand, without lengths */
    struct vs_slice at[VS_RESP_ARGS_MAX];
    char why[96];                   /* what `broken` points to, where the text has numbers in it */
    char typed[VS_RESP_INLINE_MAX]; /* RESP: words that were quoted */
};

bool vs_slice_is_case(struct vs_slice word, const char *name); /* ASCII letters in either case */
/* In a time that says nothing about the secret but its length. */
bool vs_slice_is_secret(struct vs_slice word, const char *secret);

/* ------------------------------------------------------------------ replies */

struct vs_out {
    char *at;
    size_t used, size;
    bool resp3; /* RESP: maps and nulls have a form of their own */
};

void vs_put(struct vs_out *out, const void *bytes, size_t length);
void vs_put_text(struct vs_out *out, const char *text);
void vs_put_uint(struct vs_out *out, uint64_t value);
void vs_put_int(struct vs_out *out, int64_t value);

/* JSON: a string (control characters become blanks); members of an object, with the comma that is needed; an object
 * or array, as a member or (name NULL) as an element.  The closing bracket is vs_put's. */
void vs_put_json(struct vs_out *out, const char *text);
void vs_json_key(struct vs_out *out, const char *name);
void vs_json_uint(struct vs_out *out, const char *name, uint64_t value);
void vs_json_int(struct vs_out *out, const char *name, int64_t value);
void vs_json_bool(struct vs_out *out, const char *name, bool value);
void vs_json_text(struct vs_out *out, const char *name, const char *value);
void vs_json_open(struct vs_out *out, const char *name, char bracket);

void vs_resp_simple(struct vs_out *out, const char *text);
void vs_resp_error(struct vs_out *out, const char *prefix, const char *text);
void vs_resp_bulk(struct vs_out *out, const void *bytes, size_t length);
void vs_resp_word(struct vs_out *out, const char *text);
void vs_resp_null(struct vs_out *out);
void vs_resp_null_array(struct vs_out *out);
void vs_resp_int(struct vs_out *out, int64_t value);
void vs_resp_array(struct vs_out *out, size_t count);
void vs_resp_map(struct vs_out *out, size_t count); /* of pairs */
void vs_resp_id(struct vs_out *out, uint64_t id);   /* the hot path's bulk string */

/* ------------------------------------------------------------------ requests */

enum { VS_OK_TEXT, VS_OK_JSON, VS_OK_HEADS };

/* Working memory of one loop: one request at a time. */
struct vs_scratch {
    struct vs_args args;
    uint64_t ids[VESTA_BATCH_MAX];
    char text[VS_HTTP_LINE_MAX + VS_HTTP_BODY_MAX]; /* percent-decoded parameters */
    struct {
        int waiting;              /* connections of this loop that wait for an id of this namespace */
        struct vesta_pause pause; /* what the last of them waits for */
    } line[VS_NAMESPACES_MAX];
    uint64_t answered; /* requests, since net.c last looked */
    struct {
        int64_t unix_s;            /* the second that `date` says */
        char date[48];             /* "Date: ..." with its line end; "" before the first second is known */
        char ok[VS_OK_HEADS][192]; /* the head of a plain 200, up to Content-Length's value */
        size_t ok_length[VS_OK_HEADS];
    } http;
    struct vs_counts counts;
};

/* What a protocol knows of a connection. */
struct vs_session {
    struct vs_app *app;
    struct vs_scratch *scratch;
    enum vs_protocol protocol;
    bool local; /* over a unix socket */
    const struct vs_peer *peer;
    uint64_t id;
    bool draining;                          /* the server is stopping: this reply is the last */
    bool continued;                         /* HTTP: 100 Continue was sent for the request that is being read */
    size_t need;                            /* bytes that the next request has at least; 0: unknown */
    int64_t deadline_us;                    /* a request waits for an id until then; 0: none waits */
    int64_t wait_us;                        /* VS_STEP_PAUSED: try again after this long */
    int line;                               /* ... in the line of this namespace, an index of app->ns */
    bool held;                              /* past its deadline, for a policy: one of app->held */
    int64_t held_until_us, judged_until_us; /* by the policy's word, until there is one; 0: not yet */
    uint64_t *kept;                         /* ids already taken for a waiting request */
    int64_t began_us;                       /* boot_us */
    size_t kept_count, kept_size;           /* how many there are; how many there is room for */
    size_t memory;                          /* bytes of app->budget that are held for this connection */
    char name[VS_CLIENT_NAME_MAX];
    bool resp3;             /* RESP: what the client asked for with HELLO */
    bool known;             /* RESP: it said the password */
    struct vs_multi *multi; /* RESP: the transaction that was begun; NULL: none */
};

/* RESP: a password is needed, and was not said yet. */
static inline bool vs_session_is_stranger(const struct vs_session *session) {
    return session->app->resp_password && !session->known;
}

enum vs_reply_state {
    VS_ANSWERED,
    VS_PAUSED,
    VS_AGAIN, /* a part was answered, and there is no room for more */
    VS_QUIT
};

struct vs_call;
struct vs_http;
struct vs_request {
    struct vs_session *session;
    const struct vs_call *call;
    const struct vs_args *args;
    struct vs_out *out;      /* HTTP: takes the body */
    size_t start;            /* out->used where the reply, or the body, begins */
    struct vs_namespace *ns; /* the namespace that is asked; the first until a handler knows better */
    struct vesta_gen *gen;   /* the namespace's, for this protocol; NULL until a handler has entered one */
    uint64_t *ids;           /* VESTA_BATCH_MAX of them */
    enum vs_protocol protocol;
    const struct vs_http *http;   /* what was asked, beside args; NULL: over RESP */
    bool json;                    /* HTTP: problems, and answers where there is a choice, are JSON */
    struct vs_namespace *opening; /* the namespace that is asked, where it is not open yet */
    /* set with the reply */
    int code;         /* of vs_code_name; 0: all is well */
    int status;       /* HTTP, as what follows */
    const char *type; /* of the content, where it is not what `json` says */
    int retry_after_s;
    unsigned allow;           /* HTTP: methods to tell of; 0: none */
    struct vesta_pause pause; /* VS_PAUSED */
};

typedef enum vs_reply_state vs_handler(struct vs_request *);

/* The i-th argument; a NULL text where it was not given. */
struct vs_slice vs_arg(const struct vs_request *request, int i);

/* ------------------------------------------------------------------ the table of commands */

enum vs_method { VS_GET = 1, VS_POST = 2, VS_HEAD = 4, VS_OTHER_METHOD = 8, VS_OPTIONS = 16 };
#define VS_READ_METHODS (VS_GET | VS_HEAD)
#define VS_ANY_METHOD (VS_GET | VS_HEAD | VS_POST)

/* What the Redis protocol must know of a command before it runs. */
enum vs_call_flags {
    VS_CALL_GIVES = 1,    /* ids */
    VS_CALL_KEY = 2,      /* its first argument is a name ... */
    VS_CALL_KEYS = 4,     /* ... or all are */
    VS_CALL_STRANGER = 8, /* also before the password */
    VS_CALL_NOW = 16,     /* in a transaction it is run, not queued */
    VS_CALL_ALONE = 32,   /* not in a transaction at all */
    VS_CALL_OPS = 64,     /* HTTP: on the admin's listeners, too ... */
    VS_CALL_ADMIN = 128   /* ... and only there */
};

struct vs_call {
    const char *name; /* RESP, upper case; NULL: not a RESP command */
    vs_handler *handler;
    int args_min, args_max; /* RESP, without the name */
    unsigned flags;         /* enum vs_call_flags */
    const char *route;      /* HTTP; NULL: none.  A route that ends in '/' takes the rest of the path as args[0] */
    unsigned methods;       /* enum vs_method */
    const char *params;     /* HTTP: query names in the order of args, "ns,n"; "*": any, as args name, value, ... */
    bool json;              /* HTTP: answers in JSON by default; else in plain text, as Vesta does */
    const char *help;
};

/* The i-th command, or NULL behind the last. */
const struct vs_call *vs_call_at(int i);
const struct vs_call *vs_call_named(struct vs_slice name);
/* The command of a path at that protocol; *rest is what follows a route that ends in '/'. */
const struct vs_call *vs_call_routed(struct vs_slice path, enum vs_protocol protocol, struct vs_slice *rest);
bool vs_call_is_at(const struct vs_call *call, enum vs_protocol protocol);

/* Runs a request's handler and settles a pause: VS_PAUSED means "try again after session->wait_us", else the reply is
 * complete. */
enum vs_reply_state vs_request_run(struct vs_request *request);

/* Answers with a failure: `code` is a stable name ("bad_id"), the rest a printf text.  Always VS_ANSWERED. */
enum vs_reply_state vs_refuse(struct vs_request *request, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The name of a request's code: "ok" for 0, then the failures'; NULL behind the last. */
const char *vs_code_name(int code);
int vs_code_named(const char *name); /* which there is */
/* The failure that a request has which could not be read and is answered with that HTTP status. */
const char *vs_code_of_status(int status);
const char *vs_status_reason(int status);

/* Turns the request to a namespace. */
static inline void vs_request_turn(struct vs_request *r, struct vs_namespace *ns) {
    r->ns = ns;
    r->gen = ns->gen[r->protocol];
}

/* Counts ids that a request was given, from its namespace; a request that was answered. */
static inline void vs_count_ids(struct vs_request *r, uint64_t n) {
    vs_add(&r->session->scratch->counts.ids[r->ns - r->session->app->ns][r->protocol], n);
}

static inline void vs_count_request(struct vs_request *r) {
    vs_add(&r->session->scratch->counts.requests[r->session->protocol][r->code], 1);
    r->session->scratch->answered++;
}

/* Reads an argument as an id of the request's namespace.  false: it is none, and the reply says so. */
bool vs_read_id(struct vs_request *request, int at, uint64_t *id, struct vesta_parts *parts);

/* Takes one id, or n ids (at most VESTA_BATCH_MAX) into request->ids, from the namespace or, where there are names, the
 * i-th from the namespace names[i], which exists; VS_PAUSED keeps what was taken for the next try.
 * Who comes while others of its loop wait for an id queues behind them. */
enum vs_reply_state vs_take_id(struct vs_request *request, uint64_t *id);
enum vs_reply_state vs_take_ids(struct vs_request *request, size_t n, const struct vs_slice *names);
enum vs_reply_state vs_take_block(struct vs_request *request, uint64_t n, struct vesta_block *block);
/* The same, from ids[*have] on, as far as that goes now; false: not to the end, and request->pause says why. */
bool vs_take_up_to(struct vs_request *request, uint64_t *ids, size_t *have, size_t n, const struct vs_slice *names);

/* Turns the request to a namespace; a name that was not given means the first.  false: there is none, or it is not
 * open, and the reply says so. */
bool vs_request_enter(struct vs_request *request, struct vs_slice name);

/* Whether a request that is held for a policy shall be tried out of turn: the policy's word is still awaited, or what
 * it granted is over. */
bool vs_session_is_due(const struct vs_session *session, int64_t now_us);

/* Counts memory that is held for a connection, and will be given back with the same number.  false: clients would hold
 * more than they may. */
bool vs_session_take(struct vs_session *session, size_t bytes);
void vs_session_give(struct vs_session *session, size_t bytes);
/* Makes room for so many ids in session->kept. */
bool vs_session_keep(struct vs_session *session, size_t count);
/* Answers that there is no memory for what the request needs.  Always VS_ANSWERED. */
enum vs_reply_state vs_refuse_memory(struct vs_request *request);

/* A request ended or was answered: nothing waits any more. */
void vs_session_settle(struct vs_session *session);
/* The connection closes: gives back what the session holds. */
void vs_session_end(struct vs_session *session);

vs_handler vs_on_next, vs_on_many, vs_on_some, vs_on_batch, vs_on_block, vs_on_explain, vs_on_expid, vs_on_transtime,
    vs_on_makeid, vs_on_make, vs_on_count;
vs_handler vs_on_leaf_get, vs_on_leaf_segment, vs_on_leaf_decode;
vs_handler vs_on_admin_reload, vs_on_admin_drain, vs_on_admin_log, vs_on_admin_status;
vs_handler vs_on_index, vs_on_healthz, vs_on_readyz, vs_on_metrics, vs_on_version;
vs_handler vs_on_ping, vs_on_echo, vs_on_quit, vs_on_select, vs_on_client, vs_on_hello, vs_on_auth, vs_on_reset,
    vs_on_ok, vs_on_wait;
vs_handler vs_on_multi, vs_on_exec, vs_on_discard, vs_on_watch;
vs_handler vs_on_command, vs_on_config, vs_on_info, vs_on_time, vs_on_dbsize, vs_on_vesta_info, vs_on_layouts;

/* ------------------------------------------------------------------ transactions (multi.c) */

/* Keeps a request until EXEC.  Always VS_ANSWERED. */
enum vs_reply_state vs_multi_queue(struct vs_request *request, const char *bytes, size_t length);
/* How many requests are queued; -1: there is no transaction. */
int vs_multi_count(const struct vs_session *session);
/* A command was refused: EXEC will be.  Nothing where there is no transaction. */
void vs_multi_fail(struct vs_session *session);
void vs_multi_end(struct vs_session *session);
/* True: EXEC is at work (or a command that is being queued is asked what it wants), so ids come from vs_multi_take. */
bool vs_multi_hands_out(const struct vs_session *session);
enum vs_reply_state vs_multi_take(struct vs_request *request, size_t n, const struct vs_slice *names);

/* ------------------------------------------------------------------ protocols */

struct vs_resp_limits {
    size_t args_max, bulk_max, inline_max;
};
extern const struct vs_resp_limits vs_resp_limits, vs_resp_stranger_limits;

/* One RESP request, multibulk or inline.  > 0: bytes used; 0: wants more; < 0: broken, out->broken says why.
 * Shape: out->at points into buf, or into out->typed; count is 0 for an empty line or array. */
int vs_resp_parse(const char *buf, size_t len, const struct vs_resp_limits *limits, struct vs_args *out);
/* The command of a request, whose name is taken off the arguments; NULL: there is none, and they are as they were. */
const struct vs_call *vs_resp_call(struct vs_args *args);

struct vs_http {
    unsigned method; /* one of enum vs_method */
    struct vs_slice path, query, body;
    struct vs_slice type; /* of the body */
    struct vs_slice authorization;
    bool keep_alive, http10;
    struct vs_accept accept;
    bool expects_continue;
    size_t need;        /* parser returned 0: bytes that the request has at least */
    int status;         /* parser returned < 0: the status to answer with */
    const char *broken; /* ... and why */
};

/* One HTTP/1.x request with its body.  > 0: bytes used; 0: wants more; < 0: broken, out->status and out->broken say
 * what to answer.  Shape: the texts point into buf. */
int vs_http_parse(const char *buf, size_t len, struct vs_http *out);

bool vs_http_is_v1(struct vs_slice path);

/* Fills args from the path's rest, the query and a form; settles in which type r is answered.  false: the reply is a
 * failure. */
bool vs_http_bind(struct vs_request *r, const struct vs_http *http, struct vs_slice rest);
bool vs_http_negotiate(struct vs_request *r, const struct vs_http *http);

/* Reads one request from buf and appends its reply to out, which has room for VS_REPLY_MAX.
 * > 0: bytes used; or one of enum vs_step. */
enum vs_step {
    VS_STEP_MORE = 0,    /* the request is not complete */
    VS_STEP_PAUSED = -1, /* nothing was appended: call again with the same bytes after session->wait_us */
    VS_STEP_CLOSE = -2,  /* what was appended is the last: write it and close */
    VS_STEP_AGAIN = -3   /* what was appended is a part of the reply: call again with the same bytes */
};
/* Makes the heads of replies that are made once a second, with the date. */
void vs_http_tick(struct vs_scratch *scratch, int64_t unix_s);

int vs_http_step(struct vs_session *session, const char *buf, size_t len, struct vs_out *out);
int vs_resp_step(struct vs_session *session, const char *buf, size_t len, struct vs_out *out);

#endif
