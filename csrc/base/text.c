/* text.c -- ids as digits of four bases.  Knows no layout; decimal is on the hot path. */
#include "vesta.h"

#include <assert.h>
#include <string.h>

/* ------------------------------------------------------------------ writing */

static const char pairs[] = "0001020304050607080910111213141516171819"
                            "2021222324252627282930313233343536373839"
                            "4041424344454647484950515253545556575859"
                            "6061626364656667686970717273747576777879"
                            "8081828384858687888990919293949596979899";

static void put_4(char *at, uint32_t value) {
    memcpy(at, pairs + value / 100 * 2, 2);
    memcpy(at + 2, pairs + value % 100 * 2, 2);
}

static void put_8(char *at, uint32_t value) {
    put_4(at, value / 10000);
    put_4(at + 4, value % 10000);
}

static unsigned decimal_digits(uint64_t value) {
    static const uint64_t power[] = {0, /* so that 0 has one digit */
                                     UINT64_C(10),
                                     UINT64_C(100),
                                     UINT64_C(1000),
                                     UINT64_C(10000),
                                     UINT64_C(100000),
                                     UINT64_C(1000000),
                                     UINT64_C(10000000),
                                     UINT64_C(100000000),
                                     UINT64_C(1000000000),
                                     UINT64_C(10000000000),
                                     UINT64_C(100000000000),
                                     UINT64_C(1000000000000),
                                     UINT64_C(10000000000000),
                                     UINT64_C(100000000000000),
                                     UINT64_C(1000000000000000),
                                     UINT64_C(10000000000000000),
                                     UINT64_C(100000000000000000),
                                     UINT64_C(1000000000000000000),
                                     UINT64_C(10000000000000000000)};
    unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1);
    unsigned floor_log = bits * 1233 >> 12; /* 1233 / 4096 is log10(2) from above, close enough up to 64 bits */
    return floor_log + (value >= power[floor_log]);
}

/* Writes all 20 digits without a branch, then moves the ones that count to the front in one copy of fixed size. */
static size_t format_decimal(uint64_t id, char *buf) {
    const uint64_t e8 = 100000000;
    char all[20 + VESTA_FORMAT_MAX];
    put_4(all, (uint32_t)(id / (e8 * e8)));
    put_8(all + 4, (uint32_t)(id / e8 % e8));
    put_8(all + 12, (uint32_t)(id % e8));
    memset(all + 20, 0, VESTA_FORMAT_MAX);
    unsigned digits = decimal_digits(id);
    memcpy(buf, all + 20 - digits, VESTA_FORMAT_MAX);
    return digits;
}

/* Alphabets are in ASCII order, so that texts sort as ids do. */
static const char hex_digits[] = "0123456789abcdef";
static const char base32_digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
static const char base62_digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

static size_t format_bits(const char *alphabet, unsigned bits, unsigned digits, uint64_t id, char *buf) {
    for (unsigned i = digits; i-- > 0; id >>= bits)
        buf[i] = alphabet[id & ((1u << bits) - 1)];
    buf[digits] = 0;
    return digits;
}

static size_t format_base62(uint64_t id, char *buf) {
    for (unsigned i = 11; i-- > 0; id /= 62)
        buf[i] = base62_digits[id % 62];
    buf[11] = 0;
    return 11;
}

size_t vesta_format(enum vesta_base base, uint64_t id, char *buf) {
    switch (base) {
    case VESTA_DECIMAL: return format_decimal(id, buf);
    case VESTA_HEX: return format_bits(hex_digits, 4, 16, id, buf);
    case VESTA_BASE32: return format_bits(base32_digits, 5, 13, id, buf);
    case VESTA_BASE62: return format_base62(id, buf);
    }
    assert(!"a base of enum vesta_base");
    return 0;
}

/* ------------------------------------------------------------------ reading */

/* A digit's value, or something >= the base.  All arithmetic is unsigned: what is below a range wraps to above it. */
#define NO_DIGIT 255u

static inline unsigned decimal_value(unsigned char c) {
    return (unsigned)c - '0' <= 9 ? (unsigned)c - '0' : NO_DIGIT;
}

static unsigned base32_value(unsigned char c) {
    /* Crockford's letters from A on; -1: U, which he leaves out so that no word is formed by accident */
    static const signed char letter[26] = {10, 11, 12, 13, 14, 15, 16, 17, 1,  18, 19, 1,  20,
                                           21, 0,  22, 23, 24, 25, 26, -1, 27, 28, 29, 30, 31};
    if (decimal_value(c) != NO_DIGIT) return decimal_value(c);
    unsigned i = (c | 32u) - 'a';
    return i < 26 && letter[i] >= 0 ? (unsigned)letter[i] : NO_DIGIT;
}

static unsigned hex_value(unsigned char c) {
    if (decimal_value(c) != NO_DIGIT) return decimal_value(c);
    unsigned i = (c | 32u) - 'a';
    return i < 6 ? i + 10 : NO_DIGIT;
}

static unsigned base62_value(unsigned char c) {
    if (decimal_value(c) != NO_DIGIT) return decimal_value(c);
    if ((unsigned)c - 'A' < 26) return c - 'A' + 10u;
    if ((unsigned)c - 'a' < 26) return c - 'a' + 36u;
    return NO_DIGIT;
}

/* always_inline: each base gets its own loop, with its radix and its digits as constants. */
__attribute__((always_inline)) static inline int parse(unsigned radix, unsigned (*value_of)(unsigned char),
                                                       const char *text, size_t length, uint64_t *id) {
    uint64_t sum = 0;
    if (length == 0) return VESTA_EID;
    for (size_t i = 0; i < length; i++) {
        unsigned digit = value_of((unsigned char)text[i]);
        if (digit == NO_DIGIT) return VESTA_EID;
        if (sum > (UINT64_MAX - digit) / radix) return VESTA_EID;
        sum = sum * radix + digit;
    }
    *id = sum;
    return VESTA_OK;
}

int vesta_parse(enum vesta_base base, const char *text, size_t length, uint64_t *id) {
    switch (base) {
    case VESTA_DECIMAL: return parse(10, decimal_value, text, length, id);
    case VESTA_HEX: return parse(16, hex_value, text, length, id);
    case VESTA_BASE32: return parse(32, base32_value, text, length, id);
    case VESTA_BASE62: return parse(62, base62_value, text, length, id);
    }
    assert(!"a base of enum vesta_base");
    return VESTA_EID;
}
