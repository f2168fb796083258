/* steps.h -- the internal header of the lease engine.  Only the files listed here include it.
 *
 *     timing.c  the presets, and the state of a lease
 *     lease.c   the event handler of each phase, and the actions
 *     claim.c   without a lease: namespace, worker id, record, claim
 *     hold.c    with a lease: renews it, loses it, releases it
 *     switch.c  replaces the held worker id */
#ifndef VS_STEPS_H
#define VS_STEPS_H

#include "lease/lease.h"

/* The interval between checks after the clock jumped.  It is short, because the clock may be corrected at any time. */
#define VS_LEASE_DOUBT_MS 250
/* The shortest interval between renewals that issuers request. */
#define VS_LEASE_AGAIN_MS 500
/* How long to wait after a rejection, while the store is unreachable, or while another process holds the worker id. */
#define VS_LEASE_RETRY_MS 1000

/* ---- timing.c */

/* Returns the next tick that an issuer would get. */
uint64_t vs_lease_next(const struct vs_lease *lease, const struct vs_event *ev);

/* ---- lease.c */

/* Sets lease->said, a message for people to read. */
void vs_lease_say(struct vs_lease *lease, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint64_t vs_lease_tick_at(const struct vs_lease *lease, int64_t unix_ms);
int64_t vs_lease_ms_of(const struct vs_lease *lease, uint64_t tick);
bool vs_lease_is_ours(const struct vs_lease *lease, const struct vs_record *record);
/* Returns an estimate of the store's clock. */
int64_t vs_lease_store_now(const struct vs_lease *lease, int64_t boot_us);
/* Returns whether this host's clock is too far ahead of the store's to get a lease.  If so, sets the message. */
bool vs_lease_is_ahead(struct vs_lease *lease, const struct vs_event *ev);
/* Adopts the bound of a write that the store acknowledged. */
void vs_lease_adopt(struct vs_lease *lease, const struct vs_record *stored);

/* Sets the next action, and the phase in which its result is handled. */
void vs_act(struct vs_lease *lease, struct vs_action *out, enum vs_phase phase, enum vs_do kind);
/* Sleeps for `ms`, even if an issuer needs ids in the meantime.  Then continues in the phase `after`. */
void vs_act_sleep(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out, int64_t ms,
                  enum vs_phase after);
/* While a lease is held: sleeps for `ms`, or until an issuer needs ids. */
void vs_act_rest(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out, int64_t ms);
/* Writes the record with the bound `until` over the last version seen.  The record is marked as held, except in the
 * phase RELEASE. */
void vs_act_swap(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out, enum vs_phase phase,
                 uint64_t until);
void vs_act_claim(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_act_renew(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);

/* Returns whether the last two writes were sent within a second.  A third write must then wait, unless ids use up the
 * window that fast. */
bool vs_lease_is_hasty(const struct vs_lease *lease, const struct vs_event *ev);
/* Handles a write with unknown outcome, or an answer that does not determine the outcome: reads the record in the phase
 * `next`.  After the first such write it reads at once.  After further ones it first pauses, with a message. */
void vs_act_unsettled(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out, enum vs_phase next);
/* Handles a failed call to the store.  Returns false if the answer is OK or CONFLICT, which the caller handles.
 * Otherwise returns true and sets *out: after MOVED it reads the namespace, and after other failures it waits and
 * repeats the call in the phase `again`. */
bool vs_lease_trouble(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out, enum vs_phase again);

/* ---- claim.c */

/* Forgets the slot of a claim.  The next attempt takes a new slot, because another keeper may have continued the claim
 * in the old slot. */
void vs_lease_forget_slot(struct vs_lease *lease);
/* Starts a new claim. */
void vs_act_restart(struct vs_lease *lease, struct vs_action *out);
/* Starts a new claim under the namespace's new incarnation.  The incarnation is adopted only now, so that the next
 * keeper sees the same change if this one is killed earlier. */
void vs_act_begin_anew(struct vs_lease *lease, struct vs_action *out);
/* Continues the claim with the worker id that was set by hand, or by having a worker id chosen. */
void vs_act_pick(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);

/* Returns the tick before which no lease may start, because the store was repaired or has watermarks, or 0. */
uint64_t vs_lease_floor(const struct vs_lease *lease);
/* Returns the tick before which a holder of this record may issue no ids, whatever its clock shows. */
uint64_t vs_lease_earliest(const struct vs_lease *lease, const struct vs_record *record);
/* Returns the tick at which a claim of this record starts. */
uint64_t vs_lease_from(const struct vs_lease *lease, const struct vs_event *ev, const struct vs_record *record);
/* Returns how long to wait before this record may be claimed, or 0.  If it must wait, sets a message about the holder.
 * Claiming earlier would be safe but could evict a live holder. */
int64_t vs_lease_wait_ms(struct vs_lease *lease, uint64_t worker, const struct vs_record *record, int64_t store_ms);

void vs_step_ns_read(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_chosen(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_read(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_slot(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_claim(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);

/* ---- hold.c */

/* Returns whether the record contradicts an acknowledged write, which means that the store went back to an earlier
 * state.  A version only rises, and no successor can start below a bound that was granted to this engine. */
bool vs_lease_went_back(const struct vs_lease *lease, const struct vs_record *record);
/* Handles a record that another process has changed: causes a failstop if the store went back to an earlier state, else
 * notes the loss of the lease. */
void vs_lease_lost(struct vs_lease *lease, const struct vs_record *record, struct vs_action *out);

void vs_step_resume(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_held(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_renew(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_look(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_closing(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_release(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_release_ns(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_release_look(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);

/* ---- switch.c */

/* Begins to replace the held worker id, for vesta_switch. */
void vs_act_switch(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_switch(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_switch_read(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
/* Claims the next worker id, after the release of the held one has succeeded or failed. */
void vs_act_take_next(struct vs_lease *lease, struct vs_action *out);

#endif
