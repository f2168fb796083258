/* store.h -- the interface that every lease store implements.  Only a backend's own files include the headers of its
 * client library.
 *
 * A call blocks until its deadline at most.  One thread at a time (a keeper) makes calls.  A connection stays open
 * between calls, and other stores with the same address may use it (pool.h).  If the connection breaks, the next call
 * opens a new one.  A forked child never uses or closes its parent's connections. */
#ifndef VS_STORE_H
#define VS_STORE_H

#include "base/error.h"
#include "lease/lease.h"
#include "segment/range.h"
#include "store/fault.h"

#include <stdatomic.h>

/* The maximum duration of one call, unless vs_lease_timing.call_ms has another value. */
#define VS_STORE_CALL_MS 800
/* The maximum duration of a listing.  It is longer, because a listing is only a hint, and no lease waits for it. */
#define VS_STORE_LIST_MS 10000

/* ------------------------------------------------------------------ counters */

struct vs_counter {
    const char *table; /* NULL: leaf_alloc.  Always NULL in a store without tables */
    const char *tag;   /* a name that vs_tag_is_named accepts */
};

/* The result of a take: the range [from, until), of which only the numbers congruent to `remainder` modulo `delta`
 * belong to this store. */
struct vs_grant {
    uint64_t from, until;
    uint64_t step;             /* the row's step.  0: the row has none */
    uint64_t delta, remainder; /* 1 and 0 if all numbers of the range belong to this store */
    int64_t held_until_ms;     /* for reserve: after this instant of the store's clock, `from` may be reserved again */
};

/* A database's share of a counter's numbers, if several databases grant them together.  This database grants the
 * numbers congruent to `remainder` modulo `delta`. */
struct vs_share {
    uint64_t delta, remainder; /* 1 and 0 if this database grants all numbers alone */
};

struct vs_reservation {
    uint64_t number;   /* used by settle only */
    uint64_t token[2]; /* random, and unique to this reservation */
    int64_t hold_ms;   /* used by reserve only */
    uint64_t granted;  /* this host was granted all numbers of the counter below this one.  0: unknown */
};

/* A row with integer values, which may be out of range. */
struct vs_tag {
    char tag[VESTA_NAMESPACE_MAX];
    int64_t max; /* start of the next range */
    int64_t step, delta, remainder;
    int64_t updated_ms; /* by the store's clock.  0: unknown */
};
/* A row of a list.  Its values may be unusable: text, NULL, a number beyond 2^63, or a damaged record.  Such a row is
 * still listed, because otherwise a caller might add the tag again and repeat its numbers. */
#define VS_TAG_WHY_MAX 160
struct vs_tag_listed {
    char tag[VESTA_NAMESPACE_MAX];
    bool is_usable;
    union {
        struct vs_tag row;
        char why[VS_TAG_WHY_MAX];
    } has; /* read it with vs_tag_usable, so that no caller forgets the unusable case */
};
/* Returns the row's values.  If they cannot be used, returns NULL and sets *why to the reason, as the end of a
 * sentence. */
const struct vs_tag *vs_tag_usable(const struct vs_tag_listed *row, const char **why);

struct vs_tag_list {
    struct vs_tag_listed *rows;
    size_t count, room;
    size_t passed;              /* number of rows left out of the list because their names are not valid tags */
    char strange[VS_QUOTE_MAX]; /* the first of these names, quoted for messages */
};
#define VS_TAGS_MAX 100000 /* maximum number of counters in one table.  A longer list is REFUSED */

/* Returns whether a tag's name is valid, by the same rule as for a namespace: [A-Za-z0-9_.:-]{1,64}, without a dot in
 * front. */
bool vs_tag_is_named(const char *tag);

/* ------------------------------------------------------------------ calls */

