/* file.h -- a generator file that this process has open.  All handles of the file share one mapping and one keeper. */
#ifndef VS_FILE_H
#define VS_FILE_H

#include "generator/generator.h"
#include "lease/term.h"
#include "keeper/options.h"
#include "keeper/shift.h"
#include "mapping/mapping.h"

#include <limits.h>
#include <sys/types.h>

/* The keeper's question, which worker id to claim, for a handle in this process that chooses worker ids (choice.c).
 * The process lock guards all members except `open`. */
struct vs_question {
    /* 1: the question awaits an answer.  A forked child inherits the 1, but not the keeper that asked */
    _Atomic uint32_t open;
    unsigned choosers;              /* number of handles with VESTA_CHOOSES */
    const struct vs_listed *listed; /* owned by the keeper, valid while the keeper waits */
    struct vesta_choice choice;     /* the choice, without its records */
    bool fixed; /* true if the chosen worker id follows from the generator's identity (vesta_choose_fixed) */
    bool none;  /* the answer.  true: no worker id, because of `reason`.  false: `worker` */
    char reason[VS_SAID_MAX];
    uint64_t worker;
    struct vs_listing listing; /* used only by the keeper: the records, and the end of the wait */
    int64_t until_boot_us;
};

/* The stage of this process's keeper for a file. */
enum vs_stage {
    VS_STANDS_BY,  /* waits for a moment, because the process may not need a keeper */
    VS_LOOKS,      /* checks whether another process is the file's keeper */
    VS_IN_TERM,    /* is the file's keeper */
    VS_STANDS_BACK /* leaves the file to other processes for a while */
};

/* How a keeper began its term. */
struct vs_seat {
    uint64_t token;
    bool elected; /* true: got the lock.  false: replaced an unresponsive keeper, which still has the lock */
    struct vs_watched was;
};

/* The result of stopping a keeper.  If the lease could not be returned to the store, `why` has the reason, and the
 * lease lasts `ms` longer.  Otherwise ms is 0. */
struct vs_kept {
    int64_t ms;
    char why[VS_SAID_MAX];
};

struct vs_file {
    struct vs_file *next; /* next file of the registry, guarded by the process lock */
    unsigned handles;
    uint64_t closing_in; /* vs_process_token of the process in which a thread is closing the file.  0: none */
    struct vs_mapping mapping;
    const struct vesta_clock *clock;
    struct vesta_layout layout;
    char *path;
    struct vs_anchor anchor; /* the anchor as it was read.  The map's successor is created from it */
    char *why_lone;          /* why only this process uses the map.  NULL: other processes can use it, too */
    /* URI of the store that grants the leases: from the last handle that named a store, or else from the anchor.
     * Guarded by the process lock */
    char *store;
    char *secret; /* secret of the last handle that had one.  NULL: the URI contains it.  Guarded by the process lock */
    /* The next two members are each a vs_process_token or 0, and are written with the process lock held.  keeper_in
     * names the process that runs the keeper.  In a forked child, that is still the parent.  joining_in names the
     * process in which a thread is ending the keeper. */
    _Atomic uint64_t keeper_in;
    uint64_t joining_in;
    _Atomic uint32_t stands_by; /* 1 during VS_STANDS_BY.  Set to 0 to start the keeper at once */
    _Atomic uint32_t stop;      /* enum vs_stop */
    _Atomic int64_t cut_us;     /* boot time until which store calls may wait while the keeper ends.  0: no limit */
    struct vs_kept kept;        /* used by the keeper while it runs, and guarded by the process lock otherwise */
    struct vs_question question;
    /* used by the keeper only */
    struct vs_task task;
    enum vs_stage stage;
    bool has_looked;       /* the keeper has checked for another keeper at least once */
    uint32_t want_before;  /* value of shared.want before the last check */
    int64_t until_boot_us; /* end of VS_STANDS_BY or VS_STANDS_BACK */
    struct vs_seat seat;
    struct vs_keeping *keeping; /* NULL unless VS_IN_TERM */
};

/* A file that a handle no longer uses, because the file was used up or removed.  The file stays mapped until the handle
 * is closed, because other threads may still use it. */
struct vs_past {
    struct vs_past *next;
    struct vs_file *file;
};

/* The keeper's part of a handle. */
struct vs_handle {
    struct vs_file *_Atomic file; /* written under the process lock.  NULL if is_private */
    struct vs_past *past;         /* process lock */
    bool is_private;
    bool keeps;    /* the handle may start this process's keeper */
    bool chooses;  /* the handle was opened with VESTA_CHOOSES */
    char *warning; /* warning for the user, or NULL */
    char *store;   /* URI of the store without password, for display */
};

/* ---- keeper.c */

/* Bytes of the map that processes lock.  They are in the map itself, not in another file, for two reasons: maps of two
 * containers may have the same inode number, and the keeper of a removed map must not lock out the keeper of its
 * successor. */
enum vs_byte {
    VS_BYTE_KEEPER,   /* exclusive lock that elects the keeper */
    VS_BYTE_HERE,     /* shared lock: this process uses the map */
    VS_BYTE_IN_OFFICE /* shared lock: this process's keeper is in its term */
};

/* Starts this process's keeper for a file if there is none, either at once or after a moment of standing by.  Call with
 * the process lock held.  Returns 0 or an errno. */
