/* log.h -- what the program tells its operator: one event, one line on stderr.  Only the program's floors use it: the
 * library prints nothing. */
#ifndef VS_LOG_H
#define VS_LOG_H

enum vs_log_level { VS_LOG_DEBUG, VS_LOG_INFO, VS_LOG_WARN, VS_LOG_ERROR };

/* Writes an event: a sentence, then names and values ("namespace", "orders", ...) that end with a NULL name.
 * The same sentence of the same namespace more than once in a second is counted and told afterwards.
 * Threads: any.  Never call it once per id. */
void vs_log(enum vs_log_level level, const char *sentence, ...) __attribute__((sentinel));

#endif
