/* reserve.c -- reserved numbers in a database file.  Each operation is one transaction, together with the counter's
 * row.
 *
 *     vesta_reservation (counters, tag, number, token, free_ms)
 *
 * `counters` is the name of the counter's table.  free_ms is the time from which the number may be reserved again, or
 * NULL for never. */
#include "store/reservation.h"
#include "store/sqlite/counter.h"

#include <assert.h>
#include <stdio.h>

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS " VS_RESERVATIONS " (counters TEXT, tag TEXT, number INTEGER, token BLOB NOT NULL,"
    " free_ms INTEGER, PRIMARY KEY (counters, tag, number)) WITHOUT ROWID;"
    "CREATE UNIQUE INDEX IF NOT EXISTS " VS_RESERVATIONS "_token ON " VS_RESERVATIONS " (counters, tag, token);"
    "CREATE INDEX IF NOT EXISTS " VS_RESERVATIONS "_free ON " VS_RESERVATIONS " (counters, tag, free_ms)";

#define SELECT "SELECT number, token, free_ms FROM " VS_RESERVATIONS " WHERE counters = ?1 AND tag = ?2 AND "

/* Prepares a statement.  ?1 is the counter's table, ?2 its tag, ?3 a number or a time, ?4 the token, and ?5 is free_ms,
 * or NULL if free_ms is below 0.  Statements may have fewer parameters. */
static sqlite3_stmt *sqlite_reserve_prepare(const struct vs_sqlite_call *call, const char *sql, int64_t third,
                                            const uint64_t *token, int64_t free_ms) {
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(call->self->db, sql, -1, &stmt, NULL);
    int count = rc == SQLITE_OK ? sqlite3_bind_parameter_count(stmt) : 0;
    if (rc == SQLITE_OK) rc = sqlite3_bind_text(stmt, 1, call->table, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK) rc = sqlite3_bind_text(stmt, 2, call->tag, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK && count > 2) rc = sqlite3_bind_int64(stmt, 3, third);
    if (rc == SQLITE_OK && count > 3) rc = sqlite3_bind_blob(stmt, 4, token, 16, SQLITE_STATIC);
    if (rc == SQLITE_OK && count > 4)
        rc = free_ms < 0 ? sqlite3_bind_null(stmt, 5) : sqlite3_bind_int64(stmt, 5, free_ms);
    if (rc == SQLITE_OK) return stmt;
    vs_sqlite_trouble(call->self, rc, call->reply);
    sqlite3_finalize(stmt);
    return NULL;
}

/* Reads the current row.  SQLite allows any value in any column, so each type is checked.  Returns false if a value is
 * invalid. */
static bool sqlite_reserve_read_row(sqlite3_stmt *stmt, struct vs_reserved *row) {
    int64_t number = sqlite3_column_int64(stmt, 0), free_ms = sqlite3_column_int64(stmt, 2);
    bool is_committed = sqlite3_column_type(stmt, 2) == SQLITE_NULL;
    if (sqlite3_column_type(stmt, 0) != SQLITE_INTEGER || number < 0 || sqlite3_column_bytes(stmt, 1) != 16 ||
        !(is_committed || sqlite3_column_type(stmt, 2) == SQLITE_INTEGER))
        return false;
    *row = (struct vs_reserved){
        .is_there = true, .is_committed = is_committed, .number = (uint64_t)number, .free_ms = free_ms};
    memcpy(row->token, sqlite3_column_blob(stmt, 1), sizeof row->token);
    return true;
}

/* Reads the row of a SELECT, if there is one. */
static bool sqlite_reserve_load(const struct vs_sqlite_call *call, const char *sql, int64_t third,
                                const uint64_t *token, struct vs_reserved *row) {
    *row = (struct vs_reserved){.is_there = false};
    sqlite3_stmt *stmt = sqlite_reserve_prepare(call, sql, third, token, 0);
    if (!stmt) return false;
    int rc = sqlite3_step(stmt);
    bool well = rc == SQLITE_ROW || rc == SQLITE_DONE || vs_sqlite_trouble(call->self, rc, call->reply);
    if (rc == SQLITE_ROW && !sqlite_reserve_read_row(stmt, row))
        well = vs_reservation_is_spoilt(call->tag, call->reply);
    sqlite3_finalize(stmt);
    return well;
}

static bool load_number(const struct vs_sqlite_call *call, uint64_t number, struct vs_reserved *row) {
    return sqlite_reserve_load(call, SELECT "number = ?3", (int64_t)number, NULL, row);
}

/* Writes the row, commits, and reads it back. */
static void sqlite_reserve_write_row(struct vs_sqlite_call *call, const struct vs_reserved *row) {
    struct vs_reply seen = {.outcome = VS_STORE_DOWN};
    struct vs_sqlite_call look = *call;
    struct vs_reserved stands;
    assert(!sqlite3_get_autocommit(call->self->db));
    sqlite3_stmt *stmt =
        sqlite_reserve_prepare(call,
                               "INSERT OR REPLACE INTO " VS_RESERVATIONS
                               " (counters, tag, number, token, free_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
                               (int64_t)row->number, row->token, row->is_committed ? -1 : row->free_ms);
    if (!stmt) return;
    int rc = sqlite3_step(stmt);
    if (rc != SQLITE_DONE) vs_sqlite_trouble(call->self, rc, call->reply);
    sqlite3_finalize(stmt);
    if (rc != SQLITE_DONE || !vs_sqlite_commit(call->self, call->reply)) return;
    look.reply = &seen;
    if (vs_sqlite_look_anew(call->self, &seen) && load_number(&look, row->number, &stands) &&
        vs_reserved_is_own(&stands, row->token) && stands.is_committed == row->is_committed &&
        stands.free_ms == row->free_ms)
        vs_done(call->reply);
    else
        vs_sqlite_does_not_stand(call->self, call->reply);
}

/* Finds the lowest free number, or takes the counter's next one. */
static bool find_number(const struct vs_sqlite_call *call, uint64_t granted, uint64_t *number) {
    struct vs_reserved row;
    struct vs_tag counter;
    if (!vs_sqlite_call_load(call, &counter) || !vs_reservation_check(&counter, call->reply) ||
        !vs_reservation_remembers(&counter, granted, call->reply) ||
        !sqlite_reserve_load(call, SELECT "free_ms <= ?3 ORDER BY number LIMIT 1", call->reply->store_ms, NULL, &row))
        return false;
    *number = row.number;
    if (row.is_there) return true;
    if (!vs_counter_grant(&counter, 1, call->reply)) return false;
    *number = call->reply->grant.from;
    if (!load_number(call, *number, &row)) return false;
    if (row.is_there) return vs_reservation_went_back(*number, call->tag, call->reply);
    counter.max = (int64_t)call->reply->grant.until;
    return vs_sqlite_call_write(call, &counter);
}

static void sqlite_reserve_number(struct vs_sqlite_call *call, const struct vs_reservation *wanted) {
    struct vs_reserved row;
    if (!vs_sqlite_run(call->self, schema, call->reply) ||
        !sqlite_reserve_load(call, SELECT "?3 = 0 AND token = ?4", 0, wanted->token, &row))
        return;
    if (row.is_there) {
        if (vs_reservation_again(&row, call->tag, call->reply) && vs_reservation_grant(&row, call->tag, call->reply))
            vs_done(call->reply);
    } else if (find_number(call, wanted->granted, &row.number)) {
        row = (struct vs_reserved){.number = row.number,
                                   .token = {wanted->token[0], wanted->token[1]},
                                   .free_ms = call->reply->store_ms + wanted->hold_ms};
        if (vs_reservation_grant(&row, call->tag, call->reply)) sqlite_reserve_write_row(call, &row);
    }
}

void vs_sqlite_reserve(struct vs_store *store, const struct vs_counter *counter, const struct vs_reservation *wanted,
                       struct vs_reply *reply) {
    struct vs_sqlite_call call;
    assert(wanted->hold_ms > 0);
    if (!vs_sqlite_call_begin(&call, store, counter, reply)) return;
    sqlite_reserve_number(&call, wanted);
    vs_sqlite_end(call.self);
}

void vs_sqlite_settle(struct vs_store *store, const struct vs_counter *counter,
                      const struct vs_reservation *reservation, bool commit, struct vs_reply *reply) {
    struct vs_sqlite_call call;
    struct vs_reserved row;
    struct vs_tag stands;
    if (!vs_sqlite_call_begin(&call, store, counter, reply)) return;
    enum vs_sqlite_found found = vs_sqlite_find_table(&call, VS_RESERVATIONS);
    bool is_known = found == VS_FOUND && load_number(&call, reservation->number, &row);
    if (found == VS_FOUND_NONE)
        vs_answer(reply, VS_STORE_REFUSED,
                  "%.80s has no table " VS_RESERVATIONS ": check whether the file was replaced", call.self->path);
    if (is_known && !row.is_there) /* the number was never reserved, or the database has lost the row */
        is_known =
            vs_sqlite_call_load(&call, &stands) && vs_reservation_remembers(&stands, reservation->granted, reply);
    if (is_known) {
        enum vs_settling settling = vs_reservation_settle(&row, reservation, commit, call.tag, reply);
        row.is_committed = commit;
        row.free_ms = VS_CANCELLED_MS;
        if (settling == VS_SETTLE_WRITE) sqlite_reserve_write_row(&call, &row);
        if (settling == VS_SETTLE_DONE) vs_done(reply);
    }
    vs_sqlite_end(call.self);
}
