/* reserve.c -- reserved numbers in PostgreSQL.
 *
 *     vesta_reservation (counters, tag, token, number, free_ms)
 *
 * `counters` is the name of the counter's table.  free_ms is the time from which the number may be reserved again, or
 * NULL for never.
 *
 * Each operation is one statement, which locks the row that it decides on.  A reserve locks the counter's row, so the
 * reserves of a tag follow one another. */
#include "store/reservation.h"
#include "store/postgresql/counter.h"

#include <assert.h>
#include <inttypes.h>

/* the same instant in the whole statement */
#define NOW_MS "FLOOR(EXTRACT(EPOCH FROM statement_timestamp()) * 1000)::bigint"
#define TRIES_MAX 20

bool vs_pg_make_reservations(struct pg_store *self, struct vs_reply *reply) {
    return vs_pg_make_table(self, VS_RESERVATIONS,
                            "counters text COLLATE \"C\", tag text COLLATE \"C\", number bigint, token bytea NOT NULL,"
                            " free_ms bigint, PRIMARY KEY (counters, tag, number), UNIQUE (counters, tag, token)",
                            "counters, tag, free_ms", reply);
}

/* Adds the condition for the counter's rows, which have the alias `r`. */
static void pg_add_of(const struct vs_pg_call *call, struct vs_sql *sql) {
    vs_sql_add(sql, "r.counters = '%s' AND r.tag = '%s'", call->table, call->tag);
}

/* Fills the reply from an error of a statement.  If a table is missing, it is the table of reservations, because the
 * counter's table was checked before. */
static void pg_reserve_trouble(const struct vs_pg_call *call) {
    if (call->reply->fault == VS_FAULT_NO_TABLES)
        vs_answer_fault(call->reply, VS_STORE_REFUSED, VS_FAULT_NO_COUNTERS, "%.50s has no table " VS_RESERVATIONS,
                        call->self->place.where);
    vs_pg_say_grant(call->self, VS_PG_OWN_RIGHTS, VS_RESERVATIONS, call->reply);
}

/* ------------------------------------------------------------------ reserving */

/* Adds the statement.  `own` is the row of the token.  `f` is the lowest free number, and `u` sets its token to the new
 * one.  If no number is free, `w` raises the counter, and `i` inserts the counter's number.  If that number was
 * reserved before, `b` is not empty. */
static void pg_add_reserve(const struct vs_pg_call *call, const struct vs_reservation *wanted, struct vs_sql *sql) {
    int64_t above = call->is->above;
    vs_pg_call_row(call, sql);
    vs_sql_add(sql, ", own AS (SELECT r.number, r.free_ms FROM " VS_RESERVATIONS " AS r WHERE ");
    pg_add_of(call, sql);
    vs_sql_add(sql, " AND r.token = ");
    vs_pg_bytes(sql, wanted->token, 16);
    vs_sql_add(sql, "), f AS (SELECT MIN(r.number) AS number FROM " VS_RESERVATIONS " AS r WHERE ");
    pg_add_of(call, sql);
    vs_sql_add(sql, /* the limits keep the sum in its type */
               " AND r.free_ms <= " NOW_MS "), b AS (SELECT r.number FROM " VS_RESERVATIONS " AS r, o WHERE r.number ="
               " GREATEST(LEAST(o.max_id, 9223372036854775806), -2)::bigint + %" PRId64 " AND ",
               above);
    pg_add_of(call, sql);
    vs_sql_add(sql,
               "), ok AS (SELECT f.number FROM o, f WHERE NOT EXISTS (SELECT 1 FROM own) AND " VS_PG_USABLE
               " AND o.delta = 1 AND o.max_id >= %" PRId64 "), u AS (UPDATE " VS_RESERVATIONS " AS r SET token = ",
               (wanted->granted > VS_NUMBER_MAX ? INT64_MAX : (int64_t)wanted->granted) - above);
    vs_pg_bytes(sql, wanted->token, 16);
    vs_sql_add(
        sql, ", free_ms = " NOW_MS " + %" PRId64 " FROM ok WHERE r.number = ok.number AND r.free_ms <= " NOW_MS " AND ",
        wanted->hold_ms);
    pg_add_of(call, sql);
    vs_sql_add(sql,
               " RETURNING r.number, r.free_ms), w AS (UPDATE \"%s\" AS c SET max_id = o.max_id + 1%s%s FROM o, ok"
               " WHERE ok.number IS NULL AND NOT EXISTS (SELECT 1 FROM b) AND o.max_id BETWEEN %" PRId64 " AND %" PRId64
               " AND o.step BETWEEN 0 AND %" PRIu64 " AND o.remainder = 0 AND ",
               call->table, call->is->bump, call->self->known.is_dated ? ", update_time = now()" : "", -above,
               INT64_MAX - above - 1, VS_RANGE_MAX);
    vs_pg_call_which(call, sql);
    vs_sql_add(sql,
               " RETURNING c.max_id - 1 + %" PRId64 " AS number), i AS (INSERT INTO " VS_RESERVATIONS
               " (counters, tag, token, number, free_ms) SELECT '%s', '%s', ",
               above, call->table, call->tag);
    vs_pg_bytes(sql, wanted->token, 16);
    vs_sql_add(sql, ", w.number, " NOW_MS " + %" PRId64 " FROM w RETURNING number, free_ms)", wanted->hold_ms);
    vs_pg_call_select(sql,
                      ", COALESCE(own.number, u.number, i.number), COALESCE(own.free_ms, u.free_ms, i.free_ms),"
                      " (own.number IS NOT NULL)::int, (SELECT COUNT(*) FROM b), (SELECT number FROM f)",
                      " LEFT JOIN own ON true LEFT JOIN u ON true LEFT JOIN i ON true");
}

