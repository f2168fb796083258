/* store.h -- what every store of leases can do.  One backend a file; its foreign headers only there.
 *
 * Calls block, for no longer than their deadline, and are made by one thread at a time (a keeper).  A connection lives
 * between calls, which may be those of another store of that address (pool.h), and is made again by the next one where it
 * broke; a forked child leaves its parent's alone. */
#ifndef VS_STORE_H
#define VS_STORE_H

#include "base/error.h"
#include "lease/lease.h"
#include "segment/range.h"
#include "store/fault.h"

#include <stdatomic.h>

/* The longest that one call waits for a store, where nobody says how far it may be: see vs_lease_timing.call_ms. */
#define VS_STORE_CALL_MS 800
/* A listing is a hint that nobody's lease waits for, and may be long. */
#define VS_STORE_LIST_MS 10000

/* ------------------------------------------------------------------ counters */

/* Where a counter is: a tag of one of the store's tables of counters. */
struct vs_counter {
    const char *table; /* NULL: leaf_alloc.  A store without tables has no other */
    const char *tag;   /* vs_tag_is_named */
};

/* What a take granted: [from, until), of which the numbers congruent to `remainder` modulo `delta` are this store's. */
struct vs_grant {
    uint64_t from, until;
    uint64_t step;             /* the row's own; 0: it has none */
    uint64_t delta, remainder; /* 1 and 0: all of them */
    int64_t held_until_ms;     /* reserve: `from` may be given again after this instant, by the store's clock */
};

/* Of several databases that grant a counter's numbers together: this one grants those congruent to `remainder` modulo
 * `delta`. */
struct vs_share {
    uint64_t delta, remainder; /* 1 and 0: of a database that grants all of them alone */
};

/* A number that is to be reserved, or was. */
struct vs_reservation {
    uint64_t number;   /* of a settle */
    uint64_t token[2]; /* random, of this reservation alone */
    int64_t hold_ms;   /* of a reserve */
    uint64_t granted;  /* this host was granted all numbers of the counter below that; 0: it remembers none */
};

/* A row whose values are numbers, in their range or not: a take reports what is wrong with it. */
struct vs_tag {
    char tag[VESTA_NAMESPACE_MAX];
    int64_t max; /* where the next range begins */
    int64_t step, delta, remainder;
    int64_t updated_ms; /* by the store's clock; 0: it does not say */
};
/* A row of a list.  Its values may be unusable: a text, NULL, a number beyond 2^63, a damaged record.  Such a row is
 * there all the same: a caller that took it for absent would add the tag again, and repeat its numbers. */
#define VS_TAG_WHY_MAX 160
struct vs_tag_listed {
    char tag[VESTA_NAMESPACE_MAX];
    bool is_usable;
    union {
        struct vs_tag row;
        char why[VS_TAG_WHY_MAX];
    } has; /* read by vs_tag_usable alone, so that no caller forgets one of both */
};
/* The row's values; NULL with *why, as the end of a sentence, if they cannot be used. */
const struct vs_tag *vs_tag_usable(const struct vs_tag_listed *row, const char **why);

struct vs_tag_list {
    struct vs_tag_listed *rows;
    size_t count, room;
    size_t passed;              /* rows that are not in the list, because no tag can have their names, */
    char strange[VS_QUOTE_MAX]; /* and the first of them, as it may be shown */
};
#define VS_TAGS_MAX 100000 /* in one table; more are refused */

/* Whether a tag may be called so: as a namespace, [A-Za-z0-9_.:-]{1,64} and no dot in front. */
bool vs_tag_is_named(const char *tag);

/* ------------------------------------------------------------------ calls */

/* What a reserve, a settle or a keep_form was REFUSED by. */
enum vs_refused_by {
    VS_BY_STORE,       /* the store cannot do it now: it is read-only, lacks a table, forbids it */
    VS_BY_RESERVATION, /* the number's own row: it was settled otherwise, or is another token's.  For good */
    VS_BY_RIGHTS,      /* this user may not use the table that remembers forms, or make it */
    VS_BY_HISTORY      /* the counter stands below what this host was granted: the database went back */
};

#define VS_REPLY_TEXT_MAX 768 /* the longest sentence of a server, whole, behind its address */

