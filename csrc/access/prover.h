/* prover.h -- a thread that finds out whether a secret fits a hash of crypt(3).  One question of an address at a time;
 * who has said fewest wrong ones is first. */
#ifndef VS_PROVER_H
#define VS_PROVER_H

#include "access/accounts.h"
#include "access/guard.h"

#define VS_PROVER_WAITING_MAX 512

/* Held by who asks and by the prover: whoever lets it last frees it, so neither waits for the other. */
struct vs_question {
    struct vs_question *next;
    atomic_int holders;
    atomic_bool is_done; /* `fits` may be read */
    int fits;            /* which of the hashes; -1: none */
    struct vs_guard_peer peer;
    unsigned wrong; /* how many its address has said */
    int hash_count;
    char hash[VS_ACCOUNT_SECRETS_MAX][VS_SECRET_HASH_MAX];
    char text[VS_SECRET_BYTES_MAX + 1];
};

struct vs_prover;
/* `woken` is called by its thread when a question is answered.  The thread starts with the first question. */
struct vs_prover *vs_prover_new(void (*woken)(void *self), void *self);
void vs_prover_free(struct vs_prover *prover); /* may be NULL; waits for the hash under way */

/* A copy of `what` to be held; NULL: an address has asked already, too many have, or there is no memory: ask again. */
struct vs_question *vs_prover_ask(struct vs_prover *prover, const struct vs_question *what);
/* Whether something of that address is being asked. */
bool vs_prover_has(struct vs_prover *prover, const struct vs_guard_peer *peer);
void vs_question_let(struct vs_question *question); /* may be NULL */

#endif
