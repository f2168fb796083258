/* mysql.c -- the store in MariaDB or MySQL: mysql://user:password@host:3306/database.
 *
 * In its tables (store/sql.h), `record` is text (lease/record.h).  Compare-and-set uses the other columns.  The server
 * sets written_us.
 *
 * A write is one autocommitted statement: UPDATE ... WHERE ver = ?.  It also requires that the stored record is
 * complete, that it belongs to the same claim or to the claim before it, and that the namespace's incarnation is
 * unchanged.  No lock is held between two messages, so a client that stops does not block others.  Every write changes
 * `ver`, and the server counts matched rows, not changed rows.  So 0 matched rows always mean that the version was
 * different.  Reads that decide about a write are locking reads.  They return the last committed state, and a proxy
 * that splits reads from writes sends them to the primary.  A write also locks its namespace's row, because below
 * REPEATABLE READ it could otherwise use the state before an administrator repaired the store.
 *
 * Every reply identifies its statement.  A SELECT has a nonce in each row, and returns a row even if there is no
 * record.  A write returns the stamped time and the nonce as its LAST_INSERT_ID.  Any other reply is ignored, and the
 * outcome stays DOWN, or UNKNOWN for a write.
 *
 * The server's clock is computed from UTC_TIMESTAMP, which does not depend on time zones. */
#include "store/mysql/link.h"
#include "base/array.h"
#include "base/error.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct vs_backend vs_store_mysql;

#define PORT 3306
_Static_assert(2 * (VS_RECORD_TEXT_MAX + 2 * VS_SQL_LIKE_MAX + 2 * VESTA_NAMESPACE_MAX) + 1024 < VS_SQL_MAX,
               "the longest write, in hex digits, fits a statement");

#define CLOCK VS_SQL_CLOCK

/* The LAST_INSERT_ID of a write: the time in milliseconds, shifted left by the bits of the nonce. */
#define NONCE_BITS 22
#define NONCE_MASK ((UINT64_C(1) << NONCE_BITS) - 1)
#define STAMP "LAST_INSERT_ID(" CLOCK " DIV 1000 << 22 | %" PRIu64 ")"
_Static_assert(NONCE_BITS == 22, "STAMP shifts by as many bits");

/* The columns of every SELECT of records. */
enum { COL_NONCE, COL_RECORD, COL_VER, COL_NUMBER, COL_WRITTEN, COL_CLOCK, COL_READ_ONLY, COLUMNS };

static const char *const keys[] = {"tls", "ca", "secret_file", "socket", "galera", NULL};
_Static_assert(VS_COUNT(keys) == KEY_GALERA + 2, "a place for each key, and the end");

static struct mysql_store *mysql_self_of(struct vs_store *store) {
    assert(store->backend == &vs_store_mysql);
    return (struct mysql_store *)store;
}

/* ------------------------------------------------------------------ rows */

struct mysql_row {
    struct vs_sql_row is;
    bool is_empty; /* true if there is no record */
    int64_t clock_us;
    char read_only[16];
};

/* Copies the fetched row.  Returns false if it is not a row of these columns. */
static bool mysql_read_row(const struct vs_rows *rows, struct mysql_row *row) {
    memset(row, 0, sizeof *row);
    if (!rows->row[COL_READ_ONLY] || !vs_mysql_cell(rows, COL_CLOCK, &row->clock_us) || row->clock_us <= 0)
        return false;
    snprintf(row->read_only, sizeof row->read_only, "%s", rows->row[COL_READ_ONLY]);
    row->is_empty = rows->row[COL_VER] == NULL;
    if (row->is_empty) return true;
    if (rows->row[COL_RECORD]) {
        size_t length = rows->length[COL_RECORD];
        row->is.length = length < sizeof row->is.record ? length : sizeof row->is.record;
        memcpy(row->is.record, rows->row[COL_RECORD], row->is.length);
    }
    return vs_mysql_count(rows, COL_VER, &row->is.ver) && vs_mysql_count(rows, COL_NUMBER, &row->is.number) &&
           vs_mysql_cell(rows, COL_WRITTEN, &row->is.written_us);
}

/* ------------------------------------------------------------------ statements */

static void add_name(const struct mysql_store *self, struct vs_sql *sql) {
    vs_sql_bytes(sql, self->namespace_, strlen(self->namespace_));
}

