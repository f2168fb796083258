/* foreign.c -- the numbers in other generators' tables: Butterfly's butterfly_uuid_generator, UidGenerator's
 * WORKER_NODE, Vesta (Java)'s DB_MACHINE_ID_PROVIDER.  Reads only. */
#include "store/foreign.h"
#include "store/mysql/link.h"

#include <assert.h>
#include <inttypes.h>
#include <mysqld_error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Columns of each query: the number; when its holder stops (NULL: never, -1: it stopped); the holder; nothing; that
 * time as the server shows it, which is what a client wrote that sends its own zone's dates.  %s: the name, escaped. */
static const struct table {
    const char *name, *query;
    bool counts; /* by AUTO_INCREMENT: operators delete rows, and the counter still shows what was issued */
} tables[VS_FOREIGN_KINDS] = {
    [VS_BUTTERFLY_DB] = {"butterfly_uuid_generator",
                         "SELECT work_id, CAST(UNIX_TIMESTAMP(last_expire_time) * 1000 AS SIGNED),"
                         " CONCAT_WS(' ', ip, process_id, uid), '',"
                         " TIMESTAMPDIFF(SECOND, '1970-01-01', last_expire_time) * 1000"
                         " FROM butterfly_uuid_generator WHERE namespace = '%s' ORDER BY work_id LIMIT %d",
                         false},
    [VS_UID] = {"WORKER_NODE", /* a number is used once, by one start, and never again */
                "SELECT ID, NULL, CONCAT_WS(':', HOST_NAME, PORT), '', NULL FROM WORKER_NODE WHERE '' = '%s'"
                " ORDER BY ID LIMIT %d",
                true},
    [VS_VESTA_DB] =
        {"DB_MACHINE_ID_PROVIDER", /* a row without an address was never taken, or somebody freed it: it does not say */
         "SELECT ID, IF(IP IS NULL, -1, NULL), COALESCE(IP, ''), '', NULL FROM DB_MACHINE_ID_PROVIDER WHERE '' = '%s'"
         " ORDER BY ID LIMIT %d",
         false},
};

/* Earlier servers keep AUTO_INCREMENT in memory, and count from the highest row again when they start. */
bool vs_mysql_keeps_counters(MYSQL *my) {
    unsigned long version = mysql_get_server_version(my);
    return version >= 100204 || (version >= 80000 && version < 100000); /* MariaDB 10.2.4, MySQL 8.0 */
}

static bool take_row(struct mysql_store *self, const struct table *table, MYSQL_ROW row, struct vs_foreign_list *list,
                     struct vs_reply *reply) {
    uint64_t worker;
    int64_t until_ms = row[1] ? strtoll(row[1], NULL, 10) : VS_FOREIGN_EVER;
    if (!row[0] || !vs_is_number(row[0], &worker)) {
        return vs_answer(reply, VS_STORE_REFUSED, "%.60s: %s has a row with the number '%.20s'", self->place.where,
                         table->name, row[0] ? row[0] : "NULL");
    }
    if (!vs_foreign_add(list, worker, until_ms, row[2] ? row[2] : "", reply)) return false;
    assert(list->rows[list->count - 1].worker == worker);
    if (row[4]) list->rows[list->count - 1].wall_ms = strtoll(row[4], NULL, 10);
    return true;
}

/* What AUTO_INCREMENT says; NULL where no column has it. */
static void take_counter(struct mysql_store *self, const char *next, struct vs_foreign_list *list) {
    list->issued_first = 1;
    if (!next || !vs_is_number(next, &list->issued_until))
        list->doubt = "the table has no AUTO_INCREMENT";
    else if (!vs_mysql_keeps_counters(self->my))
        list->doubt = "this version of the server forgets AUTO_INCREMENT when it restarts";
}

/* Every row, and ours behind them. */
static bool take_rows(struct mysql_store *self, const struct table *table, MYSQL_RES *result,
                      struct vs_foreign_list *list, struct vs_reply *reply) {
    char nonce[24];
    MYSQL_ROW row;
    snprintf(nonce, sizeof nonce, "%" PRIu64, self->nonce);
    while ((row = mysql_fetch_row(result)) && row[3]) {
        if (strcmp(row[3], nonce) == 0) {
            if (table->counts) take_counter(self, row[2], list);
            return true;
        }
        if (!take_row(self, table, row, list, reply)) return false;
    }
    return vs_answer(reply, VS_STORE_DOWN, "%.60s: " VS_MYSQL_NO_ROW, self->place.where);
}

/* A table that is missing is not one of ours. */
static void mysql_foreign_trouble(struct mysql_store *self, struct vs_reply *reply) {
    unsigned error = mysql_errno(self->my);
    if (error == ER_NO_SUCH_TABLE || error == ER_BAD_FIELD_ERROR)
        vs_answer(reply, VS_STORE_REFUSED, "%.60s: %.90s", self->place.where, mysql_error(self->my));
    else
        vs_mysql_said_no(self, reply);
    vs_mysql_drop(self);
}

void vs_mysql_foreign(struct vs_store *store, enum vs_foreign_kind kind, const char *name, struct vs_foreign_list *list,
                      struct vs_reply *reply) {
    struct mysql_store *self = (struct mysql_store *)store;
    const struct table *table = &tables[kind];
    char escaped[2 * VS_FOREIGN_NAME_MAX + 1] = "", query[1200];
    size_t length = name ? strlen(name) : 0;
    assert(kind < VS_FOREIGN_KINDS);
    assert(list->count == 0); /* whose rows would be told as this database's */
    vs_reply_clear(reply);
    if (!table->name || length > VS_FOREIGN_NAME_MAX) {
        vs_answer(reply, VS_STORE_REFUSED, "%.60s: a database has no numbers of that kind", self->place.where);
        return;
    }
    if (!vs_mysql_begin(self, VS_STORE_LIST_MS, false, reply)) return;
    mysql_real_escape_string(self->my, escaped, name ? name : "", length);
    /* the last row is ours: where it is missing, so may others be */
    int used = snprintf(query, sizeof query, "(");
    used += snprintf(query + used, sizeof query - (size_t)used, table->query, escaped, VS_FOREIGN_MAX + 1);
    assert((size_t)used < sizeof query);
    used += snprintf(query + used, sizeof query - (size_t)used, ") UNION ALL (SELECT 0, NULL, ");
    if (table->counts)
        used += snprintf(query + used, sizeof query - (size_t)used,
                         "(SELECT MAX(auto_increment) FROM information_schema.tables WHERE table_schema = DATABASE()"
                         " AND table_name = '%s')",
                         table->name);
    else
        used += snprintf(query + used, sizeof query - (size_t)used, "NULL");
    used += snprintf(query + used, sizeof query - (size_t)used, ", '%" PRIu64 "', NULL)", ++self->nonce);
    assert((size_t)used < sizeof query); /* half of it would lack the row that says that it is whole */
    MYSQL_RES *result = mysql_query(self->my, query) == 0 ? mysql_store_result(self->my) : NULL;
    if (!result) {
        mysql_foreign_trouble(self, reply);
        return;
    }
    bool is_whole = mysql_num_fields(result) == 5 && take_rows(self, table, result, list, reply);
    mysql_free_result(result);
    if (is_whole) vs_done(reply);
}