/* The cause if a reserve, settle or keep_form is REFUSED. */
enum vs_refused_by {
    /* the store cannot execute the call now, because it is read-only, lacks a table, or forbids it */
    VS_BY_STORE,
    /* the number's row: the number was settled differently, or has another token.  This cause is final */
    VS_BY_RESERVATION,
    VS_BY_RIGHTS, /* this user may not use or create the table of forms */
    VS_BY_HISTORY /* the counter is below this host's granted numbers: the database was rolled back */
};

#define VS_REPLY_TEXT_MAX 768 /* enough for the address and a server's longest sentence */

/* The reply to a call.  `outcome` decides which other members are set. */
struct vs_reply {
    enum vs_outcome outcome;
    enum vs_fault fault;   /* set if the outcome is not OK.  Selects the remedy */
    size_t words;          /* offset in `text` of the store's own text, after its address */
    enum vs_refused_by by; /* set if a reserve, settle or keep_form is REFUSED */
    bool is_hint;          /* set by a list that did not exclude writers, so it may lack a record */
    bool forgets_form;     /* set by a vs_store_take that is OK, if this user may not record the numbers' form */
    uint64_t lowered;      /* for VS_BY_HISTORY: the counter's current value */
    int64_t store_ms;
    struct vs_record record;      /* set by read and swap */
    struct vs_ns_record ns;       /* set by ns_read and ns_swap */
    struct vs_grant grant;        /* set by take */
    char text[VS_REPLY_TEXT_MAX]; /* the reason of a failure, in the store's own text if there is one (vs_reply_say) */
};

/* Writes the reason of a failure as text for the user.  This is the reply's text, or `otherwise` if that is empty,
 * followed by the remedy of the fault.  If the buffer is too small, the store's address is left out first, and then the
 * remedy.  Returns buf. */
const char *vs_reply_say(const struct vs_reply *reply, const char *otherwise, char *buf, size_t size);

struct vs_store {
    const struct vs_backend *backend;
    const struct vs_store_leases *leases;     /* these three pointers are copied from the backend */
    const struct vs_store_counters *counters; /* NULL: the store has no counters */
    const struct vs_store_admin *admin;       /* NULL: the store has no such operations */
    const struct vesta_clock *clock;
    /* The maximum duration of a call and of a listing, including all waits in the client library.  0: a call takes only
     * as long as a disk access. */
    int64_t call_ms_max, list_ms_max;
    int64_t until_us;              /* deadline of the current call, in boot time */
    const _Atomic int64_t *cut_us; /* copied from vs_store_opts */
};

/* Generators whose own tables or nodes record the numbers that they have issued. */
enum vs_foreign_kind { VS_BUTTERFLY_DB, VS_BUTTERFLY_ZK, VS_LEAF, VS_UID, VS_VESTA_DB, VS_FOREIGN_KINDS };

struct vs_foreign {
    uint64_t worker;
    /* the time at which the number's holder must stop unless it renews, by the other generator's rules, or one of
     * these: */
    int64_t until_ms;
#define VS_FOREIGN_EVER INT64_MAX
#define VS_FOREIGN_FREE (-1)
    int64_t wall_ms; /* until_ms as the date and time written in the row, read as UTC.  0: there is no date */
    char who[VS_HOLDER_MAX];
};
struct vs_foreign_ask {
    enum vs_foreign_kind kind;
    const char *name;                 /* the generator's own name in its table, or NULL */
    const char *table;                /* NULL: the generator's usual table */
    uint64_t worker_max;              /* maximum of the layout's worker field */
    uint64_t skip_first, skip_beyond; /* rows with numbers from skip_first to below skip_beyond are ignored */
};
struct vs_foreign_list {
    struct vs_foreign *rows;
    size_t count, room;
    size_t usable, beyond;    /* number of rows within worker_max, and of rows beyond it */
    uint64_t lowest, highest; /* lowest and highest number of the usable rows */
    /* All numbers from issued_first to below issued_until were issued, with or without a row.  issued_until is 0 if the
     * generator does not count. */
    uint64_t issued_first, issued_until;
    const char *doubt; /* why issued_until may be too low, as the end of a sentence.  NULL: it is exact */
};
#define VS_FOREIGN_MAX 100000    /* maximum number of usable rows in one reply.  A longer list is REFUSED */
#define VS_FOREIGN_BEYOND_MAX 10 /* maximum number of listed rows beyond worker_max.  Further rows are only counted */
#define VS_FOREIGN_TABLE_MAX 64  /* maximum length of a table's name, which contains no backquote */
#define VS_FOREIGN_NAME_MAX 250

