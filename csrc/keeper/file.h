/* file.h -- a generator file as this process has it open: one mapping, one keeper, shared by all handles on it. */
#ifndef VS_FILE_H
#define VS_FILE_H

#include "generator/generator.h"
#include "lease/term.h"
#include "keeper/options.h"
#include "keeper/shift.h"
#include "mapping/mapping.h"

#include <limits.h>
#include <sys/types.h>

/* The question for a worker number, between the keeper that asks and whoever in this process judges: choice.c.  Under
 * the process lock but for `open`. */
struct vs_question {
    _Atomic uint32_t open; /* 1: it waits for an answer.  A forked child inherits it, but no keeper to have asked it */
    unsigned choosers;     /* handles with VESTA_CHOOSES */
    const struct vs_listed *listed; /* the keeper's, while it waits */
    struct vesta_choice choice;     /* without its records */
    bool fixed;                     /* the answer's number follows from what the generator is */
    bool none;                      /* the answer: no number, for this reason; else this one */
    char reason[VS_SAID_MAX];
    uint64_t worker;
    struct vs_listing listing; /* the keeper's own: what it asks about, and until when */
    int64_t until_boot_us;
};

/* What this process's keeper of a file is at: whether it is needed at all is not known yet; it looks whether nobody else
 * keeps the file; it does; it leaves that to others for a while. */
enum vs_stage { VS_STANDS_BY, VS_LOOKS, VS_IN_TERM, VS_STANDS_BACK };

/* How a term was come by. */
struct vs_seat {
    uint64_t token;
    bool elected; /* by the lock; not in the place of a keeper that was silent */
    struct vs_watched was;
};

/* A keeper's last word: a lease that the store did not take back lasts for so long, for this reason; 0: none does. */
struct vs_kept {
    int64_t ms;
    char why[VS_SAID_MAX];
};

struct vs_file {
    struct vs_file *next; /* the registry; process lock */
    unsigned handles;
    uint64_t closing_in; /* vs_process_token: of the process in which a thread closes it just now; 0: none */
    struct vs_mapping mapping;
    const struct vesta_clock *clock;
    struct vesta_layout layout;
    char *path;
    struct vs_anchor anchor; /* as it was read; what a successor of the map is made from */
    char *why_lone;          /* why the map is this process's alone; NULL: it is not */
    char *store;             /* where the leases are: the last handle's word, else the anchor's.  Process lock */
    char *secret;            /* the last handle's word; NULL: the URI says it.  Process lock */
    /* vs_process_token: of the process whose keeper it is, after fork() that is the parent; of the one in which somebody
     * ends it just now; 0: none.  Written under the process lock */
    _Atomic uint64_t keeper_in;
    uint64_t joining_in;
    _Atomic uint32_t stands_by; /* 1 while the keeper waits whether it is needed at all */
    _Atomic uint32_t stop;      /* enum vs_stop */
    _Atomic int64_t cut_us;     /* where it is to end: no call of a store waits past that; 0: none is cut */
    struct vs_kept kept;        /* the keeper's own while there is one, else under the process lock */
    struct vs_question question;
    /* the keeper's own */
    struct vs_task task;
    enum vs_stage stage;
    bool has_looked;       /* once at least */
    uint32_t want_before;  /* shared.want, before it looked */
    int64_t until_boot_us; /* how long it stands by, or back */
    struct vs_seat seat;
    struct vs_keeping *keeping; /* in its term */
};

/* A used-up or removed map that a handle has moved on from: other threads may be inside its map until the handle is
 * closed. */
struct vs_past {
    struct vs_past *next;
    struct vs_file *file;
};

/* This folder's part of a handle. */
struct vs_handle {
    struct vs_file *_Atomic file; /* written under the process lock; NULL where is_private */
    struct vs_past *past;         /* process lock */
    bool is_private;
    bool keeps;   /* it may start this process's keeper */
    bool chooses; /* VESTA_CHOOSES */
    char *warning; /* NULL: none */
    char *store;   /* as it may be shown */
};

/* ---- keeper.c */

/* The bytes of the map itself that elect its keeper, say that this process is here, and that its keeper is in its term:
 * of no other file, because two containers' maps may have one inode number, and a removed map's keeper must stand in
 * nobody's way. */
enum vs_byte { VS_BYTE_KEEPER, VS_BYTE_HERE, VS_BYTE_IN_OFFICE };

/* Starts this process's keeper of a file, where it has none: to work at once, or when it has stood by for a moment.
 * Call with the process lock held.  0, or an errno. */
