/* postgresql.c -- the store in PostgreSQL: postgresql://user:password@host:5432/database.
 *
 * In its tables (store/sql.h), `record` is text (lease/record.h), stored as bytes, because its holder may contain
 * characters that the database's encoding lacks.  Compare-and-set uses the other columns.  The server sets written_us.
 *
 * A write is one transaction in one message: UPDATE ... WHERE ver = ?.  It also requires that the stored record is
 * complete, that it belongs to the same claim or to the claim before it, and that the namespace's record is unchanged.
 * FOR SHARE locks the namespace's record until the commit, so an administrator's repair and a write exclude each other.
 * No lock is held between two messages, so a client that stops does not block others.
 *
 * A read does not lock.  At READ COMMITTED it returns the last committed state.  Its transaction asks for write access,
 * so a standby rejects it, also if a proxy sends reads to standbys.
 *
 * Every reply ends with a row that contains the nonce of its message (link.h).  Any other reply is ignored, and the
 * outcome stays DOWN, or UNKNOWN for a write. */
#include "store/postgresql/counter.h"
#include "store/postgresql/link.h"
#include "base/array.h"
#include "base/error.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct vs_backend vs_store_postgresql;

#define PORT 5432
_Static_assert(2 * (VS_RECORD_TEXT_MAX + 2 * VS_SQL_LIKE_MAX) + 2 * VESTA_NAMESPACE_MAX + 1024 < VS_SQL_MAX,
               "the longest write, in hex digits, fits a statement");

/* The columns of every SELECT of records. */
enum { COL_RECORD, COL_VER, COL_NUMBER, COL_WRITTEN, COLUMNS };

static const char *const keys[] = {"tls", "ca", "secret_file", "socket", "schema", NULL};
_Static_assert(VS_COUNT(keys) == KEY_SCHEMA + 2, "a place for each key, and the end");

static struct pg_store *pg_self_of(struct vs_store *store) {
    assert(store->backend == &vs_store_postgresql);
    return (struct pg_store *)store;
}

/* ------------------------------------------------------------------ rows */

static int pg_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes the hex digits of a cell.  Returns false if they are damaged. */
static bool pg_read_hex(const char *hex, size_t digits, struct vs_sql_row *row) {
    for (row->length = 0; row->length < sizeof row->record && digits >= 2; digits -= 2, hex += 2) {
        int high = pg_digit(hex[0]), low = pg_digit(hex[1]);
        if (high < 0 || low < 0) return false;
        row->record[row->length++] = (char)(high << 4 | low);
    }
    return digits != 1;
}

/* Copies a row.  Returns false if it is not a row of these columns. */
static bool pg_read_row(const PGresult *result, int at, struct vs_sql_row *row) {
    memset(row, 0, sizeof *row);
    return pg_read_hex(PQgetvalue(result, at, COL_RECORD), (size_t)PQgetlength(result, at, COL_RECORD), row) &&
           vs_pg_count(result, at, COL_VER, &row->ver) && vs_pg_count(result, at, COL_NUMBER, &row->number) &&
           vs_pg_cell(result, at, COL_WRITTEN, &row->written_us);
}

/* ------------------------------------------------------------------ statements */

static void pg_add_name(const struct pg_store *self, struct vs_sql *sql) {
    assert(vs_tag_is_named(self->namespace_)); /* so the name is safe inside quotes */
    vs_sql_add(sql, "'%s'", self->namespace_);
}

/* Reads at most one row.  Returns false if the reply cannot be used.  *is_there: whether there is a row. */
static bool pg_select(struct pg_store *self, const struct vs_sql *sql, struct vs_sql_row *row, bool *is_there,
                      struct vs_reply *reply) {
    PGresult *result = vs_pg_run(self, sql, COLUMNS, reply);
    if (!result) return false;
    int rows = PQntuples(result);
    bool is_whole = rows == 0 || (rows == 1 && pg_read_row(result, 0, row));
    PQclear(result);
    *is_there = rows == 1;
    return is_whole || vs_pg_no_answer(self, "the reply has a damaged row, or more than one", reply);
}

