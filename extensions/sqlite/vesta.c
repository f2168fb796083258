/* vesta.c -- functions for SQLite, loaded with `.load mod_vesta` or sqlite3_load_extension.
 *
 *     vesta_next([name])               issues one id
 *     vesta_time(id [, name])          the time of an id in UTC, as text that SQLite's date functions accept
 *     vesta_worker(id [, name])        the worker id of an id
 *     vesta_range_from(time [, name])  the smallest id at or after a time
 *     vesta_range_until(time [, name]) the largest id before a time
 *     vesta_next_uuid([name [, shape]]) issues one UUID as text, in the shape uuid7, uuid8, ulid or hex32
 *     vesta_uuid_time(uuid)            the time in a UUID or ULID, as vesta_time
 *     vesta_typeid(prefix, uuid)       a UUID as a TypeID
 *
 * vesta_next and vesta_next_uuid are not SQLITE_DIRECTONLY, so that a DEFAULT and a trigger may call them.  Functions
 * that open files by a name are not SQLITE_INNOCUOUS, because a schema may contain the name.  So PRAGMA
 * trusted_schema=OFF disables them in schemas.  vesta_next and vesta_next_uuid are not SQLITE_DETERMINISTIC, so SQLite
 * rejects them in indexes and generated columns. */
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

static void mod_next_uuid(sqlite3_context *context, int count, sqlite3_value **args) {
    struct vesta_gen *gen = mod_gen(context, count, args, 0);
    const char *shape = count > 1 ? (const char *)sqlite3_value_text(args[1]) : "";
    size_t length = count > 1 ? (size_t)sqlite3_value_bytes(args[1]) : 0;
    unsigned char uuid[VESTA_UUID_BYTES];
    char text[VESTA_UUID_TEXT_MAX];
    struct vesta_error err;
    if (!gen) return;
    if (!shape) {
        mod_fail(context, sqlite3_user_data(context), "the shape is NULL: leave it out for uuid7");
        return;
    }
    if (vs_sql_next_uuid(gen, shape, length, NULL, NULL, uuid, &err) != VESTA_OK) {
        mod_fail(context, sqlite3_user_data(context), err.text);
        return;
    }
    vesta_uuid_format(vs_sql_shape(shape, length, NULL), uuid, text);
    sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

static void mod_typeid(sqlite3_context *context, int count, sqlite3_value **args) {
    const char *prefix = (const char *)sqlite3_value_text(args[0]), *uuid = (const char *)sqlite3_value_text(args[1]);
    char text[VESTA_UUID_TEXT_MAX];
    struct vesta_error err;
    (void)count;
    if (!prefix || !uuid) return;
    if (vs_sql_typeid(prefix, (size_t)sqlite3_value_bytes(args[0]), uuid, (size_t)sqlite3_value_bytes(args[1]), text,
                      &err) == VESTA_OK)
        sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
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
    if (mod_explain(context, count, args, &parts) && parts.worker >= 0) sqlite3_result_int64(context, parts.worker);
}

static void mod_result_time(sqlite3_context *context, int64_t unix_us) {
    struct tm tm;
    char text[TIME_BYTES];
    int64_t us = (unix_us % 1000000 + 1000000) % 1000000;
    time_t seconds = (unix_us - us) / 1000000;
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

static void mod_time(sqlite3_context *context, int count, sqlite3_value **args) {
    struct vs_sql_parts parts;
    if (mod_explain(context, count, args, &parts)) mod_result_time(context, parts.time_us);
}

static void mod_uuid_time(sqlite3_context *context, int count, sqlite3_value **args) {
    const char *text = (const char *)sqlite3_value_text(args[0]);
    struct vesta_error err;
    int64_t unix_us;
    (void)count;
    if (!text) return;
    if (vs_sql_uuid_time(text, (size_t)sqlite3_value_bytes(args[0]), &unix_us, &err) == VESTA_OK)
        mod_result_time(context, unix_us);
    else
        mod_fail(context, sqlite3_user_data(context), err.text);
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
        int args_min, args_max, flags;
        void (*call)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {
        {"vesta_next", 0, 1, 0, mod_next},
        {"vesta_time", 1, 2, SQLITE_DETERMINISTIC, mod_time},
        {"vesta_worker", 1, 2, SQLITE_DETERMINISTIC, mod_worker},
        {"vesta_range_from", 1, 2, SQLITE_DETERMINISTIC, mod_range},
        {"vesta_range_until", 1, 2, SQLITE_DETERMINISTIC, mod_range},
        {"vesta_next_uuid", 0, 2, 0, mod_next_uuid},
        {"vesta_uuid_time", 1, 1, SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, mod_uuid_time},
        {"vesta_typeid", 2, 2, SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, mod_typeid},
    };
    SQLITE_EXTENSION_INIT2(api)
    (void)message;
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof functions / sizeof *functions; i++)
        for (int args = functions[i].args_min; rc == SQLITE_OK && args <= functions[i].args_max; args++)
            rc = sqlite3_create_function(db, functions[i].name, args, SQLITE_UTF8 | functions[i].flags,
                                         (void *)(uintptr_t)functions[i].name, functions[i].call, NULL, NULL);
    return rc;
}
