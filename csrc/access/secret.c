/* secret.c -- secrets: drawn, hashed, read from a file's text and compared.  Knows no name. */
#include "access/secret.h"
#include "base/error.h"
#include "base/time.h"
#include "os/random.h"

#include <crypt.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ as text */

static const char *const kinds[] = {[VS_SECRET_RANDOM] = "random", [VS_SECRET_CHOSEN] = "chosen"};

static int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_digest(struct vs_slice text, unsigned char digest[VS_SHA256_BYTES]) {
    if (text.length != 2 * VS_SHA256_BYTES) return false;
    for (size_t i = 0; i < text.length; i += 2) {
        int high = hex(text.at[i]), low = hex(text.at[i + 1]);
        if (high < 0 || low < 0) return false;
        digest[i / 2] = (unsigned char)(high << 4 | low);
    }
    return true;
}

/* "$y$j9T$salt$hash" of letters, digits and . / = , as passwd(5) has them. */
static bool read_hash(struct vs_slice text, char hash[VS_SECRET_HASH_MAX]) {
    if (text.length < 8 || text.length >= VS_SECRET_HASH_MAX || *text.at != '$') return false;
    for (size_t i = 0; i < text.length; i++)
        if (text.at[i] <= ' ' || text.at[i] > '~') return false;
    memcpy(hash, text.at, text.length);
    hash[text.length] = '\0';
    return true;
}

/* The last ':' is in front of the hash: the time has some of its own. */
static bool split_last(struct vs_slice text, struct vs_slice *before, struct vs_slice *after) {
    const char *at = memrchr(text.at, ':', text.length);
    if (!at) return false;
    *before = (struct vs_slice){text.at, (size_t)(at - text.at)};
    *after = (struct vs_slice){at + 1, text.length - before->length - 1};
    return true;
}

int vs_secret_read(struct vs_slice text, struct vs_secret *out, struct vesta_error *err) {
    struct vs_slice kind, rest, made, hash;
    struct vs_secret secret = {.hash = ""};
    struct vesta_error why;
    if (!vs_slice_split(text, ':', &kind, &rest) || !split_last(rest, &made, &hash))
        return vs_fail(err, VESTA_EOPTION, "is no KIND:TIME:HASH");
    if (!vs_slice_is(kind, kinds[VS_SECRET_RANDOM]) && !vs_slice_is(kind, kinds[VS_SECRET_CHOSEN]))
        return vs_fail(err, VESTA_EOPTION, "has the kind '%s', which must be random or chosen",
                       VS_QUOTE(kind.at, kind.length));
    secret.kind = vs_slice_is(kind, kinds[VS_SECRET_CHOSEN]) ? VS_SECRET_CHOSEN : VS_SECRET_RANDOM;
    if (vs_time_read(made, &secret.made_ms, &why) != VESTA_OK)
        return vs_fail(err, VESTA_EOPTION, "has a time that is none: %.200s", why.text);
    bool is_read = secret.kind == VS_SECRET_CHOSEN ? read_hash(hash, secret.hash) : read_digest(hash, secret.digest);
    if (!is_read)
        return vs_fail(err, VESTA_EOPTION, "has a hash that is none: %s",
                       secret.kind == VS_SECRET_CHOSEN ? "crypt(3) writes '$y$...'" : "64 digits of 0-9 a-f");
    *out = secret;
    return VESTA_OK;
}

const char *vs_secret_write(const struct vs_secret *secret, char buf[VS_SECRET_TEXT_MAX]) {
    char made[VESTA_ISO_MAX];
    vesta_iso(secret->made_ms - secret->made_ms % 1000, made);
    int n = snprintf(buf, VS_SECRET_TEXT_MAX, "%s:%s:%s", kinds[secret->kind], made, secret->hash);
    for (int i = 0; secret->kind == VS_SECRET_RANDOM && i < VS_SHA256_BYTES; i++)
        n += snprintf(buf + n, VS_SECRET_TEXT_MAX - (size_t)n, "%02x", secret->digest[i]);
    return buf;
}

/* ------------------------------------------------------------------ new ones */

