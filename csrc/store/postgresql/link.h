/* link.h -- the connection of a postgresql: store.  Opens it (dial.c), pools it, handles forks, runs statements, and
 * interprets errors (errors.c). */
#ifndef VS_STORE_POSTGRESQL_LINK_H
#define VS_STORE_POSTGRESQL_LINK_H

#include "store/errand.h"
#include "store/pool.h"
#include "store/reply.h"
#include "store/sql.h"

#include <libpq-fe.h>

/* The server's clock in microseconds since 1970. */
#define VS_PG_CLOCK "(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint"

/* Durability requires that the tables of leases, counters, shares and reservations are ordinary ones.  An unlogged
 * table is emptied after a crash, and a view, a foreign table or a partitioned table may be anything.  `tables` is a
 * list such as "to_regclass('a'), to_regclass('b')".  This expression selects the first of them that is not ordinary,
 * as "NAME is not an ordinary, logged table", or NULL. */
#define VS_PG_UNSAFE(tables)                                                                                           \
    "(SELECT MIN(u.relname || ' is not an ordinary, logged table') FROM pg_class AS u WHERE u.oid IN (" tables         \
    ") AND NOT (u.relkind = 'r' AND u.relpersistence = 'p'))"

#define VS_PG_NO_ROW "the reply has no row, so it is not the server's: check the proxies in between"

enum { KEY_TLS, KEY_CA, KEY_SECRET_FILE, KEY_SOCKET, KEY_SCHEMA };

#define VS_PG_HOSTS_MAX 8
struct pg_host {
    char name[256];
    unsigned port;
};

/* The servers and the credentials.  This is a complete copy, because another thread opens the connection. */
struct pg_place {
    struct vs_uri uri;
    struct pg_host host[VS_PG_HOSTS_MAX];
    unsigned hosts;
    char secret[256], schema[64], where[160];
};

/* An open connection. */
struct pg_link {
    PGconn *pg;
    bool has_tables; /* the tables of leases existed when the connection was opened */
    unsigned host;   /* index in place.host */
    /* the server has committed the last statement, but its standby may not have received it */
    bool is_unreplicated;
};

/* The kind of the counters' table that was used last (counter.c). */
struct pg_known {
    char table[65], unsafe[160];
    const struct pg_shape *is; /* NULL: no table has been checked yet */
    bool is_dated;             /* a time can be assigned to update_time */
};

struct pg_store {
    struct vs_store base;
    int64_t call_ms_max;
    struct pg_place place;
    char namespace_[VESTA_NAMESPACE_MAX];
    struct vs_met met;
    struct vs_pool *pool;
    unsigned losses;          /* result of vs_pool_losses at the start of the last call */
    uint64_t process;         /* vs_process_token of the process that opened the connection */
    struct pg_link *link;     /* the open connection, or NULL */
    struct vs_errand *making; /* the connection that is being opened, or NULL */
    struct pg_link *late;     /* a connection with a statement that the server has not answered, or NULL */
    int64_t late_until_us;    /* by this time, the server has ended that statement, or is unreachable */
    unsigned host;            /* index of the host that was connected last.  The next connection tries it first */
    struct pg_known known;
    uint64_t nonce;           /* identifies the last statement.  The reply contains it */
};

/* ------------------------------------------------------------------ calls */

/* Starts a call: connects to a server that accepts writes, and sets the deadline. */
bool vs_pg_begin(struct pg_store *self, int64_t ms_max, bool needs_tables, struct vs_reply *reply);

/* Executes one or more statements, separated by semicolons, in one transaction and one message.  So no lock is held
 * between two messages, and no session state is needed, which allows a pooler in transaction mode.
 *
 * The transaction is READ COMMITTED and durable when it is acknowledged, whatever the user's settings.  Its search_path
 * is pg_catalog and the store's schema, so names of tables need no schema, and no other schema is searched.  Only
 * CREATE TABLE needs it (place.schema), or it would create the table in pg_catalog.  A lock wait ends after a second.
 * Backslashes must not be used, because standard_conforming_strings may be off.
 *
 * Returns the result of the last statement, with `columns` columns, or 0 for a command without rows.  The caller frees
 * it with PQclear.  Sets reply->store_ms.  The transaction has been committed.
 *
 * Returns NULL and fills the reply if the server rejected a statement, or did not reply in time.  If the error does not
 * show whether the transaction was committed, the reply's outcome stays unchanged.  So call vs_sent before a write. */
