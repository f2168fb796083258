/* text.c -- ids as digits in four bases: writing, reading, and rejected texts. */
#include "base/array.h"
#include "base/text.h"
#include "tools.h"

#include <errno.h>
#include <stdlib.h>

static const enum vesta_base bases[] = {VESTA_DECIMAL, VESTA_HEX, VESTA_BASE32, VESTA_BASE62};

static void check_both_ways(uint64_t id) {
    for (size_t b = 0; b < 4; b++) {
        char buf[VESTA_FORMAT_MAX];
        uint64_t back = ~id;
        size_t length = vesta_format(bases[b], id, buf);
        if (strlen(buf) != length || vesta_parse(bases[b], buf, length, &back) != VESTA_OK || back != id)
            CHECK_FAIL("base %d of %" PRIu64 " is '%s', which is %" PRIu64, (int)b, id, buf, back);
    }
}

static void random_ids_come_back(void) {
    uint64_t dice = 1;
    for (int i = 0; i < 200000; i++)
        check_both_ways(roll(&dice) >> roll_below(&dice, 64));
}

static void edges_come_back(void) {
    uint64_t power = 1;
    for (int i = 0; i < 20; i++, power *= 10)
        for (int d = -1; d <= 1; d++)
            check_both_ways(power + (uint64_t)d);
    for (int i = 0; i < 64; i++)
        for (int d = -1; d <= 1; d++)
            check_both_ways((UINT64_C(1) << i) + (uint64_t)d);
}

static void decimal_equals_printf(void) {
    char want[32], got[VESTA_FORMAT_MAX];
    uint64_t dice = 2, power = 1;
    for (int i = 0; i < 20; i++, power *= 10)
        for (int d = -1; d <= 1; d++) {
            snprintf(want, sizeof want, "%" PRIu64, power + (uint64_t)d);
            vesta_format(VESTA_DECIMAL, power + (uint64_t)d, got);
            CHECK_STR(got, want);
        }
    for (int i = 0; i < 100000; i++) {
        uint64_t id = roll(&dice) >> roll_below(&dice, 64);
        snprintf(want, sizeof want, "%" PRIu64, id);
        vesta_format(VESTA_DECIMAL, id, got);
        CHECK_STR(got, want);
    }
}

/* Digits are written and read in groups of four.  Each group is tried at each place, next to other groups. */
static void every_four_digits_at_every_place(void) {
    uint64_t place = 1, beside[] = {0, UINT64_C(99999999999999999), UINT64_C(12345678901234567890)};
    for (int four = 0; four < 5; four++, place *= 10000)
        for (size_t b = 0; b < VS_COUNT(beside); b++)
            for (uint64_t i = 0; i < (four < 4 ? 10000 : 1844); i++) {
                char want[32], got[VESTA_FORMAT_MAX];
                uint64_t id = beside[b] - beside[b] / place % 10000 * place + i * place, back = ~id;
                size_t length = (size_t)snprintf(want, sizeof want, "%" PRIu64, id);
                if (vesta_format(VESTA_DECIMAL, id, got) != length || strcmp(got, want) != 0 ||
                    vesta_parse(VESTA_DECIMAL, want, length, &back) != VESTA_OK || back != id)
                    CHECK_FAIL("%s is written %s and read as %" PRIu64, want, got, back);
            }
}

/* Compares with the C library at each length.  The texts end at a page that cannot be read. */
static void decimal_is_read_as_strtoull_does(void) {
    uint64_t dice = 4;
    for (int i = 0; i < 200000; i++) {
        char text[32];
        uint64_t id = 77, length = 1 + roll_below(&dice, 21);
        for (size_t at = 0; at < length; at++)
            text[at] = (char)('0' + (at == 0 && length >= 20 ? roll_below(&dice, 3) : roll_below(&dice, 10)));
        text[length] = '\0';
        errno = 0;
        uint64_t want = strtoull(text, NULL, 10);
        int rc = vesta_parse(VESTA_DECIMAL, at_wall(text, length), length, &id);
        if (rc != (errno ? VESTA_EID : VESTA_OK) || id != (errno ? 77 : want)) CHECK_FAIL("%s is %" PRIu64, text, id);
    }
}

static void one_wrong_byte_anywhere(void) {
    for (size_t length = 1; length <= 24; length++)
        for (size_t at = 0; at < length; at++)
            for (int byte = 0; byte < 256; byte++) {
                char text[] = "000000000012345678901234";
                uint64_t id = 77;
                text[at] = (char)byte;
                int rc = vesta_parse(VESTA_DECIMAL, text, length, &id);
                int is_digit = byte >= '0' && byte <= '9';
                if (!is_digit && (rc != VESTA_EID || id != 77)) CHECK_FAIL("byte %d at %zu of %zu", byte, at, length);
            }
}

