/* secret.h -- one secret as the file has it: a hash, and since when.  What a person chose is hashed by crypt(3), which
 * takes a processor a while, so that nobody who has the file tries many; what is random needs one SHA-256. */
#ifndef VS_SECRET_H
#define VS_SECRET_H

#include "access/sha256.h"
#include "base/slice.h"
#include "vesta.h"

#define VS_SECRET_BYTES_MAX 512 /* of one that is said */
#define VS_SECRET_CHOSEN_MIN 12 /* characters of one that a person chose */
#define VS_SECRET_RANDOM_MIN 22 /* of one that is random: 128 bits in letters and digits */
#define VS_SECRET_HASH_MAX 192
#define VS_SECRET_TEXT_MAX 256
#define VS_SECRET_NEW_MAX 48

enum vs_secret_kind { VS_SECRET_RANDOM, VS_SECRET_CHOSEN };

struct vs_secret {
    enum vs_secret_kind kind;
    int64_t made_ms;
    char hash[VS_SECRET_HASH_MAX];         /* crypt(3)'s text; of a random one "" */
    unsigned char digest[VS_SHA256_BYTES]; /* of a random one */
};

/* "random:2026-11-23T15:30:00Z:HEX", "chosen:2026-11-23T15:30:00Z:$y$..."; errors go on from there: "is ...". */
int vs_secret_read(struct vs_slice text, struct vs_secret *out, struct vesta_error *err);
const char *vs_secret_write(const struct vs_secret *secret, char buf[VS_SECRET_TEXT_MAX]);

/* A new one: 160 bits in letters and digits.  Errors: VESTA_EIO. */
int vs_secret_draw(char text[VS_SECRET_NEW_MAX], struct vesta_error *err);
/* Hashes a text.  Errors: VESTA_EOPTION: it is too short, too long, or has bytes that no client can say; VESTA_EIO. */
int vs_secret_hash(struct vs_slice text, enum vs_secret_kind kind, int64_t now_ms, struct vs_secret *out,
                   struct vesta_error *err);

void vs_secret_digest(struct vs_slice text, unsigned char digest[VS_SHA256_BYTES]);
/* In a time that says nothing of the bytes. */
bool vs_secret_same(const void *a, const void *b, size_t length);
/* Whether crypt(3) of a text is that hash: takes tens of milliseconds.  `text` ends with a NUL. */
bool vs_secret_fits(const char *text, const char *hash);
/* Whether both are the same entry of a file. */
bool vs_secret_is(const struct vs_secret *a, const struct vs_secret *b);

#endif
