/* server.h -- what the program above asks of the server: addresses, and to serve until told to stop.
 * README says which file is what. */
#ifndef VS_SERVER_H
#define VS_SERVER_H

#include "access/ledger.h"
#include "base/table.h"
#include "os/address.h"
#include "policy/policies.h"

#include <stdatomic.h>

#define VS_THREADS_MAX 64
#define VS_NAMESPACES_MAX 16384
/* So many namespaces, the first of the config's, are told of one by one where all are told of; the others are counted,
 * or added up as VS_OTHERS.  Each can be asked for by its name. */
#define VS_NAMESPACES_TOLD 64
#define VS_OTHERS "(other)" /* which is no name */
#define VS_SERVED_TAGS_MAX 4096
#define VS_LISTENERS_MAX 48
#define VS_BY_POLICY_MAX 4096 /* requests that wait longer than by the fixed rules, for a policy */

enum vs_namespace_state {
    VS_NAMESPACE_OPEN,
    VS_NAMESPACE_OPENING, /* its generator is not open yet: requests are told to come again */
    VS_NAMESPACE_REFUSED, /* for good */
    VS_NAMESPACE_ENDED    /* its layout's time is over: its ids are read, and none are issued */
};

#define VS_NAMESPACE_WHY_MAX 512

/* A namespace that is served, or will be: loops serve the others meanwhile. */
struct vs_namespace {
    char name[VESTA_NAMESPACE_MAX];
    size_t name_length;
    int64_t wait_us_max;        /* how long a request may wait for an id without a policy */
    int64_t policy_wait_us_max; /* ... and how long by one */
    _Atomic int state;          /* enum vs_namespace_state */
    /* where it is open; set before it is */
    struct vesta_gen *gen[VS_ID_PROTOCOLS]; /* two handles on one file: they differ if method is by_protocol */
    uint64_t method[VS_ID_PROTOCOLS];       /* the field `method` of their ids; 0 if the layout has none to choose */
    const struct vesta_layout *layout;
    struct vesta_layout *ended; /* the layout of a namespace that had ended before it was opened; names/names.c frees it */
    struct access_pool pool;   /* its ids, while clients want more than there are */
    struct ledger_rates rates; /* of all clients together */
    char why[VS_NAMESPACE_WHY_MAX]; /* why it is not open; namespace.c's */
    /* requests that were told that there is no id, and of the last one why and how long; for the log */
    _Atomic uint64_t refused;
    _Atomic int refused_why;
    _Atomic int64_t refused_wait_us;
    bool is_assigned;      /* the config sets the worker id */
    atomic_bool was_ready; /* when it was looked at last: vs_namespace_seen */
};

static inline enum vs_namespace_state vs_namespace_state_of(const struct vs_namespace *ns) {
    /* acquire: pairs with vs_namespace_set, which comes behind `gen` and `layout` */
    return (enum vs_namespace_state)atomic_load_explicit(&ns->state, memory_order_acquire);
}

static inline bool vs_namespace_is_open(const struct vs_namespace *ns) {
    return vs_namespace_state_of(ns) == VS_NAMESPACE_OPEN;
}

/* Whether its layout's time is over, and the sentence for it.  No server can issue its ids, so a balancer gains nothing by
 * going elsewhere. */
bool vs_namespace_has_ended(const struct vs_namespace *ns, char why[VS_NAMESPACE_WHY_MAX]);

/* Ids per second that its layout allows one worker, or its rate limit if that is lower.  The namespace is open. */
uint64_t vs_namespace_capacity(const struct vs_namespace *ns);

/* How many requests it has refused an id; *pause is what the last one met. */
uint64_t vs_namespace_refused(const struct vs_namespace *ns, struct vesta_pause *pause);
/* Opens a namespace whose generator is there (`why` is NULL: who has just seen it closed still reads the last one), or
 * says why it is not open.  Threads: one at a time for a namespace. */
void vs_namespace_set(struct vs_namespace *ns, enum vs_namespace_state state, const char *why);
/* Why it is not open. */
const char *vs_namespace_why(const struct vs_namespace *ns, char buf[VS_NAMESPACE_WHY_MAX]);

struct net_server;
struct vs_tls;
struct vs_tls_server;
struct vs_counts;
struct vs_gate;
struct vs_tag_set;
struct vs_feed;
struct vs_history;
struct vs_recent;
struct vs_roster;
struct vs_access;
struct vs_out;

