/* foreign.c -- reads the numbers in other generators' tables: Butterfly's butterfly_uuid_generator, UidGenerator's
 * WORKER_NODE, Vesta (Java)'s DB_MACHINE_ID_PROVIDER.
 *
 * Their projects publish tables for MySQL only.  In PostgreSQL, users may have created the names with or without
 * quotes. So the name of the table may also be in lower case, and columns are found by their names in lower case. */
#include "store/foreign.h"
#include "store/postgresql/counter.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CELL(name) "x.j->>'" name "'"

/* `number` is the column with the numbers.  `until` is the time at which a number's holder stops, NULL for never, or -1
 * if it has stopped.  `wall` is the same time as the server displays it, because clients write dates in their own time
 * zones.  `who` is the holder. */
static const struct pg_foreign {
    const char *name, *columns, *number, *until, *wall, *who;
    int column_count;
    bool is_named; /* the table has rows of several generators, by their names */
    bool counts;   /* the numbers come from a sequence, so it also has the numbers of deleted rows */
} pg_foreigns[VS_FOREIGN_KINDS] = {
    [VS_BUTTERFLY_DB] = {"butterfly_uuid_generator",
                         "'namespace', 'work_id', 'last_expire_time', 'uid', 'ip', 'process_id'", "work_id",
                         "FLOOR(EXTRACT(EPOCH FROM (" CELL("last_expire_time") ")::timestamptz) * 1000)",
                         "FLOOR(EXTRACT(EPOCH FROM (" CELL("last_expire_time") ")::timestamp) * 1000)",
                         "concat_ws(' ', " CELL("ip") ", " CELL("process_id") ", " CELL("uid") ")", 6, true, false},
    /* each start takes a new number, and old numbers are never reused */
    [VS_UID] = {"WORKER_NODE", "'id', 'host_name', 'port'", "id", "NULL", "NULL",
                "concat_ws(':', " CELL("host_name") ", " CELL("port") ")", 3, false, true},
    /* a row without an address was either never used or freed, and the table does not distinguish these */
    [VS_VESTA_DB] = {"DB_MACHINE_ID_PROVIDER", "'id', 'ip'", "id", "CASE WHEN " CELL("ip") " IS NULL THEN -1 END",
                     "NULL", "COALESCE(" CELL("ip") ", '')", 2, false, false},
};

/* The table's name as an SQL identifier, and the name of the numbers' sequence, or "". */
struct pg_foreign_table {
    char name[132], sequence[270];
};

/* Finds the table, and checks its columns. */
static bool pg_find_foreign(struct pg_store *self, const struct vs_foreign_ask *ask, const char *table,
                            struct pg_foreign_table *found, struct vs_reply *reply) {
    const struct pg_foreign *is = &pg_foreigns[ask->kind];
    struct vs_sql sql = {.length = 0};
    vs_sql_add(&sql,
               "SELECT MIN(quote_ident(c.relname)), COUNT(*) FILTER (WHERE lower(a.attname) IN (%s)),"
               " MIN(pg_get_serial_sequence(quote_ident(c.relname), a.attname)) FILTER (WHERE lower(a.attname) = '%s')"
               " FROM (SELECT 1) AS one LEFT JOIN pg_class AS c ON c.oid = COALESCE(to_regclass('\"%s\"'),"
               " to_regclass(quote_ident(lower('%s'))))"
               " LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped",
               is->columns, is->number, table, table);
    PGresult *result = vs_pg_row(self, &sql, 3, reply);
    if (!result) return false;
    int64_t columns = 0;
    bool is_there = !PQgetisnull(result, 0, 0), is_read = vs_pg_cell(result, 0, 1, &columns);
    snprintf(found->name, sizeof found->name, "%s", PQgetvalue(result, 0, 0));
    snprintf(found->sequence, sizeof found->sequence, "%s", PQgetvalue(result, 0, 2));
    PQclear(result);
    if (!is_read) return vs_pg_no_answer(self, VS_PG_NO_ROW, reply);
    if (!is_there)
        return vs_answer(
            reply, VS_STORE_REFUSED,
            "%.60s: there is no table %s in the schema %s. If the table has another name, use --table, and "
            "if it is in another schema, add schema=NAME to the URI",
            self->place.where, table, self->place.schema);
    return columns == is->column_count ||
           vs_answer(reply, VS_STORE_REFUSED, "%.60s: the table %s lacks one of the columns %s", self->place.where,
                     found->name, is->columns);
}

