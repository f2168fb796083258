/* counter.c -- counters in a database file: tables with Leaf's columns.  The first tag creates its table.
 *
 *     leaf_alloc (biz_tag, max_id, step, update_time)      update_time in milliseconds since 1970
 *
 * People choose the table, and SQLite allows any value in any column, so the type of each value is checked. */
#include "store/sqlite/counter.h"

#include <assert.h>
#include <stdio.h>

#define SQL_MAX 400

bool vs_sqlite_call_begin(struct vs_sqlite_call *call, struct vs_store *store, const struct vs_counter *counter,
                          struct vs_reply *reply) {
    assert(store->backend == &vs_store_sqlite);
    vs_reply_clear(reply);
    *call = (struct vs_sqlite_call){(struct sqlite_store *)store, vs_counter_table(counter->table, reply), counter->tag,
                                    reply};
    return call->table && vs_counter_check(counter, reply) && vs_sqlite_begin(call->self, reply);
}

/* Prepares a statement.  The table's name replaces the %s in `format`.  ?1 is the tag.  In a statement that writes a
 * row, ?2 is the row's max_id, ?3 its step, and ?4 its time. */
static sqlite3_stmt *sqlite_counter_prepare(const struct vs_sqlite_call *call, const char *format,
                                            const struct vs_tag *row) {
    char sql[SQL_MAX];
    sqlite3_stmt *stmt = NULL;
    assert(!strchr(call->table, '"')); /* vs_counter_table has checked this */
    int length = snprintf(sql, sizeof sql, format, call->table);
    assert((size_t)length < sizeof sql);
    int rc = sqlite3_prepare_v2(call->self->db, sql, length, &stmt, NULL);
    if (rc == SQLITE_OK && sqlite3_bind_parameter_count(stmt) > 0)
        rc = sqlite3_bind_text(stmt, 1, call->tag, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK && row) rc = sqlite3_bind_int64(stmt, 2, row->max);
    if (rc == SQLITE_OK && row) rc = sqlite3_bind_int64(stmt, 3, row->step);
    if (rc == SQLITE_OK && row) rc = sqlite3_bind_int64(stmt, 4, call->reply->store_ms);
    if (rc == SQLITE_OK) return stmt;
    vs_sqlite_trouble(call->self, rc, call->reply);
    sqlite3_finalize(stmt);
    return NULL;
}

static bool sqlite_counter_run(const struct vs_sqlite_call *call, const char *format, const struct vs_tag *row) {
    /* otherwise SQLite commits the write at once, before it is checked */
    assert(!sqlite3_get_autocommit(call->self->db));
    sqlite3_stmt *stmt = sqlite_counter_prepare(call, format, row);
    if (!stmt) return false;
    int rc = sqlite3_step(stmt);
    if (rc != SQLITE_DONE) vs_sqlite_trouble(call->self, rc, call->reply);
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE;
}

/* ------------------------------------------------------------------ rows */

static bool sqlite_counter_is_number(sqlite3_stmt *stmt, int column) {
    return sqlite3_column_type(stmt, column) == SQLITE_INTEGER;
}

static bool sqlite_counter_take_number(sqlite3_stmt *stmt, int column, const char *name, int64_t *to,
                                       char why[static VS_TAG_WHY_MAX]) {
    *to = sqlite3_column_int64(stmt, column);
    if (sqlite_counter_is_number(stmt, column)) return true;
    if (sqlite3_column_type(stmt, column) == SQLITE_NULL)
        return snprintf(why, VS_TAG_WHY_MAX, "its %s is NULL", name), false;
    const void *at = sqlite3_column_blob(stmt, column);
    size_t length = at ? (size_t)sqlite3_column_bytes(stmt, column) : 0;
    snprintf(why, VS_TAG_WHY_MAX, "its %s is '%s', which is not a 64-bit integer", name,
             VS_QUOTE(at ? at : "", length));
    return false;
}

/* Reads columns 0 to 3: biz_tag, max_id, step, update_time.  Returns false if a value cannot be used, and sets `why` to
 * the reason. */