/* What a call came to; `outcome` decides which of the others mean something. */
struct vs_reply {
    enum vs_outcome outcome;
    enum vs_fault fault;     /* not OK: what an operator does about it */
    size_t words;            /* where the store's own words begin in `text`, behind its place */
    enum vs_refused_by by;   /* REFUSED, of reserve, settle and keep_form */
    bool forgets_form;       /* OK, of vs_store_take: this user may not write down in which form the numbers are written */
    uint64_t lowered;        /* ... by history: where the counter stands */
    int64_t store_ms;        /* the store's clock */
    struct vs_record record; /* read, swap */
    struct vs_ns_record ns;  /* ns_read, ns_swap */
    struct vs_grant grant;   /* take */
    char text[VS_REPLY_TEXT_MAX]; /* why not, in the store's own words if it has any; see vs_reply_say */
};

/* Writes why not for people: the reply's text, and the remedy of its fault; `otherwise` stands for a reply without a
 * text.  If there is no room for all of it, the store's place is left out first, then the remedy.  Returns buf. */
const char *vs_reply_say(const struct vs_reply *reply, const char *otherwise, char *buf, size_t size);

struct vs_store {
    const struct vs_backend *backend;
    const struct vs_store_leases *leases;     /* these three as the backend has them */
    const struct vs_store_counters *counters; /* NULL: this store has no counters */
    const struct vs_store_admin *admin;       /* NULL: this store has nothing to administrate */
    const struct vesta_clock *clock;
    /* The longest that a call, or a listing, may take, with all that its client adds; 0: as long as a disk does. */
    int64_t call_ms_max, list_ms_max;
    int64_t until_us;              /* when the call under way is over, in boot time */
    const _Atomic int64_t *cut_us; /* as the option */
};

/* Generators whose own tables or nodes tell which numbers they have given out. */
enum vs_foreign_kind { VS_BUTTERFLY_DB, VS_BUTTERFLY_ZK, VS_LEAF, VS_UID, VS_VESTA_DB, VS_FOREIGN_KINDS };

struct vs_foreign {
    uint64_t worker;
    int64_t until_ms; /* when its holder stops unless it renews, as the store understands it; or one of these */
#define VS_FOREIGN_EVER INT64_MAX
#define VS_FOREIGN_FREE (-1)
    int64_t wall_ms; /* the same as the date and time that stand there, read as if in UTC; 0: none do */
    char who[VS_HOLDER_MAX];
};
/* Which of them are read. */
struct vs_foreign_ask {
    enum vs_foreign_kind kind;
    const char *name;                 /* the one that the generator goes by there, or NULL */
    const char *table;                /* NULL: the table that the generator makes */
    uint64_t worker_max;              /* of the layout's field */
    uint64_t skip_first, skip_beyond; /* numbers that need no row, from skip_first to below skip_beyond */
};
struct vs_foreign_list {
    struct vs_foreign *rows;
    size_t count, room;
    size_t usable, beyond;    /* how many rows are within worker_max, and how many are not */
    uint64_t lowest, highest; /* of the usable rows */
    /* Every number from issued_first to below issued_until was issued, with or without a row.  issued_until 0: the
     * generator keeps no count. */
    uint64_t issued_first, issued_until;
    const char *doubt; /* why issued_until may be too low, as the end of a sentence; NULL: it is exact */
};
#define VS_FOREIGN_MAX 100000     /* usable numbers in one answer; more are refused */
#define VS_FOREIGN_BEYOND_MAX 10  /* rows of the list whose numbers are beyond worker_max; the others are counted */
#define VS_FOREIGN_TABLE_MAX 64   /* bytes of a table's name, without a backquote */
#define VS_FOREIGN_NAME_MAX 250

struct vs_store_opts {
    const char *namespace_;
    int group;                       /* gid that shares what is made, or -1 */
    const struct vesta_clock *clock; /* the store's clock, where it has none of its own */
    const char *secret;              /* password or digest (user:password); NULL: what the URI says */
    int64_t call_ms_max;             /* 0: VS_STORE_CALL_MS */
    const _Atomic int64_t *cut_us;   /* no call waits past that instant, in boot time; 0, or NULL: nobody says so */
};

/* Tells a person one thing that is not as it should be, and what to do about it. */
typedef void vs_tell_fault(void *to, const char *what, const char *todo);

/* Texts, options and replies are copied: nothing given to a store must live on.
 *
 * Outcomes: a read is OK, REFUSED or DOWN.  A write may also be CONFLICT (the version is another: `record` or `ns` is
 * what stands there), MOVED (the namespace is another) or UNKNOWN (it was sent, and no answer came: it may be done, now
 * or later).  DOWN is a promise: it was not done, and will not be. */
