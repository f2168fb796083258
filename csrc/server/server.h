/* server.h -- the interface of the server for the program: namespaces, listeners, and a call that serves until a signal
 * stops it.  README lists the files. */
#ifndef VS_SERVER_H
#define VS_SERVER_H

#include "access/ledger.h"
#include "base/table.h"
#include "mask/mask.h"
#include "os/address.h"
#include "policy/policies.h"

#include <stdatomic.h>

#define VS_THREADS_MAX 64
#define VS_NAMESPACES_MAX 16384
/* Replies about all namespaces (/metrics, INFO, the page) list only this many namespaces, in the order of the config.
 * The other namespaces are counted, or added up under the name VS_OTHERS.  Requests can use all namespaces. */
#define VS_NAMESPACES_TOLD 64
#define VS_OTHERS "(other)" /* no namespace can have this name */
#define VS_SERVED_TAGS_MAX 4096
#define VS_LISTENERS_MAX 48
#define VS_BY_POLICY_MAX 4096 /* maximum number of requests that wait beyond their deadline because of a policy */

enum vs_namespace_state {
    VS_NAMESPACE_OPEN,
    VS_NAMESPACE_OPENING, /* the generator is not open yet, and clients should retry */
    VS_NAMESPACE_REFUSED, /* the namespace cannot be opened, and a retry does not help */
    VS_NAMESPACE_ENDED    /* the layout's time range has ended, so ids are decoded but not issued */
};

#define VS_NAMESPACE_WHY_MAX 512

struct vs_namespace {
    char name[VESTA_NAMESPACE_MAX];
    size_t name_length;
    int64_t wait_us_max;        /* longest wait for an id if no policy decides */
    int64_t policy_wait_us_max; /* longest wait for an id by a policy's verdict */
    _Atomic int state;          /* enum vs_namespace_state */
    /* These are set before `state` becomes VS_NAMESPACE_OPEN. */
    struct vesta_gen *gen[VS_ID_PROTOCOLS]; /* handles of one file, which differ only if `method` is by_protocol */
    uint64_t method[VS_ID_PROTOCOLS];       /* the field `method` of the ids (0 if the layout fixes it) */
    const struct vesta_layout *layout;
    struct vesta_layout *ended; /* owner of `layout` if its time range ended before the start (freed by names.c) */
    struct vs_mask *mask;      /* writes and reads the ids as masked texts (NULL: none) */
    const uint8_t *uuid_key;   /* shows UUIDs of version 7 as version 4 (NULL: they are shown as they are) */
    struct access_pool pool;   /* divides the ids if clients want more than are available */
    struct ledger_rates rates; /* rate limits for all clients together */
    char why[VS_NAMESPACE_WHY_MAX]; /* why the namespace is not open (private to namespace.c) */
    /* for the log: number of requests rejected for lack of an id, and reason and wait of the last such request */
    _Atomic uint64_t refused;
    _Atomic int refused_why;
    _Atomic int64_t refused_wait_us;
    bool is_assigned;      /* the config sets the worker id */
    atomic_bool was_ready; /* set by vs_namespace_seen */
};

static inline enum vs_namespace_state vs_namespace_state_of(const struct vs_namespace *ns) {
    /* acquire: pairs with vs_namespace_set, which is called after `gen` and `layout` are set */
    return (enum vs_namespace_state)atomic_load_explicit(&ns->state, memory_order_acquire);
}

static inline bool vs_namespace_is_open(const struct vs_namespace *ns) {
    return vs_namespace_state_of(ns) == VS_NAMESPACE_OPEN;
}

/* Returns whether the time range of the layout has ended.  If so, writes a sentence about it to `why`.  Such a
 * namespace does not make the server unready, because no other server can issue ids of this layout either. */
bool vs_namespace_has_ended(const struct vs_namespace *ns, char why[VS_NAMESPACE_WHY_MAX]);

/* Returns the ids per second that the layout allows one worker, or the rate limit if it is lower.  Requires an open
 * namespace. */
uint64_t vs_namespace_capacity(const struct vs_namespace *ns);

/* Returns how many requests were rejected for lack of an id, and sets *pause to the pause of the last such request. */
uint64_t vs_namespace_refused(const struct vs_namespace *ns, struct vesta_pause *pause);
/* Sets the state.  Set `gen` and `layout` before VS_NAMESPACE_OPEN.  `why` is the reason.  If `why` is NULL, the old
 * reason remains, because other threads may still read it.  Threads: one at a time per namespace. */
void vs_namespace_set(struct vs_namespace *ns, enum vs_namespace_state state, const char *why);
/* Copies the reason why the namespace is not open to buf, and returns buf. */
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
struct vs_desk;
struct vs_out;

