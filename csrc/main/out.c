/* out.c -- stdout in writes of whole lines, PIPE_BUF bytes each at most.  The kernel never splits such a write to a
 * pipe, nor mixes it with another writer's: eight programs may share one pipe, and a killed one leaves no half line.
 * Larger writes would save a tenth of the time and lose that. */
#include "main/main.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OUT_ROOM 65536
#define OUT_LINE_MAX 8192 /* the longest text one vs_outf may add */

static char buffer[OUT_ROOM + OUT_LINE_MAX];
static size_t used;
static int broken; /* errno of the write that failed, or 0 */

static void write_all(const char *at, size_t length) {
    while (length > 0 && !broken) {
        ssize_t n = write(STDOUT_FILENO, at, length);
        if (n < 0 && errno != EINTR) broken = errno;
        if (n <= 0) continue;
        at += n;
        length -= (size_t)n;
    }
}

/* The length of the longest run of whole lines in `length` bytes that fits one write. */
static size_t whole_lines(const char *at, size_t length) {
    size_t most = length < PIPE_BUF ? length : PIPE_BUF;
    const char *newline = memrchr(at, '\n', most);
    return newline ? (size_t)(newline - at) + 1 : 0;
}

static void drain(bool all) {
    size_t done = 0, piece;
    while ((piece = whole_lines(buffer + done, used - done)) > 0) {
        write_all(buffer + done, piece);
        done += piece;
    }
    /* a line longer than a write, or the end of a text without a newline */
    if (all || used - done > OUT_ROOM) {
        write_all(buffer + done, used - done);
        done = used;
    }
    memmove(buffer, buffer + done, used - done);
    used -= done;
}

char *vs_out_room(size_t size) {
    if (used + size > OUT_ROOM) drain(false);
    return buffer + used;
}

void vs_out_took(size_t length) {
    used += length;
}

void vs_out(const char *text, size_t length) {
    while (length > 0) {
        size_t n = length < OUT_LINE_MAX ? length : OUT_LINE_MAX;
        memcpy(vs_out_room(n), text, n);
        vs_out_took(n);
        text += n;
        length -= n;
    }
}

void vs_outf(const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(vs_out_room(OUT_LINE_MAX), OUT_LINE_MAX, format, args);
    va_end(args);
    if (n > 0) vs_out_took(n < OUT_LINE_MAX ? (size_t)n : OUT_LINE_MAX - 1);
}

void vs_out_json(const char *text) {
    vs_out("\"", 1);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == '"' || c == '\\')
            vs_outf("\\u%04x", c);
        else
            vs_out(text, 1);
    }
    vs_out("\"", 1);
}

void vs_out_flush(void) {
    drain(false);
}

bool vs_out_gone(void) {
    return broken != 0;
}

int vs_out_end(int code) {
    drain(true);
    if (!broken || broken == EPIPE) return code;
    int why = broken;
    vs_say("cannot write the output: %s", strerror(why));
    return VS_FAILED;
}
