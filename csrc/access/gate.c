/* gate.c -- proving secrets: accounts, the guard and the prover together.  Knows no request. */
#include "access/gate.h"
#include "access/prover.h"
#include "os/random.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define LOOK_US 20000 /* who waits is woken; this is for a wake-up that came too early */
#define KNOWN_MAX (2 * VS_ACCOUNTS_MAX)

struct vs_gate {
    struct vs_guard *guard;
    struct vs_prover *prover;
    _Atomic uint64_t proofs[VS_PROOF_PUT_OFF + 1];
    pthread_mutex_t lock; /* over what follows; `now` may be looked at without */
    struct vs_accounts *_Atomic now;
    unsigned char key[VS_SHA256_BYTES]; /* of the hashes in `known`: no other process makes the same of a secret */
    unsigned char known[KNOWN_MAX][VS_SHA256_BYTES]; /* chosen secrets that were right, with the hash that they fit */
    int known_at, known_count, counted;
    char name[VS_COUNTED_MAX][VS_ACCOUNT_NAME_MAX];
};

struct vs_gate *vs_gate_new(void (*woken)(void *self), void *self) {
    struct vs_gate *gate = calloc(1, sizeof *gate);
    if (!gate) return NULL;
    pthread_mutex_init(&gate->lock, NULL);
    gate->guard = vs_guard_new();
    gate->prover = vs_prover_new(woken, self);
    gate->counted = 1;
    snprintf(gate->name[0], sizeof gate->name[0], "(others)");
    if (gate->guard && gate->prover && vs_random(gate->key, sizeof gate->key) == 0) return gate;
    vs_gate_free(gate);
    return NULL;
}

void vs_gate_free(struct vs_gate *gate) {
    if (!gate) return;
    vs_prover_free(gate->prover);
    vs_guard_free(gate->guard);
    vs_accounts_let(atomic_load(&gate->now));
    pthread_mutex_destroy(&gate->lock);
    explicit_bzero(gate, sizeof *gate);
    free(gate);
}

/* ------------------------------------------------------------------ accounts */

void vs_gate_set(struct vs_gate *gate, struct vs_accounts *accounts) {
    pthread_mutex_lock(&gate->lock);
    struct vs_accounts *before = atomic_exchange(&gate->now, accounts);
    pthread_mutex_unlock(&gate->lock);
    vs_accounts_let(before);
}

const struct vs_accounts *vs_gate_now(struct vs_gate *gate) {
    return atomic_load(&gate->now);
}

struct vs_accounts *vs_gate_hold(struct vs_gate *gate) {
    pthread_mutex_lock(&gate->lock);
    struct vs_accounts *accounts = vs_accounts_hold(atomic_load(&gate->now));
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
    return is_there ? gate->name[count] : NULL; /* what is there stays */
}

/* ------------------------------------------------------------------ what was right before */

static void print_of(const struct vs_gate *gate, const char *hash, struct vs_slice secret,
                     unsigned char print[VS_SHA256_BYTES]) {
    struct vs_sha256 sum;
    vs_sha256_begin(&sum);
    vs_sha256_add(&sum, gate->key, sizeof gate->key);
    vs_sha256_add(&sum, hash, strlen(hash) + 1);
    vs_sha256_add(&sum, secret.at, secret.length);
    vs_sha256_end(&sum, print);
}

static bool is_known(struct vs_gate *gate, const char *hash, struct vs_slice secret) {
    unsigned char print[VS_SHA256_BYTES];
    bool known = false;
    print_of(gate, hash, secret, print);
    pthread_mutex_lock(&gate->lock);
    for (int i = 0; i < gate->known_count; i++)
        known |= vs_secret_same(gate->known[i], print, sizeof print);
    pthread_mutex_unlock(&gate->lock);
    return known;
}

static void know(struct vs_gate *gate, const char *hash, struct vs_slice secret) {
    if (is_known(gate, hash, secret)) return;
    pthread_mutex_lock(&gate->lock);
    print_of(gate, hash, secret, gate->known[gate->known_at]);
    gate->known_at = (gate->known_at + 1) % KNOWN_MAX;
    if (gate->known_count < KNOWN_MAX) gate->known_count++;
    pthread_mutex_unlock(&gate->lock);
}

/* ------------------------------------------------------------------ proving */

