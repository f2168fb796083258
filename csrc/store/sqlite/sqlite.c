/* sqlite.c -- the store of one host in one file: sqlite:/var/lib/vesta/vesta.db.
 *
 *     vesta_namespace (ns, ver, record)             records as text (lease/record.h), so that one reader judges them
 * all vesta_lease     (ns, worker, ver, record)
 *
 * A call opens the database, does one transaction and closes it, in its turn (turn.h): SQLite's connections and
 * locks do not survive a fork, and so there is never one to carry over.  Nobody can break the lock of a process that is
 * stopped in a transaction; the others are told which one it is.  The store's clock is the host's.
 *
 * Durable before it says so: with a rollback journal that takes synchronous=EXTRA, because under FULL a power cut may
 * bring back a journal whose removal was not yet on disk, and undo what was acknowledged. */
#include "base/error.h"
#include "store/reply.h"
#include "store/sqlite/turn.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

extern const struct vs_store_ops vs_store_sqlite;

#define APPLICATION_ID 0x76737461 /* "vsta", in the file's header */
#define SCHEMA_VERSION 1
#define COUNTER_AT 24 /* in the file's header: changes with each transaction */
#define LOOK_US 1000

struct sqlite_store {
    struct vs_store base;
    int64_t call_ms_max;
    struct vs_met met;
    char namespace_[VESTA_NAMESPACE_MAX];
    char path[PATH_MAX - 64];
    struct vs_sqlite_turn turn;
    sqlite3 *db;      /* during a call */
    struct stat seen; /* the file as it was looked at last, and its counter: see sqlite_stirred */
    uint32_t counter;
};

static struct sqlite_store *self_of(struct vs_store *store) {
    assert(store->ops == &vs_store_sqlite);
    return (struct sqlite_store *)store;
}

static const char schema[] =
    "CREATE TABLE vesta_namespace (ns TEXT PRIMARY KEY, ver INTEGER NOT NULL, record BLOB NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE vesta_lease (ns TEXT, worker INTEGER, ver INTEGER NOT NULL, record BLOB NOT NULL,"
    " PRIMARY KEY (ns, worker)) WITHOUT ROWID;"
    "PRAGMA application_id = 1987277921; PRAGMA user_version = 1;";
_Static_assert(APPLICATION_ID == 1987277921, "the schema's application_id is ours");
_Static_assert(SCHEMA_VERSION == 1, "and its user_version");

/* ------------------------------------------------------------------ errors */

/* What SQLite said of anything but a commit: nothing was done.  False. */
static bool trouble(const struct sqlite_store *self, int rc, struct vs_reply *reply) {
    int kind = rc & 0xff;
    assert(rc != SQLITE_OK);
    bool passes = kind == SQLITE_BUSY || kind == SQLITE_LOCKED || kind == SQLITE_NOMEM || kind == SQLITE_INTERRUPT;
    return vs_answer(reply, passes ? VS_STORE_DOWN : VS_STORE_REFUSED, "%.80s: %.60s", self->path,
                     kind == SQLITE_BUSY ? "another process keeps it locked" : sqlite3_errmsg(self->db));
}

