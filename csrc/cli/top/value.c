/* value.c -- reads JSON where it stands; see value.h. */
#include "cli/top/value.h"

static size_t skip_space(struct vs_slice s, size_t at) {
    while (at < s.length && strchr(" \t\r\n", s.at[at]) && s.at[at])
        at++;
    return at;
}

/* Behind the string that begins at `at`; the length where it does not end. */
static size_t string_end(struct vs_slice s, size_t at) {
    for (at++; at < s.length; at++) {
        if (s.at[at] == '\\')
            at++;
        else if (s.at[at] == '"')
            return at + 1;
    }
    return s.length;
}

/* Behind the value that begins at `at`. */
static size_t value_end(struct vs_slice s, size_t at) {
    size_t depth = 0;
    while (at < s.length) {
        char c = s.at[at];
        if (c == '"') {
            at = string_end(s, at);
            if (depth == 0) return at;
            continue;
        }
        if (depth == 0 && strchr(",]}", c)) return at;
        if (c == '{' || c == '[') depth++;
        if (c == '}' || c == ']') depth--;
        at++;
        if (depth == 0 && (c == '}' || c == ']')) return at;
    }
    return at;
}

static void move(struct vs_slice *s, size_t by) {
    s->at += by;
    s->length -= by;
}

bool vs_value_next(struct vs_slice *from, struct vs_slice *name, struct vs_slice *value) {
    size_t at = skip_space(*from, 0);
    *name = (struct vs_slice){from->at, 0};
    if (at < from->length && strchr("{[,", from->at[at])) at = skip_space(*from, at + 1);
    if (at >= from->length || strchr("]}", from->at[at])) return false;
    size_t end = value_end(*from, at), colon = skip_space(*from, end);
    if (from->at[at] == '"' && colon < from->length && from->at[colon] == ':') {
        *name = (struct vs_slice){from->at + at + 1, end - at >= 2 ? end - at - 2 : 0};
        at = skip_space(*from, colon + 1);
        end = value_end(*from, at);
    }
    *value = (struct vs_slice){from->at + at, end - at};
    if (end == 0) return false;
    move(from, end);
    return true;
}

struct vs_slice vs_value_member(struct vs_slice object, const char *name) {
    struct vs_slice each, value;
    if (object.length == 0 || *object.at != '{') return (struct vs_slice){"", 0};
    while (vs_value_next(&object, &each, &value))
        if (vs_slice_is(each, name)) return value;
    return (struct vs_slice){"", 0};
}

int64_t vs_value_number(struct vs_slice value) {
    int64_t n = 0;
    bool is_negative = false;
    if (value.length && *value.at == '"') move(&value, 1);
    if (value.length && *value.at == '-') is_negative = true, move(&value, 1);
    for (; value.length && *value.at >= '0' && *value.at <= '9'; move(&value, 1)) {
        if (n > (INT64_MAX - 9) / 10) return 0;
        n = n * 10 + (*value.at - '0');
    }
    return is_negative ? -n : n;
}

int64_t vs_value_span(struct vs_slice value) {
    int64_t n = vs_value_number(value);
    return n > VS_VALUE_FAR ? VS_VALUE_FAR : n < -VS_VALUE_FAR ? -VS_VALUE_FAR : n;
}

bool vs_value_is_true(struct vs_slice value) {
    return vs_slice_is(value, "true");
}

static int hex_of(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* What stands behind a backslash, as UTF-8; *at moves to its last byte.  Half of a pair is '?', as half a letter is. */
static size_t take_escaped(struct vs_slice value, size_t *at, char out[3]) {
    static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
    const char *found = strchr(from, value.at[*at]);
    uint32_t letter = 0;
    *out = found && *found ? to[found - from] : value.at[*at];
    if (value.at[*at] != 'u') return 1;
    for (int i = 0; i < 4; i++, letter = letter << 4 | (uint32_t)hex_of(value.at[*at]))
        if (++*at >= value.length || hex_of(value.at[*at]) < 0) return *out = '?', 1;
    if (letter == 0 || (letter >= 0xd800 && letter <= 0xdfff)) return *out = '?', 1;
    if (letter < 0x80) return *out = (char)letter, 1;
    out[0] = (char)(letter < 0x800 ? 0xc0 | letter >> 6 : 0xe0 | letter >> 12);
    if (letter < 0x800) return out[1] = (char)(0x80 | (letter & 0x3f)), 2;
    out[1] = (char)(0x80 | (letter >> 6 & 0x3f));
    out[2] = (char)(0x80 | (letter & 0x3f));
    return 3;
}

const char *vs_value_text(struct vs_slice value, char *buf, size_t size) {
    size_t used = 0;
    char letter[3];
    bool is_text = value.length >= 2 && *value.at == '"';
    value.length -= is_text; /* the quote behind it */
    for (size_t i = 1; is_text && i < value.length; i++) {
        size_t length = 1;
        *letter = value.at[i];
        if (*letter == '\\' && i + 1 < value.length) i++, length = take_escaped(value, &i, letter);
        if (used + length >= size) break;
        memcpy(buf + used, letter, length);
        used += length;
    }
    buf[used] = '\0';
    return buf;
}
