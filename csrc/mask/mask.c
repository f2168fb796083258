/* mask.c -- numbers as masked texts.  See mask.h. */
#include "mask/mask.h"
#include "base/error.h"
#include "base/slice.h"
#include "mask/ff1.h"
#include "number/check.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct mask_alphabet {
    unsigned radix;
    int digits_min, digits_max; /* FF1 needs a million numbers, and 64 bits need no more digits */
    char symbols[33];
    const char *name;
} mask_alphabets[] = {[VS_MASK_DECIMAL] = {10, 6, VS_MASK_DIGITS_MAX, "0123456789", "decimal digits"},
                      [VS_MASK_BASE32] = {32, 4, 13, "0123456789ABCDEFGHJKMNPQRSTVWXYZ", "base32 characters"}};

static const int mask_check_digits[] = {
    [VS_MASK_NONE] = 0, [VS_MASK_LUHN] = 1, [VS_MASK_DAMM] = 1, [VS_MASK_ISO7064] = 2};

/* One version of the key. */
struct mask_version {
    int version;
    struct vs_ff1 ff1;
    struct vs_aes_key **of; /* one per thread, because OpenSSL's keys cannot be shared */
};

struct vs_mask {
    const struct vs_aes *aes;
    const struct mask_alphabet *alphabet;
    enum vs_mask_check check;
    int digits, threads, version_count;
    uint64_t max;
    bool walks; /* FF1 is repeated until the result is at most `max` */
    struct mask_version version[VS_MASK_KEYS_MAX];
};

/* ------------------------------------------------------------------ options */

/* Returns radix^digits - 1, or UINT64_MAX if it is larger. */
static uint64_t mask_all(const struct mask_alphabet *alphabet, int digits) {
    uint64_t count = 1;
    while (digits-- > 0)
        if (__builtin_mul_overflow(count, alphabet->radix, &count)) return UINT64_MAX;
    return count - 1;
}

int vs_mask_check(const struct vs_mask_opts *opts, const char **key, struct vesta_error *err) {
    *key = "digits";
    const struct mask_alphabet *alphabet = &mask_alphabets[opts->alphabet];
    if (opts->digits < alphabet->digits_min || opts->digits > alphabet->digits_max)
        return vs_fail(err, VESTA_EOPTION, "has %d %s, which must be %d to %d", opts->digits, alphabet->name,
                       alphabet->digits_min, alphabet->digits_max);
    *key = "check";
    if (opts->alphabet == VS_MASK_BASE32 && (opts->check == VS_MASK_LUHN || opts->check == VS_MASK_DAMM))
        return vs_fail(err, VESTA_EOPTION, "is for decimal digits only: use check = \"iso7064\" with base32");
    *key = "max";
    uint64_t all = mask_all(alphabet, opts->digits), fewer = mask_all(alphabet, opts->digits - 1);
    if (opts->max > all)
        return vs_fail(err, VESTA_EOPTION, "is %llu, which %d %s cannot show: use at most %llu",
                       (unsigned long long)opts->max, opts->digits, alphabet->name, (unsigned long long)all);
    if (opts->max > 0 && (opts->max <= fewer || opts->max < VS_FF1_COUNT_MIN - 1))
        return vs_fail(err, VESTA_EOPTION, "is %llu, which must be at least %llu: use fewer digits, or a larger max",
                       (unsigned long long)opts->max,
                       (unsigned long long)(fewer + 1 > VS_FF1_COUNT_MIN - 1 ? fewer + 1 : VS_FF1_COUNT_MIN - 1));
    return VESTA_OK;
}

uint64_t vs_mask_max(const struct vs_mask_opts *opts) {
    return opts->max > 0 ? opts->max : mask_all(&mask_alphabets[opts->alphabet], opts->digits);
}

/* ------------------------------------------------------------------ opening */

static int mask_open_version(struct vs_mask *mask, const struct vs_mask_opts *opts, const struct vs_mask_key *key) {
    struct mask_version *version = &mask->version[mask->version_count++];
    char tweak[VESTA_NAMESPACE_MAX + 16];
    int length = snprintf(tweak, sizeof tweak, "%s %.*s %d", opts->is_counter ? "counter" : "namespace",
                          VESTA_NAMESPACE_MAX - 1, opts->name, key->version);
    version->version = key->version;
    version->of = calloc((size_t)mask->threads, sizeof(struct vs_aes_key *));
    if (!version->of) return VESTA_ENOMEM;
    for (int i = 0; i < mask->threads; i++)
        if (!(version->of[i] = mask->aes->key_open(key->bytes, key->length))) return VESTA_ENOMEM;
    vs_ff1_open(&version->ff1,
                &(struct vs_ff1_opts){.radix = mask->alphabet->radix,
                                      .digits = (unsigned)mask->digits,
                                      .tweak = (const uint8_t *)tweak,
                                      .tweak_length = (size_t)length},
                mask->aes, version->of[0]);
    return VESTA_OK;
}