static bool select_row(struct mysql_store *self, const struct vs_sql *sql, struct mysql_row *row,
                       struct vs_reply *reply) {
    struct vs_rows rows;
    if (!vs_mysql_rows(self, sql, COLUMNS, &rows, reply)) return false;
    int found = vs_mysql_fetch(self, &rows, reply);
    bool is_whole = found == 1 && mysql_read_row(&rows, row);
    int more = found == 1 ? vs_mysql_fetch(self, &rows, reply) : found;
    if (found < 0 || more < 0) return false;
    vs_mysql_rows_done(&rows);
    if (found == 0) return vs_mysql_no_answer(self, VS_MYSQL_NO_ROW, reply);
    if (!is_whole || more) return vs_mysql_no_answer(self, "the reply has a damaged row, or more than one", reply);
    reply->store_ms = row->clock_us / 1000;
    return vs_mysql_check_read_only(&self->place, row->read_only, reply);
}

/* Reads a lease's record into reply->record.  Sets ver to 0 if there is no record. */
static bool mysql_load_record(struct vs_store *store, uint64_t worker, struct vs_reply *reply) {
    struct mysql_store *self = mysql_self_of(store);
    struct vs_sql sql = {.length = 0};
    struct mysql_row row;
    vs_sql_add(&sql,
               "SELECT %" PRIu64 ", l.record, l.ver, l.worker, l.written_us, " CLOCK ", " VS_SQL_READ_ONLY
               " FROM (SELECT 1) AS one LEFT JOIN vesta_lease AS l ON l.worker = %" PRIu64 " AND l.ns = ",
               vs_mysql_nonce(self), worker);
    add_name(self, &sql);
    vs_sql_add(&sql, " FOR UPDATE");
    memset(&reply->record, 0, sizeof reply->record);
    if (!select_row(self, &sql, &row, reply)) return false;
    if (row.is_empty) return true;
    if (row.is.number != worker) return vs_mysql_no_answer(self, "the reply belongs to another statement", reply);
    return vs_sql_take_record(&row.is, self->place.where, reply);
}

static bool mysql_load_ns(struct vs_store *store, struct vs_reply *reply) {
    struct mysql_store *self = mysql_self_of(store);
    struct vs_sql sql = {.length = 0};
    struct mysql_row row;
    vs_sql_add(&sql,
               "SELECT %" PRIu64 ", n.record, n.ver, n.incarnation, 0, " CLOCK ", " VS_SQL_READ_ONLY
               " FROM (SELECT 1) AS one LEFT JOIN vesta_namespace AS n ON n.ns = ",
               vs_mysql_nonce(self));
    add_name(self, &sql);
    vs_sql_add(&sql, " FOR UPDATE");
    memset(&reply->ns, 0, sizeof reply->ns);
    if (!select_row(self, &sql, &row, reply)) return false;
    return row.is_empty || vs_sql_take_ns(&row.is, self->place.where, reply);
}

static struct vs_sql_leases mysql_leases_of(struct mysql_store *self) {
    return (struct vs_sql_leases){&self->base, self->place.where, &self->met, mysql_load_ns, mysql_load_record};
}

static enum vs_fate mysql_write_row(struct mysql_store *self, const struct vs_sql *sql, struct vs_reply *reply) {
    vs_sent(reply);
    if (!vs_mysql_send(self, sql, reply))
        return reply->outcome == VS_STORE_CONFLICT ? VS_FATE_NONE : VS_FATE_TOLD; /* the primary key already exists */
    uint64_t rows = mysql_affected_rows(self->my), stamp;
    if (mysql_field_count(self->my) == 0 && rows == 0) return VS_FATE_NONE;
    if (mysql_field_count(self->my) || rows != 1) {
        vs_mysql_no_answer(self, "the reply belongs to another statement", reply);
        return VS_FATE_TOLD;
    }
    if (!vs_mysql_stamp(self, NONCE_MASK, self->nonce & NONCE_MASK, &stamp, reply)) return VS_FATE_TOLD;
    reply->store_ms = (int64_t)(stamp >> NONCE_BITS);
    return VS_FATE_DONE;
}

/* ------------------------------------------------------------------ operations */

