/* counter.h -- the rules of counters, shared by the backends: valid names and values, and what each write does to a
 * row.  Pure, except for the memory of a list. */
#ifndef VS_STORE_COUNTER_H
#define VS_STORE_COUNTER_H

#include "base/slice.h"
#include "store/reply.h"

#define VS_COUNTER_TABLE "leaf_alloc"
#define VS_COUNTER_TABLE_MAX 65 /* [A-Za-z0-9_$]{1,64}, with NUL */

#define VS_SHARES "vesta_segment_share" /* table of shares: one row per table name and tag */

/* Returns the table's name, which is safe inside quotes in a statement. */
const char *vs_counter_table(const char *table, struct vs_reply *reply);
/* Whether the tag's name is valid.  False: REFUSED. */
bool vs_counter_check(const struct vs_counter *counter, struct vs_reply *reply);
/* For a store without tables: whether no table is given.  False: REFUSED. */
bool vs_counter_no_table(const char *table, struct vs_reply *reply);
/* Whether the row is at the floor or above, so that a lift has nothing to do: OK. False: the reply is REFUSED if the
 * row is invalid, and unchanged if the row needs a lift. */
bool vs_counter_is_lifted(const struct vs_tag *row, uint64_t floor, struct vs_reply *reply);
/* Check a step or a start value that will be written.  False: REFUSED. */
bool vs_counter_check_step(uint64_t step, struct vs_reply *reply);
bool vs_counter_check_from(uint64_t from, struct vs_reply *reply);
/* Fills the reply from the stored share (delta 0: none, although it was written) and the requested share. */
void vs_share_answer(const struct vs_share *stands, const struct vs_share *share, struct vs_reply *reply);
/* Fills the reply from the stored fingerprint (0: none) and the requested one (0: only read it). */
void vs_form_answer(const char *tag, uint64_t stands, uint64_t fingerprint, struct vs_reply *reply);
/* Asserts the bounds of an untake: they are a range that its caller was granted. */
void vs_counter_check_untake(uint64_t from, uint64_t until);

/* Fills reply->grant with the range that a take of `step` (0: the row's own) passes over.  False: REFUSED. */
bool vs_counter_grant(const struct vs_tag *row, uint64_t step, struct vs_reply *reply);

/* A write, for a store that reads a row and replaces the version that it read. */
struct vs_counter_change {
    enum vs_counter_write { VS_TAKE, VS_UNTAKE, VS_TAG_ADD, VS_TAG_STEP, VS_LIFT } what;
    uint64_t step, from, until; /* as the operation needs them.  For a lift, `from` is the floor */
};
/* Computes the row that the write stores, from the stored row (NULL: none).  False: nothing to write, and the reply is
 * filled. */
bool vs_counter_decide(const struct vs_counter_change *change, const char *tag, const struct vs_tag *stands,
                       struct vs_tag *next, struct vs_reply *reply);

/* A row as text, for a store without tables. read: false with the reply filled. */
size_t vs_counter_text(const struct vs_tag *row, uint64_t ver, char *text);
bool vs_counter_read(const char *tag, struct vs_slice text, struct vs_tag *row, uint64_t *ver, struct vs_reply *reply);
/* The same for a list.  Returns NULL, or the reason why the row cannot be used, as the end of a sentence. */
const char *vs_counter_parse(const char *tag, struct vs_slice text, struct vs_tag *row, uint64_t *ver);

/* Fill the reply with REFUSED and the remedy, and return false. */
bool vs_counter_unknown(const char *tag, struct vs_reply *reply);
bool vs_counter_is_spoilt(const char *tag, const char *why, struct vs_reply *reply);

/* Add a row, or the reason why it cannot be used.  A row with an invalid name is only counted, in `passed`.  Shape:
 * `name` may be any bytes and replaces row->tag.  False: too many rows or no memory. */
bool vs_tags_add(struct vs_tag_list *list, struct vs_slice name, const struct vs_tag *row, struct vs_reply *reply);
bool vs_tags_add_unusable(struct vs_tag_list *list, struct vs_slice name, const char *why, struct vs_reply *reply);
/* Counts a row with an invalid name. */
void vs_tags_pass(struct vs_tag_list *list, struct vs_slice name);

#endif
