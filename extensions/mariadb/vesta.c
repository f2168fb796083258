/* vesta.c -- functions for MariaDB.
 *
 *     vesta_next([name])               issues one id
 *     vesta_time(id [, name])          the time of an id, as text of a DATETIME(6) in the session's time zone
 *     vesta_worker(id [, name])        the worker id of an id
 *     vesta_range_from(time [, name])  the smallest id at or after a time
 *     vesta_range_until(time [, name]) the largest id before a time
 *     vesta_next_uuid([name [, shape]]) issues one UUID as text, in the shape uuid7, uuid8, ulid or hex32
 *     vesta_uuid_time(uuid)            the time in a UUID or ULID, as vesta_time
 *     vesta_typeid(prefix, uuid)       a UUID as a TypeID
 *
 * An error must end the statement.  A function's own error flag only returns NULL, which INSERT IGNORE stores as 0, and
 * the server never resets the flag for a DEFAULT.  So this file never sets it, and reports errors by my_printf_error.
 *
 * The server also calls an init function when it opens a table with a DEFAULT.  So init checks only the number of
 * arguments: a missing generator file must not prevent the server from reading the table. */
#include <inttypes.h>
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "sql.h"

/* ------------------------------------------------------------------ the server's functions, from its plugin API */

typedef const void *thd_t; /* a client's session */
thd_t _current_thd(void);
bool thd_is_slave(thd_t);
bool thd_is_strict_mode(thd_t);
int thd_sql_command(thd_t);
int thd_binlog_format(thd_t);
int thd_kill_level(thd_t);
void thd_wait_begin(thd_t, int);
void thd_wait_end(thd_t);
long thd_TIME_to_gmt_sec(thd_t, const MYSQL_TIME *, unsigned *);
void thd_gmt_sec_to_TIME(thd_t, MYSQL_TIME *, long);
void my_printf_error(unsigned, const char *, unsigned long, ...);

enum {
    SQL_SELECT = 0,
    SQL_CREATE_INDEX = 2,
    SQL_ALTER_TABLE = 3,
    SQL_DROP_INDEX = 10,
    SQL_OPTIMIZE = 45
};                                                             /* thd_sql_command */
enum { BINLOG_STATEMENT = 1, BINLOG_OFF = 3 };                 /* thd_binlog_format */
enum { ER_UNKNOWN_ERROR = 1105, ER_QUERY_INTERRUPTED = 1317 }; /* numbers of errors */
enum { WAIT_SLEEP = 1 };                                       /* thd_wait_begin */

/* ------------------------------------------------------------------ calls */

/* One use of a function in a statement or a DEFAULT. */
struct udf_call {
    struct vesta_gen *gen; /* set by the first row, if the name is the same in each row */
    bool is_constant;
    unsigned name_at; /* index of the name among the arguments */
};

static long long udf_fail(int number, const char *function, const char *text) {
    my_printf_error((unsigned)number, "%s: %s", 0UL, function, text);
    return 0;
}

/* Prepares a call.  The argument before the name, if there is one, has the type `first`. */
static my_bool udf_init(UDF_INIT *init, UDF_ARGS *args, char *message, const char *usage, unsigned name_at) {
    if (args->arg_count < name_at || args->arg_count > name_at + 1) {
        snprintf(message, MYSQL_ERRMSG_SIZE, "write %s", usage);
        return 1;
    }
    struct udf_call *call = calloc(1, sizeof *call);
    if (!call) {
        strcpy(message, "no memory");
        return 1;
    }
    call->name_at = name_at;
    call->is_constant = args->arg_count == name_at || args->args[name_at];
    if (args->arg_count > name_at) args->arg_type[name_at] = STRING_RESULT;
    init->ptr = (char *)call;
    init->maybe_null = name_at > 0;
    return 0;
}

static void udf_deinit(UDF_INIT *init) {
    free(init->ptr);
}

static struct vesta_gen *udf_open(const struct udf_call *call, const UDF_ARGS *args, const char *function) {
    struct vesta_gen *gen;
    struct vesta_error err;
    bool is_named = args->arg_count > call->name_at;
    const char *name = is_named ? args->args[call->name_at] : "", *folder = getenv("VESTA_STATE");
    if (!name || (is_named && args->lengths[call->name_at] == 0)) {
        udf_fail(ER_UNKNOWN_ERROR, function, "the generator's name is NULL or empty: leave it out for `default`");
        return NULL;
    }
    if (!folder || !*folder) folder = "/var/lib/vesta";
    if (vs_sql_open(folder, name, is_named ? args->lengths[call->name_at] : 0, &gen, &err) == VESTA_OK) return gen;
    udf_fail(ER_UNKNOWN_ERROR, function, err.text);
    return NULL;
}

