/* counter.h -- what the backends' counters share: which there may be, what of a row no number may come from, and why.
 * Pure, but for the memory of a list. */
#ifndef VS_STORE_COUNTER_H
#define VS_STORE_COUNTER_H

#include "base/slice.h"
#include "store/reply.h"

#define VS_COUNTER_TABLE "leaf_alloc" /* where nobody says which */
#define VS_COUNTER_TABLE_MAX 65       /* its name: [A-Za-z0-9_$]{1,64}, with its NUL */

#define VS_SHARES "vesta_segment_share" /* shares, in a store that has tables: one row a table's name and tag */

/* The table's name, which may stand in a statement between quotes; NULL with the reply filled. */
const char *vs_counter_table(const char *table, struct vs_reply *reply);
/* Whether the counter may be asked for: its tag's name.  False: REFUSED. */
bool vs_counter_check(const struct vs_counter *counter, struct vs_reply *reply);
/* For a store whose counters are in no tables: that none is named.  False: REFUSED. */
bool vs_counter_no_table(const char *table, struct vs_reply *reply);
/* Whether a row stands at the floor or above, and so needs no lift: OK.  False with the reply filled where it is no
 * counter; with DOWN where it is to be lifted. */
bool vs_counter_is_lifted(const struct vs_tag *row, uint64_t floor, struct vs_reply *reply);
/* A step that is to stand in a row, and a first number.  False: REFUSED. */
bool vs_counter_check_step(uint64_t step, struct vs_reply *reply);
bool vs_counter_check_from(uint64_t from, struct vs_reply *reply);
/* What to answer if one share is remembered (delta 0: none, although it was written) and another is asked for. */
void vs_share_answer(const struct vs_share *stands, const struct vs_share *share, struct vs_reply *reply);
/* What to answer where one form's fingerprint is remembered (0: none), and another asked for (0: only what it is). */
void vs_form_answer(const char *tag, uint64_t stands, uint64_t fingerprint, struct vs_reply *reply);
/* An untake's bounds are what its caller was granted once: asserted, not answered. */
void vs_counter_check_untake(uint64_t from, uint64_t until);

/* Fills reply->grant with what a take of `step` (0: the row's own) passes over.  False: REFUSED, what is wrong. */
bool vs_counter_grant(const struct vs_tag *row, uint64_t step, struct vs_reply *reply);

/* A write, for a store that reads a row and then writes it over what it read. */
struct vs_counter_change {
    enum vs_counter_write { VS_TAKE, VS_UNTAKE, VS_TAG_ADD, VS_TAG_STEP, VS_LIFT } what;
    uint64_t step, from, until; /* those that its operation has; a lift's floor is `from` */
};
/* What it makes of the row that stands there (NULL: none).  False with the reply filled: nothing is to be written. */
bool vs_counter_decide(const struct vs_counter_change *change, const char *tag, const struct vs_tag *stands,
                       struct vs_tag *next, struct vs_reply *reply);

/* A row as a text, for a store without tables.  read: false with the reply filled. */
size_t vs_counter_text(const struct vs_tag *row, uint64_t ver, char *text);
bool vs_counter_read(const char *tag, struct vs_slice text, struct vs_tag *row, uint64_t *ver, struct vs_reply *reply);
/* The same for a list: NULL, or why it cannot be used, as the end of a sentence. */
const char *vs_counter_parse(const char *tag, struct vs_slice text, struct vs_tag *row, uint64_t *ver);

/* REFUSED, with the next step; false. */
bool vs_counter_unknown(const char *tag, struct vs_reply *reply);
bool vs_counter_is_spoilt(const char *tag, const char *why, struct vs_reply *reply);

/* Adds a row that can be used, or one that cannot, with the reason.  A row whose name no tag can have is counted as
 * passed.  Shape: row->tag is not looked at, its name is `name`, of any bytes.  False with the reply filled where there
 * are too many, or memory is out. */
bool vs_tags_add(struct vs_tag_list *list, struct vs_slice name, const struct vs_tag *row, struct vs_reply *reply);
bool vs_tags_add_unusable(struct vs_tag_list *list, struct vs_slice name, const char *why, struct vs_reply *reply);
/* A row whose name no tag can have. */
void vs_tags_pass(struct vs_tag_list *list, struct vs_slice name);

#endif
