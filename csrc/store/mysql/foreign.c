/* foreign.c -- reads the numbers in other generators' tables: Butterfly's butterfly_uuid_generator, UidGenerator's
 * WORKER_NODE, Vesta (Java)'s DB_MACHINE_ID_PROVIDER. */
#include "store/foreign.h"
#include "store/mysql/link.h"

#include <assert.h>
#include <inttypes.h>
#include <mysqld_error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The columns of each query are: the number; the time at which its holder stops, NULL for never, or -1 if it has
 * stopped; the holder; an empty string; and the same time as the server displays it, because clients write dates in
 * their own time zones.  The arguments of each query are: the table, the escaped name, the first and the last number to
 * skip, and the maximum number of rows. */
static const struct table {
    const char *name, *query;
    bool counts; /* numbers come from AUTO_INCREMENT, which also counts deleted rows */
} tables[VS_FOREIGN_KINDS] = {
    [VS_BUTTERFLY_DB] = {"butterfly_uuid_generator",
                         "SELECT work_id, CAST(UNIX_TIMESTAMP(last_expire_time) * 1000 AS SIGNED),"
                         " CONCAT_WS(' ', ip, process_id, uid), '',"
                         " TIMESTAMPDIFF(SECOND, '1970-01-01', last_expire_time) * 1000"
                         " FROM `%s` WHERE namespace = '%s' AND work_id NOT BETWEEN %" PRIu64 " AND %" PRIu64
                         " ORDER BY work_id LIMIT %d",
                         false},
    [VS_UID] = {"WORKER_NODE", /* each start takes a new number, and old numbers are never reused */
                "SELECT ID, NULL, CONCAT_WS(':', HOST_NAME, PORT), '', NULL FROM `%s` WHERE '' = '%s'"
                " AND ID NOT BETWEEN %" PRIu64 " AND %" PRIu64 " ORDER BY ID LIMIT %d",
                true},
    /* a row without an address was either never used or freed, and the table does not distinguish these */
    [VS_VESTA_DB] = {"DB_MACHINE_ID_PROVIDER",
                     "SELECT ID, IF(IP IS NULL, -1, NULL), COALESCE(IP, ''), '', NULL FROM `%s` WHERE '' = '%s'"
                     " AND ID NOT BETWEEN %" PRIu64 " AND %" PRIu64 " ORDER BY ID LIMIT %d",
                     false},
};

/* Returns whether AUTO_INCREMENT survives a restart.  Older servers store it only in memory.  After a restart, they
 * continue from the highest row. */
bool vs_mysql_keeps_counters(MYSQL *my) {
    unsigned long version = mysql_get_server_version(my);
    return version >= 100204 || (version >= 80000 && version < 100000); /* since MariaDB 10.2.4 and MySQL 8.0 */
}

static bool take_row(struct mysql_store *self, const struct vs_foreign_ask *ask, const char *table, MYSQL_ROW row,
                     struct vs_foreign_list *list, struct vs_reply *reply) {
    struct vs_foreign found = {.until_ms = row[1] ? strtoll(row[1], NULL, 10) : VS_FOREIGN_EVER,
                               .wall_ms = row[4] ? strtoll(row[4], NULL, 10) : 0};
    if (!row[0] || !vs_is_number(row[0], &found.worker)) {
        return vs_answer(reply, VS_STORE_REFUSED, "%.60s: %s has a row with the number '%.20s', which is not a number",
                         self->place.where, table, row[0] ? row[0] : "NULL");
    }
    snprintf(found.who, sizeof found.who, "%s", row[2] ? row[2] : "");
    return vs_foreign_add(list, ask, &found, reply);
}

/* Computes which numbers were issued from AUTO_INCREMENT.  `next` is NULL if no column has AUTO_INCREMENT. */
static void take_counter(struct mysql_store *self, const char *next, struct vs_foreign_list *list) {
    list->issued_first = 1;
    if (!next || !vs_is_number(next, &list->issued_until))
        list->doubt = "the table has no AUTO_INCREMENT";
    else if (!vs_mysql_keeps_counters(self->my))
        list->doubt = "this version of the server forgets AUTO_INCREMENT when it restarts";
}

