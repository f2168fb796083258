/* link.h -- the connection of a mysql: store: opening it, checks, the pool, forks.  Also statements, their results, and
 * the meaning of server errors. */
#ifndef VS_STORE_MYSQL_LINK_H
#define VS_STORE_MYSQL_LINK_H

#include "store/errand.h"
#include "store/pool.h"
#include "store/reply.h"
#include "store/sql.h"

#include <mysql.h>

/* "0" or "OFF" if the server accepts writes, depending on the server's version. */
#define VS_SQL_READ_ONLY "CAST(@@global.read_only AS CHAR)"

#define VS_SQL_CLOCK "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))"

/* Durability requires that the engine of all tables of leases, counters, shares and reservations is InnoDB.  Other
 * engines lose acknowledged writes, or all rows, in a crash.  This expression selects the first of the given tables
 * with another engine, as "NAME has the engine ENGINE", or NULL.  A view has no engine.  person.c checks the server's
 * settings. */
#define VS_SQL_UNSAFE(tables)                                                                                          \
    "(SELECT MIN(CONCAT(e.table_name, ' has the engine ', e.engine)) FROM information_schema.tables AS e"              \
    " WHERE e.table_schema = DATABASE() AND e.table_name IN (" tables ") AND e.engine <> 'InnoDB')"
#define VS_MYSQL_UNSAFE_MAX 160

#define VS_MYSQL_NO_ROW "the reply has no row, so it is not the server's: check the proxies in between"

enum { KEY_TLS, KEY_CA, KEY_SECRET_FILE, KEY_SOCKET, KEY_GALERA };

/* The server and the credentials.  This is a complete copy, because another thread opens the connection. */
struct mysql_place {
    struct vs_uri uri;
    char host[256], secret[256], where[160];
    /* read_s is the limit for one message, in whole seconds because the client library accepts no fractions */
    unsigned port, read_s;
};

/* The kind of the table that was used last, as determined by its columns. */
struct vs_mysql_shape {
    char table[65];
    const struct counter_shape *is;   /* NULL: no table has been checked yet */
    char unsafe[VS_MYSQL_UNSAFE_MAX]; /* result of VS_SQL_UNSAFE.  "": all engines are InnoDB */
};

struct mysql_store {
    struct vs_store base;
    int64_t call_ms_max;
    struct mysql_place place;
    char namespace_[VESTA_NAMESPACE_MAX];
    struct vs_met met;
    struct vs_pool *pool;
    unsigned losses;  /* result of vs_pool_losses at the start of the last call */
    uint64_t process; /* vs_process_token of the process that opened the connection */
    MYSQL *my;
    bool has_tables;          /* the tables of leases were complete when the connection was opened */
    struct vs_errand *making; /* the connection that is being opened.  NULL: none */
    MYSQL *late;              /* a connection with a statement that the server has not answered.  NULL: none */
    int64_t late_until_us;    /* by this time, the server has ended that statement, or is unreachable */
    struct vs_mysql_shape shape;
    /* identifies the last statement.  The reply contains it, so a late reply to another statement is detected */
    uint64_t nonce;
};

/* Starts a call: connects to a usable server and sets the deadline. */
bool vs_mysql_begin(struct mysql_store *self, int64_t ms_max, bool needs_tables, struct vs_reply *reply);

/* Fills the reply from an error.  `otherwise` is the outcome if the error does not decide it, which is UNKNOWN for a
 * write that was sent.  Returns false. */
bool vs_mysql_trouble(const struct mysql_place *place, unsigned error, const char *said, enum vs_outcome otherwise,
                      struct vs_reply *reply);

/* Fills the reply from the last statement's error.  Drops the connection unless the server only rejected the statement.
 * Returns false. */
bool vs_mysql_said_no(struct mysql_store *self, struct vs_reply *reply);

/* Handles an unusable reply.  Drops the connection and retains the outcome.  Returns false. */
bool vs_mysql_no_answer(struct mysql_store *self, const char *why, struct vs_reply *reply);

/* Returns whether the server has closed the connection, for example for a restart. */
bool vs_mysql_stirred(struct vs_store *store, int64_t now_boot_us);

/* Closes the connection.  A forked child only forgets its parent's connection. */
void vs_mysql_drop(struct mysql_store *self);
void vs_mysql_park(struct mysql_store *self, int64_t now_us);
/* These two register and unregister this store with the pool for self->place.  vs_mysql_enter returns false if there is
 * no memory. */
bool vs_mysql_enter(struct mysql_store *self);
void vs_mysql_leave(struct mysql_store *self);

/* Returns whether the server is usable.  A usable server is writable, and has the tables of leases if needs_tables is
 * true. */
bool vs_mysql_check(const struct mysql_place *place, MYSQL *my, bool needs_tables, struct vs_reply *reply);
bool vs_mysql_check_read_only(const struct mysql_place *place, const char *value, struct vs_reply *reply);

