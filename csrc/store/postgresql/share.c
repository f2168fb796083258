/* share.c -- the shares of counters that several databases grant together, and the forms of their numbers, in
 * PostgreSQL.
 *
 *     vesta_segment_share (counters, tag, delta, remainder)
 *
 * `counters` is the name of the counter's table.  Leaf's table has no column for a share, so this table is separate.
 * The row of a form has a ~ before the name, and its delta is the form's fingerprint. */
#include "store/postgresql/counter.h"

#include <inttypes.h>
#include <stdio.h>

bool vs_pg_make_shares(struct pg_store *self, struct vs_reply *reply) {
    return vs_pg_make_table(self, VS_SHARES,
                            "counters text COLLATE \"C\", tag text COLLATE \"C\", delta bigint NOT NULL,"
                            " remainder bigint NOT NULL, PRIMARY KEY (counters, tag)",
                            NULL, reply);
}

/* Reads the share. */
static bool pg_look_at_share(const struct vs_pg_call *call, const char *key, struct vs_share *share) {
    struct vs_sql sql = {.length = 0};
    vs_sql_add(&sql,
               "WITH s AS (SELECT delta, remainder FROM " VS_SHARES " WHERE counters = '%s' AND tag = '%s' FOR UPDATE)"
               " SELECT s.delta, s.remainder FROM (SELECT 1) AS one LEFT JOIN s ON true",
               key, call->tag);
    PGresult *result = vs_pg_row(call->self, &sql, 2, call->reply);
    if (!result) return false;
    *share = (struct vs_share){.delta = 0};
    bool is_whole = PQgetisnull(result, 0, 0) ||
                    (vs_pg_count(result, 0, 0, &share->delta) && vs_pg_count(result, 0, 1, &share->remainder));
    PQclear(result);
    return is_whole || vs_pg_no_answer(call->self, "the reply has a damaged row", call->reply);
}

static bool pg_insert_share(const struct vs_pg_call *call, const char *key, const struct vs_share *share) {
    struct vs_sql sql = {.length = 0};
    vs_sql_add(&sql,
               "INSERT INTO " VS_SHARES " (counters, tag, delta, remainder) VALUES ('%s', '%s', %" PRIu64 ", %" PRIu64
               ") ON CONFLICT DO NOTHING",
               key, call->tag, share->delta, share->remainder);
    vs_sent(call->reply);
    PGresult *result = vs_pg_run(call->self, &sql, 0, call->reply);
    PQclear(result);
    if (!result) return false;
    vs_reply_clear(call->reply); /* this call or another client has inserted the row, so read it */
    return true;
}

/* Returns whether the table is missing, or this user has no right to use it. */
static bool pg_lacks_table(const struct vs_pg_call *call) {
    return call->reply->fault == VS_FAULT_NO_TABLES || call->reply->fault == VS_FAULT_GRANT;
}

/* Reads the share, and inserts it if it is missing. */
static bool pg_find_or_keep(const struct vs_pg_call *call, const char *key, const struct vs_share *share,
                            struct vs_share *stands) {
    if (!pg_look_at_share(call, key, stands)) {
        if (call->reply->fault != VS_FAULT_NO_TABLES) return false;
        vs_reply_clear(call->reply);
        if (!vs_pg_make_shares(call->self, call->reply) || !pg_look_at_share(call, key, stands)) return false;
    }
    return stands->delta || !share->delta || (pg_insert_share(call, key, share) && pg_look_at_share(call, key, stands));
}

/* Returns whether the call can succeed without a stored share.  A database that grants all numbers alone does not need
 * a stored share.  The counters' table may be Leaf's, and vesta may have no right to other tables. */
static bool pg_may_do_without(const struct vs_pg_call *call, const struct vs_share *share) {
    return share->delta == 1 && call->reply->outcome == VS_STORE_REFUSED;
}

static void pg_say_lack(const struct vs_pg_call *call) {
    if (!pg_lacks_table(call)) return;
    vs_pg_say_grant(call->self, VS_PG_OWN_RIGHTS, VS_SHARES, call->reply);
    call->reply->by = VS_BY_RIGHTS;
    call->reply->outcome = VS_STORE_REFUSED;
    if (call->reply->fault == VS_FAULT_NO_TABLES) call->reply->fault = VS_FAULT_NO_COUNTERS;
}

void vs_pg_share(struct vs_store *store, const struct vs_counter *counter, const struct vs_share *share,
                 struct vs_reply *reply) {
    struct vs_pg_call call;
    struct vs_tag row;
    struct vs_share stands;
    if (!vs_pg_call_begin(&call, store, counter, reply) || !vs_pg_call_load(&call, &row)) return;
    if (row.delta > 1) /* tinyid's rows contain the share */
        vs_done(reply);
    else if (pg_find_or_keep(&call, call.table, share, &stands))
        vs_share_answer(&stands, share, reply);
    else if (pg_may_do_without(&call, share))
        vs_reply_clear(reply), vs_done(reply);
    else
        pg_say_lack(&call);
}

void vs_pg_form(struct vs_store *store, const struct vs_counter *counter, uint64_t fingerprint,
                struct vs_reply *reply) {
    char key[1 + VS_COUNTER_TABLE_MAX];
    struct vs_pg_call call;
    struct vs_share stands;
    if (!vs_pg_call_begin(&call, store, counter, reply)) return;
    snprintf(key, sizeof key, "~%s", call.table);
    if (pg_find_or_keep(&call, key, &(struct vs_share){.delta = fingerprint}, &stands))
        vs_form_answer(call.tag, stands.delta, fingerprint, reply);
    else
        pg_say_lack(&call);
}
