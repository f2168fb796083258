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

bool vs_value_is_true(struct vs_slice value) {
    return vs_slice_is(value, "true");
}

const char *vs_value_text(struct vs_slice value, char *buf, size_t size) {
    size_t used = 0;
    if (value.length >= 2 && *value.at == '"')
        for (size_t i = 1; i + 1 < value.length && used + 1 < size; i++) {
            char c = value.at[i];
            if (c == '\\' && i + 2 < value.length) c = value.at[++i];
            buf[used++] = c;
            if ((unsigned char)c < ' ' || c == 127) buf[used - 1] = '?';
        }
    buf[used] = '\0';
    return buf;
}
