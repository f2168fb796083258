/* line.c -- formats an event as one line of logfmt or JSON.  Everything except printable valid UTF-8 characters is
 * escaped, in the same way in both formats, so foreign text cannot break out of its value.  Uses no file and no clock.
 */
#include "log/line.h"

#include <stdio.h>
#include <string.h>

#define TAIL_BYTES 96   /* reserved for the names cut, repeated and lost, and the end of the line */
#define ESCAPE_BYTES 12 /* length of the longest escaped character, a pair of \uXXXX */
#define NAME_BYTES 48   /* maximum length of a name with its punctuation */
#define NAME_LETTERS 32 /* maximum length of a name without its punctuation */

static const char *const level_names[] = {"debug", "info", "warn", "error"};
static const char *const journal_prefixes[] = {"<7>", "<6>", "<4>", "<3>"}; /* see sd-daemon(3) */

int vs_log_level_named(const char *word) {
    for (int level = VS_LOG_DEBUG; level <= VS_LOG_ERROR; level++)
        if (strcmp(word, level_names[level]) == 0) return level;
    return -1;
}

const char *vs_digits(char *buf, int64_t number) {
    sprintf(buf, "%lld", (long long)number);
    return buf;
}

/* ------------------------------------------------------------------ characters */

/* Returns the length of the character at `at`, or 0 if it is not valid UTF-8, which includes overlong forms,
 * surrogates, values above 10FFFF, and truncated characters. */
static int line_decode(const unsigned char *at, uint32_t *point) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    int length = *at < 0x80 ? 1 : *at >> 5 == 6 ? 2 : *at >> 4 == 14 ? 3 : *at >> 3 == 30 ? 4 : 0;
    if (length <= 1) return *point = *at, length;
    *point = *at & (0xffU >> (length + 1));
    for (int i = 1; i < length; i++) {
        if (at[i] >> 6 != 2) return 0; /* also stops at a NUL, so that no byte after the NUL is read */
        *point = *point << 6 | (at[i] & 0x3f);
    }
    return *point < least[length] || *point > 0x10ffff || *point >> 11 == 0x1b ? 0 : length;
}

/* Returns true for characters that a terminal or an editor interprets: control characters, line and paragraph
 * separators, and changes of text direction. */
static bool must_escape(uint32_t point) {
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x200e || point == 0x200f ||
           (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) || point == 0xfeff;
}

static size_t line_escape(char *out, uint32_t point) {
    switch (point) {
    case '\n': memcpy(out, "\\n", 2); return 2;
    case '\r': memcpy(out, "\\r", 2); return 2;
    case '\t': memcpy(out, "\\t", 2); return 2;
    default: sprintf(out, "\\u%04x", (unsigned)point); return 6;
    }
}

/* Writes one character of *text in its escaped form, and advances *text. */
static size_t put_character(char *out, const char **text) {
    uint32_t point;
    const unsigned char *at = (const unsigned char *)*text;
    int length = line_decode(at, &point);
    *text += length ? length : 1;
    if (length == 0) return line_escape(out, 0xfffd);
    if (must_escape(point)) return line_escape(out, point);
    if (point == '"' || point == '\\') *out++ = '\\';
    memcpy(out, at, (size_t)length);
    return (size_t)length + (point == '"' || point == '\\');
}

/* ------------------------------------------------------------------ values */

/* Returns true if the value needs no quotes in logfmt. */
static bool is_bare(const char *value) {
    for (const char *at = value; *at; at++)
        if (*at <= ' ' || *at > '~' || *at == '=' || *at == '"' || *at == '\\') return false;
    return *value != '\0';
}

static void line_put(struct vs_line *line, const char *text) {
    size_t length = strlen(text);
    memcpy(line->text + line->used, text, length);
    line->used += length;
}

static size_t line_room(const struct vs_line *line) {
    return sizeof line->text - TAIL_BYTES - line->used;
}

static void put_value(struct vs_line *line, const char *value) {
    if (line->format == VS_LOG_LOGFMT && is_bare(value) && strlen(value) <= line_room(line)) {
        line_put(line, value);
        return;
    }
    line_put(line, "\"");
    while (*value && line_room(line) > ESCAPE_BYTES)
        line->used += put_character(line->text + line->used, &value);
    line->full = *value != '\0';
    line_put(line, line->full ? "...\"" : "\"");
}

static void put_name(struct vs_line *line, const char *name) {
    bool json = line->format == VS_LOG_JSON;
    char *at = line->text + line->used;
    size_t length = strnlen(name, NAME_LETTERS);
    if (line->begun || json) *at++ = !json ? ' ' : line->begun ? ',' : '{';
    if (json) *at++ = '"';
    at = (char *)memcpy(at, name, length) + length;
    if (json) *at++ = '"';
    *at++ = json ? ':' : '=';
    line->used = (size_t)(at - line->text);
    line->begun = true;
}

void vs_line_text(struct vs_line *line, const char *name, const char *value) {
    if (line->full) return;
    line->full = line_room(line) < NAME_BYTES + ESCAPE_BYTES;
    if (line->full) return;
    put_name(line, name);
    put_value(line, value);
}

void vs_line_count(struct vs_line *line, const char *name, uint64_t value) {
    put_name(line, name);
    line->used += vesta_format(VESTA_DECIMAL, value, line->text + line->used);
}

/* ------------------------------------------------------------------ lines */

/* vesta_iso omits the milliseconds if they are zero. */
const char *vs_line_iso(char buf[VESTA_ISO_MAX], int64_t unix_ms) {
    if (vesta_iso(unix_ms, buf) && unix_ms % 1000 == 0) strcpy(strchr(buf, 'Z'), ".000Z");
    return buf;
}

static void line_begin(struct vs_line *line, enum vs_log_format format) {
    line->format = format;
    line->used = 0;
    line->begun = line->full = false;
}

void vs_line_begin_with(struct vs_line *line, enum vs_log_format format, const char *ts) {
    line_begin(line, format);
    vs_line_text(line, "ts", ts);
}

void vs_line_begin(struct vs_line *line, enum vs_log_format format, int64_t unix_ms, enum vs_log_level level,
                   const char *sentence) {
    char buf[VESTA_ISO_MAX];
    line_begin(line, format);
    if (unix_ms < 0)
        line_put(line, journal_prefixes[level]);
    else
        vs_line_text(line, "ts", vs_line_iso(buf, unix_ms));
    vs_line_text(line, "level", level_names[level]);
    vs_line_text(line, "msg", sentence);
}

void vs_line_end(struct vs_line *line) {
    if (line->full) {
        put_name(line, "cut");
        line_put(line, "true");
    }
    line_put(line, line->format == VS_LOG_JSON ? "}\n" : "\n");
}