/* Returns the generator of a call, or NULL after an error. */
static struct vesta_gen *udf_gen(const UDF_INIT *init, const UDF_ARGS *args, const char *function) {
    struct udf_call *call = (struct udf_call *)init->ptr;
    if (call->gen) return call->gen;
    struct vesta_gen *gen = udf_open(call, args, function);
    if (call->is_constant) call->gen = gen;
    return gen;
}

/* ------------------------------------------------------------------ vesta_next */

my_bool vesta_next_init(UDF_INIT *init, UDF_ARGS *args, char *message) {
    init->const_item = 0; /* call it for each row, and log rows if binlog_format is MIXED */
    return udf_init(init, args, message, "vesta_next() or vesta_next('name')", 0);
}

void vesta_next_deinit(UDF_INIT *init) {
    udf_deinit(init);
}

enum udf_verdict { UDF_ISSUE, UDF_NULL, UDF_ERROR };

/* Decides whether a call may issue an id.  If the binary log has the statement instead of its rows, each replica would
 * issue other ids.
 *
 * A statement that changes a table is always logged itself.  It evaluates each DEFAULT of the table, even if no row
 * needs it.  So the result is NULL, which the server rejects if a NOT NULL column needs the value.
 * In a trigger or a function, thd_binlog_format returns BINLOG_OFF, so only the replica rejects the statement. */
static enum udf_verdict udf_judge(thd_t thd, const char *function) {
    int format = thd_binlog_format(thd), command = thd_sql_command(thd);
    bool is_replica = thd_is_slave(thd);
    bool alters = command == SQL_ALTER_TABLE || command == SQL_CREATE_INDEX || command == SQL_DROP_INDEX ||
                  command == SQL_OPTIMIZE;
    const char *why = NULL;
    if (alters && (is_replica || (format != BINLOG_OFF && thd_is_strict_mode(thd)))) return UDF_NULL;
    if (is_replica)
        why = "a replica does not issue ids when it repeats a statement of its primary. Set binlog_format to MIXED or "
              "ROW on the primary, and copy this table to the replica again (replica)";
    else if (alters && format != BINLOG_OFF)
        why = "without strict mode, this statement could store 0 instead of an id. Run SET SESSION sql_mode = "
              "'STRICT_ALL_TABLES' first (sql_mode)";
    else if (format == BINLOG_STATEMENT && command != SQL_SELECT)
        why = "binlog_format is STATEMENT, so each replica would need other ids. Set binlog_format to MIXED or ROW, "
              "or SELECT the id first (binlog_format)";
    if (!why) return UDF_ISSUE;
    udf_fail(ER_UNKNOWN_ERROR, function, why);
    return UDF_ERROR;
}

/* A session that waits.  thd_wait_begin allows the thread pool to run another thread during the wait. */
struct udf_wait {
    thd_t thd;
    bool has_begun;
};

static bool udf_is_stopped(void *self) {
    struct udf_wait *wait = self;
    if (!wait->has_begun) thd_wait_begin(wait->thd, WAIT_SLEEP);
    wait->has_begun = true;
    return thd_kill_level(wait->thd) != 0;
}

/* The server finds a function by its symbol.  libvesta also has a function vesta_next, so the name in C differs. */
long long udf_next(UDF_INIT *init, UDF_ARGS *args, unsigned char *is_null, unsigned char *error) __asm__("vesta_next");

long long udf_next(UDF_INIT *init, UDF_ARGS *args, unsigned char *is_null, unsigned char *error) {
    struct udf_wait wait = {.thd = _current_thd()};
    struct vesta_gen *gen;
    struct vesta_error err;
    int64_t id = 0;
    (void)error;
    enum udf_verdict verdict = udf_judge(wait.thd, "vesta_next");
    *is_null = verdict == UDF_NULL;
    if (verdict != UDF_ISSUE || !(gen = udf_gen(init, args, "vesta_next"))) return 0;
    int rc = vs_sql_next(gen, udf_is_stopped, &wait, &id, &err);
    if (wait.has_begun) thd_wait_end(wait.thd);
    if (rc == VESTA_OK) return id;
    return udf_fail(rc == VESTA_ENOTNOW ? ER_QUERY_INTERRUPTED : ER_UNKNOWN_ERROR, "vesta_next", err.text);
}