static const struct vs_account *account_of(const struct vs_asked *asked) {
    static const struct vs_slice nobody = {VS_ACCOUNT_DEFAULT, sizeof VS_ACCOUNT_DEFAULT - 1};
    return vs_account_named(asked->accounts, asked->name.at ? asked->name : nobody);
}

/* A number of the name that it would prove; 0: there is no such name. */
static uint32_t name_of(const struct vs_asked *asked) {
    uint64_t sum = UINT64_C(0xcbf29ce484222325) ^ (uintptr_t)asked->plain;
    const struct vs_account *a = asked->plain ? NULL : account_of(asked);
    if (!asked->plain && !a) return 0;
    for (const char *at = a ? a->name : ""; *at; at++)
        sum = (sum ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    return (uint32_t)(sum >> 32 ^ sum) | 1;
}

static bool is_meant(const struct vs_asked *asked, const struct vs_account *account) {
    return !asked->name.at || vs_slice_is(asked->name, account->name);
}

/* All are looked at: how long that takes says nothing. */
static bool is_random(const struct vs_asked *asked, const struct vs_account **account, const struct vs_secret **which) {
    unsigned char digest[VS_SHA256_BYTES];
    bool found = false;
    vs_secret_digest(asked->secret, digest);
    for (int i = 0; i < asked->accounts->count; i++) {
        const struct vs_account *a = &asked->accounts->at[i];
        for (int s = 0; s < a->secret_count; s++) {
            if (a->secret[s].kind != VS_SECRET_RANDOM) continue;
            if (!vs_secret_same(a->secret[s].digest, digest, sizeof digest) || !is_meant(asked, a)) continue;
            *account = a, *which = &a->secret[s];
            found = true;
        }
    }
    return found;
}

static bool is_chosen(struct vs_gate *gate, const struct vs_asked *asked, const struct vs_account **account,
                      const struct vs_secret **which) {
    const struct vs_account *a = account_of(asked);
    for (int s = 0; a && s < a->secret_count; s++)
        if (a->secret[s].kind == VS_SECRET_CHOSEN && is_known(gate, a->secret[s].hash, asked->secret))
            return *account = a, *which = &a->secret[s], true;
    return false;
}

/* The hashes that it may fit, as a question; how many. */
static int pose(const struct vs_asked *asked, struct vs_question *q) {
    const struct vs_account *a = account_of(asked);
    q->hash_count = 0;
    q->peer = asked->peer;
    if (!a || asked->secret.length == 0 || memchr(asked->secret.at, '\0', asked->secret.length)) return 0;
    for (int s = 0; s < a->secret_count; s++)
        if (a->secret[s].kind == VS_SECRET_CHOSEN) strcpy(q->hash[q->hash_count++], a->secret[s].hash);
    memcpy(q->text, asked->secret.at, asked->secret.length);
    q->text[asked->secret.length] = '\0';
    return q->hash_count;
}

static enum vs_proof later(struct vs_proving *proving, int64_t wait_us) {
    proving->wait_us = wait_us;
    return VS_PROOF_LATER;
}

/* The prover's answer; it is asked first. */
static enum vs_proof ask_prover(struct vs_gate *gate, const struct vs_asked *asked, struct vs_proving *proving,
                                struct vs_question *what) {
    if (!proving->question) {
        what->wrong = vs_guard_count(gate->guard, &asked->peer);
        proving->question = vs_prover_ask(gate->prover, what);
        return later(proving, LOOK_US);
    }
    if (!atomic_load(&proving->question->is_done)) return later(proving, LOOK_US);
    const struct vs_question *q = proving->question;
    if (q->fits < 0) return VS_PROOF_WRONG;
    know(gate, q->hash[q->fits],
         (struct vs_slice){q->text, strlen(q->text)}); /* what was tried, whatever is asked now */
    return VS_PROOF_RIGHT;
}

/* Whose turn it waits for: its address's, or where its name was right from there its own, so that those who guess other
 * names there hold up nobody.  A wrong one of that name puts it back among them for a while. */
static struct vs_guard_peer whose_turn(struct vs_gate *gate, const struct vs_asked *asked) {
    struct vs_guard_peer own = asked->peer;
    own.name = name_of(asked);
    return own.name && vs_guard_is_good(gate->guard, &own, asked->now_us) ? own : asked->peer;
}

/* A turn that cost nothing is no more than the first of those that came together: where that was wrong the others line
 * up behind it. */
static void take_turn(struct vs_gate *gate, const struct vs_asked *asked, struct vs_proving *proving) {
    bool is_free = vs_guard_count(gate->guard, &asked->peer) == 0;
    bool is_over = proving->name != asked->peer.name || (proving->is_free && !is_free);
    if (proving->turn_us != 0 && (!is_over || proving->question)) return;
    proving->is_free = is_free;
    proving->name = asked->peer.name;
    proving->turn_us = vs_guard_turn(gate->guard, &asked->peer, asked->now_us);
}

static enum vs_proof prove_chosen(struct vs_gate *gate, const struct vs_asked *asked, struct vs_proving *proving,
                                  const struct vs_account **account, const struct vs_secret **which) {
    struct vs_question what;
    /* whoever asks beside one that is being proved would hear at once whether it is known */
    if (!proving->question && vs_prover_has(gate->prover, &asked->peer)) return later(proving, LOOK_US);
    if (is_chosen(gate, asked, account, which)) return VS_PROOF_RIGHT;
    enum vs_proof proof = pose(asked, &what) > 0 ? ask_prover(gate, asked, proving, &what) : VS_PROOF_WRONG;
    explicit_bzero(what.text, sizeof what.text);
    /* the accounts may be others by now: what fits a hash that is no longer there is wrong */
    if (proof == VS_PROOF_RIGHT && !is_chosen(gate, asked, account, which)) proof = VS_PROOF_WRONG;
    return proof;
}

static bool is_plain(const struct vs_asked *asked) {
    return vs_slice_is_secret(asked->secret, asked->plain);
}

/* What nobody guesses need not wait for its turn. */
static bool is_beyond_guessing(const struct vs_asked *asked, const struct vs_account **account,
                               const struct vs_secret **which) {
    if (asked->plain) return strlen(asked->plain) >= VS_SECRET_RANDOM_MIN && is_plain(asked);
    return is_random(asked, account, which);
}

static enum vs_proof prove(struct vs_gate *gate, const struct vs_asked *asked, struct vs_proving *proving,
                           const struct vs_account **account, const struct vs_secret **which) {
    if (is_beyond_guessing(asked, account, which)) return VS_PROOF_RIGHT;
    take_turn(gate, asked, proving);
    if (proving->turn_us < 0) return VS_PROOF_PUT_OFF;
    if (proving->turn_us > asked->now_us) return later(proving, proving->turn_us - asked->now_us);
    if (asked->plain) return is_plain(asked) ? VS_PROOF_RIGHT : VS_PROOF_WRONG;
    return prove_chosen(gate, asked, proving, account, which);
}

/* What is wrong for a name counts for its address, too. */
static void found_wrong(struct vs_gate *gate, const struct vs_asked *asked, const struct vs_guard_peer *whose) {
    if (whose->name) vs_guard_wrong(gate->guard, whose, asked->now_us);
    vs_guard_wrong(gate->guard, &asked->peer, asked->now_us);
}

/* What had no turn is beyond guessing, and needs none of its own. */
static void found_right(struct vs_gate *gate, const struct vs_asked *asked, bool had_turn) {
    struct vs_guard_peer own = asked->peer;
    own.name = name_of(asked);
    vs_guard_right(gate->guard, &asked->peer, asked->now_us);
    if (had_turn && own.name) vs_guard_right(gate->guard, &own, asked->now_us);
}

enum vs_proof vs_gate_prove(struct vs_gate *gate, const struct vs_asked *asked, struct vs_proving *proving,
                            const struct vs_account **account, const struct vs_secret **which) {
    struct vs_asked own = *asked;
    if (own.secret.length > VS_SECRET_BYTES_MAX && !own.plain) own.secret.length = 0; /* nobody has one as long */
    own.peer = whose_turn(gate, &own);
    enum vs_proof proof = prove(gate, &own, proving, account, which);
    if (proof == VS_PROOF_WRONG) found_wrong(gate, asked, &own.peer);
    if (proof == VS_PROOF_RIGHT) found_right(gate, asked, proving->turn_us != 0);
    if (proof != VS_PROOF_LATER) atomic_fetch_add(&gate->proofs[proof], 1);
    return proof;
}

void vs_proving_end(struct vs_proving *proving) {
    vs_question_let(proving->question);
    *proving = (struct vs_proving){0};
}

uint64_t vs_gate_proofs(struct vs_gate *gate, enum vs_proof proof) {
    return atomic_load(&gate->proofs[proof]);
}
