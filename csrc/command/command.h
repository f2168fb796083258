/* command.h -- shared by the commands of the program: exit codes, output, messages, input of ids. */
#ifndef VS_COMMAND_H
#define VS_COMMAND_H

#include "command/notation.h"
#include "vesta.h"

#include <stdbool.h>

/* VS_FAILED: the environment caused the failure, or a duplicate was found.  VS_USAGE: the caller made a mistake. */
enum vs_exit { VS_DONE = 0, VS_FAILED = 1, VS_USAGE = 2 };

/* A command in C, listed in main/cli.h.  `run` gets the command's name as argv[0]. */
struct vs_command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *line;  /* summary in one line */
    const char *usage; /* follows "vesta " */
    const char *about; /* text of `vesta help NAME`: purpose, and two examples with output */
};

/* ---- say.c: messages go to stderr, one line each, prefixed with the command's name */

void vs_say_as(const char *command);
void vs_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Passes all further messages to `by` instead of printing them to stderr. */
void vs_say_by(void (*by)(const char *text));
/* Prints what the command waits for, if stdin is a terminal. */
void vs_say_waiting(const char *what);
/* The progress line of a command that takes longer than two seconds.  The line is overwritten in place, and shown only
 * at a terminal.  If `all` is known (otherwise it is 0), the line contains the percentage and the remaining time.  It
 * may be updated a thousand times a second. */
struct vs_progress {
    int64_t began_us, said_us;
};
void vs_progress_show(struct vs_progress *progress, const char *what, uint64_t done, uint64_t all);
/* Removes the progress line.  Every message also removes it. */
void vs_progress_end(void);
/* Shows a status line, which is overwritten like a progress line. */
void vs_status(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* As vs_say, followed by a line that names the help.  Returns VS_USAGE. */
int vs_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Returns whether the cause of an error is the caller's input, not the environment. */
bool vs_is_usage(const struct vesta_error *err);
/* Prints an error of the library.  Returns the exit code for the error: VS_USAGE if its cause is the caller's input. */
int vs_report(const struct vesta_error *err);

/* Formats untrusted text for a message: quoted, control characters escaped, cut if long.  Valid until the fourth
 * further call. */
const char *vs_shown(const char *text, size_t length);
const char *vs_shown_text(const char *text);

/* ---- out.c: stdout in large writes of whole lines */

/* vs_out_write appends to the buffer.  Every write to stdout consists of whole lines, so that several programs may
 * share a pipe. */
void vs_out_write(const char *text, size_t length);
void vs_outf(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Returns room for `size` bytes at the end of the buffer.  vs_out_took then records how many bytes were used. */
char *vs_out_room(size_t size);
void vs_out_took(size_t length);
/* Writes all complete lines.  Call it before waiting. */
void vs_out_flush(void);
/* Returns the code of a colour, or "" if stdout is not a terminal, or NO_COLOR or TERM=dumb is set.  VS_PLAIN ends the
 * colour. */
#define VS_RED vs_out_colour("\033[31m")
#define VS_YELLOW vs_out_colour("\033[33m")
#define VS_CYAN vs_out_colour("\033[36m")
#define VS_PLAIN vs_out_colour("\033[0m")
const char *vs_out_colour(const char *code);
/* Returns the width of the terminal at stdout (0: unknown, or not a terminal). */
size_t vs_out_columns(void);
/* Returns whether further output is useless, because the reader has gone or the disk is full. */
bool vs_out_gone(void);
/* Writes what remains in the buffer.  If a write failed, prints a message and returns VS_FAILED, unless the reader has
 * gone.  Otherwise returns `code`. */
int vs_out_end(int code);
/* Writes a JSON string with its quotes. */
void vs_out_json(const char *text);

/* ---- clean.c: untrusted text for a terminal, with '?' for each unsafe character */

void vs_out_clean(const char *text);
/* vs_clean changes the text in place, and returns it. */
char *vs_clean(char *text);
/* Returns the length of a text's first character, and whether it is safe for a terminal. */
size_t vs_letter(const char *text, bool *is_fine);

/* ---- wrap.c: texts wrapped at VS_COLUMNS */

#define VS_COLUMNS 80
/* Writes words from column `used` on, in lines that are indented by `indent`, and ends the last line. */
void vs_out_wrapped(const char *text, size_t indent, size_t used);
/* Like vs_out_wrapped, but wraps at the terminal's width, or writes one line if stdout is not a terminal.  The text
 * must be clean. */
void vs_out_fitted(const char *text, size_t indent, size_t used);
void vs_out_fittedf(size_t indent, size_t used, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- input.c: reads ids from operands, or from stdin if there are no operands or the operand is "-" */

/* `take` is called for each id, and `take_wide` for each id of 128 bits, which are read only in any notation.  Both return
 * an exit code. */
struct vs_id_input {
    enum vs_notation notation;
    int (*take)(void *self, const struct vs_found_id *found);
    int (*take_wide)(void *self, const struct vs_wide_found *found); /* NULL: ids of 128 bits are rejected */
    void *self;
};
/* Calls `take` or `take_wide` for each id.  Returns the worst exit code of `take` and of texts that are not ids. */
int vs_each_id(const struct vs_id_input *input, int count, char **operands);
/* Returns why a text is not an id in the notation.  The result is the end of a sentence. */
const char *vs_id_trouble(enum vs_notation notation, struct vs_slice text);
/* Parses a layout.  NULL means the default layout.  Returns VS_DONE, or an exit code after a message. */
#define VS_LAYOUT_DEFAULT "vesta-second"
int vs_read_layout(const char *text, struct vesta_layout *out);
/* Reads digits, at most max. */
bool vs_read_count(const char *text, uint64_t max, uint64_t *out);

/* ---- picture.c: layouts and ids in human-readable form */

void vs_draw_layout(const struct vesta_layout *layout);
void vs_draw_id(const struct vesta_layout *layout, uint64_t id, const struct vesta_parts *parts, int64_t now_ms);
/* Returns how many ids can be issued per second with one worker id. */
uint64_t vs_per_second(const struct vesta_layout *layout);
/* Writes "3 days ago" or "in 2 hours".  `buf` must have VS_AGO_MAX bytes. */
#define VS_AGO_MAX 48
const char *vs_span(uint64_t ms, char *buf); /* writes "3 days" */
const char *vs_ago(int64_t then_ms, int64_t now_ms, char *buf);
const char *vs_iso(int64_t unix_ms, char *buf); /* as vesta_iso, but returns the buffer */
int64_t vs_now_ms(void);
/* Writes 1048576 as "1,048,576".  `buf` must have VS_GROUPED_MAX bytes. */
#define VS_GROUPED_MAX 32
const char *vs_grouped(uint64_t n, char *buf);

#endif