int vs_mask_open(const struct vs_mask_opts *opts, struct vs_mask **out, struct vesta_error *err) {
    const char *key;
    int rc = vs_mask_check(opts, &key, err);
    if (rc != VESTA_OK) return rc;
    assert(opts->key_count >= 1 && opts->key_count <= VS_MASK_KEYS_MAX && opts->threads >= 1);
    const struct vs_aes *aes = vs_aes_find(err);
    if (!aes) return VESTA_EOPTION;
    struct vs_mask *mask = calloc(1, sizeof *mask);
    if (!mask) return vs_fail(err, VESTA_ENOMEM, "no memory");
    *mask = (struct vs_mask){.aes = aes,
                             .alphabet = &mask_alphabets[opts->alphabet],
                             .check = opts->check,
                             .digits = opts->digits,
                             .threads = opts->threads,
                             .max = vs_mask_max(opts),
                             .walks = opts->max > 0};
    for (int i = 0; i < opts->key_count && rc == VESTA_OK; i++)
        rc = mask_open_version(mask, opts, &opts->key[i]);
    if (rc != VESTA_OK) return vs_mask_close(mask), vs_fail(err, rc, "no memory");
    *out = mask;
    return VESTA_OK;
}

void vs_mask_close(struct vs_mask *mask) {
    if (!mask) return;
    for (int v = 0; v < mask->version_count; v++) {
        for (int i = 0; mask->version[v].of && i < mask->threads; i++)
            mask->aes->key_close(mask->version[v].of[i]);
        free(mask->version[v].of);
    }
    free(mask);
}

/* ------------------------------------------------------------------ writing */

uint64_t vs_mask_last(const struct vs_mask *mask) {
    return mask->max;
}

size_t vs_mask_length(const struct vs_mask *mask) {
    return (size_t)((mask->version[0].version > 0) + mask->digits + mask_check_digits[mask->check]);
}

static bool mask_exceeds(const struct vs_mask *mask, const struct mask_version *version, struct vs_ff1_number number) {
    return (unsigned __int128)number.half[0] * version->ff1.count[1] + number.half[1] > mask->max;
}

/* Writes check digits behind a text, and returns the end of the text. */
static char *mask_put_check(enum vs_mask_check check, const char *text, char *end) {
    size_t length = (size_t)(end - text);
    int two;
    switch (check) {
    case VS_MASK_NONE: return end;
    case VS_MASK_LUHN: *end = vs_check_luhn(text, length); return end + 1;
    case VS_MASK_DAMM: *end = vs_check_damm(text, length); return end + 1;
    case VS_MASK_ISO7064:
        two = vs_check_mod97(text, length);
        end[0] = (char)('0' + two / 10);
        end[1] = (char)('0' + two % 10);
        return end + 2;
    }
    return end;
}

static void mask_put_digits(const struct mask_alphabet *alphabet, uint64_t value, char *at, int digits) {
    if (alphabet->radix == 10) /* a constant divisor is faster */
        for (; digits-- > 0; value /= 10)
            at[digits] = (char)('0' + value % 10);
    else
        for (; digits-- > 0; value /= 32)
            at[digits] = alphabet->symbols[value % 32];
}

static void mask_put(const struct vs_mask *mask, const struct mask_version *version, struct vs_ff1_number number,
                     char *text) {
    int u = mask->digits / 2;
    char *at = text;
    if (version->version > 0) *at++ = (char)('0' + version->version);
    mask_put_digits(mask->alphabet, number.half[0], at, u);
    mask_put_digits(mask->alphabet, number.half[1], at + u, mask->digits - u);
    mask_put_check(mask->check, text, at + mask->digits);
}

int vs_mask_admits(const struct vs_mask *mask, uint64_t number, struct vesta_error *err) {
    if (number <= mask->max) return VESTA_OK;
    return vs_fail(err, VESTA_EFIELD,
                   "a number exceeds %llu, the last number of its mask: use a counter with more digits",
                   (unsigned long long)mask->max);
}

int vs_mask_write(const struct vs_mask *mask, int thread, const uint64_t *numbers, size_t count, char *texts,
                  struct vesta_error *err) {
    const struct mask_version *version = &mask->version[0];
    struct vs_aes_key *key = version->of[thread];
    struct vs_ff1_number batch[VS_FF1_BATCH];
    size_t length = vs_mask_length(mask);
    for (size_t from = 0; from < count; from += VS_FF1_BATCH) {
        size_t n = count - from < VS_FF1_BATCH ? count - from : VS_FF1_BATCH;
        for (size_t i = 0; i < n; i++) {
            uint64_t number = numbers[from + i], lower = version->ff1.count[1];
            int rc = vs_mask_admits(mask, number, err);
            if (rc != VESTA_OK) return rc;
            batch[i] = (struct vs_ff1_number){{number / lower, number % lower}};
        }
        vs_ff1_encrypt(&version->ff1, mask->aes, key, batch, n);
        for (size_t i = 0; i < n; i++) {
            while (mask->walks && mask_exceeds(mask, version, batch[i]))
                vs_ff1_encrypt(&version->ff1, mask->aes, key, &batch[i], 1);
            mask_put(mask, version, batch[i], texts + (from + i) * length);
        }
    }
    return VESTA_OK;
}

