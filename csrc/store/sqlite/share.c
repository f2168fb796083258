/* share.c -- which numbers of a counter a database file grants, of several that grant them together.
 *
 *     vesta_segment_share (counters, tag, delta, remainder)
 *
 * counters is the name of the counter's table. */
#include "store/sqlite/counter.h"

#include <assert.h>

#define CREATE                                                                                                         \
    "CREATE TABLE IF NOT EXISTS " VS_SHARES " (counters TEXT, tag TEXT, delta INTEGER NOT NULL,"                       \
    " remainder INTEGER NOT NULL, PRIMARY KEY (counters, tag)) WITHOUT ROWID"
#define SELECT "SELECT delta, remainder FROM " VS_SHARES " WHERE counters = ?1 AND tag = ?2"
#define INSERT "INSERT INTO " VS_SHARES " (counters, tag, delta, remainder) VALUES (?1, ?2, ?3, ?4)"

/* `share`: of a row that is to be written. */
static sqlite3_stmt *prepare(const struct vs_sqlite_call *call, const char *sql, const struct vs_share *share) {
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(call->self->db, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_bind_text(stmt, 1, call->table, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK) rc = sqlite3_bind_text(stmt, 2, call->tag, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK && share) rc = sqlite3_bind_int64(stmt, 3, (int64_t)share->delta);
    if (rc == SQLITE_OK && share) rc = sqlite3_bind_int64(stmt, 4, (int64_t)share->remainder);
    if (rc == SQLITE_OK) return stmt;
    vs_sqlite_trouble(call->self, rc, call->reply);
    sqlite3_finalize(stmt);
    return NULL;
}

/* False with the reply filled. */
static bool load(const struct vs_sqlite_call *call, struct vs_share *share) {
    sqlite3_stmt *stmt = prepare(call, SELECT, NULL);
    if (!stmt) return false;
    int rc = sqlite3_step(stmt);
    bool well = rc == SQLITE_ROW || rc == SQLITE_DONE || vs_sqlite_trouble(call->self, rc, call->reply);
    *share = (struct vs_share){.delta = 0};
    if (rc == SQLITE_ROW) {
        share->delta = (uint64_t)sqlite3_column_int64(stmt, 0);
        share->remainder = (uint64_t)sqlite3_column_int64(stmt, 1);
    }
    sqlite3_finalize(stmt);
    return well;
}

/* Writes, commits, and looks again.  False with the reply filled. */
static bool keep(const struct vs_sqlite_call *call, const struct vs_share *share, struct vs_share *stands) {
    assert(!sqlite3_get_autocommit(call->self->db));
    sqlite3_stmt *stmt = prepare(call, INSERT, share);
    if (!stmt) return false;
    int rc = sqlite3_step(stmt);
    if (rc != SQLITE_DONE) vs_sqlite_trouble(call->self, rc, call->reply);
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE && vs_sqlite_commit(call->self, call->reply) &&
           vs_sqlite_look_anew(call->self, call->reply) && load(call, stands);
}

void vs_sqlite_share(struct vs_store *store, const struct vs_counter *counter, const struct vs_share *share,
                     struct vs_reply *reply) {
    struct vs_sqlite_call call;
    struct vs_share stands;
    struct vs_tag row;
    if (!vs_sqlite_call_begin(&call, store, counter, reply)) return;
    if (vs_sqlite_call_load(&call, &row) && vs_sqlite_run(call.self, CREATE, reply) && load(&call, &stands) &&
        (stands.delta || keep(&call, share, &stands)))
        vs_share_answer(&stands, share, reply);
    vs_sqlite_end(call.self);
}
