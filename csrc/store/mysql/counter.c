/* counter.c -- counters in tables of Leaf or tinyid.  Their own servers may use the tables at the same time.
 *
 *     leaf_alloc   (biz_tag, max_id, step, update_time, ...)
 *                  ranges [max_id, max_id + step)
 *     tiny_id_info (biz_type, max_id, step, delta, remainder, version, update_time, ...)
 *                  ranges (max_id, max_id + step]
 *
 * A table's kind is found by its columns, not its name.  Leaf and tinyid tolerate other writers that change a row with
 * one statement, because they hold the row's lock from UPDATE to COMMIT, or check the version.
 *
 * A take sends two messages.  The first reads the row with FOR UPDATE, which a proxy sends to the primary, and the row
 * is checked.  The second raises the row with one autocommitted statement.  No lock is held between two messages, so a
 * client that stops, or a broken network, does not block others.  Another client may raise the row in between.  The
 * UPDATE returns the row's actual value in its LAST_INSERT_ID, as the distance from the value that was read, together
 * with a nonce that identifies the reply.
 *
 * Tags are compared byte by byte, because a case-insensitive collation would take `orders` for `Orders`. */
#include "store/mysql/counter.h"
#include "base/array.h"
#include "store/reservation.h"

#include <assert.h>
#include <inttypes.h>
#include <mysqld_error.h>
#include <stdio.h>

/* The parts of a LAST_INSERT_ID: the distance, a bit that is always 1, and the nonce.  The bit is needed because MySQL
 * returns a LAST_INSERT_ID of 0 if a statement sets none. */
#define NONCE_BITS 22
#define MARK_BIT (UINT64_C(1) << NONCE_BITS)
#define FAR_MAX ((UINT64_C(1) << 40) - 1) /* how many numbers other clients may take between the two messages */
_Static_assert(VS_FAR_SHIFT == NONCE_BITS + 1, "the distance is above the 1");
_Static_assert(VS_FAR_SHIFT + 40 < 64, "it fits");

enum { LEAF, TINYID, TICKETS };
static const struct counter_shape shapes[] = {
    [LEAF] = {"biz_tag", "c.step", "1", "0", "", 0, "", ""},
    /* tinyid's DDL allows a NULL step, which its server reads as the column's default */
    [TINYID] = {"biz_type", "COALESCE(c.step, 0)", "c.delta", "c.remainder",
                ", version = version + 1, update_time = NOW()", 1, ", begin_id, delta, remainder, create_time, version",
                ", max_id, 1, 0, CURRENT_TIMESTAMP, 0"},
    [TICKETS] = {.tag = "stub"},
};

/* ------------------------------------------------------------------ the kind of a table */

static const struct counter_shape *told_by(const struct vs_rows *rows) {
    int64_t leaf, tinyid, tickets;
    if (!vs_mysql_cell(rows, 2, &leaf) || !vs_mysql_cell(rows, 3, &tinyid) || !vs_mysql_cell(rows, 4, &tickets))
        return NULL;
    return leaf == 4 ? &shapes[LEAF] : tinyid == 7 ? &shapes[TINYID] : tickets == 2 ? &shapes[TICKETS] : NULL;
}

static bool told_wrong(const struct vs_mysql_call *call, bool is_there) {
    if (!is_there)
        return vs_answer_fault(call->reply, VS_STORE_REFUSED, VS_FAULT_NO_COUNTERS, "%.50s has no table %s",
                               call->self->place.where, call->table);
    return vs_answer(call->reply, VS_STORE_REFUSED,
                     "the table %s has neither the columns of Leaf's leaf_alloc (biz_tag, max_id, step, update_time) "
                     "nor those of tinyid's tiny_id_info",
                     call->table);
}