/* Five bits a letter: none of those that people take for another one. */
int vs_secret_draw(char text[VS_SECRET_NEW_MAX], struct vesta_error *err) {
    static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";
    unsigned char bytes[32];
    _Static_assert(sizeof letters - 1 == 32 && sizeof bytes < VS_SECRET_NEW_MAX, "five bits of each byte are used");
    if (vs_random(bytes, sizeof bytes) != 0)
        return vs_fail(err, VESTA_EIO, "the system has no random bytes: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++)
        text[i] = letters[bytes[i] & 31];
    text[sizeof bytes] = '\0';
    return VESTA_OK;
}

static int check_text(struct vs_slice text, size_t min, struct vesta_error *err) {
    if (text.length < min || text.length > VS_SECRET_BYTES_MAX)
        return vs_fail(err, VESTA_EOPTION, "the secret has %zu characters, which must be %zu to %d", text.length, min,
                       VS_SECRET_BYTES_MAX);
    for (size_t i = 0; i < text.length; i++)
        if ((unsigned char)text.at[i] < ' ' || text.at[i] == 0x7f)
            return vs_fail(err, VESTA_EOPTION, "the secret has a control character, which not every client can say");
    return VESTA_OK;
}

static int crypt_text(struct vs_slice text, char hash[VS_SECRET_HASH_MAX], struct vesta_error *err) {
    char setting[CRYPT_GENSALT_OUTPUT_SIZE], said[VS_SECRET_BYTES_MAX + 1];
    struct crypt_data *data = calloc(1, sizeof *data);
    if (!data) return vs_fail(err, VESTA_ENOMEM, "no memory for a hash");
    memcpy(said, text.at, text.length);
    said[text.length] = '\0';
    const char *got = crypt_gensalt_rn("$y$", 0, NULL, 0, setting, sizeof setting)
                          ? crypt_rn(said, setting, data, (int)sizeof *data)
                          : NULL;
    bool is_hashed = got && *got == '$' && strlen(got) < VS_SECRET_HASH_MAX;
    if (is_hashed) strcpy(hash, got);
    explicit_bzero(said, sizeof said);
    explicit_bzero(data, sizeof *data);
    free(data);
    return is_hashed ? VESTA_OK : vs_fail(err, VESTA_EIO, "crypt(3) cannot hash it: %s", strerror(errno));
}

int vs_secret_hash(struct vs_slice text, enum vs_secret_kind kind, int64_t now_ms, struct vs_secret *out,
                   struct vesta_error *err) {
    struct vs_secret secret = {.kind = kind, .made_ms = now_ms, .hash = ""};
    int rc = check_text(text, kind == VS_SECRET_CHOSEN ? VS_SECRET_CHOSEN_MIN : VS_SECRET_RANDOM_MIN, err);
    if (rc != VESTA_OK) return rc;
    if (kind == VS_SECRET_RANDOM)
        vs_secret_digest(text, secret.digest);
    else if ((rc = crypt_text(text, secret.hash, err)) != VESTA_OK)
        return rc;
    *out = secret;
    return VESTA_OK;
}

/* ------------------------------------------------------------------ comparing */

void vs_secret_digest(struct vs_slice text, unsigned char digest[VS_SHA256_BYTES]) {
    struct vs_sha256 hash;
    vs_sha256_begin(&hash);
    vs_sha256_add(&hash, text.at, text.length);
    vs_sha256_end(&hash, digest);
}

/* Eight bytes at a time: a server looks at each of its clients' digests.  What was found so far is hidden from the
 * compiler, or it might stop at the first difference. */
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

bool vs_secret_fits(const char *text, const char *hash) {
    struct crypt_data *data = calloc(1, sizeof *data);
    const char *got = data ? crypt_rn(text, hash, data, (int)sizeof *data) : NULL;
    size_t length = strlen(hash);
    bool fits = got && strlen(got) == length && vs_secret_same(got, hash, length);
    if (data) explicit_bzero(data, sizeof *data);
    free(data);
    return fits;
}

bool vs_secret_is(const struct vs_secret *a, const struct vs_secret *b) {
    return a->kind == b->kind && strcmp(a->hash, b->hash) == 0 && memcmp(a->digest, b->digest, sizeof a->digest) == 0;
}
