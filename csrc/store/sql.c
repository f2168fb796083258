/* sql.c -- statements, and leases in the rows of a database (sql.h). */
#include "store/sql.h"
#include "base/error.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void vs_sql_add(struct vs_sql *sql, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(sql->text + sql->length, sizeof sql->text - sql->length, format, args);
    va_end(args);
    assert(length >= 0);
    assert(sql->length + (size_t)length < sizeof sql->text);
    sql->length += (size_t)length;
}

void vs_sql_hex(struct vs_sql *sql, const void *bytes, size_t length) {
    static const char digit[] = "0123456789abcdef";
    const unsigned char *at = bytes;
    assert(sql->length + 2 * length < sizeof sql->text);
    for (size_t i = 0; i < length; i++) {
        sql->text[sql->length++] = digit[at[i] >> 4];
        sql->text[sql->length++] = digit[at[i] & 15];
    }
    sql->text[sql->length] = '\0';
}

/* ------------------------------------------------------------------ rows */

static bool sql_agree(struct vs_reply *reply, bool agree) {
    return agree || vs_answer(reply, VS_STORE_REFUSED,
                              "a row's columns do not agree with its record, so it was changed by hand: restore it");
}

bool vs_sql_take_record(const struct vs_sql_row *row, const char *where, struct vs_reply *reply) {
    if (!vs_take_record(reply, row->record, row->length, where, row->number)) return false;
    reply->record.written_ms = row->written_us > 0 ? row->written_us / 1000 : 0;
    return sql_agree(reply, reply->record.ver == row->ver);
}

bool vs_sql_take_ns(const struct vs_sql_row *row, const char *where, struct vs_reply *reply) {
    return vs_take_ns(reply, row->record, row->length, where) &&
           sql_agree(reply, reply->ns.ver == row->ver && reply->ns.incarnation == row->number);
}

size_t vs_sql_like_own(char like[VS_SQL_LIKE_MAX], uint64_t ver, const struct vs_record *next) {
    int length = snprintf(like, VS_SQL_LIKE_MAX,
                          "vesta lease %d\nver %" PRIu64 "\nepoch %" PRIu64 "\nowner %016" PRIx64 "%016" PRIx64
                          "\n%%\nsum ________________\n",
                          VS_RECORD_FORMAT, ver, next->epoch, next->owner[0], next->owner[1]);
    assert((size_t)length < VS_SQL_LIKE_MAX); /* a truncated pattern would match any record */
    return (size_t)length;
}

size_t vs_sql_like_last(char like[VS_SQL_LIKE_MAX], uint64_t ver, const struct vs_record *next) {
    int length = snprintf(like, VS_SQL_LIKE_MAX,
                          "vesta lease %d\nver %" PRIu64 "\nepoch %" PRIu64 "\n%%\nsum ________________\n",
                          VS_RECORD_FORMAT, ver, next->epoch - 1);
    assert((size_t)length < VS_SQL_LIKE_MAX);
    return (size_t)length;
}

/* ------------------------------------------------------------------ swaps */

bool vs_sql_knows_namespace(const struct vs_sql_leases *leases, struct vs_reply *reply) {
    return leases->met->ver || (leases->load_ns(leases->store, reply) && vs_is_met(leases->met, reply));
}

static void sql_explain(const struct vs_sql_leases *leases, uint64_t worker, uint64_t old_ver,
                        const struct vs_record *record, struct vs_reply *reply) {
    assert(leases->met->ver); /* with 0, any namespace record would be accepted */
    vs_sent(reply);           /* UNKNOWN until the record has been read */
    if (!leases->load_ns(leases->store, reply) || !vs_is_met(leases->met, reply) ||
        !leases->load_record(leases->store, worker, reply))
        return;
    if (vs_is_same_write(record, &reply->record))
        vs_answer(reply, VS_STORE_UNKNOWN, "%.60s: the server reported that nothing was written, but it was",
                  leases->where);
    else if (vs_follows(record, &reply->record, old_ver))
        vs_answer(reply, VS_STORE_DOWN, "%.60s: the row changed during the write: try again", leases->where);
    else
        vs_not_first(reply);
}

void vs_sql_swapped(const struct vs_sql_leases *leases, enum vs_fate fate, uint64_t worker, uint64_t old_ver,
                    const struct vs_record *record, struct vs_reply *reply) {
    if (fate == VS_FATE_NONE) {
        sql_explain(leases, worker, old_ver, record, reply);
    } else if (fate == VS_FATE_DONE) {
        reply->record = *record;
        reply->record.written_ms = reply->store_ms;
        vs_done(reply);
    }
}

void vs_sql_ns_swapped(const struct vs_sql_leases *leases, enum vs_fate fate, const struct vs_ns_record *record,
                       struct vs_reply *reply) {
    if (fate == VS_FATE_DONE) {
        reply->ns = *record;
        vs_done(reply);
    } else if (fate == VS_FATE_NONE) {
        vs_sent(reply); /* UNKNOWN until the record has been read */
        bool is_read = leases->load_ns(leases->store, reply);
        if (is_read && (reply->ns.ver != record->ver || reply->ns.incarnation != record->incarnation))
            vs_not_first(reply);
    }
}

/* ------------------------------------------------------------------ URIs */

int vs_sql_check_uri(const char *scheme, const struct vs_uri *uri, const char *tls, size_t path_max,
                     struct vesta_error *err) {
    if (strlen(uri->path) < 2 || strchr(uri->path + 1, '/') || strlen(uri->path) > path_max)
        return vs_fail(err, VESTA_EOPTION, "the store's URI has no database name: write %s://user@%.100s/vesta", scheme,
                       uri->hosts);
    if (!uri->user[0])
        return vs_fail(err, VESTA_EOPTION, "the store's URI has no user: write %s://user@%.100s%.70s", scheme,
                       uri->hosts, uri->path);
    if (*tls && strcmp(tls, "verify") != 0 && strcmp(tls, "off") != 0)
        return vs_fail(err, VESTA_EOPTION, "tls in the store's URI must be verify or off");
    return VESTA_OK;
}
