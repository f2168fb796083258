/* share.c -- the shares of counters that several databases grant together, and the forms of their numbers, in MariaDB
 * or MySQL.
 *
 *     vesta_segment_share (counters, tag, delta, remainder)
 *
 * `counters` is the name of the counter's table.  Leaf's table has no column for a share, so this table is separate.
 * The row of a form has a ~ before the name, and its delta is the form's fingerprint. */
#include "store/mysql/counter.h"

#include <inttypes.h>
#include <mysqld_error.h>
#include <stdio.h>

enum { COL_NONCE, COL_DELTA, COL_REMAINDER, COLUMNS };

bool vs_mysql_make_shares(struct mysql_store *self, struct vs_reply *reply) {
    struct vs_sql sql = {.length = 0};
    vs_sql_add(&sql, "CREATE TABLE IF NOT EXISTS " VS_SHARES " (counters VARBINARY(64) NOT NULL, tag VARBINARY(64) NOT"
                     " NULL, delta BIGINT NOT NULL, remainder BIGINT NOT NULL, PRIMARY KEY (counters, tag))"
                     " ENGINE=InnoDB");
    return vs_mysql_send(self, &sql, reply);
}

/* Returns whether the table is missing, or this user has no right to use it. */
static bool lacks_table(const struct vs_mysql_call *call) {
    unsigned error = call->self->my ? mysql_errno(call->self->my) : 0;
    return error == ER_NO_SUCH_TABLE || error == ER_TABLEACCESS_DENIED_ERROR;
}

/* Reads the share.  The SELECT always returns one row. */
static bool mysql_look_at_share(const struct vs_mysql_call *call, const char *key, struct vs_share *share) {
    struct vs_sql sql = {.length = 0};
    struct vs_rows rows;
    vs_sql_add(&sql,
               "SELECT %" PRIu64 ", s.delta, s.remainder FROM (SELECT 1) AS one LEFT JOIN " VS_SHARES
               " AS s ON s.counters = '%s' AND s.tag = '%s' FOR UPDATE",
               vs_mysql_nonce(call->self), key, call->tag);
    if (!vs_mysql_rows(call->self, &sql, COLUMNS, &rows, call->reply)) return false;
    int found = vs_mysql_fetch(call->self, &rows, call->reply);
    if (found < 0) return false;
    *share = (struct vs_share){.delta = 0};
    bool is_whole = found == 1 && (!rows.row[COL_DELTA] || (vs_mysql_count(&rows, COL_DELTA, &share->delta) &&
                                                            vs_mysql_count(&rows, COL_REMAINDER, &share->remainder)));
    vs_mysql_rows_done(&rows);
    return is_whole || vs_mysql_no_answer(call->self, "the reply has a damaged row", call->reply);
}

static bool mysql_insert_share(const struct vs_mysql_call *call, const char *key, const struct vs_share *share) {
    struct vs_sql sql = {.length = 0};
    vs_sql_add(&sql,
               "INSERT INTO " VS_SHARES " (counters, tag, delta, remainder) VALUES ('%s', '%s', %" PRIu64 ", %" PRIu64
               ")",
               key, call->tag, share->delta, share->remainder);
    if (vs_mysql_call_write(call, &sql, 1) == VS_FATE_TOLD) return false;
    vs_reply_clear(call->reply); /* this call or another client has inserted the row, so read it */
    return true;
}

/* Returns whether the call can succeed without a stored share.  A database that grants all numbers alone does not need
 * a stored share.  The counters' table may be Leaf's, and vesta may have no right to other tables. */
static bool may_do_without(const struct vs_mysql_call *call, const struct vs_share *share) {
    return share->delta == 1 && call->reply->outcome == VS_STORE_REFUSED;
}

/* Reads the share, and inserts it if it is missing. */
static bool mysql_find_or_keep(const struct vs_mysql_call *call, const char *key, const struct vs_share *share,
                               struct vs_share *stands) {
    if (!mysql_look_at_share(call, key, stands)) {
        if (!lacks_table(call)) return false;
        vs_reply_clear(call->reply);
        if (!vs_mysql_make_shares(call->self, call->reply) || !mysql_look_at_share(call, key, stands)) return false;
    }
    return stands->delta || !share->delta ||
           (mysql_insert_share(call, key, share) && mysql_look_at_share(call, key, stands));
}

/* Adds the remedy.  The server's text stays unchanged. */
static void say_lack(const struct vs_mysql_call *call) {
    if (!lacks_table(call)) return;
    call->reply->by = VS_BY_RIGHTS;
    call->reply->outcome = VS_STORE_REFUSED;
    call->reply->fault = VS_FAULT_NO_COUNTERS;
}

void vs_mysql_share(struct vs_store *store, const struct vs_counter *counter, const struct vs_share *share,
                    struct vs_reply *reply) {
    struct vs_mysql_call call;
    struct vs_tag row;
    struct vs_share stands;
    if (!vs_mysql_call_begin(&call, store, counter, reply) || !vs_mysql_call_load(&call, &row)) return;
    if (row.delta > 1) /* tinyid's rows contain the share */
        vs_done(reply);
    else if (mysql_find_or_keep(&call, call.table, share, &stands))
        vs_share_answer(&stands, share, reply);
    else if (may_do_without(&call, share))
        vs_reply_clear(reply), vs_done(reply);
    else
        say_lack(&call);
}

void vs_mysql_form(struct vs_store *store, const struct vs_counter *counter, uint64_t fingerprint,
                   struct vs_reply *reply) {
    char key[1 + VS_COUNTER_TABLE_MAX];
    struct vs_mysql_call call;
    struct vs_share stands;
    if (!vs_mysql_call_begin(&call, store, counter, reply)) return;
    snprintf(key, sizeof key, "~%s", call.table);
    if (mysql_find_or_keep(&call, key, &(struct vs_share){.delta = fingerprint}, &stands))
        vs_form_answer(call.tag, stands.delta, fingerprint, reply);
    else
        say_lack(&call);
}