struct vs_store_opts {
    const char *namespace_;
    int group;                       /* gid that owns the created files, or -1 */
    const struct vesta_clock *clock; /* used as the store's clock if the store has none */
    const char *secret;              /* password or digest (user:password).  NULL: the secret is in the URI */
    int64_t call_ms_max;             /* 0 selects VS_STORE_CALL_MS */
    const _Atomic int64_t *cut_us;   /* boot time at which every call ends, unless it is 0.  May be NULL */
};

/* Reports one problem to an administrator, with the remedy. */
typedef void vs_tell_fault(void *to, const char *what, const char *todo);

/* All texts and options are copied, so the caller may free its arguments after the call.
 *
 * Outcomes.  A read is OK, REFUSED or DOWN.  A write can also be
 *     CONFLICT  the stored version differs, and `record` or `ns` is the stored record
 *     MOVED     the namespace's record differs
 *     UNKNOWN   the write was sent, but no reply came, so the store may have done it, or may still do it
 * DOWN guarantees that the call was not done and will not be done. */
/* The records of leases and of their namespace, for a keeper. */
struct vs_store_leases {
    /* Lists the namespace's records in ascending order of worker ids.  The list is a hint, and must never decide about
     * a lease. The caller frees *listed. */
    void (*list)(struct vs_store *store, struct vs_listed **listed, size_t *count, struct vs_reply *reply);
    void (*read)(struct vs_store *store, uint64_t worker, struct vs_reply *reply);
    /* Calls `tell` for each name that may be a namespace of the store, in no particular order.  If `of` is given, this
     * may be limited to that name and all names that continue it after a dot.  May take as long as a listing. */
    void (*names)(struct vs_store *store, const char *of, void (*tell)(void *to, const char *name), void *to,
                  struct vs_reply *reply);
    /* Returns whether a namespace of that name may exist.  NULL if this store has no quick way to find out.  Then use
     * `names`. */
    bool (*has)(struct vs_store *store, const char *name);
    /* Writes `record` with version old_ver + 1, in one atomic step.  Requires that the stored version is old_ver, where
     * 0 means no record.  The stored record must belong to the same claim (epoch and owner) as `record`, or to the
     * claim before that one.  Sets written_ms from the store's clock.  If this object has called ns_read, the same step
     * requires that the namespace's record has not changed since the last ns_read.  Otherwise the outcome is MOVED. */
    void (*swap)(struct vs_store *store, uint64_t worker, uint64_t old_ver, const struct vs_record *record,
                 struct vs_reply *reply);
    void (*ns_read)(struct vs_store *store, struct vs_reply *reply);
    /* Writes the namespace's record.  If the outcome is OK, reply->ns is the record that a later ns_read finds. */
    void (*ns_swap)(struct vs_store *store, uint64_t old_ver, const struct vs_ns_record *record,
                    struct vs_reply *reply);
    /* Announces that no call will be made until `until_boot_us`, so that the store can release a connection for others.
     * NULL if the store does not keep a connection open. */
    void (*idle)(struct vs_store *store, int64_t now_boot_us, int64_t until_boot_us);
    /* Returns whether the server may have changed since the last call.  Sends no request.  NULL if this store cannot
     * find out. */
    bool (*stirred)(struct vs_store *store, int64_t now_boot_us);
};