/* ------------------------------------------------------------------ vesta_next_uuid */

my_bool vesta_next_uuid_init(UDF_INIT *init, UDF_ARGS *args, char *message) {
    unsigned count = args->arg_count;
    if (count == 2) args->arg_type[1] = STRING_RESULT;
    init->const_item = 0;
    init->max_length = VESTA_UUID_TEXT_MAX - 1;
    if (count == 2) args->arg_count = 1; /* the shape is checked by each call */
    my_bool failed = udf_init(init, args, message,
                              "vesta_next_uuid(), vesta_next_uuid('name') or "
                              "vesta_next_uuid('name', 'shape')",
                              0);
    args->arg_count = count;
    return failed;
}

void vesta_next_uuid_deinit(UDF_INIT *init) {
    udf_deinit(init);
}

char *udf_next_uuid(UDF_INIT *init, UDF_ARGS *args, char *result, unsigned long *length, unsigned char *is_null,
                    unsigned char *error) __asm__("vesta_next_uuid");

char *udf_next_uuid(UDF_INIT *init, UDF_ARGS *args, char *result, unsigned long *length, unsigned char *is_null,
                    unsigned char *error) {
    static const char function[] = "vesta_next_uuid";
    struct udf_wait wait = {.thd = _current_thd()};
    const char *shape = args->arg_count > 1 ? args->args[1] : "";
    size_t shape_length = args->arg_count > 1 ? args->lengths[1] : 0;
    unsigned char uuid[VESTA_UUID_BYTES];
    struct vesta_gen *gen;
    struct vesta_error err;
    (void)error;
    *is_null = 1;
    if (udf_judge(wait.thd, function) != UDF_ISSUE) return NULL;
    if (!shape) {
        udf_fail(ER_UNKNOWN_ERROR, function, "the shape is NULL: leave it out for uuid7");
        return NULL;
    }
    if (!(gen = udf_gen(init, args, function))) return NULL;
    int rc = vs_sql_next_uuid(gen, shape, shape_length, udf_is_stopped, &wait, uuid, &err);
    if (wait.has_begun) thd_wait_end(wait.thd);
    if (rc != VESTA_OK) {
        udf_fail(rc == VESTA_ENOTNOW ? ER_QUERY_INTERRUPTED : ER_UNKNOWN_ERROR, function, err.text);
        return NULL;
    }
    *is_null = 0;
    *length = vesta_uuid_format(vs_sql_shape(shape, shape_length, NULL), uuid, result);
    return result;
}

/* ------------------------------------------------------------------ vesta_typeid */

my_bool vesta_typeid_init(UDF_INIT *init, UDF_ARGS *args, char *message) {
    if (args->arg_count != 2) {
        strcpy(message, "write vesta_typeid('prefix', uuid)");
        return 1;
    }
    args->arg_type[0] = args->arg_type[1] = STRING_RESULT;
    init->max_length = VESTA_UUID_TEXT_MAX - 1;
    init->maybe_null = 1;
    return 0;
}

char *vesta_typeid(UDF_INIT *init, UDF_ARGS *args, char *result, unsigned long *length, unsigned char *is_null,
                   unsigned char *error) {
    struct vesta_error err;
    (void)init, (void)error;
    *is_null = 1;
    if (!args->args[0] || !args->args[1]) return NULL;
    if (vs_sql_typeid(args->args[0], args->lengths[0], args->args[1], args->lengths[1], result, &err) != VESTA_OK) {
        udf_fail(ER_UNKNOWN_ERROR, "vesta_typeid", err.text);
        return NULL;
    }
    *is_null = 0;
    *length = (unsigned long)strlen(result);
    return result;
}

/* ------------------------------------------------------------------ vesta_time, vesta_worker */

/* Splits the id in the first argument.  Returns false if it is NULL, or after an error. */
static bool udf_explain(const UDF_INIT *init, const UDF_ARGS *args, const char *function, struct vs_sql_parts *out) {
    struct vesta_gen *gen;
    struct vesta_error err;
    long long id;
    if (!args->args[0] || !(gen = udf_gen(init, args, function))) return false;
    memcpy(&id, args->args[0], sizeof id);
    if (vs_sql_explain(gen, id, out, &err) == VESTA_OK) return true;
    udf_fail(ER_UNKNOWN_ERROR, function, err.text);
    return false;
}

