/* person.c -- operations for administrators: creating the tables, listing namespaces, and checking the server settings
 * that leases depend on. */
#include "base/array.h"
#include "store/postgresql/link.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ the tables */

/* numeric(20) holds every 64-bit number without a sign.  With COLLATE "C", a range of names is a range of bytes. */
static void pg_say_tables(const char *schema, struct vs_sql *sql) {
    vs_sql_add(sql,
               "CREATE TABLE IF NOT EXISTS \"%s\".vesta_namespace (ns varchar(64) COLLATE \"C\" PRIMARY KEY,"
               " ver numeric(20) NOT NULL, incarnation numeric(20) NOT NULL, record bytea NOT NULL);"
               "CREATE TABLE IF NOT EXISTS \"%s\".vesta_lease (ns varchar(64) COLLATE \"C\" NOT NULL,"
               " worker bigint NOT NULL, ver numeric(20) NOT NULL, written_us bigint NOT NULL, record bytea NOT NULL,"
               " PRIMARY KEY (ns, worker))",
               schema, schema);
}

void vs_pg_init(struct vs_store *store, struct vs_reply *reply) {
    struct pg_store *self = (struct pg_store *)store;
    struct pg_wait wait = {store, 0};
    struct vs_sql sql = {.length = 0};
    vs_pg_drop(self);
    if (!vs_pg_begin(self, VS_STORE_LIST_MS, false, reply)) return;
    struct vs_reply seen = *reply;
    /* only the first init needs the right to CREATE */
    if (vs_pg_check_tables(&self->place, self->link, &wait, &seen)) {
        vs_done(reply);
        return;
    }
    if (seen.fault != VS_FAULT_NO_TABLES) {
        *reply = seen;
        vs_pg_drop(self);
        return;
    }
    pg_say_tables(self->place.schema, &sql);
    PGresult *result = vs_pg_run(self, &sql, 0, reply);
    PQclear(result);
    if (result && vs_pg_check_tables(&self->place, self->link, &wait, reply))
        vs_done(reply);
    else if (reply->outcome == VS_STORE_CONFLICT)
        vs_answer(reply, VS_STORE_DOWN, "%.60s: another process creates the tables now: try again", self->place.where);
}

void vs_pg_names(struct vs_store *store, const char *of, void (*tell)(void *to, const char *name), void *to,
                 struct vs_reply *reply) {
    struct pg_store *self = (struct pg_store *)store;
    struct vs_sql sql = {.length = 0};
    if (!vs_pg_begin(self, VS_STORE_LIST_MS, true, reply)) return;
    vs_sql_add(&sql, "SELECT ns FROM vesta_namespace");
    if (of) { /* a range of the primary key: '/' follows '.' in ASCII */
        assert(vs_tag_is_named(of));
        vs_sql_add(&sql, " WHERE ns >= '%s' AND ns < '%s/'", of, of);
    }
    PGresult *result = vs_pg_run(self, &sql, 1, reply);
    if (!result) return;
    for (int i = 0; i < PQntuples(result); i++)
        tell(to, PQgetvalue(result, i, 0));
    PQclear(result);
    vs_done(reply);
}

/* ------------------------------------------------------------------ the server's settings */

/* The required settings.  With other values, an acknowledged write may be lost in a power cut. */
static const struct pg_setting {
    const char *name, *wanted, *todo;
} pg_settings[] = {
    {"fsync", "on", "set fsync=on: a power cut loses acknowledged writes, and may damage the database"},
    {"full_page_writes", "on", "set full_page_writes=on: a power cut may damage the database"},
};

static void pg_look_at(const char *name, const char *value, vs_tell_fault *tell, void *to) {
    char what[100];
    for (size_t i = 0; i < VS_COUNT(pg_settings); i++) {
        if (strcmp(name, pg_settings[i].name) != 0 || strcmp(value, pg_settings[i].wanted) == 0) continue;
        snprintf(what, sizeof what, "%s is %.20s", name, value);
        tell(to, what, pg_settings[i].todo);
    }
}

void vs_pg_inspect(struct vs_store *store, vs_tell_fault *tell, void *to, struct vs_reply *reply) {
    struct pg_store *self = (struct pg_store *)store;
    struct vs_sql sql = {.length = 0};
    if (!vs_pg_begin(self, VS_STORE_LIST_MS, false, reply)) return;
    vs_sql_add(&sql, "SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes')");
    PGresult *result = vs_pg_run(self, &sql, 2, reply);
    if (!result) return;
    int rows = PQntuples(result);
    for (int i = 0; i < rows; i++)
        pg_look_at(PQgetvalue(result, i, 0), PQgetvalue(result, i, 1), tell, to);
    PQclear(result);
    if (rows == (int)VS_COUNT(pg_settings))
        vs_done(reply);
    else
        vs_pg_no_answer(self, VS_PG_NO_ROW, reply);
}