/* Determines the kind of the table.  The query always returns one row. */
static bool find_shape(struct vs_mysql_call *call) {
    struct mysql_store *self = call->self;
    struct vs_mysql_shape *known = &self->shape;
    struct vs_sql sql = {.length = 0};
    struct vs_rows rows;
    int64_t columns = 0;
    call->is = known->is;
    if (known->is && strcmp(known->table, call->table) == 0) return true;
    vs_sql_add(
        &sql,
        "SELECT %" PRIu64 ", COUNT(*),"
        " SUM(column_name IN ('biz_tag', 'max_id', 'step', 'update_time')), SUM(column_name IN"
        " ('biz_type', 'max_id', 'step', 'delta', 'remainder', 'version', 'update_time')),"
        " SUM(column_name = 'stub' OR (column_name = 'id' AND extra LIKE '%%auto_increment%%')),"
        " " VS_SQL_UNSAFE("'%s', '" VS_RESERVATIONS "', '" VS_SHARES
                          "'") " FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = '%s'",
        vs_mysql_nonce(self), call->table, call->table);
    if (!vs_mysql_rows(self, &sql, 6, &rows, call->reply)) return false;
    int found = vs_mysql_fetch(self, &rows, call->reply);
    if (found < 0) return false;
    bool is_told = found == 1 && vs_mysql_cell(&rows, 1, &columns);
    call->is = is_told ? told_by(&rows) : NULL;
    snprintf(known->unsafe, sizeof known->unsafe, "%s", is_told && rows.row[5] ? rows.row[5] : "");
    vs_mysql_rows_done(&rows);
    if (!is_told) return vs_mysql_no_answer(self, VS_MYSQL_NO_ROW, call->reply);
    if (!call->is) return told_wrong(call, columns > 0);
    snprintf(known->table, sizeof known->table, "%s", call->table);
    known->is = call->is;
    return true;
}

static bool begin_table(struct vs_mysql_call *call, struct vs_store *store, const char *table, int64_t ms_max,
                        struct vs_reply *reply) {
    struct mysql_store *self = (struct mysql_store *)store;
    assert(store->counters->take == vs_mysql_take);
    vs_reply_clear(reply);
    *call = (struct vs_mysql_call){self, vs_counter_table(table, reply), "", NULL, reply};
    return call->table && vs_mysql_begin(self, ms_max, false, reply) && find_shape(call);
}

bool vs_mysql_call_begin(struct vs_mysql_call *call, struct vs_store *store, const struct vs_counter *counter,
                         struct vs_reply *reply) {
    vs_reply_clear(reply);
    if (!vs_counter_check(counter, reply) ||
        !begin_table(call, store, counter->table, ((struct mysql_store *)store)->call_ms_max, reply))
        return false;
    call->tag = counter->tag;
    const char *unsafe = call->self->shape.unsafe;
    if (call->is == &shapes[TICKETS])
        return vs_answer(reply, VS_STORE_REFUSED,
                         "the table %s belongs to a ticket server: import it into a tag with vesta segments import",
                         call->table);
    return !*unsafe ||
           vs_answer_fault(reply, VS_STORE_REFUSED, VS_FAULT_ENGINE, "%.60s: %s", call->self->place.where, unsafe);
}

/* ------------------------------------------------------------------ rows */

enum {
    COL_NONCE,
    COL_TAG,
    COL_MAX,
    COL_STEP,
    COL_DELTA,
    COL_REMAINDER,
    COL_UPDATED,
    COL_CLOCK,
    COL_READ_ONLY,
    COLUMNS
};

static void add_select(const struct vs_mysql_call *call, struct vs_sql *sql) {
    const struct counter_shape *is = call->is;
    vs_sql_add(sql,
               "SELECT %" PRIu64 ", c.%s, c.max_id, %s, %s, %s,"
               " CAST(UNIX_TIMESTAMP(c.update_time) * 1000 AS SIGNED), " VS_SQL_CLOCK ", " VS_SQL_READ_ONLY,
               vs_mysql_nonce(call->self), is->tag, is->step, is->delta, is->remainder);
}