static my_bool udf_init_id(UDF_INIT *init, UDF_ARGS *args, char *message, const char *usage) {
    if (args->arg_count > 0) args->arg_type[0] = INT_RESULT;
    return udf_init(init, args, message, usage, 1);
}

my_bool vesta_worker_init(UDF_INIT *init, UDF_ARGS *args, char *message) {
    return udf_init_id(init, args, message, "vesta_worker(id) or vesta_worker(id, 'name')");
}

void vesta_worker_deinit(UDF_INIT *init) {
    udf_deinit(init);
}

long long vesta_worker(UDF_INIT *init, UDF_ARGS *args, unsigned char *is_null, unsigned char *error) {
    struct vs_sql_parts parts = {0, 0};
    (void)error;
    *is_null = !udf_explain(init, args, "vesta_worker", &parts) || parts.worker < 0;
    return parts.worker;
}

my_bool vesta_time_init(UDF_INIT *init, UDF_ARGS *args, char *message) {
    init->max_length = sizeof "2026-11-26 12:30:00.000000" - 1;
    return udf_init_id(init, args, message, "vesta_time(id) or vesta_time(id, 'name')");
}

void vesta_time_deinit(UDF_INIT *init) {
    udf_deinit(init);
}

#define END_OF_9999_US INT64_C(253402300800000000)

/* Rounds down, so that microseconds before 1970 are positive. */
static long seconds_of(int64_t unix_us, unsigned long *us) {
    int64_t rest = (unix_us % 1000000 + 1000000) % 1000000;
    *us = (unsigned long)rest;
    return (long)((unix_us - rest) / 1000000);
}

static char *udf_put_time(const char *function, int64_t unix_us, char *result, unsigned long *length,
                          unsigned char *is_null) {
    MYSQL_TIME time = {0};
    unsigned long us;
    thd_gmt_sec_to_TIME(_current_thd(), &time, seconds_of(unix_us, &us));
    if (unix_us >= END_OF_9999_US || time.year > 9999) { /* MariaDB computes another year without an error */
        udf_fail(ER_UNKNOWN_ERROR, function,
                 "the id's time is after the year 9999, which MariaDB cannot represent (epoch_end)");
        *is_null = 1;
        return NULL;
    }
    *length = (unsigned long)snprintf(result, 255, "%04u-%02u-%02u %02u:%02u:%02u.%06lu", time.year, time.month,
                                      time.day, time.hour, time.minute, time.second, us);
    return result;
}

char *vesta_time(UDF_INIT *init, UDF_ARGS *args, char *result, unsigned long *length, unsigned char *is_null,
                 unsigned char *error) {
    struct vs_sql_parts parts = {0, 0};
    (void)error;
    *is_null = !udf_explain(init, args, "vesta_time", &parts);
    return *is_null ? NULL : udf_put_time("vesta_time", parts.time_us, result, length, is_null);
}

my_bool vesta_uuid_time_init(UDF_INIT *init, UDF_ARGS *args, char *message) {
    if (args->arg_count != 1) {
        strcpy(message, "write vesta_uuid_time(uuid)");
        return 1;
    }
    args->arg_type[0] = STRING_RESULT;
    init->max_length = sizeof "2026-11-26 12:30:00.000000" - 1;
    init->maybe_null = 1;
    return 0;
}

char *vesta_uuid_time(UDF_INIT *init, UDF_ARGS *args, char *result, unsigned long *length, unsigned char *is_null,
                      unsigned char *error) {
    struct vesta_error err;
    int64_t unix_us;
    (void)init, (void)error;
    *is_null = 1;
    if (!args->args[0]) return NULL;
    if (vs_sql_uuid_time(args->args[0], args->lengths[0], &unix_us, &err) != VESTA_OK) {
        udf_fail(ER_UNKNOWN_ERROR, "vesta_uuid_time", err.text);
        return NULL;
    }
    *is_null = 0;
    return udf_put_time("vesta_uuid_time", unix_us, result, length, is_null);
}

/* ------------------------------------------------------------------ vesta_range_from, vesta_range_until */

