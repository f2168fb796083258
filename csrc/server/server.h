/* server.h -- the server for the program above it: namespaces, listeners, and a call that serves until a signal ends
 * it.  README lists the files. */
#ifndef VS_SERVER_H
#define VS_SERVER_H

#include "access/ledger.h"
#include "base/table.h"
#include "os/address.h"
#include "policy/policies.h"

#include <stdatomic.h>

#define VS_THREADS_MAX 64
#define VS_NAMESPACES_MAX 16384
/* Lists of all namespaces (/metrics, INFO, the page) show only the first ones of the config, up to this number.  The
 * rest are counted, or added up under the name VS_OTHERS.  A request can still name each of them. */
#define VS_NAMESPACES_TOLD 64
#define VS_OTHERS "(other)" /* no namespace can have this name */
#define VS_SERVED_TAGS_MAX 4096
#define VS_LISTENERS_MAX 48
#define VS_BY_POLICY_MAX 4096 /* requests that a policy lets wait beyond their fixed deadline */

enum vs_namespace_state {
    VS_NAMESPACE_OPEN,
    VS_NAMESPACE_OPENING, /* its generator is not open yet: clients should retry */
    VS_NAMESPACE_REFUSED, /* it cannot be opened, and no retry will help */
    VS_NAMESPACE_ENDED    /* its layout's time range has ended: ids can be decoded, but none are issued */
};

#define VS_NAMESPACE_WHY_MAX 512

/* A namespace of the config.  While it is not open, the loops serve the others. */
struct vs_namespace {
    char name[VESTA_NAMESPACE_MAX];
    size_t name_length;
    int64_t wait_us_max;        /* longest wait for an id if no policy decides */
    int64_t policy_wait_us_max; /* longest wait for an id by a policy's verdict */
    _Atomic int state;          /* enum vs_namespace_state */
    /* These are set before `state` becomes VS_NAMESPACE_OPEN. */
    struct vesta_gen *gen[VS_ID_PROTOCOLS]; /* two handles on one file: they differ if method is by_protocol */
    uint64_t method[VS_ID_PROTOCOLS];       /* the field `method` of their ids; 0 if the layout fixes it */
    const struct vesta_layout *layout;
    struct vesta_layout *ended; /* the layout, if its time range ended before the start (freed by names/names.c) */
    struct access_pool pool;   /* divides its ids among clients that want more than there are */
    struct ledger_rates rates; /* of all clients together */
    char why[VS_NAMESPACE_WHY_MAX]; /* why it is not open (private to namespace.c) */
    /* for the log: requests rejected for lack of an id, and the reason and wait of the last one */
    _Atomic uint64_t refused;
    _Atomic int refused_why;
    _Atomic int64_t refused_wait_us;
    bool is_assigned;      /* the config sets the worker id */
    atomic_bool was_ready; /* as vs_namespace_seen recorded it last */
};

static inline enum vs_namespace_state vs_namespace_state_of(const struct vs_namespace *ns) {
    /* acquire: pairs with vs_namespace_set, which runs after `gen` and `layout` are set */
    return (enum vs_namespace_state)atomic_load_explicit(&ns->state, memory_order_acquire);
}

static inline bool vs_namespace_is_open(const struct vs_namespace *ns) {
    return vs_namespace_state_of(ns) == VS_NAMESPACE_OPEN;
}

/* Returns whether the time range of its layout has ended, and writes the sentence for it.  No server can issue ids of
 * this layout any more, so such a namespace does not make the server unready: a balancer would gain nothing
 * elsewhere. */
bool vs_namespace_has_ended(const struct vs_namespace *ns, char why[VS_NAMESPACE_WHY_MAX]);

/* Returns the ids per second that its layout allows one worker, or its rate limit if that is lower.  The namespace is open. */
uint64_t vs_namespace_capacity(const struct vs_namespace *ns);

/* Returns how many requests were rejected for lack of an id; *pause is the pause of the last one. */
uint64_t vs_namespace_refused(const struct vs_namespace *ns, struct vesta_pause *pause);
/* Sets the state.  Before a namespace is opened its generator must be set.  `why` replaces the reason; NULL keeps it,
 * for threads that have just seen the namespace closed.  Threads: one at a time per namespace. */
void vs_namespace_set(struct vs_namespace *ns, enum vs_namespace_state state, const char *why);
/* Copies the reason why it is not open into buf, and returns buf. */
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

