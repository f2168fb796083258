/* postgresql.c -- the store in PostgreSQL: postgresql://user:password@host:5432/database.
 *
 *     vesta_namespace (ns, ver, incarnation, record)
 *     vesta_lease     (ns, worker, ver, written_us, record)
 *
 * `record` is text (lease/record.h), stored as bytes, because its holder may contain characters that the database's
 * encoding lacks.  Compare-and-set uses the other columns.  The server sets written_us.
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
#define WHOLE_MAX 160
_Static_assert(2 * (VS_RECORD_TEXT_MAX + 2 * WHOLE_MAX) + 2 * VESTA_NAMESPACE_MAX + 1024 < VS_SQL_MAX,
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

struct pg_row {
    char record[VS_RECORD_TEXT_MAX];
    size_t length; /* length of the record, limited to the buffer */
    uint64_t ver, number;
    int64_t written_us;
};

static int pg_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes the hex digits of a cell.  Returns false if they are damaged. */
static bool pg_read_hex(const char *hex, size_t digits, struct pg_row *row) {
    for (row->length = 0; row->length < sizeof row->record && digits >= 2; digits -= 2, hex += 2) {
        int high = pg_digit(hex[0]), low = pg_digit(hex[1]);
        if (high < 0 || low < 0) return false;
        row->record[row->length++] = (char)(high << 4 | low);
    }
    return digits != 1;
}

/* Copies a row.  Returns false if it is not a row of these columns. */
static bool pg_read_row(const PGresult *result, int at, struct pg_row *row) {
    memset(row, 0, sizeof *row);
    return pg_read_hex(PQgetvalue(result, at, COL_RECORD), (size_t)PQgetlength(result, at, COL_RECORD), row) &&
           vs_pg_count(result, at, COL_VER, &row->ver) && vs_pg_count(result, at, COL_NUMBER, &row->number) &&
           vs_pg_cell(result, at, COL_WRITTEN, &row->written_us);
}

/* Checks that the columns agree with the record's text.  If they do not, the row was changed by hand. */
static bool pg_check_columns(struct vs_reply *reply, bool agree) {
    return agree || vs_answer(reply, VS_STORE_REFUSED,
                              "a row's columns do not agree with its record, so it was changed by hand: restore it");
}

static bool pg_take_record(const struct pg_store *self, const struct pg_row *row, struct vs_reply *reply) {
    if (!vs_take_record(reply, row->record, row->length, self->place.where, row->number)) return false;
    reply->record.written_ms = row->written_us > 0 ? row->written_us / 1000 : 0;
    return pg_check_columns(reply, reply->record.ver == row->ver);
}

/* ------------------------------------------------------------------ statements */

static void pg_add_name(const struct pg_store *self, struct vs_sql *sql) {
    assert(vs_tag_is_named(self->namespace_)); /* so the name is safe inside quotes */
    vs_sql_add(sql, "'%s'", self->namespace_);
}

