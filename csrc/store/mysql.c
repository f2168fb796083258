/* mysql.c -- the store in MariaDB or MySQL: mysql://user:password@host:3306/database.
 *
 *     vesta_namespace (ns, ver, incarnation, record)        records as text (core/record.h); their columns are what
 *     vesta_lease     (ns, worker, ver, written_us, record) compare-and-set looks at, and the time the server stamps
 *
 * A write is one statement that commits itself: UPDATE ... WHERE ver = ? AND the record is a whole one, of the same
 * claim or of the last before it, AND the namespace's incarnation is what it was.  So nothing is held between two
 * messages, and a client that stops anywhere blocks nobody.  LAST_INSERT_ID(clock) brings back the time that was
 * stamped, in the same answer.  `ver` changes with every write, and the server counts rows found, not rows changed: 0
 * means that the version was another, never that nothing differed.  What decides is read by locking reads: they see
 * what is committed now, and a proxy that splits reads from writes sends them to the primary.  A write locks its
 * namespace's row, too: below REPEATABLE READ it would else take what was committed before somebody put the store
 * right.
 *
 * The server's clock is counted from UTC_TIMESTAMP, which no time zone moves. */
#include "store/mysql_link.h"
#include "core/core.h"

#include <errmsg.h>
#include <inttypes.h>
#include <mysqld_error.h>
#include <stdio.h>
#include <stdlib.h>

#define PORT 3306
#define WHOLE_MAX 160
#define ARGS_MAX 10

#define CLOCK "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))"

/* Every SELECT has the same six columns, and a row even where there is no record: its `ver` is NULL. */
static const char *const sql[ST_COUNT] = {
    [ST_READ] = "SELECT l.record, l.ver, l.worker, l.written_us, " CLOCK ", " VS_SQL_READ_ONLY
                " FROM (SELECT 1) AS one LEFT JOIN vesta_lease AS l ON l.ns = ? AND l.worker = ? FOR UPDATE",
    [ST_LIST] = "SELECT l.record, l.ver, l.worker, l.written_us, " CLOCK ", '0'"
                " FROM (SELECT 1) AS one LEFT JOIN vesta_lease AS l ON l.ns = ? ORDER BY l.worker",
    [ST_INSERT] = "INSERT INTO vesta_lease (ns, worker, ver, record, written_us)"
                  " SELECT ns, ?, ?, ?, LAST_INSERT_ID(" CLOCK
                  ") FROM vesta_namespace WHERE ns = ? AND ver = ? AND incarnation = ? LOCK IN SHARE MODE",
    [ST_UPDATE] = "UPDATE vesta_lease SET ver = ?, record = ?, written_us = LAST_INSERT_ID(" CLOCK
                  ") WHERE ns = ? AND worker = ? AND ver = ? AND (record LIKE ? OR record LIKE ?) AND EXISTS (SELECT 1 "
                  "FROM vesta_namespace AS n"
                  " WHERE n.ns = ? AND n.ver = ? AND n.incarnation = ? LOCK IN SHARE MODE)",
    [ST_NS_READ] = "SELECT n.record, n.ver, n.incarnation, 0, " CLOCK ", " VS_SQL_READ_ONLY
                   " FROM (SELECT 1) AS one LEFT JOIN vesta_namespace AS n ON n.ns = ? FOR UPDATE",
    [ST_NS_INSERT] = "INSERT INTO vesta_namespace (ns, ver, incarnation, record) VALUES (?, ?, ?, ?)",
    [ST_NS_UPDATE] = "UPDATE vesta_namespace SET ver = ?, incarnation = ?, record = ? WHERE ns = ? AND ver = ?",
};