/* What was told of who holds a namespace's numbers: a list, and what came of reading it.  Zero: nothing. */
struct vs_holders_seen {
    uint64_t list, reading;
};
/* What is told of the certificate. */
struct vs_tls_status {
    int64_t expires_unix_s;
    char name[256], error[256]; /* whose it is; why its files could not be read again: "" where they could */
    const char *path;
};
#define VS_HOLDERS_BYTES_MAX (200 * 1024) /* of a namespace's list */

/* What is told of the tables of tags; an entry a row of the config's segments. */
struct vs_tags_status {
    int rows, unread; /* unread: tables that could not be read since the start */
    bool is_reading;  /* some of them are being read for the first time */
    uint64_t
        passed; /* tags that stand in a table and are not served, now: another bears the name, or there are too many */
    uint64_t gone_given[VS_ID_PROTOCOLS], gone_pauses; /* counts of tags that were taken away */
    char unread_why[VS_NAMESPACE_WHY_MAX];             /* of the first that is unread */
    uint64_t unusable; /* rows of tables whose values cannot be used: their tags are served, and have no numbers */
    char unusable_tag[VESTA_TAG_MAX], unusable_why[VS_NAMESPACE_WHY_MAX]; /* of the first, as a whole sentence */
};

/* The namespaces, and which has a name; names/names.c's. */
struct vs_names {
    struct vs_namespace *at; /* the first is meant where a request names none */
    int count;
    struct vs_table by_name; /* from a name to its index */
    atomic_int others_ready; /* of those that are not told of one by one, when they were looked at last */
};

/* The tags that are served, and the thread that reads their tables; tags.c's. */
struct vs_tags {
    struct vs_tag_set *_Atomic set; /* NULL: none were ever served */
    void (*reread)(void *self);     /* reads the tables now; NULL: the config has no segments */
    void (*status)(void *self, struct vs_tags_status *status); /* NULL: the same */
    void *self;
};

/* What the config allows.  Read-only. */
struct vs_rules {
    uint64_t n_max[VS_PROTOCOLS], blocks_max[VS_PROTOCOLS]; /* ids of a request, of a block; 0: as many as there may be */
    bool no_blocks[VS_PROTOCOLS];
    uint64_t idle_ms[VS_PROTOCOLS]; /* how long a client may be idle */
    bool has_rates;                  /* some namespace has one */
    const char *resp_password;       /* NULL: none is needed */
    const char *admin_token;         /* NULL: none is set */
    const char *const *tinyid_token; /* any of them will do; tinyid_token_count 0: none is asked for */
    int tinyid_token_count;
    const char *const *host, *const *origin; /* names of this server, "*": any; origins whose pages may ask */
    int host_count, origin_count;
    bool judges_hosts[VS_PROTOCOLS]; /* a name that anybody's DNS could give this address must be a listed one */
    bool state_is_admins;            /* HTTP: what tells of the server's state is on the admin's listeners alone */
    bool leaf_any_key;               /* Leaf's route gives ids of the first namespace under an unknown key */
};

/* What is counted and shown; made by vs_serve, but for the access log. */
struct vs_monitor {
    int64_t started_us;    /* boot_us when the server began */
    atomic_ullong clients; /* ever accepted */
    struct vs_feed *feed;  /* for who watches the server */
    struct vs_history *history;
    struct vs_recent *recent;
    struct vs_access *access; /* the log of requests; NULL: none is kept */
    struct vs_roster *roster; /* who is connected */
    const struct vs_counts *counts[VS_THREADS_MAX]; /* of the loops, to be added up by vs_total */
    int loop_count;
};

/* What the program above answers. */
struct vs_above {
    struct vs_policies policies; /* judge is NULL where there are no policies */
    /* appends, as members of an object, who holds which number of a namespace; with `seen`, only what is news since,
     * and false where nothing is; never waits for the store; NULL: not known here */
    bool (*holders)(void *self, int ns, struct vs_holders_seen *seen, struct vs_out *out);
    void *holders_self;
    void (*tls_status)(void *self, struct vs_tls_status *status); /* NULL: TLS is spoken nowhere */
    void *tls_self;
};

/* What the loops share: parts with one owner each.  A function takes the part that it needs. */
struct vs_server {
    struct vs_names names;
    struct vs_tags tags;
    struct vs_rules rules;
    struct vs_monitor monitor;
    struct vs_above above;
    struct vs_gate *gate;  /* who may ask; NULL: nobody is asked who it is but by the rules */
    struct ledger *ledger; /* what clients use; made by vs_serve, the caller's to free */
    const struct vesta_clock *clock;
    struct net_server *net;       /* while it serves */
    atomic_int waiting_by_policy; /* requests that wait for a policy now, VS_BY_POLICY_MAX at most */
    atomic_bool drain_asked;      /* by the admin */
};

