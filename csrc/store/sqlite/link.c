/* link.c -- see link.h.  Does not interpret records. */
#include "store/sqlite/link.h"

#include <assert.h>
#include <inttypes.h>
#include <unistd.h>

#define APPLICATION_ID 0x76737461 /* "vsta", stored in the file's header */
#define SCHEMA_VERSION 1
#define LOOK_US 1000

static const char schema[] =
    "CREATE TABLE vesta_namespace (ns TEXT PRIMARY KEY, ver INTEGER NOT NULL, record BLOB NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE vesta_lease (ns TEXT, worker INTEGER, ver INTEGER NOT NULL, record BLOB NOT NULL,"
    " PRIMARY KEY (ns, worker)) WITHOUT ROWID;"
    "PRAGMA application_id = 1987277921; PRAGMA user_version = 1;";
_Static_assert(APPLICATION_ID == 1987277921, "the schema's application_id");
_Static_assert(SCHEMA_VERSION == 1, "the schema's user_version");

/* ------------------------------------------------------------------ errors */

/* Maps SQLite's primary result codes to faults. */
static enum vs_fault sqlite_fault_of(int kind) {
    switch (kind) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return VS_FAULT_LOCKED_FILE;
    case SQLITE_NOMEM: return VS_FAULT_MEMORY;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN: return VS_FAULT_FILE_RIGHTS;
    case SQLITE_FULL:
    case SQLITE_TOOBIG: return VS_FAULT_FULL;
    case SQLITE_IOERR:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_PROTOCOL:
    case SQLITE_NOLFS: return VS_FAULT_DISK;
    default: return VS_FAULT_NONE;
    }
}

bool vs_sqlite_trouble(const struct sqlite_store *self, int rc, struct vs_reply *reply) {
    int kind = rc & 0xff;
    assert(rc != SQLITE_OK);
    bool passes = kind == SQLITE_BUSY || kind == SQLITE_LOCKED || kind == SQLITE_NOMEM || kind == SQLITE_INTERRUPT;
    return vs_answer_fault(reply, passes ? VS_STORE_DOWN : VS_STORE_REFUSED, sqlite_fault_of(kind), "%.80s: %.600s",
                           self->path,
                           kind == SQLITE_BUSY ? "another process has locked it" : sqlite3_errmsg(self->db));
}

