/* secret.h -- a client's secret is a random token.  The file of clients contains its SHA-256 and the time of its
 * creation.
 *
 * A token has at least 128 random bits, so it cannot be guessed, and a fast hash is sufficient.  Secrets chosen by a
 * person ("chosen:TIME:$y$...") are no longer accepted: see vs_secret_is_chosen. */
#ifndef VS_SECRET_H
#define VS_SECRET_H

#include "access/sha256.h"
#include "base/slice.h"
#include "vesta.h"

#define VS_SECRET_BYTES_MAX 512 /* bytes of a secret that a client sends */
#define VS_SECRET_RANDOM_MIN 22 /* characters that are needed for 128 bits in letters and digits */
#define VS_SECRET_TEXT_MAX 128  /* bytes of the text form in the file */
#define VS_SECRET_NEW_MAX 48

struct vs_secret {
    int64_t made_ms;
    unsigned char digest[VS_SHA256_BYTES];
};

/* Reads the text form "random:2026-11-23T15:30:00Z:HEX".  Errors: VESTA_EOPTION, with a text that continues a
 * sentence that begins with "secret". */
int vs_secret_read(struct vs_slice text, struct vs_secret *out, struct vesta_error *err);
const char *vs_secret_write(const struct vs_secret *secret, char buf[VS_SECRET_TEXT_MAX]);
/* Returns whether a text form contains the slow hash of a secret chosen by a person, which earlier versions wrote. */
bool vs_secret_is_chosen(struct vs_slice text);

/* Draws a token of 160 random bits, in letters and digits, and sets *out to its time and hash.  Errors: VESTA_EIO. */
int vs_secret_draw(char text[VS_SECRET_NEW_MAX], int64_t now_ms, struct vs_secret *out, struct vesta_error *err);

void vs_secret_digest(struct vs_slice text, unsigned char digest[VS_SHA256_BYTES]);
/* Compares two byte strings in constant time. */
bool vs_secret_same(const void *a, const void *b, size_t length);
/* Returns whether both secrets have the same hash. */
bool vs_secret_is(const struct vs_secret *a, const struct vs_secret *b);

#endif
