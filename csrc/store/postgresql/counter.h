/* counter.h -- a call for one counter of a PostgreSQL database. */
#ifndef VS_STORE_POSTGRESQL_COUNTER_H
#define VS_STORE_POSTGRESQL_COUNTER_H

#include "store/counter.h"
#include "store/postgresql/link.h"

/* The columns of one kind of table. */
struct pg_shape {
    const char *tag, *step, *delta, *remainder; /* names of columns, or expressions in their place */
    int64_t above;                              /* difference between a range's first number and max_id */
    const char *bump;                           /* additional assignments of each write */
    const char *insert, *values;                /* additional columns of a new row, and their values */
};

struct vs_pg_call {
    struct pg_store *self;
    const char *table, *tag;
    const char *rights; /* the privileges on the table that the statement needs */
    const struct pg_shape *is;
    struct vs_reply *reply;
};

/* Checks the names, connects, and determines the table's kind. */
bool vs_pg_call_begin(struct vs_pg_call *call, struct vs_store *store, const struct vs_counter *counter,
                      struct vs_reply *reply);

/* A statement begins with the query `o`, which locks the counter's row and reads it.  So the values of `o` are current,
 * and stay current until the statement's own write. */
void vs_pg_call_row(const struct vs_pg_call *call, struct vs_sql *sql);
/* Adds the condition that selects the counter's row, which has the alias `c`. */
void vs_pg_call_which(const struct vs_pg_call *call, struct vs_sql *sql);
/* A condition for a write: there is one row, and vs_pg_call_run will find that its values are numbers. */
#define VS_PG_USABLE                                                                                                   \
    "(SELECT COUNT(*) FROM o) = 1"                                                                                     \
    " AND concat_ws(' ', o.max_id, o.step, o.delta, o.remainder) ~ '^-?[0-9]+( -?[0-9]+){3}$'"                         \
    " AND GREATEST(ABS(o.max_id::numeric), ABS(o.step::numeric), ABS(o.delta::numeric), ABS(o.remainder::numeric))"    \
    " <= 9223372036854775807"

/* The counter's row before the statement. */
struct vs_pg_look {
    struct vs_tag row;
    bool is_there;
};
/* Adds the statement's end, which selects the columns of `o` and then `more`.  `joins` are joins to `o`. */
void vs_pg_call_select(struct vs_sql *sql, const char *more, const char *joins);
/* Runs the statement.  Reads the columns of `o`, and returns a result with `more` further columns from VS_PG_MORE on.
 * Returns NULL if the statement fails or the row cannot be used, and has then filled the reply. */
#define VS_PG_MORE 6
PGresult *vs_pg_call_run(const struct vs_pg_call *call, const struct vs_sql *sql, int more, struct vs_pg_look *look);
/* Reads the counter's row.  Returns false if it fails or there is no row, and has then filled the reply. */
bool vs_pg_call_load(const struct vs_pg_call *call, struct vs_tag *row);
/* Fills the reply with REFUSED, because the tag has no row. */
void vs_pg_call_absent(const struct vs_pg_call *call);

/* If the server has reported a missing privilege, adds the GRANT.  `rights` are the privileges on the table. */
#define VS_PG_OWN_RIGHTS "SELECT, INSERT, UPDATE" /* on vesta's own tables */
void vs_pg_say_grant(const struct pg_store *self, const char *rights, const char *table, struct vs_reply *reply);
/* Creates a table of the store's schema if it is missing.  `columns` are its columns and constraints.  `index` are the
 * columns of an index, or NULL. */
bool vs_pg_make_table(struct pg_store *self, const char *table, const char *columns, const char *index,
                      struct vs_reply *reply);

void vs_pg_take(struct vs_store *store, const struct vs_counter *counter, uint64_t step, struct vs_reply *reply);
void vs_pg_untake(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t until,
                  struct vs_reply *reply);
void vs_pg_tags(struct vs_store *store, const char *table, struct vs_tag_list *list, struct vs_reply *reply);
void vs_pg_tag_add(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t step,
                   struct vs_reply *reply);
void vs_pg_tag_step(struct vs_store *store, const struct vs_counter *counter, uint64_t step, struct vs_reply *reply);
void vs_pg_lift(struct vs_store *store, const struct vs_counter *counter, uint64_t floor, struct vs_reply *reply);
void vs_pg_tag_init(struct vs_store *store, const char *table, struct vs_reply *reply);

/* share.c */
bool vs_pg_make_shares(struct pg_store *self, struct vs_reply *reply);
void vs_pg_share(struct vs_store *store, const struct vs_counter *counter, const struct vs_share *share,
                 struct vs_reply *reply);
void vs_pg_form(struct vs_store *store, const struct vs_counter *counter, uint64_t fingerprint, struct vs_reply *reply);

/* reserve.c */
bool vs_pg_make_reservations(struct pg_store *self, struct vs_reply *reply);
void vs_pg_reserve(struct vs_store *store, const struct vs_counter *counter, const struct vs_reservation *wanted,
                   struct vs_reply *reply);
void vs_pg_settle(struct vs_store *store, const struct vs_counter *counter, const struct vs_reservation *reservation,
                  bool commit, struct vs_reply *reply);

/* foreign.c */
void vs_pg_foreign(struct vs_store *store, const struct vs_foreign_ask *ask, struct vs_foreign_list *list,
                   struct vs_reply *reply);

#endif