/* ------------------------------------------------------------------ statements */

uint64_t vs_mysql_nonce(struct mysql_store *self);
/* Adds bytes as a hex literal, which does not depend on the character set or the SQL mode. */
void vs_sql_bytes(struct vs_sql *sql, const void *bytes, size_t length);

/* Sends a statement and waits for the start of its reply.  Returns false if the server rejected the statement, or did
 * not reply in time.  In both cases, fills the reply, but does not change its outcome if the error does not decide the
 * outcome. */
bool vs_mysql_send(struct mysql_store *self, const struct vs_sql *sql, struct vs_reply *reply);

/* The rows of a SELECT with the nonce in its first column.  `fetch` returns 1 with a row, and 0 after the last row.
 * After an error it returns -1 and has filled the reply.  Call `done` after 1 or 0.  After -1, the result has already
 * been freed. */
struct vs_rows {
    MYSQL_RES *result;
    MYSQL_ROW row;
    unsigned long *length;
    unsigned count_column; /* index of the column with the number of rows.  0: the result is not a list */
    uint64_t counted, seen;
};
/* vs_mysql_rows sends the SELECT.  vs_mysql_list also requires that the last column contains the number of rows.  If
 * rows are missing, vs_mysql_fetch then returns -1 instead of 0. */
bool vs_mysql_list(struct mysql_store *self, const struct vs_sql *sql, unsigned columns, struct vs_rows *rows,
                   struct vs_reply *reply);
bool vs_mysql_rows(struct mysql_store *self, const struct vs_sql *sql, unsigned columns, struct vs_rows *rows,
                   struct vs_reply *reply);
int vs_mysql_fetch(struct mysql_store *self, struct vs_rows *rows, struct vs_reply *reply);
void vs_mysql_rows_done(struct vs_rows *rows);

/* Reads the LAST_INSERT_ID of the write that the server has just answered.  The value belongs to this write if its bits
 * in `mask` equal `mark`.  If the table has a trigger, the reply does not contain the value, so the session is queried.
 */
bool vs_mysql_stamp(struct mysql_store *self, uint64_t mask, uint64_t mark, uint64_t *stamp, struct vs_reply *reply);

/* These two parse a cell that must contain a whole number and no other characters. */
bool vs_mysql_cell(const struct vs_rows *rows, int column, int64_t *out);
bool vs_mysql_count(const struct vs_rows *rows, int column, uint64_t *out);

/* person.c: operations for administrators */
void vs_mysql_init(struct vs_store *store, struct vs_reply *reply);
void vs_mysql_names(struct vs_store *store, const char *of, void (*tell)(void *to, const char *name), void *to,
                    struct vs_reply *reply);
void vs_mysql_inspect(struct vs_store *store, vs_tell_fault *tell, void *to, struct vs_reply *reply);

void vs_mysql_take(struct vs_store *store, const struct vs_counter *counter, uint64_t step, struct vs_reply *reply);
void vs_mysql_untake(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t until,
                     struct vs_reply *reply);
void vs_mysql_tags(struct vs_store *store, const char *table, struct vs_tag_list *list, struct vs_reply *reply);
void vs_mysql_tag_add(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t step,
                      struct vs_reply *reply);
void vs_mysql_tag_step(struct vs_store *store, const struct vs_counter *counter, uint64_t step, struct vs_reply *reply);
void vs_mysql_lift(struct vs_store *store, const struct vs_counter *counter, uint64_t floor, struct vs_reply *reply);
void vs_mysql_tag_init(struct vs_store *store, const char *table, struct vs_reply *reply);

bool vs_mysql_make_shares(struct mysql_store *self, struct vs_reply *reply);
void vs_mysql_share(struct vs_store *store, const struct vs_counter *counter, const struct vs_share *share,
                    struct vs_reply *reply);
void vs_mysql_form(struct vs_store *store, const struct vs_counter *counter, uint64_t fingerprint,
                   struct vs_reply *reply);

bool vs_mysql_make_reservations(struct mysql_store *self, struct vs_reply *reply);
void vs_mysql_reserve(struct vs_store *store, const struct vs_counter *counter, const struct vs_reservation *wanted,
                      struct vs_reply *reply);
void vs_mysql_settle(struct vs_store *store, const struct vs_counter *counter, const struct vs_reservation *reservation,
                     bool commit, struct vs_reply *reply);

/* foreign.c.  vs_mysql_keeps_counters returns whether AUTO_INCREMENT survives a restart of this server. */
bool vs_mysql_keeps_counters(MYSQL *my);
void vs_mysql_foreign(struct vs_store *store, const struct vs_foreign_ask *ask, struct vs_foreign_list *list,
                      struct vs_reply *reply);

#endif