/* Operations on counters, which do not belong to a namespace.  Each write is one atomic, durable step, with the
 * outcomes above.  The outcome REFUSED, with the tag in the text, means that the tag does not exist, or that its row
 * has unusable values. */
struct vs_store_counters {
    /* Raises the counter by `step`, which is 1 to VS_RANGE_MAX, or 0 for the row's step.  reply->grant is the range
     * between the old and the new value.  CONFLICT means that another writer changed the row.  Try again.  UNKNOWN
     * means that the range is lost, because no caller may use it. */
    void (*take)(struct vs_store *store, const struct vs_counter *counter, uint64_t step, struct vs_reply *reply);
    /* Sets the counter from `until`, the end of a range that the caller was granted, back to `from`.  CONFLICT means
     * that the counter is not at `until`, or does not exist.  Never retry this call, whatever the reply. */
    void (*untake)(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t until,
                   struct vs_reply *reply);
    /* Lists the counters of a table, or of leaf_alloc if `table` is NULL, in no particular order.  The list must be
     * empty.  The caller frees its rows.  If the table is missing, the outcome is REFUSED if administrators create this
     * store's tables.  Otherwise the list is empty.  A ticket server's table appears as one tag with the table's name,
     * for imports only.  Its `max` is the next number or a higher one, and its delta and remainder are the server's
     * auto-increment settings. */
    void (*tags)(struct vs_store *store, const char *table, struct vs_tag_list *list, struct vs_reply *reply);
    /* Creates a counter with its first range at `from`.  CONFLICT means that the counter exists. */
    void (*tag_add)(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t step,
                    struct vs_reply *reply);
    void (*tag_step)(struct vs_store *store, const struct vs_counter *counter, uint64_t step, struct vs_reply *reply);
    /* Reserves a number for hold_ms and returns it in reply->grant.from.  This is the counter's lowest number with a
     * cancelled or expired reservation, or else its next number.  Draw a new token (vs_random) for each number.  After
     * UNKNOWN, repeat the call with the same token, and it returns the same number.  reserve and settle are NULL if the
     * store cannot issue numbers without gaps. */
    void (*reserve)(struct vs_store *store, const struct vs_counter *counter, const struct vs_reservation *wanted,
                    struct vs_reply *reply);
    /* Commits the number permanently, or cancels its reservation.  After UNKNOWN, repeat the call.  An expired
     * reservation can be committed until its number is reserved again.  If the outcome is REFUSED, `by` is the cause:
     * the number was reserved again, was settled differently, or was never reserved under that token. */
    void (*settle)(struct vs_store *store, const struct vs_counter *counter, const struct vs_reservation *reservation,
                   bool commit, struct vs_reply *reply);
    /* Raises the counter to `floor` if the counter is below it.  OK means that no range granted from now on starts
     * below `floor`. */
    void (*lift)(struct vs_store *store, const struct vs_counter *counter, uint64_t floor, struct vs_reply *reply);
    /* Compares a counter's share with the stored share, and stores it if no share is stored yet.  Otherwise two hosts
     * with different lists of databases could issue the same numbers.  OK means that the stored share equals this one,
     * and is durable.  A share with a delta of 1 is also OK if this user may not store it.  REFUSED means that a
     * different share is stored.  NULL if this store does not store shares. */
    void (*share)(struct vs_store *store, const struct vs_counter *counter, const struct vs_share *share,
                  struct vs_reply *reply);
    /* Compares the form in which callers write the counter's numbers with the stored form, and stores it if no form is
     * stored yet.  This is needed because numbers in two forms can have the same text.  `fingerprint` is the
     * fingerprint of the form, 1 to VS_NUMBER_MAX - 1.  If it is 0, the call only returns the stored fingerprint in
     * reply->grant.from, where 0 means none.  OK means that the stored form equals this one, and is durable.  REFUSED
     * means that a different form is stored.  REFUSED with VS_BY_RIGHTS means that this user may not store a form. */
    void (*keep_form)(struct vs_store *store, const struct vs_counter *counter, uint64_t fingerprint,
                      struct vs_reply *reply);
    /* Creates a table of counters, or leaf_alloc if `table` is NULL, if it is missing.  NULL if the first tag creates
     * the table. */
    void (*tag_init)(struct vs_store *store, const char *table, struct vs_reply *reply);
};

