/* command.h -- what the commands of the program share: exit codes, output, messages, input of ids. */
#ifndef VS_COMMAND_H
#define VS_COMMAND_H

#include "command/notation.h"
#include "vesta.h"

#include <stdbool.h>

enum vs_exit { VS_DONE = 0, VS_FAILED = 1 /* the world, or a duplicate */, VS_USAGE = 2 /* the caller */ };

/* A command in C, listed in main/cli.h.  `run` gets argv[0] = the command's name. */
struct vs_command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *line;  /* one line about it */
    const char *usage; /* behind "vesta " */
    const char *about; /* what `vesta help NAME` teaches: purpose and two examples with output */
};

/* ---- say.c: messages go to stderr, one line each, with the command's name in front */

void vs_say_as(const char *command);
void vs_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* From here on another one hears messages, instead of people at stderr. */
void vs_say_by(void (*by)(const char *text));
/* A person at the keyboard is told what the command waits for; a pipe is not. */
void vs_say_waiting(const char *what);
/* What takes longer than two seconds: a line that is written over, at a terminal only, with percent and the time left
 * where `all` is known (else 0).  Cheap enough to be called a thousand times a second. */
struct vs_progress {
    int64_t began_us, said_us;
};
void vs_progress_show(struct vs_progress *progress, const char *what, uint64_t done, uint64_t all);
/* Takes the line away; whatever is said takes it away, too. */
void vs_progress_end(void);
/* A line of the same kind, about how things stand just now. */
void vs_status(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* As vs_say, and a second line that points to the help.  Returns VS_USAGE. */
int vs_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Whether an error is the caller's own: what was written, not what the world is like. */
bool vs_is_usage(const struct vesta_error *err);
/* Says a library's error.  Returns the exit code that it deserves: VS_USAGE for what the caller wrote. */
int vs_report(const struct vesta_error *err);

/* Foreign text for a message: in quotes, control characters escaped, cut when long.  Lives until four more calls. */
const char *vs_shown(const char *text, size_t length);
const char *vs_shown_text(const char *text);

/* ---- out.c: stdout in large writes of whole lines */

/* Appends.  Lines are whole in every write, so that several programs may write to one pipe. */
void vs_out_write(const char *text, size_t length);
void vs_outf(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Room for `size` bytes at the end of the buffer; vs_out_took says how many were used. */
char *vs_out_room(size_t size);
void vs_out_took(size_t length);
/* Hands over what is complete; call before waiting. */
void vs_out_flush(void);
/* What begins a colour on stdout, "" where it is no terminal, and where NO_COLOR or TERM=dumb say no.  VS_PLAIN ends
 * it. */
#define VS_RED vs_out_colour("\033[31m")
#define VS_YELLOW vs_out_colour("\033[33m")
#define VS_CYAN vs_out_colour("\033[36m")
#define VS_PLAIN vs_out_colour("\033[0m")
const char *vs_out_colour(const char *code);
/* How wide the terminal is that stdout is; 0: it is none, or does not say. */
size_t vs_out_columns(void);
/* The reader is gone or the disk is full: writing more is useless. */
bool vs_out_gone(void);
/* The last flush; turns `code` into VS_FAILED, with a message, when a write failed for another reason than a reader
 * who has seen enough. */
int vs_out_end(int code);
/* `text` as a JSON string with its quotes. */
void vs_out_json(const char *text);

/* ---- clean.c: foreign text for a terminal; what is more than a letter becomes '?' */

void vs_out_clean(const char *text);
/* In place.  Returns text. */
char *vs_clean(char *text);
/* The bytes of the letter that a text begins with, and whether it may stand in a terminal. */
size_t vs_letter(const char *text, bool *is_fine);

/* ---- wrap.c: texts in lines of VS_COLUMNS */

#define VS_COLUMNS 80
/* Words, from column `used` on, in lines that begin at column `indent`; ends the last line. */
void vs_out_wrapped(const char *text, size_t indent, size_t used);
/* The same as vs_out_wrapped in lines of the terminal, and one line elsewhere; of clean text. */
void vs_out_fitted(const char *text, size_t indent, size_t used);
void vs_out_fittedf(size_t indent, size_t used, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- input.c: ids from operands, or from stdin when there are none (or "-") */

/* What is called for each; it returns an exit code. */
struct vs_id_input {
    enum vs_notation notation;
    int (*take)(void *self, const struct vs_found_id *found);
    void *self;
};
/* Returns the worst exit code of `take` and of what could not be read. */
int vs_each_id(const struct vs_id_input *input, int count, char **operands);
/* Why a text is no id of the notation, as the end of a sentence. */
const char *vs_id_trouble(enum vs_notation notation, struct vs_slice text);
/* The layout of a text, the default for NULL.  Returns VS_DONE or an exit code after a message. */
#define VS_LAYOUT_DEFAULT "vesta-second"
int vs_read_layout(const char *text, struct vesta_layout *out);
/* Digits only, at most max. */
bool vs_read_count(const char *text, uint64_t max, uint64_t *out);

/* ---- picture.c: layouts and ids for people */

void vs_draw_layout(const struct vesta_layout *layout);
void vs_draw_id(const struct vesta_layout *layout, uint64_t id, const struct vesta_parts *parts, int64_t now_ms);
/* Ids that one worker can have in a second. */
uint64_t vs_per_second(const struct vesta_layout *layout);
/* "3 days ago", "in 2 hours".  Shape: buf of VS_AGO_MAX bytes. */
#define VS_AGO_MAX 48
const char *vs_span(uint64_t ms, char *buf); /* "3 days" */
const char *vs_ago(int64_t then_ms, int64_t now_ms, char *buf);
const char *vs_iso(int64_t unix_ms, char *buf); /* vesta_iso that returns its buffer */
int64_t vs_now_ms(void);
/* 1048576 -> "1,048,576".  Shape: buf of VS_GROUPED_MAX bytes. */
#define VS_GROUPED_MAX 32
const char *vs_grouped(uint64_t n, char *buf);

#endif