/* The versions of a namespace's worker list and of its reading that a viewer has already received.  Zero: none. */
struct vs_holders_seen {
    uint64_t list, reading;
};
/* The state of the TLS certificate, for status replies. */
struct vs_tls_status {
    int64_t expires_unix_s;
    char name[256], error[256]; /* its subject, and why the files could not be read again ("": they could) */
    const char *path;
};
#define VS_HOLDERS_BYTES_MAX (200 * 1024) /* of a namespace's worker list in JSON */

/* The state of the tables of tags, for status replies.  Each row of the config's `segments` is one table. */
struct vs_tags_status {
    int rows, unread; /* unread: tables that have not been read since the start */
    bool is_reading;  /* some of them are being read for the first time */
    uint64_t
        passed; /* tags in a table that are not served now: the name is taken, or there are too many tags */
    uint64_t gone_given[VS_ID_PROTOCOLS], gone_pauses; /* counts of tags that were removed */
    char unread_why[VS_NAMESPACE_WHY_MAX];             /* the error of the first unread table */
    uint64_t unusable; /* rows with values that cannot be used: their tags are served, but issue no numbers */
    char unusable_tag[VESTA_TAG_MAX], unusable_why[VS_NAMESPACE_WHY_MAX]; /* the first such tag, and why (a sentence) */
};

/* The namespaces and their names, owned by names/names.c. */
struct vs_names {
    struct vs_namespace *at; /* a request without a name means the first */
    int count;
    struct vs_table by_name; /* from a name to its index */
    atomic_int others_ready; /* ready ones beyond VS_NAMESPACES_TOLD, as vs_namespace_seen recorded them */
};

/* The served tags and the thread that reads their tables, owned by tags.c. */
struct vs_tags {
    struct vs_tag_set *_Atomic set; /* NULL: no tag was ever served */
    void (*reread)(void *self);     /* reads the tables now (NULL: the config has no segments) */
    void (*status)(void *self, struct vs_tags_status *status); /* NULL: the config has no segments */
    void *self;
};

/* Limits and permissions of the config.  Read-only. */
struct vs_rules {
    uint64_t n_max[VS_PROTOCOLS], blocks_max[VS_PROTOCOLS]; /* ids per request, per block (0: only the format's limit) */
    bool no_blocks[VS_PROTOCOLS];
    uint64_t idle_ms[VS_PROTOCOLS]; /* how long a connection may be idle */
    bool has_rates;                  /* some namespace has a rate limit */
    const char *resp_password;       /* NULL: no password is required */
    const char *admin_token;         /* NULL: none is configured */
    const char *const *tinyid_token; /* any of them is accepted */
    int tinyid_token_count;          /* 0: no token is required */
    const char *const *host, *const *origin; /* names of this server ("*": any), and permitted origins */
    int host_count, origin_count;
    bool judges_hosts[VS_PROTOCOLS]; /* a Host name that public DNS could point at this address must be listed */
    bool state_is_admins;            /* HTTP: only the admin's listeners answer routes about the server's state */
    bool leaf_any_key;               /* Leaf's route treats an unknown key as the first namespace */
};

/* Counts and views of the server.  vs_serve makes all of them except the access log. */
struct vs_monitor {
    int64_t started_us;    /* boot_us when the server began */
    atomic_ullong clients; /* ever accepted */
    struct vs_feed *feed;  /* the event stream of the admin's page */
    struct vs_history *history;
    struct vs_recent *recent;
    struct vs_access *access; /* the access log (NULL: none is kept) */
    struct vs_roster *roster; /* the open connections */
    const struct vs_counts *counts[VS_THREADS_MAX]; /* one per loop (vs_total adds them up) */
    int loop_count;
};

/* Callbacks of the program above. */
struct vs_above {
    struct vs_policies policies; /* judge is NULL if there are no policies */
    /* Appends, as members of an object, which process leases which worker id of a namespace.  With `seen` it appends
     * only changes since then, and returns false if there are none.  Never waits for the store.  NULL: unknown. */
    bool (*holders)(void *self, int ns, struct vs_holders_seen *seen, struct vs_out *out);
    void *holders_self;
    void (*tls_status)(void *self, struct vs_tls_status *status); /* NULL: no listener uses TLS */
    void *tls_self;
};

/* The state that all loops share.  Each part has one owner.  Functions take only the part that they need. */
struct vs_server {
    struct vs_names names;
    struct vs_tags tags;
    struct vs_rules rules;
    struct vs_monitor monitor;
    struct vs_above above;
    struct vs_gate *gate;  /* client accounts (NULL: only the passwords and tokens of `rules` apply) */
    struct ledger *ledger; /* usage of clients (made by vs_serve, freed by the caller) */
    const struct vesta_clock *clock;
    struct net_server *net;       /* while it serves */
    atomic_int waiting_by_policy; /* at most VS_BY_POLICY_MAX */
    atomic_bool drain_asked;      /* /admin/drain was called */
};

