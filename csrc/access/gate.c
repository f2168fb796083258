/* gate.c -- checks secrets (see gate.h).  Contains no request code. */
#include "access/gate.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct vs_gate {
    struct vs_gate_now now; /* may be read without the lock */
    _Atomic uint64_t proofs[VS_PROOF_PUT_OFF + 1];
    pthread_mutex_t lock; /* guards the following members, and changes of `now` */
    int counted;
    char name[VS_COUNTED_MAX][VS_ACCOUNT_NAME_MAX];
};

struct vs_gate *vs_gate_new(void) {
    struct vs_gate *gate = calloc(1, sizeof *gate);
    if (!gate) return NULL;
    pthread_mutex_init(&gate->lock, NULL);
    gate->counted = 1;
    snprintf(gate->name[0], sizeof gate->name[0], "(others)");
    return gate;
}

void vs_gate_free(struct vs_gate *gate) {
    if (!gate) return;
    vs_accounts_let(atomic_load(&gate->now.accounts));
    pthread_mutex_destroy(&gate->lock);
    free(gate);
}

/* ------------------------------------------------------------------ accounts */

void vs_gate_set(struct vs_gate *gate, struct vs_accounts *accounts) {
    pthread_mutex_lock(&gate->lock);
    struct vs_accounts *before = atomic_exchange(&gate->now.accounts, accounts);
    pthread_mutex_unlock(&gate->lock);
    vs_accounts_let(before);
}

struct vs_accounts *vs_gate_hold(struct vs_gate *gate) {
    pthread_mutex_lock(&gate->lock);
    struct vs_accounts *accounts = vs_accounts_hold(atomic_load(&gate->now.accounts));
    pthread_mutex_unlock(&gate->lock);
    return accounts;
}

int vs_gate_count_of(struct vs_gate *gate, const char *name) {
    int i = 1;
    pthread_mutex_lock(&gate->lock);
    while (i < gate->counted && strcmp(gate->name[i], name) != 0)
        i++;
    if (i == gate->counted && i < VS_COUNTED_MAX)
        snprintf(gate->name[gate->counted++], VS_ACCOUNT_NAME_MAX, "%s", name);
    pthread_mutex_unlock(&gate->lock);
    return i < VS_COUNTED_MAX ? i : 0;
}

const char *vs_gate_counted(struct vs_gate *gate, int count) {
    pthread_mutex_lock(&gate->lock);
    bool is_there = count < gate->counted;
    pthread_mutex_unlock(&gate->lock);
    return is_there ? gate->name[count] : NULL; /* the name of an index never changes */
}

/* ------------------------------------------------------------------ checking secrets */

static enum vs_proof access_count_proof(struct vs_gate *gate, enum vs_proof proof) {
    atomic_fetch_add_explicit(&gate->proofs[proof], 1, memory_order_relaxed); /* relaxed: only a count */
    return proof;
}

static bool access_has_token(const struct vs_account *a, const unsigned char digest[VS_SHA256_BYTES],
                     const struct vs_secret **which) {
    bool found = false;
    for (int i = 0; i < a->secret_count; i++) {
        if (!vs_secret_same(a->secret[i].digest, digest, VS_SHA256_BYTES)) continue;
        *which = &a->secret[i];
        found = true;
    }
    return found;
}

/* Searches the token among the tokens of all clients before it compares the name, so that an unknown name takes the
 * same time. */
enum vs_proof vs_gate_prove(struct vs_gate *gate, const struct vs_accounts *accounts, struct vs_slice name,
                            struct vs_slice secret, const struct vs_account **account, const struct vs_secret **which) {
    unsigned char digest[VS_SHA256_BYTES];
    const struct vs_account *found = NULL;
    /* Every token is shorter, so longer input is not hashed. */
    if (secret.length > VS_SECRET_BYTES_MAX) secret.length = 0;
    vs_secret_digest(secret, digest);
    for (int i = 0; i < accounts->count; i++)
        if (access_has_token(&accounts->at[i], digest, which)) found = &accounts->at[i];
    if (!found || (name.at && !vs_slice_is(name, found->name))) return access_count_proof(gate, VS_PROOF_WRONG);
    *account = found;
    return access_count_proof(gate, VS_PROOF_RIGHT);
}

enum vs_proof vs_gate_prove_plain(struct vs_gate *gate, struct ledger *ledger, struct ledger_entry *entry,
                                  struct vs_slice secret, const char *plain, int64_t now_us, int64_t *wait_us) {
    bool is_right = vs_slice_is_secret(secret, plain), can_be_guessed = strlen(plain) < VS_SECRET_RANDOM_MIN;
    if (!can_be_guessed) return access_count_proof(gate, is_right ? VS_PROOF_RIGHT : VS_PROOF_WRONG);
    *wait_us = ledger_login(ledger, entry, is_right, now_us);
    if (*wait_us > 0) return access_count_proof(gate, VS_PROOF_PUT_OFF);
    return access_count_proof(gate, is_right ? VS_PROOF_RIGHT : VS_PROOF_WRONG);
}

uint64_t vs_gate_proofs(struct vs_gate *gate, enum vs_proof proof) {
    return atomic_load_explicit(&gate->proofs[proof], memory_order_relaxed);
}
