/* foreign.h -- what readers of other generators' tables and nodes share.  Pure, but for memory. */
#ifndef VS_STORE_FOREIGN_H
#define VS_STORE_FOREIGN_H

#include "store/reply.h"

/* Adds a row unless `ask` skips it or it is one too many.  wall_ms: see struct vs_foreign.  False with the reply filled if
 * memory is out. */
bool vs_foreign_add(struct vs_foreign_list *list, const struct vs_foreign_ask *ask, const struct vs_foreign *row,
                    struct vs_reply *reply);

/* Called when every row was added.  False with the reply filled if there were too many. */
bool vs_foreign_end(const struct vs_foreign_list *list, const struct vs_foreign_ask *ask, struct vs_reply *reply);

/* Members of a flat JSON object as the originals write it: a whole number from 0 on, a text (cut where it is long).
 * False: there is none. */
bool vs_foreign_number(const char *json, const char *key, int64_t *out);
bool vs_foreign_text(const char *json, const char *key, char *out, size_t size);

#endif
