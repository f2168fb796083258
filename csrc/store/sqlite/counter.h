/* counter.h -- a call for one counter of a database file. */
#ifndef VS_STORE_SQLITE_COUNTER_H
#define VS_STORE_SQLITE_COUNTER_H

#include "store/counter.h"
#include "store/sqlite/link.h"

struct vs_sqlite_call {
    struct sqlite_store *self;
    const char *table, *tag;
    struct vs_reply *reply;
};

/* Starts a call, which vs_sqlite_end must end.  If it fails, fills the reply and returns false, and there is nothing to
 * undo. */
bool vs_sqlite_call_begin(struct vs_sqlite_call *call, struct vs_store *store, const struct vs_counter *counter,
                          struct vs_reply *reply);
/* Reads the counter's row.  If it fails, or there is no row, fills the reply and returns false. */
bool vs_sqlite_call_load(const struct vs_sqlite_call *call, struct vs_tag *row);
bool vs_sqlite_call_write(const struct vs_sqlite_call *call, const struct vs_tag *row);
/* Returns whether the table exists. */
enum vs_sqlite_found { VS_FOUND, VS_FOUND_NONE, VS_FOUND_TOLD /* the reply has been filled */ };
enum vs_sqlite_found vs_sqlite_find_table(const struct vs_sqlite_call *call, const char *table);

#endif
