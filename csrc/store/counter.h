/* counter.h -- the rules of counters, shared by the backends: valid names and values, and what each write does to a
 * row.  Pure, except that lists allocate memory. */
#ifndef VS_STORE_COUNTER_H
#define VS_STORE_COUNTER_H

#include "base/slice.h"
#include "store/reply.h"

#define VS_COUNTER_TABLE "leaf_alloc"
#define VS_COUNTER_TABLE_MAX 65 /* [A-Za-z0-9_$]{1,64}, including the NUL */

#define VS_SHARES "vesta_segment_share" /* table of shares: one row per table name and tag */

/* Returns the table's name, which is safe inside quotes in a statement.  If the name is invalid, fills the reply with
 * REFUSED and returns NULL. */
const char *vs_counter_table(const char *table, struct vs_reply *reply);
/* Returns whether the tag's name is valid.  If not, fills the reply with REFUSED. */
bool vs_counter_check(const struct vs_counter *counter, struct vs_reply *reply);
/* For a store without tables, returns whether no table is named.  If a table is named, fills the reply with REFUSED. */
bool vs_counter_no_table(const char *table, struct vs_reply *reply);
/* Returns whether the row is at or above the floor, in which case the reply is OK, and a lift has nothing to do.
 * Otherwise the reply is REFUSED if the row is invalid, and unchanged if the row needs a lift. */
bool vs_counter_is_lifted(const struct vs_tag *row, uint64_t floor, struct vs_reply *reply);
/* These two check a step or a start value that will be written.  If it is invalid, they fill the reply with REFUSED and
 * return false. */
bool vs_counter_check_step(uint64_t step, struct vs_reply *reply);
bool vs_counter_check_from(uint64_t from, struct vs_reply *reply);
/* Fills the reply from the stored share and the requested share.  A stored delta of 0 means that no share was found,
 * although one was written. */
void vs_share_answer(const struct vs_share *stands, const struct vs_share *share, struct vs_reply *reply);
/* Fills the reply from the stored fingerprint, where 0 means none, and the requested fingerprint, where 0 means that
 * the caller only reads the stored one. */
void vs_form_answer(const char *tag, uint64_t stands, uint64_t fingerprint, struct vs_reply *reply);
/* Asserts that [from, until) can be a range that the caller of an untake was granted. */
void vs_counter_check_untake(uint64_t from, uint64_t until);

/* Fills reply->grant with the range between the counter's values before and after a take of `step`, where 0 selects the
 * row's step.  If the row is invalid, fills the reply with REFUSED and returns false. */
bool vs_counter_grant(const struct vs_tag *row, uint64_t step, struct vs_reply *reply);

/* A write to a row, for a store that replaces a row only if it still has the version that was read. */
struct vs_counter_change {
    enum vs_counter_write { VS_TAKE, VS_UNTAKE, VS_TAG_ADD, VS_TAG_STEP, VS_LIFT } what;
    uint64_t step, from, until; /* used as the operation requires.  For a lift, `from` is the floor */
};
/* Computes the row that the write stores from the stored row, or from NULL if there is none.  Returns false if nothing
 * must be written, and has then filled the reply. */
bool vs_counter_decide(const struct vs_counter_change *change, const char *tag, const struct vs_tag *stands,
                       struct vs_tag *next, struct vs_reply *reply);

/* These two convert a row to text and back, for a store without tables.  vs_counter_read returns false if the row is
 * invalid, and has then filled the reply. */
size_t vs_counter_text(const struct vs_tag *row, uint64_t ver, char *text);
bool vs_counter_read(const char *tag, struct vs_slice text, struct vs_tag *row, uint64_t *ver, struct vs_reply *reply);
/* Reads a row for a list.  Returns NULL, or the reason why the row cannot be used, as the end of a sentence. */
const char *vs_counter_parse(const char *tag, struct vs_slice text, struct vs_tag *row, uint64_t *ver);

/* These two fill the reply with REFUSED and the remedy, and return false. */
bool vs_counter_unknown(const char *tag, struct vs_reply *reply);
bool vs_counter_is_spoilt(const char *tag, const char *why, struct vs_reply *reply);

/* These two add a row, or the reason why the row cannot be used.  A row with an invalid name is only counted, in
 * `passed`. `name` may contain any bytes, and replaces row->tag.  They return false if there are too many rows, or no
 * memory. */
bool vs_tags_add(struct vs_tag_list *list, struct vs_slice name, const struct vs_tag *row, struct vs_reply *reply);
bool vs_tags_add_unusable(struct vs_tag_list *list, struct vs_slice name, const char *why, struct vs_reply *reply);
/* Counts a row with an invalid name. */
void vs_tags_pass(struct vs_tag_list *list, struct vs_slice name);

#endif
