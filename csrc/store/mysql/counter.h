/* counter.h -- a call for one counter of a database. */
#ifndef VS_STORE_MYSQL_COUNTER_H
#define VS_STORE_MYSQL_COUNTER_H

#include "store/counter.h"
#include "store/mysql/link.h"

/* The columns of one kind of table. */
struct counter_shape {
    const char *tag, *step, *delta, *remainder; /* column names, or expressions instead of them */
    const char *bump;                           /* further assignments of each write */
    int64_t above;                              /* a range's first number minus max_id */
    const char *insert, *values;                /* further columns of a new row, and their values */
};

struct vs_mysql_call {
    struct mysql_store *self;
    const char *table, *tag;
    const struct counter_shape *is;
    struct vs_reply *reply;
};

/* Checks the names, then connects and finds the table's kind. */
bool vs_mysql_call_begin(struct vs_mysql_call *call, struct vs_store *store, const struct vs_counter *counter,
                         struct vs_reply *reply);
/* Reads the counter's row.  False: the reply is filled, also if there is no row. */
bool vs_mysql_call_load(const struct vs_mysql_call *call, struct vs_tag *row);
/* Adds the condition that selects the counter's row. */
void vs_mysql_call_which(const struct vs_mysql_call *call, struct vs_sql *sql);

/* The result of a write.  NONE: no row matched the condition, or a unique key was violated.  TOLD: the reply is
 * filled. */
enum vs_fate { VS_FATE_DONE, VS_FATE_NONE, VS_FATE_TOLD };
/* Sends a write that must change exactly `rows` rows. */
enum vs_fate vs_mysql_call_write(const struct vs_mysql_call *call, const struct vs_sql *sql, uint64_t rows);

/* Detects replies that belong to another write.  The write sets a column by LAST_INSERT_ID(far << VS_FAR_SHIFT | mark),
 * and the reply must return that mark.  `far` is a number below 2^40 that the statement computes.
 * vs_mysql_call_marked: false if the mark differs, and the reply is filled. */
#define VS_FAR_SHIFT 23
uint64_t vs_mysql_call_mark(const struct vs_mysql_call *call);
bool vs_mysql_call_marked(const struct vs_mysql_call *call, uint64_t mark, uint64_t *far);

#endif