/* Operations for the administrator of a shared store. */
struct vs_store_admin {
    /* Reports problems of a working store, each with its remedy. */
    void (*inspect)(struct vs_store *store, vs_tell_fault *tell, void *to, struct vs_reply *reply);
    /* Creates the tables or the root node of a shared store if they are missing. */
    void (*init)(struct vs_store *store, struct vs_reply *reply);
    /* Reads the rows of another generator's own table or node.  The list must be empty.  The caller frees its rows.
     * REFUSED means that this store cannot have such rows, or that there are more than VS_FOREIGN_MAX. */
    void (*foreign)(struct vs_store *store, const struct vs_foreign_ask *ask, struct vs_foreign_list *list,
                    struct vs_reply *reply);
};

struct vs_backend {
    const char *scheme; /* for example "file" of file:/var/lib/vesta */
    const char *form;   /* the form of its URI in messages, for example "file:/DIR".  Parts in capitals are
                           placeholders */
    bool is_local;      /* the store is on this machine only, so a call takes no longer than a disk access */
    bool is_folder;     /* its URI names a folder of this machine, and the store does not need a client library */
    /* made: what `vesta store init` created.  rights: what a process needs to lease worker ids */
    const char *made, *rights;
    const char *secret; /* the config key of its secret: "password", "auth".  NULL: none */
    /* "": its URI accepts tls=verify and tls=off.  NULL: it has no connection.  Otherwise the reason why it has no TLS
     */
    const char *tls;
    /* Returns whether the backend can parse the URI: VESTA_OK or VESTA_EOPTION.  Does no I/O. */
    int (*check)(const char *uri, struct vesta_error *err);
    /* Opens the store.  Creates the folder or file on this host, but does not connect. */
    int (*open)(const char *uri, const struct vs_store_opts *opts, struct vs_store **store, struct vesta_error *err);
    void (*close)(struct vs_store *store);
    const struct vs_store_leases *leases;
    const struct vs_store_counters *counters; /* NULL: none */
    const struct vs_store_admin *admin;       /* NULL: only for a store on this machine, which needs no init */
};

/* The other backends are listed in CMakeLists.txt, and are loaded when a URI names them (store.c). */
extern const struct vs_backend vs_store_file;

/* Returns the backend for a URI's scheme.  If there is no such store, or this build lacks it, returns NULL and sets
 * err. */
const struct vs_backend *vs_store_of(const char *uri, struct vesta_error *err);
/* Returns whether a store with that scheme exists, in this build or not. */
bool vs_store_is_known(const char *uri);
/* The URI forms of all stores, including stores that are not installed.  A constant, because every help text contains
 * it and must not load modules. */
#define VS_STORE_FORMS "file:/DIR, sqlite:/FILE, mysql://USER@HOST/DB, postgresql://USER@HOST/DB or zk://HOSTS/PATH"
/* Lists the installed stores for which `is` returns true, as "mysql: or zk:".  Loads all of them.  Returns buf. */
#define VS_STORE_LIST_MAX 80
const char *vs_store_list(bool (*is)(const struct vs_backend *backend, const char *of), const char *of, char *buf);
/* Returns whether a URI starts with the fixed part of its store's form and continues after it. */
bool vs_store_is_formed(const char *uri);

/* Opens the store of a URI.  Errors: VESTA_EOPTION if this build lacks the scheme, or if the URI is invalid.
 * VESTA_EIO. */
int vs_store_open(const char *uri, const struct vs_store_opts *opts, struct vs_store **store, struct vesta_error *err);

/* Returns whether the store is on this machine.  Also returns false if this build lacks the scheme. */
bool vs_store_is_local(const char *uri);

