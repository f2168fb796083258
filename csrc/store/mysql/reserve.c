/* reserve.c -- reserved numbers in MariaDB or MySQL.
 *
 *     vesta_reservation (counters, tag, token, number, free_ms)
 *
 * `counters` is the name of the counter's table.  free_ms is the time from which the number may be reserved again, or
 * NULL for never.  A row without a number belongs to a token that has no number yet.
 *
 * Each write is one autocommitted statement.  To reserve a free number, the write replaces the token in its row.  A new
 * number requires changes to two tables in one step.  Therefore, a row without a number is inserted first.  Then one
 * UPDATE over both tables raises the counter and writes the number into that row.  If a client dies in between, it
 * leaves a row without a number.  The result is read back by its token. */
#include "store/reservation.h"
#include "store/mysql/counter.h"

#include <assert.h>
#include <inttypes.h>
#include <mysqld_error.h>
#include <stdio.h>
#include <stdlib.h>

#define NOW_MS "(" VS_SQL_CLOCK " DIV 1000)"
#define TRIES_MAX 20

/* The result of the SELECT: the row of a token or a number, and the lowest free number. */
struct mysql_reserve_look {
    struct vs_reserved row;
    bool is_blank;
    bool has_free;
    uint64_t free;
};

bool vs_mysql_make_reservations(struct mysql_store *self, struct vs_reply *reply) {
    struct vs_sql sql = {.length = 0};
    vs_sql_add(&sql, "CREATE TABLE IF NOT EXISTS " VS_RESERVATIONS
                     " (counters VARBINARY(64) NOT NULL, tag VARBINARY(64) NOT NULL, token BINARY(16) NOT NULL, number"
                     " BIGINT DEFAULT NULL, free_ms BIGINT DEFAULT NULL, PRIMARY KEY (counters, tag, token), UNIQUE KEY"
                     " (counters, tag, number), KEY (counters, tag, free_ms)) ENGINE=InnoDB");
    return vs_mysql_send(self, &sql, reply);
}

/* ------------------------------------------------------------------ looking */

enum { COL_NONCE, COL_TOKEN, COL_NUMBER, COL_FREE_MS, COL_FREE, COL_CLOCK, COL_READ_ONLY, COLUMNS };

static void add_of(const struct vs_mysql_call *call, struct vs_sql *sql, const char *as) {
    vs_sql_add(sql, "%scounters = '%s' AND %stag = '%s'", as, call->table, as, call->tag);
}

/* Adds the SELECT for the row of the token, or of the number if token is NULL. */
static void add_look(const struct vs_mysql_call *call, const uint64_t *token, uint64_t number, struct vs_sql *sql) {
    vs_sql_add(sql,
               "SELECT %" PRIu64 ", HEX(o.token), o.number, o.free_ms, (SELECT MIN(f.number) FROM " VS_RESERVATIONS
               " AS f WHERE ",
               vs_mysql_nonce(call->self));
    add_of(call, sql, "f.");
    vs_sql_add(sql, " AND f.free_ms <= " NOW_MS "), " VS_SQL_CLOCK ", " VS_SQL_READ_ONLY
                    " FROM (SELECT 1) AS one LEFT JOIN " VS_RESERVATIONS " AS o ON ");
    add_of(call, sql, "o.");
    vs_sql_add(sql, token ? " AND o.token = " : " AND o.number = ");
    if (token)
        vs_sql_bytes(sql, token, 16);
    else
        vs_sql_add(sql, "%" PRIu64, number);
    vs_sql_add(sql, " FOR UPDATE");
}

