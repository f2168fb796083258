/* vesta.c -- functions for SQLite, loaded with `.load mod_vesta` or sqlite3_load_extension.
 *
 *     vesta_next([name])               issues one id
 *     vesta_time(id [, name])          the time of an id in UTC, as text that SQLite's date functions accept
 *     vesta_worker(id [, name])        the worker id of an id
 *     vesta_range_from(time [, name])  the smallest id at or after a time
 *     vesta_range_until(time [, name]) the largest id before a time
 *
 * vesta_next is not SQLITE_DIRECTONLY, so that a DEFAULT and a trigger may call it.  No function is SQLITE_INNOCUOUS,
 * because each opens files by a name that a schema may contain.  So PRAGMA trusted_schema=OFF disables them in schemas.
 * vesta_next is not SQLITE_DETERMINISTIC, so SQLite rejects it in indexes and generated columns. */
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "sql.h"

#define TIME_BYTES 40

static void mod_fail(sqlite3_context *context, const char *function, const char *text) {
    char *message = sqlite3_mprintf("%s: %s", function, text);
    if (message)
        sqlite3_result_error(context, message, -1);
    else
        sqlite3_result_error_nomem(context);
    sqlite3_free(message);
}

/* Returns the generator that argument number `at` names, or the default generator if the call has no such argument.
 * Returns NULL after an error. */
static struct vesta_gen *mod_gen(sqlite3_context *context, int count, sqlite3_value **args, int at) {
    const char *function = sqlite3_user_data(context), *name = "";
    int length = 0;
    struct vesta_error err;
    struct vesta_gen *gen = sqlite3_get_auxdata(context, at);
    if (gen) return gen;
    if (count > at) {
        name = (const char *)sqlite3_value_text(args[at]);
        length = sqlite3_value_bytes(args[at]);
        if (!name || length == 0) {
            mod_fail(context, function, "the generator's name is NULL or empty: leave it out for `default`");
            return NULL;
        }
    }
    if (vs_sql_open(getenv("VESTA_STATE"), name, (size_t)length, &gen, &err) != VESTA_OK) {
        mod_fail(context, function, err.text);
        return NULL;
    }
    sqlite3_set_auxdata(context, at, gen, NULL); /* SQLite drops it if the argument is not constant */
    return gen;
}

static void mod_next(sqlite3_context *context, int count, sqlite3_value **args) {
    struct vesta_gen *gen = mod_gen(context, count, args, 0);
    struct vesta_error err;
    int64_t id;
    if (!gen) return;
    if (vs_sql_next(gen, NULL, NULL, &id, &err) == VESTA_OK)
        sqlite3_result_int64(context, id);
    else
        mod_fail(context, sqlite3_user_data(context), err.text);
}

/* Splits the id in the first argument.  Returns false if it is NULL, or after an error. */
static bool mod_explain(sqlite3_context *context, int count, sqlite3_value **args, struct vs_sql_parts *out) {
    const char *function = sqlite3_user_data(context);
    struct vesta_gen *gen;
    struct vesta_error err;
    int type = sqlite3_value_numeric_type(args[0]);
    if (type == SQLITE_NULL) return false;
    if (type != SQLITE_INTEGER) {
        mod_fail(context, function, "the id is not an integer (bad_id)");
        return false;
    }
    if (!(gen = mod_gen(context, count, args, 1))) return false;
    if (vs_sql_explain(gen, sqlite3_value_int64(args[0]), out, &err) == VESTA_OK) return true;
    mod_fail(context, function, err.text);
    return false;
}

static void mod_worker(sqlite3_context *context, int count, sqlite3_value **args) {
    struct vs_sql_parts parts;
    if (mod_explain(context, count, args, &parts) && parts.worker >= 0)
        sqlite3_result_int64(context, parts.worker);
}

