/* mask.h -- shows a number as a text from which only the holder of a key learns the number, and reads it back.
 *
 *     text = [version] digits [check digits]
 *
 *   version       one digit, 1 to 9, if the key has a version other than 0
 *   digits        the number, encrypted with FF1 (ff1.h), always with all leading zeros
 *   check digits  computed over the characters before them (number/check.h)
 *
 * No text belongs to two numbers.  Texts of version 0 are shorter than the others, and texts of two other versions
 * begin with different digits.  Within a version, FF1 is a permutation. */
#ifndef VS_MASK_H
#define VS_MASK_H

#include "vesta.h"

#include <stdbool.h>
#include <stddef.h>

#define VS_MASK_TEXT_MAX 24 /* a version, 20 digits, 2 check digits and a NUL */
#define VS_MASK_DIGITS_MAX 20
#define VS_MASK_KEYS_MAX 10 /* versions 0 to 9 */
#define VS_MASK_KEY_BYTES_MAX 32

/* Decimal digits, or Crockford's base32. */
enum vs_mask_alphabet { VS_MASK_DECIMAL, VS_MASK_BASE32 };
enum vs_mask_check { VS_MASK_NONE, VS_MASK_LUHN, VS_MASK_DAMM, VS_MASK_ISO7064 };

/* A key of AES. */
struct vs_mask_key {
    int version;
    size_t length; /* 16, 24 or 32 */
    uint8_t bytes[VS_MASK_KEY_BYTES_MAX];
};

struct vs_mask_opts {
    enum vs_mask_alphabet alphabet;
    enum vs_mask_check check;
    int digits;
    uint64_t max;     /* the largest number, and the largest value of its digits (0: all digits may have any value) */
    const char *name; /* of the namespace or counter.  With one key, two names have different texts */
    bool is_counter;
    const struct vs_mask_key *key; /* the first key writes texts, and all keys read them */
    int key_count;
    int threads; /* how many threads may use the mask at once */
};

struct vs_mask;

/* Checks all options but the keys: the digits are many enough for FF1 and few enough for 64 bits, the check fits the
 * alphabet, and `max` fits the digits.  Errors: VESTA_EOPTION, with the wrong key of the config in *key. */
int vs_mask_check(const struct vs_mask_opts *opts, const char **key, struct vesta_error *err);
/* Returns the largest number that has a text.  Requires options that vs_mask_check accepts. */
uint64_t vs_mask_max(const struct vs_mask_opts *opts);

/* Checks that every id that a generator can issue is at most `max`.  Uses `fields` and `method` of its options.
 * Errors: VESTA_EOPTION with the year in which the first id could exceed `max`. */
int vs_mask_fits(const struct vesta_opts *opts, const struct vesta_layout *layout, uint64_t max,
                 struct vesta_error *err);

/* Opens a mask, and copies the keys.  Own: close with vs_mask_close.  Errors: VESTA_EOPTION, VESTA_ENOMEM. */
int vs_mask_open(const struct vs_mask_opts *opts, struct vs_mask **mask, struct vesta_error *err);
void vs_mask_close(struct vs_mask *mask); /* may be NULL */

/* Returns VESTA_OK if the number has a text.  Threads: any.  Errors: VESTA_EFIELD. */
int vs_mask_admits(const struct vs_mask *mask, uint64_t number, struct vesta_error *err);

/* Returns the largest number that has a text. */
uint64_t vs_mask_last(const struct vs_mask *mask);

/* Returns the length of every text that the mask writes. */
size_t vs_mask_length(const struct vs_mask *mask);

/* Writes the texts of `count` numbers, one after the other, each with vs_mask_length characters and no NUL.  Allocates
 * nothing.  Threads: one per `thread`, which is 0 to opts.threads - 1.
 * Errors: VESTA_EFIELD if a number exceeds the mask.  Then no text is valid. */
int vs_mask_write(const struct vs_mask *mask, int thread, const uint64_t *numbers, size_t count, char *texts,
                  struct vesta_error *err);

/* Reads the number of a text: the inverse of vs_mask_write, for all keys.  Base32 may be in either case, with I, L and
 * O for 1, 1 and 0.  Sets *number and *version only on success.  Threads: as vs_mask_write. Errors: VESTA_EID with the
 * reason. */
int vs_mask_read(const struct vs_mask *mask, int thread, const char *text, size_t length, uint64_t *number,
                 int *version, struct vesta_error *err);

/* Reads a key file: one line with 16, 24 or 32 bytes in hex or base64.  Only its owner and group may have access to it.
 * Errors: VESTA_EIO, VESTA_EOPTION, with the path. */
int vs_mask_key_read(const char *path, struct vs_mask_key *key, struct vesta_error *err);

/* Reads a key file for UUIDs (uuid47.h), which must have 16 bytes.  Errors: as vs_mask_key_read. */
int vs_mask_uuid_key_read(const char *path, uint8_t key[16], struct vesta_error *err);

#endif
