/* ff1.c -- see ff1.h.  The names u, v, b, d, P, Q, A, B, R and y are those of SP 800-38G. */
#include "mask/ff1.h"

#include <assert.h>
#include <string.h>

#define ROUNDS 10

/* The longest tweak.  The blocks before the last are encrypted only once, so its length costs nothing per number. */
#define TWEAK_MAX 256

static uint64_t ff1_load(const uint8_t *bytes) {
    uint64_t value;
    memcpy(&value, bytes, 8);
    return __builtin_bswap64(value);
}

static void ff1_store(uint8_t *bytes, uint64_t value) {
    value = __builtin_bswap64(value);
    memcpy(bytes, &value, 8);
}

static uint64_t ff1_power(unsigned radix, unsigned digits) {
    uint64_t power = 1;
    while (digits-- > 0)
        power *= radix;
    return power;
}

/* Returns b: how many bytes the largest half needs. */
static unsigned ff1_bytes(uint64_t count) {
    return (unsigned)(64 - __builtin_clzll(count - 1) + 7) / 8;
}

void vs_ff1_open(struct vs_ff1 *ff1, const struct vs_ff1_opts *opts, const struct vs_aes *aes, struct vs_aes_key *key) {
    unsigned u = opts->digits / 2, v = opts->digits - u;
    uint8_t blocks[16 + TWEAK_MAX + 32] = {1, 2, 1, 0, 0, (uint8_t)opts->radix, ROUNDS, (uint8_t)u}; /* P, then Q */
    uint8_t mac[16] = {0};
    assert(opts->radix >= 2 && opts->radix < 256 && opts->digits >= 2 && opts->tweak_length <= TWEAK_MAX);
    *ff1 = (struct vs_ff1){.count = {ff1_power(opts->radix, u), ff1_power(opts->radix, v)}};
    assert(ff1->count[0] <= UINT64_C(1) << 56 && ff1->count[1] <= UINT64_C(1) << 56);
    unsigned b = ff1_bytes(ff1->count[1]), d = 4 * ((b + 3) / 4) + 4;
    ff1->shift = 8 * b;
    ff1->wide = 8 * (d - 8);
    assert(ff1->wide == 0 || ff1->wide == 32);
    ff1_store(blocks + 8, (uint64_t)opts->digits << 32 | opts->tweak_length);
    if (opts->tweak_length > 0) memcpy(blocks + 16, opts->tweak, opts->tweak_length);
    size_t last = 16 + (opts->tweak_length + b + 1 + 15) / 16 * 16 - 16; /* Q without its last block */
    for (size_t at = 0; at < last; at += 16) {
        for (int i = 0; i < 16; i++)
            mac[i] ^= blocks[at + (size_t)i];
        aes->encrypt(key, mac, 1);
    }
    ff1->high = ff1_load(mac) ^ ff1_load(blocks + last);
    ff1->low = ff1_load(mac + 8) ^ ff1_load(blocks + last + 8);
}

/* Returns y mod count. */
static inline uint64_t ff1_rest(const struct vs_ff1 *ff1, const uint8_t *r, uint64_t count) {
    uint64_t rest = ff1_load(r) % count;
    if (ff1->wide == 0) return rest;
    return (uint64_t)(((unsigned __int128)rest << 32 | ff1_load(r + 8) >> 32) % count);
}

/* Encrypts the block of round i for the half `from` of each number. */
static inline void ff1_round(const struct vs_ff1 *ff1, const struct vs_aes *aes, struct vs_aes_key *key, int i,
                             const struct vs_ff1_number *numbers, int from, uint8_t *blocks, size_t count) {
    for (size_t n = 0; n < count; n++) {
        ff1_store(blocks + 16 * n, ff1->high);
        ff1_store(blocks + 16 * n + 8, ff1->low ^ ((uint64_t)i << ff1->shift | numbers[n].half[from]));
    }
    aes->encrypt(key, blocks, count);
}

/* Even rounds change the upper half by the lower half, and odd rounds the lower half by the upper half.  So the halves
 * need not be swapped, and are in their places after the last round. */
void vs_ff1_encrypt(const struct vs_ff1 *ff1, const struct vs_aes *aes, struct vs_aes_key *key,
                    struct vs_ff1_number *numbers, size_t count) {
    uint8_t blocks[16 * VS_FF1_BATCH];
    for (int i = 0; i < ROUNDS; i++) {
        int to = i % 2;
        uint64_t most = ff1->count[to];
        ff1_round(ff1, aes, key, i, numbers, !to, blocks, count);
        for (size_t n = 0; n < count; n++) {
            uint64_t sum = numbers[n].half[to] + ff1_rest(ff1, blocks + 16 * n, most);
            numbers[n].half[to] = sum < most ? sum : sum - most;
        }
    }
}

void vs_ff1_decrypt(const struct vs_ff1 *ff1, const struct vs_aes *aes, struct vs_aes_key *key,
                    struct vs_ff1_number *numbers, size_t count) {
    uint8_t blocks[16 * VS_FF1_BATCH];
    for (int i = ROUNDS - 1; i >= 0; i--) {
        int to = i % 2;
        uint64_t most = ff1->count[to];
        ff1_round(ff1, aes, key, i, numbers, !to, blocks, count);
        for (size_t n = 0; n < count; n++) {
            uint64_t rest = ff1_rest(ff1, blocks + 16 * n, most), half = numbers[n].half[to];
            numbers[n].half[to] = half >= rest ? half - rest : half + most - rest;
        }
    }
}
