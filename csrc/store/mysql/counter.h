/* counter.h -- a call for one counter of a database. */
#ifndef VS_STORE_MYSQL_COUNTER_H
#define VS_STORE_MYSQL_COUNTER_H

#include "store/counter.h"
#include "store/mysql/link.h"

/* The columns of one kind of table. */
struct counter_shape {
    const char *tag, *step, *delta, *remainder; /* names of columns, or expressions in their place */
    const char *bump;                           /* additional assignments of each write */
    int64_t above;                              /* difference between a range's first number and max_id */
    const char *insert, *values;                /* additional columns of a new row, and their values */
};

struct vs_mysql_call {
    struct mysql_store *self;
    const char *table, *tag;
    const struct counter_shape *is;
    struct vs_reply *reply;
};

/* Checks the names, connects, and determines the table's kind. */
bool vs_mysql_call_begin(struct vs_mysql_call *call, struct vs_store *store, const struct vs_counter *counter,
                         struct vs_reply *reply);
/* Reads the counter's row.  Returns false if it fails or there is no row, and has then filled the reply. */
bool vs_mysql_call_load(const struct vs_mysql_call *call, struct vs_tag *row);
/* Adds the condition that selects the counter's row. */
void vs_mysql_call_which(const struct vs_mysql_call *call, struct vs_sql *sql);

/* Sends a write that must change exactly `rows` rows. */
enum vs_fate vs_mysql_call_write(const struct vs_mysql_call *call, const struct vs_sql *sql, uint64_t rows);

/* These two detect replies that belong to another write.  The write sets a column to LAST_INSERT_ID(far << VS_FAR_SHIFT
 * | mark), and the reply must return that mark.  `far` is a number below 2^40 that the statement computes.  If the mark
 * differs, vs_mysql_call_marked fills the reply and returns false. */
#define VS_FAR_SHIFT 23
uint64_t vs_mysql_call_mark(const struct vs_mysql_call *call);
bool vs_mysql_call_marked(const struct vs_mysql_call *call, uint64_t mark, uint64_t *far);

#endif