/* Reads a lease's record into reply->record.  Sets ver to 0 if there is no record. */
static bool pg_load_record(struct vs_store *store, uint64_t worker, struct vs_reply *reply) {
    struct pg_store *self = pg_self_of(store);
    struct vs_sql sql = {.length = 0};
    struct vs_sql_row row;
    bool is_there;
    vs_sql_add(&sql,
               "SELECT encode(record, 'hex'), ver, worker, written_us FROM vesta_lease WHERE worker = %" PRIu64
               " AND ns = ",
               worker);
    pg_add_name(self, &sql);
    memset(&reply->record, 0, sizeof reply->record);
    if (!pg_select(self, &sql, &row, &is_there, reply)) return false;
    if (!is_there) return true;
    if (row.number != worker) return vs_pg_no_answer(self, "the reply belongs to another statement", reply);
    return vs_sql_take_record(&row, self->place.where, reply);
}

static bool pg_load_ns(struct vs_store *store, struct vs_reply *reply) {
    struct pg_store *self = pg_self_of(store);
    struct vs_sql sql = {.length = 0};
    struct vs_sql_row row;
    bool is_there;
    vs_sql_add(&sql, "SELECT encode(record, 'hex'), ver, incarnation, 0 FROM vesta_namespace WHERE ns = ");
    pg_add_name(self, &sql);
    memset(&reply->ns, 0, sizeof reply->ns);
    if (!pg_select(self, &sql, &row, &is_there, reply)) return false;
    return !is_there || vs_sql_take_ns(&row, self->place.where, reply);
}

static struct vs_sql_leases pg_leases_of(struct pg_store *self) {
    return (struct vs_sql_leases){&self->base, self->place.where, &self->met, pg_load_ns, pg_load_record};
}

/* The end of a write: returns the number of written rows, and their time. */
#define COUNT_WRITTEN(time) " RETURNING " time " AS us) SELECT COUNT(*), COALESCE(MAX(us), 0) FROM written"

static enum vs_fate pg_write_row(struct pg_store *self, const struct vs_sql *sql, struct vs_reply *reply) {
    uint64_t rows;
    int64_t written_us;
    vs_sent(reply);
    PGresult *result = vs_pg_row(self, sql, 2, reply);
    if (!result) /* a conflict: the primary key already exists */
        return reply->outcome == VS_STORE_CONFLICT ? VS_FATE_NONE : VS_FATE_TOLD;
    bool is_read = vs_pg_count(result, 0, 0, &rows) && rows <= 1 && vs_pg_cell(result, 0, 1, &written_us);
    PQclear(result);
    if (!is_read) {
        vs_pg_no_answer(self, "the reply belongs to another statement", reply);
        return VS_FATE_TOLD;
    }
    if (written_us > 0) reply->store_ms = written_us / 1000; /* a namespace has no time of its write */
    return rows ? VS_FATE_DONE : VS_FATE_NONE;
}

/* ------------------------------------------------------------------ operations */

static void pg_store_read(struct vs_store *store, uint64_t worker, struct vs_reply *reply) {
    struct pg_store *self = pg_self_of(store);
    if (vs_pg_begin(self, self->call_ms_max, true, reply) && pg_load_record(store, worker, reply)) vs_done(reply);
}

static void pg_add_record(struct vs_sql *sql, const struct vs_record *record) {
    char text[VS_RECORD_TEXT_MAX];
    vs_pg_bytes(sql, text, vs_record_write(record, text));
}

/* Adds `met`, a row that exists only if the namespace's record has not changed since it was read, and locks it. */
static void pg_add_met(const struct pg_store *self, struct vs_sql *sql) {
    assert(self->met.ver); /* vs_sql_knows_namespace has been called */
    vs_sql_add(sql,
               "WITH met AS (SELECT 1 FROM vesta_namespace WHERE ver = %" PRIu64 " AND incarnation = %" PRIu64
               " AND ns = ",
               self->met.ver, self->met.incarnation);
    pg_add_name(self, sql);
    vs_sql_add(sql, " FOR SHARE), ");
}