static void add_from(const struct vs_mysql_call *call, struct vs_sql *sql) {
    vs_sql_add(sql, " FROM (SELECT 1) AS one LEFT JOIN `%s` AS c ON ", call->table);
}

/* Adds the condition for the tag.  The first comparison finds the row by the table's key, and the second one compares
 * the bytes. */
void vs_mysql_call_which(const struct vs_mysql_call *call, struct vs_sql *sql) {
    assert(vs_tag_is_named(call->tag)); /* so the name is safe inside quotes */
    vs_sql_add(sql, "%s = '%s' AND CAST(CONVERT(%s USING utf8mb4) AS BINARY) = '%s'", call->is->tag, call->tag,
               call->is->tag, call->tag);
}

/* Writes why a cell is not a valid number, as the end of a sentence. */
static void why_not(const struct vs_rows *rows, int column, const char *name, char why[static VS_TAG_WHY_MAX]) {
    uint64_t number;
    if (!rows->row[column])
        snprintf(why, VS_TAG_WHY_MAX, "its %s is NULL", name);
    else if (vs_mysql_count(rows, column, &number))
        snprintf(why, VS_TAG_WHY_MAX, "its %s is %" PRIu64 ", beyond 2^63 - 1", name, number);
    else
        snprintf(why, VS_TAG_WHY_MAX, "its %s is '%s', which is not a 64-bit number", name,
                 VS_QUOTE(rows->row[column], rows->length[column]));
}

/* Copies the fetched row.  Returns false if a value cannot be used, and sets `why` to the reason. */
static bool mysql_counter_read_row(const struct vs_mysql_call *call, const struct vs_rows *rows, struct vs_tag *row,
                                   char why[static VS_TAG_WHY_MAX]) {
    *row = (struct vs_tag){.updated_ms = 0};
    const struct {
        int column;
        const char *name;
        int64_t *to;
    } numbers[] = {{COL_MAX, "max_id", &row->max},
                   {COL_STEP, "step", &row->step},
                   {COL_DELTA, "delta", &row->delta},
                   {COL_REMAINDER, "remainder", &row->remainder}};
    if (!vs_mysql_cell(rows, COL_UPDATED, &row->updated_ms) || row->updated_ms < 0) row->updated_ms = 0;
    for (size_t i = 0; i < VS_COUNT(numbers); i++)
        if (!vs_mysql_cell(rows, numbers[i].column, numbers[i].to))
            return why_not(rows, numbers[i].column, numbers[i].name, why), false;
    if (row->max > INT64_MAX - call->is->above)
        return snprintf(why, VS_TAG_WHY_MAX, "its max_id is %" PRId64 ", which leaves no further number", row->max),
               false;
    row->max += call->is->above;
    return true;
}

/* The row of the SELECT, stored until it is known that no second row follows. */
struct mysql_look {
    struct vs_tag row;
    bool is_whole, is_there, is_usable;
    char why[VS_TAG_WHY_MAX]; /* set if the row cannot be used */
    int64_t clock_us;
    char read_only[16];
};

static void mysql_counter_look_at(const struct vs_mysql_call *call, const struct vs_rows *rows,
                                  struct mysql_look *look) {
    look->is_whole = rows->row[COL_READ_ONLY] && vs_mysql_cell(rows, COL_CLOCK, &look->clock_us) && look->clock_us > 0;
    if (!look->is_whole) return;
    snprintf(look->read_only, sizeof look->read_only, "%s", rows->row[COL_READ_ONLY]);
    look->is_there = rows->row[COL_TAG] != NULL;
    look->is_usable = look->is_there && mysql_counter_read_row(call, rows, &look->row, look->why);
    snprintf(look->row.tag, sizeof look->row.tag, "%s", call->tag);
}

