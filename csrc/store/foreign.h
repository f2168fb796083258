/* foreign.h -- helpers for reading other generators' tables and nodes.  Pure, except that lists allocate memory. */
#ifndef VS_STORE_FOREIGN_H
#define VS_STORE_FOREIGN_H

#include "store/reply.h"

/* Adds a row, unless `ask` skips it or the list is full.  If there is no memory, fills the reply and returns false. */
bool vs_foreign_add(struct vs_foreign_list *list, const struct vs_foreign_ask *ask, const struct vs_foreign *row,
                    struct vs_reply *reply);

/* Completes the list.  Call this after the last row.  If there were too many rows, fills the reply and returns
 * false. */
bool vs_foreign_end(const struct vs_foreign_list *list, const struct vs_foreign_ask *ask, struct vs_reply *reply);

/* These two read a member of a flat JSON object as these generators write it: a whole number of at least 0, or a
 * string, which is truncated to fit.  They return false if the member is missing. */
bool vs_foreign_number(const char *json, const char *key, int64_t *out);
bool vs_foreign_text(const char *json, const char *key, char *out, size_t size);

#endif
