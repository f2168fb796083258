/* say.c -- messages on stderr.  Untrusted text is quoted, so that it cannot fake a line. */
#include "command/command.h"

#include "os/clock.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *speaker = NULL;

void vs_say_as(const char *command) {
    speaker = command;
}

/* ------------------------------------------------------------------ progress */

#define QUIET_US 2000000 /* no progress line is shown before this time */
#define AGAIN_US 500000

static bool progress_stands; /* the terminal's last line is a progress line */

static void say_take_progress_away(void) {
    if (progress_stands) fputs("\r\033[K", stderr);
    progress_stands = false;
}

static bool say_is_seen(void) {
    static int seen = -1;
    if (seen < 0) seen = isatty(STDERR_FILENO);
    return seen;
}

void vs_progress_show(struct vs_progress *p, const char *what, uint64_t done, uint64_t all) {
    const struct vesta_clock *clock = vs_clock_system();
    char count[VS_GROUPED_MAX], left[VS_AGO_MAX];
    if (!say_is_seen()) return;
    int64_t now_us = clock->boot_us(clock->self);
    if (p->began_us == 0) p->began_us = now_us;
    if (now_us < p->began_us + QUIET_US || now_us < p->said_us + AGAIN_US) return;
    p->said_us = now_us;
    vs_out_flush();
    say_take_progress_away();
    fprintf(stderr, "vesta %s: ", speaker ? speaker : "");
    if (all > 0 && done > 0 && done <= all) {
        double us = (double)(now_us - p->began_us) * ((double)(all - done) / (double)done);
        fprintf(stderr, "%.0f %% of %s %s, %s left", 100.0 * (double)done / (double)all, vs_grouped(all, count), what,
                us < 1e15 ? vs_span((uint64_t)(us / 1000), left) : "very long");
    } else
        fprintf(stderr, "%s %s so far", vs_grouped(done, count), what);
    progress_stands = true;
}

void vs_progress_end(void) {
    say_take_progress_away();
}

void vs_status(const char *format, ...) {
    char text[512];
    size_t columns = vs_out_columns();
    va_list args;
    if (!say_is_seen()) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    vs_out_flush();
    say_take_progress_away();
    fprintf(stderr, "%.*s", columns > 1 ? (int)columns - 1 : (int)sizeof text, text);
    progress_stands = true;
}

/* ------------------------------------------------------------------ messages */

static void (*say_by)(const char *text) = NULL;

void vs_say_by(void (*by)(const char *text)) {
    say_by = by;
}

static void say_line(const char *format, va_list args) {
    char text[1024];
    if (say_by) {
        vsnprintf(text, sizeof text, format, args);
        say_by(text);
        return;
    }
    vs_out_flush(); /* so that earlier output appears first on a terminal */
    flockfile(stderr);
    say_take_progress_away();
    fprintf(stderr, speaker ? "vesta %s: " : "vesta: ", speaker);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    funlockfile(stderr);
}

void vs_say(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say_line(format, args);
    va_end(args);
}

void vs_say_waiting(const char *what) {
    if (isatty(STDIN_FILENO)) vs_say("reading %s. Ctrl-D ends, Ctrl-C cancels", what);
}

int vs_usage(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say_line(format, args);
    va_end(args);
    if (!say_by) fprintf(stderr, speaker ? "Try: vesta help %s\n" : "Try: vesta help\n", speaker);
    return VS_USAGE;
}

bool vs_is_usage(const struct vesta_error *err) {
    return err->code == VESTA_ELAYOUT || err->code == VESTA_EFIELD || err->code == VESTA_EOPTION ||
           err->code == VESTA_ENAME;
}

int vs_report(const struct vesta_error *err) {
    if (vs_is_usage(err)) return vs_usage("%s", err->text);
    vs_say("%s (%s)", err->text, vesta_code_name(err->code));
    return VS_FAILED;
}

#define QUOTE_BYTES 80 /* of the untrusted text (each may become four) */

const char *vs_shown(const char *text, size_t length) {
    static char ring[4][QUOTE_BYTES * 4 + 8];
    static unsigned turn;
    char *out = ring[turn++ % 4], *at = out;
    *at++ = '"';
    for (size_t i = 0; i < length && i < QUOTE_BYTES; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c == 0x7f || c == '"' || c == '\\')
            at += sprintf(at, "\\x%02x", c);
        else
            *at++ = (char)c;
    }
    strcpy(at, length > QUOTE_BYTES ? "...\"" : "\"");
    return out;
}

const char *vs_shown_text(const char *text) {
    return vs_shown(text, strlen(text));
}
