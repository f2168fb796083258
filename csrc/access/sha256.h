/* sha256.h -- SHA-256 (FIPS 180-4) of short strings.  Tokens are random, so a slower hash is unnecessary. */
#ifndef VS_SHA256_H
#define VS_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define VS_SHA256_BYTES 32

struct vs_sha256 {
    uint32_t state[8];
    uint64_t length;
    unsigned char block[64];
};

void vs_sha256_begin(struct vs_sha256 *hash);
void vs_sha256_add(struct vs_sha256 *hash, const void *bytes, size_t length);
void vs_sha256_end(struct vs_sha256 *hash, unsigned char digest[VS_SHA256_BYTES]);

#endif