static void pg_say_insert(struct pg_store *self, uint64_t worker, const struct vs_record *record, struct vs_sql *sql) {
    assert(record->ver == 1);
    pg_add_met(self, sql);
    vs_sql_add(sql, "written AS (INSERT INTO vesta_lease (ns, worker, ver, written_us, record) SELECT ");
    pg_add_name(self, sql);
    vs_sql_add(sql, ", %" PRIu64 ", %" PRIu64 ", " VS_PG_CLOCK ", ", worker, record->ver);
    pg_add_record(sql, record);
    vs_sql_add(sql, " FROM met ON CONFLICT (ns, worker) DO NOTHING" COUNT_WRITTEN("written_us"));
}

static void pg_say_update(struct pg_store *self, uint64_t worker, uint64_t old_ver, const struct vs_record *record,
                          struct vs_sql *sql) {
    char like[VS_SQL_LIKE_MAX];
    assert(record->ver == old_ver + 1);
    pg_add_met(self, sql);
    vs_sql_add(sql,
               "written AS (UPDATE vesta_lease AS l SET ver = %" PRIu64 ", written_us = " VS_PG_CLOCK ", record = ",
               record->ver);
    pg_add_record(sql, record);
    vs_sql_add(sql, " FROM met WHERE l.worker = %" PRIu64 " AND l.ver = %" PRIu64 " AND l.ns = ", worker, old_ver);
    pg_add_name(self, sql);
    vs_sql_add(sql, " AND (l.record LIKE ");
    vs_pg_bytes(sql, like, vs_sql_like_own(like, old_ver, record));
    vs_sql_add(sql, " OR l.record LIKE ");
    vs_pg_bytes(sql, like, vs_sql_like_last(like, old_ver, record));
    vs_sql_add(sql, ")" COUNT_WRITTEN("l.written_us"));
}

static void pg_store_swap(struct vs_store *store, uint64_t worker, uint64_t old_ver, const struct vs_record *record,
                          struct vs_reply *reply) {
    struct pg_store *self = pg_self_of(store);
    const struct vs_sql_leases leases = pg_leases_of(self);
    struct vs_sql sql = {.length = 0};
    if (!vs_pg_begin(self, self->call_ms_max, true, reply) || !vs_sql_knows_namespace(&leases, reply)) return;
    if (old_ver)
        pg_say_update(self, worker, old_ver, record, &sql);
    else
        pg_say_insert(self, worker, record, &sql);
    vs_sql_swapped(&leases, pg_write_row(self, &sql, reply), worker, old_ver, record, reply);
}

static void pg_store_ns_read(struct vs_store *store, struct vs_reply *reply) {
    struct pg_store *self = pg_self_of(store);
    if (!vs_pg_begin(self, self->call_ms_max, true, reply) || !pg_load_ns(store, reply)) return;
    vs_meet(&self->met, reply);
    vs_done(reply);
}

static void pg_say_ns_swap(struct pg_store *self, uint64_t old_ver, const struct vs_ns_record *record,
                           struct vs_sql *sql) {
    char text[VS_RECORD_TEXT_MAX];
    assert(record->ver == old_ver + 1);
    size_t length = vs_ns_record_write(record, text);
    if (old_ver) {
        vs_sql_add(
            sql, "WITH written AS (UPDATE vesta_namespace SET ver = %" PRIu64 ", incarnation = %" PRIu64 ", record = ",
            record->ver, record->incarnation);
        vs_pg_bytes(sql, text, length);
        vs_sql_add(sql, " WHERE ver = %" PRIu64 " AND ns = ", old_ver);
        pg_add_name(self, sql);
    } else {
        vs_sql_add(sql, "WITH written AS (INSERT INTO vesta_namespace (ns, ver, incarnation, record) VALUES (");
        pg_add_name(self, sql);
        vs_sql_add(sql, ", %" PRIu64 ", %" PRIu64 ", ", record->ver, record->incarnation);
        vs_pg_bytes(sql, text, length);
        vs_sql_add(sql, ") ON CONFLICT (ns) DO NOTHING");
    }
    vs_sql_add(sql, COUNT_WRITTEN("0"));
}