static void texts_are_known(void) {
    static const struct {
        uint64_t id;
        const char *text[4];
    } known[] = {
        {0, {"0", "0000000000000000", "0000000000000", "00000000000"}},
        {61, {"61", "000000000000003d", "000000000001X", "0000000000z"}},
        {1138729511026688, {"1138729511026688", "00040bab20000000", "0010BNCG00000", "005DLyEuNDU"}},
        {UINT64_MAX, {"18446744073709551615", "ffffffffffffffff", "FZZZZZZZZZZZZ", "LygHa16AHYF"}},
    };
    char buf[VESTA_FORMAT_MAX];
    for (size_t i = 0; i < VS_COUNT(known); i++)
        for (size_t b = 0; b < 4; b++) {
            vesta_format(bases[b], known[i].id, buf);
            CHECK_STR(buf, known[i].text[b]);
        }
}

static void texts_sort_as_ids(void) {
    uint64_t dice = 3;
    for (int i = 0; i < 100000; i++) {
        uint64_t a = roll(&dice) >> roll_below(&dice, 64),
                 b = roll_below(&dice, 4) ? roll(&dice) : a + roll_below(&dice, 3);
        for (size_t n = 1; n < 4; n++) {
            char ta[VESTA_FORMAT_MAX], tb[VESTA_FORMAT_MAX];
            vesta_format(bases[n], a, ta), vesta_format(bases[n], b, tb);
            if ((a < b) != (strcmp(ta, tb) < 0)) CHECK_FAIL("%s and %s", ta, tb);
        }
    }
}

struct text {
    enum vesta_base base;
    const char *at;
    size_t length;
};
#define TEXT(base, literal)                                                                                            \
    { base, literal, sizeof literal - 1 }

static void no_ids(void) {
    static const struct text bad[] = {
        TEXT(VESTA_DECIMAL, ""),
        TEXT(VESTA_DECIMAL, "-1"),
        TEXT(VESTA_DECIMAL, "+1"),
        TEXT(VESTA_DECIMAL, "0x10"),
        TEXT(VESTA_DECIMAL, "1e3"),
        TEXT(VESTA_DECIMAL, "18446744073709551616"),
        TEXT(VESTA_DECIMAL, "18446744073709551620"),
        TEXT(VESTA_DECIMAL, "99999999999999999999"),
        TEXT(VESTA_DECIMAL, "\xd9\xa1\xd9\xa2"),
        TEXT(VESTA_DECIMAL, "12 34"),
        TEXT(VESTA_DECIMAL, " 1"),
        TEXT(VESTA_DECIMAL, "1 "),
        TEXT(VESTA_DECIMAL, "1\n"),
        TEXT(VESTA_DECIMAL, "12\0"
                            "34"),
        TEXT(VESTA_DECIMAL, "\0"),
        TEXT(VESTA_DECIMAL, "1\0"),
        TEXT(VESTA_DECIMAL, "1.0"),
        TEXT(VESTA_DECIMAL, "1,000"),
        TEXT(VESTA_DECIMAL, "\xef\xbc\x91"),
        TEXT(VESTA_DECIMAL, "a"),
        TEXT(VESTA_DECIMAL, "/"),
        TEXT(VESTA_DECIMAL, ":"),
        TEXT(VESTA_HEX, ""),
        TEXT(VESTA_HEX, "0x10"),
        TEXT(VESTA_HEX, "10000000000000000"),
        TEXT(VESTA_HEX, "g"),
        TEXT(VESTA_HEX, "@"),
        TEXT(VESTA_HEX, "`"),
        TEXT(VESTA_HEX, "-1"),
        TEXT(VESTA_HEX, "\x01"),
        TEXT(VESTA_HEX, "\xe1"),
        TEXT(VESTA_BASE32, ""),
        TEXT(VESTA_BASE32, "G000000000000"),
        TEXT(VESTA_BASE32, "U"),
        TEXT(VESTA_BASE32, "u"),
        TEXT(VESTA_BASE32, "-"),
        TEXT(VESTA_BASE32, "{"),
        TEXT(VESTA_BASE32, "@"),
        TEXT(VESTA_BASE32, "10000000000000"),
        TEXT(VESTA_BASE62, ""),
        TEXT(VESTA_BASE62, "LygHa16AHYG"),
        TEXT(VESTA_BASE62, "zzzzzzzzzzz"),
        TEXT(VESTA_BASE62, "_"),
        TEXT(VESTA_BASE62, "["),
        TEXT(VESTA_BASE62, "100000000000"),
    };
    for (size_t i = 0; i < VS_COUNT(bad); i++) {
        uint64_t id = 77;
        if (vesta_parse(bad[i].base, bad[i].at, bad[i].length, &id) != VESTA_EID || id != 77)
            CHECK_FAIL("case %zu, '%s', is accepted as %" PRIu64, i, bad[i].at, id);
    }
}