/* Reads the tag's row.  The SELECT always returns a row. */
static bool fetch_look(const struct vs_mysql_call *call, struct mysql_look *look) {
    struct mysql_store *self = call->self;
    struct vs_sql sql = {.length = 0};
    struct vs_rows rows;
    *look = (struct mysql_look){.is_whole = false};
    add_select(call, &sql);
    add_from(call, &sql);
    vs_mysql_call_which(call, &sql);
    vs_sql_add(&sql, " LIMIT 2 FOR UPDATE");
    /* the table may have been replaced, so its kind is trusted only after the table has replied */
    self->shape.is = NULL;
    if (!vs_mysql_rows(self, &sql, COLUMNS, &rows, call->reply)) return false;
    int found = vs_mysql_fetch(self, &rows, call->reply);
    if (found == 1) mysql_counter_look_at(call, &rows, look);
    int more = found == 1 ? vs_mysql_fetch(self, &rows, call->reply) : found;
    if (more < 0) return false;
    vs_mysql_rows_done(&rows);
    self->shape.is = call->is;
    if (found == 0) return vs_mysql_no_answer(self, VS_MYSQL_NO_ROW, call->reply);
    if (!look->is_whole) return vs_mysql_no_answer(self, "the reply has a damaged row", call->reply);
    return more == 0 ||
           vs_answer(call->reply, VS_STORE_REFUSED, "the table %s has tag '%s' twice: make %s its primary key",
                     call->table, call->tag, call->is->tag);
}

enum mysql_found { FOUND, FOUND_NONE, FOUND_TOLD /* FOUND_TOLD: the reply is filled */ };

static enum mysql_found mysql_counter_find_row(const struct vs_mysql_call *call, struct vs_tag *row) {
    struct mysql_look look;
    if (!fetch_look(call, &look) || !vs_mysql_check_read_only(&call->self->place, look.read_only, call->reply))
        return FOUND_TOLD;
    call->reply->store_ms = look.clock_us / 1000;
    if (!look.is_there) return FOUND_NONE;
    *row = look.row;
    if (look.is_usable) return FOUND;
    vs_counter_is_spoilt(call->tag, look.why, call->reply);
    return FOUND_TOLD;
}

/* Finds another tag that the column's collation treats as equal to the call's tag.  Sets alike to "" if there is none.
 */
static bool find_alike(const struct vs_mysql_call *call, char alike[VS_QUOTE_MAX]) {
    struct vs_sql sql = {.length = 0};
    struct vs_rows rows;
    vs_sql_add(&sql, "SELECT %" PRIu64 ", c.%s FROM (SELECT 1) AS one LEFT JOIN `%s` AS c ON c.%s = '%s' LIMIT 1",
               vs_mysql_nonce(call->self), call->is->tag, call->table, call->is->tag, call->tag);
    if (!vs_mysql_rows(call->self, &sql, 2, &rows, call->reply)) return false;
    int found = vs_mysql_fetch(call->self, &rows, call->reply);
    if (found < 0) return false;
    alike[0] = '\0';
    struct vs_slice tag = {rows.row ? rows.row[1] : NULL, found == 1 && rows.row[1] ? rows.length[1] : 0};
    if (tag.length > 0 && !vs_slice_is(tag, call->tag)) vs_quote(alike, tag.at, tag.length);
    vs_mysql_rows_done(&rows);
    return true;
}

/* Fills the reply if the tag has no row, or if a similar tag prevents a new row. */
static void say_absent(const struct vs_mysql_call *call, enum vs_outcome outcome) {
    char alike[VS_QUOTE_MAX];
    if (!find_alike(call, alike)) return;
    if (alike[0])
        vs_answer(call->reply, outcome,
                  "the table %s has no tag '%s', but '%s', which the collation of %s treats as equal: use the tag "
                  "'%s', or ALTER TABLE %s so that %s has the collation utf8mb4_bin",
                  call->table, call->tag, alike, call->is->tag, alike, call->table, call->is->tag);
    else if (outcome == VS_STORE_CONFLICT)
        vs_not_first(call->reply);
    else
        vs_counter_unknown(call->tag, call->reply);
}