enum { COL_NUMBER = VS_PG_MORE, COL_FREE_MS, COL_OWN, COL_BACK, COL_FREE, COL_END };

/* Decides what the result of the statement means.  Returns false if another client was faster, and otherwise fills the
 * reply. */
static bool pg_judge_reserve(const struct vs_pg_call *call, const struct vs_reservation *wanted, const PGresult *result,
                             const struct vs_tag *row) {
    struct vs_reserved had = {.token = {wanted->token[0], wanted->token[1]}};
    int64_t is_own, back;
    had.is_there = vs_pg_count(result, 0, COL_NUMBER, &had.number);
    had.is_committed = had.is_there && !vs_pg_cell(result, 0, COL_FREE_MS, &had.free_ms);
    if (!vs_pg_cell(result, 0, COL_OWN, &is_own) || !vs_pg_cell(result, 0, COL_BACK, &back))
        return vs_pg_no_answer(call->self, "the reply has a damaged row", call->reply), true;
    if (!vs_reservation_remembers(row, wanted->granted, call->reply)) return true;
    if (had.is_there) { /* this call or an earlier one has reserved the number */
        if ((!is_own || vs_reservation_again(&had, call->tag, call->reply)) &&
            vs_reservation_grant(&had, call->tag, call->reply))
            vs_done(call->reply);
        return true;
    }
    bool is_free = !PQgetisnull(result, 0, COL_FREE);
    if (!vs_reservation_check(row, call->reply) || (!is_free && !vs_counter_grant(row, 1, call->reply)) ||
        (!is_free && back && !vs_reservation_went_back((uint64_t)row->max, call->tag, call->reply)))
        return true;
    return false;
}

void vs_pg_reserve(struct vs_store *store, const struct vs_counter *counter, const struct vs_reservation *wanted,
                   struct vs_reply *reply) {
    struct vs_pg_call call;
    struct vs_pg_look look;
    assert(wanted->hold_ms > 0);
    if (!vs_pg_call_begin(&call, store, counter, reply)) return;
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        struct vs_sql sql = {.length = 0};
        pg_add_reserve(&call, wanted, &sql);
        vs_sent(reply);
        PGresult *result = vs_pg_call_run(&call, &sql, COL_END - VS_PG_MORE, &look);
        if (!result && reply->outcome == VS_STORE_CONFLICT) { /* an earlier statement has inserted the token just now */
            vs_reply_clear(reply);
            continue;
        }
        if (!result) {
            pg_reserve_trouble(&call);
            return;
        }
        bool is_told = !look.is_there || pg_judge_reserve(&call, wanted, result, &look.row);
        PQclear(result);
        if (!look.is_there) vs_pg_call_absent(&call);
        if (is_told) return;
    }
    vs_answer(reply, VS_STORE_CONFLICT, "%.60s: other clients were faster for tag '%s': try again",
              call.self->place.where, call.tag);
}