static void mod_time(sqlite3_context *context, int count, sqlite3_value **args) {
    struct vs_sql_parts parts;
    struct tm tm;
    char text[TIME_BYTES];
    if (!mod_explain(context, count, args, &parts)) return;
    int64_t us = (parts.time_us % 1000000 + 1000000) % 1000000;
    time_t seconds = (parts.time_us - us) / 1000000;
    if (!gmtime_r(&seconds, &tm) || tm.tm_year > 9999 - 1900) {
        mod_fail(context, sqlite3_user_data(context),
                 "the id's time is after the year 9999, which SQLite cannot read "
                 "(epoch_end)");
        return;
    }
    size_t length = strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
    length += (size_t)snprintf(text + length, sizeof text - length, ".%06d", (int)us);
    sqlite3_result_text(context, text, (int)length, SQLITE_TRANSIENT);
}

/* Reads the time in the first argument: a date in UTC, or Unix seconds.  Returns false after an error. */
static bool mod_read_time(sqlite3_context *context, sqlite3_value *value, int64_t *unix_us) {
    const char *function = sqlite3_user_data(context);
    struct vs_sql_time given;
    struct vesta_error err;
    if (sqlite3_value_type(value) == SQLITE_INTEGER || sqlite3_value_type(value) == SQLITE_FLOAT) {
        double seconds = sqlite3_value_double(value);
        bool is_time = seconds > -1e11 && seconds < 1e11;
        if (is_time)
            *unix_us = (int64_t)(seconds * 1e6 + (seconds < 0 ? -0.5 : 0.5));
        else
            mod_fail(context, function,
                     "the number is not a time: write Unix seconds, such as unixepoch() (bad_field)");
        return is_time;
    }
    const char *text = (const char *)sqlite3_value_text(value);
    int rc = vs_sql_time_parse(text ? text : "", (size_t)sqlite3_value_bytes(value), &given, &err);
    if (rc != VESTA_OK) mod_fail(context, function, err.text);
    *unix_us = given.unix_us;
    return rc == VESTA_OK;
}

static void mod_range(sqlite3_context *context, int count, sqlite3_value **args) {
    const char *function = sqlite3_user_data(context);
    bool is_until = strcmp(function, "vesta_range_until") == 0;
    struct vesta_gen *gen;
    struct vesta_error err;
    struct vs_sql_range range;
    int64_t unix_us;
    if (sqlite3_value_type(args[0]) == SQLITE_NULL) return;
    if (!(gen = mod_gen(context, count, args, 1)) || !mod_read_time(context, args[0], &unix_us)) return;
    if (vs_sql_range(gen, is_until ? INT64_MIN : unix_us, is_until ? unix_us : INT64_MAX, &range, &err) == VESTA_OK)
        sqlite3_result_int64(context, is_until ? range.max : range.min);
    else
        mod_fail(context, function, err.text);
}

/* SQLite names the entry point after the file: mod_vesta.so. */
__attribute__((visibility("default"))) int sqlite3_modvesta_init(sqlite3 *db, char **message,
                                                                 const sqlite3_api_routines *api);

int sqlite3_modvesta_init(sqlite3 *db, char **message, const sqlite3_api_routines *api) {
    static const struct {
        const char *name;
        int args_max, flags;
        void (*call)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {
        {"vesta_next", 1, 0, mod_next},
        {"vesta_time", 2, SQLITE_DETERMINISTIC, mod_time},
        {"vesta_worker", 2, SQLITE_DETERMINISTIC, mod_worker},
        {"vesta_range_from", 2, SQLITE_DETERMINISTIC, mod_range},
        {"vesta_range_until", 2, SQLITE_DETERMINISTIC, mod_range},
    };
    SQLITE_EXTENSION_INIT2(api)
    (void)message;
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof functions / sizeof *functions; i++)
        for (int args = functions[i].args_max - 1; rc == SQLITE_OK && args <= functions[i].args_max; args++)
            rc = sqlite3_create_function(db, functions[i].name, args, SQLITE_UTF8 | functions[i].flags,
                                         (void *)(uintptr_t)functions[i].name, functions[i].call, NULL, NULL);
    return rc;
}
