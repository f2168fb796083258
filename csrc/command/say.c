/* say.c -- messages for people, on stderr.  Foreign text is quoted so that it can forge no line of its own. */
#include "command/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *speaker = NULL;

void vs_say_as(const char *command) {
    speaker = command;
}

static void (*say_by)(const char *text) = NULL;

void vs_say_by(void (*by)(const char *text)) {
    say_by = by;
}

static void say(const char *format, va_list args) {
    char text[1024];
    if (say_by) {
        vsnprintf(text, sizeof text, format, args);
        say_by(text);
        return;
    }
    vs_out_flush(); /* what was said before on stdout stands before on a terminal too */
    flockfile(stderr);
    fprintf(stderr, speaker ? "vesta %s: " : "vesta: ", speaker);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    funlockfile(stderr);
}

void vs_say(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

void vs_say_waiting(const char *what) {
    if (isatty(STDIN_FILENO)) vs_say("reading %s; Ctrl-D ends, Ctrl-C cancels", what);
}

int vs_usage(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(format, args);
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

#define QUOTE_BYTES 80 /* of the foreign text; each may become four */

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