static void mysql_store_read(struct vs_store *store, uint64_t worker, struct vs_reply *reply) {
    struct mysql_store *self = mysql_self_of(store);
    if (vs_mysql_begin(self, self->call_ms_max, true, reply) && mysql_load_record(store, worker, reply)) vs_done(reply);
}

static void add_record(struct vs_sql *sql, const struct vs_record *record) {
    char text[VS_RECORD_TEXT_MAX];
    vs_sql_bytes(sql, text, vs_record_write(record, text));
}

/* Adds the condition that the namespace's record has not changed since it was read, and locks the record. */
static void add_met(const struct mysql_store *self, struct vs_sql *sql) {
    assert(self->met.ver); /* vs_sql_knows_namespace has been called */
    vs_sql_add(sql,
               " FROM vesta_namespace WHERE ver = %" PRIu64 " AND incarnation = %" PRIu64 " AND ns = ", self->met.ver,
               self->met.incarnation);
    add_name(self, sql);
    vs_sql_add(sql, " LOCK IN SHARE MODE");
}

static void say_insert(struct mysql_store *self, uint64_t worker, const struct vs_record *record, struct vs_sql *sql) {
    assert(record->ver == 1);
    vs_sql_add(sql,
               "INSERT INTO vesta_lease (ns, worker, ver, record, written_us) SELECT ns, %" PRIu64 ", %" PRIu64 ", ",
               worker, record->ver);
    add_record(sql, record);
    vs_sql_add(sql, ", (" STAMP " >> 22) * 1000", vs_mysql_nonce(self) & NONCE_MASK);
    add_met(self, sql);
}

static void say_update(struct mysql_store *self, uint64_t worker, uint64_t old_ver, const struct vs_record *record,
                       struct vs_sql *sql) {
    char like[VS_SQL_LIKE_MAX];
    assert(record->ver == old_ver + 1);
    vs_sql_add(sql, "UPDATE vesta_lease SET ver = %" PRIu64 ", written_us = (" STAMP " >> 22) * 1000, record = ",
               record->ver, vs_mysql_nonce(self) & NONCE_MASK);
    add_record(sql, record);
    vs_sql_add(sql, " WHERE worker = %" PRIu64 " AND ver = %" PRIu64 " AND ns = ", worker, old_ver);
    add_name(self, sql);
    vs_sql_add(sql, " AND (record LIKE ");
    vs_sql_bytes(sql, like, vs_sql_like_own(like, old_ver, record));
    vs_sql_add(sql, " OR record LIKE ");
    vs_sql_bytes(sql, like, vs_sql_like_last(like, old_ver, record));
    vs_sql_add(sql, ") AND EXISTS (SELECT 1");
    add_met(self, sql);
    vs_sql_add(sql, ")");
}

static void mysql_store_swap(struct vs_store *store, uint64_t worker, uint64_t old_ver, const struct vs_record *record,
                             struct vs_reply *reply) {
    struct mysql_store *self = mysql_self_of(store);
    const struct vs_sql_leases leases = mysql_leases_of(self);
    struct vs_sql sql = {.length = 0};
    if (!vs_mysql_begin(self, self->call_ms_max, true, reply) || !vs_sql_knows_namespace(&leases, reply)) return;
    if (old_ver)
        say_update(self, worker, old_ver, record, &sql);
    else
        say_insert(self, worker, record, &sql);
    vs_sql_swapped(&leases, mysql_write_row(self, &sql, reply), worker, old_ver, record, reply);
}

static void mysql_store_ns_read(struct vs_store *store, struct vs_reply *reply) {
    struct mysql_store *self = mysql_self_of(store);
    if (!vs_mysql_begin(self, self->call_ms_max, true, reply) || !mysql_load_ns(store, reply)) return;
    vs_meet(&self->met, reply);
    vs_done(reply);
}

