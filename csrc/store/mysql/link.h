/* link.h -- the connection under mysql.c: made beside the calls, checked, dropped, left to a parent; statements
 * and their answers; what a server's errors mean.
 */
#ifndef VS_STORE_MYSQL_LINK_H
#define VS_STORE_MYSQL_LINK_H

#include "store/errand.h"
#include "store/pool.h"
#include "store/reply.h"

#include <mysql.h>

/* "0" or "OFF" where the server takes writes: some versions name it, some count it. */
#define VS_SQL_READ_ONLY "CAST(@@global.read_only AS CHAR)"

#define VS_SQL_CLOCK "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))"

/* The one rule of durability for tables of leases, counters, shares and reservations: the first of the named tables that
 * another engine keeps, as "NAME has the engine ENGINE"; NULL: there is none.  Other engines lose acknowledged writes in
 * a crash, or all rows.  A view has no engine.  person.c has the rule for the server's settings. */
#define VS_SQL_UNSAFE(tables)                                                                                          \
    "(SELECT MIN(CONCAT(e.table_name, ' has the engine ', e.engine)) FROM information_schema.tables AS e"              \
    " WHERE e.table_schema = DATABASE() AND e.table_name IN (" tables ") AND e.engine <> 'InnoDB')"
#define VS_MYSQL_UNSAFE_MAX 160

#define VS_MYSQL_NO_ROW "an answer without a row, which is not the server's: look at what is between"

/* Of the URI. */
enum { KEY_TLS, KEY_CA, KEY_SECRET_FILE, KEY_SOCKET, KEY_GALERA };

/* Whom to connect to, and as whom: whole in itself, for a connection is made by another thread than the call's. */
struct mysql_place {
    struct vs_uri uri;
    char host[256], secret[256], where[160];
    unsigned port, read_s; /* read_s: how long one message may take; the client counts in whole seconds */
};

/* What kind of counters a table holds, by its columns: of the table that was asked for last. */
struct vs_mysql_shape {
    char table[65];
    const struct counter_shape *is; /* NULL: none was looked at */
    char unsafe[VS_MYSQL_UNSAFE_MAX]; /* VS_SQL_UNSAFE; "": there is none */
};

struct mysql_store {
    struct vs_store base;
    int64_t call_ms_max;
    struct mysql_place place;
    char namespace_[VESTA_NAMESPACE_MAX];
    struct vs_met met;
    struct vs_pool *pool;     /* the connections of this place that no call has just now */
    unsigned losses;          /* of the pool, when the last call began */
    uint64_t process;         /* whose connection it is: vs_process_token */
    MYSQL *my;                /* NULL: not connected */
    bool has_tables;          /* ours, as they should be; looked at as it was connected */
    struct vs_errand *making; /* the connection that is on its way; NULL: none */
    MYSQL *late;              /* its call ended before the server answered; NULL: none */
    int64_t late_until_us;    /* then the server has ended that statement, or cannot be reached */
    struct vs_mysql_shape shape;
    uint64_t nonce; /* of the last statement: its answer says it again, so no other one is taken for it */
};

/* Opens a call: connected to a server that can be a store, with a deadline.  False with the reply filled. */
bool vs_mysql_begin(struct mysql_store *self, int64_t ms_max, bool needs_tables, struct vs_reply *reply);

/* Fills the reply by an error.  `otherwise`, where the error does not say: UNKNOWN for a write that was sent.  False.
 */
bool vs_mysql_trouble(const struct mysql_place *place, unsigned error, const char *said, enum vs_outcome otherwise,
                      struct vs_reply *reply);

/* The last statement's error: as above, and the connection is dropped unless the server only said no. */
bool vs_mysql_said_no(struct mysql_store *self, struct vs_reply *reply);

/* An answer that is none: the connection is dropped, and the outcome stays what it was before. */
bool vs_mysql_no_answer(struct mysql_store *self, const char *why, struct vs_reply *reply);

/* Whether the server has ended the connection, as it does where it is restarted, or another takes its place. */
bool vs_mysql_stirred(struct vs_store *store, int64_t now_boot_us);

/* Closes the connection; in a forked child it only forgets the parent's. */
void vs_mysql_drop(struct mysql_store *self);
/* Leaves it to whoever calls next. */
void vs_mysql_park(struct mysql_store *self, int64_t now_us);
/* One more store of self->place, and one less; false: no memory. */
bool vs_mysql_enter(struct mysql_store *self);
void vs_mysql_leave(struct mysql_store *self);

/* A server that can be written to and, where needs_tables, has ours. */
bool vs_mysql_check(const struct mysql_place *place, MYSQL *my, bool needs_tables, struct vs_reply *reply);
bool vs_mysql_check_read_only(const struct mysql_place *place, const char *value, struct vs_reply *reply);

