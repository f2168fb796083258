/* reply.h -- reads replies of both protocols strictly, and ends the run if one is not well-formed. */
#ifndef SPEC_FUZZ_REPLY_H
#define SPEC_FUZZ_REPLY_H

#include "fuzz.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

struct text {
    const char *at, *end;
};

/* Called for each run of at least 15 digits, which is an id. */
typedef void id_fn(uint64_t id);

static struct text read_line(struct text *in) {
    struct text line = {in->at, memchr(in->at, '\n', (size_t)(in->end - in->at))};
    MUST(line.end && line.end > line.at && line.end[-1] == '\r');
    in->at = line.end + 1;
    line.end--;
    for (const char *p = line.at; p < line.end; p++)
        MUST((unsigned char)*p >= ' ');
    return line;
}

static long read_number(struct text line) {
    char digits[24];
    size_t length = (size_t)(line.end - line.at);
    MUST(length > 0 && length < sizeof digits);
    memcpy(digits, line.at, length);
    digits[length] = '\0';
    char *end;
    long value = strtol(digits, &end, 10);
    MUST(*end == '\0');
    return value;
}

__attribute__((unused)) static void find_ids(struct text text, id_fn *found) {
    while (text.at < text.end) {
        const char *from = text.at;
        uint64_t value = 0;
        for (; text.at < text.end && isdigit((unsigned char)*text.at); text.at++)
            value = value * 10 + (uint64_t)(*text.at - '0');
        if (text.at - from >= 15) found(value);
        text.at += text.at == from;
    }
}

static bool begins(struct text text, const char *with) {
    size_t length = strlen(with);
    return (size_t)(text.end - text.at) >= length && memcmp(text.at, with, length) == 0;
}

/* Reads one reply of the Redis protocol. *resp3 tracks the version, from replies to HELLO and RESET. Returns true for a
 * protocol error, which is the last reply. */
static bool read_resp(struct text *in, bool *resp3, id_fn *found, int depth) {
    MUST(in->at < in->end && depth < 6);
    char kind = *in->at++;
    struct text line = read_line(in);
    if (kind == '-') return begins(line, "ERR Protocol error:");
    if (kind == '+') {
        if (depth == 0 && begins(line, "RESET")) *resp3 = false;
        return false;
    }
    if (kind == '_') {
        MUST(line.at == line.end && *resp3);
        return false;
    }
    long count = read_number(line);
    if (kind == ':') return false;
    if (count == -1) {
        MUST((kind == '$' || kind == '*') && !*resp3);
        return false;
    }
    MUST(count >= 0);
    if (kind == '$') {
        MUST(in->end - in->at >= count + 2 && memcmp(in->at + count, "\r\n", 2) == 0);
        if (found) find_ids((struct text){in->at, in->at + count}, found);
        in->at += count + 2;
        return false;
    }
    if (depth == 0 && begins(*in, "$6\r\nserver\r\n")) *resp3 = kind == '%';
    MUST(kind == '*' || (kind == '%' && *resp3));
    for (long i = 0; i < (kind == '%' ? 2 * count : count); i++)
        MUST(!read_resp(in, resp3, found, depth + 1));
    return false;
}

/* Reads one HTTP reply. Returns true if the connection ends after it. */
__attribute__((unused)) static bool read_http(struct text *in, bool has_no_body, id_fn *found) {
    struct text line = read_line(in);
    long length = -1;
    bool last = false;
    MUST(line.end - line.at > 12 && begins(line, "HTTP/1."));
    bool interim = line.at[9] == '1';
    while ((line = read_line(in)).at < line.end) {
        if (begins(line, "Content-Length: ")) length = read_number((struct text){line.at + 16, line.end});
        last |= begins(line, "Connection: close");
    }
    if (interim) return read_http(in, has_no_body, found);
    MUST(length >= 0);
    if (has_no_body) return last;
    MUST(in->end - in->at >= length);
    if (found) find_ids((struct text){in->at, in->at + length}, found);
    in->at += length;
    return last;
}

#endif
