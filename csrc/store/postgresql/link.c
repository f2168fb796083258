/* link.c -- see link.h.  Does not interpret records. */
#include "store/postgresql/link.h"
#include "os/process.h"
#include "os/random.h"
#include "os/thread.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LATE_US 1500000  /* how long to wait for a late statement.  Longer than lock_timeout */
#define IDLE_US 10000000 /* idle connections are closed after this time */

/* The settings of each transaction.  They end with it, because a pooler may give the session to another client.
 *
 * A write must be durable when it is acknowledged.  If synchronous_standby_names is set, this includes the standby.
 * A lock wait and a statement end soon after their call.  With row_security=off, a policy that hides rows is an error.
 */
#define SETTINGS                                                                                                       \
    "SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;"                                                      \
    "SET LOCAL search_path = pg_catalog, \"%s\", pg_temp;"                                                             \
    "SET LOCAL synchronous_commit = on;"                                                                               \
    "SET LOCAL lock_timeout = 1000;"                                                                                   \
    "SET LOCAL statement_timeout = 20000;"                                                                             \
    "SET LOCAL row_security = off;"
_Static_assert(VS_STORE_LIST_MS < 20000, "must be less than statement_timeout");

/* ------------------------------------------------------------------ waiting */

static int64_t pg_slice_ms(const struct pg_wait *wait) {
    if (wait->store) return vs_call_slice_ms(wait->store);
    int64_t left_us = wait->until_us - vs_monotonic_us();
    return left_us > 0 ? (left_us + 999) / 1000 : 0;
}

bool vs_pg_wait(PGconn *pg, short events, const struct pg_wait *wait) {
    struct pollfd fd = {.fd = PQsocket(pg), .events = events};
    int64_t slice_ms;
    while ((slice_ms = pg_slice_ms(wait)) > 0)
        if (poll(&fd, 1, (int)slice_ms) > 0) return true;
    return false;
}

/* ------------------------------------------------------------------ one message, and all of its results */

/* The results of a message: those of the last two statements, and the error. */
struct pg_results {
    PGresult *data, *stamp, *error;
};

static void pg_clear_results(struct pg_results *results) {
    PQclear(results->data);
    PQclear(results->stamp);
    PQclear(results->error);
}

static enum pg_end pg_send(PGconn *pg, const char *text, const struct pg_wait *wait) {
    int left;
    if (!PQsendQuery(pg, text)) return PG_LOST;
    while ((left = PQflush(pg)) > 0) {
        if (!vs_pg_wait(pg, POLLIN | POLLOUT, wait)) return PG_LATE;
        if (!PQconsumeInput(pg)) return PG_LOST;
    }
    return left == 0 ? PG_WELL : PG_LOST;
}

/* Stores a result.  Returns false for a result that no statement of vesta has, such as a COPY. */
static bool pg_keep_result(struct pg_results *results, PGresult *result) {
    switch (PQresultStatus(result)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
        PQclear(results->data);
        results->data = results->stamp;
        results->stamp = result;
        return true;
    case PGRES_FATAL_ERROR:
        if (!results->error)
            results->error = result;
        else
            PQclear(result);
        return true;
    default: PQclear(result); return false;
    }
}

/* Reads all results of the message, until the server is ready for the next one. */
static enum pg_end pg_receive(PGconn *pg, const struct pg_wait *wait, struct pg_results *results) {
    for (;;) {
        while (PQisBusy(pg)) {
            if (!vs_pg_wait(pg, POLLIN, wait)) return PG_LATE;
            if (!PQconsumeInput(pg)) break; /* the next result is the reason */
        }
        PGresult *result = PQgetResult(pg);
        if (!result) break;
        if (!pg_keep_result(results, result)) return PG_LOST;
        if (PQstatus(pg) != CONNECTION_OK) return PG_LOST;
    }
    bool is_ready = PQstatus(pg) == CONNECTION_OK && PQtransactionStatus(pg) == PQTRANS_IDLE;
    return !is_ready ? PG_LOST : results->error ? PG_ERROR : PG_WELL;
}

/* Returns whether the last result is the stamp of this message, and reads its clock. */
static bool pg_read_stamp(const struct pg_results *results, uint64_t nonce, int64_t *clock_us) {
    uint64_t stamped;
    const PGresult *stamp = results->stamp;
    return stamp && PQntuples(stamp) == 1 && PQnfields(stamp) == 2 && vs_pg_count(stamp, 0, 0, &stamped) &&
           stamped == nonce && vs_pg_cell(stamp, 0, 1, clock_us) && *clock_us > 0;
}