bool vs_mysql_call_load(const struct vs_mysql_call *call, struct vs_tag *row) {
    enum mysql_found found = mysql_counter_find_row(call, row);
    if (found == FOUND_NONE) say_absent(call, VS_STORE_REFUSED);
    return found == FOUND;
}

/* ------------------------------------------------------------------ writes */

enum vs_fate vs_mysql_call_write(const struct vs_mysql_call *call, const struct vs_sql *sql, uint64_t rows) {
    vs_sent(call->reply);
    if (!vs_mysql_send(call->self, sql, call->reply)) {
        if (call->reply->outcome != VS_STORE_CONFLICT) return VS_FATE_TOLD;
        call->reply->outcome = VS_STORE_UNKNOWN; /* a unique key was violated, and the caller decides what that means */
        return VS_FATE_NONE;
    }
    bool has_fields = mysql_field_count(call->self->my) != 0;
    uint64_t changed = mysql_affected_rows(call->self->my);
    if (!has_fields && changed == 0) return VS_FATE_NONE;
    if (!has_fields && changed == rows) return VS_FATE_DONE;
    vs_mysql_no_answer(call->self, "the reply belongs to another statement", call->reply);
    return VS_FATE_TOLD;
}

bool vs_mysql_call_marked(const struct vs_mysql_call *call, uint64_t mark, uint64_t *far) {
    uint64_t stamp;
    assert(mark & MARK_BIT);
    if (!vs_mysql_stamp(call->self, 2 * MARK_BIT - 1, mark, &stamp, call->reply)) return false;
    *far = stamp >> VS_FAR_SHIFT;
    return *far <= FAR_MAX || vs_mysql_no_answer(call->self, "the reply belongs to another statement", call->reply);
}

uint64_t vs_mysql_call_mark(const struct vs_mysql_call *call) {
    return MARK_BIT | (vs_mysql_nonce(call->self) & (MARK_BIT - 1));
}

/* Raises the row by `step` from its current value.  The value must be at least the value that was read before.  It must
 * also not be so high that the distance or the end of the range would overflow. */
static void raise_row(const struct vs_mysql_call *call, const struct vs_tag *row, uint64_t step) {
    struct vs_sql sql = {.length = 0};
    uint64_t mark = vs_mysql_call_mark(call), far = 0;
    int64_t max = row->max - call->is->above, top = INT64_MAX - call->is->above - (int64_t)step;
    assert(step > 0 && step <= VS_RANGE_MAX);
    assert(max <= top); /* vs_counter_grant has checked this */
    if (top - max > (int64_t)FAR_MAX) top = max + (int64_t)FAR_MAX;
    vs_sql_add(&sql,
               "UPDATE `%s` SET max_id = IF(LAST_INSERT_ID((max_id - (%" PRId64 ")) << %d | %" PRIu64
               "), max_id + %" PRIu64 ", max_id)%s WHERE max_id BETWEEN %" PRId64 " AND %" PRId64 " AND ",
               call->table, max, VS_FAR_SHIFT, mark, step, call->is->bump, max, top);
    vs_mysql_call_which(call, &sql);
    enum vs_fate fate = vs_mysql_call_write(call, &sql, 1);
    if (fate == VS_FATE_NONE) vs_not_first(call->reply);
    if (fate != VS_FATE_DONE || !vs_mysql_call_marked(call, mark, &far)) return;
    call->reply->grant.from += far;
    call->reply->grant.until += far;
    vs_done(call->reply);
}

void vs_mysql_take(struct vs_store *store, const struct vs_counter *counter, uint64_t step, struct vs_reply *reply) {
    struct vs_mysql_call call;
    struct vs_tag row;
    if (!vs_mysql_call_begin(&call, store, counter, reply) || !vs_mysql_call_load(&call, &row)) return;
    if (vs_counter_grant(&row, step, reply)) raise_row(&call, &row, step ? step : (uint64_t)row.step);
}

