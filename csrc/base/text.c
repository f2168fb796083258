/* text.c -- ids as digits in four bases.  Decimal is on the hot path. */
#include "base/text.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

/* ------------------------------------------------------------------ writing */

/* Eight decimal digits are processed in one 64-bit word.  The first digit is in the lowest byte, which is the order in
 * memory.  Each step splits all parts of the word at once: into halves, then pairs, then digits. */
#define E8 UINT64_C(100000000)
#define E16 (E8 * E8)
#define LANES(byte) (UINT64_C(0x0101010101010101) * (byte))

static inline uint64_t in_memory_order(uint64_t word) {
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? __builtin_bswap64(word) : word;
}

static inline void store_word(char *at, uint64_t word) {
    word = in_memory_order(word);
    memcpy(at, &word, sizeof word);
}

static inline uint64_t load_word(const char *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return in_memory_order(word);
}

/* Splits one number of four digits, or two such numbers that are 32 bits apart, into digits.  It divides by multiplying
 * and shifting: n * 10486 >> 20 is n / 100 for n up to 9999, and n * 103 >> 10 is n / 10 for n up to 99. */
static inline uint64_t digits_of(uint64_t fours) {
    uint64_t hundreds = fours * 10486 >> 20 & UINT64_C(0x0000007f0000007f);
    uint64_t pairs = (fours << 16) - hundreds * ((100 << 16) - 1);
    uint64_t tens = pairs * 103 >> 10 & UINT64_C(0x000f000f000f000f);
    return (pairs << 8) - tens * ((10 << 8) - 1);
}

static inline uint64_t eight_digits_of(uint32_t value) {
    return digits_of(((uint64_t)value << 32) - value / 10000 * ((UINT64_C(10000) << 32) - 1));
}

static inline void put_8(char *at, uint32_t value) {
    store_word(at, eight_digits_of(value) + LANES('0'));
}

/* Writes eight digits without leading zeros, but at least one digit.  Fills the remaining bytes of the eight with NULs.
 */
static inline size_t put_first(char *at, uint64_t digits) {
    unsigned zeros = (unsigned)__builtin_ctzll(digits | UINT64_C(1) << 56) / 8;
    store_word(at, (digits + LANES('0')) >> zeros * 8);
    return 8 - zeros;
}

static size_t format_decimal(uint64_t id, char *buf) {
    uint64_t rest = id / E8;
    uint32_t low = (uint32_t)(id % E8);
    size_t length;
    if (rest == 0) {
        length = put_first(buf, eight_digits_of(low));
    } else if (rest < E8) {
        length = put_first(buf, eight_digits_of((uint32_t)rest)) + 8;
        put_8(buf + length - 8, low);
    } else {
        uint64_t first = id / E16; /* divides `id`, not `rest`, so that both divisions run in parallel */
        length = put_first(buf, digits_of(first) << 32) + 16;
        put_8(buf + length - 16, (uint32_t)(rest - first * E8));
        put_8(buf + length - 8, low);
    }
    buf[length] = '\0';
    return length;
}

size_t vs_digits_put(struct vs_digits *digits, uint64_t id, char *buf) {
    uint64_t front = id / E8;
    if (front == 0) return format_decimal(id, buf);
    if (front != digits->front) {
        digits->front = front;
        digits->length = format_decimal(front, digits->text);
    }
    memcpy(buf, digits->text, 16); /* copying a constant 16 bytes is fastest, and at most 12 are digits */
    put_8(buf + digits->length, (uint32_t)(id % E8));
    return digits->length + 8;
}

/* Alphabets are in ASCII order, so that encoded ids sort like the ids. */
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

/* noinline, because otherwise its loops would make the decimal path save registers. */
static __attribute__((noinline)) size_t format_letters(enum vesta_base base, uint64_t id, char *buf) {
    switch (base) {
    case VESTA_DECIMAL: break;
    case VESTA_HEX: return format_bits(hex_digits, 4, 16, id, buf);
    case VESTA_BASE32: return format_bits(base32_digits, 5, 13, id, buf);
    case VESTA_BASE62: return format_base62(id, buf);
    }
    assert(!"a base of enum vesta_base");
    return 0;
}

size_t vesta_format(enum vesta_base base, uint64_t id, char *buf) {
    return base == VESTA_DECIMAL ? format_decimal(id, buf) : format_letters(base, id, buf);
}

/* ------------------------------------------------------------------ reading */

/* The functions below return the value of a digit, or NO_DIGIT.  The arithmetic is unsigned, so a character below a
 * range wraps to a large value. */
#define NO_DIGIT 255u

static inline unsigned decimal_value(unsigned char c) {
    return (unsigned)c - '0' <= 9 ? (unsigned)c - '0' : NO_DIGIT;
}

static unsigned base32_value(unsigned char c) {
    /* the values of the letters A to Z. Crockford omits U (-1) to avoid accidental words */
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

/* always_inline, so that each base gets its own loop with a constant radix. */
__attribute__((always_inline)) static inline int text_parse(unsigned radix, unsigned (*value_of)(unsigned char),
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

/* Reads eight digits.  Returns false if a byte is not a digit: only the bytes 0x30 to 0x39 have a high nibble of 3 both
 * before and after adding 6. */
static inline bool read_8(uint64_t word, uint64_t *value) {
    const uint64_t pair = UINT64_C(0x000000ff000000ff);
    if (((word & LANES(0xf0)) | ((word + LANES(6)) & LANES(0xf0)) >> 4) != LANES(0x33)) return false;
    word -= LANES('0');
    word = word * 10 + (word >> 8); /* now every second byte is the value of two digits */
    *value =
        ((word & pair) * (100 + (UINT64_C(1000000) << 32)) + (word >> 16 & pair) * (1 + (UINT64_C(10000) << 32))) >> 32;
    return true;
}

/* Reads eight digits at a time.  If the length is not a multiple of eight, the first group is padded with leading
 * zeros. */
static int parse_decimal(const char *text, size_t length, uint64_t *id) {
    if (length < 8) return text_parse(10, decimal_value, text, length, id);
    size_t first = length % 8;
    uint64_t sum = 0, value;
    if (first && !read_8(load_word(text) << (8 - first) * 8 | LANES('0') >> first * 8, &sum)) return VESTA_EID;
    for (size_t i = first; i < length; i += 8)
        if (!read_8(load_word(text + i), &value) || __builtin_mul_overflow(sum, E8, &sum) ||
            __builtin_add_overflow(sum, value, &sum))
            return VESTA_EID;
    *id = sum;
    return VESTA_OK;
}

int vesta_parse(enum vesta_base base, const char *text, size_t length, uint64_t *id) {
    switch (base) {
    case VESTA_DECIMAL: return parse_decimal(text, length, id);
    case VESTA_HEX: return text_parse(16, hex_value, text, length, id);
    case VESTA_BASE32: return text_parse(32, base32_value, text, length, id);
    case VESTA_BASE62: return text_parse(62, base62_value, text, length, id);
    }
    assert(!"a base of enum vesta_base");
    return VESTA_EID;
}
