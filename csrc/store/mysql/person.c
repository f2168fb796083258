/* person.c -- operations for administrators: creating the tables, listing namespaces, and checking the server settings
 * that leases depend on. */
#include "base/array.h"
#include "store/mysql/link.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ------------------------------------------------------------------ the tables */

static const char *const tables[] = {
    "CREATE TABLE IF NOT EXISTS vesta_namespace (ns VARBINARY(64) NOT NULL PRIMARY KEY, ver BIGINT UNSIGNED NOT NULL,"
    " incarnation BIGINT UNSIGNED NOT NULL, record VARBINARY(2048) NOT NULL) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS vesta_lease (ns VARBINARY(64) NOT NULL, worker BIGINT UNSIGNED NOT NULL,"
    " ver BIGINT UNSIGNED NOT NULL, written_us BIGINT NOT NULL, record VARBINARY(2048) NOT NULL,"
    " PRIMARY KEY (ns, worker)) ENGINE=InnoDB",
};

void vs_mysql_init(struct vs_store *store, struct vs_reply *reply) {
    struct mysql_store *self = (struct mysql_store *)store;
    vs_mysql_drop(self);
    if (!vs_mysql_begin(self, VS_STORE_LIST_MS, false, reply)) return;
    struct vs_reply seen = *reply;
    if (vs_mysql_check(&self->place, self->my, true, &seen)) { /* only the first init needs the right to CREATE */
        vs_done(reply);
        return;
    }
    for (size_t i = 0; i < VS_COUNT(tables); i++)
        if (mysql_query(self->my, tables[i]) != 0) {
            vs_mysql_said_no(self, reply);
            return;
        }
    if (vs_mysql_check(&self->place, self->my, true, reply)) vs_done(reply);
}

/* Adds a range condition on the primary key, so that only matching namespaces are scanned. */
static void add_kin(struct vs_sql *sql, const char *of) {
    char end[VESTA_NAMESPACE_MAX + 1];
    if (!of) return;
    int length = snprintf(end, sizeof end, "%s/", of); /* '/' follows '.' in ASCII */
    assert((size_t)length < sizeof end);
    vs_sql_add(sql, " AND n.ns >= ");
    vs_sql_bytes(sql, of, (size_t)length - 1);
    vs_sql_add(sql, " AND n.ns < ");
    vs_sql_bytes(sql, end, (size_t)length);
}

void vs_mysql_names(struct vs_store *store, const char *of, void (*tell)(void *to, const char *name), void *to,
                    struct vs_reply *reply) {
    struct mysql_store *self = (struct mysql_store *)store;
    struct vs_sql sql = {.length = 0};
    struct vs_rows rows;
    int found, count = 0;
    if (!vs_mysql_begin(self, VS_STORE_LIST_MS, true, reply)) return;
    vs_sql_add(&sql, "SELECT %" PRIu64 ", n.ns, (SELECT COUNT(*) FROM vesta_namespace AS n WHERE 1 = 1",
               vs_mysql_nonce(self));
    add_kin(&sql, of);
    vs_sql_add(&sql, ") FROM (SELECT 1) AS one LEFT JOIN vesta_namespace AS n ON 1 = 1");
    add_kin(&sql, of);
    if (!vs_mysql_list(self, &sql, 3, &rows, reply)) return;
    for (; (found = vs_mysql_fetch(self, &rows, reply)) == 1; count++)
        if (rows.row[1]) tell(to, rows.row[1]);
    if (found < 0) return;
    vs_mysql_rows_done(&rows);
    if (count)
        vs_done(reply);
    else
        vs_mysql_no_answer(self, VS_MYSQL_NO_ROW, reply);
}

/* ------------------------------------------------------------------ the server's settings */

/* The required settings.  With other values, an acknowledged write may be lost in a power cut. */
static const struct setting {
    const char *name, *wanted, *todo;
} settings[] = {
    {"innodb_flush_log_at_trx_commit", "1",
     "set innodb_flush_log_at_trx_commit=1: a power cut loses acknowledged writes"},
    {"sync_binlog", "1", "set sync_binlog=1: a fail-over after a power cut loses acknowledged writes"},
};

static void mysql_person_look_at(const char *name, const char *value, bool has_binlog,
                                 void (*tell)(void *to, const char *what, const char *todo), void *to) {
    char what[100];
    for (size_t i = 0; i < VS_COUNT(settings); i++) {
        const struct setting *setting = &settings[i];
        bool matters = i == 0 || has_binlog;
        if (strcasecmp(name, setting->name) != 0 || strcmp(value, setting->wanted) == 0 || !matters) continue;
        int length = snprintf(what, sizeof what, "%s is %.20s", setting->name, value);
        assert((size_t)length < sizeof what); /* increase the size of `what` */
        (void)length;
        tell(to, what, setting->todo);
    }
}

void vs_mysql_inspect(struct vs_store *store, vs_tell_fault *tell, void *to, struct vs_reply *reply) {
    struct mysql_store *self = (struct mysql_store *)store;
    if (!vs_mysql_begin(self, VS_STORE_LIST_MS, false, reply)) return;
    static const char query[] = "SHOW GLOBAL VARIABLES WHERE Variable_name IN"
                                " ('log_bin', 'innodb_flush_log_at_trx_commit', 'sync_binlog')";
    MYSQL_RES *result = mysql_query(self->my, query) == 0 ? mysql_store_result(self->my) : NULL;
    if (!result || mysql_num_fields(result) != 2) {
        vs_mysql_said_no(self, reply);
        mysql_free_result(result);
        return;
    }
    MYSQL_ROW row;
    bool has_binlog = false, is_whole = false;
    while ((row = mysql_fetch_row(result)))
        has_binlog |= row[0] && row[1] && strcasecmp(row[0], "log_bin") == 0 && strcmp(row[1], "ON") == 0;
    mysql_data_seek(result, 0);
    for (; (row = mysql_fetch_row(result)); is_whole = true)
        if (row[0] && row[1]) mysql_person_look_at(row[0], row[1], has_binlog, tell, to);
    mysql_free_result(result);
    if (is_whole)
        vs_done(reply);
    else
        vs_mysql_no_answer(self, VS_MYSQL_NO_ROW, reply);
}