/* ------------------------------------------------------------------ settling */

/* Adds the statement.  `o` is the number's row, and `w` writes it. */
static void pg_add_settle(const struct vs_pg_call *call, const struct vs_reservation *reservation, bool commit,
                          struct vs_sql *sql) {
    vs_sql_add(sql, "WITH o AS (SELECT r.number, r.free_ms, r.token = ");
    vs_pg_bytes(sql, reservation->token, 16);
    vs_sql_add(sql, " AS is_own FROM " VS_RESERVATIONS " AS r WHERE r.number = %" PRIu64 " AND ", reservation->number);
    pg_add_of(call, sql);
    vs_sql_add(sql,
               " FOR UPDATE), w AS (UPDATE " VS_RESERVATIONS " AS r SET free_ms = %s FROM o WHERE r.number = o.number"
               " AND o.is_own AND o.free_ms %s AND ",
               commit ? "NULL" : "0", commit ? "> 0" : "IS NOT NULL");
    pg_add_of(call, sql);
    vs_sql_add(sql, " RETURNING r.free_ms) SELECT o.number, o.free_ms, o.is_own::int, (SELECT COUNT(*) FROM w)"
                    " FROM (SELECT 1) AS one LEFT JOIN o ON true");
}

/* Reads the number's row as it was before the statement.  Sets *is_written if the statement has written it. */
static bool pg_read_settled(const struct vs_pg_call *call, const PGresult *result,
                            const struct vs_reservation *reservation, struct vs_reserved *row, bool *is_written) {
    int64_t is_own = 0, written = 0;
    *row = (struct vs_reserved){.is_there = !PQgetisnull(result, 0, 0)};
    row->is_committed = row->is_there && PQgetisnull(result, 0, 1);
    bool is_whole = vs_pg_cell(result, 0, 3, &written) &&
                    (!row->is_there || (vs_pg_count(result, 0, 0, &row->number) && row->number == reservation->number &&
                                        vs_pg_cell(result, 0, 2, &is_own) &&
                                        (row->is_committed || vs_pg_cell(result, 0, 1, &row->free_ms))));
    if (is_own) memcpy(row->token, reservation->token, sizeof row->token);
    *is_written = written == 1;
    return is_whole || vs_pg_no_answer(call->self, "the reply has a damaged row", call->reply);
}

/* Called if the number has no row, either because it was never reserved, or because the database has lost the row.
 * Returns whether the counter is still at or above the numbers that this host was granted.  If it is lower, fills the
 * reply. */
static bool pg_still_stands(const struct vs_pg_call *call, uint64_t granted) {
    struct vs_tag row;
    vs_not_done(call->reply); /* no row has this token */
    return vs_pg_call_load(call, &row) && vs_reservation_remembers(&row, granted, call->reply);
}

void vs_pg_settle(struct vs_store *store, const struct vs_counter *counter, const struct vs_reservation *reservation,
                  bool commit, struct vs_reply *reply) {
    struct vs_sql sql = {.length = 0};
    struct vs_pg_call call;
    struct vs_reserved row;
    bool is_written = false;
    if (!vs_pg_call_begin(&call, store, counter, reply)) return;
    pg_add_settle(&call, reservation, commit, &sql);
    vs_sent(reply);
    PGresult *result = vs_pg_row(call.self, &sql, 4, reply);
    if (!result) {
        pg_reserve_trouble(&call);
        return;
    }
    bool is_read = pg_read_settled(&call, result, reservation, &row, &is_written);
    PQclear(result);
    if (!is_read || (!row.is_there && !pg_still_stands(&call, reservation->granted))) return;
    enum vs_settling settling = vs_reservation_settle(&row, reservation, commit, call.tag, reply);
    if (settling == VS_SETTLE_DONE || (settling == VS_SETTLE_WRITE && is_written)) vs_done(reply);
    if (settling == VS_SETTLE_WRITE && !is_written)
        vs_answer(reply, VS_STORE_CONFLICT, "%.60s: the row changed during the write: try again",
                  call.self->place.where);
}