static const char *const tables[] = {
    "CREATE TABLE IF NOT EXISTS vesta_namespace (ns VARBINARY(64) NOT NULL PRIMARY KEY, ver BIGINT UNSIGNED NOT NULL,"
    " incarnation BIGINT UNSIGNED NOT NULL, record VARBINARY(2048) NOT NULL) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS vesta_lease (ns VARBINARY(64) NOT NULL, worker BIGINT UNSIGNED NOT NULL,"
    " ver BIGINT UNSIGNED NOT NULL, written_us BIGINT NOT NULL, record VARBINARY(2048) NOT NULL,"
    " PRIMARY KEY (ns, worker)) ENGINE=InnoDB",
};

static const char *const keys[] = {"tls", "ca", "secret_file", "socket", "galera", NULL};

static struct mysql_store *self_of(struct vs_store *store) {
    return (struct mysql_store *)store;
}

/* ------------------------------------------------------------------ statements */

struct args {
    unsigned count;
    MYSQL_BIND bind[ARGS_MAX];
    uint64_t number[ARGS_MAX];
    unsigned long length[ARGS_MAX];
};

static void put_number(struct args *args, uint64_t value) {
    unsigned i = args->count++;
    args->number[i] = value;
    args->bind[i] = (MYSQL_BIND){.buffer_type = MYSQL_TYPE_LONGLONG, .buffer = &args->number[i], .is_unsigned = 1};
}

static void put_text(struct args *args, const char *text, size_t length) {
    unsigned i = args->count++;
    args->length[i] = length;
    args->bind[i] = (MYSQL_BIND){.buffer_type = MYSQL_TYPE_BLOB,
                                 .buffer = (void *)(uintptr_t)text,
                                 .buffer_length = length,
                                 .length = &args->length[i]};
}

static void put_name(const struct mysql_store *self, struct args *args) {
    put_text(args, self->namespace_, strlen(self->namespace_));
}

/* The statement's trouble; whatever it was, the connection is not used again unless the server only said no. */
static void stmt_trouble(struct mysql_store *self, MYSQL_STMT *stmt, enum vs_outcome otherwise,
                         struct vs_reply *reply) {
    vs_mysql_trouble(self, mysql_stmt_errno(stmt), mysql_stmt_error(stmt), otherwise, reply);
    if (mysql_stmt_errno(stmt) >= CR_MIN_ERROR || reply->outcome != VS_STORE_REFUSED) vs_mysql_drop(self);
}

/* Executes; NULL with the reply filled.  A write that was sent and not answered is UNKNOWN. */
static MYSQL_STMT *execute(struct mysql_store *self, enum statement which, struct args *args, bool writes,
                           struct vs_reply *reply) {
    if (vs_mysql_left_ms(self) <= 0) {
        vs_answer(reply, VS_STORE_DOWN, "%.60s: no answer in time", self->where);
        return NULL;
    }
    MYSQL_STMT *stmt = self->stmt[which];
    if (!stmt) {
        stmt = self->stmt[which] = mysql_stmt_init(self->my);
        if (!stmt || mysql_stmt_prepare(stmt, sql[which], strlen(sql[which])) != 0) {
            vs_mysql_trouble(self, mysql_errno(self->my), mysql_error(self->my), VS_STORE_DOWN, reply);
            vs_mysql_drop(self);
            return NULL;
        }
    }
    if (mysql_stmt_bind_param(stmt, args->bind) == 0 && mysql_stmt_execute(stmt) == 0) return stmt;
    if (mysql_stmt_errno(stmt) == ER_DUP_ENTRY)
        reply->outcome = VS_STORE_CONFLICT;
    else
        stmt_trouble(self, stmt, writes ? VS_STORE_UNKNOWN : VS_STORE_DOWN, reply);
    return NULL;
}

/* A row of any SELECT. */
struct row {
    char record[VS_RECORD_TEXT_MAX], read_only[16];
    unsigned long length; /* of the record, as it is stored */
    uint64_t ver, number;
    int64_t written_us, clock_us;
    my_bool has_no_record, is_empty;
};

