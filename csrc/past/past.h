/* past.h -- leases of past ticks: which worker id a range of the past gets, and its record in the store.
 *
 * A past range is a grant like every other: one compare-and-set raises `until` of a worker id's record, and the caller
 * may issue the ticks from FROM up to the new `until`.  A worker id is used only if its `until` is at most FROM, so no
 * tick of the range was granted before.  The record is written as free, not as held.  So a past range needs no renewal,
 * no other process waits for it, and a live lease of the same worker id starts at the present as usual. */
#ifndef VS_PAST_H
#define VS_PAST_H

#include "store/lineage.h"
#include "vesta_past.h"

/* The request for a range.  Everything is copied. */
struct vs_past_ask {
    const struct vesta_layout *layout;   /* the caller's layout, which the namespace must have.  NULL: any */
    const struct vesta_layout *fallback; /* in a store on this host: creates a missing namespace.  NULL: do not */
    struct vesta_past_span span;
    bool has_worker; /* lease only `worker`.  Otherwise choose one */
    uint64_t worker;
    const char *fields, *method; /* as in struct vesta_opts */
    const char *holder;          /* the host and process, as text for operators */
};

/* A leased range. */
struct vs_past_range {
    struct vesta_layout layout;
    uint64_t base; /* the bits of an id except those of its tick */
    uint64_t worker, owner[2];
    uint64_t from, until; /* ticks */
    uint64_t others;      /* further worker ids that could be leased for these dates */
};

/* Leases a range from the store at->store, which must be open.  Never sleeps.  Errors: those of vesta_past_open. */
int vs_past_claim(const struct vs_lineage *at, const struct vs_past_ask *ask, struct vs_past_range *out,
                  struct vesta_error *err);
/* Returns the ticks of a range from `next` on to the store.  Of `range`, only worker, owner, from and until are used.
 * Errors: those of vesta_past_release. */
int vs_past_give_back(struct vs_store *store, const struct vs_past_range *range, uint64_t next,
                      struct vesta_error *err);

/* Writes the state of a range of which no id was made. */
void vs_past_describe(const struct vs_past_range *range, struct vesta_past_info *out);
/* Writes the text of a range, with which `vesta range release` finds it: worker id, ticks and owner.  Returns buf. */
const char *vs_past_text(const struct vs_past_range *range, char buf[VESTA_PAST_TEXT_MAX]);
/* Reads such a text, and sets worker, owner, from and until.  Returns false if the text is malformed. */
bool vs_past_read(const char *text, struct vs_past_range *range);
/* Returns the tick of an id.  Errors: VESTA_EID if it is not an id of the range. */
int vs_past_tick_of(const struct vs_past_range *range, uint64_t id, uint64_t *tick, struct vesta_error *err);

/* Leases a range, and opens its issuer.  Closes the store with the handle, if `owns_store`.  Errors: those of
 * vesta_past_open. */
int vs_past_open_at(const struct vs_lineage *at, const struct vs_past_ask *ask, struct vesta_past **past,
                    struct vesta_error *err);

#endif
