/* aes.h -- encrypts blocks with AES.  OpenSSL does it, in the module of TLS, which is loaded at the first use. */
#ifndef VS_AES_H
#define VS_AES_H

#include "tls/abi.h"
#include "vesta.h"

#include <stddef.h>

#define VS_AES_BLOCK 16

struct vs_aes_key;

struct vs_aes {
    uint32_t abi;
    /* Prepares a key of 16, 24 or 32 bytes.  Own: end with key_close.  Returns NULL if there is no memory.  Threads: one
     * at a time may use a key. */
    struct vs_aes_key *(*key_open)(const uint8_t *bytes, size_t length);
    /* Encrypts each block on its own, in place.  Allocates nothing. */
    void (*encrypt)(struct vs_aes_key *key, uint8_t *blocks, size_t count);
    void (*key_close)(struct vs_aes_key *key); /* may be NULL */
};

/* Loads the module.  If this build or this machine lacks the module, returns NULL and sets err. */
const struct vs_aes *vs_aes_find(struct vesta_error *err);

#endif