static void pg_store_ns_swap(struct vs_store *store, uint64_t old_ver, const struct vs_ns_record *record,
                             struct vs_reply *reply) {
    struct pg_store *self = pg_self_of(store);
    struct vs_sql sql = {.length = 0};
    if (!vs_pg_begin(self, self->call_ms_max, true, reply)) return;
    pg_say_ns_swap(self, old_ver, record, &sql);
    const struct vs_sql_leases leases = pg_leases_of(self);
    vs_sql_ns_swapped(&leases, pg_write_row(self, &sql, reply), record, reply);
}

/* ------------------------------------------------------------------ listing */

static void pg_store_list(struct vs_store *store, struct vs_listed **listed, size_t *count, struct vs_reply *reply) {
    struct pg_store *self = pg_self_of(store);
    struct vs_sql sql = {.length = 0};
    struct vs_growing_list list = {listed, count, 0};
    struct vs_sql_row row;
    *listed = NULL;
    *count = 0;
    if (!vs_pg_begin(self, VS_STORE_LIST_MS, true, reply)) return;
    vs_sql_add(&sql, "SELECT encode(record, 'hex'), ver, worker, written_us FROM vesta_lease WHERE ns = ");
    pg_add_name(self, &sql);
    vs_sql_add(&sql, " ORDER BY worker");
    PGresult *result = vs_pg_run(self, &sql, COLUMNS, reply);
    bool well = result;
    for (int at = 0; well && at < PQntuples(result); at++)
        well = pg_read_row(result, at, &row)
                   ? vs_sql_take_record(&row, self->place.where, reply) && vs_list_add(&list, row.number, reply)
                   : vs_pg_no_answer(self, "the reply has a damaged row", reply);
    PQclear(result);
    if (well) vs_done(reply);
}

/* Parks the connection in the pool instead of closing it, because opening a connection costs several round trips. */
static void pg_store_idle(struct vs_store *store, int64_t now_boot_us, int64_t until_boot_us) {
    (void)until_boot_us;
    vs_pg_park(pg_self_of(store), now_boot_us);
}

/* ------------------------------------------------------------------ opening */

static int pg_read_hosts(struct pg_place *self, struct vesta_error *err) {
    int rc = VESTA_OK;
    const char *at = self->uri.hosts;
    for (bool is_last = false; rc == VESTA_OK && !is_last;) {
        char text[sizeof self->uri.hosts];
        size_t length = strcspn(at, ",");
        is_last = at[length] == '\0';
        if (self->hosts == VS_PG_HOSTS_MAX)
            return vs_fail(err, VESTA_EOPTION, "the store's URI has more than %d hosts", VS_PG_HOSTS_MAX);
        snprintf(text, sizeof text, "%.*s", (int)length, at);
        struct pg_host *host = &self->host[self->hosts++];
        host->port = PORT;
        rc = vs_uri_host(text, host->name, sizeof host->name, &host->port, err);
        at += length + !is_last;
    }
    return rc;
}

static bool pg_is_name(const char *name) {
    return name[strcspn(name, "\"\\'")] == '\0' && strlen(name) < 64; /* the server's limit */
}

static int pg_read_uri(const char *text, struct pg_place *self, struct vesta_error *err) {
    struct vs_uri *uri = &self->uri;
    memset(self, 0, sizeof *self); /* the pool compares all bytes */
    int rc = vs_uri_parse(text, keys, uri, err);
    if (rc == VESTA_OK) rc = pg_read_hosts(self, err);
    if (rc == VESTA_OK) rc = vs_sql_check_uri("postgresql", uri, uri->value[KEY_TLS], 64, err);
    if (rc != VESTA_OK) return rc;
    const char *schema = uri->value[KEY_SCHEMA], *socket = uri->value[KEY_SOCKET];
    if (!pg_is_name(schema))
        return vs_fail(err, VESTA_EOPTION, "schema in the store's URI is not the name of a schema: '%.70s'", schema);
    if (*socket && (*socket != '/' || self->hosts > 1))
        return vs_fail(err, VESTA_EOPTION,
                       "socket in the store's URI must be a folder, as in postgresql://user@localhost%.70s?socket="
                       "/run/postgresql",
                       uri->path);
    snprintf(self->schema, sizeof self->schema, "%.63s", *schema ? schema : "public");
    snprintf(self->where, sizeof self->where, "postgresql %.60s%.70s", uri->hosts, uri->path);
    return VESTA_OK;
}

