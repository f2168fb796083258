#include "store/counter.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

bool vs_tag_is_named(const char *tag) {
    return vs_slice_is_name((struct vs_slice){tag, strlen(tag)}, VESTA_NAMESPACE_MAX - 1);
}

const char *vs_counter_table(const char *table, struct vs_reply *reply) {
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$";
    if (!table) return VS_COUNTER_TABLE;
    size_t length = strlen(table);
    if (length > 0 && length < VS_COUNTER_TABLE_MAX && strspn(table, allowed) == length) return table;
    vs_answer(reply, VS_STORE_REFUSED, "'%s' is not a valid table name: use 1 to %d of A-Z a-z 0-9 _ $",
              VS_QUOTE(table, length), VS_COUNTER_TABLE_MAX - 1);
    return NULL;
}

bool vs_counter_check(const struct vs_counter *counter, struct vs_reply *reply) {
    return vs_tag_is_named(counter->tag) ||
           vs_answer(reply, VS_STORE_REFUSED,
                     "'%s' is not a valid tag: use 1 to %d of A-Z a-z 0-9 _ . : - without a dot in front",
                     VS_QUOTE(counter->tag, strlen(counter->tag)), VESTA_NAMESPACE_MAX - 1);
}

bool vs_counter_no_table(const char *table, struct vs_reply *reply) {
    return !table || vs_answer(reply, VS_STORE_REFUSED, "the store has no tables, so omit the table name '%s'",
                               VS_QUOTE(table, strlen(table)));
}

bool vs_counter_check_step(uint64_t step, struct vs_reply *reply) {
    return (step > 0 && step <= VS_RANGE_MAX) ||
           vs_answer(reply, VS_STORE_REFUSED, "a step of %" PRIu64 " is out of range: use 1 to %" PRIu64, step,
                     VS_RANGE_MAX);
}

bool vs_counter_check_from(uint64_t from, struct vs_reply *reply) {
    return from < VS_NUMBER_MAX ||
           vs_answer(reply, VS_STORE_REFUSED, "a counter cannot start at %" PRIu64 ": use a number below 2^63 - 1",
                     from);
}

/* Lists the indexes of the missing stores, for a caller that named only one of them. */
static void list_missing(const struct vs_share *stands, char text[VS_SAID_MAX]) {
    size_t length = 0;
    text[0] = '\0';
    for (uint64_t i = 0; i < stands->delta && i < VS_DATABASES_MAX && length < VS_SAID_MAX; i++)
        if (i != stands->remainder)
            length += (size_t)snprintf(text + length, VS_SAID_MAX - length, "%s%" PRIu64,
                                       length ? ", " : ", including number ", i);
}

static void refuse_share(const struct vs_share *stands, const struct vs_share *share, struct vs_reply *reply) {
    char missing[VS_SAID_MAX] = "";
    if (share->delta == 1) list_missing(stands, missing);
    vs_answer(reply, VS_STORE_REFUSED,
              "this store was number %" PRIu64 " of %" PRIu64 " stores, and is now number %" PRIu64 " of %" PRIu64
              ": list all stores in their original order%s (" VS_SHARES ")",
              stands->remainder, stands->delta, share->remainder, share->delta, missing);
}

void vs_share_answer(const struct vs_share *stands, const struct vs_share *share, struct vs_reply *reply) {
    assert(share->delta > 0);
    assert(share->remainder < share->delta);
    if (stands->delta == 0)
        vs_answer(reply, VS_STORE_UNKNOWN, "the written row cannot be read back: try again");
    else if (stands->delta != share->delta || stands->remainder != share->remainder)
        refuse_share(stands, share, reply);
    else
        vs_done(reply);
}

void vs_form_refuse(const char *tag, struct vs_reply *reply) {
    vs_answer(
        reply, VS_STORE_REFUSED,
        "tag '%s' has issued numbers in a different form, so their texts might repeat. Create a tag for each form "
        "(vesta segments add)",
        tag);
}

void vs_form_answer(const char *tag, uint64_t stands, uint64_t fingerprint, struct vs_reply *reply) {
    reply->grant.from = stands;
    if (stands == fingerprint || fingerprint == 0)
        vs_done(reply);
    else if (stands == 0)
        vs_answer(reply, VS_STORE_UNKNOWN, "the written row cannot be read back: try again");
    else
        vs_form_refuse(tag, reply);
}

void vs_counter_check_untake(uint64_t from, uint64_t until) {
    assert(from < until);
    assert(until <= VS_NUMBER_MAX);
}