void vs_mysql_untake(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t until,
                     struct vs_reply *reply) {
    struct vs_sql sql = {.length = 0};
    struct vs_mysql_call call;
    uint64_t far;
    vs_counter_check_untake(from, until);
    if (!vs_mysql_call_begin(&call, store, counter, reply)) return;
    uint64_t mark = vs_mysql_call_mark(&call);
    vs_sql_add(&sql,
               "UPDATE `%s` SET max_id = IF(LAST_INSERT_ID(%" PRIu64 "), %" PRId64 ", max_id)%s WHERE max_id = %" PRId64
               " AND ",
               call.table, mark, (int64_t)from - call.is->above, call.is->bump, (int64_t)until - call.is->above);
    vs_mysql_call_which(&call, &sql);
    enum vs_fate fate = vs_mysql_call_write(&call, &sql, 1);
    if (fate == VS_FATE_NONE) vs_not_first(reply);
    if (fate == VS_FATE_DONE && vs_mysql_call_marked(&call, mark, &far)) vs_done(reply);
}

/* ------------------------------------------------------------------ for administrators */

/* Adds the fetched row to the list, unless it only marks an empty table. */
static bool mysql_counter_list_row(const struct vs_mysql_call *call, const struct vs_rows *rows,
                                   struct vs_tag_list *list) {
    struct vs_tag row;
    char why[VS_TAG_WHY_MAX];
    if (rows->counted == 0) return true; /* an empty table returns one such row */
    const char *at = rows->row[COL_TAG];
    struct vs_slice name = {at ? at : "", at ? rows->length[COL_TAG] : 0};
    if (mysql_counter_read_row(call, rows, &row, why)) return vs_tags_add(list, name, &row, call->reply);
    return vs_tags_add_unusable(list, name, why, call->reply);
}

static void list_counters(const struct vs_mysql_call *call, struct vs_tag_list *list) {
    struct vs_sql sql = {.length = 0};
    struct vs_rows rows;
    int found = 0, seen = 0;
    add_select(call, &sql);
    vs_sql_add(&sql, ", (SELECT COUNT(*) FROM `%s`)", call->table);
    add_from(call, &sql);
    vs_sql_add(&sql, "1 = 1");
    if (!vs_mysql_list(call->self, &sql, COLUMNS + 1, &rows, call->reply)) return;
    bool well = true;
    for (; well && (found = vs_mysql_fetch(call->self, &rows, call->reply)) == 1; seen++)
        well = mysql_counter_list_row(call, &rows, list);
    if (well && found < 0) return;
    vs_mysql_rows_done(&rows);
    if (well && seen)
        vs_done(call->reply);
    else if (well)
        vs_mysql_no_answer(call->self, VS_MYSQL_NO_ROW, call->reply);
}

/* The state of a ticket server's table: its highest id, and its AUTO_INCREMENT, which also counts deleted rows. */
struct tickets {
    uint64_t highest, next; /* 0: the table has no row, or no AUTO_INCREMENT */
    struct vs_tag row;
};

static bool read_tickets(const struct vs_rows *rows, struct tickets *tickets) {
    struct vs_tag *row = &tickets->row;
    *tickets = (struct tickets){.highest = 0};
    return (!rows->row[1] || vs_mysql_count(rows, 1, &tickets->highest)) &&
           (!rows->row[2] || vs_mysql_count(rows, 2, &tickets->next)) && vs_mysql_cell(rows, 3, &row->delta) &&
           vs_mysql_cell(rows, 4, &row->remainder) && row->delta > 0 && row->remainder >= 0;
}

static bool judge_tickets(const struct vs_mysql_call *call, struct tickets *tickets) {
    uint64_t past = tickets->highest < UINT64_MAX ? tickets->highest + 1 : UINT64_MAX;
    if (tickets->highest == 0 && (tickets->next <= (uint64_t)tickets->row.remainder || tickets->next <= 1 ||
                                  !vs_mysql_keeps_counters(call->self->my)))
        return vs_answer(call->reply, VS_STORE_REFUSED,
                         "the table %s has no row, so its highest number is unknown: find the highest number in use, "
                         "and run vesta segments add TAG --from N",
                         call->table);
    if (tickets->next > past) past = tickets->next;
    if (past >= VS_NUMBER_MAX)
        return vs_answer(call->reply, VS_STORE_REFUSED,
                         "the table %s is at %" PRIu64 ", but a counter's numbers must be below 2^63 - 1", call->table,
                         past);
    tickets->row.max = (int64_t)past;
    tickets->row.remainder %= tickets->row.delta;
    return true;
}

