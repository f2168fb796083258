/* secret.c -- tokens: drawing, parsing, writing and comparing.  Contains no client code. */
#include "access/secret.h"
#include "base/error.h"
#include "base/time.h"
#include "os/random.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define KIND "random"
#define OLD_KIND "chosen" /* kind of secrets chosen by a person, which earlier versions wrote */

/* ------------------------------------------------------------------ text form */

static int access_hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool access_read_digest(struct vs_slice text, unsigned char digest[VS_SHA256_BYTES]) {
    if (text.length != 2 * VS_SHA256_BYTES) return false;
    for (size_t i = 0; i < text.length; i += 2) {
        int high = access_hex_value(text.at[i]), low = access_hex_value(text.at[i + 1]);
        if (high < 0 || low < 0) return false;
        digest[i / 2] = (unsigned char)(high << 4 | low);
    }
    return true;
}

/* Splits at the last colon, because the time before the hash contains colons. */
static bool access_split_last(struct vs_slice text, struct vs_slice *before, struct vs_slice *after) {
    const char *at = memrchr(text.at, ':', text.length);
    if (!at) return false;
    *before = (struct vs_slice){text.at, (size_t)(at - text.at)};
    *after = (struct vs_slice){at + 1, text.length - before->length - 1};
    return true;
}

int vs_secret_read(struct vs_slice text, struct vs_secret *out, struct vesta_error *err) {
    struct vs_slice kind, rest, made, hash;
    struct vs_secret secret;
    struct vesta_error why;
    if (!vs_slice_split(text, ':', &kind, &rest) || !access_split_last(rest, &made, &hash))
        return vs_fail(err, VESTA_EOPTION, "must be " KIND ":TIME:HASH");
    if (!vs_slice_is(kind, KIND))
        return vs_fail(err, VESTA_EOPTION, "has the kind '%s', which must be " KIND, VS_QUOTE(kind.at, kind.length));
    if (vs_time_read(made, &secret.made_ms, &why) != VESTA_OK)
        return vs_fail(err, VESTA_EOPTION, "has a time that cannot be read: %.200s", why.text);
    if (!access_read_digest(hash, secret.digest))
        return vs_fail(err, VESTA_EOPTION, "has a hash that is not %d digits of 0-9 a-f", 2 * VS_SHA256_BYTES);
    *out = secret;
    return VESTA_OK;
}

bool vs_secret_is_chosen(struct vs_slice text) {
    struct vs_slice kind, rest;
    return vs_slice_split(text, ':', &kind, &rest) && vs_slice_is(kind, OLD_KIND);
}

const char *vs_secret_write(const struct vs_secret *secret, char buf[VS_SECRET_TEXT_MAX]) {
    char made[VESTA_ISO_MAX];
    vesta_iso(secret->made_ms - secret->made_ms % 1000, made);
    int n = snprintf(buf, VS_SECRET_TEXT_MAX, KIND ":%s:", made);
    for (int i = 0; i < VS_SHA256_BYTES; i++)
        n += snprintf(buf + n, VS_SECRET_TEXT_MAX - (size_t)n, "%02x", secret->digest[i]);
    return buf;
}

/* ------------------------------------------------------------------ new tokens */

/* Encodes five random bits per character, and uses no characters that are easily confused. */
int vs_secret_draw(char text[VS_SECRET_NEW_MAX], int64_t now_ms, struct vs_secret *out, struct vesta_error *err) {
    static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";
    unsigned char bytes[32];
    _Static_assert(sizeof letters - 1 == 32 && sizeof bytes < VS_SECRET_NEW_MAX, "five bits of each byte are used");
    _Static_assert(5 * sizeof bytes >= 128, "a token cannot be guessed");
    if (vs_random(bytes, sizeof bytes) != 0)
        return vs_fail(err, VESTA_EIO, "the system returned no random bytes: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++)
        text[i] = letters[bytes[i] & 31];
    text[sizeof bytes] = '\0';
    explicit_bzero(bytes, sizeof bytes);
    out->made_ms = now_ms;
    vs_secret_digest((struct vs_slice){text, strlen(text)}, out->digest);
    return VESTA_OK;
}

/* ------------------------------------------------------------------ comparing */

void vs_secret_digest(struct vs_slice text, unsigned char digest[VS_SHA256_BYTES]) {
    struct vs_sha256 hash;
    vs_sha256_begin(&hash);
    vs_sha256_add(&hash, text.at, text.length);
    vs_sha256_end(&hash, digest);
}

/* Compares eight bytes at a time, because a server compares a secret with the digests of all clients.  The barrier
 * prevents the compiler from stopping at the first difference. */
bool vs_secret_same(const void *a, const void *b, size_t length) {
    const unsigned char *x = a, *y = b;
    uint64_t differ = 0, p, q;
    size_t at = 0;
    for (; at + sizeof p <= length; at += sizeof p) {
        memcpy(&p, x + at, sizeof p);
        memcpy(&q, y + at, sizeof q);
        differ |= p ^ q;
        __asm__("" : "+r"(differ));
    }
    for (; at < length; at++) {
        differ |= x[at] ^ y[at];
        __asm__("" : "+r"(differ));
    }
    return differ == 0;
}

bool vs_secret_is(const struct vs_secret *a, const struct vs_secret *b) {
    return memcmp(a->digest, b->digest, sizeof a->digest) == 0;
}