/* Returns whether all rows have arrived.  The server reports their number after them. */
static bool pg_is_whole(const struct pg_results *results) {
    char counted[24];
    if (!results->data) return false;
    snprintf(counted, sizeof counted, "%d", PQntuples(results->data));
    return PQresultStatus(results->data) != PGRES_TUPLES_OK || strncmp(PQcmdStatus(results->data), "SELECT", 6) != 0 ||
           strcmp(PQcmdTuples(results->data), counted) == 0;
}

static const char *pg_field(const PGresult *error, int field) {
    const char *text = error ? PQresultErrorField(error, field) : NULL;
    return text ? text : "";
}

/* Fills the reply from the results of a message that failed. */
static void pg_explain(const struct pg_place *place, PGconn *pg, enum pg_end end, const struct pg_results *results,
                       struct vs_reply *reply) {
    char said[400];
    if (end == PG_LATE) {
        vs_answer_fault(reply, reply->outcome, VS_FAULT_SILENT, "%.60s: no reply before the deadline", place->where);
        return;
    }
    const char *state = pg_field(results->error, PG_DIAG_SQLSTATE),
               *text = *state ? pg_field(results->error, PG_DIAG_MESSAGE_PRIMARY) : PQerrorMessage(pg);
    snprintf(said, sizeof said, "%.*s", (int)strcspn(text, "\n"), text);
    vs_pg_trouble(place, state, said, reply->outcome, reply);
}

/* Checks the results of a message that the server has executed. */
static bool pg_accept(const struct pg_place *place, const struct pg_link *link, uint64_t nonce,
                      const struct pg_results *results, struct vs_reply *reply) {
    int64_t clock_us;
    if (!pg_read_stamp(results, nonce, &clock_us))
        return vs_answer(reply, reply->outcome, "%.60s: the reply belongs to another statement", place->where);
    if (!pg_is_whole(results))
        return vs_answer(reply, reply->outcome, "%.60s: the reply does not have all of its rows", place->where);
    if (link->is_unreplicated)
        return vs_answer(reply, reply->outcome, "%.60s: the wait for the standby was canceled (pg_cancel_backend)",
                         place->where);
    reply->store_ms = clock_us / 1000;
    return true;
}

enum pg_end vs_pg_exec(const struct pg_place *place, struct pg_link *link, const struct pg_wait *wait, uint64_t nonce,
                       const struct vs_sql *sql, PGresult **result, struct vs_reply *reply) {
    char text[sizeof sql->text + 600];
    struct pg_results results = {NULL, NULL, NULL};
    int length =
        snprintf(text, sizeof text, SETTINGS "%s;SELECT %" PRIu64 ", " VS_PG_CLOCK, place->schema, sql->text, nonce);
    assert(length > 0);
    assert((size_t)length < sizeof text);
    (void)length;
    link->is_unreplicated = false;
    enum pg_end end = pg_send(link->pg, text, wait);
    if (end == PG_WELL) end = pg_receive(link->pg, wait, &results);
    if (end != PG_WELL)
        pg_explain(place, link->pg, end, &results, reply);
    else if (!pg_accept(place, link, nonce, &results, reply))
        end = PG_LOST;
    if (end == PG_WELL) {
        *result = results.data;
        results.data = NULL;
    }
    pg_clear_results(&results);
    return end;
}

/* ------------------------------------------------------------------ statements */

static uint64_t pg_nonce(struct pg_store *self) {
    if (self->nonce == 0 && vs_random(&self->nonce, sizeof self->nonce) != 0)
        self->nonce = (uint64_t)self->base.until_us;
    return self->nonce = (self->nonce + 1) & INT64_MAX;
}

/* Retains the connection of an unanswered statement, because the server may still execute the statement, for example
 * after another transaction releases a lock.  vesta does not cancel the statement, because that would end a commit's
 * wait for its standby. */
static void pg_keep_late(struct pg_store *self) {
    vs_pg_end_link(self->late);
    self->late = self->link;
    self->late_until_us = self->base.clock->boot_us(self->base.clock->self) + LATE_US;
    self->link = NULL;
}