static void huge_numbers(void) {
    enum { DIGITS = 401 }; /* 10^400 */
    char digits[DIGITS];
    uint64_t id = 77;
    memset(digits, '0', DIGITS);
    for (size_t b = 0; b < 4; b++) {
        CHECK_EQ_I64(vesta_parse(bases[b], digits, DIGITS, &id), VESTA_OK); /* any number of leading zeros */
        CHECK_EQ_U64(id, 0);
    }
    digits[0] = '1';
    id = 77;
    for (size_t b = 0; b < 4; b++)
        CHECK_EQ_I64(vesta_parse(bases[b], digits, DIGITS, &id), VESTA_EID);
    CHECK_EQ_U64(id, 77);
}

static void spellings(void) {
    static const struct {
        struct text text;
        uint64_t id;
    } same[] = {
        {TEXT(VESTA_HEX, "DEADbeef"), 0xdeadbeef},
        {TEXT(VESTA_BASE32, "oO1iIlL"), 1082401},
        {TEXT(VESTA_BASE32, "zZ"), 1023},
        {TEXT(VESTA_BASE62, "aA"), 36 * 62 + 10},
        {TEXT(VESTA_DECIMAL, "000018446744073709551615"), UINT64_MAX},
        {TEXT(VESTA_DECIMAL, "9223372036854775808"), UINT64_C(1) << 63},
    };
    for (size_t i = 0; i < VS_COUNT(same); i++) {
        uint64_t id = 77;
        CHECK_EQ_I64(vesta_parse(same[i].text.base, same[i].text.at, same[i].text.length, &id), VESTA_OK);
        CHECK_EQ_U64(id, same[i].id);
    }
}

static void every_byte_is_a_digit_or_not(void) {
    static const char *const digits[] = {"0123456789", "0123456789abcdefABCDEF",
                                         "0123456789ABCDEFGHJKMNPQRSTVWXYZabcdefghjkmnpqrstvwxyzOoIiLl",
                                         "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"};
    for (size_t b = 0; b < 4; b++)
        for (int byte = 0; byte < 256; byte++) {
            char c = (char)byte;
            uint64_t id;
            CHECK_EQ_I64(vesta_parse(bases[b], &c, 1, &id) == VESTA_OK, byte != 0 && strchr(digits[b], byte) != NULL);
        }
}

static void nothing_is_read_after_the_length(void) {
    static const char text[] = "18446744073709551615";
    for (size_t length = 0; length < sizeof text; length++) {
        uint64_t id;
        int rc = vesta_parse(VESTA_DECIMAL, at_wall(text, length), length, &id);
        CHECK_EQ_I64(rc, length == 0 ? VESTA_EID : VESTA_OK);
    }
}

static void check_digits(struct vs_digits *digits, uint64_t id) {
    char want[VESTA_FORMAT_MAX], room[VESTA_FORMAT_MAX];
    memset(room, 'x', sizeof room);
    char *got = (char *)at_wall(room, sizeof room);
    size_t length = vesta_format(VESTA_DECIMAL, id, want);
    if (vs_digits_put(digits, id, got) != length || memcmp(got, want, length) != 0)
        CHECK_FAIL("%s is '%.*s' behind %" PRIu64, want, (int)length, got, digits->front);
}

/* Rows of ids with every carry, in both directions, and with another id in between. */
static void rows_of_ids(void) {
    static const uint64_t steps[] = {1, 64, 1024, 4096, UINT64_C(1) << 22, UINT64_C(1) << 37};
    struct vs_digits digits = {0};
    uint64_t dice = 3, power = 1;
    for (int i = 0; i < 20; i++, power *= 10)
        for (size_t s = 0; s < VS_COUNT(steps); s++)
            for (int64_t d = -20; d <= 20; d++)
                check_digits(&digits, power + (uint64_t)d * steps[s]);
    for (int i = 0; i < 100000; i++)
        check_digits(&digits, roll(&dice) >> roll_below(&dice, 64));
}

static const struct check_case cases[] = {
    {"200,000 random ids are written in four bases and read back", random_ids_come_back},
    {"powers of ten and two and their neighbours are written in four bases and read back", edges_come_back},
    {"decimal digits equal printf's", decimal_equals_printf},
    {"every group of four digits at every place equals printf's, and is read back", every_four_digits_at_every_place},
    {"ids written in a row have the same digits as alone", rows_of_ids},
    {"200,000 texts of 1 to 21 digits are read like strtoull", decimal_is_read_as_strtoull_does},
    {"any byte that is not a digit is rejected at any place", one_wrong_byte_anywhere},
    {"four known ids have their known texts", texts_are_known},
    {"hex, base32 and base62 texts sort as ids do", texts_sort_as_ids},
    {"texts that are not ids are rejected and set nothing", no_ids},
    {"10^400 is rejected, and 401 zeros are 0", huge_numbers},
    {"case and Crockford's look-alikes are read", spellings},
    {"each of 256 bytes is a digit of its base or is rejected", every_byte_is_a_digit_or_not},
    {"no byte after the length is read", nothing_is_read_after_the_length},
};
CHECK_MAIN(cases)
