/* gate.h -- checks secrets and finds their clients.  A check never waits.
 *
 * A client's token is looked up by its hash among the tokens of all clients.  Tokens cannot be guessed, so a valid
 * token is accepted at once, however many wrong tokens arrive.  A plain secret of the config may be short enough to
 * guess.  In that case, wrong secrets from an address delay further attempts from that address (ledger_login). */
#ifndef VS_GATE_H
#define VS_GATE_H

#include "access/ledger.h"

enum vs_proof {
    VS_PROOF_WRONG,
    VS_PROOF_RIGHT,
    VS_PROOF_PUT_OFF /* not checked, because of recent wrong secrets from that address */
};

#define VS_COUNTED_MAX 64 /* clients with separate counters (further clients share the first) */

struct vs_gate;
struct vs_gate *vs_gate_new(void); /* NULL: no memory */
void vs_gate_free(struct vs_gate *gate); /* may be NULL */

/* Replaces the accounts.  The gate then owns the new accounts.  NULL: there are no accounts.  Threads: any. */
void vs_gate_set(struct vs_gate *gate, struct vs_accounts *accounts);
/* vs_gate_now returns the pointer to the current accounts.  The caller may compare it with another pointer, but must
 * use vs_gate_hold to read the accounts. */
struct vs_gate_now { /* the first member of a gate, so that reading it needs no call */
    struct vs_accounts *_Atomic accounts;
};
static inline const struct vs_accounts *vs_gate_now(const struct vs_gate *gate) {
    return atomic_load(&((const struct vs_gate_now *)gate)->accounts);
}
/* Returns the current accounts, or NULL.  Release them with vs_accounts_let. */
struct vs_accounts *vs_gate_hold(struct vs_gate *gate);

/* Returns the index of a client's counters, from 1, or 0 for the shared counters.  A client's index never changes. */
int vs_gate_count_of(struct vs_gate *gate, const char *name);
/* Returns the name of the client at that index, or NULL. */
const char *vs_gate_counted(struct vs_gate *gate, int count);

/* Checks a client's name and token.  The name is optional (`name.at` may be NULL), because the token is sufficient.
 * The caller holds `accounts`.  If the result is RIGHT, *account and *which are the client and its token.  The duration
 * depends neither on the token nor on whether the name exists. */
enum vs_proof vs_gate_prove(struct vs_gate *gate, const struct vs_accounts *accounts, struct vs_slice name,
                            struct vs_slice secret, const struct vs_account **account, const struct vs_secret **which);
/* Checks a plain secret of the config.  If the result is PUT_OFF, the client must wait *wait_us. */
enum vs_proof vs_gate_prove_plain(struct vs_gate *gate, struct ledger *ledger, struct ledger_entry *entry,
                                  struct vs_slice secret, const char *plain, int64_t now_us, int64_t *wait_us);

/* Returns the number of checks with that result since the start. */
uint64_t vs_gate_proofs(struct vs_gate *gate, enum vs_proof proof);

#endif
