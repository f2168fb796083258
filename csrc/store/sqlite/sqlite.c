/* sqlite.c -- the store of one host in one file: sqlite:/var/lib/vesta/vesta.db.
 *
 *     vesta_namespace (ns, ver, record)
 *     vesta_lease     (ns, worker, ver, record)
 *
 * `record` is text (lease/record.h), so that all stores use the same parser.  The tables of counters are in counter.c.
 * A call is one transaction (link.h).  The store's clock is the host's. */
#include "store/sqlite/link.h"
#include "base/error.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define COUNTER_AT 24 /* offset of the file's change counter, which SQLite increments with each transaction */

static struct sqlite_store *sqlite_self_of(struct vs_store *store) {
    assert(store->backend == &vs_store_sqlite);
    return (struct sqlite_store *)store;
}

/* ------------------------------------------------------------------ rows */

/* Prepares a statement.  ?1 is the namespace.  If the statement has a ?2, it is the worker id. */
static sqlite3_stmt *sqlite_prepare(const struct sqlite_store *self, const char *sql, uint64_t worker,
                                    struct vs_reply *reply) {
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(self->db, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_bind_text(stmt, 1, self->namespace_, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK && sqlite3_bind_parameter_count(stmt) > 1)
        rc = sqlite3_bind_int64(stmt, 2, (sqlite3_int64)worker);
    if (rc == SQLITE_OK) return stmt;
    vs_sqlite_trouble(self, rc, reply);
    sqlite3_finalize(stmt);
    return NULL;
}

/* Checks that the row's version agrees with its record.  If it does not, the row was changed by hand. */
static bool check_ver(struct vs_reply *reply, sqlite3_stmt *stmt, int column, uint64_t ver) {
    return (uint64_t)sqlite3_column_int64(stmt, column) == ver ||
           vs_answer(reply, VS_STORE_REFUSED,
                     "a row's ver does not agree with its record, so it was changed by hand: restore it");
}

static bool sqlite_take_record(const struct sqlite_store *self, sqlite3_stmt *stmt, uint64_t worker,
                               struct vs_reply *reply) {
    const char *text = sqlite3_column_blob(stmt, 0);
    return vs_take_record(reply, text, (size_t)sqlite3_column_bytes(stmt, 0), self->path, worker) &&
           check_ver(reply, stmt, 1, reply->record.ver);
}

/* Reads a lease's record into reply->record.  Sets ver to 0 if there is no record. */
static bool sqlite_load_record(const struct sqlite_store *self, uint64_t worker, struct vs_reply *reply) {
    sqlite3_stmt *stmt =
        sqlite_prepare(self, "SELECT record, ver FROM vesta_lease WHERE ns = ?1 AND worker = ?2", worker, reply);
    if (!stmt) return false;
    int rc = sqlite3_step(stmt);
    bool well = rc == SQLITE_ROW    ? sqlite_take_record(self, stmt, worker, reply)
                : rc == SQLITE_DONE ? true
                                    : vs_sqlite_trouble(self, rc, reply);
    sqlite3_finalize(stmt);
    return well;
}

static bool take_ns(const struct sqlite_store *self, sqlite3_stmt *stmt, struct vs_reply *reply) {
    const char *text = sqlite3_column_blob(stmt, 0);
    return vs_take_ns(reply, text, (size_t)sqlite3_column_bytes(stmt, 0), self->path) &&
           check_ver(reply, stmt, 1, reply->ns.ver);
}

static bool sqlite_load_ns(const struct sqlite_store *self, struct vs_reply *reply) {
    sqlite3_stmt *stmt = sqlite_prepare(self, "SELECT record, ver FROM vesta_namespace WHERE ns = ?1", 0, reply);
    if (!stmt) return false;
    int rc = sqlite3_step(stmt);
    bool well = rc == SQLITE_ROW    ? take_ns(self, stmt, reply)
                : rc == SQLITE_DONE ? true
                                    : vs_sqlite_trouble(self, rc, reply);
    sqlite3_finalize(stmt);
    return well;
}

struct sqlite_row {
    uint64_t worker, ver;
    const char *text;
    size_t length;
};

/* Writes a row.  The last two parameters of the statement are the row's version and text. */
static bool sqlite_save(const struct sqlite_store *self, const char *sql, const struct sqlite_row *row,
                        struct vs_reply *reply) {
    assert(!sqlite3_get_autocommit(self->db)); /* otherwise SQLite commits the write at once, before it is checked */
    assert(row->length > 0);
    assert(row->length <= VS_RECORD_TEXT_MAX);
    sqlite3_stmt *stmt = sqlite_prepare(self, sql, row->worker, reply);
    if (!stmt) return false;
    assert(sqlite3_bind_parameter_count(stmt) > 2); /* the statement has the namespace, the version and the text */
    int last = sqlite3_bind_parameter_count(stmt), rc = sqlite3_bind_int64(stmt, last - 1, (sqlite3_int64)row->ver);
    if (rc == SQLITE_OK) rc = sqlite3_bind_blob(stmt, last, row->text, (int)row->length, SQLITE_STATIC);
    if (rc == SQLITE_OK) rc = sqlite3_step(stmt);
    if (rc != SQLITE_DONE) vs_sqlite_trouble(self, rc, reply);
    sqlite3_finalize(stmt);
    if (rc == SQLITE_DONE && sqlite3_changes(self->db) == 0)
        return vs_answer(reply, VS_STORE_DOWN, "%.80s: nothing was written: try again", self->path);
    return rc == SQLITE_DONE;
}

/* ------------------------------------------------------------------ operations */

static void sqlite_read(struct vs_store *store, uint64_t worker, struct vs_reply *reply) {
    struct sqlite_store *self = sqlite_self_of(store);
    if (!vs_sqlite_begin(self, reply)) return;
    if (sqlite_load_record(self, worker, reply)) vs_done(reply);
    assert(reply->outcome != VS_STORE_UNKNOWN); /* only a write can have the outcome UNKNOWN */
    vs_sqlite_end(self);
}

/* Reads a written record back.  If the disk returned a wrong page to SQLite, the record may have been written where no
 * reader finds it.  Returns whether it was found. */
static bool shows_record(struct sqlite_store *self, uint64_t worker, struct vs_reply *reply) {
    struct vs_reply seen = {.outcome = VS_STORE_DOWN};
    bool stands = vs_sqlite_look_anew(self, &seen) && sqlite_load_record(self, worker, &seen) &&
                  vs_is_same_write(&reply->record, &seen.record);
    return stands || vs_sqlite_does_not_stand(self, reply);
}

static bool sqlite_shows_ns(struct sqlite_store *self, struct vs_reply *reply) {
    struct vs_reply seen = {.outcome = VS_STORE_DOWN};
    bool stands = vs_sqlite_look_anew(self, &seen) && sqlite_load_ns(self, &seen) && seen.ns.ver == reply->ns.ver &&
                  seen.ns.incarnation == reply->ns.incarnation && seen.ns.floor_ms == reply->ns.floor_ms &&
                  seen.ns.mark_ms == reply->ns.mark_ms;
    return stands || vs_sqlite_does_not_stand(self, reply);
}

static bool write_record(struct sqlite_store *self, uint64_t worker, const struct vs_record *record,
                         struct vs_reply *reply) {
    char text[VS_RECORD_TEXT_MAX];
    reply->record = *record;
    reply->record.written_ms = reply->store_ms;
    const struct sqlite_row row = {worker, record->ver, text, vs_record_write(&reply->record, text)};
    return sqlite_save(self, "INSERT OR REPLACE INTO vesta_lease (ns, worker, ver, record) VALUES (?1, ?2, ?3, ?4)",
                       &row, reply) &&
           vs_sqlite_commit(self, reply) && shows_record(self, worker, reply);
}

static void sqlite_swap(struct vs_store *store, uint64_t worker, uint64_t old_ver, const struct vs_record *record,
                        struct vs_reply *reply) {
    struct sqlite_store *self = sqlite_self_of(store);
    if (!vs_sqlite_begin(self, reply)) return;
    bool known = sqlite_load_ns(self, reply) && vs_is_met(&self->met, reply) && sqlite_load_record(self, worker, reply);
    if (known && !vs_follows(record, &reply->record, old_ver))
        vs_not_first(reply);
    else if (known && write_record(self, worker, record, reply))
        vs_done(reply);
    vs_sqlite_end(self);
}

static void sqlite_ns_read(struct vs_store *store, struct vs_reply *reply) {
    struct sqlite_store *self = sqlite_self_of(store);
    if (!vs_sqlite_begin(self, reply)) return;
    if (sqlite_load_ns(self, reply)) {
        /* the first call creates the tables.  The record has been read even if committing the tables fails */
        struct vs_reply made = *reply;
        vs_meet(&self->met, reply);
        if (vs_sqlite_commit(self, &made))
            vs_done(reply);
        else
            vs_answer_as(reply, VS_STORE_DOWN, &made);
    }
    assert(reply->outcome != VS_STORE_UNKNOWN);
    vs_sqlite_end(self);
}

static bool sqlite_write_ns(struct sqlite_store *self, const struct vs_ns_record *record, struct vs_reply *reply) {
    char text[VS_RECORD_TEXT_MAX];
    reply->ns = *record;
    const struct sqlite_row row = {.ver = record->ver, .text = text, .length = vs_ns_record_write(record, text)};
    return sqlite_save(self, "INSERT OR REPLACE INTO vesta_namespace (ns, ver, record) VALUES (?1, ?2, ?3)", &row,
                       reply) &&
           vs_sqlite_commit(self, reply) && sqlite_shows_ns(self, reply);
}

static void sqlite_ns_swap(struct vs_store *store, uint64_t old_ver, const struct vs_ns_record *record,
                           struct vs_reply *reply) {
    struct sqlite_store *self = sqlite_self_of(store);
    assert(record->ver == old_ver + 1);
    if (!vs_sqlite_begin(self, reply)) return;
    bool known = sqlite_load_ns(self, reply);
    if (known && reply->ns.ver != old_ver)
        vs_not_first(reply);
    else if (known && sqlite_write_ns(self, record, reply))
        vs_done(reply);
    vs_sqlite_end(self);
}

/* Lists the namespaces.  If `of` is given, uses a range of the primary key, so that only matching namespaces are
 * scanned.  '/' follows '.' in ASCII. */
static void sqlite_names(struct vs_store *store, const char *of, void (*tell)(void *to, const char *name), void *to,
                         struct vs_reply *reply) {
    static const char all[] = "SELECT ns FROM vesta_namespace",
                      kin[] = "SELECT ns FROM vesta_namespace WHERE ns >= ?1 AND ns < ?1 || '/'";
    struct sqlite_store *self = sqlite_self_of(store);
    sqlite3_stmt *stmt = NULL;
    if (!vs_sqlite_begin(self, reply)) return;
    int rc = sqlite3_prepare_v2(self->db, of ? kin : all, -1, &stmt, NULL);
    if (rc == SQLITE_OK && of) rc = sqlite3_bind_text(stmt, 1, of, -1, SQLITE_STATIC);
    while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0);
        if (name) tell(to, name);
        rc = name || sqlite3_column_type(stmt, 0) == SQLITE_NULL ? SQLITE_OK : SQLITE_NOMEM;
    }
    if (rc == SQLITE_DONE)
        vs_done(reply);
    else
        vs_sqlite_trouble(self, rc, reply);
    sqlite3_finalize(stmt);
    vs_sqlite_end(self);
}