static void bind_row(MYSQL_STMT *stmt, struct row *row) {
    memset(row, 0, sizeof *row);
    MYSQL_BIND bind[] = {
        {.buffer_type = MYSQL_TYPE_BLOB,
         .buffer = row->record,
         .buffer_length = sizeof row->record,
         .length = &row->length,
         .is_null = &row->has_no_record},
        {.buffer_type = MYSQL_TYPE_LONGLONG, .buffer = &row->ver, .is_unsigned = 1, .is_null = &row->is_empty},
        {.buffer_type = MYSQL_TYPE_LONGLONG, .buffer = &row->number, .is_unsigned = 1},
        {.buffer_type = MYSQL_TYPE_LONGLONG, .buffer = &row->written_us},
        {.buffer_type = MYSQL_TYPE_LONGLONG, .buffer = &row->clock_us},
        {.buffer_type = MYSQL_TYPE_STRING, .buffer = row->read_only, .buffer_length = sizeof row->read_only - 1},
    };
    mysql_stmt_bind_result(stmt, bind); /* which copies it */
}

/* The next row: 1, 0 at the end, -1 with the reply filled. */
static int fetch(struct mysql_store *self, MYSQL_STMT *stmt, struct row *row, struct vs_reply *reply) {
    int rc = mysql_stmt_fetch(stmt);
    if (rc == MYSQL_NO_DATA) return 0;
    if (rc != 0 && rc != MYSQL_DATA_TRUNCATED) {
        stmt_trouble(self, stmt, VS_STORE_DOWN, reply);
        return -1;
    }
    int64_t now_ms = row->clock_us / 1000;
    reply->store_ms = now_ms > 0 ? now_ms : 0;
    return 1;
}

static size_t record_length(const struct row *row) {
    if (row->has_no_record) return 0;
    return row->length < sizeof row->record ? row->length : sizeof row->record;
}

/* A row's columns and its text agree, or somebody wrote one by hand. */
static void check_columns(struct vs_reply *reply, bool agree) {
    if (reply->outcome == VS_STORE_OK && !agree)
        vs_answer(reply, VS_STORE_REFUSED, "a row's columns are not those of its record: somebody changed it by hand");
}

static void take_record(const struct mysql_store *self, const struct row *row, uint64_t worker,
                        struct vs_reply *reply) {
    vs_answer_record(reply, row->record, record_length(row), self->where, worker);
    check_columns(reply, reply->record.ver == row->ver);
    reply->record.written_ms = row->written_us > 0 ? row->written_us / 1000 : 0;
}

/* A SELECT of one row: true if there is a record. */
static bool select_one(struct mysql_store *self, enum statement which, struct args *args, struct row *row,
                       struct vs_reply *reply) {
    MYSQL_STMT *stmt = execute(self, which, args, false, reply);
    if (!stmt) return false;
    bind_row(stmt, row);
    int found = fetch(self, stmt, row, reply);
    if (found == 0) vs_answer(reply, VS_STORE_DOWN, "%.60s: an answer without a row", self->where);
    if (found < 0) return false; /* the connection is gone */
    mysql_stmt_free_result(stmt);
    return found == 1 && vs_mysql_check_read_only(self, row->read_only, reply) && !row->is_empty;
}

static void load_record(struct mysql_store *self, uint64_t worker, struct vs_reply *reply) {
    struct args args = {0};
    struct row row;
    put_name(self, &args);
    put_number(&args, worker);
    if (select_one(self, ST_READ, &args, &row, reply)) take_record(self, &row, worker, reply);
}

static void load_ns(struct mysql_store *self, struct vs_reply *reply) {
    struct args args = {0};
    struct row row;
    put_name(self, &args);
    if (!select_one(self, ST_NS_READ, &args, &row, reply)) return;
    vs_answer_ns(reply, row.record, record_length(&row), self->where);
    check_columns(reply, reply->ns.ver == row.ver && reply->ns.incarnation == row.number);
}

