/* tickets.c -- keys of session tickets.  The keys belong to a server, not to a context.  So a ticket is valid in every
 * thread, and after a reload of the certificate's files.  The keys are rotated, so that recorded traffic cannot be
 * decrypted with a key that is stolen later. */
#include "tls/inside.h"
#include "os/clock.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define TURN_S 3600 /* how long a key is used to create tickets */
#define KEYS 3      /* the newest key creates tickets, and all keys decrypt tickets */
#define TICKET_S (TURN_S * (KEYS - 1))
#define NAME_BYTES 16
#define KEY_BYTES 32

struct key {
    unsigned char name[NAME_BYTES], cipher[KEY_BYTES], mac[KEY_BYTES];
};

struct vs_tickets {
    EVP_CIPHER *cipher;
    pthread_mutex_t lock; /* guards the members below */
    struct key key[KEYS]; /* sorted, newest first.  The newest creates tickets */
    int count;
    int64_t turned_us;
};

static int64_t tickets_now_us(void) {
    const struct vesta_clock *clock = vs_clock_system();
    return clock->boot_us(clock->self);
}

static bool tickets_turn(struct vs_tickets *t, int64_t now) {
    struct key key;
    if (RAND_bytes((unsigned char *)&key, sizeof key) != 1) return t->count > 0;
    memmove(&t->key[1], &t->key[0], (KEYS - 1) * sizeof key);
    t->key[0] = key;
    OPENSSL_cleanse(&key, sizeof key);
    if (t->count < KEYS) t->count++;
    t->turned_us = now;
    return true;
}

struct vs_tickets *vs_tickets_new(void) {
    struct vs_tickets *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    pthread_mutex_init(&t->lock, NULL);
    t->cipher = EVP_CIPHER_fetch(NULL, "AES-256-CBC", NULL);
    if (t->cipher && tickets_turn(t, tickets_now_us())) return t;
    vs_tickets_free(t);
    return NULL;
}

void vs_tickets_free(struct vs_tickets *t) {
    if (!t) return;
    EVP_CIPHER_free(t->cipher);
    pthread_mutex_destroy(&t->lock);
    OPENSSL_cleanse(t, sizeof *t);
    free(t);
}

/* Finds the key with this name, or the newest key if `name` is NULL.  Returns its index, or -1. */
static int tickets_find(struct vs_tickets *t, const unsigned char *name, struct key *key) {
    int64_t now = tickets_now_us();
    int at = 0;
    pthread_mutex_lock(&t->lock);
    while (now - t->turned_us >= TURN_S * INT64_C(1000000) && tickets_turn(t, t->turned_us + TURN_S * INT64_C(1000000)))
        /* all keys have just been replaced */
        if (now - t->turned_us > KEYS * TURN_S * INT64_C(1000000)) t->turned_us = now;
    while (name && at < t->count && memcmp(t->key[at].name, name, NAME_BYTES) != 0)
        at++;
    if (at < t->count) *key = t->key[at];
    pthread_mutex_unlock(&t->lock);
    return at < t->count ? at : -1;
}

static bool set_mac(EVP_MAC_CTX *mac, struct key *key) {
    OSSL_PARAM params[] = {OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key->mac, sizeof key->mac),
                           OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char[]){"SHA256"}, 0),
                           OSSL_PARAM_construct_end()};
    return EVP_MAC_CTX_set_params(mac, params) == 1;
}

/* Callback of SSL_CTX_set_tlsext_ticket_key_evp_cb.  Returns -1 if it fails, 0 for an unknown key, 1 for a valid key,
 * and 2 for a valid key if a new ticket must be issued. */
static int on_ticket(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac,
                     int is_made) {
    struct vs_tickets *t = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    struct key key;
    int at = tickets_find(t, is_made ? NULL : name, &key), rc = at > 0 ? 2 : 1;
    if (at < 0) return 0;
    if (is_made) memcpy(name, key.name, NAME_BYTES);
    if ((is_made && RAND_bytes(iv, EVP_CIPHER_get_iv_length(t->cipher)) != 1) ||
        EVP_CipherInit_ex(cipher, t->cipher, NULL, key.cipher, iv, is_made) != 1 || !set_mac(mac, &key))
        rc = -1;
    OPENSSL_cleanse(&key, sizeof key);
    return rc;
}

bool vs_tickets_use(struct vs_tickets *tickets, SSL_CTX *ctx) {
    SSL_CTX_set_app_data(ctx, tickets);
    SSL_CTX_set_timeout(ctx, TICKET_S);
    return SSL_CTX_set_tlsext_ticket_key_evp_cb(ctx, on_ticket) == 1;
}