/* Adds the query for the rows.  In `x.j`, the names of a row's columns are in lower case. */
static void pg_add_foreign(const struct vs_foreign_ask *ask, const struct pg_foreign_table *found, struct vs_sql *sql) {
    const struct pg_foreign *is = &pg_foreigns[ask->kind];
    const char *name = ask->name ? ask->name : "";
    vs_sql_add(sql,
               "SELECT x.j->>'%s', %s, %s, %s FROM %s AS c CROSS JOIN LATERAL (SELECT jsonb_object_agg(lower(e.key),"
               " e.value) AS j FROM jsonb_each_text(to_jsonb(c)) AS e) AS x WHERE ",
               is->number, is->until, is->wall, is->who, found->name);
    if (is->is_named) {
        vs_sql_add(sql, CELL("namespace") " = convert_from(");
        vs_pg_bytes(sql, name, strlen(name));
        vs_sql_add(sql, ", 'UTF8') AND ");
    }
    vs_sql_add(sql,
               "(x.j->>'%s')::numeric NOT BETWEEN %" PRIu64 " AND %" PRIu64 " ORDER BY (x.j->>'%s')::numeric LIMIT %d",
               is->number, ask->skip_beyond > ask->skip_first ? ask->skip_first : 1,
               ask->skip_beyond > ask->skip_first ? ask->skip_beyond - 1 : 0, is->number, VS_FOREIGN_MAX + 1);
}

static bool pg_take_foreign(struct pg_store *self, const struct vs_foreign_ask *ask, const char *table,
                            const PGresult *result, struct vs_foreign_list *list, struct vs_reply *reply) {
    enum { COL_NUMBER, COL_UNTIL, COL_WALL, COL_WHO };
    for (int i = 0; i < PQntuples(result); i++) {
        struct vs_foreign row = {.until_ms = VS_FOREIGN_EVER};
        const char *number = PQgetvalue(result, i, COL_NUMBER);
        if (!vs_is_number(number, &row.worker))
            return vs_answer(reply, VS_STORE_REFUSED,
                             "%.60s: %s has a row with the number '%.20s', which is not a number", self->place.where,
                             table, number);
        if (!PQgetisnull(result, i, COL_UNTIL) && !vs_pg_cell(result, i, COL_UNTIL, &row.until_ms))
            row.until_ms = VS_FOREIGN_EVER; /* infinity */
        if (!vs_pg_cell(result, i, COL_WALL, &row.wall_ms)) row.wall_ms = 0;
        snprintf(row.who, sizeof row.who, "%s", PQgetvalue(result, i, COL_WHO));
        if (!vs_foreign_add(list, ask, &row, reply)) return false;
    }
    return true;
}

/* Finds out which numbers the sequence has issued. */
static bool pg_take_issued(struct pg_store *self, const struct pg_foreign_table *found, struct vs_foreign_list *list,
                           struct vs_reply *reply) {
    struct vs_sql sql = {.length = 0};
    list->issued_first = 1;
    if (!*found->sequence) {
        list->doubt = "the table's numbers have no sequence";
        return true;
    }
    vs_sql_add(&sql,
               "SELECT s.last_value + s.is_called::int, q.seqcycle::int FROM %s AS s JOIN pg_sequence AS q"
               " ON q.seqrelid = s.tableoid",
               found->sequence);
    PGresult *result = vs_pg_row(self, &sql, 2, reply);
    if (!result) {
        vs_pg_say_grant(self, "SELECT", found->sequence, reply);
        return false;
    }
    bool is_read = vs_pg_count(result, 0, 0, &list->issued_until);
    if (strcmp(PQgetvalue(result, 0, 1), "0") != 0) list->doubt = "the sequence starts again at its end";
    PQclear(result);
    return is_read || vs_pg_no_answer(self, VS_PG_NO_ROW, reply);
}

void vs_pg_foreign(struct vs_store *store, const struct vs_foreign_ask *ask, struct vs_foreign_list *list,
                   struct vs_reply *reply) {
    struct pg_store *self = (struct pg_store *)store;
    struct pg_foreign_table found = {.sequence = ""};
    struct vs_sql sql = {.length = 0};
    assert(ask->kind < VS_FOREIGN_KINDS);
    assert(list->count == 0); /* rows that are already in the list would appear as rows of this database */
    vs_reply_clear(reply);
    const struct pg_foreign *is = &pg_foreigns[ask->kind];
    const char *table = ask->table ? ask->table : is->name;
    if (!is->name || (ask->name && strlen(ask->name) > VS_FOREIGN_NAME_MAX)) {
        vs_answer(reply, VS_STORE_REFUSED, "%.60s: this generator does not keep its numbers in a database",
                  self->place.where);
        return;
    }
    if (strlen(table) > VS_FOREIGN_TABLE_MAX || strpbrk(table, "\"'\\")) {
        vs_answer(reply, VS_STORE_REFUSED, "%.60s: '%.70s' is not a valid table name", self->place.where, table);
        return;
    }
    if (!vs_pg_begin(self, VS_STORE_LIST_MS, false, reply) || !pg_find_foreign(self, ask, table, &found, reply)) return;
    pg_add_foreign(ask, &found, &sql);
    PGresult *result = vs_pg_run(self, &sql, 4, reply);
    if (!result) vs_pg_say_grant(self, "SELECT", table, reply);
    bool well = result && pg_take_foreign(self, ask, found.name, result, list, reply);
    PQclear(result);
    if (well && (!is->counts || pg_take_issued(self, &found, list, reply)) && vs_foreign_end(list, ask, reply))
        vs_done(reply);
}