static void say_ns_swap(struct mysql_store *self, uint64_t old_ver, const struct vs_ns_record *record,
                        struct vs_sql *sql) {
    char text[VS_RECORD_TEXT_MAX];
    assert(record->ver == old_ver + 1);
    size_t length = vs_ns_record_write(record, text);
    uint64_t nonce = vs_mysql_nonce(self) & NONCE_MASK;
    if (old_ver) {
        vs_sql_add(
            sql, "UPDATE vesta_namespace SET ver = IF(" STAMP ", %" PRIu64 ", 0), incarnation = %" PRIu64 ", record = ",
            nonce, record->ver, record->incarnation);
        vs_sql_bytes(sql, text, length);
        vs_sql_add(sql, " WHERE ver = %" PRIu64 " AND ns = ", old_ver);
        add_name(self, sql);
        return;
    }
    vs_sql_add(sql,
               "INSERT INTO vesta_namespace (ver, incarnation, record, ns) SELECT IF(" STAMP ", %" PRIu64
               ", 0), %" PRIu64 ", ",
               nonce, record->ver, record->incarnation);
    vs_sql_bytes(sql, text, length);
    vs_sql_add(sql, ", ");
    add_name(self, sql);
}

static void mysql_store_ns_swap(struct vs_store *store, uint64_t old_ver, const struct vs_ns_record *record,
                                struct vs_reply *reply) {
    struct mysql_store *self = mysql_self_of(store);
    struct vs_sql sql = {.length = 0};
    if (!vs_mysql_begin(self, self->call_ms_max, true, reply)) return;
    say_ns_swap(self, old_ver, record, &sql);
    const struct vs_sql_leases leases = mysql_leases_of(self);
    vs_sql_ns_swapped(&leases, mysql_write_row(self, &sql, reply), record, reply);
}

/* ------------------------------------------------------------------ listing */

static bool mysql_list_row(struct mysql_store *self, const struct vs_rows *rows, struct vs_growing_list *list,
                           struct vs_reply *reply) {
    struct mysql_row row;
    if (!mysql_read_row(rows, &row))
        return vs_answer(reply, VS_STORE_DOWN, "%.60s: the reply has a damaged row", self->place.where);
    reply->store_ms = row.clock_us / 1000;
    if (row.is_empty) return true;
    return vs_sql_take_record(&row.is, self->place.where, reply) && vs_list_add(list, row.is.number, reply);
}

static void mysql_store_list(struct vs_store *store, struct vs_listed **listed, size_t *count, struct vs_reply *reply) {
    struct mysql_store *self = mysql_self_of(store);
    struct vs_sql sql = {.length = 0};
    struct vs_rows rows;
    struct vs_growing_list list = {listed, count, 0};
    int found;
    *listed = NULL;
    *count = 0;
    if (!vs_mysql_begin(self, VS_STORE_LIST_MS, true, reply)) return;
    vs_sql_add(&sql,
               "SELECT %" PRIu64 ", l.record, l.ver, l.worker, l.written_us, " CLOCK
               ", '0', (SELECT COUNT(*) FROM vesta_lease WHERE ns = ",
               vs_mysql_nonce(self));
    add_name(self, &sql);
    vs_sql_add(&sql, ") FROM (SELECT 1) AS one LEFT JOIN vesta_lease AS l ON l.ns = ");
    add_name(self, &sql);
    vs_sql_add(&sql, " ORDER BY l.worker");
    if (!vs_mysql_list(self, &sql, COLUMNS + 1, &rows, reply)) return;
    bool well = true;
    size_t seen = 0;
    for (; well && (found = vs_mysql_fetch(self, &rows, reply)) == 1; seen++)
        well = mysql_list_row(self, &rows, &list, reply);
    if (well && found < 0) return;
    vs_mysql_rows_done(&rows);
    if (well && seen)
        vs_done(reply);
    else if (well)
        vs_mysql_no_answer(self, VS_MYSQL_NO_ROW, reply);
    else if (reply->outcome == VS_STORE_DOWN)
        vs_mysql_drop(self);
}

/* Parks the connection in the pool instead of closing it, because opening a connection costs several round trips. */
static void mysql_store_idle(struct vs_store *store, int64_t now_boot_us, int64_t until_boot_us) {
    (void)until_boot_us;
    vs_mysql_park(mysql_self_of(store), now_boot_us);
}

/* ------------------------------------------------------------------ opening */

