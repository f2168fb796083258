/* file.h -- a generator file that this process has open: one mapping and one keeper, shared by all handles. */
#ifndef VS_FILE_H
#define VS_FILE_H

#include "generator/generator.h"
#include "lease/term.h"
#include "keeper/options.h"
#include "keeper/shift.h"
#include "mapping/mapping.h"

#include <limits.h>
#include <sys/types.h>

/* The question for a worker id, from the keeper to a handle in this process that chooses: choice.c.  The process lock
 * guards all of it except `open`. */
struct vs_question {
    _Atomic uint32_t open; /* 1: waits for an answer.  A forked child inherits the 1, but not the keeper that asked */
    unsigned choosers;     /* handles with VESTA_CHOOSES */
    const struct vs_listed *listed; /* owned by the keeper, valid while it waits */
    struct vesta_choice choice;     /* without its records */
    bool fixed; /* the answered worker id follows from the generator's identity (vesta_choose_fixed) */
    bool none;  /* the answer: true: none, because of `reason`; false: `worker` */
    char reason[VS_SAID_MAX];
    uint64_t worker;
    struct vs_listing listing; /* used by the keeper only: the records, and until when it waits */
    int64_t until_boot_us;
};

/* The stage of this process's keeper of a file. */
enum vs_stage {
    VS_STANDS_BY,  /* it may not be needed, so it waits for a moment */
    VS_LOOKS,      /* it checks whether another process keeps the file */
    VS_IN_TERM,    /* it keeps the file */
    VS_STANDS_BACK /* it leaves the file to other processes for a while */
};

/* How a keeper got its term. */
struct vs_seat {
    uint64_t token;
    bool elected; /* by the lock; false: it replaced a silent keeper, which still has the lock */
    struct vs_watched was;
};

/* Result of stopping a keeper: a lease that the store did not take back lasts `ms` longer, because of `why`; 0: none.
 */
struct vs_kept {
    int64_t ms;
    char why[VS_SAID_MAX];
};

struct vs_file {
    struct vs_file *next; /* the registry; process lock */
    unsigned handles;
    uint64_t closing_in; /* vs_process_token of the process in which a thread is closing it; 0: none */
    struct vs_mapping mapping;
    const struct vesta_clock *clock;
    struct vesta_layout layout;
    char *path;
    struct vs_anchor anchor; /* as it was read; a successor of the map is made from it */
    char *why_lone;          /* why only this process uses the map; NULL: others can, too */
    char *store;             /* URI of the leases' store, from the last handle that named one, else from the anchor.
                                Process lock */
    char *secret;            /* from the last handle that had one; NULL: the URI contains it.  Process lock */
    /* vs_process_token, or 0; written under the process lock.  keeper_in: the process that the keeper runs in, which
     * after fork() is the parent.  joining_in: the process in which a thread is ending the keeper. */
    _Atomic uint64_t keeper_in;
    uint64_t joining_in;
    _Atomic uint32_t stands_by; /* 1 during VS_STANDS_BY; cleared to start the keeper at once */
    _Atomic uint32_t stop;      /* enum vs_stop */
    _Atomic int64_t cut_us;     /* when the keeper ends, store calls wait at most until then; 0: no limit */
    struct vs_kept kept;        /* owned by the keeper while it runs, else under the process lock */
    struct vs_question question;
    /* used by the keeper only */
    struct vs_task task;
    enum vs_stage stage;
    bool has_looked;       /* at least once */
    uint32_t want_before;  /* shared.want, before it looked */
    int64_t until_boot_us; /* end of VS_STANDS_BY or VS_STANDS_BACK */
    struct vs_seat seat;
    struct vs_keeping *keeping; /* NULL unless VS_IN_TERM */
};

/* The file of a used-up or removed map that a handle has left.  It stays mapped until the handle is closed, because
 * other threads may still use it. */
struct vs_past {
    struct vs_past *next;
    struct vs_file *file;
};

/* This folder's part of a handle. */
struct vs_handle {
    struct vs_file *_Atomic file; /* written under the process lock; NULL if is_private */
    struct vs_past *past;         /* process lock */
    bool is_private;
    bool keeps;    /* it may start this process's keeper */
    bool chooses;  /* VESTA_CHOOSES */
    char *warning; /* NULL: none */
    char *store;   /* without password, for display */
};

/* ---- keeper.c */

/* Locked bytes of the map.  They are in the map itself, not in another file: maps of two containers may have the same
 * inode number, and the keeper of a removed map must not lock out the keeper of its successor. */
enum vs_byte {
    VS_BYTE_KEEPER,   /* exclusive: elects the keeper */
    VS_BYTE_HERE,     /* shared: this process uses the map */
    VS_BYTE_IN_OFFICE /* shared: this process's keeper is in its term */
};

/* Starts this process's keeper of a file, if it has none: at once, or after a moment of standing by.  Call with the
 * process lock held.  0, or an errno. */