/* ------------------------------------------------------------------ statements */

#define VS_SQL_MAX 8192
struct vs_sql {
    size_t length;
    char text[VS_SQL_MAX];
};
/* Returns a new nonce for the next statement. */
uint64_t vs_mysql_nonce(struct mysql_store *self);
__attribute__((format(printf, 2, 3))) void vs_sql_add(struct vs_sql *sql, const char *format, ...);
/* Bytes, as a literal that no character set and no SQL mode reads otherwise. */
void vs_sql_bytes(struct vs_sql *sql, const void *bytes, size_t length);

/* Sends a statement and waits for the beginning of its answer.  False: the server said no, or said nothing in time; the
 * reply is filled, with the outcome that it had where nobody knows better. */
bool vs_mysql_send(struct mysql_store *self, const struct vs_sql *sql, struct vs_reply *reply);

/* The rows of a SELECT whose first column is the nonce.  fetch: 1 with the row, 0 behind the last, -1 with the reply
 * filled.  After 1 or 0, `done`; after -1 the result is gone. */
struct vs_rows {
    MYSQL_RES *result;
    MYSQL_ROW row;
    unsigned long *length;
    unsigned count_column; /* 0: it is no list */
    uint64_t counted, seen;
};
/* As below; its last column counts the rows that the list must have.  -1 in place of 0 where it has not. */
bool vs_mysql_list(struct mysql_store *self, const struct vs_sql *sql, unsigned columns, struct vs_rows *rows,
                   struct vs_reply *reply);
bool vs_mysql_rows(struct mysql_store *self, const struct vs_sql *sql, unsigned columns, struct vs_rows *rows,
                   struct vs_reply *reply);
int vs_mysql_fetch(struct mysql_store *self, struct vs_rows *rows, struct vs_reply *reply);
void vs_mysql_rows_done(struct vs_rows *rows);

/* The LAST_INSERT_ID of the write that the server has just answered, if `mask` of it is `mark`: the write's own.  Where
 * the table has a trigger, the answer does not carry it, but the session has it, and is asked.  False with the reply
 * filled. */
bool vs_mysql_stamp(struct mysql_store *self, uint64_t mask, uint64_t mark, uint64_t *stamp, struct vs_reply *reply);

/* A cell is a whole number, from its first character to its last. */
bool vs_mysql_cell(const struct vs_rows *rows, int column, int64_t *out);
bool vs_mysql_count(const struct vs_rows *rows, int column, uint64_t *out);

/* person.c: for a person. */
void vs_mysql_init(struct vs_store *store, struct vs_reply *reply);
void vs_mysql_names(struct vs_store *store, const char *of, void (*tell)(void *to, const char *name), void *to,
                    struct vs_reply *reply);
void vs_mysql_inspect(struct vs_store *store, vs_tell_fault *tell, void *to, struct vs_reply *reply);

/* counter.c */
void vs_mysql_take(struct vs_store *store, const struct vs_counter *counter, uint64_t step, struct vs_reply *reply);
void vs_mysql_untake(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t until,
                     struct vs_reply *reply);
void vs_mysql_tags(struct vs_store *store, const char *table, struct vs_tag_list *list, struct vs_reply *reply);
void vs_mysql_tag_add(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t step,
                      struct vs_reply *reply);
void vs_mysql_tag_step(struct vs_store *store, const struct vs_counter *counter, uint64_t step, struct vs_reply *reply);
void vs_mysql_lift(struct vs_store *store, const struct vs_counter *counter, uint64_t floor, struct vs_reply *reply);
void vs_mysql_tag_init(struct vs_store *store, const char *table, struct vs_reply *reply);

/* share.c */
bool vs_mysql_make_shares(struct mysql_store *self, struct vs_reply *reply);
void vs_mysql_share(struct vs_store *store, const struct vs_counter *counter, const struct vs_share *share,
                    struct vs_reply *reply);
void vs_mysql_form(struct vs_store *store, const struct vs_counter *counter, uint64_t fingerprint,
                   struct vs_reply *reply);

/* reserve.c */
bool vs_mysql_make_reservations(struct mysql_store *self, struct vs_reply *reply);
void vs_mysql_reserve(struct vs_store *store, const struct vs_counter *counter, const struct vs_reservation *wanted,
                      struct vs_reply *reply);
void vs_mysql_settle(struct vs_store *store, const struct vs_counter *counter, const struct vs_reservation *reservation,
                     bool commit, struct vs_reply *reply);

/* foreign.c: other generators' tables.  keeps_counters: AUTO_INCREMENT survives a restart of this server. */
bool vs_mysql_keeps_counters(MYSQL *my);
void vs_mysql_foreign(struct vs_store *store, const struct vs_foreign_ask *ask, struct vs_foreign_list *list,
                      struct vs_reply *reply);

#endif