/* ------------------------------------------------------------------ listening and serving */

struct vs_listener {
    enum vs_protocol protocol;
    int fd;
    bool handed; /* a service manager passed it and keeps it open when this server ends */
    bool is_secure; /* TLS */
};

struct vs_serve_opts {
    struct vs_server *server;
    struct vs_listener listener[VS_LISTENERS_MAX];
    int listener_count;
    int threads;                    /* 1 to VS_THREADS_MAX */
    int keepers;                    /* threads that call stores for the namespaces, see struct vs_limits_plan */
    const struct vs_network *proxy; /* connections from these networks begin with a PROXY header */
    int proxy_count;
    struct vs_limits limits;        /* as configured, before they are fitted to the process */
    uint64_t auth_ms;               /* how long a client may take to authenticate */
    const struct vs_tls *tls;       /* NULL: no listener is secure */
    struct vs_tls_server *tls_server;
    void (*ready)(void *self);      /* called once, when connections and signals are served from now on */
    /* HUP, USR1 or USR2 was received.  Called on the first loop's thread, so it must not block.  NULL: ignored. */
    void (*on_signal)(void *self, int number);
    void (*stopping)(void *self); /* the first TERM or INT was received; may be NULL */
    void *self;
};

/* Blocks HUP, USR1 and USR2 until vs_serve handles them, so that a log rotated during the start is reopened afterwards.
 * Threads: the thread that will call vs_serve, before it starts others. */
void vs_serve_hold_signals(void);

/* Serves until TERM or INT, then stops accepting, finishes requests in flight and returns.  A second TERM or INT ends
 * the process at once.  Errors: VESTA_EIO, VESTA_ENOMEM. */
int vs_serve(const struct vs_serve_opts *opts, struct vesta_error *err);

/* Makes waiting requests try again now, because something they wait for may have changed.  Threads: any.  Has no effect
 * unless vs_serve runs. */
void vs_serve_wake(struct vs_server *server);

/* Stops serving as TERM does, because nothing is left to serve.  Threads: any, while vs_serve runs. */
void vs_serve_stop(struct vs_server *server);

/* Returns whether every loop has finished the step it was in at that instant (vs_monotonic_us).  If so, no loop uses
 * shared data that it read before.  True if no loop runs.  Threads: any. */
bool vs_serve_passed(struct vs_server *server, int64_t since_us);

/* Returns whether every loop has swept within that time.  True if no loop runs.  Threads: any. */
bool vs_serve_alive(struct vs_server *server, int64_t within_ms);

/* Returns whether a request for an id would be served now, at once, after a permitted wait of known length, or because
 * a policy lends ids.  Otherwise *pause is the reason. /readyz, the metrics and the log all use this function. */
bool vs_namespace_is_ready(const struct vs_server *server, const struct vs_namespace *ns, struct vesta_pause *pause);

/* Writes the sentence for a pause of an open namespace: why there is no id, and the reason of a policy that refused to
 * bridge the pause.  Returns whether a policy refused.  Threads: any. */
#define VS_PAUSE_TEXT_MAX 512
bool vs_namespace_pause_text(const struct vs_server *server, const struct vs_namespace *ns,
                             const struct vesta_pause *pause, char text[VS_PAUSE_TEXT_MAX]);

/* Allocates room for `count` namespaces, and adds none.  false: no memory.  In either case call vs_namespaces_free. */
bool vs_namespaces_make(struct vs_names *names, int count);
void vs_namespaces_free(struct vs_names *names);
/* Adds the next namespace.  All its members but the name are zero. */
struct vs_namespace *vs_namespace_add(struct vs_names *names, const char *name);
/* How many namespaces lists show one by one. */
static inline int vs_told(const struct vs_names *names) {
    return names->count < VS_NAMESPACES_TOLD ? names->count : VS_NAMESPACES_TOLD;
}
/* Records whether a namespace is ready.  Threads: the one that checks all of them regularly. */
void vs_namespace_seen(struct vs_names *names, struct vs_namespace *ns, bool is_ready);
/* How many namespaces beyond VS_NAMESPACES_TOLD were not ready when they were recorded last.  A request does not check
 * thousands of namespaces. */
int vs_others_unready(const struct vs_names *names);
/* Returns the namespace of that name, or NULL.  A NULL name means the first. */
struct vs_namespace *vs_namespace_named(struct vs_names *names, const char *name, size_t length);

#endif