/* ------------------------------------------------------------------ listening and serving */

struct vs_listener {
    enum vs_protocol protocol;
    int fd;
    bool handed; /* a service manager's: it goes on listening when this server ends */
    bool is_secure; /* TLS is spoken there */
};

struct vs_serve_opts {
    struct vs_server *server;
    struct vs_listener listener[VS_LISTENERS_MAX];
    int listener_count;
    int threads;                    /* 1 to VS_THREADS_MAX */
    int keepers;                    /* threads that call stores for the namespaces, see struct vs_limits_plan */
    const struct vs_network *proxy; /* whose connections begin with a PROXY header */
    int proxy_count;
    struct vs_limits limits;        /* as they were asked for */
    uint64_t auth_ms;               /* how long until it must have said the password */
    const struct vs_tls *tls;       /* NULL: no listener is secure */
    struct vs_tls_server *tls_server;
    void (*ready)(void *self);      /* called once, when connections and signals will be answered */
    /* HUP, USR1 or USR2 came: called on the first loop's thread, which shall not be held up; NULL: they are ignored */
    void (*on_signal)(void *self, int number);
    void (*stopping)(void *self); /* the first TERM or INT came; may be NULL */
    void *self;
};

/* HUP, USR1 and USR2 wait from here on until vs_serve watches for them: a log that is rotated while the server starts
 * is opened anew then.  Threads: the one that will call vs_serve, before it starts others. */
void vs_serve_hold_signals(void);

/* Serves until TERM or INT: then stops accepting, answers what is in flight and returns.  A second TERM or INT ends
 * the process at once.  Errors: VESTA_EIO, VESTA_ENOMEM. */
int vs_serve(const struct vs_serve_opts *opts, struct vesta_error *err);

/* Lets requests that wait ask again now: something was done about what they wait for.  Threads: any, while vs_serve
 * runs; nothing happens before and after. */
void vs_serve_wake(struct vs_server *server);

/* Ends serving as TERM does: nothing is left that could be served.  Threads: any, while vs_serve runs. */
void vs_serve_stop(struct vs_server *server);

/* Whether every loop has ended what it did at that instant (vs_monotonic_us): what was taken from it before is used no
 * more.  True while none runs.  Threads: any. */
bool vs_serve_passed(struct vs_server *server, int64_t since_us);

/* Whether every loop has swept within that time; true while none runs.  Threads: any. */
bool vs_serve_alive(struct vs_server *server, int64_t within_ms);

/* Whether a request for an id of that namespace would be served just now, if only after a wait of known length that it
 * may have, or because a policy lends it; else *pause says why not.  The one function behind /readyz, the metrics and
 * the log's word of it. */
bool vs_namespace_is_ready(const struct vs_server *server, const struct vs_namespace *ns, struct vesta_pause *pause);

/* The sentence for a pause of an open namespace: why there is no id, and the reason of a policy that refused to bridge
 * the pause.  Returns whether a policy refused.  Threads: any. */
#define VS_PAUSE_TEXT_MAX 512
bool vs_namespace_pause_text(const struct vs_server *server, const struct vs_namespace *ns,
                             const struct vesta_pause *pause, char text[VS_PAUSE_TEXT_MAX]);

/* Makes room for so many namespaces, of which there is none yet.  false: no memory; what there is is freed as usual. */
bool vs_namespaces_make(struct vs_names *names, int count);
void vs_namespaces_free(struct vs_names *names);
/* The next of them, by its name; all else of it is zero. */
struct vs_namespace *vs_namespace_add(struct vs_names *names, const char *name);
/* How many of them are told of one by one. */
static inline int vs_told(const struct vs_names *names) {
    return names->count < VS_NAMESPACES_TOLD ? names->count : VS_NAMESPACES_TOLD;
}
/* It was looked at, by the one thread that does so now and then.  How many of those that are not told of one by one were
 * not ready then: a server does not look at all of them for a question. */
void vs_namespace_seen(struct vs_names *names, struct vs_namespace *ns, bool is_ready);
int vs_others_unready(const struct vs_names *names);
/* The namespace of that name, or NULL; a name that is not given means the first. */
struct vs_namespace *vs_namespace_named(struct vs_names *names, const char *name, size_t length);

#endif
