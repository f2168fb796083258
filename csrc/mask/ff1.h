/* ff1.h -- format-preserving encryption of numbers with FF1 (NIST SP 800-38G, revision 1): a permutation of the numbers
 * with n digits, which only the holder of the key can invert.  Pure, apart from the AES that the caller provides.
 *
 * A number is two halves, because 20 decimal digits exceed 64 bits: upper * radix^lower_digits + lower.  Revision 1
 * requires at least VS_FF1_COUNT_MIN numbers, because smaller sets can be attacked. */
#ifndef VS_FF1_H
#define VS_FF1_H

#include "tls/aes.h"

#define VS_FF1_COUNT_MIN 1000000
#define VS_FF1_BATCH 64 /* numbers that share the calls of AES */

struct vs_ff1_opts {
    unsigned radix, digits; /* each half must be below 2^56 */
    const uint8_t *tweak;
    size_t tweak_length;
};

/* The constants of a key and a tweak.  They may be copied, and any number of threads may use them. */
struct vs_ff1 {
    uint64_t count[2]; /* radix^digits of each half */
    uint64_t high, low; /* the MAC of all blocks before the last, combined with the constant bytes of the last block */
    unsigned shift;     /* bits of a half in the last block, below the number of the round */
    unsigned wide;      /* bits of a round's output beyond the first 64 */
};

struct vs_ff1_number {
    uint64_t half[2]; /* upper, lower */
};

/* Prepares the constants.  Requires opts that fit (assert). */
void vs_ff1_open(struct vs_ff1 *ff1, const struct vs_ff1_opts *opts, const struct vs_aes *aes, struct vs_aes_key *key);

/* Encrypt or decrypt `count` numbers in place, at most VS_FF1_BATCH.  Allocate nothing. */
void vs_ff1_encrypt(const struct vs_ff1 *ff1, const struct vs_aes *aes, struct vs_aes_key *key,
                    struct vs_ff1_number *numbers, size_t count);
void vs_ff1_decrypt(const struct vs_ff1 *ff1, const struct vs_aes *aes, struct vs_aes_key *key,
                    struct vs_ff1_number *numbers, size_t count);

#endif