enum vs_begin { VS_AT_ONCE, VS_STAND_BY };
int vs_keeper_start(struct vs_file *file, enum vs_begin begin);
/* Tells the map's keeper, in whichever process, that a lease is wanted. */
void vs_keeper_want(struct vs_map *map);
/* Ends this process's keeper and waits for it.  Call without the process lock. */
struct vs_kept vs_keeper_stop(struct vs_file *file, enum vs_stop how);

/* True if the keeper has been told to stop. */
bool vs_file_is_to_stop(const struct vs_file *file);
/* Ends the keeper's turn.  The next one begins when shared.want differs from `want`, or at until_boot_us.  Returns
 * false. */
bool vs_file_waits(struct vs_file *file, uint32_t want, int64_t until_boot_us);

/* ---- keeping.c: a keeper's term */

/* Begins a term under file->seat.  NULL: no memory. */
struct vs_keeping *vs_keeping_begin(struct vs_file *file);
/* Continues the term.  STAYS and LEAVES: the term is over, and freed.  LEAVES: this process should stay back for a
 * while. Either it could not open the store, and another process may be able to, or another process has replaced this
 * keeper and needs the lock. */
enum vs_keeps { VS_KEEPS_WAITS, VS_KEEPS_STAYS, VS_KEEPS_LEAVES };
enum vs_keeps vs_keeping_serve(struct vs_keeping *keeping);
/* True if ids are issued on its lease, so that a late renewal would stop them. */
bool vs_keeping_holds(const struct vs_keeping *keeping);

#define VS_STORE_RETRY_US 1000000

/* ---- choice.c */

/* Asks this process's policies for a worker id.  The listing must stay valid until vs_question_is_over returns true.
 * That function fills in ev->found, and ev->worker or ev->text.  While it returns false, the keeper waits. */
void vs_question_ask(struct vs_file *file, const struct vs_term *term, struct vs_listing listing);
bool vs_question_is_over(struct vs_file *file, struct vs_term *term, struct vs_event *ev);

/* ---- files.c: the registry of this process's files */

/* Enters the map of an anchor, and makes it if there is none.  `settings` has store and secret.  Call with the process
 * lock held.  VESTA_EPAUSE: another thread is closing the file, try again. */
int vs_file_enter(const struct vs_anchor *anchor, const struct vs_settings *settings, struct vs_file **out,
                  struct vesta_error *err);
/* Enters the map that replaces a used-up or removed one.  Call with the process lock held. */
int vs_file_enter_next(const struct vs_file *old, struct vs_file **out, struct vesta_error *err);
/* Ends a handle's use of a file; handle is NULL if it could not be made.  Call without the process lock. */
void vs_file_leave(const struct vs_handle *handle, struct vs_file *file);
/* True if no more ids are issued from a map, and another replaces it. */
bool vs_is_used_up(const struct vs_map *map);

/* True if this process has a map of that name open, in any folder.  Call with the process lock held. */
bool vs_file_has(const char *name);

/* ---- sweep.c */

/* After a map was made, removes some of the maps in its folder that no process can find any more.  Call with the
 * process lock held. */
void vs_sweep(const struct vs_mapping *made, const struct vesta_clock *clock);

/* ---- attach.c: from a path to its anchor */

/* True if two URIs are the same, apart from a password, which may change. */
bool vs_same_address(const char *a, const char *b);

/* True if the folder of a `file:` store that has granted leases is gone.  Do not create it again: the store would then
 * look emptied, which stops its generators. */
bool vs_store_is_gone(const char *uri, uint64_t incarnation);

/* Finds the anchor of the settings.  If there is none, makes it, or with `makes` false sets *found to false.  If its
 * path cannot be written, the anchor is derived from the settings, and always found.  Errors: the anchor does not match
 * the settings, or the store is another one than it had, as far as this can be checked without the network. */
int vs_anchor_find(struct vs_settings *settings, bool makes, bool *found, struct vs_anchor *out,
                   struct vesta_error *err);

/* Returns the header of the anchor that vesta_open would use, and makes the anchor if there is none.  Opens no map. */
int vs_anchor_look(const struct vesta_opts *opts, struct vs_header *header, struct vesta_error *err);

/* Returns the layout of the generator that vesta_open opens without a path, a namespace and a store.  It comes from the
 * generator's file, else from its namespace in the store of this machine, else it is "".  Creates nothing. */
int vs_default_layout(char text[VESTA_LAYOUT_TEXT_MAX], struct vesta_error *err);

/* Writes the warning for an anchor without a file: the reason, the consequence, and what to do. */
void vs_no_file_text(const char *path, int no_file, char *out, size_t size);

/* ---- open.c */

/* If the map was used up, moves the handle to its successor. */
int vs_handle_follow(struct vesta_gen *gen, struct vesta_error *err);
/* Does the same, and starts or wakes the keeper. */
int vs_handle_kick(struct vesta_gen *gen, struct vesta_error *err);

#endif