/* How often a namespace's worker list had changed (`list`) and had been read (`reading`) when a viewer last received it
 * (0: never). */
struct vs_holders_seen {
    uint64_t list, reading;
};
/* The state of the TLS certificate, for status replies. */
struct vs_tls_status {
    int64_t expires_unix_s;
    char name[256], error[256]; /* error: why the last reload failed ("": it succeeded) */
    const char *path;
};
#define VS_HOLDERS_BYTES_MAX (200 * 1024) /* bytes of a namespace's worker list in JSON */

/* The state of the tables of tags, for status replies.  Each row of the config's `segments` is one table. */
struct vs_tags_status {
    int rows, unread; /* unread: tables that have not been read since the start */
    bool is_reading;  /* a table is being read for the first time */
    uint64_t
        passed; /* tags that are not served, because the name is already used or there are too many tags */
    uint64_t gone_given[VS_ID_PROTOCOLS], gone_pauses; /* counts of tags that were removed */
    char unread_why[VS_NAMESPACE_WHY_MAX];             /* the error of the first unread table */
    uint64_t unusable; /* rows with invalid values: their tags are served but do not issue numbers */
    char unusable_tag[VESTA_TAG_MAX], unusable_why[VS_NAMESPACE_WHY_MAX]; /* the first of these tags */
};

/* The namespaces and their names, owned by names/names.c. */
struct vs_names {
    struct vs_namespace *at; /* the first is used by requests without a name */
    int count;
    struct vs_table by_name; /* maps a name to its index */
    atomic_int others_ready; /* number of ready namespaces after the first VS_NAMESPACES_TOLD (vs_namespace_seen) */
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
    uint64_t n_max[VS_PROTOCOLS], blocks_max[VS_PROTOCOLS]; /* maximum ids per request, and per block (0: no limit) */
    bool no_blocks[VS_PROTOCOLS];
    uint64_t idle_ms[VS_PROTOCOLS]; /* how long a connection may be idle */
    bool has_rates;
    const char *resp_password;       /* NULL: no password is required */
    const char *admin_token;         /* NULL: no token is configured */
    const char *const *tinyid_token;
    int tinyid_token_count;          /* 0: no token is required */
    const char *const *host, *const *origin; /* host: names of this server ("*": any) */
    int host_count, origin_count;
    bool judges_hosts[VS_PROTOCOLS]; /* a Host name that public DNS could resolve must be listed */
    bool state_is_admins;            /* HTTP: routes about the server's state are only served on admin listeners */
    bool leaf_any_key;               /* Leaf's route uses the first namespace for an unknown key */
};

/* The namespaces whose worker ids clients may lease over the network, which may be other namespaces than the served
 * ones. */
struct vs_leases {
    const char *const *name;
    int count;
    struct vs_desk *desk; /* NULL: there are none */
};

/* Counters and monitoring of the server.  vs_serve creates all but the access log. */
struct vs_monitor {
    int64_t started_us;    /* boot_us when the server began */
    atomic_ullong clients; /* number of connections accepted so far */
    struct vs_feed *feed;  /* the event stream of the admin page */
    struct vs_history *history;
    struct vs_recent *recent;
    struct vs_access *access; /* the access log (NULL: none) */
    struct vs_roster *roster;
    const struct vs_counts *counts[VS_THREADS_MAX]; /* one per loop (vs_total adds them up) */
    int loop_count;
};

/* Callbacks of the program above. */
struct vs_above {
    struct vs_policies policies; /* judge is NULL if there are no policies */
    /* Appends, as members of an object, which process leases which worker id of a namespace.  If `seen` is not NULL,
     * only appends changes since *seen, and returns false if there are none.  Never waits for the store.  NULL: the
     * program cannot tell. */
    bool (*holders)(void *self, int ns, struct vs_holders_seen *seen, struct vs_out *out);
    void *holders_self;
    void (*tls_status)(void *self, struct vs_tls_status *status); /* NULL: no listener uses TLS */
    void *tls_self;
};

/* The state that all loops share.  Functions take only the part that they need. */
struct vs_server {
    struct vs_names names;
    struct vs_tags tags;
    struct vs_rules rules;
    struct vs_monitor monitor;
    struct vs_leases leases;
    struct vs_desk *marks; /* reads watermarks */
    struct vs_above above;
    struct vs_gate *gate;  /* client accounts (NULL: none, only the secrets in `rules` apply) */
    struct ledger *ledger; /* usage of clients (created by vs_serve, freed by the caller) */
    const struct vesta_clock *clock;
    struct net_server *net;       /* set while the server runs */
    atomic_int waiting_by_policy; /* requests that wait because of a policy (at most VS_BY_POLICY_MAX) */
    atomic_bool drain_asked;      /* /admin/drain was called */
};

