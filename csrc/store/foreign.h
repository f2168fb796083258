/* foreign.h -- what readers of other generators' tables and nodes share.  Pure, but for memory. */
#ifndef VS_STORE_FOREIGN_H
#define VS_STORE_FOREIGN_H

#include "store/reply.h"

/* False with the reply filled where there are too many, or memory is out. */
bool vs_foreign_add(struct vs_foreign_list *list, uint64_t worker, int64_t until_ms, const char *who,
                    struct vs_reply *reply);

/* Members of a flat JSON object as the originals write it: a whole number from 0 on, a text (cut where it is long).
 * False: there is none. */
bool vs_foreign_number(const char *json, const char *key, int64_t *out);
bool vs_foreign_text(const char *json, const char *key, char *out, size_t size);

#endif