/* What a keeper asks for: the records of leases and of their namespace. */
struct vs_store_leases {
    /* The namespace's records with ascending numbers: a hint, never a decision.  *listed is the caller's to free. */
    void (*list)(struct vs_store *store, struct vs_listed **listed, size_t *count, struct vs_reply *reply);
    void (*read)(struct vs_store *store, uint64_t worker, struct vs_reply *reply);
    /* Tells what may be the names of the store's namespaces, in no order: the object's own is one of many here.  `of`: at
     * least that name and what follows it behind a dot; NULL: all, for a person.  May take as long as a listing. */
    void (*names)(struct vs_store *store, const char *of, void (*tell)(void *to, const char *name), void *to,
                  struct vs_reply *reply);
    /* Whether a namespace of that name may be there, where that takes no longer than a look; NULL: `names` tells it. */
    bool (*has)(struct vs_store *store, const char *name);
    /* Writes `record`, whose ver is old_ver + 1, if the stored version is old_ver (0: there is none) and is of the same
     * claim (epoch and owner) or of the last before it; stamps written_ms by the store's clock.  One atomic step, in
     * which the namespace's record must still be the one that this object's
     * last ns_read met (where there was none yet, one that is there), or the outcome is MOVED. */
    void (*swap)(struct vs_store *store, uint64_t worker, uint64_t old_ver, const struct vs_record *record,
                 struct vs_reply *reply);
    void (*ns_read)(struct vs_store *store, struct vs_reply *reply);
    /* reply->ns is what a later ns_read will find. */
    void (*ns_swap)(struct vs_store *store, uint64_t old_ver, const struct vs_ns_record *record,
                    struct vs_reply *reply);
    /* Nothing will be asked of it until then, if only for a moment: what it keeps open meanwhile, others may need.  NULL:
     * it keeps nothing. */
    void (*idle)(struct vs_store *store, int64_t now_boot_us, int64_t until_boot_us);
    /* Whether it may be another store than the last call met: told without asking it.  NULL: that cannot be told. */
    bool (*stirred)(struct vs_store *store, int64_t now_boot_us);
};

/* Counters, which belong to no namespace.  Each write is one atomic, durable step, and its outcomes are those of any
 * write.  A tag that is not there, or whose row holds what no number may come from, is REFUSED by name. */
struct vs_store_counters {
    /* Raises the counter by `step` (1 to VS_RANGE_MAX; 0: by the row's own): reply->grant is what it passed over.
     * CONFLICT: another changed the row meanwhile, ask again.  UNKNOWN: what it passed over is nobody's. */
    void (*take)(struct vs_store *store, const struct vs_counter *counter, uint64_t step, struct vs_reply *reply);
    /* Sets the counter to `from` where it stands at `until`, the end of what its caller was granted; CONFLICT: it
     * stands elsewhere, or is gone.  Whatever is answered, it must not be asked again. */
    void (*untake)(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t until,
                   struct vs_reply *reply);
    /* The counters of a table (NULL: leaf_alloc), in no order.  The list is empty before, its rows are the caller's to
     * free.  A table that is not there is REFUSED where tables are made by a person, and has no tags elsewhere.  A
     * ticket server's table is told as one tag of its name, which is there to be imported and never to be taken from:
     * `max` is its next number or one above others', delta and remainder are its server's increment and offset. */
    void (*tags)(struct vs_store *store, const char *table, struct vs_tag_list *list, struct vs_reply *reply);
    /* Makes a counter whose first range begins with `from`.  CONFLICT: there is one. */
    void (*tag_add)(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t step,
                    struct vs_reply *reply);
    /* Sets the row's own step. */
    void (*tag_step)(struct vs_store *store, const struct vs_counter *counter, uint64_t step, struct vs_reply *reply);
    /* Numbers without a gap; both NULL: this store cannot.  Reserves the lowest number of the counter that was
     * cancelled, or whose reservation ran out, or else the counter's next, for hold_ms: reply->grant.from.  The token
     * is new for each number (vs_random), and what makes UNKNOWN harmless: asked again with it, the same number comes.
     */
    void (*reserve)(struct vs_store *store, const struct vs_counter *counter, const struct vs_reservation *wanted,
                    struct vs_reply *reply);
    /* Commits the number, for good, or cancels it; may be asked again until the answer is known.  A reservation that
     * ran out may be committed as long as its number was not given again; REFUSED by name: it was, or the number was
     * settled otherwise, or never reserved under that token. */
    void (*settle)(struct vs_store *store, const struct vs_counter *counter, const struct vs_reservation *reservation,
                   bool commit, struct vs_reply *reply);
    /* Raises the counter to `floor` where it stands below, and leaves it alone elsewhere.  OK: no range that is granted
     * from here on begins below `floor`. */
    void (*lift)(struct vs_store *store, const struct vs_counter *counter, uint64_t floor, struct vs_reply *reply);
    /* Compares a counter's share with the one that the database remembers, and remembers it if there is none, so that
     * no two hosts issue the same numbers because they name other databases, or name them in another order.  OK: it is
     * that one, durably; a share of 1 is also OK if this user may not write it down.  REFUSED: it is another.  NULL:
     * this store remembers none. */
    void (*share)(struct vs_store *store, const struct vs_counter *counter, const struct vs_share *share,
                  struct vs_reply *reply);
    /* Holds the form in which callers write the counter's numbers, by its fingerprint (1 to VS_NUMBER_MAX - 1), against
     * the one that the store remembers, and remembers it where there is none: texts of two forms may be equal.  OK: it
     * is that one, durably.  REFUSED: it is another; by rights: this user may not remember it.  fingerprint 0: reply->grant.from is the one that it remembers,
     * 0: none. */
    void (*keep_form)(struct vs_store *store, const struct vs_counter *counter, uint64_t fingerprint,
                      struct vs_reply *reply);
    /* Makes a table of counters (NULL: leaf_alloc) where it is missing.  NULL: they come with their first tag. */
    void (*tag_init)(struct vs_store *store, const char *table, struct vs_reply *reply);
};