PGresult *vs_pg_run(struct pg_store *self, const struct vs_sql *sql, int columns, struct vs_reply *reply);
/* Works like vs_pg_run, for a statement that always returns exactly one row. */
PGresult *vs_pg_row(struct pg_store *self, const struct vs_sql *sql, int columns, struct vs_reply *reply);

/* Handles an unusable reply.  Drops the connection and retains the outcome.  Returns false. */
bool vs_pg_no_answer(struct pg_store *self, const char *why, struct vs_reply *reply);

/* ------------------------------------------------------------------ statements */

/* Adds bytes as an expression of type bytea, which does not depend on settings. */
void vs_pg_bytes(struct vs_sql *sql, const void *bytes, size_t length);

/* These two parse a cell that must contain a whole number and no other characters.  NULL is not a number. */
bool vs_pg_cell(const PGresult *result, int row, int column, int64_t *out);
bool vs_pg_count(const PGresult *result, int row, int column, uint64_t *out);

/* ------------------------------------------------------------------ the connection */

/* Returns whether the server has closed the connection, for example for a restart. */
bool vs_pg_stirred(struct vs_store *store, int64_t now_boot_us);
/* Closes the connection.  A forked child only forgets its parent's connection. */
void vs_pg_drop(struct pg_store *self);
/* Puts the connection into the pool, where other stores with the same address find it. */
void vs_pg_park(struct pg_store *self, int64_t now_us);
/* These two register and unregister this store with the pool for self->place.  vs_pg_enter returns false if there is no
 * memory. */
bool vs_pg_enter(struct pg_store *self);
void vs_pg_leave(struct pg_store *self);

/* dial.c: opens a connection to the first host that accepts writes.  Runs in another thread. */
struct pg_making {
    struct pg_place place;
    bool needs_tables;
    unsigned host; /* the host to try first */
    struct pg_link *link;
    struct vs_reply reply; /* the reason if `link` is NULL */
};
void vs_pg_dial(void *making);
void vs_pg_drop_making(void *making);
void vs_pg_end_link(struct pg_link *link);

/* The time limit of a wait: the deadline of the current call of `store`.  If `store` is NULL, `until_us` in the time of
 * vs_monotonic_us. */
struct pg_wait {
    const struct vs_store *store;
    int64_t until_us;
};
/* Waits until the connection's socket has one of the poll events.  Returns false at the time limit. */
bool vs_pg_wait(PGconn *pg, short events, const struct pg_wait *wait);

enum pg_end {
    PG_WELL,  /* the results are complete */
    PG_ERROR, /* the server rejected the statement, and the connection is usable */
    PG_LATE,  /* no reply before the deadline */
    PG_LOST   /* the connection is unusable */
};
/* The same as vs_pg_run, without a store.  Sets *result only if it returns PG_WELL, and fills the reply otherwise. */
enum pg_end vs_pg_exec(const struct pg_place *place, struct pg_link *link, const struct pg_wait *wait, uint64_t nonce,
                       const struct vs_sql *sql, PGresult **result, struct vs_reply *reply);

/* Returns whether the tables of leases exist and are as `vesta store init` creates them. */
bool vs_pg_check_tables(const struct pg_place *place, struct pg_link *link, const struct pg_wait *wait,
                        struct vs_reply *reply);

/* ------------------------------------------------------------------ errors */

/* Fills the reply from an error of the server, and returns false.  `state` is the SQLSTATE.  `otherwise` is the outcome
 * if the error does not determine it: UNKNOWN for a write that was sent. */
bool vs_pg_trouble(const struct pg_place *place, const char *state, const char *said, enum vs_outcome otherwise,
                   struct vs_reply *reply);
/* Fills the reply from an error of a connection that was not opened.  Returns false. */
bool vs_pg_dial_trouble(const struct pg_place *place, const char *said, struct vs_reply *reply);

/* person.c: operations for administrators */
void vs_pg_init(struct vs_store *store, struct vs_reply *reply);
void vs_pg_names(struct vs_store *store, const char *of, void (*tell)(void *to, const char *name), void *to,
                 struct vs_reply *reply);
void vs_pg_inspect(struct vs_store *store, vs_tell_fault *tell, void *to, struct vs_reply *reply);

#endif