static bool check_step(const struct vs_tag *row, uint64_t step, struct vs_reply *reply) {
    assert(step <= VS_RANGE_MAX); /* 0 selects the row's step */
    if (row->step < 0 || row->step > (int64_t)VS_RANGE_MAX)
        return vs_answer(reply, VS_STORE_REFUSED,
                         "tag '%s' has a step of %" PRId64
                         ", which is out of range: set it with vesta segments step %s N",
                         row->tag, row->step, row->tag);
    if (step || row->step) return true;
    return vs_answer(reply, VS_STORE_REFUSED,
                     "tag '%s' has a step of 0, and the request has none: set it with vesta segments step %s N",
                     row->tag, row->tag);
}

static bool check_share(const struct vs_tag *row, struct vs_reply *reply) {
    if (row->delta < 1 || row->delta > (int64_t)VS_RANGE_MAX)
        return vs_answer(reply, VS_STORE_REFUSED,
                         "tag '%s' has a delta of %" PRId64 ": in each database, set it to the number of databases",
                         row->tag, row->delta);
    if (row->remainder < 0 || row->remainder >= row->delta)
        return vs_answer(reply, VS_STORE_REFUSED,
                         "tag '%s' has a remainder of %" PRId64 " with a delta of %" PRId64
                         ": set it to 0 or more, and less than the delta",
                         row->tag, row->remainder, row->delta);
    return true;
}

bool vs_counter_grant(const struct vs_tag *row, uint64_t step, struct vs_reply *reply) {
    if (!check_step(row, step, reply) || !check_share(row, reply)) return false;
    if (row->max < 0)
        return vs_answer(reply, VS_STORE_REFUSED,
                         "tag '%s' is at %" PRId64 ", below 0: set it higher than every issued number", row->tag,
                         row->max);
    uint64_t from = (uint64_t)row->max, by = step ? step : (uint64_t)row->step;
    if (by > VS_NUMBER_MAX - from)
        return vs_answer(reply, VS_STORE_REFUSED, "tag '%s' is at %" PRIu64 ": %" PRIu64 " more would exceed 2^63 - 1",
                         row->tag, from, by);
    reply->grant = (struct vs_grant){.from = from,
                                     .until = from + by,
                                     .step = (uint64_t)row->step,
                                     .delta = (uint64_t)row->delta,
                                     .remainder = (uint64_t)row->remainder};
    return true;
}

bool vs_counter_unknown(const char *tag, struct vs_reply *reply) {
    return vs_answer(reply, VS_STORE_REFUSED, "tag '%s' does not exist: create it with vesta segments add %s", tag,
                     tag);
}

bool vs_counter_is_spoilt(const char *tag, const char *why, struct vs_reply *reply) {
    return vs_answer(reply, VS_STORE_REFUSED, "the row of tag '%s' cannot be used: %s", tag, why);
}

/* ------------------------------------------------------------------ writes */

bool vs_counter_is_lifted(const struct vs_tag *row, uint64_t floor, struct vs_reply *reply) {
    if (row->max < 0)
        return vs_answer(reply, VS_STORE_REFUSED,
                         "tag '%s' is at %" PRId64 ", below 0: set it higher than every issued number", row->tag,
                         row->max);
    if ((uint64_t)row->max < floor) return false;
    vs_done(reply);
    return true;
}

static bool counter_decide(const struct vs_counter_change *change, struct vs_tag *next, struct vs_reply *reply) {
    switch (change->what) {
    case VS_TAKE:
        if (!vs_counter_grant(next, change->step, reply)) return false;
        next->max = (int64_t)reply->grant.until;
        return true;
    case VS_UNTAKE:
        if (next->max != (int64_t)change->until) break;
        next->max = (int64_t)change->from;
        return true;
    case VS_TAG_STEP: next->step = (int64_t)change->step; return vs_counter_check_step(change->step, reply);
    case VS_LIFT:
        if (vs_counter_is_lifted(next, change->from, reply) || next->max < 0) return false;
        next->max = (int64_t)change->from;
        return true;
    case VS_TAG_ADD: break;
    }
    vs_not_first(reply);
    return false;
}