static my_bool udf_init_range(UDF_INIT *init, UDF_ARGS *args, char *message, const char *usage) {
    bool is_number = args->arg_count > 0 && args->arg_type[0] != STRING_RESULT;
    if (is_number) args->arg_type[0] = REAL_RESULT; /* exact to less than a microsecond until the year 2100 */
    return udf_init(init, args, message, usage, 1);
}

/* Reads a date in the session's time zone. */
static bool udf_local_time(const char *function, const struct vs_sql_time *given, int64_t *unix_us) {
    struct tm tm;
    unsigned long us;
    unsigned is_odd = 0;
    time_t seconds = seconds_of(given->unix_us, &us);
    gmtime_r(&seconds, &tm);
    MYSQL_TIME time = {.year = (unsigned)tm.tm_year + 1900,
                       .month = (unsigned)tm.tm_mon + 1,
                       .day = (unsigned)tm.tm_mday,
                       .hour = (unsigned)tm.tm_hour,
                       .minute = (unsigned)tm.tm_min,
                       .second = (unsigned)tm.tm_sec,
                       .time_type = MYSQL_TIMESTAMP_DATETIME};
    long local = thd_TIME_to_gmt_sec(_current_thd(), &time, &is_odd);
    if (local == 0 && is_odd) {
        udf_fail(
            ER_UNKNOWN_ERROR, function,
            "the time is outside the range of TIMESTAMP, so the session's time zone does not apply to it. Write it "
            "with an offset, such as 2040-01-01T00:00:00Z (bad_field)");
        return false;
    }
    *unix_us = (int64_t)local * 1000000 + (int64_t)us;
    return true;
}

/* Reads the time in the first argument: a date, or Unix seconds.  Returns false after an error. */
static bool udf_time(const UDF_ARGS *args, const char *function, int64_t *unix_us) {
    struct vs_sql_time given;
    struct vesta_error err;
    double seconds;
    if (args->arg_type[0] == STRING_RESULT) {
        if (vs_sql_time_parse(args->args[0], args->lengths[0], &given, &err) != VESTA_OK) {
            udf_fail(ER_UNKNOWN_ERROR, function, err.text);
            return false;
        }
        *unix_us = given.unix_us;
        return given.has_offset || udf_local_time(function, &given, unix_us);
    }
    memcpy(&seconds, args->args[0], sizeof seconds);
    if (!(seconds > -1e11 && seconds < 1e11)) {
        udf_fail(ER_UNKNOWN_ERROR, function,
                 "the number is not a time: write Unix seconds, such as UNIX_TIMESTAMP() "
                 "(bad_field)");
        return false;
    }
    *unix_us = (int64_t)(seconds * 1e6 + (seconds < 0 ? -0.5 : 0.5));
    return true;
}

static long long udf_range(const UDF_INIT *init, const UDF_ARGS *args, const char *function, bool is_until,
                           unsigned char *is_null) {
    struct vesta_gen *gen;
    struct vesta_error err;
    struct vs_sql_range range;
    int64_t unix_us;
    *is_null = 1;
    if (!args->args[0] || !(gen = udf_gen(init, args, function)) || !udf_time(args, function, &unix_us)) return 0;
    if (vs_sql_range(gen, is_until ? INT64_MIN : unix_us, is_until ? unix_us : INT64_MAX, &range, &err) != VESTA_OK)
        return udf_fail(ER_UNKNOWN_ERROR, function, err.text);
    *is_null = 0;
    return is_until ? range.max : range.min;
}

my_bool vesta_range_from_init(UDF_INIT *init, UDF_ARGS *args, char *message) {
    return udf_init_range(init, args, message, "vesta_range_from(time) or vesta_range_from(time, 'name')");
}

void vesta_range_from_deinit(UDF_INIT *init) {
    udf_deinit(init);
}

long long vesta_range_from(UDF_INIT *init, UDF_ARGS *args, unsigned char *is_null, unsigned char *error) {
    (void)error;
    return udf_range(init, args, "vesta_range_from", false, is_null);
}

my_bool vesta_range_until_init(UDF_INIT *init, UDF_ARGS *args, char *message) {
    return udf_init_range(init, args, message, "vesta_range_until(time) or vesta_range_until(time, 'name')");
}

void vesta_range_until_deinit(UDF_INIT *init) {
    udf_deinit(init);
}

long long vesta_range_until(UDF_INIT *init, UDF_ARGS *args, unsigned char *is_null, unsigned char *error) {
    (void)error;
    return udf_range(init, args, "vesta_range_until", true, is_null);
}