PGresult *vs_pg_run(struct pg_store *self, const struct vs_sql *sql, int columns, struct vs_reply *reply) {
    PGresult *result = NULL;
    struct pg_wait wait = {&self->base, 0};
    assert(self->link);
    assert(self->process == vs_process_token()); /* never use a parent's connection */
    assert(sql->text[sql->length] == '\0');
    switch (vs_pg_exec(&self->place, self->link, &wait, pg_nonce(self), sql, &result, reply)) {
    case PG_WELL: break;
    case PG_LATE: pg_keep_late(self); return NULL;
    case PG_LOST:
        if (PQstatus(self->link->pg) != CONNECTION_OK) self->losses = vs_pool_lose(self->pool);
        vs_pg_drop(self);
        return NULL;
    case PG_ERROR:
        if (reply->outcome == VS_STORE_UNKNOWN) vs_pg_drop(self);
        return NULL;
    }
    if (PQnfields(result) == columns) return result;
    PQclear(result);
    vs_pg_no_answer(self, "the reply belongs to another statement", reply);
    return NULL;
}

PGresult *vs_pg_row(struct pg_store *self, const struct vs_sql *sql, int columns, struct vs_reply *reply) {
    PGresult *result = vs_pg_run(self, sql, columns, reply);
    if (!result || PQntuples(result) == 1) return result;
    vs_pg_no_answer(self, PQntuples(result) ? "the reply has more than one row" : VS_PG_NO_ROW, reply);
    PQclear(result);
    return NULL;
}

bool vs_pg_no_answer(struct pg_store *self, const char *why, struct vs_reply *reply) {
    vs_pg_drop(self);
    return vs_answer(reply, reply->outcome, "%.60s: %s", self->place.where, why);
}

void vs_pg_bytes(struct vs_sql *sql, const void *bytes, size_t length) {
    vs_sql_add(sql, "decode('");
    vs_sql_hex(sql, bytes, length);
    vs_sql_add(sql, "', 'hex')");
}

bool vs_pg_cell(const PGresult *result, int row, int column, int64_t *out) {
    char *end;
    const char *cell = PQgetvalue(result, row, column);
    if (!cell || !*cell || PQgetisnull(result, row, column)) return false;
    errno = 0;
    *out = strtoll(cell, &end, 10);
    return errno == 0 && end == cell + PQgetlength(result, row, column);
}

bool vs_pg_count(const PGresult *result, int row, int column, uint64_t *out) {
    char *end;
    const char *cell = PQgetvalue(result, row, column);
    if (!cell || !*cell || *cell == '-' || PQgetisnull(result, row, column)) return false;
    errno = 0;
    *out = strtoull(cell, &end, 10);
    return errno == 0 && end == cell + PQgetlength(result, row, column);
}

/* ------------------------------------------------------------------ checks */

/* Without its primary key, a table would accept two first claims of one worker id. */
bool vs_pg_check_tables(const struct pg_place *place, struct pg_link *link, const struct pg_wait *wait,
                        struct vs_reply *reply) {
    struct vs_sql sql = {.length = 0};
    PGresult *result = NULL;
    vs_sql_add(
        &sql,
        "SELECT (to_regclass('vesta_namespace') IS NOT NULL)::int + (to_regclass('vesta_lease') IS NOT NULL)::int,"
        " (SELECT COUNT(*) FROM pg_index AS i WHERE i.indisprimary AND i.indisvalid AND"
        " (i.indrelid, ARRAY(SELECT a.attname::text FROM unnest(i.indkey) WITH ORDINALITY AS k(num, at)"
        " JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.num ORDER BY k.at)) IN"
        " ((to_regclass('vesta_namespace'), ARRAY['ns']), (to_regclass('vesta_lease'), ARRAY['ns', 'worker']))),"
        " " VS_PG_UNSAFE("to_regclass('vesta_namespace'), to_regclass('vesta_lease')"));
    if (vs_pg_exec(place, link, wait, 1, &sql, &result, reply) != PG_WELL) return false;
    enum { COL_TABLES, COL_KEYS, COL_UNSAFE, COLUMNS };
    int64_t tables = 0, primary = 0;
    bool is_row = PQntuples(result) == 1 && PQnfields(result) == COLUMNS &&
                  vs_pg_cell(result, 0, COL_TABLES, &tables) && vs_pg_cell(result, 0, COL_KEYS, &primary);
    bool is_safe = is_row && PQgetisnull(result, 0, COL_UNSAFE), is_well = is_safe && tables == 2 && primary == 2;
    if (!is_row)
        vs_answer(reply, VS_STORE_DOWN, "%.60s: " VS_PG_NO_ROW, place->where);
    else if (tables != 2)
        vs_answer_fault(reply, VS_STORE_REFUSED, VS_FAULT_NO_TABLES,
                        "%.60s: its tables are missing in the schema %.63s", place->where, place->schema);
    else if (!is_safe)
        vs_answer_fault(reply, VS_STORE_REFUSED, VS_FAULT_UNLOGGED, "%.60s: %.160s", place->where,
                        PQgetvalue(result, 0, COL_UNSAFE));
    else if (!is_well)
        vs_answer_fault(reply, VS_STORE_REFUSED, VS_FAULT_SCHEMA,
                        "%.60s: the tables do not have the primary keys that `vesta store init` creates", place->where);
    PQclear(result);
    return is_well;
}

