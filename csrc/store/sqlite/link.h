/* link.h -- a call of a database file: opened, locked, one transaction, closed.
 *
 * A call opens the database, does one transaction and closes it, in its turn (turn.h): SQLite's connections and locks
 * do not survive a fork, and so there is never one to carry over.  Nobody can break the lock of a process that is
 * stopped in a transaction; the others are told which one it is.
 *
 * Durable before it says so: with a rollback journal that takes synchronous=EXTRA, because under FULL a power cut may
 * bring back a journal whose removal was not yet on disk, and undo what was acknowledged. */
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
    sqlite3 *db;      /* during a call */
    struct stat seen; /* the file as it was looked at last, and its counter: see sqlite_stirred */
    uint32_t counter;
};

extern const struct vs_backend vs_store_sqlite;

/* What SQLite said of anything but a commit: nothing was done.  False. */
bool vs_sqlite_trouble(const struct sqlite_store *self, int rc, struct vs_reply *reply);

/* Statements without an answer.  False with the reply filled. */
bool vs_sqlite_run(const struct sqlite_store *self, const char *sql, struct vs_reply *reply);

/* Opens the call, with its time in reply->store_ms.  False with the reply filled, and nothing to undo; else `end` is to
 * follow, which undoes what was not committed. */
bool vs_sqlite_begin(struct sqlite_store *self, struct vs_reply *reply);
void vs_sqlite_end(struct sqlite_store *self);

/* A commit that met a lock or a full disk is rolled back; of any other failure only a later look can tell: UNKNOWN. */
bool vs_sqlite_commit(const struct sqlite_store *self, struct vs_reply *reply);

/* Behind a commit: the database as others will see it; what this connection remembers of its pages is no witness.
 * False with the reply filled. */
bool vs_sqlite_look_anew(struct sqlite_store *self, struct vs_reply *reply);
/* What was committed is not there: UNKNOWN.  False. */
bool vs_sqlite_does_not_stand(const struct sqlite_store *self, struct vs_reply *reply);

/* counter.c */
void vs_sqlite_take(struct vs_store *store, const struct vs_counter *counter, uint64_t step, struct vs_reply *reply);
void vs_sqlite_untake(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t until,
                      struct vs_reply *reply);
void vs_sqlite_tags(struct vs_store *store, const char *table, struct vs_tag_list *list, struct vs_reply *reply);
void vs_sqlite_tag_add(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t step,
                       struct vs_reply *reply);
void vs_sqlite_tag_step(struct vs_store *store, const struct vs_counter *counter, uint64_t step,
                        struct vs_reply *reply);
void vs_sqlite_lift(struct vs_store *store, const struct vs_counter *counter, uint64_t floor, struct vs_reply *reply);

/* share.c */
void vs_sqlite_share(struct vs_store *store, const struct vs_counter *counter, const struct vs_share *share,
                     struct vs_reply *reply);
void vs_sqlite_form(struct vs_store *store, const struct vs_counter *counter, uint64_t fingerprint,
                    struct vs_reply *reply);

/* reserve.c */
void vs_sqlite_reserve(struct vs_store *store, const struct vs_counter *counter, const struct vs_reservation *wanted,
                       struct vs_reply *reply);
void vs_sqlite_settle(struct vs_store *store, const struct vs_counter *counter,
                      const struct vs_reservation *reservation, bool commit, struct vs_reply *reply);

#endif