static bool sqlite_counter_read_row(sqlite3_stmt *stmt, struct vs_tag *row, char why[static VS_TAG_WHY_MAX]) {
    *row = (struct vs_tag){.delta = 1,
                           .updated_ms = sqlite_counter_is_number(stmt, 3) ? sqlite3_column_int64(stmt, 3) : 0};
    return sqlite_counter_take_number(stmt, 1, "max_id", &row->max, why) &&
           sqlite_counter_take_number(stmt, 2, "step", &row->step, why);
}

enum vs_sqlite_found vs_sqlite_find_table(const struct vs_sqlite_call *call, const char *table) {
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(call->self->db,
                                "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1 COLLATE NOCASE", -1,
                                &stmt, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK) rc = sqlite3_step(stmt);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) vs_sqlite_trouble(call->self, rc, call->reply);
    sqlite3_finalize(stmt);
    return rc == SQLITE_ROW ? VS_FOUND : rc == SQLITE_DONE ? VS_FOUND_NONE : VS_FOUND_TOLD;
}

static enum vs_sqlite_found sqlite_counter_find_row(const struct vs_sqlite_call *call, struct vs_tag *row) {
    char why[VS_TAG_WHY_MAX];
    enum vs_sqlite_found found = vs_sqlite_find_table(call, call->table);
    if (found != VS_FOUND) return found;
    sqlite3_stmt *stmt =
        sqlite_counter_prepare(call, "SELECT biz_tag, max_id, step, update_time FROM \"%s\" WHERE biz_tag = ?1", NULL);
    if (!stmt) return VS_FOUND_TOLD;
    int rc = sqlite3_step(stmt);
    found = rc == SQLITE_ROW ? VS_FOUND : rc == SQLITE_DONE ? VS_FOUND_NONE : VS_FOUND_TOLD;
    if (found == VS_FOUND_TOLD) vs_sqlite_trouble(call->self, rc, call->reply);
    if (found == VS_FOUND && !sqlite_counter_read_row(stmt, row, why)) {
        vs_counter_is_spoilt(call->tag, why, call->reply);
        found = VS_FOUND_TOLD;
    }
    sqlite3_finalize(stmt);
    snprintf(row->tag, sizeof row->tag, "%s", call->tag);
    return found;
}

/* Writes the row with the statement, commits, and reads it back. */
static void sqlite_counter_write_row(const struct vs_sqlite_call *call, const char *statement,
                                     const struct vs_tag *row) {
    struct vs_reply seen = {.outcome = VS_STORE_DOWN};
    struct vs_sqlite_call look = *call;
    struct vs_tag stands;
    assert(row->delta == 1); /* these tables have no other delta */
    if (!sqlite_counter_run(call, statement, row) || !vs_sqlite_commit(call->self, call->reply)) return;
    look.reply = &seen;
    if (vs_sqlite_look_anew(call->self, &seen) && sqlite_counter_find_row(&look, &stands) == VS_FOUND &&
        stands.max == row->max && stands.step == row->step)
        vs_done(call->reply);
    else
        vs_sqlite_does_not_stand(call->self, call->reply);
}

#define UPDATE "UPDATE \"%s\" SET max_id = ?2, step = ?3, update_time = ?4 WHERE biz_tag = ?1"
#define INSERT "INSERT INTO \"%s\" (biz_tag, max_id, step, update_time) VALUES (?1, ?2, ?3, ?4)"
#define CREATE                                                                                                         \
    "CREATE TABLE IF NOT EXISTS \"%s\" (biz_tag TEXT NOT NULL PRIMARY KEY, max_id INTEGER NOT NULL,"                   \
    " step INTEGER NOT NULL, update_time INTEGER) WITHOUT ROWID"

bool vs_sqlite_call_load(const struct vs_sqlite_call *call, struct vs_tag *row) {
    enum vs_sqlite_found found = sqlite_counter_find_row(call, row);
    if (found == VS_FOUND_NONE) vs_counter_unknown(call->tag, call->reply);
    return found == VS_FOUND;
}

bool vs_sqlite_call_write(const struct vs_sqlite_call *call, const struct vs_tag *row) {
    return sqlite_counter_run(call, UPDATE, row);
}

/* ------------------------------------------------------------------ operations */