/* Checks the tables if the connection was opened for a call that did not need them. */
static bool pg_has_tables(struct pg_store *self, bool needs_tables, struct vs_reply *reply) {
    struct pg_wait wait = {&self->base, 0};
    assert(self->link);
    if (!needs_tables || self->link->has_tables) return true;
    self->link->has_tables = vs_pg_check_tables(&self->place, self->link, &wait, reply);
    if (self->link->has_tables) return true;
    vs_pg_drop(self);
    return false;
}

/* ------------------------------------------------------------------ making a connection */

static bool pg_start_making(struct pg_store *self, bool needs_tables, struct vs_reply *reply) {
    assert(!self->making); /* otherwise `making` would leak */
    assert(!self->link);
    struct pg_making *making = calloc(1, sizeof *making);
    if (!making) return vs_answer(reply, VS_STORE_DOWN, "no memory for a connection");
    making->place = self->place;
    making->needs_tables = needs_tables;
    making->host = self->host;
    vs_reply_clear(&making->reply);
    self->making = vs_errand_send(vs_pg_dial, vs_pg_drop_making, making);
    if (self->making) return true;
    vs_pg_drop_making(making);
    return vs_answer(reply, VS_STORE_DOWN, "no thread for a connection");
}

/* Waits for the connection until the call's deadline.  If the connection takes longer, the next call continues to wait.
 */
static bool pg_await_making(struct pg_store *self, struct vs_reply *reply) {
    assert(!self->link); /* otherwise `link` would leak */
    if (!vs_errand_wait(self->making, &self->base))
        return vs_answer_fault(reply, VS_STORE_DOWN, VS_FAULT_SILENT,
                               "%.60s: the connection was not open before the deadline", self->place.where);
    struct pg_making *making = vs_errand_take(self->making);
    self->making = NULL;
    self->link = making->link;
    making->link = NULL;
    if (self->link)
        self->host = self->link->host;
    else
        *reply = making->reply;
    vs_pg_drop_making(making);
    assert(self->link || reply->outcome != VS_STORE_OK);
    return self->link != NULL;
}

/* ------------------------------------------------------------------ the connection */

/* Forgets the parent's connection in a forked child.  The child must not close it, because that would send a message on
 * it. */
static void pg_leave_to_parent(struct pg_store *self) {
    if (self->process == vs_process_token()) return;
    self->process = vs_process_token();
    self->link = NULL;
    self->making = NULL;
    self->late = NULL;
}

static void pg_end_late(struct pg_store *self) {
    vs_pg_end_link(self->late);
    self->late = NULL;
}

void vs_pg_drop(struct pg_store *self) {
    pg_leave_to_parent(self);
    pg_end_late(self);
    vs_pg_end_link(self->link);
    if (self->making) vs_errand_leave(self->making);
    self->link = NULL;
    self->making = NULL;
}

/* Returns whether the idle connection is readable.  If it is, the server has closed it, or has sent data that would be
 * read as the next reply. */
static bool pg_is_stale(const struct pg_link *link) {
    struct pollfd fd = {.fd = PQsocket(link->pg), .events = POLLIN};
    return poll(&fd, 1, 0) != 0;
}

/* A pooled connection, or a connection that is being opened. */
struct pg_parked {
    struct pg_link *link;
    struct vs_errand *making;
};

static bool pg_parked_is_lost(void *link) {
    const struct pg_parked *parked = link;
    return parked->link && pg_is_stale(parked->link);
}

