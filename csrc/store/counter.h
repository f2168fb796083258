/* counter.h -- what the backends' counters share: which there may be, what of a row no number may come from, and why.
 * Pure, but for the memory of a list. */
#ifndef VS_STORE_COUNTER_H
#define VS_STORE_COUNTER_H

#include "base/slice.h"
#include "store/reply.h"

#define VS_COUNTER_TABLE "leaf_alloc" /* where nobody says which */
#define VS_COUNTER_TABLE_MAX 65       /* its name: [A-Za-z0-9_$]{1,64}, with its NUL */

/* The table's name, which may stand in a statement between quotes; NULL with the reply filled. */
const char *vs_counter_table(const char *table, struct vs_reply *reply);
/* Whether the counter may be asked for: its tag's name.  False: REFUSED. */
bool vs_counter_check(const struct vs_counter *counter, struct vs_reply *reply);
/* For a store whose counters are in no tables: the tag's name, and that none is named.  False: REFUSED. */
bool vs_counter_check_bare(const struct vs_counter *counter, struct vs_reply *reply);
bool vs_counter_no_table(const char *table, struct vs_reply *reply);
/* A step that is to stand in a row, and a first number with it.  False: REFUSED. */
bool vs_counter_check_step(uint64_t step, struct vs_reply *reply);
bool vs_counter_check_from(uint64_t from, struct vs_reply *reply);

/* Fills reply->grant with what a take of `step` (0: the row's own) passes over.  False: REFUSED, what is wrong. */
bool vs_counter_grant(const struct vs_tag *row, uint64_t step, struct vs_reply *reply);
/* An untake's bounds are what its caller was granted once: assert, do not answer. */
void vs_counter_check_untake(uint64_t from, uint64_t until);

/* REFUSED, with the next step; false. */
bool vs_counter_unknown(const char *tag, struct vs_reply *reply);
bool vs_counter_is_spoilt(const char *tag, struct vs_reply *reply);

/* Adds a row, unless its tag has no name of a tag: such a one is passed over.  Shape: row->tag is not looked at, its
 * name is `name`, of any bytes.  False with the reply filled where there are too many, or memory is out. */
bool vs_tags_add(struct vs_tag_list *list, struct vs_slice name, const struct vs_tag *row, struct vs_reply *reply);
/* What stands there is no counter. */
void vs_tags_pass(struct vs_tag_list *list, struct vs_slice name);

#endif
