/* notation.c -- finds ids in running text: exactly the words that a simple reader finds, without reading past the
 * end. */
#include "command/notation.h"

#include "base/array.h"
#include "tools.h"

#include <ctype.h>

#define TEXT_MAX 400

static const char *const digits[] = {[VESTA_DECIMAL] = "0123456789",
                                     [VESTA_HEX] = "0123456789abcdefABCDEF",
                                     [VESTA_BASE32] = "0123456789abcdefghijklmnopqrstvwxyzABCDEFGHIJKLMNOPQRSTVWXYZ",
                                     [VESTA_BASE62] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"};

static bool in_word(int c) {
    return isalnum(c) || c == '_';
}

/* Returns whether a colour sequence (ESC, [, digits and semicolons, m) ends here. It does not count as a letter. */
static bool is_colour(const char *text, size_t end) {
    size_t at = end;
    if (text[--at] != 'm') return false;
    while (at > 0 && (isdigit((unsigned char)text[at - 1]) || text[at - 1] == ';'))
        at--;
    return at > 1 && text[at - 1] == '[' && text[at - 2] == '\033';
}

/* Returns the length of the number at `at`, or 0. */
static size_t slow_word(const struct vs_finder *f, const char *text, size_t length, size_t at) {
    size_t end = at;
    bool has_digit = false;
    while (end < length && text[end] && strchr(digits[f->base], text[end]) && !(end > at && is_colour(text, end)))
        has_digit |= isdigit((unsigned char)text[end++]) != 0;
    if (end - at < f->length_min || end - at > f->length_max || !has_digit) return 0;
    if (at > 0 && in_word((unsigned char)text[at - 1]) && !is_colour(text, at)) return 0;
    if (is_colour(text, end)) return 0;
    if (end < length && in_word((unsigned char)text[end])) return 0;
    if (at > 1 && text[at - 1] == '.' && isdigit((unsigned char)text[at - 2])) return 0;
    if (end + 1 < length && text[end] == '.' && isdigit((unsigned char)text[end + 1])) return 0;
    return end - at;
}

static void compare(const struct vs_finder *f, const char *text, size_t length) {
    size_t from = 0, at = 0;
    struct vs_slice word;
    while (vs_finder_next(f, (struct vs_slice){text, length}, &from, &word)) {
        for (; at < (size_t)(word.at - text); at++)
            if (slow_word(f, text, length, at)) CHECK_FAIL("skipped '%.*s' at %zu", (int)length, text, at);
        CHECK_EQ_U64(word.length, slow_word(f, text, length, at));
        CHECK_EQ_U64(from, at + word.length);
        at = from;
    }
    for (; at < length; at++)
        if (slow_word(f, text, length, at)) CHECK_FAIL("missed '%.*s' at %zu", (int)length, text, at);
}

static void same_words_as_a_slow_reading(void) {
    static const char *const pieces[] = {"0",
                                         "12345",
                                         "20065157",
                                         "13438674944",
                                         "deadbeef01",
                                         ".",
                                         "_",
                                         "x",
                                         "-",
                                         " ",
                                         "\n",
                                         "\033[1m",
                                         "\033[0;31m",
                                         "[1m",
                                         "m",
                                         "\xff",
                                         "\033[1111111111m",
                                         "G000000000000",
                                         "=",
                                         "\""};
    uint64_t dice = 3;
    char text[TEXT_MAX + 32];
    for (int i = 0; i < 200000; i++) {
        size_t length = 0, limit = roll_below(&dice, i % 50 ? 60 : TEXT_MAX);
        while (length < limit) {
            const char *piece = pieces[roll_below(&dice, VS_COUNT(pieces))];
            memcpy(text + length, piece, strlen(piece));
            length += strlen(piece);
        }
        struct vs_finder finder;
        vs_finder_begin(&finder, (enum vesta_base)roll_below(&dice, 4), 1 + roll_below(&dice, 20));
        compare(&finder, at_wall(text, length), length);
    }
}

/* Tries every text of these letters up to seven bytes, in memory without bytes before or after it. */
static void short_texts_are_read_to_their_end(void) {
    static const char letters[] = "019aFzm\"-. ";
    struct vs_found_id found;
    char text[7];
    for (size_t length = 0; length <= sizeof text; length++) {
        uint64_t count = 1;
        for (size_t i = 0; i < length; i++)
            count *= sizeof letters - 1;
        for (uint64_t n = 0; n < count; n += 1 + count / 20000) {
            uint64_t rest = n;
            for (size_t i = 0; i < length; i++, rest /= sizeof letters - 1)
                text[i] = letters[rest % (sizeof letters - 1)];
            vs_id_read(VS_ANY_NOTATION, (struct vs_slice){at_wall(text, length), length}, &found);
        }
    }
}

static void every_form_is_read_back(void) {
    uint64_t dice = 5;
    struct vs_found_id found;
    char text[VESTA_FORMAT_MAX];
    for (int i = 0; i < 100000; i++) {
        uint64_t id = roll(&dice) >> roll_below(&dice, 64);
        for (int base = VESTA_DECIMAL; base <= VESTA_BASE62; base++) {
            size_t length = vesta_format((enum vesta_base)base, id, text);
            struct vs_slice slice = {text, length};
            CHECK(vs_id_read((enum vs_notation)(base + 1), slice, &found) && found.id == id && !found.notation);
            bool has_letter = text[strspn(text, "0123456789")] != '\0';
            if (base != VESTA_DECIMAL && !has_letter) continue; /* digits without letters are read as decimal */
            bool is_hex = text[0] == '0' && (text[1] | 32) == 'x' && strspn(text + 2, digits[VESTA_HEX]) == length - 2;
            if (is_hex) continue; /* a text that starts with 0x is read as hex */
            CHECK(vs_id_read(VS_ANY_NOTATION, slice, &found) && found.id == id);
        }
    }
}

static const struct check_case cases[] = {
    {"the words found in a text are those that a simple reader finds", same_words_as_a_slow_reading},
    {"no text is read past its end", short_texts_are_read_to_their_end},
    {"an id in any notation is read back", every_form_is_read_back},
};
CHECK_MAIN(cases)
