/* gate.h -- is this secret right, and whose is it?  What can be said at once is said at once; else the asker comes
 * again.
 *
 * A random secret is looked up by one hash and, where it is right, never put off: nobody guesses 128 bits, so what
 * others at its address say costs it nothing.  What a person chose waits for its address's turn (guard.h), but not
 * where its name was right from there and no wrong one of that name came since; then for the prover, unless it was
 * found right before. */
#ifndef VS_GATE_H
#define VS_GATE_H

#include "access/accounts.h"
#include "access/guard.h"

enum vs_proof {
    VS_PROOF_WRONG,
    VS_PROOF_RIGHT,
    VS_PROOF_LATER,  /* ask again in wait_us, or when the gate wakes */
    VS_PROOF_PUT_OFF /* not looked at: too many wrong ones came from there */
};

#define VS_COUNTED_MAX 64 /* clients that are counted by name; the others are counted together, as the first */

struct vs_gate;
/* `woken`: something was found out.  NULL: no memory. */
struct vs_gate *vs_gate_new(void (*woken)(void *self), void *self);
void vs_gate_free(struct vs_gate *gate); /* may be NULL */

/* From now on these, which are the gate's own then; NULL: there are no clients with names.  Threads: any. */
void vs_gate_set(struct vs_gate *gate, struct vs_accounts *accounts);
/* The accounts that hold: to be compared, and held by vs_gate_hold. */
const struct vs_accounts *vs_gate_now(struct vs_gate *gate);
struct vs_accounts *vs_gate_hold(struct vs_gate *gate);

/* Which count is a client's: from 1 on, or 0.  The same for a name as long as the gate is there. */
int vs_gate_count_of(struct vs_gate *gate, const char *name);
/* The name behind a count; NULL: there is none. */
const char *vs_gate_counted(struct vs_gate *gate, int count);

/* What is asked.  `name.at` NULL: a random secret says whose it is, and else it is default's. */
struct vs_asked {
    const struct vs_accounts *accounts; /* held by the caller */
    struct vs_guard_peer peer;
    struct vs_slice name, secret;
    const char *plain; /* not an account's: one that the config has as it is; accounts are not looked at */
    int64_t now_us;
};

/* A question whose answer is to come; zero at first, vs_proving_end at last. */
struct vs_proving {
    int64_t turn_us, wait_us; /* turn_us: when it may be looked at, 0: not asked yet; LATER: wait_us */
    uint32_t name;            /* by whose turn: the peer's */
    bool is_free;             /* ... that cost nothing, as long as nobody there is found wrong */
    struct vs_question *question;
};

/* RIGHT: *account and *which say whose, and by which of its secrets (of a plain one neither is set). */
enum vs_proof vs_gate_prove(struct vs_gate *gate, const struct vs_asked *asked, struct vs_proving *proving,
                            const struct vs_account **account, const struct vs_secret **which);
void vs_proving_end(struct vs_proving *proving);

/* How many were right, wrong and put off since the start. */
uint64_t vs_gate_proofs(struct vs_gate *gate, enum vs_proof proof);

#endif
