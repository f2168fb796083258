/* log.h -- the program's log for its operator: one event, one line.  Only the program's folders use it.  The library
 * prints nothing. */
#ifndef VS_LOG_H
#define VS_LOG_H

#include "vesta.h"

enum vs_log_level { VS_LOG_DEBUG, VS_LOG_INFO, VS_LOG_WARN, VS_LOG_ERROR };
enum vs_log_format { VS_LOG_LOGFMT, VS_LOG_JSON };

/* Logs an event: a sentence, then names and values ("namespace", "orders", ...), then a NULL name.  A name with a NULL
 * value is left out.  Values may be foreign text: the result is one line of at most VS_LOG_LINE_MAX bytes.
 * If the same event comes more than once in a second, the repeats are counted and logged afterwards: repeated=57.
 * Never fails, never ends the process, and never waits for a reader.  After vs_log_begin, it does not wait for a disk,
 * either.  A line that cannot be written is lost, and the next line counts it: lost=3.  Threads: any.  Do not call it
 * per id or in a signal handler. */
void vs_log(enum vs_log_level level, const char *sentence, ...) __attribute__((sentinel));
#define VS_LOG_LINE_MAX 4096 /* with its newline; a pipe takes this much in one piece */

/* A number for vs_log, as text that is valid until the end of the block. */
#define VS_DIGITS(number) vs_digits((char[24]){0}, (number))
const char *vs_digits(char *buf, int64_t number);

struct vs_log_opts {
    enum vs_log_level level; /* events below it are dropped */
    enum vs_log_format format;
    const char *path; /* a file to append to; NULL: stderr, with the journal's prefixes if that is the journal */
    const struct vesta_clock *clock; /* NULL: the system's */
};

/* Sets up the log.  Defaults: level info, logfmt, stderr.  After an error, the log is unchanged.  Call it while SIGPIPE
 * is ignored, and before vs_log_begin.  Errors: VESTA_EIO: the file cannot be opened. */
int vs_log_setup(const struct vs_log_opts *opts, struct vesta_error *err);

/* Starts a thread that writes all lines until vs_log_end, so that no other thread waits for a disk.  Errors: VESTA_EIO:
 * the thread cannot be started. */
int vs_log_begin(struct vesta_error *err);

/* Changes the level.  Threads: any. */
void vs_log_set_level(enum vs_log_level level);

/* Opens the file again, after it was moved away, and logs that.  After an error, the old file stays in use.  stderr is
 * not opened again.  Threads: any; after vs_log_begin, it returns at once. */
void vs_log_reopen(void);

/* Logs repeats whose second is over.  Call it regularly, so that the last repeats are logged, too. */
void vs_log_tick(void);

/* Logs all repeats, and restores the state before vs_log_setup.  Waits at most wait_ms for a disk that hangs. */
#define VS_LOG_END_MS 2000 /* shorter than the time that a server has to stop */
void vs_log_end(int64_t wait_ms);

/* Returns the level named "debug", "info", "warn" or "error", or -1. */
int vs_log_level_named(const char *word);

#endif
