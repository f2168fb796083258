/* share.c -- the shares of counters that several databases grant together, and the forms of their numbers, in a
 * database file.
 *
 *     vesta_segment_share (counters, tag, delta, remainder)
 *
 * `counters` is the name of the counter's table.  The row of a form has a ~ before the name, and its delta is the
 * form's fingerprint. */
#include "store/sqlite/counter.h"

#include <assert.h>
#include <stdio.h>

#define CREATE                                                                                                         \
    "CREATE TABLE IF NOT EXISTS " VS_SHARES " (counters TEXT, tag TEXT, delta INTEGER NOT NULL,"                       \
    " remainder INTEGER NOT NULL, PRIMARY KEY (counters, tag)) WITHOUT ROWID"
#define SELECT "SELECT delta, remainder FROM " VS_SHARES " WHERE counters = ?1 AND tag = ?2"
#define INSERT "INSERT INTO " VS_SHARES " (counters, tag, delta, remainder) VALUES (?1, ?2, ?3, ?4)"

#define KEY_MAX (1 + VS_COUNTER_TABLE_MAX)

/* Prepares a statement.  `share` is the row to write, or NULL. */
static sqlite3_stmt *sqlite_share_prepare(const struct vs_sqlite_call *call, const char *key, const char *sql,
                                          const struct vs_share *share) {
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(call->self->db, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_bind_text(stmt, 1, key, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK) rc = sqlite3_bind_text(stmt, 2, call->tag, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK && share) rc = sqlite3_bind_int64(stmt, 3, (int64_t)share->delta);
    if (rc == SQLITE_OK && share) rc = sqlite3_bind_int64(stmt, 4, (int64_t)share->remainder);
    if (rc == SQLITE_OK) return stmt;
    vs_sqlite_trouble(call->self, rc, call->reply);
    sqlite3_finalize(stmt);
    return NULL;
}

/* Reads the share.  Sets delta to 0 if there is none. */
static bool sqlite_share_load(const struct vs_sqlite_call *call, const char *key, struct vs_share *share) {
    sqlite3_stmt *stmt = sqlite_share_prepare(call, key, SELECT, NULL);
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

/* Inserts the share, commits, and reads it back. */
static bool sqlite_share_keep(const struct vs_sqlite_call *call, const char *key, const struct vs_share *share,
                              struct vs_share *stands) {
    assert(!sqlite3_get_autocommit(call->self->db));
    sqlite3_stmt *stmt = sqlite_share_prepare(call, key, INSERT, share);
    if (!stmt) return false;
    int rc = sqlite3_step(stmt);
    if (rc != SQLITE_DONE) vs_sqlite_trouble(call->self, rc, call->reply);
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE && vs_sqlite_commit(call->self, call->reply) &&
           vs_sqlite_look_anew(call->self, call->reply) && sqlite_share_load(call, key, stands);
}

/* Reads the share, and inserts it if it is missing. */
static bool sqlite_find_or_keep(const struct vs_sqlite_call *call, const char *key, const struct vs_share *share,
                                struct vs_share *stands) {
    struct vs_tag row;
    return vs_sqlite_call_load(call, &row) && vs_sqlite_run(call->self, CREATE, call->reply) &&
           sqlite_share_load(call, key, stands) &&
           (stands->delta || !share->delta || sqlite_share_keep(call, key, share, stands));
}

void vs_sqlite_share(struct vs_store *store, const struct vs_counter *counter, const struct vs_share *share,
                     struct vs_reply *reply) {
    struct vs_sqlite_call call;
    struct vs_share stands;
    if (!vs_sqlite_call_begin(&call, store, counter, reply)) return;
    if (sqlite_find_or_keep(&call, call.table, share, &stands)) vs_share_answer(&stands, share, reply);
    vs_sqlite_end(call.self);
}

void vs_sqlite_form(struct vs_store *store, const struct vs_counter *counter, uint64_t fingerprint,
                    struct vs_reply *reply) {
    struct vs_sqlite_call call;
    struct vs_share stands;
    char key[KEY_MAX];
    if (!vs_sqlite_call_begin(&call, store, counter, reply)) return;
    snprintf(key, sizeof key, "~%s", call.table);
    if (sqlite_find_or_keep(&call, key, &(struct vs_share){.delta = fingerprint}, &stands))
        vs_form_answer(call.tag, stands.delta, fingerprint, reply);
    vs_sqlite_end(call.self);
}
