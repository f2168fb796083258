/* counter.h -- a call that is about one counter of a database. */
#ifndef VS_STORE_MYSQL_COUNTER_H
#define VS_STORE_MYSQL_COUNTER_H

#include "store/counter.h"
#include "store/mysql/link.h"

/* Whose a table is, by its columns. */
struct counter_shape {
    const char *tag, *step, *delta, *remainder; /* its columns, or what stands for them */
    const char *bump;                    /* what else each write changes */
    int64_t above;                       /* of a range's first number, above max_id */
    const char *insert, *values;         /* what else a new row has */
};

struct vs_mysql_call {
    struct mysql_store *self;
    const char *table, *tag;
    const struct counter_shape *is;
    struct vs_reply *reply;
};

/* Names are checked before anything is asked.  False with the reply filled. */
bool vs_mysql_call_begin(struct vs_mysql_call *call, struct vs_store *store, const struct vs_counter *counter,
                         struct vs_reply *reply);
/* The counter's row; false with the reply filled, also where there is none. */
bool vs_mysql_call_load(const struct vs_mysql_call *call, struct vs_tag *row);
/* Which row of the table is meant, as a condition. */
void vs_mysql_call_which(const struct vs_mysql_call *call, struct vs_sql *sql);

/* What became of a write.  NONE: no row was as it had to be, or one stood in its way.  TOLD: the reply is filled. */
enum vs_fate { VS_FATE_DONE, VS_FATE_NONE, VS_FATE_TOLD };
/* Sends one that changes so many rows, all of them or none. */
enum vs_fate vs_mysql_call_write(const struct vs_mysql_call *call, const struct vs_sql *sql, uint64_t rows);

/* A write brings its mark back where it sets a column by LAST_INSERT_ID(far << VS_FAR_SHIFT | mark); marked: false with
 * the reply filled where it did not.  *far: what the statement counted, below 2^40. */
#define VS_FAR_SHIFT 23
uint64_t vs_mysql_call_mark(const struct vs_mysql_call *call);
bool vs_mysql_call_marked(const struct vs_mysql_call *call, uint64_t mark, uint64_t *far);

#endif