/* Reads at most one row.  Returns false if the reply cannot be used.  *is_there: whether there is a row. */
static bool pg_select(struct pg_store *self, const struct vs_sql *sql, struct pg_row *row, bool *is_there,
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
static bool pg_load_record(struct pg_store *self, uint64_t worker, struct vs_reply *reply) {
    struct vs_sql sql = {.length = 0};
    struct pg_row row;
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
    return pg_take_record(self, &row, reply);
}

static bool pg_load_ns(struct pg_store *self, struct vs_reply *reply) {
    struct vs_sql sql = {.length = 0};
    struct pg_row row;
    bool is_there;
    vs_sql_add(&sql, "SELECT encode(record, 'hex'), ver, incarnation, 0 FROM vesta_namespace WHERE ns = ");
    pg_add_name(self, &sql);
    memset(&reply->ns, 0, sizeof reply->ns);
    if (!pg_select(self, &sql, &row, &is_there, reply)) return false;
    if (!is_there) return true;
    return vs_take_ns(reply, row.record, row.length, self->place.where) &&
           pg_check_columns(reply, reply->ns.ver == row.ver && reply->ns.incarnation == row.number);
}

/* The result of a write of one row.  NONE: no row matched, so read the stored record for the reason.  TOLD: the reply
 * has been filled. */
enum pg_fate { PG_DONE, PG_NONE, PG_TOLD };

/* The end of a write: returns the number of written rows, and their time. */
#define COUNT_WRITTEN(time) " RETURNING " time " AS us) SELECT COUNT(*), COALESCE(MAX(us), 0) FROM written"

static enum pg_fate pg_write_row(struct pg_store *self, const struct vs_sql *sql, int64_t *written_us,
                                 struct vs_reply *reply) {
    uint64_t rows;
    vs_sent(reply);
    PGresult *result = vs_pg_row(self, sql, 2, reply);
    if (!result) return reply->outcome == VS_STORE_CONFLICT ? PG_NONE : PG_TOLD; /* the primary key already exists */
    bool is_read = vs_pg_count(result, 0, 0, &rows) && rows <= 1 && vs_pg_cell(result, 0, 1, written_us);
    PQclear(result);
    if (is_read) return rows ? PG_DONE : PG_NONE;
    vs_pg_no_answer(self, "the reply belongs to another statement", reply);
    return PG_TOLD;
}

/* ------------------------------------------------------------------ operations */

static void pg_store_read(struct vs_store *store, uint64_t worker, struct vs_reply *reply) {
    struct pg_store *self = pg_self_of(store);
    if (vs_pg_begin(self, self->call_ms_max, true, reply) && pg_load_record(self, worker, reply)) vs_done(reply);
}

/* Finds out why no row was written.  The write has been answered, so it will not be done later. */
static void pg_explain_none(struct pg_store *self, uint64_t worker, uint64_t old_ver, const struct vs_record *record,
                            struct vs_reply *reply) {
    assert(self->met.ver); /* with 0, any namespace record would be accepted */
    vs_sent(reply);        /* UNKNOWN until the record has been read */
    if (!pg_load_ns(self, reply) || !vs_is_met(&self->met, reply) || !pg_load_record(self, worker, reply)) return;
    if (vs_is_same_write(record, &reply->record))
        vs_answer(reply, VS_STORE_UNKNOWN, "%.60s: the server reported that nothing was written, but it was",
                  self->place.where);
    else if (vs_follows(record, &reply->record, old_ver))
        vs_answer(reply, VS_STORE_DOWN, "%.60s: the row changed during the write: try again", self->place.where);
    else
        vs_not_first(reply);
}

/* Reads the namespace's record before the first swap, unless this object has already read it. */
static bool pg_knows_namespace(struct pg_store *self, struct vs_reply *reply) {
    return self->met.ver || (pg_load_ns(self, reply) && vs_is_met(&self->met, reply));
}

/* Adds a LIKE pattern that matches only a complete record with version `ver` and the same claim, which vs_follows would
 * accept, so that the write does not overwrite any other record. */
static void pg_add_own(struct vs_sql *sql, uint64_t ver, const struct vs_record *next) {
    char like[WHOLE_MAX];
    int length = snprintf(like, sizeof like,
                          "vesta lease %d\nver %" PRIu64 "\nepoch %" PRIu64 "\nowner %016" PRIx64 "%016" PRIx64
                          "\n%%\nsum ________________\n",
                          VS_RECORD_FORMAT, ver, next->epoch, next->owner[0], next->owner[1]);
    assert((size_t)length < sizeof like); /* a truncated pattern would match any record */
    vs_pg_bytes(sql, like, (size_t)length);
}

static void pg_add_last(struct vs_sql *sql, uint64_t ver, const struct vs_record *next) {
    char like[WHOLE_MAX];
    int length =
        snprintf(like, sizeof like, "vesta lease %d\nver %" PRIu64 "\nepoch %" PRIu64 "\n%%\nsum ________________\n",
                 VS_RECORD_FORMAT, ver, next->epoch - 1);
    assert((size_t)length < sizeof like);
    vs_pg_bytes(sql, like, (size_t)length);
}

static void pg_add_record(struct vs_sql *sql, const struct vs_record *record) {
    char text[VS_RECORD_TEXT_MAX];
    vs_pg_bytes(sql, text, vs_record_write(record, text));
}

/* Adds `met`, a row that exists only if the namespace's record has not changed since it was read, and locks it. */
static void pg_add_met(const struct pg_store *self, struct vs_sql *sql) {
    assert(self->met.ver); /* pg_knows_namespace has been called */
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
    assert(record->ver == old_ver + 1);
    pg_add_met(self, sql);
    vs_sql_add(sql,
               "written AS (UPDATE vesta_lease AS l SET ver = %" PRIu64 ", written_us = " VS_PG_CLOCK ", record = ",
               record->ver);
    pg_add_record(sql, record);
    vs_sql_add(sql, " FROM met WHERE l.worker = %" PRIu64 " AND l.ver = %" PRIu64 " AND l.ns = ", worker, old_ver);
    pg_add_name(self, sql);
    vs_sql_add(sql, " AND (l.record LIKE ");
    pg_add_own(sql, old_ver, record);
    vs_sql_add(sql, " OR l.record LIKE ");
    pg_add_last(sql, old_ver, record);
    vs_sql_add(sql, ")" COUNT_WRITTEN("l.written_us"));
}

static void pg_store_swap(struct vs_store *store, uint64_t worker, uint64_t old_ver, const struct vs_record *record,
                          struct vs_reply *reply) {
    struct pg_store *self = pg_self_of(store);
    struct vs_sql sql = {.length = 0};
    if (!vs_pg_begin(self, self->call_ms_max, true, reply) || !pg_knows_namespace(self, reply)) return;
    if (old_ver)
        pg_say_update(self, worker, old_ver, record, &sql);
    else
        pg_say_insert(self, worker, record, &sql);
    int64_t written_us;
    enum pg_fate fate = pg_write_row(self, &sql, &written_us, reply);
    if (fate == PG_NONE) {
        pg_explain_none(self, worker, old_ver, record, reply);
    } else if (fate == PG_DONE) {
        reply->record = *record;
        reply->store_ms = reply->record.written_ms = written_us / 1000;
        vs_done(reply);
    }
}

static void pg_store_ns_read(struct vs_store *store, struct vs_reply *reply) {
    struct pg_store *self = pg_self_of(store);
    if (!vs_pg_begin(self, self->call_ms_max, true, reply) || !pg_load_ns(self, reply)) return;
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
    int64_t none;
    enum pg_fate fate = pg_write_row(self, &sql, &none, reply);
    if (fate == PG_DONE) {
        reply->ns = *record;
        vs_done(reply);
    } else if (fate == PG_NONE) {
        vs_sent(reply); /* UNKNOWN until the record has been read */
        bool is_read = pg_load_ns(self, reply);
        if (is_read && (reply->ns.ver != record->ver || reply->ns.incarnation != record->incarnation))
            vs_not_first(reply);
    }
}

/* ------------------------------------------------------------------ listing */

static void pg_store_list(struct vs_store *store, struct vs_listed **listed, size_t *count, struct vs_reply *reply) {
    struct pg_store *self = pg_self_of(store);
    struct vs_sql sql = {.length = 0};
    struct vs_growing_list list = {listed, count, 0};
    struct pg_row row;
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
                   ? pg_take_record(self, &row, reply) && vs_list_add(&list, row.number, reply)
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
    if (rc != VESTA_OK) return rc;
    const char *tls = uri->value[KEY_TLS], *schema = uri->value[KEY_SCHEMA], *socket = uri->value[KEY_SOCKET];
    if (strlen(uri->path) < 2 || strchr(uri->path + 1, '/') || strlen(uri->path) > 64)
        return vs_fail(err, VESTA_EOPTION, "the store's URI has no database name: write postgresql://user@%.100s/vesta",
                       uri->hosts);
    if (!uri->user[0])
        return vs_fail(err, VESTA_EOPTION, "the store's URI has no user: write postgresql://user@%.100s%.70s",
                       uri->hosts, uri->path);
    if (*tls && strcmp(tls, "verify") != 0 && strcmp(tls, "off") != 0)
        return vs_fail(err, VESTA_EOPTION, "tls in the store's URI must be verify or off");
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