/* Writes the folder of a store to buf of VS_URI_MAX bytes.  Returns buf, or NULL if the store is not a folder. */
const char *vs_store_folder(const char *uri, char *buf);
/* Writes the path of a store on this machine.  Returns false if the store is elsewhere, or if the URI is invalid. */
bool vs_store_place(const char *uri, char path[VS_URI_MAX]);
/* Writes the canonical URI.  For a store on this machine, there is one canonical URI per path.  For other stores, it is
 * the text itself.  Errors: VESTA_EOPTION, VESTA_EIO. */
int vs_store_canonical(const char *uri, char out[VS_URI_MAX], struct vesta_error *err);
/* Writes the URI of an absolute path.  Errors: VESTA_EIO if the URI is too long. */
int vs_uri_of_path(const char *scheme, const char *path, char out[VS_URI_MAX], struct vesta_error *err);
/* Converts the store's text in a generator file into a valid URI.  Earlier versions wrote '?', '#' and '%' of file: and
 * sqlite: paths unescaped. */
void vs_uri_of_kept(char uri[VS_URI_MAX]);
/* Works like vs_uri_path, for every scheme and without a message. */
bool vs_uri_place(const char *uri, char path[VS_URI_MAX]);

/* Returns VESTA_OK if this build has the URI's scheme and its backend can parse the URI.  Otherwise returns an error.
 */
int vs_store_check(const char *uri, struct vesta_error *err);

/* Returns the length of the password in a URI, and sets *at to its offset.  Returns 0 if there is no password. */
size_t vs_store_password(const char *uri, size_t *at);

/* Writes the URI for messages and generator files, with *** in place of the password, to buf of VS_URI_MAX bytes.
 * vs_store_open rejects such a URI unless the secret is passed separately.  Returns buf. */
const char *vs_store_public(const char *uri, char *buf);
void vs_store_hide(char uri[VS_URI_MAX]); /* replaces the password in `uri` itself */

/* Creates what the store needs (`vesta store init`). */
void vs_store_init(struct vs_store *store, struct vs_reply *reply);

/* The lowest number that a counter may issue at an instant.  The floor only rises.  If a counter has issued numbers
 * below the floor of the year 2000, it belongs to another application and is not lifted. */
struct vs_floor {
    /* returns the floor at that time, or 0 if no number may be issued then.  NULL: there is no floor */
    uint64_t (*at)(void *self, int64_t unix_ms);
    void *self;
    /* returns whether the number may be issued in this form.  NULL: every number may be issued */
    int (*fits)(void *self, uint64_t number);
    const char *form; /* the form in which callers write the numbers.  NULL: decimal digits */
    /* the caller also records the form, so it gets numbers even if the store's user may not record the form */
    bool is_kept;
};
uint64_t vs_form_fingerprint(const char *form); /* never returns 0 */
/* Fills the reply with REFUSED, because the tag's numbers are written in a different form. */
void vs_form_refuse(const char *tag, struct vs_reply *reply);
/* Calls the operation `share`.  Sets OK if the store does not store shares. */
void vs_store_share(struct vs_store *store, const struct vs_counter *counter, const struct vs_share *share,
                    struct vs_reply *reply);
/* Takes a range at or above the floor.  The floor is computed from the store's clock, so it is the same for all hosts.
 * A counter below the floor is lifted first, and the range of the first take is lost.  Outcomes: the same as for a
 * take. */
void vs_store_take(struct vs_store *store, const struct vs_counter *counter, uint64_t step,
                   const struct vs_floor *floor, struct vs_reply *reply);

/* Repairs a store that was rolled back (`vesta store advance`): calls vs_ns_put_right with fresh->incarnation, or
 * creates a missing record from `fresh`. */
void vs_store_advance(struct vs_store *store, const struct vs_ns_record *fresh, const struct vs_lease_timing *timing,
                      struct vs_reply *reply);

#endif
