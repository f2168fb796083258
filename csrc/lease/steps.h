/* steps.h -- shared by the files of the lease engine.  No other file includes it.
 *
 *     timing.c  the presets, and the state of a lease
 *     lease.c   the event handler of each phase, and the actions
 *     claim.c   without a lease: namespace, worker id, record, claim
 *     hold.c    with a lease: renews it, loses it, releases it
 *     switch.c  replaces the held worker id */
#ifndef VS_STEPS_H
#define VS_STEPS_H

#include "lease/lease.h"

#define VS_LEASE_DOUBT_MS 250  /* how often a clock that jumped is checked, because it may be corrected at any time */
#define VS_LEASE_AGAIN_MS 500  /* between two renewals that issuers request */
#define VS_LEASE_RETRY_MS 1000 /* after a rejection, an unreachable store, or a worker id that another process holds   \
                                */

/* ---- timing.c */

/* The next tick that an issuer would get, from the cursor and the pacing. */
uint64_t vs_lease_next(const struct vs_lease *lease, const struct vs_event *ev);

/* ---- lease.c */

void vs_lease_say(struct vs_lease *lease, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint64_t vs_lease_tick_at(const struct vs_lease *lease, int64_t unix_ms);
int64_t vs_lease_ms_of(const struct vs_lease *lease, uint64_t tick);
bool vs_lease_is_ours(const struct vs_lease *lease, const struct vs_record *record);
/* An estimate of the store's clock. */
int64_t vs_lease_store_now(const struct vs_lease *lease, int64_t boot_us);
/* Whether our clock is too far ahead of the store's to get a lease.  If so, sets the message. */
bool vs_lease_is_ahead(struct vs_lease *lease, const struct vs_event *ev);
/* Adopts the bound of an acknowledged write. */
void vs_lease_adopt(struct vs_lease *lease, const struct vs_record *stored);

void vs_act(struct vs_lease *lease, struct vs_action *out, enum vs_phase phase, enum vs_do kind);
/* Sleeps until the time has passed, even if an issuer needs ids.  Then continues in the phase `after`. */
void vs_act_sleep(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out, int64_t ms,
                  enum vs_phase after);
/* With a lease: sleeps until it needs work, or an issuer needs ids. */
void vs_act_rest(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out, int64_t ms);
/* Writes the record with this bound over the version last seen, as held unless the phase is RELEASE. */
void vs_act_swap(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out, enum vs_phase phase,
                 uint64_t until);
void vs_act_claim(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_act_renew(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);

/* Whether the last two writes were sent within a second.  A third must wait, unless ids use up the window as fast. */
bool vs_lease_is_hasty(const struct vs_lease *lease, const struct vs_event *ev);
/* Handles a write with unknown outcome, or a reply that does not settle it: reads the record in the phase `next`.  The
 * first time at once, later after a pause with a message. */
void vs_act_unsettled(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out, enum vs_phase next);
/* Handles a store call that failed.  Returns false if the reply is OK or CONFLICT, which the caller handles.  Otherwise
 * returns true and sets *out: after MOVED it reads the namespace, else it waits and repeats the call in the phase
 * `again`. */
bool vs_lease_trouble(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out, enum vs_phase again);

/* ---- claim.c */

/* Each attempt takes a new slot, because another keeper may have continued the claim in the last one. */
void vs_lease_forget_slot(struct vs_lease *lease);
/* Starts a new claim. */
void vs_act_restart(struct vs_lease *lease, struct vs_action *out);
/* The same under the namespace's new incarnation.  It is adopted only now.  If this keeper was killed before, its
 * successor sees the same change. */
void vs_act_begin_anew(struct vs_lease *lease, struct vs_action *out);
/* Continues with the worker id set by hand, or with a choice. */
void vs_act_pick(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);

/* The tick at which leases may start after a repair of the store, or 0. */
uint64_t vs_lease_floor(const struct vs_lease *lease);
/* The tick at which a claim of this record starts. */
uint64_t vs_lease_from(const struct vs_lease *lease, const struct vs_event *ev, const struct vs_record *record);
/* How long this record must not be claimed, or 0.  Sets a message about the holder.  Claiming early is safe but may
 * evict a live holder. */
int64_t vs_lease_wait_ms(struct vs_lease *lease, uint64_t worker, const struct vs_record *record, int64_t store_ms);

void vs_step_ns_read(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_chosen(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_read(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_slot(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_claim(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);

/* ---- hold.c */

/* Whether the record contradicts an acknowledged write: versions only rise, and no successor can start below our bound.
 */
bool vs_lease_went_back(const struct vs_lease *lease, const struct vs_record *record);
void vs_lease_lost(struct vs_lease *lease, const struct vs_record *record, struct vs_action *out);

void vs_step_resume(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_held(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_renew(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_look(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_closing(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_release(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_release_look(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);

/* ---- switch.c */

/* Begins to replace the held worker id, as a policy asked. */
void vs_act_switch(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_switch(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_switch_read(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
/* Continues with the next worker id, after the held one was released or could not be. */
void vs_act_take_next(struct vs_lease *lease, struct vs_action *out);

#endif