/* ------------------------------------------------------------------ reading */

/* Returns the symbol that a person may have meant. */
static char mask_symbol(const struct vs_mask *mask, char c) {
    if (mask->alphabet->radix == 10) return c;
    if (c >= 'a' && c <= 'z') c = (char)(c - 'a' + 'A');
    return c == 'O' ? '0' : c == 'I' || c == 'L' ? '1' : c;
}

static bool mask_take_digits(const struct mask_alphabet *alphabet, const char *at, int digits, uint64_t *out) {
    uint64_t value = 0;
    for (int i = 0; i < digits; i++) {
        const char *symbol = at[i] ? strchr(alphabet->symbols, at[i]) : NULL;
        if (!symbol) return false;
        value = value * alphabet->radix + (uint64_t)(symbol - alphabet->symbols);
    }
    *out = value;
    return true;
}

/* Finds the key of a text by its length and first digit.  Returns NULL if there is none. */
static const struct mask_version *mask_version_of(const struct vs_mask *mask, const char *text, size_t length) {
    size_t plain = (size_t)(mask->digits + mask_check_digits[mask->check]);
    for (int v = 0; v < mask->version_count; v++) {
        int version = mask->version[v].version;
        if (version == 0 ? length == plain : length == plain + 1 && text[0] == '0' + version) return &mask->version[v];
    }
    return NULL;
}

/* Reports that no key has the version of a text, or that no version has such a text. */
static int mask_fail_version(const struct vs_mask *mask, const char *given, size_t length, struct vesta_error *err) {
    size_t plain = (size_t)(mask->digits + mask_check_digits[mask->check]);
    if (length == plain)
        return vs_fail(err, VESTA_EID, "'%s' needs the key without a version: add its file to mask.secret_file",
                       VS_QUOTE(given, length));
    if (length == plain + 1 && given[0] >= '1' && given[0] <= '9')
        return vs_fail(err, VESTA_EID,
                       "'%s' begins with key version %c, which mask.secret_file does not list: compare it with the "
                       "original, or add the key",
                       VS_QUOTE(given, length), given[0]);
    return vs_fail(err, VESTA_EID,
                   "'%s' has %zu characters: a masked number has %zu, or %zu if it begins with a key "
                   "version from 1 to 9",
                   VS_QUOTE(given, length), length, plain, plain + 1);
}

int vs_mask_read(const struct vs_mask *mask, int thread, const char *given, size_t length, uint64_t *number,
                 int *version, struct vesta_error *err) {
    char text[VS_MASK_TEXT_MAX] = "", checked[VS_MASK_TEXT_MAX];
    struct vs_ff1_number n;
    int u = mask->digits / 2, checks = mask_check_digits[mask->check];
    for (size_t i = 0; i < length && i < sizeof text - 1; i++)
        text[i] = mask_symbol(mask, given[i]);
    const struct mask_version *found = length < sizeof text ? mask_version_of(mask, text, length) : NULL;
    if (!found) return mask_fail_version(mask, given, length, err);
    const char *at = text + (found->version > 0);
    if (!mask_take_digits(mask->alphabet, at, u, &n.half[0]) ||
        !mask_take_digits(mask->alphabet, at + u, mask->digits - u, &n.half[1]))
        return vs_fail(err, VESTA_EID, "'%s' must consist of %s", VS_QUOTE(given, length), mask->alphabet->name);
    memcpy(checked, text, length);
    mask_put_check(mask->check, checked, checked + length - checks);
    if (memcmp(checked, text, length) != 0)
        return vs_fail(err, VESTA_EID, "'%s' has a wrong check digit: compare it with the original",
                       VS_QUOTE(given, length));
    if (mask->walks && mask_exceeds(mask, found, n))
        return vs_fail(err, VESTA_EID, "'%s' is larger than the mask's max, %llu", VS_QUOTE(given, length),
                       (unsigned long long)mask->max);
    do
        vs_ff1_decrypt(&found->ff1, mask->aes, found->of[thread], &n, 1);
    while (mask->walks && mask_exceeds(mask, found, n));
    if (mask_exceeds(mask, found, n))
        return vs_fail(err, VESTA_EID, "'%s' is not a masked number of this name and key", VS_QUOTE(given, length));
    *number = n.half[0] * found->ff1.count[1] + n.half[1];
    *version = found->version;
    return VESTA_OK;
}