static void list_tickets(const struct vs_mysql_call *call, struct vs_tag_list *list) {
    struct vs_sql sql = {.length = 0};
    struct vs_rows rows;
    struct tickets tickets;
    vs_sql_add(&sql,
               "SELECT %" PRIu64 ", (SELECT MAX(id) FROM `%s`), (SELECT MAX(auto_increment) FROM"
               " information_schema.tables WHERE table_schema = DATABASE() AND table_name = '%s'),"
               " @@global.auto_increment_increment, @@global.auto_increment_offset",
               vs_mysql_nonce(call->self), call->table, call->table);
    if (!vs_mysql_rows(call->self, &sql, 5, &rows, call->reply)) return;
    int found = vs_mysql_fetch(call->self, &rows, call->reply);
    if (found < 0) return;
    bool is_read = found == 1 && read_tickets(&rows, &tickets);
    vs_mysql_rows_done(&rows);
    if (!is_read) {
        vs_mysql_no_answer(call->self, "the reply does not contain the state of the table", call->reply);
        return;
    }
    if (judge_tickets(call, &tickets) &&
        vs_tags_add(list, (struct vs_slice){call->table, strlen(call->table)}, &tickets.row, call->reply))
        vs_done(call->reply);
}

void vs_mysql_tags(struct vs_store *store, const char *table, struct vs_tag_list *list, struct vs_reply *reply) {
    struct vs_mysql_call call;
    assert(list->count == 0); /* rows that are already in the list would appear as rows of this table */
    if (!begin_table(&call, store, table, VS_STORE_LIST_MS, reply)) return;
    if (call.is == &shapes[TICKETS])
        list_tickets(&call, list);
    else
        list_counters(&call, list);
}

/* Reads back an administrator's write.  The write was done if the row has the new step. */
static void look_again(const struct vs_mysql_call *call, uint64_t step) {
    struct vs_reply seen = *call->reply;
    struct vs_mysql_call look = *call;
    struct vs_tag row;
    look.reply = &seen;
    assert(call->reply->outcome == VS_STORE_UNKNOWN);
    if (mysql_counter_find_row(&look, &row) == FOUND && row.step == (int64_t)step)
        vs_done(call->reply);
    else
        vs_answer(call->reply, VS_STORE_UNKNOWN, "%.60s: the written row cannot be read back: try again",
                  call->self->place.where);
}

void vs_mysql_tag_add(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t step,
                      struct vs_reply *reply) {
    struct vs_sql sql = {.length = 0};
    struct vs_mysql_call call;
    struct vs_tag row;
    vs_reply_clear(reply);
    if (!vs_counter_check_from(from, reply) || !vs_counter_check_step(step, reply) ||
        !vs_mysql_call_begin(&call, store, counter, reply))
        return;
    enum mysql_found found = mysql_counter_find_row(&call, &row);
    if (found == FOUND) vs_not_first(reply);
    if (found != FOUND_NONE) return;
    vs_sql_add(&sql,
               "INSERT INTO `%s` (%s, max_id, step, update_time%s) VALUES ('%s', %" PRId64 ", %" PRIu64
               ", CURRENT_TIMESTAMP%s)",
               call.table, call.is->tag, call.is->insert, call.tag, (int64_t)from - call.is->above, step,
               call.is->values);
    enum vs_fate fate = vs_mysql_call_write(&call, &sql, 1);
    if (fate == VS_FATE_NONE) vs_not_done(reply), say_absent(&call, VS_STORE_CONFLICT);
    if (fate == VS_FATE_DONE) look_again(&call, step);
}