bool vs_counter_decide(const struct vs_counter_change *change, const char *tag, const struct vs_tag *stands,
                       struct vs_tag *next, struct vs_reply *reply) {
    if (change->what == VS_UNTAKE) vs_counter_check_untake(change->from, change->until);
    if (change->what == VS_LIFT && !vs_counter_check_from(change->from, reply)) return false;
    if (change->what == VS_TAG_ADD &&
        !(vs_counter_check_from(change->from, reply) && vs_counter_check_step(change->step, reply)))
        return false;
    *next = stands ? *stands : (struct vs_tag){.max = (int64_t)change->from, .step = (int64_t)change->step, .delta = 1};
    snprintf(next->tag, sizeof next->tag, "%s", tag);
    if (stands) return counter_decide(change, next, reply);
    if (change->what == VS_TAG_ADD) return true;
    if (change->what != VS_UNTAKE) return vs_counter_unknown(tag, reply);
    vs_not_first(reply);
    return false;
}

/* ------------------------------------------------------------------ texts */

size_t vs_counter_text(const struct vs_tag *row, uint64_t ver, char *text) {
    struct vs_counter_record record = {
        .ver = ver, .max = (uint64_t)row->max, .step = (uint64_t)row->step, .updated_ms = row->updated_ms};
    assert(row->max >= 0); /* a take never writes a lower value */
    assert(row->delta == 1);
    snprintf(record.tag, sizeof record.tag, "%s", row->tag);
    return vs_counter_record_write(&record, text);
}

const char *vs_counter_parse(const char *tag, struct vs_slice text, struct vs_tag *row, uint64_t *ver) {
    struct vs_counter_record record = {.ver = 0};
    const char *why = text.length > 0 ? vs_counter_record_read(text.at, text.length, &record) : "it is empty";
    if (!why && strcmp(record.tag, tag) != 0) why = "it belongs to another tag";
    if (why) return why;
    *row = (struct vs_tag){
        .max = (int64_t)record.max, .step = (int64_t)record.step, .delta = 1, .updated_ms = record.updated_ms};
    snprintf(row->tag, sizeof row->tag, "%s", tag);
    *ver = record.ver;
    return NULL;
}

bool vs_counter_read(const char *tag, struct vs_slice text, struct vs_tag *row, uint64_t *ver, struct vs_reply *reply) {
    const char *why = vs_counter_parse(tag, text, row, ver);
    return !why || vs_counter_is_spoilt(tag, why, reply);
}

/* ------------------------------------------------------------------ lists */

const struct vs_tag *vs_tag_usable(const struct vs_tag_listed *row, const char **why) {
    *why = row->is_usable ? NULL : row->has.why;
    return row->is_usable ? &row->has.row : NULL;
}

void vs_tags_pass(struct vs_tag_list *list, struct vs_slice name) {
    if (list->passed++ == 0) vs_quote(list->strange, name.at, name.length);
}

/* Adds a row.  Returns NULL if the row was skipped, or if the reply has been filled, in which case *well is false. */
static struct vs_tag_listed *add_row(struct vs_tag_list *list, struct vs_slice name, struct vs_reply *reply,
                                     bool *well) {
    assert(list->count <= list->room);
    assert(list->count <= VS_TAGS_MAX);
    *well = true;
    if (!vs_slice_is_name(name, VESTA_NAMESPACE_MAX - 1)) {
        vs_tags_pass(list, name);
        return NULL;
    }
    *well = list->count < VS_TAGS_MAX ||
            vs_answer(reply, VS_STORE_REFUSED, "the table has more than %d tags, which is the limit", VS_TAGS_MAX);
    if (*well && list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 64;
        struct vs_tag_listed *more = realloc(list->rows, room * sizeof *more);
        *well = more || vs_answer(reply, VS_STORE_DOWN, "no memory for %zu tags", room);
        if (more) list->rows = more, list->room = room;
    }
    if (!*well) return NULL;
    struct vs_tag_listed *added = &list->rows[list->count++];
    memset(added, 0, sizeof *added);
    memcpy(added->tag, name.at, name.length);
    return added;
}

bool vs_tags_add(struct vs_tag_list *list, struct vs_slice name, const struct vs_tag *row, struct vs_reply *reply) {
    bool well;
    struct vs_tag_listed *added = add_row(list, name, reply, &well);
    if (!added) return well;
    added->is_usable = true;
    added->has.row = *row;
    memcpy(added->has.row.tag, added->tag, sizeof added->tag);
    return true;
}

bool vs_tags_add_unusable(struct vs_tag_list *list, struct vs_slice name, const char *why, struct vs_reply *reply) {
    bool well;
    struct vs_tag_listed *added = add_row(list, name, reply, &well);
    assert(*why);
    if (added) snprintf(added->has.why, sizeof added->has.why, "%s", why);
    return well;
}