/* A write of one row: OK where it was done; CONFLICT where no row was as it had to be. */
static void write_one(struct mysql_store *self, enum statement which, struct args *args, struct vs_reply *reply) {
    MYSQL_STMT *stmt = execute(self, which, args, true, reply);
    if (!stmt) return;
    reply->outcome = mysql_stmt_affected_rows(stmt) == 1 ? VS_STORE_OK : VS_STORE_CONFLICT;
    reply->store_ms = (int64_t)(mysql_stmt_insert_id(stmt) / 1000);
}

/* ------------------------------------------------------------------ operations */

static void mysql_store_read(struct vs_store *store, uint64_t worker, struct vs_reply *reply) {
    struct mysql_store *self = self_of(store);
    if (vs_mysql_begin(self, self->call_ms_max, true, reply)) load_record(self, worker, reply);
}

/* Why nothing was written: what stands there says. */
static void explain(struct mysql_store *self, uint64_t worker, uint64_t old_ver, const struct vs_record *record,
                    struct vs_reply *reply) {
    reply->outcome = VS_STORE_OK;
    load_ns(self, reply);
    if (reply->outcome == VS_STORE_OK && vs_is_met(&self->met, reply)) load_record(self, worker, reply);
    if (reply->outcome != VS_STORE_OK) return;
    reply->outcome = VS_STORE_CONFLICT;
    if (vs_follows(record, &reply->record, old_ver))
        vs_answer(reply, VS_STORE_DOWN, "%.60s: it changed meanwhile", self->where);
}

/* The first swap of an object that has not met its namespace meets it now. */
static bool knows_namespace(struct mysql_store *self, struct vs_reply *reply) {
    if (self->met.ver) return true;
    load_ns(self, reply);
    return reply->outcome == VS_STORE_OK && vs_is_met(&self->met, reply);
}

/* What the record of a version looks like from its first line to its last, as vs_follows wants it: another is not
 * written over. */
static size_t own_of(uint64_t ver, const struct vs_record *next, char buf[static WHOLE_MAX]) {
    return (size_t)snprintf(buf, WHOLE_MAX,
                            "vesta lease %d\nver %" PRIu64 "\nepoch %" PRIu64 "\nowner %016" PRIx64 "%016" PRIx64
                            "\n%%\nsum ________________\n",
                            VS_RECORD_FORMAT, ver, next->epoch, next->owner[0], next->owner[1]);
}

static size_t last_of(uint64_t ver, const struct vs_record *next, char buf[static WHOLE_MAX]) {
    return (size_t)snprintf(buf, WHOLE_MAX,
                            "vesta lease %d\nver %" PRIu64 "\nepoch %" PRIu64 "\n%%\nsum ________________\n",
                            VS_RECORD_FORMAT, ver, next->epoch - 1);
}

static void mysql_store_swap(struct vs_store *store, uint64_t worker, uint64_t old_ver, const struct vs_record *record,
                             struct vs_reply *reply) {
    struct mysql_store *self = self_of(store);
    struct args args = {0};
    char text[VS_RECORD_TEXT_MAX], own[WHOLE_MAX], last[WHOLE_MAX];
    size_t length = vs_record_write(record, text);
    if (!vs_mysql_begin(self, self->call_ms_max, true, reply) || !knows_namespace(self, reply)) return;
    if (old_ver == 0) put_number(&args, worker);
    put_number(&args, record->ver);
    put_text(&args, text, length);
    if (old_ver) {
        put_name(self, &args);
        put_number(&args, worker);
        put_number(&args, old_ver);
        put_text(&args, own, own_of(old_ver, record, own));
        put_text(&args, last, last_of(old_ver, record, last));
    }
    put_name(self, &args);
    put_number(&args, self->met.ver);
    put_number(&args, self->met.incarnation);
    write_one(self, old_ver ? ST_UPDATE : ST_INSERT, &args, reply);
    if (reply->outcome == VS_STORE_CONFLICT) {
        explain(self, worker, old_ver, record, reply);
    } else if (reply->outcome == VS_STORE_OK) {
        reply->record = *record;
        reply->record.written_ms = reply->store_ms;
    }
}