/* What a person does with a store that others share. */
struct vs_store_admin {
    /* Tells a person what is not as it should be though it works, and what to do about it. */
    void (*inspect)(struct vs_store *store, vs_tell_fault *tell, void *to, struct vs_reply *reply);
    /* Makes what a shared store stands on, where it is missing: tables, a root node. */
    void (*init)(struct vs_store *store, struct vs_reply *reply);
    /* Reads what another generator left in its own place.  The list is empty before, its rows are the caller's to free.
     * REFUSED: none of that kind can be here, or there are more than VS_FOREIGN_MAX. */
    void (*foreign)(struct vs_store *store, const struct vs_foreign_ask *ask, struct vs_foreign_list *list,
                    struct vs_reply *reply);
};

/* One backend: how people name it, how it is opened, and its operations in three parts. */
struct vs_backend {
    const char *scheme; /* "file" of file:/var/lib/vesta */
    const char *form;   /* what its URI says, as people are told; capitals begin what they fill in: "file:/DIR" */
    bool is_local;      /* on this machine, not shared with others: asking it takes no longer than a disk */
    bool is_folder;     /* its URI names a folder of this machine, and asking it needs nobody's client library */
    const char *made, *rights; /* what `vesta store init` made there, and what who leases must be able to do */
    const char *secret;        /* the key of a config that has its secret: "password", "auth"; NULL: it has none */
    const char *tls;           /* "": its URI may say tls=verify or tls=off; else why it cannot.  NULL: no way there */
    /* VESTA_OK if the URI is one of this backend's, else VESTA_EOPTION.  Asks nobody. */
    int (*check)(const char *uri, struct vesta_error *err);
    /* Makes what belongs to this host (a folder, a file); connects to nobody. */
    int (*open)(const char *uri, const struct vs_store_opts *opts, struct vs_store **store, struct vesta_error *err);
    void (*close)(struct vs_store *store);
    const struct vs_store_leases *leases;     /* never NULL */
    const struct vs_store_counters *counters; /* NULL: it has no counters */
    const struct vs_store_admin *admin;       /* NULL: only for a store on this machine, which needs no init */
};

/* The others are lines of CMakeLists.txt, and loaded when a URI names them (see store.c). */
extern const struct vs_backend vs_store_file;