static bool sqlite_list_row(const struct sqlite_store *self, sqlite3_stmt *stmt, struct vs_growing_list *list,
                            struct vs_reply *reply) {
    uint64_t worker = (uint64_t)sqlite3_column_int64(stmt, 2);
    return sqlite_take_record(self, stmt, worker, reply) && vs_list_add(list, worker, reply);
}

static void sqlite_list(struct vs_store *store, struct vs_listed **listed, size_t *count, struct vs_reply *reply) {
    struct sqlite_store *self = sqlite_self_of(store);
    *listed = NULL;
    *count = 0;
    if (!vs_sqlite_begin(self, reply)) return;
    sqlite3_stmt *stmt =
        sqlite_prepare(self, "SELECT record, ver, worker FROM vesta_lease WHERE ns = ?1 ORDER BY worker", 0, reply);
    struct vs_growing_list list = {listed, count, 0};
    int rc = SQLITE_OK;
    bool well = stmt != NULL;
    while (well && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
        well = sqlite_list_row(self, stmt, &list, reply);
    if (well && rc == SQLITE_DONE)
        vs_done(reply);
    else if (well)
        vs_sqlite_trouble(self, rc, reply);
    sqlite3_finalize(stmt);
    vs_sqlite_end(self);
}

/* ------------------------------------------------------------------ another database */

/* Reads the change counter from the file's header.  Call during a turn, because closing the file drops the locks of
 * other calls of this process.  Returns false if the file cannot be read. */
static bool read_counter(struct sqlite_store *self, uint32_t *counter) {
    unsigned char at[4];
    struct vs_reply reply;
    assert(!self->db); /* otherwise closing the file would drop this call's locks */
    if (vs_sqlite_turn_enter(&self->turn, &reply) != VS_TURN_OURS) return false;
    int fd = open(self->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool is_read = fd >= 0 && pread(fd, at, sizeof at, COUNTER_AT) == (ssize_t)sizeof at;
    if (fd >= 0) close(fd);
    vs_sqlite_turn_leave(&self->turn);
    if (is_read) *counter = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    return is_read;
}

/* Returns whether the path leads to a different file, or to a file with a lower change counter, which is an older
 * copy. */
static bool sqlite_stirred(struct vs_store *store, int64_t now_boot_us) {
    (void)now_boot_us;
    struct sqlite_store *self = sqlite_self_of(store);
    struct stat st;
    uint32_t counter = 0;
    if (stat(self->path, &st) != 0) return false; /* the next renewal reports a missing file */
    bool is_same = st.st_ino == self->seen.st_ino && st.st_dev == self->seen.st_dev;
    bool is_touched =
        st.st_mtim.tv_sec != self->seen.st_mtim.tv_sec || st.st_mtim.tv_nsec != self->seen.st_mtim.tv_nsec;
    if (is_same && !is_touched) return false;
    if (!read_counter(self, &counter)) return false;
    bool is_first = self->seen.st_ino == 0, is_older = counter < self->counter;
    self->seen = st;
    self->counter = counter;
    return !is_first && (!is_same || is_older);
}

/* ------------------------------------------------------------------ opening */

static int sqlite_check(const char *uri, struct vesta_error *err) {
    char path[VS_URI_MAX];
    return vs_uri_path(&vs_store_sqlite, uri, path, err);
}

static void sqlite_close(struct vs_store *store) {
    struct sqlite_store *self = sqlite_self_of(store);
    assert(!self->db);
    assert(self->turn.fd < 0);
    free(self);
}

static int sqlite_open(const char *uri, const struct vs_store_opts *opts, struct vs_store **store,
                       struct vesta_error *err) {
    char path[VS_URI_MAX];
    int rc = vs_uri_path(&vs_store_sqlite, uri, path, err);
    if (rc != VESTA_OK) return rc;
    struct sqlite_store *self = calloc(1, sizeof *self);
    if (!self) return vs_fail(err, VESTA_ENOMEM, "no memory");
    self->base = vs_store_base(&vs_store_sqlite, opts);
    self->call_ms_max = opts->call_ms_max ? opts->call_ms_max : VS_STORE_CALL_MS;
    snprintf(self->namespace_, sizeof self->namespace_, "%s", opts->namespace_);
    if (snprintf(self->path, sizeof self->path, "%s", path) >= (int)sizeof self->path)
        rc = vs_fail(err, VESTA_EIO, "the store's path is too long: %.100s", path);
    self->turn = (struct vs_sqlite_turn){.path = self->path, .group = opts->group, .fd = -1};
    if (rc == VESTA_OK) rc = vs_sqlite_make_file(&self->turn, err);
    if (rc != VESTA_OK) {
        free(self);
        return rc;
    }
    *store = &self->base;
    return VESTA_OK;
}

static const struct vs_store_leases sqlite_leases = {
    .list = sqlite_list,
    .read = sqlite_read,
    .names = sqlite_names,
    .swap = sqlite_swap,
    .ns_read = sqlite_ns_read,
    .ns_swap = sqlite_ns_swap,
    .stirred = sqlite_stirred,
};

static const struct vs_store_counters sqlite_counters = {
    .take = vs_sqlite_take,
    .untake = vs_sqlite_untake,
    .tags = vs_sqlite_tags,
    .tag_add = vs_sqlite_tag_add,
    .tag_step = vs_sqlite_tag_step,
    .lift = vs_sqlite_lift,
    .share = vs_sqlite_share,
    .keep_form = vs_sqlite_form,
    .reserve = vs_sqlite_reserve,
    .settle = vs_sqlite_settle,
};

const struct vs_backend vs_store_sqlite = {
    .scheme = "sqlite",
    .form = "sqlite:/FILE",
    .is_local = true,
    .made = "the database and its tables exist",
    .rights = "a process that leases needs write access to the file and its folder",
    .check = sqlite_check,
    .open = sqlite_open,
    .close = sqlite_close,
    .leases = &sqlite_leases,
    .counters = &sqlite_counters,
};
