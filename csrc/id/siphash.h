/* siphash.h -- SipHash-2-4 of one 64-bit word: random bits that only the holder of the key can predict.
 *
 * Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", and their reference code.  spec/unit/uuid.c has
 * its vectors. */
#ifndef VS_SIPHASH_H
#define VS_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t sip_rotate(uint64_t x, int bits) {
    return x << bits | x >> (64 - bits);
}

static inline void sip_rounds(uint64_t v[4], int n) {
    while (n-- > 0) {
        v[0] += v[1], v[1] = sip_rotate(v[1], 13) ^ v[0], v[0] = sip_rotate(v[0], 32);
        v[2] += v[3], v[3] = sip_rotate(v[3], 16) ^ v[2];
        v[0] += v[3], v[3] = sip_rotate(v[3], 21) ^ v[0];
        v[2] += v[1], v[1] = sip_rotate(v[1], 17) ^ v[2], v[2] = sip_rotate(v[2], 32);
    }
}

static inline void sip_add(uint64_t v[4], uint64_t word) {
    v[3] ^= word;
    sip_rounds(v, 2);
    v[0] ^= word;
}

/* Returns the hash of the word's 8 bytes, lowest first.  If `more` is not NULL, computes the hash of 128 bits instead,
 * and sets *more to its second half. */
static inline uint64_t vs_siphash(const uint64_t key[2], uint64_t word, uint64_t *more) {
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du, key[0] ^ 0x6c7967656e657261u,
                     key[1] ^ 0x7465646279746573u};
    if (more) v[1] ^= 0xee;
    sip_add(v, word);
    sip_add(v, (uint64_t)8 << 56); /* the last block has the length, which is 8 bytes */
    v[2] ^= more ? 0xee : 0xff;
    sip_rounds(v, 4);
    uint64_t hash = v[0] ^ v[1] ^ v[2] ^ v[3];
    if (more) {
        v[1] ^= 0xdd;
        sip_rounds(v, 4);
        *more = v[0] ^ v[1] ^ v[2] ^ v[3];
    }
    return hash;
}

#endif