static bool run(const struct sqlite_store *self, const char *sql, struct vs_reply *reply) {
    int rc = sqlite3_exec(self->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK || trouble(self, rc, reply);
}

/* A statement with the namespace as ?1 and, where it has one, the worker as ?2. */
static sqlite3_stmt *prepare(const struct sqlite_store *self, const char *sql, uint64_t worker,
                             struct vs_reply *reply) {
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(self->db, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_bind_text(stmt, 1, self->namespace_, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK && sqlite3_bind_parameter_count(stmt) > 1)
        rc = sqlite3_bind_int64(stmt, 2, (sqlite3_int64)worker);
    if (rc == SQLITE_OK) return stmt;
    trouble(self, rc, reply);
    sqlite3_finalize(stmt);
    return NULL;
}

/* ------------------------------------------------------------------ a transaction */

static bool number_is(const struct sqlite_store *self, const char *sql, sqlite3_int64 *value, struct vs_reply *reply) {
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(self->db, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        *value = sqlite3_column_int64(stmt, 0);
    else
        trouble(self, rc, reply);
    sqlite3_finalize(stmt);
    return rc == SQLITE_ROW;
}

/* The file is ours, or empty and about to be. */
static bool is_ours(const struct sqlite_store *self, struct vs_reply *reply) {
    sqlite3_int64 id = 0, version = 0, tables = 0;
    if (!number_is(self, "PRAGMA application_id", &id, reply) ||
        !number_is(self, "PRAGMA user_version", &version, reply) ||
        !number_is(self, "SELECT count(*) FROM sqlite_schema", &tables, reply))
        return false;
    if (id == 0 && tables == 0) return run(self, schema, reply);
    if (id == APPLICATION_ID && version == SCHEMA_VERSION) return true;
    return vs_answer(reply, VS_STORE_REFUSED, "%.80s %s", self->path,
                     id != APPLICATION_ID ? "is another program's database: give vesta a file of its own"
                                          : "was made by a newer vesta");
}

static void close_db(struct sqlite_store *self) {
    int left = sqlite3_close(self->db);
    assert(left == SQLITE_OK); /* a statement was not finalized, and keeps the file locked */
    (void)left;
    self->db = NULL;
}

/* Of a commit: somebody reads. */
static int wait_for_readers(void *arg, int tries) {
    const struct sqlite_store *self = arg;
    (void)tries;
    usleep(LOOK_US);
    return vs_call_left_ms(&self->base) > 0;
}

/* Without memory there is no connection at all: db is NULL, which sqlite3_errmsg and sqlite3_close know. */
static int open_db(struct sqlite_store *self) {
    assert(!self->db); /* it would be lost, and keep the file locked */
    return sqlite3_open_v2(self->path, &self->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, NULL);
}

/* Opens and locks, if that can be had at once; else nothing is to undo. */
static enum vs_turn try_begin(struct sqlite_store *self, struct vs_reply *reply) {
    vs_reply_clear(reply);
    assert(!self->db); /* a call within a call */
    enum vs_turn turn = vs_sqlite_turn_enter(&self->turn, reply);
    if (turn != VS_TURN_OURS) return turn;
    int rc = open_db(self);
    if (rc == SQLITE_OK) {
        sqlite3_db_config(self->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        sqlite3_db_config(self->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
        rc = sqlite3_exec(self->db, "PRAGMA synchronous = EXTRA; BEGIN IMMEDIATE", NULL, NULL, NULL);
    }
    if (rc == SQLITE_OK) sqlite3_busy_handler(self->db, wait_for_readers, self);
    if (rc != SQLITE_OK) trouble(self, rc, reply);
    if (rc == SQLITE_OK && is_ours(self, reply)) return VS_TURN_OURS;
    close_db(self); /* rolls back */
    vs_sqlite_turn_leave(&self->turn);
    return (rc & 0xff) == SQLITE_BUSY ? VS_TURN_BUSY : VS_TURN_NONE;
}

/* False with the reply filled, and nothing to undo.  Whoever waits has nothing that another waits for: everybody looks
 * every millisecond, since SQLite's own waiting backs off, and starves whoever has waited longest. */
static bool begin(struct sqlite_store *self, struct vs_reply *reply) {
    enum vs_turn turn;
    vs_call_begin(&self->base, self->call_ms_max);
    while ((turn = try_begin(self, reply)) == VS_TURN_BUSY && vs_call_left_ms(&self->base) > 0)
        usleep(LOOK_US);
    assert((turn == VS_TURN_OURS) == (self->db != NULL));
    int64_t now_ms = self->base.clock->unix_us(self->base.clock->self) / 1000;
    reply->store_ms = now_ms > 0 ? now_ms : 0;
    if (turn != VS_TURN_BUSY) return turn == VS_TURN_OURS;
    int64_t pid = vs_sqlite_turn_holder(&self->turn);
    if (pid > 0)
        return vs_answer(reply, VS_STORE_DOWN, "process %" PRId64 " keeps %.90s locked: is it stopped?", pid,
                         self->path);
    return vs_answer(reply, VS_STORE_DOWN, "%.90s: another process keeps it locked", self->path);
}

/* A commit that met a lock or a full disk is rolled back; of any other failure only a later look can tell. */
static bool commit(const struct sqlite_store *self, struct vs_reply *reply) {
    assert(!sqlite3_get_autocommit(self->db)); /* a transaction is open, in our turn */
    assert(self->turn.fd >= 0);
    vs_sent(reply);
    int rc = sqlite3_exec(self->db, "COMMIT", NULL, NULL, NULL), kind = rc & 0xff;
    if (rc == SQLITE_OK) return true;
    trouble(self, rc, reply);
    bool undone = kind == SQLITE_BUSY || kind == SQLITE_FULL;
    if (undone && !sqlite3_get_autocommit(self->db))
        undone = sqlite3_exec(self->db, "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK;
    if (!undone) vs_sent(reply);
    return false;
}

static void end(struct sqlite_store *self) {
    assert(self->turn.fd >= 0); /* nobody else looks between the rollback and the end of the turn */
    close_db(self);             /* rolls back what was not committed */
    vs_sqlite_turn_leave(&self->turn);
}

/* ------------------------------------------------------------------ rows */

/* A row's text and version agree, or somebody wrote one by hand. */
static bool check_ver(struct vs_reply *reply, sqlite3_stmt *stmt, int column, uint64_t ver) {
    return (uint64_t)sqlite3_column_int64(stmt, column) == ver ||
           vs_answer(reply, VS_STORE_REFUSED, "a row's ver is not that of its record: somebody changed it by hand");
}

static bool take_record(const struct sqlite_store *self, sqlite3_stmt *stmt, uint64_t worker, struct vs_reply *reply) {
    const char *text = sqlite3_column_blob(stmt, 0);
    return vs_take_record(reply, text, (size_t)sqlite3_column_bytes(stmt, 0), self->path, worker) &&
           check_ver(reply, stmt, 1, reply->record.ver);
}

/* True: reply->record is what stands there; ver 0: nothing does. */
static bool load_record(const struct sqlite_store *self, uint64_t worker, struct vs_reply *reply) {
    sqlite3_stmt *stmt =
        prepare(self, "SELECT record, ver FROM vesta_lease WHERE ns = ?1 AND worker = ?2", worker, reply);
    if (!stmt) return false;
    int rc = sqlite3_step(stmt);
    bool well = rc == SQLITE_ROW    ? take_record(self, stmt, worker, reply)
                : rc == SQLITE_DONE ? true
                                    : trouble(self, rc, reply);
    sqlite3_finalize(stmt);
    return well;
}

static bool take_ns(const struct sqlite_store *self, sqlite3_stmt *stmt, struct vs_reply *reply) {
    const char *text = sqlite3_column_blob(stmt, 0);
    return vs_take_ns(reply, text, (size_t)sqlite3_column_bytes(stmt, 0), self->path) &&
           check_ver(reply, stmt, 1, reply->ns.ver);
}

static bool load_ns(const struct sqlite_store *self, struct vs_reply *reply) {
    sqlite3_stmt *stmt = prepare(self, "SELECT record, ver FROM vesta_namespace WHERE ns = ?1", 0, reply);
    if (!stmt) return false;
    int rc = sqlite3_step(stmt);
    bool well = rc == SQLITE_ROW ? take_ns(self, stmt, reply) : rc == SQLITE_DONE ? true : trouble(self, rc, reply);
    sqlite3_finalize(stmt);
    return well;
}

struct row {
    uint64_t worker, ver;
    const char *text;
    size_t length;
};

/* Writes a row; the statement's last two parameters are its version and its text. */
static bool save(const struct sqlite_store *self, const char *sql, const struct row *row, struct vs_reply *reply) {
    assert(!sqlite3_get_autocommit(self->db)); /* else it would be done at once, and never looked at */
    assert(row->length > 0);
    assert(row->length <= VS_RECORD_TEXT_MAX);
    sqlite3_stmt *stmt = prepare(self, sql, row->worker, reply);
    if (!stmt) return false;
    assert(sqlite3_bind_parameter_count(stmt) > 2); /* the namespace, and those two */
    int last = sqlite3_bind_parameter_count(stmt), rc = sqlite3_bind_int64(stmt, last - 1, (sqlite3_int64)row->ver);
    if (rc == SQLITE_OK) rc = sqlite3_bind_blob(stmt, last, row->text, (int)row->length, SQLITE_STATIC);
    if (rc == SQLITE_OK) rc = sqlite3_step(stmt);
    if (rc != SQLITE_DONE) trouble(self, rc, reply);
    sqlite3_finalize(stmt);
    if (rc == SQLITE_DONE && sqlite3_changes(self->db) == 0)
        return vs_answer(reply, VS_STORE_DOWN, "%.80s: nothing was written", self->path);
    return rc == SQLITE_DONE;
}

/* ------------------------------------------------------------------ operations */

static void sqlite_read(struct vs_store *store, uint64_t worker, struct vs_reply *reply) {
    struct sqlite_store *self = self_of(store);
    if (!begin(self, reply)) return;
    if (load_record(self, worker, reply)) vs_done(reply);
    assert(reply->outcome != VS_STORE_UNKNOWN); /* which is for writes */
    end(self);
}

/* As others will see it: what this connection remembers of its pages is no witness.  False with the reply filled. */
static bool look_anew(struct sqlite_store *self, struct vs_reply *reply) {
    assert(sqlite3_get_autocommit(self->db)); /* or closing would undo what is looked for */
    assert(self->turn.fd >= 0);               /* and another might have written by then */
    close_db(self);
    int rc = open_db(self);
    if (rc != SQLITE_OK) return trouble(self, rc, reply);
    sqlite3_busy_handler(self->db, wait_for_readers, self);
    return true;
}

static bool does_not_stand(const struct sqlite_store *self, struct vs_reply *reply) {
    return vs_answer(reply, VS_STORE_UNKNOWN, "%.80s: what was written cannot be read back: is the disk sound?",
                     self->path);
}

/* A disk that gave SQLite another page than it asked for has it write where nobody finds it. */
static bool shows_record(struct sqlite_store *self, uint64_t worker, struct vs_reply *reply) {
    struct vs_reply seen = {.outcome = VS_STORE_DOWN};
    bool stands =
        look_anew(self, &seen) && load_record(self, worker, &seen) && vs_is_same_write(&reply->record, &seen.record);
    return stands || does_not_stand(self, reply);
}

static bool shows_ns(struct sqlite_store *self, struct vs_reply *reply) {
    struct vs_reply seen = {.outcome = VS_STORE_DOWN};
    bool stands = look_anew(self, &seen) && load_ns(self, &seen) && seen.ns.ver == reply->ns.ver &&
                  seen.ns.incarnation == reply->ns.incarnation && seen.ns.floor_ms == reply->ns.floor_ms;
    return stands || does_not_stand(self, reply);
}

static bool write_record(struct sqlite_store *self, uint64_t worker, const struct vs_record *record,
                         struct vs_reply *reply) {
    char text[VS_RECORD_TEXT_MAX];
    reply->record = *record;
    reply->record.written_ms = reply->store_ms;
    const struct row row = {worker, record->ver, text, vs_record_write(&reply->record, text)};
    return save(self, "INSERT OR REPLACE INTO vesta_lease (ns, worker, ver, record) VALUES (?1, ?2, ?3, ?4)", &row,
                reply) &&
           commit(self, reply) && shows_record(self, worker, reply);
}

static void sqlite_swap(struct vs_store *store, uint64_t worker, uint64_t old_ver, const struct vs_record *record,
                        struct vs_reply *reply) {
    struct sqlite_store *self = self_of(store);
    if (!begin(self, reply)) return;
    bool known = load_ns(self, reply) && vs_is_met(&self->met, reply) && load_record(self, worker, reply);
    if (known && !vs_follows(record, &reply->record, old_ver))
        vs_not_first(reply);
    else if (known && write_record(self, worker, record, reply))
        vs_done(reply);
    end(self);
}

static void sqlite_ns_read(struct vs_store *store, struct vs_reply *reply) {
    struct sqlite_store *self = self_of(store);
    if (!begin(self, reply)) return;
    if (load_ns(self, reply)) {
        struct vs_reply made = *reply; /* the first call has made the tables; whatever comes of it, this was read */
        vs_meet(&self->met, reply);
        if (commit(self, &made))
            vs_done(reply);
        else
            vs_answer(reply, VS_STORE_DOWN, "%s", made.text);
    }
    assert(reply->outcome != VS_STORE_UNKNOWN);
    end(self);
}

static bool write_ns(struct sqlite_store *self, const struct vs_ns_record *record, struct vs_reply *reply) {
    char text[VS_RECORD_TEXT_MAX];
    reply->ns = *record;
    const struct row row = {.ver = record->ver, .text = text, .length = vs_ns_record_write(record, text)};
    return save(self, "INSERT OR REPLACE INTO vesta_namespace (ns, ver, record) VALUES (?1, ?2, ?3)", &row, reply) &&
           commit(self, reply) && shows_ns(self, reply);
}

static void sqlite_ns_swap(struct vs_store *store, uint64_t old_ver, const struct vs_ns_record *record,
                           struct vs_reply *reply) {
    struct sqlite_store *self = self_of(store);
    assert(record->ver == old_ver + 1);
    if (!begin(self, reply)) return;
    bool known = load_ns(self, reply);
    if (known && reply->ns.ver != old_ver)
        vs_not_first(reply);
    else if (known && write_ns(self, record, reply))
        vs_done(reply);
    end(self);
}

static void sqlite_names(struct vs_store *store, void (*tell)(void *to, const char *name), void *to,
                         struct vs_reply *reply) {
    struct sqlite_store *self = self_of(store);
    sqlite3_stmt *stmt = NULL;
    if (!begin(self, reply)) return;
    int rc = sqlite3_prepare_v2(self->db, "SELECT ns FROM vesta_namespace", -1, &stmt, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0);
        if (name) tell(to, name);
        rc = SQLITE_OK;
    }
    if (rc == SQLITE_DONE)
        vs_done(reply);
    else
        trouble(self, rc, reply);
    sqlite3_finalize(stmt);
    end(self);
}

/* Adds the row that was stepped to; false with the reply filled. */
static bool list_row(const struct sqlite_store *self, sqlite3_stmt *stmt, struct vs_growing_list *list,
                     struct vs_reply *reply) {
    uint64_t worker = (uint64_t)sqlite3_column_int64(stmt, 2);
    return take_record(self, stmt, worker, reply) && vs_list_add(list, worker, reply);
}

static void sqlite_list(struct vs_store *store, struct vs_listed **listed, size_t *count, struct vs_reply *reply) {
    struct sqlite_store *self = self_of(store);
    *listed = NULL;
    *count = 0;
    if (!begin(self, reply)) return;
    sqlite3_stmt *stmt =
        prepare(self, "SELECT record, ver, worker FROM vesta_lease WHERE ns = ?1 ORDER BY worker", 0, reply);
    struct vs_growing_list list = {listed, count, 0};
    int rc = SQLITE_OK;
    bool well = stmt != NULL;
    while (well && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
        well = list_row(self, stmt, &list, reply);
    if (well && rc == SQLITE_DONE)
        vs_done(reply);
    else if (well)
        trouble(self, rc, reply);
    sqlite3_finalize(stmt);
    end(self);
}

/* ------------------------------------------------------------------ another database */

/* How many transactions the file has seen, by its header.  In a turn: closing the file drops the locks of whoever else
 * of this process is inside.  False: it is not known. */
static bool read_counter(struct sqlite_store *self, uint32_t *counter) {
    unsigned char at[4];
    struct vs_reply reply;
    assert(!self->db); /* closing would drop our own locks */
    if (vs_sqlite_turn_enter(&self->turn, &reply) != VS_TURN_OURS) return false;
    int fd = open(self->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool is_read = fd >= 0 && pread(fd, at, sizeof at, COUNTER_AT) == (ssize_t)sizeof at;
    if (fd >= 0) close(fd);
    vs_sqlite_turn_leave(&self->turn);
    if (is_read) *counter = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    return is_read;
}

/* Another file in its place, or one that has seen fewer transactions than before: an older copy. */
static bool sqlite_stirred(struct vs_store *store) {
    struct sqlite_store *self = self_of(store);
    struct stat st;
    uint32_t counter = 0;
    if (stat(self->path, &st) != 0) return false; /* gone: the next renewal says it */
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
    const char *path;
    return vs_uri_path(&vs_store_sqlite, uri, &path, err);
}

static void sqlite_close(struct vs_store *store) {
    struct sqlite_store *self = self_of(store);
    assert(!self->db); /* no call is under way */
    assert(self->turn.fd < 0);
    free(self);
}

static int sqlite_open(const char *uri, const struct vs_store_opts *opts, struct vs_store **store,
                       struct vesta_error *err) {
    const char *path;
    int rc = vs_uri_path(&vs_store_sqlite, uri, &path, err);
    if (rc != VESTA_OK) return rc;
    struct sqlite_store *self = calloc(1, sizeof *self);
    if (!self) return vs_fail(err, VESTA_ENOMEM, "no memory");
    self->base.ops = &vs_store_sqlite;
    self->base.clock = opts->clock;
    self->base.cut_us = opts->cut_us;
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

const struct vs_store_ops vs_store_sqlite = {
    .scheme = "sqlite",
    .form = "sqlite:/FILE",
    .is_local = true,
    .made = "the database and its tables are there",
    .rights = "whoever leases must be able to write the file and its folder",
    .check = sqlite_check,
    .open = sqlite_open,
    .close = sqlite_close,
    .list = sqlite_list,
    .read = sqlite_read,
    .names = sqlite_names,
    .swap = sqlite_swap,
    .ns_read = sqlite_ns_read,
    .ns_swap = sqlite_ns_swap,
    .stirred = sqlite_stirred,
};