bool vs_sqlite_run(const struct sqlite_store *self, const char *sql, struct vs_reply *reply) {
    int rc = sqlite3_exec(self->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK || vs_sqlite_trouble(self, rc, reply);
}

/* ------------------------------------------------------------------ a transaction */

static bool number_is(const struct sqlite_store *self, const char *sql, sqlite3_int64 *value, struct vs_reply *reply) {
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(self->db, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        *value = sqlite3_column_int64(stmt, 0);
    else
        vs_sqlite_trouble(self, rc, reply);
    sqlite3_finalize(stmt);
    return rc == SQLITE_ROW;
}

/* Returns whether the file is a vesta database.  Creates the tables in an empty file. */
static bool sqlite_is_ours(const struct sqlite_store *self, struct vs_reply *reply) {
    sqlite3_int64 id = 0, version = 0, tables = 0;
    if (!number_is(self, "PRAGMA application_id", &id, reply) ||
        !number_is(self, "PRAGMA user_version", &version, reply) ||
        !number_is(self, "SELECT count(*) FROM sqlite_schema", &tables, reply))
        return false;
    if (id == 0 && tables == 0) return vs_sqlite_run(self, schema, reply);
    if (id == APPLICATION_ID && version == SCHEMA_VERSION) return true;
    return vs_answer(reply, VS_STORE_REFUSED, "%.80s %s", self->path,
                     id != APPLICATION_ID ? "is another program's database: choose another file for vesta"
                                          : "was created by a newer version of vesta: install that version");
}

static void close_db(struct sqlite_store *self) {
    int left = sqlite3_close(self->db);
    assert(left == SQLITE_OK); /* a statement that was not finalized keeps the file locked */
    (void)left;
    self->db = NULL;
}

/* SQLite calls this if the database is busy during a commit, which must wait for readers. */
static int wait_for_readers(void *arg, int tries) {
    const struct sqlite_store *self = arg;
    (void)tries;
    usleep(LOOK_US);
    return vs_call_left_ms(&self->base) > 0;
}

/* Opens the database.  If there is no memory, `db` is NULL, which sqlite3_errmsg and sqlite3_close accept. */
static int open_db(struct sqlite_store *self) {
    assert(!self->db); /* otherwise `db` would leak, and its file would stay locked */
    return sqlite3_open_v2(self->path, &self->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, NULL);
}

/* Opens and locks the database without waiting.  Unless it returns OURS, there is nothing to undo. */
static enum vs_turn try_begin(struct sqlite_store *self, struct vs_reply *reply) {
    vs_reply_clear(reply);
    assert(!self->db); /* otherwise this is a call inside a call */
    enum vs_turn turn = vs_sqlite_turn_enter(&self->turn, reply);
    if (turn != VS_TURN_OURS) return turn;
    int rc = open_db(self);
    if (rc == SQLITE_OK) {
        sqlite3_db_config(self->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        sqlite3_db_config(self->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
        rc = sqlite3_exec(self->db, "PRAGMA synchronous = EXTRA; BEGIN IMMEDIATE", NULL, NULL, NULL);
    }
    if (rc == SQLITE_OK) sqlite3_busy_handler(self->db, wait_for_readers, self);
    if (rc != SQLITE_OK) vs_sqlite_trouble(self, rc, reply);
    if (rc == SQLITE_OK && sqlite_is_ours(self, reply)) return VS_TURN_OURS;
    close_db(self); /* this rolls back the transaction */
    vs_sqlite_turn_leave(&self->turn);
    return (rc & 0xff) == SQLITE_BUSY ? VS_TURN_BUSY : VS_TURN_NONE;
}

/* Starts a call.  Polls every millisecond, because SQLite's own busy handler waits longer after each attempt, and so
 * starves the process that has waited longest. */
bool vs_sqlite_begin(struct sqlite_store *self, struct vs_reply *reply) {
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
        return vs_answer_fault(reply, VS_STORE_DOWN, VS_FAULT_LOCKED_FILE, "process %" PRId64 " has locked %.90s", pid,
                               self->path);
    return vs_answer_fault(reply, VS_STORE_DOWN, VS_FAULT_LOCKED_FILE, "%.90s: another process has locked it",
                           self->path);
}

bool vs_sqlite_commit(const struct sqlite_store *self, struct vs_reply *reply) {
    assert(!sqlite3_get_autocommit(self->db));
    assert(self->turn.fd >= 0);
    vs_sent(reply);
    int rc = sqlite3_exec(self->db, "COMMIT", NULL, NULL, NULL), kind = rc & 0xff;
    if (rc == SQLITE_OK) return true;
    vs_sqlite_trouble(self, rc, reply);
    bool undone = kind == SQLITE_BUSY || kind == SQLITE_FULL;
    if (undone && !sqlite3_get_autocommit(self->db))
        undone = sqlite3_exec(self->db, "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK;
    if (!undone) vs_sent(reply);
    return false;
}

void vs_sqlite_end(struct sqlite_store *self) {
    assert(self->turn.fd >= 0); /* the turn excludes other processes until the rollback is done */
    close_db(self);             /* this rolls back an open transaction */
    vs_sqlite_turn_leave(&self->turn);
}

bool vs_sqlite_look_anew(struct sqlite_store *self, struct vs_reply *reply) {
    assert(sqlite3_get_autocommit(self->db)); /* otherwise closing would roll back the write */
    assert(self->turn.fd >= 0);               /* otherwise another process might have written in the meantime */
    close_db(self);
    int rc = open_db(self);
    if (rc != SQLITE_OK) return vs_sqlite_trouble(self, rc, reply);
    sqlite3_busy_handler(self->db, wait_for_readers, self);
    return true;
}

bool vs_sqlite_does_not_stand(const struct sqlite_store *self, struct vs_reply *reply) {
    return vs_answer_fault(reply, VS_STORE_UNKNOWN, VS_FAULT_DISK, "%.80s: the written row cannot be read back",
                           self->path);
}
