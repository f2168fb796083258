/* gate.h -- whether a secret is right, and whose it is.  Every answer is immediate.
 *
 * A client's token is looked up by its hash among those of all clients.  It cannot be guessed, so a right one is never
 * put off, whatever other connections or addresses send.  A secret that the config contains as it is may be short.  If it
 * is, wrong ones from an address put off the next ones from there (ledger_login). */
#ifndef VS_GATE_H
#define VS_GATE_H

#include "access/ledger.h"

enum vs_proof {
    VS_PROOF_WRONG,
    VS_PROOF_RIGHT,
    VS_PROOF_PUT_OFF /* not compared, since wrong ones came from that address a moment ago */
};

#define VS_COUNTED_MAX 64 /* clients that are counted by name; the others are counted together, as the first */

struct vs_gate;
struct vs_gate *vs_gate_new(void); /* NULL: no memory */
void vs_gate_free(struct vs_gate *gate); /* may be NULL */

/* From now on these hold, and the gate owns them; NULL: there are no clients with names.  Threads: any. */
void vs_gate_set(struct vs_gate *gate, struct vs_accounts *accounts);
/* The accounts that hold, only to be compared with.  vs_gate_hold returns them to be read. */
struct vs_gate_now { /* the first member of a gate, so that this needs no call */
    struct vs_accounts *_Atomic accounts;
};
static inline const struct vs_accounts *vs_gate_now(const struct vs_gate *gate) {
    return atomic_load(&((const struct vs_gate_now *)gate)->accounts);
}
struct vs_accounts *vs_gate_hold(struct vs_gate *gate);

/* The index of a client's counts, from 1 on; 0: it is counted with the others.  It never changes for a name. */
int vs_gate_count_of(struct vs_gate *gate, const char *name);
/* The name of the client at that index; NULL: there is none. */
const char *vs_gate_counted(struct vs_gate *gate, int count);

/* A client's name and token, as a connection sent them.  `name.at` NULL: the token alone, which is enough.
 * RIGHT: *account and *which are the client and its token, of `accounts`, which the caller holds.  The time that it
 * takes depends neither on the token nor on whether there is a client of that name. */
enum vs_proof vs_gate_prove(struct vs_gate *gate, const struct vs_accounts *accounts, struct vs_slice name,
                            struct vs_slice secret, const struct vs_account **account, const struct vs_secret **which);
/* A secret of the config, `plain`.  PUT_OFF: *wait_us is for how long. */
enum vs_proof vs_gate_prove_plain(struct vs_gate *gate, struct ledger *ledger, struct ledger_entry *entry,
                                  struct vs_slice secret, const char *plain, int64_t now_us, int64_t *wait_us);

/* How many were right, wrong and put off since the start. */
uint64_t vs_gate_proofs(struct vs_gate *gate, enum vs_proof proof);

#endif