/* ------------------------------------------------------------------ listening and serving */

struct vs_listener {
    enum vs_protocol protocol;
    int fd;
    bool handed; /* passed by a service manager, which keeps the socket open after this server ends */
    bool is_secure; /* TLS */
};

struct vs_serve_opts {
    struct vs_server *server;
    struct vs_listener listener[VS_LISTENERS_MAX];
    int listener_count;
    int threads;                    /* 1 to VS_THREADS_MAX */
    int keepers;                    /* number of threads that call stores (struct vs_limits_plan) */
    const struct vs_network *proxy; /* connections from these networks begin with a PROXY header */
    int proxy_count;
    struct vs_limits limits;        /* as configured (vs_serve adapts them to the process) */
    uint64_t auth_ms;               /* time limit for authentication */
    const struct vs_tls *tls;       /* NULL: no listener is secure */
    struct vs_tls_server *tls_server;
    void (*ready)(void *self);      /* called once, when the server begins to serve connections and signals */
    /* Called when HUP, USR1 or USR2 was received, on the first loop's thread, so it must not block.  NULL: ignored. */
    void (*on_signal)(void *self, int number);
    void (*stopping)(void *self); /* called when the first TERM or INT was received (may be NULL) */
    void *self;
};

/* Blocks HUP, USR1 and USR2 until vs_serve handles them, so that a log rotated during the start is reopened afterwards.
 * Threads: the thread that will call vs_serve, before it starts others. */
void vs_serve_hold_signals(void);

/* Serves until TERM or INT, then stops accepting, finishes requests in flight and returns.  A second TERM or INT ends
 * the process at once.  Errors: VESTA_EIO, VESTA_ENOMEM. */
int vs_serve(const struct vs_serve_opts *opts, struct vesta_error *err);

/* Makes waiting requests try again now.  Call it when an event occurs that they may wait for.  Has no effect unless
 * vs_serve runs.  Threads: any. */
void vs_serve_wake(struct vs_server *server);

/* Stops serving as TERM does.  Call it when nothing is left to serve.  Threads: any, while vs_serve runs. */
void vs_serve_stop(struct vs_server *server);

/* Returns whether every loop has finished the step that it ran at since_us (vs_monotonic_us).  If so, no loop uses
 * shared data that it read before since_us.  Returns true if no loop runs.  Threads: any. */
bool vs_serve_passed(struct vs_server *server, int64_t since_us);

/* Returns whether every loop has swept within the last within_ms.  Returns true if no loop runs.  Threads: any. */
bool vs_serve_alive(struct vs_server *server, int64_t within_ms);

/* Returns whether a request for an id would be served now: at once, after a permitted wait of known length, or because
 * a policy lends ids.  Otherwise sets *pause to the reason. /readyz, the metrics and the log all use this function. */
bool vs_namespace_is_ready(const struct vs_server *server, const struct vs_namespace *ns, struct vesta_pause *pause);

/* Writes why an open namespace has no id, followed by the reason of a policy that rejected a request in this pause.
 * Returns whether a policy rejected it.  Threads: any. */
#define VS_PAUSE_TEXT_MAX 512
bool vs_namespace_pause_text(const struct vs_server *server, const struct vs_namespace *ns,
                             const struct vesta_pause *pause, char text[VS_PAUSE_TEXT_MAX]);

/* Allocates room for `count` namespaces and adds none.  Returns false if there is no memory.  Call vs_namespaces_free
 * in either case. */
bool vs_namespaces_make(struct vs_names *names, int count);
void vs_namespaces_free(struct vs_names *names);
/* Adds a namespace.  All its members but the name are zero. */
struct vs_namespace *vs_namespace_add(struct vs_names *names, const char *name);
/* Returns how many namespaces are listed separately. */
static inline int vs_told(const struct vs_names *names) {
    return names->count < VS_NAMESPACES_TOLD ? names->count : VS_NAMESPACES_TOLD;
}
/* Records whether a namespace is ready.  Threads: the thread that regularly checks all namespaces. */
void vs_namespace_seen(struct vs_names *names, struct vs_namespace *ns, bool is_ready);
/* Returns how many namespaces after the first VS_NAMESPACES_TOLD were not ready when vs_namespace_seen recorded them
 * last.  A request must not check thousands of namespaces itself. */
int vs_others_unready(const struct vs_names *names);
/* Returns the namespace of that name, or NULL.  If the name is NULL, returns the first namespace. */
struct vs_namespace *vs_namespace_named(struct vs_names *names, const char *name, size_t length);

#endif