static void sqlite_counter_change(struct vs_store *store, const struct vs_counter *counter,
                                  const struct vs_counter_change *change, struct vs_reply *reply) {
    struct vs_sqlite_call call;
    struct vs_tag row, next;
    if (!vs_sqlite_call_begin(&call, store, counter, reply)) return;
    enum vs_sqlite_found found = sqlite_counter_find_row(&call, &row);
    if (found != VS_FOUND_TOLD && vs_counter_decide(change, call.tag, found == VS_FOUND ? &row : NULL, &next, reply) &&
        (found == VS_FOUND || sqlite_counter_run(&call, CREATE, NULL)))
        sqlite_counter_write_row(&call, found == VS_FOUND ? UPDATE : INSERT, &next);
    vs_sqlite_end(call.self);
}

void vs_sqlite_take(struct vs_store *store, const struct vs_counter *counter, uint64_t step, struct vs_reply *reply) {
    sqlite_counter_change(store, counter, &(struct vs_counter_change){.what = VS_TAKE, .step = step}, reply);
}

void vs_sqlite_untake(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t until,
                      struct vs_reply *reply) {
    sqlite_counter_change(store, counter, &(struct vs_counter_change){.what = VS_UNTAKE, .from = from, .until = until},
                          reply);
}

void vs_sqlite_tag_add(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t step,
                       struct vs_reply *reply) {
    sqlite_counter_change(store, counter, &(struct vs_counter_change){.what = VS_TAG_ADD, .from = from, .step = step},
                          reply);
}

void vs_sqlite_tag_step(struct vs_store *store, const struct vs_counter *counter, uint64_t step,
                        struct vs_reply *reply) {
    sqlite_counter_change(store, counter, &(struct vs_counter_change){.what = VS_TAG_STEP, .step = step}, reply);
}

void vs_sqlite_lift(struct vs_store *store, const struct vs_counter *counter, uint64_t floor, struct vs_reply *reply) {
    sqlite_counter_change(store, counter, &(struct vs_counter_change){.what = VS_LIFT, .from = floor}, reply);
}

static bool sqlite_counter_list_row(const struct vs_sqlite_call *call, sqlite3_stmt *stmt, struct vs_tag_list *list) {
    struct vs_tag row;
    char why[VS_TAG_WHY_MAX];
    bool is_text = sqlite3_column_type(stmt, 0) == SQLITE_TEXT; /* a tag that is not text is never found */
    const void *at = sqlite3_column_blob(stmt, 0);
    struct vs_slice name = {at ? at : "", at ? (size_t)sqlite3_column_bytes(stmt, 0) : 0};
    if (is_text && !at && sqlite3_errcode(call->self->db) == SQLITE_NOMEM)
        return vs_sqlite_trouble(call->self, SQLITE_NOMEM, call->reply);
    if (!is_text) return vs_tags_pass(list, name), true;
    if (sqlite_counter_read_row(stmt, &row, why)) return vs_tags_add(list, name, &row, call->reply);
    return vs_tags_add_unusable(list, name, why, call->reply);
}

static bool sqlite_counter_list_rows(const struct vs_sqlite_call *call, struct vs_tag_list *list) {
    sqlite3_stmt *stmt =
        sqlite_counter_prepare(call, "SELECT biz_tag, max_id, step, update_time FROM \"%s\" ORDER BY biz_tag", NULL);
    int rc = SQLITE_OK;
    bool well = stmt != NULL;
    while (well && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
        well = sqlite_counter_list_row(call, stmt, list);
    if (well && rc != SQLITE_DONE) well = vs_sqlite_trouble(call->self, rc, call->reply);
    sqlite3_finalize(stmt);
    return well;
}

void vs_sqlite_tags(struct vs_store *store, const char *table, struct vs_tag_list *list, struct vs_reply *reply) {
    struct vs_sqlite_call call;
    assert(list->count == 0); /* rows that are already in the list would appear as rows of this table */
    if (!vs_sqlite_call_begin(&call, store, &(struct vs_counter){table, "-"}, reply)) return;
    enum vs_sqlite_found found = vs_sqlite_find_table(&call, call.table);
    if (found == VS_FOUND_NONE || (found == VS_FOUND && sqlite_counter_list_rows(&call, list))) vs_done(reply);
    vs_sqlite_end(call.self);
}
