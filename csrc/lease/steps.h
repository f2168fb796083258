/* steps.h -- what the files of the lease engine share.  Only they include it.
 *
 *   timing.c  the presets, how a lease stands
 *   lease.c   what an event means in each phase, and the actions
 *   claim.c   the way to a lease: namespace, number, record, claim
 *   hold.c    with a lease: renewing, losing it, giving it back
 *   switch.c  another number in place of the held one */
#ifndef VS_STEPS_H
#define VS_STEPS_H

#include "lease/lease.h"

#define VS_LEASE_DOUBT_MS 250  /* how often a clock that leapt is looked at: it may be set right at any time */
#define VS_LEASE_AGAIN_MS 500  /* between two renewals that issuers want */
#define VS_LEASE_RETRY_MS 1000 /* after a refusal, a store that is down, or a number that somebody holds */

/* ---- timing.c */

/* The next tick that an issuer would get, by the cursor and the pacing. */
uint64_t vs_lease_next(const struct vs_lease *lease, const struct vs_event *ev);

/* ---- lease.c */

void vs_lease_say(struct vs_lease *lease, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint64_t vs_lease_tick_at(const struct vs_lease *lease, int64_t unix_ms);
int64_t vs_lease_ms_of(const struct vs_lease *lease, uint64_t tick);
bool vs_lease_is_ours(const struct vs_lease *lease, const struct vs_record *record);
/* The store's clock, as far as it is known. */
int64_t vs_lease_store_now(const struct vs_lease *lease, int64_t boot_us);
/* Whether our clock is too far ahead of the store's to be granted anything by it; says so. */
bool vs_lease_is_ahead(struct vs_lease *lease, const struct vs_event *ev);
/* Takes up what an acknowledged write granted. */
void vs_lease_adopt(struct vs_lease *lease, const struct vs_record *stored);

void vs_act(struct vs_lease *lease, struct vs_action *out, enum vs_phase phase, enum vs_do kind);
/* Whoever wants an id is no reason to do sooner what comes `after`. */
void vs_act_sleep(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out, int64_t ms,
                  enum vs_phase after);
/* With a lease: until there is something to do for it, or somebody wants an id. */
void vs_act_rest(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out, int64_t ms);
/* Writes the record with this bound over the version last seen: held, unless the phase is RELEASE. */
void vs_act_swap(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out, enum vs_phase phase,
                 uint64_t until);
void vs_act_claim(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_act_renew(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);

/* Whether the last two writes were sent within a second: a third one is not, unless ids use the window up as fast. */
bool vs_lease_is_hasty(const struct vs_lease *lease, const struct vs_event *ev);
/* A write that was not acknowledged, and of which this is no answer either: what stands there is looked at, in the
 * phase `next`; at once the first time, then after a rest, and that is said. */
void vs_act_unsettled(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out, enum vs_phase next);
/* A reply that is neither yes nor a conflict.  True if it was one, and *out is filled: the phase `again`, later; or
 * the namespace is looked at anew. */
bool vs_lease_trouble(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out, enum vs_phase again);

/* ---- claim.c */

/* Every attempt has a slot of its own: another keeper may have taken up the claim in the last one. */
void vs_lease_forget_slot(struct vs_lease *lease);
/* Starts over with a fresh claim. */
void vs_act_restart(struct vs_lease *lease, struct vs_action *out);
/* The same under the namespace's new incarnation: only now is it taken up, so that a successor of a keeper that was
 * killed before sees what this one saw. */
void vs_act_begin_anew(struct vs_lease *lease, struct vs_action *out);
/* The way to a record: the number given by hand, or a choice. */
void vs_act_pick(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);

/* Where a person who put the store right lets leases start; 0: nobody had to. */
uint64_t vs_lease_floor(const struct vs_lease *lease);
/* Where a claim of this record would start. */
uint64_t vs_lease_from(const struct vs_lease *lease, const struct vs_event *ev, const struct vs_record *record);
/* How long this record must be left alone; 0: it may be claimed now.  Says who is in the way.  Being early would be
 * safe, only unkind. */
int64_t vs_lease_wait_ms(struct vs_lease *lease, uint64_t worker, const struct vs_record *record, int64_t store_ms);

void vs_step_ns_read(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_chosen(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_read(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_slot(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_claim(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);

/* ---- hold.c */

/* Whoever holds the number now: versions only rise, and no successor can start below what was granted to us. */
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

/* Held, and a policy wants another number. */
void vs_act_switch(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_switch(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
void vs_step_switch_read(struct vs_lease *lease, const struct vs_event *ev, struct vs_action *out);
/* The held number is given back, or was not to be: on to the next one. */
void vs_act_take_next(struct vs_lease *lease, struct vs_action *out);

#endif