/* The row of a URI's scheme.  NULL with err: no store is called so, or this build does not have it. */
const struct vs_backend *vs_store_of(const char *uri, struct vesta_error *err);
/* Whether a store is called so, in this build or not. */
bool vs_store_is_known(const char *uri);
/* What URIs may say, of all stores: of those that are not here, too.  Loads nothing, as it stands in every help. */
#define VS_STORE_FORMS "file:/DIR, sqlite:/FILE, mysql://USER@HOST/DB or zk://HOSTS/PATH"
/* The stores that are here and of which `is` holds, as "mysql: or zk:".  Loads them all.  Returns buf. */
#define VS_STORE_LIST_MAX 80
const char *vs_store_list(bool (*is)(const struct vs_backend *backend, const char *of), const char *of, char *buf);
/* Whether a URI begins as its store's form does, and goes on. */
bool vs_store_is_formed(const char *uri);

/* Opens the store of a URI.  Errors: VESTA_EOPTION: a scheme that this build does not have; VESTA_EIO. */
int vs_store_open(const char *uri, const struct vs_store_opts *opts, struct vs_store **store, struct vesta_error *err);

/* Whether the store of a URI is on this machine; false for one that this build does not have. */
bool vs_store_is_local(const char *uri);

/* The folder that a store is.  Shape: buf of VS_URI_MAX bytes; returns it, or NULL: the store is none. */
const char *vs_store_folder(const char *uri, char *buf);
/* The file or folder of a store on this machine; false: it is elsewhere, or the URI is wrong. */
bool vs_store_place(const char *uri, char path[VS_URI_MAX]);
/* The one URI of a store that has several: of a store on this machine that of its path, of others the text itself.
 * Errors: VESTA_EOPTION, VESTA_EIO. */
int vs_store_canonical(const char *uri, char out[VS_URI_MAX], struct vesta_error *err);
/* Writes the URI of a path (absolute).  Errors: VESTA_EIO: it is too long. */
int vs_uri_of_path(const char *scheme, const char *path, char out[VS_URI_MAX], struct vesta_error *err);
/* Turns what a generator file keeps into a URI: earlier versions took '?', '#' and '%' of file: and sqlite: as they stand. */
void vs_uri_of_kept(char uri[VS_URI_MAX]);
/* vs_uri_path without a message, whatever the scheme. */
bool vs_uri_place(const char *uri, char path[VS_URI_MAX]);

/* VESTA_OK if this build has the URI's scheme and its backend can read the URI. */
int vs_store_check(const char *uri, struct vesta_error *err);

/* Where a URI has a password: its length, and *at.  0: nowhere. */
size_t vs_store_password(const char *uri, size_t *at);

/* The URI as it may be shown, and kept in a generator file: *** in a password's place, which vs_store_open refuses
 * without another secret.  Shape: buf of VS_URI_MAX bytes; returns buf. */
const char *vs_store_public(const char *uri, char *buf);
void vs_store_hide(char uri[VS_URI_MAX]); /* the same, where it stands */

/* Makes what the store stands on (`vesta store init`): reply->outcome. */
void vs_store_init(struct vs_store *store, struct vs_reply *reply);

/* The least number that may be given at an instant; 0: none may be.  It only rises: a counter that has given numbers
 * below what it was in the year 2000 is somebody else's, and is left alone. */
struct vs_floor {
    uint64_t (*at)(void *self, int64_t unix_ms); /* NULL: there is no floor */
    void *self;
    int (*fits)(void *self, uint64_t number); /* whether the number may be given at all; NULL: each may */
    const char *form;                         /* in which callers write the numbers; NULL: in digits */
    bool is_kept; /* the caller remembers the form itself, so it gets numbers also if the store's user may not */
};
/* Never 0. */
uint64_t vs_form_fingerprint(const char *form);
/* REFUSED: the tag's numbers are written in another form. */
void vs_form_refuse(const char *tag, struct vs_reply *reply);
/* As the operation; OK if the store remembers none. */
void vs_store_share(struct vs_store *store, const struct vs_counter *counter, const struct vs_share *share,
                    struct vs_reply *reply);
/* A take of numbers that are no lower than the floor is at that instant, by the store's own clock: it is one for all
 * hosts, whatever theirs say.  A counter that stands below is lifted first, and what a first take had passed over is
 * nobody's.  Outcomes: of a take. */
void vs_store_take(struct vs_store *store, const struct vs_counter *counter, uint64_t step,
                   const struct vs_floor *floor, struct vs_reply *reply);

/* Goes on with a store that went back (`vesta store advance`): vs_ns_put_right with fresh->incarnation.  A namespace
 * that is gone is made again as `fresh` says. */
void vs_store_advance(struct vs_store *store, const struct vs_ns_record *fresh, const struct vs_lease_timing *timing,
                      struct vs_reply *reply);

#endif
