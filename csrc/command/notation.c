/* notation.c -- reads ids as people find them: in any base, quoted, or within a line.  Pure. */
#include "command/notation.h"

#include "base/array.h"

#include <string.h>

#define COLOUR_MAX 24 /* longest colour code, between [ and m */

static const char *const names[] = {
    [VESTA_DECIMAL] = "decimal", [VESTA_HEX] = "hex", [VESTA_BASE32] = "base32", [VESTA_BASE62] = "base62"};

static bool notation_is_digit(char c) {
    return (unsigned)(unsigned char)c - '0' <= 9;
}

static bool notation_is_letter(char c) {
    return ((unsigned char)c | 32u) - 'a' < 26 || c == '_';
}

static bool notation_take(enum vesta_base base, const char *text, size_t length, struct vs_found_id *out) {
    if (vesta_parse(base, text, length, &out->id) != VESTA_OK) return false;
    out->notation = names[base];
    return true;
}

/* Removes the integer suffixes of C, Java and JavaScript: n, L, LL, U, UL, ULL.  A text with leading zeros has no
 * suffix: 0000000004N is base62. */
static size_t notation_without_suffix(const char *text, size_t length) {
    size_t end = length;
    while (end > 0 && length - end < 3 && text[end - 1] && strchr("nNlLuU", text[end - 1]))
        end--;
    return end > 0 && *text != '0' && notation_is_digit(text[end - 1]) ? end : length;
}

/* Languages without unsigned integers print ids from 2^63 on as negative.  U+2212 is the typographic minus. */
static bool notation_take_negative(const char *text, size_t length, struct vs_found_id *out) {
    static const char *const minuses[] = {"-", "\xe2\x88\x92"};
    uint64_t n;
    out->notation = "signed";
    for (size_t i = 0; i < VS_COUNT(minuses); i++) {
        size_t sign = strlen(minuses[i]);
        if (length > sign && memcmp(text, minuses[i], sign) == 0)
            return vesta_parse(VESTA_DECIMAL, text + sign, length - sign, &n) == VESTA_OK &&
                   vs_id_of_negative(n, &out->id);
    }
    return false;
}

static bool notation_take_decimal(const char *text, size_t length, struct vs_found_id *out) {
    length = notation_without_suffix(text, length);
    return notation_take(VESTA_DECIMAL, text, length, out) || notation_take_negative(text, length, out);
}

static bool notation_take_hex(const char *text, size_t length, struct vs_found_id *out) {
    size_t prefix = length > 2 && text[0] == '0' && (text[1] | 32) == 'x' ? 2 : 0;
    return notation_take(VESTA_HEX, text + prefix, length - prefix, out);
}

/* Recognizes bases by their fixed lengths.  A text that consists only of digits is decimal. */
static bool notation_take_any(const char *text, size_t length, struct vs_found_id *out) {
    static const struct {
        enum vesta_base base;
        size_t length;
    } fixed[] = {{VESTA_HEX, 16}, {VESTA_BASE32, 13}, {VESTA_BASE62, 11}};
    if (length > 2 && text[0] == '0' && (text[1] | 32) == 'x' && notation_take_hex(text, length, out)) return true;
    if (notation_take_decimal(text, length, out)) return true;
    for (size_t i = 0; i < VS_COUNT(fixed); i++)
        if (length == fixed[i].length) return notation_take(fixed[i].base, text, length, out);
    return false;
}

/* Returns whether a character surrounds ids in JSON, SQL or a shell: a space, quote, bracket, comma and so on. */
static bool notation_is_wrapping(char c) {
    return strchr(" \t\r\n\"'`()[]{}<>,;:=", c) && c;
}

/* Removes the byte order mark that spreadsheets and editors write before a file's first id, and wrapping characters. */
static struct vs_slice notation_unwrap(struct vs_slice text) {
    if (text.length >= 3 && memcmp(text.at, "\xef\xbb\xbf", 3) == 0) text.at += 3, text.length -= 3;
    while (text.length > 0 && notation_is_wrapping(*text.at))
        text.at++, text.length--;
    while (text.length > 0 && notation_is_wrapping(text.at[text.length - 1]))
        text.length--;
    return text;
}