static bool mysql_read_token(const char *hex, uint64_t token[2]) {
    unsigned char bytes[16];
    if (strlen(hex) != 32) return false;
    for (size_t i = 0; i < sizeof bytes; i++) {
        const char pair[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        bytes[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    memcpy(token, bytes, sizeof bytes);
    return true;
}

/* Copies the fetched row.  Returns false if it is not a row of this SELECT. */
static bool read_look(const struct vs_rows *rows, struct mysql_reserve_look *look, struct vs_reply *reply) {
    int64_t clock_us;
    *look = (struct mysql_reserve_look){.is_blank = false};
    if (!vs_mysql_cell(rows, COL_CLOCK, &clock_us) || clock_us <= 0 || !rows->row[COL_READ_ONLY]) return false;
    reply->store_ms = clock_us / 1000;
    look->has_free = rows->row[COL_FREE] != NULL;
    if (look->has_free && !vs_mysql_count(rows, COL_FREE, &look->free)) return false;
    if (!rows->row[COL_TOKEN]) return true;
    look->row.is_there = true;
    look->is_blank = !rows->row[COL_NUMBER];
    look->row.is_committed = !look->is_blank && !rows->row[COL_FREE_MS];
    return mysql_read_token(rows->row[COL_TOKEN], look->row.token) &&
           (look->is_blank || vs_mysql_count(rows, COL_NUMBER, &look->row.number)) &&
           (!rows->row[COL_FREE_MS] || vs_mysql_cell(rows, COL_FREE_MS, &look->row.free_ms));
}

/* Fills the reply if the table is missing.  Always returns false. */
static bool no_table(const struct vs_mysql_call *call) {
    if (call->self->my && mysql_errno(call->self->my) == ER_NO_SUCH_TABLE)
        vs_answer_fault(call->reply, VS_STORE_REFUSED, VS_FAULT_NO_COUNTERS, "%.50s has no table " VS_RESERVATIONS,
                        call->self->place.where);
    return false;
}

/* Runs the SELECT, which always returns one row. */
static bool take_look(const struct vs_mysql_call *call, const uint64_t *token, uint64_t number,
                      struct mysql_reserve_look *look) {
    struct vs_sql sql = {.length = 0};
    struct vs_rows rows;
    char read_only[16] = "";
    add_look(call, token, number, &sql);
    if (!vs_mysql_rows(call->self, &sql, COLUMNS, &rows, call->reply)) return no_table(call);
    int found = vs_mysql_fetch(call->self, &rows, call->reply);
    bool is_whole = found == 1 && read_look(&rows, look, call->reply);
    if (is_whole) snprintf(read_only, sizeof read_only, "%s", rows.row[COL_READ_ONLY]);
    int more = found == 1 ? vs_mysql_fetch(call->self, &rows, call->reply) : found;
    if (more < 0) return false;
    vs_mysql_rows_done(&rows);
    if (!is_whole || more)
        return vs_mysql_no_answer(call->self, "the reply has a damaged row, or more than one", call->reply);
    return vs_mysql_check_read_only(&call->self->place, read_only, call->reply);
}

/* Runs the SELECT after a write.  If the SELECT fails, the write's outcome is UNKNOWN. */
static bool mysql_look_behind(const struct vs_mysql_call *call, const uint64_t *token, uint64_t number,
                              struct mysql_reserve_look *look) {
    struct vs_reply seen = {.outcome = VS_STORE_DOWN};
    struct vs_mysql_call behind = *call;
    behind.reply = &seen;
    if (!take_look(&behind, token, number, look)) return vs_answer_as(call->reply, VS_STORE_UNKNOWN, &seen);
    call->reply->store_ms = seen.store_ms;
    return true;
}

/* ------------------------------------------------------------------ reserving */

/* Assigns the new token to the number if the number is still free. */
static enum vs_fate take_free(const struct vs_mysql_call *call, const struct vs_reservation *wanted, uint64_t number) {
    struct vs_sql sql = {.length = 0};
    vs_sql_add(&sql, "UPDATE " VS_RESERVATIONS " SET token = ");
    vs_sql_bytes(&sql, wanted->token, 16);
    vs_sql_add(&sql, ", free_ms = " NOW_MS " + %" PRId64 " WHERE free_ms <= " NOW_MS " AND number = %" PRIu64 " AND ",
               wanted->hold_ms, number);
    add_of(call, &sql, "");
    return vs_mysql_call_write(call, &sql, 1);
}

static enum vs_fate put_blank(const struct vs_mysql_call *call, const struct vs_reservation *wanted) {
    struct vs_sql sql = {.length = 0};
    vs_sql_add(&sql, "INSERT INTO " VS_RESERVATIONS " (counters, tag, token) VALUES ('%s', '%s', ", call->table,
               call->tag);
    vs_sql_bytes(&sql, wanted->token, 16);
    vs_sql_add(&sql, ")");
    return vs_mysql_call_write(call, &sql, 1);
}

/* Writes the counter's next number into the row that has no number yet. */
static enum vs_fate mysql_take_next(const struct vs_mysql_call *call, const struct vs_reservation *wanted) {
    struct vs_sql sql = {.length = 0};
    struct vs_tag row;
    if (!vs_mysql_call_load(call, &row) || !vs_reservation_check(&row, call->reply) ||
        !vs_counter_grant(&row, 1, call->reply))
        return VS_FATE_TOLD;
    int64_t max = row.max - call->is->above;
    vs_sql_add(&sql,
               "UPDATE `%s` AS c JOIN " VS_RESERVATIONS " AS r ON r.number IS NULL AND r.counters = '%s' AND r.tag ="
               " '%s' AND r.token = ",
               call->table, call->table, call->tag);
    vs_sql_bytes(&sql, wanted->token, 16);
    vs_sql_add(&sql,
               " SET c.max_id = %" PRId64 ", r.number = %" PRId64 ", r.free_ms = " NOW_MS " + %" PRId64
               "%s WHERE c.max_id = %" PRId64 " AND ",
               max + 1, row.max, wanted->hold_ms, call->is->bump, max);
    vs_mysql_call_which(call, &sql);
    enum vs_fate fate = vs_mysql_call_write(call, &sql, 2);
    if (fate != VS_FATE_NONE || mysql_errno(call->self->my) != ER_DUP_ENTRY) return fate;
    vs_reservation_went_back((uint64_t)row.max, call->tag, call->reply);
    return VS_FATE_TOLD;
}

/* Makes one attempt with the result of the SELECT.  Returns NONE if another client was faster. */
static enum vs_fate try_number(const struct vs_mysql_call *call, const struct vs_reservation *wanted,
                               const struct mysql_reserve_look *look) {
    if (!look->is_blank && look->has_free) return take_free(call, wanted, look->free);
    enum vs_fate fate = look->is_blank ? VS_FATE_DONE : put_blank(call, wanted);
    return fate == VS_FATE_TOLD ? fate : mysql_take_next(call, wanted);
}

void vs_mysql_reserve(struct vs_store *store, const struct vs_counter *counter, const struct vs_reservation *wanted,
                      struct vs_reply *reply) {
    struct vs_mysql_call call;
    struct mysql_reserve_look look;
    struct vs_tag row;
    assert(wanted->hold_ms > 0);
    if (!vs_mysql_call_begin(&call, store, counter, reply) || !vs_mysql_call_load(&call, &row) ||
        !vs_reservation_remembers(&row, wanted->granted, reply))
        return;
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        if (!(tries ? mysql_look_behind : take_look)(&call, wanted->token, 0, &look)) return;
        if (look.row.is_there && !look.is_blank) { /* this call or an earlier one has reserved the number */
            if (vs_reservation_again(&look.row, call.tag, reply) && vs_reservation_grant(&look.row, call.tag, reply))
                vs_done(reply);
            return;
        }
        if (try_number(&call, wanted, &look) == VS_FATE_TOLD) return;
    }
    vs_answer(reply, VS_STORE_CONFLICT, "%.60s: other clients were faster for tag '%s': try again",
              call.self->place.where, call.tag);
}

/* ------------------------------------------------------------------ settling */

/* Called if the number has no row, either because it was never reserved, or because the database has lost the row.
 * Returns whether the counter is still at or above the numbers that this host was granted.  If it is lower, fills the
 * reply. */
static bool still_stands(const struct vs_mysql_call *call, uint64_t granted) {
    struct vs_tag row;
    vs_not_done(call->reply); /* no row has this token */
    return vs_mysql_call_load(call, &row) && vs_reservation_remembers(&row, granted, call->reply);
}

void vs_mysql_settle(struct vs_store *store, const struct vs_counter *counter, const struct vs_reservation *reservation,
                     bool commit, struct vs_reply *reply) {
    struct vs_sql sql = {.length = 0};
    struct vs_mysql_call call;
    struct mysql_reserve_look look;
    if (!vs_mysql_call_begin(&call, store, counter, reply)) return;
    uint64_t mark = vs_mysql_call_mark(&call), far;
    vs_sql_add(&sql, "UPDATE " VS_RESERVATIONS " SET free_ms = ");
    vs_sql_add(&sql,
               commit ? "NULLIF(LAST_INSERT_ID(%" PRIu64 "), %" PRIu64 ")" : "LAST_INSERT_ID(%" PRIu64 ") - %" PRIu64,
               mark, mark);
    vs_sql_add(&sql, " WHERE number = %" PRIu64 " AND free_ms %s AND ", reservation->number,
               commit ? "> 0" : "IS NOT NULL");
    add_of(&call, &sql, "");
    vs_sql_add(&sql, " AND token = ");
    vs_sql_bytes(&sql, reservation->token, 16);
    enum vs_fate fate = vs_mysql_call_write(&call, &sql, 1);
    if (fate == VS_FATE_TOLD) no_table(&call);
    if (fate == VS_FATE_DONE && vs_mysql_call_marked(&call, mark, &far)) vs_done(reply);
    /* A cancelled number may have a new token by now, so look only if nothing was written. */
    if (fate != VS_FATE_NONE || !mysql_look_behind(&call, NULL, reservation->number, &look)) return;
    if (!look.row.is_there && !still_stands(&call, reservation->granted)) return;
    enum vs_settling settling = vs_reservation_settle(&look.row, reservation, commit, call.tag, reply);
    if (settling == VS_SETTLE_DONE) vs_done(reply);
    if (settling == VS_SETTLE_WRITE)
        vs_answer(reply, VS_STORE_CONFLICT, "%.60s: the row changed during the write: try again",
                  call.self->place.where);
}