static int pg_store_check(const char *uri, struct vesta_error *err) {
    struct pg_place place;
    return pg_read_uri(uri, &place, err);
}

static void pg_store_close(struct vs_store *store) {
    struct pg_store *self = pg_self_of(store);
    vs_pg_leave(self);
    explicit_bzero(self->place.secret, sizeof self->place.secret);
    explicit_bzero(&self->place.uri, sizeof self->place.uri);
    free(self);
}

static int pg_store_open(const char *uri, const struct vs_store_opts *opts, struct vs_store **store,
                         struct vesta_error *err) {
    struct pg_store *self = calloc(1, sizeof *self);
    if (!self) return vs_fail(err, VESTA_ENOMEM, "no memory");
    self->base = vs_store_base(&vs_store_postgresql, opts);
    self->call_ms_max = opts->call_ms_max ? opts->call_ms_max : VS_STORE_CALL_MS;
    /* a call that opens a connection has a second deadline for that (vs_pg_begin) */
    self->base.call_ms_max = 2 * self->call_ms_max + 100;
    self->base.list_ms_max = 2 * VS_STORE_LIST_MS + 100;
    snprintf(self->namespace_, sizeof self->namespace_, "%s", opts->namespace_);
    int rc = pg_read_uri(uri, &self->place, err);
    struct vs_store_secret from = {opts->secret, self->place.uri.value[KEY_SECRET_FILE], self->place.uri.password};
    if (rc == VESTA_OK) rc = vs_uri_secret(&from, self->place.secret, sizeof self->place.secret, err);
    if (rc == VESTA_OK && !vs_pg_enter(self)) rc = vs_fail(err, VESTA_ENOMEM, "no memory");
    if (rc != VESTA_OK) {
        pg_store_close(&self->base);
        return rc;
    }
    *store = &self->base;
    return VESTA_OK;
}

static const struct vs_store_leases pg_leases = {
    .list = pg_store_list,
    .read = pg_store_read,
    .names = vs_pg_names,
    .swap = pg_store_swap,
    .ns_read = pg_store_ns_read,
    .ns_swap = pg_store_ns_swap,
    .idle = pg_store_idle,
    .stirred = vs_pg_stirred,
};

static const struct vs_store_counters pg_counters = {
    .take = vs_pg_take,
    .untake = vs_pg_untake,
    .tags = vs_pg_tags,
    .tag_add = vs_pg_tag_add,
    .tag_step = vs_pg_tag_step,
    .lift = vs_pg_lift,
    .share = vs_pg_share,
    .keep_form = vs_pg_form,
    .tag_init = vs_pg_tag_init,
    .reserve = vs_pg_reserve,
    .settle = vs_pg_settle,
};

static const struct vs_store_admin pg_admin = {
    .init = vs_pg_init,
    .inspect = vs_pg_inspect,
    .foreign = vs_pg_foreign,
};

const struct vs_backend vs_store_postgresql = {
    .scheme = "postgresql",
    .form = "postgresql://USER@HOST/DB",
    .made = "the tables vesta_namespace and vesta_lease exist",
    .rights = "a process that leases needs USAGE on their schema, SELECT, INSERT and UPDATE on them, and nothing else",
    .secret = "password",
    .tls = "",
    .check = pg_store_check,
    .open = pg_store_open,
    .close = pg_store_close,
    .leases = &pg_leases,
    .counters = &pg_counters,
    .admin = &pg_admin,
};
