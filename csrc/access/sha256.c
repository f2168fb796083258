/* sha256.c -- SHA-256 (FIPS 180-4).  Implemented here, because loading a library would cost more time at each program
 * start than all hashes. */
#include "access/sha256.h"

#include <string.h>

static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static inline uint32_t access_sha256_rotated(uint32_t word, int by) {
    return word >> by | word << (32 - by);
}

static inline uint32_t access_sha256_word(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void access_sha256_spread(const unsigned char *block, uint32_t w[64]) {
    for (int i = 0; i < 16; i++)
        w[i] = access_sha256_word(block + 4 * i);
    for (int i = 16; i < 64; i++) {
        uint32_t a = access_sha256_rotated(w[i - 15], 7) ^ access_sha256_rotated(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t b = access_sha256_rotated(w[i - 2], 17) ^ access_sha256_rotated(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
}

/* One round.  The caller rotates the names of the eight words instead of moving values. */
static inline void access_sha256_round(uint32_t a, uint32_t b, uint32_t c, uint32_t *d, uint32_t e, uint32_t f,
                                       uint32_t g, uint32_t *h, uint32_t add) {
    uint32_t of_e = access_sha256_rotated(e, 6) ^ access_sha256_rotated(e, 11) ^ access_sha256_rotated(e, 25);
    uint32_t of_a = access_sha256_rotated(a, 2) ^ access_sha256_rotated(a, 13) ^ access_sha256_rotated(a, 22);
    uint32_t first = *h + of_e + ((e & f) ^ (~e & g)) + add;
    *d += first;
    *h = first + of_a + ((a & b) ^ (a & c) ^ (b & c));
}

static void access_sha256_mix(uint32_t state[8], const unsigned char *block) {
    uint32_t w[64], s[8];
    access_sha256_spread(block, w);
    memcpy(s, state, sizeof s);
    for (int i = 0; i < 64; i += 8) {
        access_sha256_round(s[0], s[1], s[2], &s[3], s[4], s[5], s[6], &s[7], k[i] + w[i]);
        access_sha256_round(s[7], s[0], s[1], &s[2], s[3], s[4], s[5], &s[6], k[i + 1] + w[i + 1]);
        access_sha256_round(s[6], s[7], s[0], &s[1], s[2], s[3], s[4], &s[5], k[i + 2] + w[i + 2]);
        access_sha256_round(s[5], s[6], s[7], &s[0], s[1], s[2], s[3], &s[4], k[i + 3] + w[i + 3]);
        access_sha256_round(s[4], s[5], s[6], &s[7], s[0], s[1], s[2], &s[3], k[i + 4] + w[i + 4]);
        access_sha256_round(s[3], s[4], s[5], &s[6], s[7], s[0], s[1], &s[2], k[i + 5] + w[i + 5]);
        access_sha256_round(s[2], s[3], s[4], &s[5], s[6], s[7], s[0], &s[1], k[i + 6] + w[i + 6]);
        access_sha256_round(s[1], s[2], s[3], &s[4], s[5], s[6], s[7], &s[0], k[i + 7] + w[i + 7]);
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

void vs_sha256_begin(struct vs_sha256 *hash) {
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(hash->state, start, sizeof start);
    hash->length = 0;
}

void vs_sha256_add(struct vs_sha256 *hash, const void *bytes, size_t length) {
    const unsigned char *at = bytes;
    while (length > 0) {
        size_t used = hash->length % 64, room = 64 - used, n = length < room ? length : room;
        memcpy(hash->block + used, at, n);
        hash->length += n;
        at += n, length -= n;
        if (n == room) access_sha256_mix(hash->state, hash->block);
    }
}

void vs_sha256_end(struct vs_sha256 *hash, unsigned char digest[VS_SHA256_BYTES]) {
    static const unsigned char pad[64] = {0x80};
    unsigned char bits[8];
    uint64_t length = hash->length * 8;
    for (int i = 0; i < 8; i++)
        bits[i] = (unsigned char)(length >> (56 - 8 * i));
    size_t used = hash->length % 64;
    vs_sha256_add(hash, pad, used < 56 ? 56 - used : 120 - used);
    vs_sha256_add(hash, bits, sizeof bits);
    for (int i = 0; i < VS_SHA256_BYTES; i++)
        digest[i] = (unsigned char)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
    explicit_bzero(hash, sizeof *hash);
}
