/* log.h -- what the program tells its operator: one event, one line.  Only the program's folders use it: the library
 * prints nothing.
 *
 *   log.c    which events are told: level, repeats
 *   line.c   an event as one line
 *   writer.c where lines go: the file, the journal, lost lines, the log's thread
 *   news.c   whether a sentence that stands is worth a line (news.h) */
#ifndef VS_LOG_H
#define VS_LOG_H

#include "vesta.h"

enum vs_log_level { VS_LOG_DEBUG, VS_LOG_INFO, VS_LOG_WARN, VS_LOG_ERROR };
enum vs_log_format { VS_LOG_LOGFMT, VS_LOG_JSON };

/* Writes an event: a sentence, then names and values ("namespace", "orders", ...) that end with a NULL name; a NULL
 * value leaves its name out.  Values may be foreign text: the line stays one line, of at most VS_LOG_LINE_MAX bytes.
 * The same sentence of the same namespace more than once in a second is counted and told afterwards: repeated=57.
 * Never fails, kills, or waits for a reader or, once vs_log_begin was called, a disk: a line that cannot be written is
 * lost, and counted in the next: lost=3.
 * Threads: any.  Never call it once per id, nor in a signal handler. */
void vs_log(enum vs_log_level level, const char *sentence, ...) __attribute__((sentinel));
#define VS_LOG_LINE_MAX 4096 /* with its newline; a pipe takes so much in one piece */

/* A number for vs_log, as text that lives to the block's end. */
#define VS_DIGITS(number) vs_digits((char[24]){0}, (number))
const char *vs_digits(char *buf, int64_t number);

struct vs_log_opts {
    enum vs_log_level level; /* what is below it is not told */
    enum vs_log_format format;
    const char *path; /* a file to append to; NULL: stderr, with the journal's prefixes if it reads that */
    const struct vesta_clock *clock; /* NULL: the machine's */
};

/* Without it: from info on, logfmt, stderr.  A failure leaves the log as it was.  Call it while SIGPIPE is ignored, and
 * before vs_log_begin.  Errors: VESTA_EIO: the file cannot be opened. */
int vs_log_setup(const struct vs_log_opts *opts, struct vesta_error *err);

/* From here on a thread of the log's own writes, until vs_log_end: a disk that hangs is waited for by it alone.
 * Errors: VESTA_EIO: no thread can be had. */
int vs_log_begin(struct vesta_error *err);

/* Changes the level alone.  Threads: any. */
void vs_log_set_level(enum vs_log_level level);

/* Opens the file anew, after somebody moved it away, and tells so; on failure the old one goes on.  Nothing is opened
 * for stderr.  Threads: any; with vs_log_begin's it returns at once. */
void vs_log_reopen(void);

/* Tells of repeats whose second is over; call it now and then, so that the last ones are told too. */
void vs_log_tick(void);

/* Tells of all repeats and goes back to how it was without vs_log_setup.  A disk that hangs is waited for so long. */
#define VS_LOG_END_MS 2000 /* less than a server has for its end */
void vs_log_end(int64_t wait_ms);

/* "debug", "info", "warn", "error".  The value, or -1 for other words. */
int vs_log_level_named(const char *word);

#endif