void vs_mysql_tag_step(struct vs_store *store, const struct vs_counter *counter, uint64_t step,
                       struct vs_reply *reply) {
    struct vs_sql sql = {.length = 0};
    struct vs_mysql_call call;
    vs_reply_clear(reply);
    if (!vs_counter_check_step(step, reply) || !vs_mysql_call_begin(&call, store, counter, reply)) return;
    vs_sql_add(&sql, "UPDATE `%s` SET step = %" PRIu64 "%s WHERE ", call.table, step, call.is->bump);
    vs_mysql_call_which(&call, &sql);
    enum vs_fate fate = vs_mysql_call_write(&call, &sql, 1);
    if (fate == VS_FATE_NONE) vs_not_done(reply), say_absent(&call, VS_STORE_REFUSED);
    if (fate == VS_FATE_DONE) look_again(&call, step);
}

/* Reads back a lift.  The lift was done if the row is at or above the floor, no matter which client lifted it. */
static void look_lifted(const struct vs_mysql_call *call, uint64_t floor) {
    struct vs_reply seen = *call->reply;
    struct vs_mysql_call look = *call;
    struct vs_tag row;
    look.reply = &seen;
    assert(floor < VS_NUMBER_MAX);
    if (mysql_counter_find_row(&look, &row) == FOUND && row.max >= (int64_t)floor)
        vs_done(call->reply);
    else
        vs_answer(call->reply, VS_STORE_UNKNOWN, "%.60s: the written row cannot be read back: try again",
                  call->self->place.where);
}

void vs_mysql_lift(struct vs_store *store, const struct vs_counter *counter, uint64_t floor, struct vs_reply *reply) {
    struct vs_sql sql = {.length = 0};
    struct vs_mysql_call call;
    struct vs_tag row;
    vs_reply_clear(reply);
    if (!vs_counter_check_from(floor, reply) || !vs_mysql_call_begin(&call, store, counter, reply) ||
        !vs_mysql_call_load(&call, &row))
        return;
    if (vs_counter_is_lifted(&row, floor, reply) || row.max < 0) return;
    int64_t max = (int64_t)floor - call.is->above;
    vs_sql_add(&sql, "UPDATE `%s` SET max_id = %" PRId64 "%s WHERE max_id < %" PRId64 " AND ", call.table, max,
               call.is->bump, max);
    vs_mysql_call_which(&call, &sql);
    enum vs_fate fate = vs_mysql_call_write(&call, &sql, 1);
    if (fate != VS_FATE_TOLD) look_lifted(&call, floor);
}

/* Creates the counters' table as Leaf does, but with a binary collation for tags.  Also creates the tables of
 * reservations and shares. */
void vs_mysql_tag_init(struct vs_store *store, const char *table, struct vs_reply *reply) {
    struct mysql_store *self = (struct mysql_store *)store;
    struct vs_sql sql = {.length = 0};
    struct vs_mysql_call call;
    vs_reply_clear(reply);
    const char *name = vs_counter_table(table, reply);
    if (!name || !vs_mysql_begin(self, VS_STORE_LIST_MS, false, reply)) return;
    vs_sql_add(&sql,
               "CREATE TABLE IF NOT EXISTS `%s` (biz_tag VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT"
               " NULL DEFAULT '' PRIMARY KEY, max_id BIGINT NOT NULL DEFAULT 1, step INT NOT NULL,"
               " description VARCHAR(256) DEFAULT NULL, update_time TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON"
               " UPDATE CURRENT_TIMESTAMP) ENGINE=InnoDB",
               name);
    self->shape.is = NULL;
    if (!vs_mysql_send(self, &sql, reply) || !vs_mysql_make_reservations(self, reply) ||
        !vs_mysql_make_shares(self, reply))
        return;
    if (begin_table(&call, store, table, VS_STORE_LIST_MS, reply)) vs_done(reply);
}