enum vs_begin { VS_AT_ONCE, VS_STAND_BY };
int vs_keeper_start(struct vs_file *file, enum vs_begin begin);
/* Signals to the map's keeper, in whichever process it runs, that a lease is wanted. */
void vs_keeper_want(struct vs_map *map);
/* Stops this process's keeper and waits until it has ended.  Call without the process lock. */
struct vs_kept vs_keeper_stop(struct vs_file *file, enum vs_stop how);

/* Returns true if the keeper has been asked to stop. */
bool vs_file_is_to_stop(const struct vs_file *file);
/* Schedules the keeper's next turn for when shared.want differs from `want`, and at until_boot_us at the latest.
 * Always returns false, so that the caller can return this result to end the current turn. */
bool vs_file_waits(struct vs_file *file, uint32_t want, int64_t until_boot_us);

/* ---- keeping.c: a keeper's term */

/* Begins a term under file->seat.  Returns NULL if there is no memory. */
struct vs_keeping *vs_keeping_begin(struct vs_file *file);
/* Runs the next step of the term.  If the term is over, frees it and returns STAYS or LEAVES.  LEAVES means that this
 * process should stand back for a while.  Either this process could not open the store, which another process may be
 * able to open, or another process has replaced this keeper and needs the lock. */
enum vs_keeps { VS_KEEPS_WAITS, VS_KEEPS_STAYS, VS_KEEPS_LEAVES };
enum vs_keeps vs_keeping_serve(struct vs_keeping *keeping);
/* Returns true if ids are issued on the keeper's lease, so that a late renewal would interrupt them. */
bool vs_keeping_holds(const struct vs_keeping *keeping);

#define VS_STORE_RETRY_US 1000000

/* ---- choice.c */

/* Asks this process's policies for a worker id.  Then call vs_question_is_over until it returns true, and keep the
 * listing valid until then.  vs_question_is_over returns false while the keeper must wait.  When it returns true, it
 * has set ev->found, and ev->worker or ev->text. */
void vs_question_ask(struct vs_file *file, const struct vs_term *term, struct vs_listing listing);
bool vs_question_is_over(struct vs_file *file, struct vs_term *term, struct vs_event *ev);

/* ---- files.c: the registry of this process's files */

/* Opens the map of an anchor, or creates it, and registers the file.  `settings` contains the store and the secret.
 * Call with the process lock held.  Errors: VESTA_EPAUSE if another thread is closing the file, in which case the
 * caller tries again. */
int vs_file_enter(const struct vs_anchor *anchor, const struct vs_settings *settings, struct vs_file **out,
                  struct vesta_error *err);
/* Opens the map that replaces a used-up or removed one.  Call with the process lock held. */
int vs_file_enter_next(const struct vs_file *old, struct vs_file **out, struct vesta_error *err);
/* Ends a handle's use of a file.  `handle` is NULL if the handle could not be created.  Call without the process lock.
 */
void vs_file_leave(const struct vs_handle *handle, struct vs_file *file);
/* Returns true if no more ids are issued from a map because another map replaces it. */
bool vs_is_used_up(const struct vs_map *map);

/* Returns true if this process has a map of that name open, in any folder.  Call with the process lock held. */
bool vs_file_has(const char *name);

/* ---- sweep.c */

/* Removes maps that no process can find any more.  Each call checks a part of the folder that contains the map `made`.
 * Call after a map was created, with the process lock held. */
void vs_sweep(const struct vs_mapping *made, const struct vesta_clock *clock);

/* ---- attach.c: from a path to its anchor */

/* Returns true if two URIs are equal apart from the password, which may change. */
bool vs_same_address(const char *a, const char *b);

/* Returns true if the folder of a `file:` store that has granted leases is gone.  If it is, do not create it again,
 * because an empty store stops its generators. */
bool vs_store_is_gone(const char *uri, uint64_t incarnation);

/* Finds the anchor for the settings.  If there is no anchor, creates one if `makes` is true, and otherwise sets *found
 * to false.  If the anchor's path cannot be written, derives the anchor from the settings, and sets *found to true.
 * Errors: the anchor does not match the settings, or it belongs to a different store, as far as this can be checked
 * without the network. */
int vs_anchor_find(struct vs_settings *settings, bool makes, bool *found, struct vs_anchor *out,
                   struct vesta_error *err);

/* Returns the header of the anchor that vesta_open would use.  Creates the anchor if there is none, but opens no map.
 */
int vs_anchor_look(const struct vesta_opts *opts, struct vs_header *header, struct vesta_error *err);

/* Returns the layout of the generator that vesta_open opens if the options name no path, namespace or store.  The
 * layout comes from the generator's file, or else from its namespace in this machine's store.  Otherwise the text is
 * "".  Creates nothing. */
int vs_default_layout(char text[VESTA_LAYOUT_TEXT_MAX], struct vesta_error *err);

/* Writes the warning for an anchor without a file: the reason, the consequence, and what to do. */
void vs_no_file_text(const char *path, int no_file, char *out, size_t size);

/* ---- open.c */

/* Moves the handle to the map's successor if the map is used up. */
int vs_handle_follow(struct vesta_gen *gen, struct vesta_error *err);
/* Moves the handle as vs_handle_follow does, and starts or wakes the keeper. */
int vs_handle_kick(struct vesta_gen *gen, struct vesta_error *err);

#endif