bool vs_id_read(enum vs_notation notation, struct vs_slice text, struct vs_found_id *out) {
    text = notation_unwrap(text);
    if (notation == VS_ANY_NOTATION) return notation_take_any(text.at, text.length, out);
    enum vesta_base base = vs_base_of(notation);
    bool is_id = base == VESTA_DECIMAL ? notation_take_decimal(text.at, text.length, out)
                 : base == VESTA_HEX   ? notation_take_hex(text.at, text.length, out)
                                       : notation_take(base, text.at, text.length, out);
    out->notation = NULL;
    return is_id;
}

bool vs_id_read_wide(struct vs_slice text, struct vs_wide_found *out) {
    return vs_wide_read(vs_wide_trace_id(notation_unwrap(text)), out, NULL) == VESTA_OK;
}

const char *vs_id_wide_trouble(struct vs_slice text, struct vesta_error *err) {
    struct vs_wide_found found;
    text = notation_unwrap(text);
    return vs_wide_is_meant(text) && vs_wide_read(text, &found, err) != VESTA_OK ? err->text : NULL;
}

/* Returns whether every character is a digit of the base, according to vesta_parse. */
static bool notation_is_of(enum vesta_base base, struct vs_slice text) {
    uint64_t digit;
    for (size_t i = 0; i < text.length; i++)
        if (vesta_parse(base, text.at + i, 1, &digit) != VESTA_OK) return false;
    return text.length > 0;
}

bool vs_id_is_too_large(enum vs_notation notation, struct vs_slice text) {
    static const size_t digits[] = {[VESTA_DECIMAL] = 20, [VESTA_HEX] = 16, [VESTA_BASE32] = 13, [VESTA_BASE62] = 11};
    struct vs_found_id found;
    if (vs_id_read(notation, text, &found)) return false;
    text = notation_unwrap(text);
    if (notation == VS_ANY_NOTATION) { /* letters only: an ordinary word */
        enum vesta_base base = text.length == digits[VESTA_BASE32] ? VESTA_BASE32 : VESTA_BASE62;
        bool has_digit = false;
        for (size_t i = 0; i < text.length; i++)
            has_digit |= notation_is_digit(text.at[i]);
        return notation_is_of(VESTA_DECIMAL, text) ||
               (has_digit && text.length == digits[base] && notation_is_of(base, text));
    }
    enum vesta_base base = vs_base_of(notation);
    return (base == VESTA_DECIMAL || text.length == digits[base]) && notation_is_of(base, text);
}

bool vs_id_is_rounded(struct vs_slice text) {
    text = notation_unwrap(text);
    size_t digits = 0;
    while (digits < text.length && notation_is_digit(text.at[digits]))
        digits++;
    if (digits == 0 || digits == text.length || !memchr(".eE", text.at[digits], 3)) return false;
    bool has_exponent = false;
    for (size_t i = digits; i < text.length; i++) {
        if (!notation_is_digit(text.at[i]) && !memchr(".eE+", text.at[i], 4)) return false;
        /* an exponent of two digits, which means a large number */
        has_exponent |= text.length - i > 2 && (text.at[i] | 32) == 'e';
    }
    return has_exponent && notation_is_digit(text.at[text.length - 1]);
}

/* ------------------------------------------------------------------ ids within text */

void vs_finder_begin(struct vs_finder *finder, enum vesta_base base, size_t length_min) {
    static const size_t lengths[] = {[VESTA_DECIMAL] = 20, [VESTA_HEX] = 16, [VESTA_BASE32] = 13, [VESTA_BASE62] = 11};
    *finder = (struct vs_finder){.base = base, .length_max = lengths[base]};
    finder->length_min = base == VESTA_DECIMAL ? length_min : finder->length_max;
    if (finder->length_min == 0) finder->length_min = 1;
    for (int c = 0; c < 256; c++) {
        uint64_t value;
        finder->digit[c] = vesta_parse(base, (const char[]){(char)c}, 1, &value) == VESTA_OK;
    }
}

/* Returns whether the letter at `at` ends a terminal's colour code: ESC [ 1 ; 3 1 m. */
static bool notation_ends_colour(const char *text, size_t at) {
    size_t low = at > COLOUR_MAX ? at - COLOUR_MAX : 0;
    if (text[at] != 'm') return false;
    while (at > low && (notation_is_digit(text[at - 1]) || text[at - 1] == ';'))
        at--;
    return at > 1 && text[at - 1] == '[' && text[at - 2] == '\033';
}

