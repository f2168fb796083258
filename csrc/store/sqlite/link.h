/* link.h -- a call to a database file: open, lock, one transaction, close.
 *
 * SQLite's connections and locks do not survive a fork, so no connection stays open between calls.  A call runs during
 * its turn (turn.h).  If a process is stopped inside a transaction, other processes cannot break its lock, but their
 * messages name the stopped process.
 *
 * A write is durable before the call returns.  With a rollback journal this needs synchronous=EXTRA.  Under FULL, the
 * removal of a journal may not be on disk at a power cut.  The journal then reappears and rolls back an acknowledged
 * write. */
#ifndef VS_STORE_SQLITE_LINK_H
#define VS_STORE_SQLITE_LINK_H

#include "store/reply.h"
#include "store/sqlite/turn.h"

#include <limits.h>
#include <sqlite3.h>
#include <sys/stat.h>

struct sqlite_store {
    struct vs_store base;
    int64_t call_ms_max;
    struct vs_met met;
    char namespace_[VESTA_NAMESPACE_MAX];
    char path[PATH_MAX - 64];
    struct vs_sqlite_turn turn;
    sqlite3 *db;      /* open only during a call */
    struct stat seen; /* the file and its change counter at the last check (sqlite_stirred) */
    uint32_t counter;
};

extern const struct vs_backend vs_store_sqlite;

/* Fills the reply from an SQLite error, which means that nothing was written.  Do not use this for errors of a commit.
 * Returns false. */
bool vs_sqlite_trouble(const struct sqlite_store *self, int rc, struct vs_reply *reply);

/* Runs statements that return no rows. */
bool vs_sqlite_run(const struct sqlite_store *self, const char *sql, struct vs_reply *reply);

/* Starts a call and sets reply->store_ms.  If it fails, fills the reply and returns false, and there is nothing to
 * undo.  Otherwise call vs_sqlite_end, which rolls back uncommitted changes. */
bool vs_sqlite_begin(struct sqlite_store *self, struct vs_reply *reply);
void vs_sqlite_end(struct sqlite_store *self);

/* Commits.  If a lock or a full disk prevents the commit, the transaction is rolled back.  After any other failure, the
 * outcome is UNKNOWN. */
bool vs_sqlite_commit(const struct sqlite_store *self, struct vs_reply *reply);

/* Reopens the database after a commit, because this connection's page cache does not prove what other connections will
 * read. */
bool vs_sqlite_look_anew(struct sqlite_store *self, struct vs_reply *reply);
/* Reports that the committed row was not found.  Fills the reply with UNKNOWN and returns false. */
bool vs_sqlite_does_not_stand(const struct sqlite_store *self, struct vs_reply *reply);

void vs_sqlite_take(struct vs_store *store, const struct vs_counter *counter, uint64_t step, struct vs_reply *reply);
void vs_sqlite_untake(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t until,
                      struct vs_reply *reply);
void vs_sqlite_tags(struct vs_store *store, const char *table, struct vs_tag_list *list, struct vs_reply *reply);
void vs_sqlite_tag_add(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t step,
                       struct vs_reply *reply);
void vs_sqlite_tag_step(struct vs_store *store, const struct vs_counter *counter, uint64_t step,
                        struct vs_reply *reply);
void vs_sqlite_lift(struct vs_store *store, const struct vs_counter *counter, uint64_t floor, struct vs_reply *reply);

void vs_sqlite_share(struct vs_store *store, const struct vs_counter *counter, const struct vs_share *share,
                     struct vs_reply *reply);
void vs_sqlite_form(struct vs_store *store, const struct vs_counter *counter, uint64_t fingerprint,
                    struct vs_reply *reply);

void vs_sqlite_reserve(struct vs_store *store, const struct vs_counter *counter, const struct vs_reservation *wanted,
                       struct vs_reply *reply);
void vs_sqlite_settle(struct vs_store *store, const struct vs_counter *counter,
                      const struct vs_reservation *reservation, bool commit, struct vs_reply *reply);

#endif
