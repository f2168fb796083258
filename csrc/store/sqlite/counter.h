/* counter.h -- a call that is about one counter of a database file. */
#ifndef VS_STORE_SQLITE_COUNTER_H
#define VS_STORE_SQLITE_COUNTER_H

#include "store/counter.h"
#include "store/sqlite/link.h"

/* The counter's table by its name, in the database of `self`. */
struct vs_sqlite_call {
    struct sqlite_store *self;
    const char *table, *tag;
    struct vs_reply *reply;
};

/* Opens one, to be ended by vs_sqlite_end; false with the reply filled, and nothing to undo. */
bool vs_sqlite_call_begin(struct vs_sqlite_call *call, struct vs_store *store, const struct vs_counter *counter,
                          struct vs_reply *reply);
/* The counter's row; false with the reply filled, also where there is none. */
bool vs_sqlite_call_load(const struct vs_sqlite_call *call, struct vs_tag *row);
/* Writes it over what stands there, without a commit; false with the reply filled. */
bool vs_sqlite_call_write(const struct vs_sqlite_call *call, const struct vs_tag *row);
/* Whether a table is there. */
enum vs_sqlite_found { VS_FOUND, VS_FOUND_NONE, VS_FOUND_TOLD /* the reply is filled */ };
enum vs_sqlite_found vs_sqlite_find_table(const struct vs_sqlite_call *call, const char *table);

#endif