/* Returns whether the digits from `begin` to `end` are a whole word, not part of a word or of a decimal fraction. */
static bool notation_is_word(const struct vs_finder *finder, struct vs_slice text, size_t begin, size_t end) {
    const char *at = text.at;
    if (end - begin < finder->length_min || end - begin > finder->length_max) return false;
    if (notation_ends_colour(at, end - 1) || (begin > 0 && notation_is_digit(at[begin - 1]))) return false;
    if (begin > 0 && notation_is_letter(at[begin - 1]) && !notation_ends_colour(at, begin - 1)) return false;
    if (end < text.length && (notation_is_letter(at[end]) || notation_is_digit(at[end]))) return false;
    if (begin > 1 && at[begin - 1] == '.' && notation_is_digit(at[begin - 2])) return false;
    if (end + 1 < text.length && at[end] == '.' && notation_is_digit(at[end + 1])) return false;
    for (size_t i = begin; i < end; i++)
        if (notation_is_digit(at[i])) return true;
    return false; /* letters only: an ordinary word */
}

static bool notation_is_digit_of(const struct vs_finder *finder, const char *text, size_t at) {
    return finder->digit[(unsigned char)text[at]];
}

/* Finds the next word.  Checks only every length_min-th byte, because every word that has at least length_min bytes
 * contains one of them. */
bool vs_finder_next(const struct vs_finder *finder, struct vs_slice text, size_t *from, struct vs_slice *word) {
    size_t low = *from;
    for (size_t at = low + finder->length_min - 1; at < text.length; at += finder->length_min) {
        if (!notation_is_digit_of(finder, text.at, at)) continue;
        size_t begin = at, end = at + 1;
        while (begin > low && notation_is_digit_of(finder, text.at, begin - 1) &&
               !notation_ends_colour(text.at, begin - 1))
            begin--;
        while (end < text.length && notation_is_digit_of(finder, text.at, end) &&
               !notation_ends_colour(text.at, end - 1))
            end++;
        if (notation_is_word(finder, text, begin, end)) {
            *word = (struct vs_slice){text.at + begin, end - begin};
            *from = end;
            return true;
        }
        low = end;
        at = end - 1;
    }
    return false;
}

static bool notation_is_of_wide(char c) {
    return notation_is_digit(c) || notation_is_letter(c) || c == '-';
}

/* Returns whether the text before `end` ends with a letter of an alphabet with spaces between words, such as Latin or
 * Greek, so that the letter belongs to the next word.  These letters are in U+00C0 to U+07FF and U+1000 to U+1FFF.
 * Chinese characters and punctuation are outside these ranges.  A byte that is not UTF-8 may be a letter, too. */
static bool notation_ends_letter(const char *text, size_t end) {
    size_t at = end;
    while (at > 0 && ((unsigned char)text[at - 1] & 0xc0) == 0x80)
        at--;
    unsigned char lead = at > 0 ? (unsigned char)text[at - 1] : 0;
    if (at == end) return lead >= 0xc0;
    return (lead >= 0xc3 && lead <= 0xdf) || lead == 0xe1;
}

bool vs_id_next_wide(struct vs_slice text, size_t *from, struct vs_wide_found *out) {
    size_t begin = *from, end;
    for (; begin < text.length; begin = end + 1) {
        bool has_digit = false;
        for (end = begin; end < text.length && notation_is_of_wide(text.at[end]); end++)
            has_digit |= notation_is_digit(text.at[end]);
        if (!has_digit || end - begin < VS_WIDE_LENGTH_MIN) continue; /* letters only: an ordinary word */
        struct vs_slice word = vs_wide_trace_id((struct vs_slice){text.at + begin, end - begin});
        if (vs_wide_read(word, out, NULL) != VESTA_OK) continue;
        /* a prefix such as größe, not the prefix e */
        if (out->text == VS_WIDE_TYPEID && notation_ends_letter(text.at, begin)) continue;
        *from = end;
        return true;
    }
    *from = text.length;
    return false;
}