static int mysql_read_uri(const char *text, struct mysql_place *self, struct vesta_error *err) {
    struct vs_uri *uri = &self->uri;
    int rc = vs_uri_parse(text, keys, uri, err);
    self->port = PORT;
    if (rc == VESTA_OK) rc = vs_uri_host(uri->hosts, self->host, sizeof self->host, &self->port, err);
    if (rc == VESTA_OK) rc = vs_sql_check_uri("mysql", uri, uri->value[KEY_TLS], 65, err);
    if (rc != VESTA_OK) return rc;
    const char *galera = uri->value[KEY_GALERA];
    if (*galera && strcmp(galera, "single-writer") != 0)
        return vs_fail(err, VESTA_EOPTION, "galera in the store's URI must be single-writer, or absent");
    snprintf(self->where, sizeof self->where, "mysql %.40s:%u%.70s", self->host, self->port, uri->path);
    return VESTA_OK;
}

static int mysql_store_check(const char *uri, struct vesta_error *err) {
    struct mysql_place place;
    return mysql_read_uri(uri, &place, err);
}

static void mysql_store_close(struct vs_store *store) {
    struct mysql_store *self = mysql_self_of(store);
    vs_mysql_leave(self);
    explicit_bzero(self->place.secret, sizeof self->place.secret);
    explicit_bzero(&self->place.uri, sizeof self->place.uri);
    free(self);
}

static int mysql_store_open(const char *uri, const struct vs_store_opts *opts, struct vs_store **store,
                            struct vesta_error *err) {
    struct mysql_store *self = calloc(1, sizeof *self);
    if (!self) return vs_fail(err, VESTA_ENOMEM, "no memory");
    self->base = vs_store_base(&vs_store_mysql, opts);
    self->call_ms_max = opts->call_ms_max ? opts->call_ms_max : VS_STORE_CALL_MS;
    self->place.read_s = (unsigned)((self->call_ms_max + 999) / 1000);
    /* time for a message that starts just before the deadline */
    int64_t message_ms = 1000 * (int64_t)self->place.read_s;
    self->base.call_ms_max = 2 * self->call_ms_max + message_ms;
    self->base.list_ms_max = 2 * VS_STORE_LIST_MS + message_ms;
    snprintf(self->namespace_, sizeof self->namespace_, "%s", opts->namespace_);
    int rc = mysql_read_uri(uri, &self->place, err);
    struct vs_store_secret from = {opts->secret, self->place.uri.value[KEY_SECRET_FILE], self->place.uri.password};
    if (rc == VESTA_OK) rc = vs_uri_secret(&from, self->place.secret, sizeof self->place.secret, err);
    if (rc == VESTA_OK && !vs_mysql_enter(self)) rc = vs_fail(err, VESTA_ENOMEM, "no memory");
    if (rc != VESTA_OK) {
        mysql_store_close(&self->base);
        return rc;
    }
    *store = &self->base;
    return VESTA_OK;
}

static const struct vs_store_leases mysql_leases = {
    .list = mysql_store_list,
    .read = mysql_store_read,
    .names = vs_mysql_names,
    .swap = mysql_store_swap,
    .ns_read = mysql_store_ns_read,
    .ns_swap = mysql_store_ns_swap,
    .idle = mysql_store_idle,
    .stirred = vs_mysql_stirred,
};

static const struct vs_store_counters mysql_counters = {
    .take = vs_mysql_take,
    .untake = vs_mysql_untake,
    .tags = vs_mysql_tags,
    .tag_add = vs_mysql_tag_add,
    .tag_step = vs_mysql_tag_step,
    .lift = vs_mysql_lift,
    .share = vs_mysql_share,
    .keep_form = vs_mysql_form,
    .tag_init = vs_mysql_tag_init,
    .reserve = vs_mysql_reserve,
    .settle = vs_mysql_settle,
};

static const struct vs_store_admin mysql_admin = {
    .init = vs_mysql_init,
    .inspect = vs_mysql_inspect,
    .foreign = vs_mysql_foreign,
};

const struct vs_backend vs_store_mysql = {
    .scheme = "mysql",
    .form = "mysql://USER@HOST/DB",
    .made = "the tables vesta_namespace and vesta_lease exist",
    .rights = "a process that leases needs SELECT, INSERT and UPDATE on them, and nothing else",
    .secret = "password",
    .tls = "",
    .check = mysql_store_check,
    .open = mysql_store_open,
    .close = mysql_store_close,
    .leases = &mysql_leases,
    .counters = &mysql_counters,
    .admin = &mysql_admin,
};
