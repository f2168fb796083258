/* out.c -- writes whole lines to stdout, so that a killed writer leaves no partial line.
 *
 * In a pipe, the kernel neither splits a write of PIPE_BUF bytes nor mixes it with the write of another process, so
 * eight programs may share a pipe.  In a file, a writer can be killed between two pages, where it may wait for the
 * disk.  Therefore a write stays within a page.  A line that crosses a page boundary is written alone, when there is
 * nothing to wait for.  (A process may still be killed between the two parts of that line.) */
#include "command/command.h"
#include "os/host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define OUT_ROOM 65536
#define OUT_LINE_MAX 8192 /* longest text of one vs_outf */
#define OUT_PAGE 4096

static char buffer[OUT_ROOM + OUT_LINE_MAX];
static size_t used;
static int broken;           /* errno of a failed write, or 0 */
static int64_t file_at = -1; /* position of the next write in a regular file (-1: not a regular file) */

/* Determines the position once.  The position is only a hint if other processes write to the same file. */
static void out_find_place(void) {
    static bool known;
    struct stat st;
    if (known) return;
    known = true;
    if (fstat(STDOUT_FILENO, &st) != 0 || !S_ISREG(st.st_mode)) return;
    int flags = fcntl(STDOUT_FILENO, F_GETFL);
    file_at = flags >= 0 && flags & O_APPEND ? st.st_size : lseek(STDOUT_FILENO, 0, SEEK_CUR);
}

static void out_write_all(const char *at, size_t length) {
    while (length > 0 && !broken) {
        ssize_t n = write(STDOUT_FILENO, at, length);
        if (n < 0 && errno != EINTR) broken = errno;
        if (n <= 0) continue;
        at += n;
        length -= (size_t)n;
        if (file_at >= 0) file_at += n;
    }
}

/* Returns how many of `length` bytes fit into one write as whole lines (0: there is no whole line). */
static size_t out_whole_lines(const char *at, size_t length) {
    size_t most = length < PIPE_BUF ? length : PIPE_BUF, page_left = OUT_PAGE - (size_t)(file_at % OUT_PAGE);
    bool fits = file_at < 0 || most <= page_left;
    const char *newline = memrchr(at, '\n', fits ? most : page_left);
    if (!newline && !fits) newline = memchr(at, '\n', most); /* the line that crosses the page boundary */
    return newline ? (size_t)(newline - at) + 1 : 0;
}

static void out_drain(bool all) {
    size_t done = 0, piece;
    out_find_place();
    while ((piece = out_whole_lines(buffer + done, used - done)) > 0) {
        out_write_all(buffer + done, piece);
        done += piece;
    }
    /* A line that is longer than a write, or a last line without a newline. */
    if (all || used - done > OUT_ROOM) {
        out_write_all(buffer + done, used - done);
        done = used;
    }
    memmove(buffer, buffer + done, used - done);
    used -= done;
}

char *vs_out_room(size_t size) {
    if (used + size > OUT_ROOM) out_drain(false);
    return buffer + used;
}

void vs_out_took(size_t length) {
    used += length;
}

void vs_out_write(const char *text, size_t length) {
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
    vs_out_write("\"", 1);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == '"' || c == '\\')
            vs_outf("\\u%04x", c);
        else
            vs_out_write(text, 1);
    }
    vs_out_write("\"", 1);
}

void vs_out_flush(void) {
    out_drain(false);
}

static bool out_has_colour(void) {
    const char *term = vs_environment("TERM");
    return isatty(STDOUT_FILENO) && !vs_environment("NO_COLOR") && term && strcmp(term, "dumb") != 0;
}

const char *vs_out_colour(const char *code) {
    static int has = -1;
    if (has < 0) has = out_has_colour();
    return has ? code : "";
}

size_t vs_out_columns(void) {
    struct winsize size;
    return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool vs_out_gone(void) {
    return broken != 0;
}

int vs_out_end(int code) {
    out_drain(true);
    if (!broken || broken == EPIPE) return code;
    int why = broken;
    vs_say("cannot write the output: %s", strerror(why));
    return VS_FAILED;
}