enum vs_begin { VS_AT_ONCE, VS_STAND_BY };
int vs_keeper_start(struct vs_file *file, enum vs_begin begin);
/* Tells everyone's keeper that a lease is wanted. */
void vs_keeper_want(struct vs_map *map);
/* Ends this process's keeper and waits for it: its last word.  Call without the process lock. */
struct vs_kept vs_keeper_stop(struct vs_file *file, enum vs_stop how);

/* What its keeper was told. */
bool vs_file_is_to_stop(const struct vs_file *file);
/* The keeper's turn ends, until another value of shared.want than that, or an instant.  Returns false. */
bool vs_file_waits(struct vs_file *file, uint32_t want, int64_t until_boot_us);

/* ---- keeping.c: a keeper's term, and what that asks of the world */

/* Begins one under file->seat.  NULL: no memory. */
struct vs_keeping *vs_keeping_begin(struct vs_file *file);
/* Goes on with it.  STAYS, LEAVES: it is over, and gone; LEAVES: what comes next is to be left to another process for a
 * while.  That one may be able to open the store where this one is not; or it took this one's place, and is to find the
 * lock free. */
enum vs_keeps { VS_KEEPS_WAITS, VS_KEEPS_STAYS, VS_KEEPS_LEAVES };
enum vs_keeps vs_keeping_serve(struct vs_keeping *keeping);
/* Whether ids come from its lease: one that is not renewed in time stops them. */
bool vs_keeping_holds(const struct vs_keeping *keeping);

#define VS_STORE_RETRY_US 1000000

/* ---- choice.c */

/* Asks this process's policies, by the store's list, which must stay until the question is over.  It is as soon as
 * vs_question_is_over says so, which fills in ev->found and ev->worker or ev->text; else the keeper waits. */
void vs_question_ask(struct vs_file *file, const struct vs_term *term, struct vs_listing listing);
bool vs_question_is_over(struct vs_file *file, struct vs_term *term, struct vs_event *ev);

/* ---- files.c: the registry of this process's files */

/* Enters the map of an anchor, which it makes where there is none; `settings` says store and secret.  With the process
 * lock held.  VESTA_EPAUSE: another thread is closing it just now. */
int vs_file_enter(const struct vs_anchor *anchor, const struct vs_settings *settings, struct vs_file **out,
                  struct vesta_error *err);
/* Enters the map that takes the place of a used-up or removed one.  With the process lock held. */
int vs_file_enter_next(const struct vs_file *old, struct vs_file **out, struct vesta_error *err);
/* Ends a handle's use of a file; handle is NULL where it was not made.  Call without the process lock. */
void vs_file_leave(const struct vs_handle *handle, struct vs_file *file);
/* Whether nobody gives ids from a map any more: another takes its place. */
bool vs_is_used_up(const struct vs_map *map);

/* Whether this process has a map of that name open, in whichever folder.  With the process lock held. */
bool vs_file_has(const char *name);

/* ---- sweep.c */

/* Where a map was just made, removes some of those that nobody can find any more.  With the process lock held. */
void vs_sweep(const struct vs_mapping *made, const struct vesta_clock *clock);

/* ---- attach.c: from a path to its anchor */

/* Whether two URIs differ in nothing but a password: it may change. */
bool vs_same_address(const char *a, const char *b);

/* Whether the folder of a `file:` store is not there that has granted leases: to make it anew would make it look
 * emptied.
 */
bool vs_store_is_gone(const char *uri, uint64_t incarnation);

/* The anchor of a settings, made where there is none and `makes`; *found says which.  Where its path cannot be written,
 * it follows from the settings and is always found.  Settings that it does not meet are an error, and so is a store
 * that is not its own, as far as this machine can tell without waiting. */
int vs_anchor_find(struct vs_settings *settings, bool makes, bool *found, struct vs_anchor *out,
                   struct vesta_error *err);

/* What the anchor says of a generator that is opened so; made where there is none.  No map is touched. */
int vs_anchor_look(const struct vesta_opts *opts, struct vs_header *header, struct vesta_error *err);

/* The layout of the generator that vesta_open opens without a path, a namespace and a store: that of its file, else of
 * its namespace in the store of this machine; "" if there is neither.  Makes nothing. */
int vs_default_layout(char text[VESTA_LAYOUT_TEXT_MAX], struct vesta_error *err);

/* What to say of an anchor without a file: why, what it costs, what to do. */
void vs_no_file_text(const char *path, int no_file, char *out, size_t size);

/* ---- open.c */

/* Where the file was used up, moves the handle to its successor. */
int vs_handle_follow(struct vesta_gen *gen, struct vesta_error *err);
/* The same, and starts or wakes the keeper. */
int vs_handle_kick(struct vesta_gen *gen, struct vesta_error *err);

#endif
