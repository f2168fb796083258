/* log.h -- the program's log for its operator, with one line per event.  Only the program's folders use it.  The
 * library prints nothing. */
#ifndef VS_LOG_H
#define VS_LOG_H

#include "vesta.h"

enum vs_log_level { VS_LOG_DEBUG, VS_LOG_INFO, VS_LOG_WARN, VS_LOG_ERROR };
enum vs_log_format { VS_LOG_LOGFMT, VS_LOG_JSON };

/* Logs an event: a sentence, then names and values ("namespace", "orders", ...), then a NULL name.  A name with a NULL
 * value is left out.  Values may be foreign text, because the result is always one line of at most VS_LOG_LINE_MAX
 * bytes.
 * If an event repeats within a second, the repeats are counted, and the count is logged afterwards: repeated=57.  Never
 * fails, never ends the process, and never waits for a reader.  After vs_log_begin, it does not wait for a disk,
 * either.  A line that cannot be written is lost, and the next line reports the number of lost lines: lost=3.  Threads:
 * any.  Do not call this for each id, or in a signal handler. */
void vs_log(enum vs_log_level level, const char *sentence, ...) __attribute__((sentinel));
#define VS_LOG_LINE_MAX 4096 /* includes the newline.  A pipe accepts this many bytes in one atomic write */

/* Formats a number for vs_log, as a string that is valid until the end of the block. */
#define VS_DIGITS(number) vs_digits((char[24]){0}, (number))
const char *vs_digits(char *buf, int64_t number);

struct vs_log_opts {
    enum vs_log_level level; /* events below this level are dropped */
    enum vs_log_format format;
    const char *path; /* a file to append to.  NULL: stderr, with the journal's prefixes if stderr is the journal */
    const struct vesta_clock *clock; /* NULL: the system's */
};

/* Sets up the log.  The defaults are level info, logfmt, stderr.  After an error, the log is unchanged.  Call this
 * while SIGPIPE is ignored, and before vs_log_begin.  Errors: VESTA_EIO if the file cannot be opened. */
int vs_log_setup(const struct vs_log_opts *opts, struct vesta_error *err);

/* Starts a thread that writes all lines until vs_log_end, so that no other thread waits for a disk.  Errors: VESTA_EIO
 * if the thread cannot be started. */
int vs_log_begin(struct vesta_error *err);

/* Changes the level.  Threads: any. */
void vs_log_set_level(enum vs_log_level level);

/* Reopens the file after it was moved away, and logs the result.  After an error, the old file stays in use.  stderr is
 * not reopened.  Threads: any.  After vs_log_begin, returns at once. */
void vs_log_reopen(void);

/* Logs the repeats of events that were logged more than a second ago.  Call this regularly, so that the last repeats
 * are also logged. */
void vs_log_tick(void);

/* Logs all repeats, and restores the state before vs_log_setup.  Waits at most wait_ms if the disk hangs. */
#define VS_LOG_END_MS 2000 /* shorter than the time limit for stopping a server */
void vs_log_end(int64_t wait_ms);

/* Returns the level named "debug", "info", "warn" or "error", or -1. */
int vs_log_level_named(const char *word);

#endif
