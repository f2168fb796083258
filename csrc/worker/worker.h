/* worker.h -- leases of worker ids for programs that have their own generator.  These functions run the lease engine
 * without a map and without a thread, in the calling thread.  vesta's generators, `vesta lease run` and leases over the
 * network may share a namespace, because all of them use the same records by the same rules.
 *
 * A lease has two limits, and the program must obey both:
 *
 * Real time.  No other holder claims the worker id until the store's clock has passed the last write by the ttl.  So
 * the program must have ended by deadline_boot_us, which is 0.8 ttl after the last acknowledged write was sent.
 *
 * Id time.  The times of the program's ids must be in [starts_ms, expires_ms), by the clock that the program reads.
 * starts_ms is at or after everything that earlier holders were allowed to issue.  So ids of two holders differ even if
 * their clocks differ.
 *
 *     vs_worker_layout(&at, NULL, &layout, &err)
 *     vs_worker_init(&w, &at, &ask, &err)
 *     vs_worker_claim(&w, &err)         until the result is VS_WORKER_HELD
 *     ... wait until the clock has passed w.starts_ms, and start the program
 *     vs_worker_renew(&w, &err)         every ttl / 3.  If the result is VS_WORKER_LOST, end the program at once
 *     ... end the program before the clock reaches w.expires_ms, and before w.deadline_boot_us
 *     vs_worker_release(&w, ended_ms, &err) */
#ifndef VS_WORKER_H
#define VS_WORKER_H

#include "lease/lease.h"
#include "store/lineage.h"

#define VS_WORKER_TTL_MS_MIN 1000
#define VS_WORKER_TTL_MS_DEFAULT 30000
/* Returns the longest ttl.  The floor of `vesta store advance` must be above all that was granted, so a lease must not
 * be longer than two windows of the timing that the command assumes: `local` for a store on this host, else
 * `balanced`. */
int64_t vs_worker_ttl_ms_max(const struct vs_store *store);

/* The request for a lease.  Everything is copied. */
struct vs_worker_ask {
    const struct vesta_layout *layout;
    bool has_worker; /* claim only `worker`.  Otherwise claim any free worker id */
    uint64_t worker;
    int64_t ttl_ms;
    /* A name that stays the same when the program restarts.  The claim prefers the worker id that this name had last.
     * NULL: a random name.  The claim then prefers a worker id that was never used. */
    const char *identity;
    const char *holder; /* the host and process, as text for operators */
};

/* The numbers that identify a lease in the store, so that a process can find it again, for example after a restart. */
struct vs_worker_key {
    uint64_t worker, owner[2], incarnation;
};

enum vs_worker_end {
    VS_WORKER_HELD,     /* the store has acknowledged the claim or renewal, and the members below are set */
    VS_WORKER_RELEASED, /* the store has acknowledged the release */
    VS_WORKER_BUSY,     /* no worker id is free, or the wanted one is held.  Call again at retry_boot_us */
    VS_WORKER_AWAY,     /* the store did not reply, or did not confirm.  Call again at retry_boot_us */
    VS_WORKER_REJECTED, /* an operator must correct namespace, layout, clock or rights.  Call again at retry_boot_us */
    VS_WORKER_LOST      /* the lease has ended, or the store lost it.  End the program, and do not use the struct */
};

struct vs_worker {
    /* Set by VS_WORKER_HELD. */
    struct vs_worker_key key;
    uint64_t fence;           /* rises with each claim of this worker id */
    int64_t ttl_ms;           /* of this lease */
    int64_t starts_ms;        /* Unix time.  No id of this lease has an earlier time.  A lower bound after a resume */
    int64_t earlier_ms;       /* at most starts_ms.  Ids of earlier holders, and all watermarks, have earlier times */
    int64_t expires_ms;       /* Unix time.  All ids of this lease must have earlier times */
    int64_t deadline_boot_us; /* CLOCK_BOOTTIME.  Without a further renewal the program must have ended by then */
    /* Set by the other results. */
    int64_t retry_boot_us;

    /* Private.  The engine points into the struct, so do not move it. */
    struct vs_lineage at;
    struct vesta_layout layout;
    struct vs_lease lease;
    enum vs_outcome outcome; /* of the last call to the store */
    bool is_resumed;         /* the lease was claimed by another process, and its record has not been read yet */
    char identity[VS_IDENTITY_MAX];
};

/* Reads the layout of the namespace at->name in the store at->store.  If the namespace does not exist in a store on
 * this host, the first claim creates it with the layout `fallback`, which is then returned.  Errors: VESTA_ENOGEN if
 * the namespace does not exist.  VESTA_EMISMATCH if its layout cannot be read, has no worker id, or differs from
 * `fallback`.  VESTA_EIO.  `fallback` may be NULL. */
int vs_worker_layout(const struct vs_lineage *at, const struct vesta_layout *fallback, struct vesta_layout *out,
                     struct vesta_error *err);

/* Counts the held worker ids of the namespace with an identity that begins with `prefix`.  Returns VS_WORKER_HELD, or
 * VS_WORKER_AWAY with the reason. */
enum vs_worker_end vs_worker_count(const struct vs_lineage *at, const char *prefix, uint64_t *count,
                                   struct vesta_error *err);

/* Prepares a claim.  The strings and the store of `at` must outlive the struct.  Errors: VESTA_EOPTION if the ttl is
 * out of range or the name is too long.  VESTA_EFIELD if the worker id is too large for the layout.  VESTA_EIO if the
 * system returns no random bytes. */
int vs_worker_init(struct vs_worker *w, const struct vs_lineage *at, const struct vs_worker_ask *ask,
                   struct vesta_error *err);
/* Prepares the renewal or the release of a lease that another process may have claimed.  The first call reads the
 * lease, with its ttl, identity and holder, from the store.  It returns VS_WORKER_LOST if the store no longer has the
 * lease, or if the lease's identity does not begin with ask->identity.  Only these members of `ask` are used: identity
 * and layout. */
void vs_worker_resume(struct vs_worker *w, const struct vs_lineage *at, const struct vs_worker_key *key,
                      const struct vs_worker_ask *ask);

/* Each function makes a few calls to the store, and never sleeps.  If the result is not HELD or RELEASED, err->text is
 * the reason with its remedy.  Threads: one at a time. */
enum vs_worker_end vs_worker_claim(struct vs_worker *w, struct vesta_error *err);
enum vs_worker_end vs_worker_renew(struct vs_worker *w, struct vesta_error *err);
/* Releases the worker id.  The next holder starts after the time unit of `ended_ms`, which is the last instant, by its
 * own clock, at which the program could issue ids.  After AWAY, the store may have released the worker id.  If it has
 * not, the lease expires. */
#define VS_WORKER_UNUSED INT64_MIN    /* the program issued no id */
#define VS_WORKER_ENDS_LATE INT64_MAX /* the end is unknown: the next holder starts at expires_ms */
enum vs_worker_end vs_worker_release(struct vs_worker *w, int64_t ended_ms, struct vesta_error *err);

#endif