static void mysql_store_ns_read(struct vs_store *store, struct vs_reply *reply) {
    struct mysql_store *self = self_of(store);
    if (!vs_mysql_begin(self, self->call_ms_max, true, reply)) return;
    load_ns(self, reply);
    vs_meet(&self->met, reply);
}

static void mysql_store_ns_swap(struct vs_store *store, uint64_t old_ver, const struct vs_ns_record *record,
                                struct vs_reply *reply) {
    struct mysql_store *self = self_of(store);
    struct args args = {0};
    char text[VS_RECORD_TEXT_MAX];
    size_t length = vs_ns_record_write(record, text);
    if (!vs_mysql_begin(self, self->call_ms_max, true, reply)) return;
    if (old_ver == 0) put_name(self, &args);
    put_number(&args, record->ver);
    put_number(&args, record->incarnation);
    put_text(&args, text, length);
    if (old_ver) {
        put_name(self, &args);
        put_number(&args, old_ver);
    }
    write_one(self, old_ver ? ST_NS_UPDATE : ST_NS_INSERT, &args, reply);
    if (reply->outcome == VS_STORE_OK) {
        reply->ns = *record;
    } else if (reply->outcome == VS_STORE_CONFLICT) {
        reply->outcome = VS_STORE_OK;
        load_ns(self, reply);
        if (reply->outcome == VS_STORE_OK) reply->outcome = VS_STORE_CONFLICT;
    }
}

static void mysql_store_names(struct vs_store *store, void (*tell)(void *to, const char *name), void *to,
                              struct vs_reply *reply) {
    struct mysql_store *self = self_of(store);
    if (!vs_mysql_begin(self, VS_STORE_LIST_MS, true, reply)) return;
    MYSQL_RES *result =
        mysql_query(self->my, "SELECT ns FROM vesta_namespace") == 0 ? mysql_store_result(self->my) : NULL;
    if (!result) {
        vs_mysql_trouble(self, mysql_errno(self->my), mysql_error(self->my), VS_STORE_DOWN, reply);
        vs_mysql_drop(self);
        return;
    }
    MYSQL_ROW row;
    while ((row = mysql_fetch_row(result)))
        tell(to, row[0]);
    mysql_free_result(result);
}

static void mysql_store_list(struct vs_store *store, struct vs_listed **listed, size_t *count, struct vs_reply *reply) {
    struct mysql_store *self = self_of(store);
    struct args args = {0};
    struct row row;
    size_t room = 0;
    *listed = NULL;
    *count = 0;
    if (!vs_mysql_begin(self, VS_STORE_LIST_MS, true, reply)) return;
    put_name(self, &args);
    MYSQL_STMT *stmt = execute(self, ST_LIST, &args, false, reply);
    if (!stmt) return;
    bind_row(stmt, &row);
    int found;
    while ((found = fetch(self, stmt, &row, reply)) == 1 && reply->outcome == VS_STORE_OK && !row.is_empty) {
        struct vs_listed *next = vs_list_room(listed, *count, &room);
        take_record(self, &row, row.number, reply);
        if (!next) vs_answer(reply, VS_STORE_DOWN, "no memory for %zu records", *count + 1);
        if (vs_mysql_left_ms(self) <= 0) vs_answer(reply, VS_STORE_DOWN, "%.60s: no list in time", self->where);
        if (reply->outcome != VS_STORE_OK) break;
        *next = (struct vs_listed){row.number, reply->record};
        ++*count;
    }
    if (found > 0 && reply->outcome == VS_STORE_DOWN)
        vs_mysql_drop(self);
    else if (found >= 0)
        mysql_stmt_free_result(stmt);
}

