/* secret.h -- a client's secret is a random token.  The file of clients contains its SHA-256 and when it was made.
 *
 * A token has at least 128 random bits, so it cannot be guessed, and one fast hash protects it.  Secrets chosen by a
 * person ("chosen:TIME:$y$...") are no longer accepted: see vs_secret_is_chosen. */
#ifndef VS_SECRET_H
#define VS_SECRET_H

#include "access/sha256.h"
#include "base/slice.h"
#include "vesta.h"

#define VS_SECRET_BYTES_MAX 512 /* of a secret that a client sends */
#define VS_SECRET_RANDOM_MIN 22 /* characters: 128 bits in letters and digits */
#define VS_SECRET_TEXT_MAX 128  /* of an entry in the file */
#define VS_SECRET_NEW_MAX 48

struct vs_secret {
    int64_t made_ms;
    unsigned char digest[VS_SHA256_BYTES];
};

/* Reads "random:2026-11-23T15:30:00Z:HEX".  Errors: VESTA_EOPTION, whose text continues a sentence: "is ...". */
int vs_secret_read(struct vs_slice text, struct vs_secret *out, struct vesta_error *err);
const char *vs_secret_write(const struct vs_secret *secret, char buf[VS_SECRET_TEXT_MAX]);
/* Returns whether an entry contains the slow hash of a secret chosen by a person, as earlier versions wrote it. */
bool vs_secret_is_chosen(struct vs_slice text);

/* Draws a token of 160 bits in letters and digits, and its entry for the file.  Errors: VESTA_EIO. */
int vs_secret_draw(char text[VS_SECRET_NEW_MAX], int64_t now_ms, struct vs_secret *out, struct vesta_error *err);

void vs_secret_digest(struct vs_slice text, unsigned char digest[VS_SHA256_BYTES]);
/* Compares in a time that does not depend on the bytes. */
bool vs_secret_same(const void *a, const void *b, size_t length);
/* Whether both are the same entry of the file. */
bool vs_secret_is(const struct vs_secret *a, const struct vs_secret *b);

#endif