static void pg_end_parked(void *link) {
    struct pg_parked *parked = link;
    vs_pg_end_link(parked->link);
    if (parked->making) vs_errand_leave(parked->making);
    free(parked);
}

static const struct vs_pool_kind pg_pool_kind = {IDLE_US, pg_parked_is_lost, pg_end_parked};

bool vs_pg_enter(struct pg_store *self) {
    self->pool = vs_pool_enter(&pg_pool_kind, &self->place, sizeof self->place);
    return self->pool != NULL;
}

static int64_t pg_clock_us(const struct pg_store *self) {
    return self->base.clock->boot_us(self->base.clock->self);
}

void vs_pg_leave(struct pg_store *self) {
    void *links[VS_POOL_MAX];
    if (!self->pool) return;
    vs_pg_park(self, pg_clock_us(self));
    pg_end_late(self);
    for (unsigned left = vs_pool_leave(self->pool, links); left > 0; left--)
        pg_end_parked(links[left - 1]);
}

void vs_pg_park(struct pg_store *self, int64_t now_us) {
    pg_leave_to_parent(self);
    if (!self->link && !self->making) return;
    struct pg_parked *parked = malloc(sizeof *parked);
    if (!parked) vs_pg_drop(self);
    if (!parked) return;
    *parked = (struct pg_parked){self->link, self->making};
    self->link = NULL;
    self->making = NULL;
    vs_pool_put(self->pool, parked, now_us);
}

static void pg_take_parked(struct pg_store *self, int64_t now_us) {
    struct pg_parked *parked = NULL;
    if (self->link || self->making)
        self->losses = vs_pool_losses(self->pool, now_us);
    else
        parked = vs_pool_take(self->pool, now_us, &self->losses);
    if (!parked) return;
    self->link = parked->link;
    self->making = parked->making;
    free(parked);
}

bool vs_pg_stirred(struct vs_store *store, int64_t now_boot_us) {
    const struct pg_store *self = (const struct pg_store *)store;
    if (self->process != vs_process_token()) return false;
    return self->link ? pg_is_stale(self->link) : vs_pool_losses(self->pool, now_boot_us) != self->losses;
}

/* Drops a connection that the server has closed, and counts the loss for other stores that use the pool. */
static void pg_drop_stale(struct pg_store *self) {
    if (!self->link || !pg_is_stale(self->link)) return;
    self->losses = vs_pool_lose(self->pool);
    vs_pg_drop(self);
}

/* Waits until the unanswered statement has ended.  Call this before another connection is opened. */
static bool pg_await_late(struct pg_store *self, struct vs_reply *reply) {
    while (self->late && !pg_is_stale(self->late) && pg_clock_us(self) < self->late_until_us) {
        struct pollfd fd = {.fd = PQsocket(self->late->pg), .events = POLLIN};
        int64_t slice_ms = vs_call_slice_ms(&self->base),
                left_ms = (self->late_until_us - pg_clock_us(self) + 999) / 1000;
        if (slice_ms <= 0)
            return vs_answer_fault(reply, VS_STORE_DOWN, VS_FAULT_LOCKED_ROW,
                                   "%.60s: the server did not end the last statement before the deadline",
                                   self->place.where);
        poll(&fd, 1, (int)(slice_ms < left_ms ? slice_ms : left_ms));
    }
    pg_end_late(self);
    return true;
}

bool vs_pg_begin(struct pg_store *self, int64_t ms_max, bool needs_tables, struct vs_reply *reply) {
    vs_reply_clear(reply);
    pg_leave_to_parent(self);
    int64_t now_us = vs_call_begin(&self->base, ms_max);
    if (!pg_await_late(self, reply)) return false;
    pg_take_parked(self, now_us);
    assert(!self->link || !self->making); /* a store never has an open connection and one that is being opened */
    pg_drop_stale(self);
    if (self->link) return pg_has_tables(self, needs_tables, reply);
    if (self->making && vs_errand_is_done(self->making) && !pg_await_making(self, reply))
        vs_reply_clear(reply); /* retry after an error that occurred between two calls, and report the new error */
    pg_drop_stale(self);
    if (self->link) return pg_has_tables(self, needs_tables, reply);
    if ((!self->making && !pg_start_making(self, needs_tables, reply)) || !pg_await_making(self, reply)) return false;
    /* the time for opening does not count, because otherwise the first call to a distant server would always fail */
    vs_call_begin(&self->base, ms_max);
    return pg_has_tables(self, needs_tables, reply);
}