static void mysql_store_init(struct vs_store *store, struct vs_reply *reply) {
    struct mysql_store *self = self_of(store);
    vs_mysql_drop(self);
    if (!vs_mysql_begin(self, VS_STORE_LIST_MS, false, reply)) return;
    for (size_t i = 0; i < VS_COUNT(tables); i++)
        if (mysql_query(self->my, tables[i]) != 0) {
            vs_mysql_trouble(self, mysql_errno(self->my), mysql_error(self->my), VS_STORE_DOWN, reply);
            vs_mysql_drop(self);
            return;
        }
    vs_mysql_check(self, true, reply);
}

/* ------------------------------------------------------------------ opening */

static bool is_one_of(const char *value, const char *a, const char *b) {
    return !value[0] || strcmp(value, a) == 0 || strcmp(value, b) == 0;
}

static int read_uri(const char *text, struct mysql_store *self, struct vesta_error *err) {
    struct vs_uri *uri = &self->uri;
    int rc = vs_uri_parse(text, keys, uri, err);
    if (rc == VESTA_OK) rc = vs_uri_host(uri->hosts, PORT, self->host, sizeof self->host, &self->port, err);
    if (rc != VESTA_OK) return rc;
    if (strlen(uri->path) < 2 || strchr(uri->path + 1, '/') || strlen(uri->path) > 65)
        return vs_fail(err, VESTA_EOPTION, "the store's URI names no database: mysql://user@%.100s/vesta", uri->hosts);
    if (!uri->user[0])
        return vs_fail(err, VESTA_EOPTION, "the store's URI names no user: mysql://user@%.100s%.70s", uri->hosts,
                       uri->path);
    if (!is_one_of(uri->value[KEY_TLS], "verify", "off"))
        return vs_fail(err, VESTA_EOPTION, "tls in the store's URI must be verify or off");
    if (!is_one_of(uri->value[KEY_GALERA], "single-writer", "single-writer"))
        return vs_fail(err, VESTA_EOPTION, "galera in the store's URI must be single-writer, or left out");
    snprintf(self->where, sizeof self->where, "mysql %.40s:%u%.70s", self->host, self->port, uri->path);
    return VESTA_OK;
}

static int mysql_store_check(const char *uri, struct vesta_error *err) {
    struct mysql_store self;
    return read_uri(uri, &self, err);
}

static void mysql_store_close(struct vs_store *store) {
    struct mysql_store *self = self_of(store);
    vs_mysql_drop(self);
    explicit_bzero(self->secret, sizeof self->secret);
    explicit_bzero(&self->uri, sizeof self->uri);
    free(self);
}

static int mysql_store_open(const char *uri, const struct vs_store_opts *opts, struct vs_store **store,
                            struct vesta_error *err) {
    struct mysql_store *self = calloc(1, sizeof *self);
    if (!self) return vs_fail(err, VESTA_ENOMEM, "no memory");
    self->base.ops = &vs_store_mysql;
    self->clock = opts->clock;
    self->call_ms_max = opts->call_ms_max ? opts->call_ms_max : VS_STORE_CALL_MS;
    snprintf(self->namespace_, sizeof self->namespace_, "%s", opts->namespace_);
    int rc = read_uri(uri, self, err);
    if (rc == VESTA_OK)
        rc = vs_uri_secret(opts, self->uri.value[KEY_SECRET_FILE], self->uri.password, self->secret,
                           sizeof self->secret, err);
    if (rc != VESTA_OK) {
        mysql_store_close(&self->base);
        return rc;
    }
    *store = &self->base;
    return VESTA_OK;
}

const struct vs_store_ops vs_store_mysql = {
    .scheme = "mysql",
    .check = mysql_store_check,
    .open = mysql_store_open,
    .close = mysql_store_close,
    .list = mysql_store_list,
    .read = mysql_store_read,
    .names = mysql_store_names,
    .swap = mysql_store_swap,
    .ns_read = mysql_store_ns_read,
    .ns_swap = mysql_store_ns_swap,
    .init = mysql_store_init,
    .foreign = vs_mysql_foreign,
};