/* Takes all rows up to the end row, which foreign_write adds to the query. */
static bool take_rows(struct mysql_store *self, const struct vs_foreign_ask *ask, const char *table, MYSQL_RES *result,
                      struct vs_foreign_list *list, struct vs_reply *reply) {
    char nonce[24];
    MYSQL_ROW row;
    snprintf(nonce, sizeof nonce, "%" PRIu64, self->nonce);
    while ((row = mysql_fetch_row(result)) && row[3]) {
        if (strcmp(row[3], nonce) == 0) {
            if (tables[ask->kind].counts) take_counter(self, row[2], list);
            return vs_foreign_end(list, ask, reply);
        }
        if (!take_row(self, ask, table, row, list, reply)) return false;
    }
    return vs_answer(reply, VS_STORE_DOWN, "%.60s: " VS_MYSQL_NO_ROW, self->place.where);
}

/* Fills the reply from the error.  The usual remedy for a missing table does not apply, because this table does not
 * belong to vesta. */
static void mysql_foreign_trouble(struct mysql_store *self, struct vs_reply *reply) {
    unsigned error = mysql_errno(self->my);
    if (error == ER_NO_SUCH_TABLE || error == ER_BAD_FIELD_ERROR)
        vs_answer(reply, VS_STORE_REFUSED, "%.60s: %.500s%s", self->place.where, mysql_error(self->my),
                  error == ER_NO_SUCH_TABLE ? ". If the table has another name, use --table" : "");
    else
        vs_mysql_said_no(self, reply);
    vs_mysql_drop(self);
}

/* Writes the query with a UNION that adds an end row.  If the result lacks that row, other rows may be missing, too. */
static void foreign_write(struct mysql_store *self, const struct vs_foreign_ask *ask, const char *table, char *query,
                          size_t size) {
    char escaped[2 * VS_FOREIGN_NAME_MAX + 1] = "", counter[300] = "NULL";
    const char *name = ask->name ? ask->name : "";
    bool skips = ask->skip_beyond > ask->skip_first;
    mysql_real_escape_string(self->my, escaped, name, strlen(name));
    if (tables[ask->kind].counts)
        snprintf(counter, sizeof counter,
                 "(SELECT MAX(auto_increment) FROM information_schema.tables WHERE table_schema = DATABASE()"
                 " AND table_name = '%s')",
                 table);
    int used = snprintf(query, size, "(");
    used += snprintf(query + used, size - (size_t)used, tables[ask->kind].query, table, escaped,
                     skips ? ask->skip_first : 1, skips ? ask->skip_beyond - 1 : 0, VS_FOREIGN_MAX + 1);
    assert((size_t)used < size);
    used += snprintf(query + used, size - (size_t)used, ") UNION ALL (SELECT 0, NULL, %s, '%" PRIu64 "', NULL)",
                     counter, ++self->nonce);
    assert((size_t)used < size); /* a truncated query would have no end row */
}

void vs_mysql_foreign(struct vs_store *store, const struct vs_foreign_ask *ask, struct vs_foreign_list *list,
                      struct vs_reply *reply) {
    struct mysql_store *self = (struct mysql_store *)store;
    char query[1600];
    assert(ask->kind < VS_FOREIGN_KINDS);
    assert(list->count == 0); /* rows that are already in the list would appear as rows of this database */
    vs_reply_clear(reply);
    const char *table = ask->table ? ask->table : tables[ask->kind].name;
    if (!tables[ask->kind].name || (ask->name && strlen(ask->name) > VS_FOREIGN_NAME_MAX)) {
        vs_answer(reply, VS_STORE_REFUSED, "%.60s: this generator does not keep its numbers in a database",
                  self->place.where);
        return;
    }
    if (strlen(table) > VS_FOREIGN_TABLE_MAX || strpbrk(table, "`'\\")) {
        vs_answer(reply, VS_STORE_REFUSED, "%.60s: '%.70s' is not a valid table name", self->place.where, table);
        return;
    }
    if (!vs_mysql_begin(self, VS_STORE_LIST_MS, false, reply)) return;
    foreign_write(self, ask, table, query, sizeof query);
    MYSQL_RES *result = mysql_query(self->my, query) == 0 ? mysql_store_result(self->my) : NULL;
    if (!result) {
        mysql_foreign_trouble(self, reply);
        return;
    }
    bool is_whole = mysql_num_fields(result) == 5 && take_rows(self, ask, table, result, list, reply);
    mysql_free_result(result);
    if (is_whole) vs_done(reply);
}
