/* counter.c -- counters in tables with the columns of Leaf or tinyid.  Other servers may use the tables at the same
 * time.
 *
 *     leaf_alloc   (biz_tag, max_id, step, update_time, ...)
 *                  ranges [max_id, max_id + step)
 *     tiny_id_info (biz_type, max_id, step, delta, remainder, version, update_time, ...)
 *                  ranges (max_id, max_id + step]
 *
 * A table's kind is found by its columns, not its name.
 *
 * Each operation is one statement.  It locks the row, reads it, and writes it if SQL conditions hold, which are the
 * rules of vs_counter_decide.  The reply has the row before and after the write.  Then vs_counter_decide computes the
 * new row from the old one, and the outcome is OK only if the server has written exactly that row.  So a trigger that
 * changes or suppresses a write is detected. */
#include "store/postgresql/counter.h"
#include "base/array.h"
#include "store/reservation.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

enum { PG_LEAF, PG_TINYID, PG_SEQUENCE, PG_SERIAL };
static const struct pg_shape pg_shapes[] = {
    [PG_LEAF] = {"biz_tag", "c.step", "1", "0", 0, "", "", ""},
    /* tinyid's DDL allows a NULL step, which its server reads as the column's default */
    [PG_TINYID] = {"biz_type", "COALESCE(c.step, 0)", "c.delta", "c.remainder", 1, ", version = c.version + 1",
                   ", begin_id, delta, remainder, create_time, version", ", 0, 1, 0, now(), 0"},
    [PG_SEQUENCE] = {.tag = ""},
    [PG_SERIAL] = {.tag = ""},
};

static bool pg_is_own(const struct pg_shape *is) {
    return is == &pg_shapes[PG_SEQUENCE] || is == &pg_shapes[PG_SERIAL];
}

void vs_pg_say_grant(const struct pg_store *self, const char *rights, const char *table, struct vs_reply *reply) {
    char text[VS_REPLY_TEXT_MAX], what[240];
    const char *schema = self->place.schema, *sequence, *other;
    if (reply->fault != VS_FAULT_GRANT) return;
    snprintf(text, sizeof text, "%s", reply->text + reply->words);
    if ((other = strstr(text, "for table "))) {
        other += strlen("for table ");
        if (strcasecmp(other, table) != 0) rights = VS_PG_OWN_RIGHTS;
        table = other;
    }
    if ((sequence = strstr(text, "for sequence ")))
        snprintf(what, sizeof what, "USAGE, SELECT ON SEQUENCE \"%s\".\"%.64s\"", schema,
                 sequence + strlen("for sequence "));
    else if (strstr(text, "for schema "))
        snprintf(what, sizeof what, "USAGE, CREATE ON SCHEMA \"%s\"", schema);
    else
        snprintf(what, sizeof what, "%s ON \"%s\".\"%s\"", rights, schema, table);
    vs_answer(reply, VS_STORE_REFUSED, "%.60s: %.300s. Run GRANT %s TO \"%s\"", self->place.where, text, what,
              self->place.uri.user);
}

/* ------------------------------------------------------------------ the kind of a table */

/* Adds a row with: the table's kind, the counts of known columns, and reasons to reject the table. */
static void pg_add_shape(const struct vs_pg_call *call, struct vs_sql *sql) {
    vs_sql_add(sql,
               "SELECT MIN(c.relkind::text),"
               " COUNT(*) FILTER (WHERE a.attname IN ('biz_tag', 'max_id', 'step', 'update_time')),"
               " COUNT(*) FILTER (WHERE a.attname IN"
               " ('biz_type', 'max_id', 'step', 'delta', 'remainder', 'version', 'update_time')),"
               " COUNT(pg_get_serial_sequence(quote_ident(n.nspname) || '.' || quote_ident(c.relname), a.attname)),"
               /* the types in which a sum is exact: bigint, smallint, integer, numeric */
               " MIN(a.attname || ' has the type ' || format_type(a.atttypid, a.atttypmod)) FILTER"
               " (WHERE a.attname IN ('max_id', 'step', 'delta', 'remainder', 'version')"
               " AND a.atttypid NOT IN (20, 21, 23, 1700)),"
               /* the types to which a time can be assigned: date, timestamp, timestamptz */
               " COUNT(*) FILTER (WHERE a.attname = 'update_time' AND a.atttypid IN (1082, 1114, 1184)),"
               " " VS_PG_UNSAFE(
                   "to_regclass('\"%s\"'), to_regclass('" VS_RESERVATIONS "'), to_regclass('" VS_SHARES
                   "')") " FROM (SELECT 1) AS one LEFT JOIN pg_class AS c ON c.oid = to_regclass('\"%s\"') AND "
                         "c.relname = '%s'"
                         " LEFT JOIN pg_namespace AS n ON n.oid = c.relnamespace"
                         " LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped",
               call->table, call->table, call->table);
}

/* Fills the reply with the reason why the table was not found. */
static bool pg_say_no_table(const struct vs_pg_call *call) {
    struct vs_sql sql = {.length = 0};
    const char *schema = call->self->place.schema, *where = call->self->place.where;
    vs_sql_add(
        &sql,
        "SELECT (SELECT has_schema_privilege(n.oid, 'USAGE')::int FROM pg_namespace AS n WHERE n.nspname = '%s'),"
        " (SELECT MIN(c.relname) FROM pg_class AS c WHERE lower(c.relname) = lower('%s')"
        " AND c.relnamespace = to_regnamespace('\"%s\"')),"
        " (SELECT MIN(n.nspname) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace"
        " WHERE c.relname = '%s' AND n.nspname NOT IN ('pg_catalog', 'information_schema'))",
        schema, call->table, schema, call->table);
    PGresult *result = vs_pg_row(call->self, &sql, 3, call->reply);
    if (!result) return false;
    const char *alike = PQgetvalue(result, 0, 1), *elsewhere = PQgetvalue(result, 0, 2);
    if (PQgetisnull(result, 0, 0))
        vs_answer_fault(call->reply, VS_STORE_REFUSED, VS_FAULT_NO_SCHEMA, "%.50s has no schema %s", where, schema);
    else if (strcmp(PQgetvalue(result, 0, 0), "0") == 0)
        vs_answer(call->reply, VS_STORE_REFUSED,
                  "%.60s: permission denied for schema %s. Run GRANT USAGE ON SCHEMA \"%s\" TO \"%s\"", where, schema,
                  schema, call->self->place.uri.user);
    else if (*alike)
        vs_answer(call->reply, VS_STORE_REFUSED, "%.60s has no table %s in the schema %s, but %.64s: use that name",
                  where, call->table, schema, alike);
    else if (*elsewhere)
        vs_answer(call->reply, VS_STORE_REFUSED,
                  "%.60s has no table %s in the schema %s, but one in the schema %.64s: add schema=%.64s to the URI",
                  where, call->table, schema, elsewhere, elsewhere);
    else
        vs_answer_fault(call->reply, VS_STORE_REFUSED, VS_FAULT_NO_COUNTERS, "%.50s has no table %s", where,
                        call->table);
    PQclear(result);
    return false;
}

/* Returns the table's kind.  If the table is of no known kind, fills the reply and returns NULL. */
static const struct pg_shape *pg_shape_of(const struct vs_pg_call *call, const PGresult *result,
                                          struct pg_known *known) {
    int64_t leaf, tinyid, serial, dated;
    if (!vs_pg_cell(result, 0, 1, &leaf) || !vs_pg_cell(result, 0, 2, &tinyid) || !vs_pg_cell(result, 0, 3, &serial) ||
        !vs_pg_cell(result, 0, 5, &dated))
        return vs_pg_no_answer(call->self, VS_PG_NO_ROW, call->reply), NULL;
    known->is_dated = dated == 1;
    snprintf(known->unsafe, sizeof known->unsafe, "%s", PQgetvalue(result, 0, 6));
    if (*PQgetvalue(result, 0, 0) == 'S') return &pg_shapes[PG_SEQUENCE];
    bool is_counter = leaf == 4 || tinyid == 7;
    if (is_counter && *PQgetvalue(result, 0, 4))
        return vs_answer(call->reply, VS_STORE_REFUSED,
                         "%.60s: the column %.120s in the table %s, but vesta needs an exact number: run ALTER TABLE "
                         "%s.\"%s\" ALTER COLUMN ... TYPE bigint",
                         call->self->place.where, PQgetvalue(result, 0, 4), call->table, call->self->place.schema,
                         call->table),
               NULL;
    if (is_counter) return &pg_shapes[leaf == 4 ? PG_LEAF : PG_TINYID];
    if (serial == 1) return &pg_shapes[PG_SERIAL];
    return vs_answer(call->reply, VS_STORE_REFUSED,
                     "the table %s has neither the columns of Leaf's leaf_alloc (biz_tag, max_id, step, update_time) "
                     "nor those of tinyid's tiny_id_info",
                     call->table),
           NULL;
}

static bool pg_find_shape(struct vs_pg_call *call) {
    struct pg_known *known = &call->self->known;
    struct vs_sql sql = {.length = 0};
    call->is = known->is;
    if (known->is && strcmp(known->table, call->table) == 0) return true;
    known->is = NULL;
    pg_add_shape(call, &sql);
    PGresult *result = vs_pg_row(call->self, &sql, 7, call->reply);
    if (!result) return false;
    bool is_there = !PQgetisnull(result, 0, 0);
    call->is = is_there ? pg_shape_of(call, result, known) : NULL;
    PQclear(result);
    if (!is_there) return pg_say_no_table(call);
    snprintf(known->table, sizeof known->table, "%s", call->table);
    known->is = call->is;
    return call->is != NULL;
}

static bool pg_begin_table(struct vs_pg_call *call, struct vs_store *store, const char *table, int64_t ms_max,
                           struct vs_reply *reply) {
    struct pg_store *self = (struct pg_store *)store;
    assert(store->counters->take == vs_pg_take);
    vs_reply_clear(reply);
    *call = (struct vs_pg_call){self, vs_counter_table(table, reply), "", "SELECT, UPDATE", NULL, reply};
    return call->table && vs_pg_begin(self, ms_max, false, reply) && pg_find_shape(call);
}

bool vs_pg_call_begin(struct vs_pg_call *call, struct vs_store *store, const struct vs_counter *counter,
                      struct vs_reply *reply) {
    vs_reply_clear(reply);
    if (!vs_counter_check(counter, reply) ||
        !pg_begin_table(call, store, counter->table, ((struct pg_store *)store)->call_ms_max, reply))
        return false;
    call->tag = counter->tag;
    const char *unsafe = call->self->known.unsafe;
    if (pg_is_own(call->is))
        return vs_answer(reply, VS_STORE_REFUSED,
                         "%s is not a table of counters, but belongs to a sequence: import it into a tag with vesta "
                         "segments import",
                         call->table);
    return !*unsafe ||
           vs_answer_fault(reply, VS_STORE_REFUSED, VS_FAULT_UNLOGGED, "%.60s: %s", call->self->place.where, unsafe);
}

/* ------------------------------------------------------------------ rows */

enum { COL_TAG, COL_MAX, COL_STEP, COL_DELTA, COL_REMAINDER, COL_UPDATED, COL_MORE };
_Static_assert(COL_MORE == VS_PG_MORE, "the columns of other files come after these");

static void pg_add_columns(const struct vs_pg_call *call, struct vs_sql *sql) {
    const struct pg_shape *is = call->is;
    vs_sql_add(sql, "c.%s::text AS tag, c.max_id, %s AS step, %s AS delta, %s AS remainder, %s AS updated", is->tag,
               is->step, is->delta, is->remainder,
               call->self->known.is_dated ? "FLOOR(EXTRACT(EPOCH FROM c.update_time::timestamptz) * 1000)" : "NULL");
}

/* Adds the condition for the tag.  The first comparison finds the row by the table's key, and the second one compares
 * the bytes, because the column's collation may treat `orders` and `Orders` as equal. */
void vs_pg_call_which(const struct vs_pg_call *call, struct vs_sql *sql) {
    assert(vs_tag_is_named(call->tag)); /* so the name is safe inside quotes */
    vs_sql_add(sql, "c.%s = '%s' AND c.%s::text COLLATE \"C\" = '%s'", call->is->tag, call->tag, call->is->tag,
               call->tag);
}

void vs_pg_call_row(const struct vs_pg_call *call, struct vs_sql *sql) {
    vs_sql_add(sql, "WITH o AS (SELECT ");
    pg_add_columns(call, sql);
    vs_sql_add(sql, " FROM \"%s\" AS c WHERE ", call->table);
    vs_pg_call_which(call, sql);
    vs_sql_add(sql, " FOR UPDATE)");
}

void vs_pg_call_select(struct vs_sql *sql, const char *more, const char *joins) {
    vs_sql_add(sql,
               " SELECT o.tag, o.max_id, o.step, o.delta, o.remainder, o.updated%s FROM (SELECT 1) AS one"
               " LEFT JOIN o ON true%s",
               more, joins);
}

/* Writes why a cell is not a valid number, as the end of a sentence. */
static void pg_why_not(const PGresult *result, int at, int column, const char *name, char why[static VS_TAG_WHY_MAX]) {
    uint64_t number;
    if (PQgetisnull(result, at, column))
        snprintf(why, VS_TAG_WHY_MAX, "its %s is NULL", name);
    else if (vs_pg_count(result, at, column, &number))
        snprintf(why, VS_TAG_WHY_MAX, "its %s is %" PRIu64 ", beyond 2^63 - 1", name, number);
    else
        snprintf(why, VS_TAG_WHY_MAX, "its %s is '%s', which is not a 64-bit number", name,
                 VS_QUOTE(PQgetvalue(result, at, column), (size_t)PQgetlength(result, at, column)));
}

/* Copies a row of the result.  Returns false if a value cannot be used, and sets `why` to the reason. */
static bool pg_read_counter(const struct vs_pg_call *call, const PGresult *result, int at, struct vs_tag *row,
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
    if (!vs_pg_cell(result, at, COL_UPDATED, &row->updated_ms) || row->updated_ms < 0) row->updated_ms = 0;
    for (size_t i = 0; i < VS_COUNT(numbers); i++)
        if (!vs_pg_cell(result, at, numbers[i].column, numbers[i].to))
            return pg_why_not(result, at, numbers[i].column, numbers[i].name, why), false;
    if (row->max > INT64_MAX - call->is->above)
        return snprintf(why, VS_TAG_WHY_MAX, "its max_id is %" PRId64 ", which leaves no further number", row->max),
               false;
    row->max += call->is->above;
    return true;
}

/* Handles an error of a statement for a counter. */
static void pg_counter_trouble(const struct vs_pg_call *call) {
    call->self->known.is = NULL; /* the table may have been replaced */
    vs_pg_say_grant(call->self, call->rights, call->table, call->reply);
}

PGresult *vs_pg_call_run(const struct vs_pg_call *call, const struct vs_sql *sql, int more, struct vs_pg_look *look) {
    char why[VS_TAG_WHY_MAX];
    struct vs_reply *reply = call->reply;
    *look = (struct vs_pg_look){.is_there = false};
    PGresult *result = vs_pg_run(call->self, sql, COL_MORE + more, reply);
    if (!result) {
        pg_counter_trouble(call);
        return NULL;
    }
    int rows = PQntuples(result);
    look->is_there = rows > 0 && !PQgetisnull(result, 0, COL_TAG);
    bool is_usable = look->is_there && pg_read_counter(call, result, 0, &look->row, why);
    snprintf(look->row.tag, sizeof look->row.tag, "%s", call->tag);
    if (rows == 1 && is_usable == look->is_there) return result;
    PQclear(result);
    if (rows == 0) /* LEFT JOIN always returns a row */
        vs_pg_no_answer(call->self, VS_PG_NO_ROW, reply);
    else if (rows > 1)
        vs_answer(reply, VS_STORE_REFUSED, "the table %s has tag '%s' twice: make %s its primary key", call->table,
                  call->tag, call->is->tag);
    else
        vs_counter_is_spoilt(call->tag, why, reply);
    return NULL;
}

/* Fills the reply if the tag has no row, or if a similar tag prevents a new row. */
static void pg_say_absent(const struct vs_pg_call *call, enum vs_outcome outcome) {
    struct vs_sql sql = {.length = 0};
    const char *column = call->is->tag;
    vs_not_done(call->reply);
    vs_sql_add(&sql, "SELECT (SELECT MIN(c.%s::text COLLATE \"C\") FROM \"%s\" AS c WHERE c.%s = '%s')", column,
               call->table, column, call->tag);
    PGresult *result = vs_pg_row(call->self, &sql, 1, call->reply);
    if (!result) return;
    const char *alike = PQgetvalue(result, 0, 0);
    if (*alike && strcmp(alike, call->tag) != 0)
        vs_answer(call->reply, outcome,
                  "the table %s has no tag '%s', but '%s', which the type or the collation of %s treats as equal: use "
                  "that tag, or ALTER TABLE %s ALTER COLUMN %s TYPE text COLLATE \"C\"",
                  call->table, call->tag, VS_QUOTE(alike, strlen(alike)), column, call->table, column);
    else if (outcome == VS_STORE_CONFLICT)
        vs_not_first(call->reply);
    else
        vs_counter_unknown(call->tag, call->reply);
    PQclear(result);
}

void vs_pg_call_absent(const struct vs_pg_call *call) {
    pg_say_absent(call, VS_STORE_REFUSED);
}

bool vs_pg_call_load(const struct vs_pg_call *call, struct vs_tag *row) {
    struct vs_sql sql = {.length = 0};
    struct vs_pg_look look;
    vs_pg_call_row(call, &sql);
    vs_pg_call_select(&sql, "", "");
    PGresult *result = vs_pg_call_run(call, &sql, 0, &look);
    if (!result) return false;
    PQclear(result);
    *row = look.row;
    if (!look.is_there) vs_pg_call_absent(call);
    return look.is_there;
}

/* ------------------------------------------------------------------ writes */

/* Adds the query `w`, which writes the row if vs_counter_decide allows it. */
static void pg_add_write(const struct vs_pg_call *call, const struct vs_counter_change *change, struct vs_sql *sql) {
    const struct pg_shape *is = call->is;
    int64_t above = is->above, from = (int64_t)change->from - above, until = (int64_t)change->until - above;
    char step[24] = "o.step";
    if (change->step) snprintf(step, sizeof step, "%" PRIu64, change->step);
    vs_sql_add(sql, ", w AS (UPDATE \"%s\" AS c SET ", call->table);
    if (change->what == VS_TAKE)
        vs_sql_add(sql, "max_id = o.max_id + %s", step);
    else if (change->what == VS_TAG_STEP)
        vs_sql_add(sql, "step = %s", step);
    else
        vs_sql_add(sql, "max_id = %" PRId64, from);
    vs_sql_add(sql, "%s%s FROM o WHERE ", is->bump, call->self->known.is_dated ? ", update_time = now()" : "");
    vs_pg_call_which(call, sql);
    vs_sql_add(sql, " AND " VS_PG_USABLE);
    if (change->what == VS_TAKE)
        vs_sql_add(sql,
                   " AND o.max_id >= %" PRId64 " AND o.max_id + %s::numeric <= %" PRId64
                   " AND o.step BETWEEN %d AND %" PRIu64 " AND o.delta BETWEEN 1 AND %" PRIu64
                   " AND o.remainder >= 0 AND o.remainder < o.delta",
                   -above, step, INT64_MAX - above, change->step ? 0 : 1, VS_RANGE_MAX, VS_RANGE_MAX);
    else if (change->what == VS_UNTAKE)
        vs_sql_add(sql, " AND o.max_id = %" PRId64, until);
    else if (change->what == VS_LIFT)
        vs_sql_add(sql, " AND o.max_id >= %" PRId64 " AND o.max_id < %" PRId64, -above, from);
    vs_sql_add(sql, " RETURNING c.max_id, %s AS step)", is->step);
}

/* Adds the query `w`, which inserts the row if it is missing. */
static void pg_add_insert(const struct vs_pg_call *call, const struct vs_counter_change *change, struct vs_sql *sql) {
    const struct pg_shape *is = call->is;
    bool is_dated = call->self->known.is_dated;
    vs_sql_add(sql,
               ", w AS (INSERT INTO \"%s\" AS c (%s, max_id, step%s%s) SELECT '%s', %" PRId64 ", %" PRIu64
               "%s%s WHERE NOT EXISTS (SELECT 1 FROM o) RETURNING c.max_id, %s AS step)",
               call->table, is->tag, is_dated ? ", update_time" : "", is->insert, call->tag,
               (int64_t)change->from - is->above, change->step, is_dated ? ", now()" : "", is->values, is->step);
}

/* Compares the written row with the row that had to be written. */
static void pg_check_written(const struct vs_pg_call *call, const PGresult *result, const struct vs_tag *next) {
    int64_t max, step;
    bool is_written = !PQgetisnull(result, 0, COL_MORE);
    if (!is_written)
        vs_answer(call->reply, VS_STORE_REFUSED,
                  "the table %s was not changed for tag '%s': look for a trigger or a rule that suppresses the change",
                  call->table, call->tag);
    else if (vs_pg_cell(result, 0, COL_MORE, &max) && vs_pg_cell(result, 0, COL_MORE + 1, &step) &&
             max == next->max - call->is->above && step == next->step)
        vs_done(call->reply);
    else
        vs_answer(call->reply, VS_STORE_UNKNOWN,
                  "the table %s has other values for tag '%s' than vesta wrote: look for a trigger or a rule that "
                  "changes them",
                  call->table, call->tag);
}

static void pg_change(struct vs_store *store, const struct vs_counter *counter, const struct vs_counter_change *change,
                      struct vs_reply *reply) {
    struct vs_sql sql = {.length = 0};
    struct vs_pg_call call;
    struct vs_pg_look look;
    struct vs_tag next;
    bool is_new = change->what == VS_TAG_ADD;
    if (!vs_pg_call_begin(&call, store, counter, reply)) return;
    if (is_new) call.rights = VS_PG_OWN_RIGHTS;
    vs_pg_call_row(&call, &sql);
    if (is_new)
        pg_add_insert(&call, change, &sql);
    else
        pg_add_write(&call, change, &sql);
    vs_pg_call_select(&sql, ", w.max_id, w.step", " LEFT JOIN w ON true");
    vs_sent(reply);
    PGresult *result = vs_pg_call_run(&call, &sql, 2, &look);
    if (!result && is_new && reply->outcome == VS_STORE_CONFLICT) { /* a similar tag has the key, or a new row */
        reply->outcome = VS_STORE_UNKNOWN;
        pg_say_absent(&call, VS_STORE_CONFLICT);
    }
    if (!result) return;
    bool is_absent = !look.is_there && !is_new && change->what != VS_UNTAKE;
    if (is_absent)
        vs_pg_call_absent(&call);
    else if (vs_counter_decide(change, call.tag, look.is_there ? &look.row : NULL, &next, reply))
        pg_check_written(&call, result, &next);
    PQclear(result);
}

void vs_pg_take(struct vs_store *store, const struct vs_counter *counter, uint64_t step, struct vs_reply *reply) {
    assert(step <= VS_RANGE_MAX);
    pg_change(store, counter, &(struct vs_counter_change){.what = VS_TAKE, .step = step}, reply);
}

void vs_pg_untake(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t until,
                  struct vs_reply *reply) {
    vs_counter_check_untake(from, until);
    pg_change(store, counter, &(struct vs_counter_change){.what = VS_UNTAKE, .from = from, .until = until}, reply);
}

void vs_pg_tag_add(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t step,
                   struct vs_reply *reply) {
    vs_reply_clear(reply);
    if (vs_counter_check_from(from, reply) && vs_counter_check_step(step, reply))
        pg_change(store, counter, &(struct vs_counter_change){.what = VS_TAG_ADD, .from = from, .step = step}, reply);
}

void vs_pg_tag_step(struct vs_store *store, const struct vs_counter *counter, uint64_t step, struct vs_reply *reply) {
    vs_reply_clear(reply);
    if (vs_counter_check_step(step, reply))
        pg_change(store, counter, &(struct vs_counter_change){.what = VS_TAG_STEP, .step = step}, reply);
}

void vs_pg_lift(struct vs_store *store, const struct vs_counter *counter, uint64_t floor, struct vs_reply *reply) {
    vs_reply_clear(reply);
    if (vs_counter_check_from(floor, reply))
        pg_change(store, counter, &(struct vs_counter_change){.what = VS_LIFT, .from = floor}, reply);
}

/* ------------------------------------------------------------------ lists */

static void pg_list_counters(const struct vs_pg_call *call, struct vs_tag_list *list) {
    struct vs_sql sql = {.length = 0};
    char why[VS_TAG_WHY_MAX];
    struct vs_tag row;
    vs_sql_add(&sql, "SELECT ");
    pg_add_columns(call, &sql);
    vs_sql_add(&sql, " FROM \"%s\" AS c", call->table);
    PGresult *result = vs_pg_run(call->self, &sql, COL_MORE, call->reply);
    if (!result) {
        pg_counter_trouble(call);
        return;
    }
    bool well = true;
    for (int i = 0; well && i < PQntuples(result); i++) {
        struct vs_slice name = {PQgetvalue(result, i, COL_TAG), (size_t)PQgetlength(result, i, COL_TAG)};
        if (pg_read_counter(call, result, i, &row, why))
            well = vs_tags_add(list, name, &row, call->reply);
        else
            well = vs_tags_add_unusable(list, name, why, call->reply);
    }
    PQclear(result);
    if (well) vs_done(call->reply);
}

/* ------------------------------------------------------------------ sequences */

/* A sequence, and the column that uses it as its default.  The column is "" if the user named the sequence itself. */
struct pg_sequence {
    char name[2 * 130], column[130];
};

static bool pg_find_sequence(const struct vs_pg_call *call, struct pg_sequence *sequence) {
    struct vs_sql sql = {.length = 0};
    *sequence = (struct pg_sequence){.column = ""};
    snprintf(sequence->name, sizeof sequence->name, "\"%s\"", call->table);
    if (call->is == &pg_shapes[PG_SEQUENCE]) return true;
    vs_sql_add(&sql,
               "SELECT MIN(s.name), MIN(quote_ident(s.attname)) FROM (SELECT a.attname,"
               " pg_get_serial_sequence('\"%s\"', a.attname) AS name FROM pg_attribute AS a"
               " WHERE a.attrelid = '\"%s\"'::regclass AND a.attnum > 0 AND NOT a.attisdropped) AS s"
               " WHERE s.name IS NOT NULL",
               call->table, call->table);
    PGresult *result = vs_pg_row(call->self, &sql, 2, call->reply);
    if (!result) return false;
    snprintf(sequence->name, sizeof sequence->name, "%s", PQgetvalue(result, 0, 0));
    snprintf(sequence->column, sizeof sequence->column, "%s", PQgetvalue(result, 0, 1));
    PQclear(result);
    return (*sequence->name && *sequence->column) || vs_pg_no_answer(call->self, VS_PG_NO_ROW, call->reply);
}

/* Computes the first number that the sequence, and the column, have not issued. */
static bool pg_judge_sequence(const struct vs_pg_call *call, const PGresult *result, struct vs_tag *row) {
    enum { COL_LAST, COL_CALLED, COL_INCREMENT, COL_START, COL_CYCLES, COL_HIGHEST };
    int64_t last, is_called, increment, start, cycles, highest = 0;
    if (!vs_pg_cell(result, 0, COL_LAST, &last) || !vs_pg_cell(result, 0, COL_CALLED, &is_called) ||
        !vs_pg_cell(result, 0, COL_INCREMENT, &increment) || !vs_pg_cell(result, 0, COL_START, &start) ||
        !vs_pg_cell(result, 0, COL_CYCLES, &cycles))
        return vs_pg_no_answer(call->self, "the reply does not contain the state of the sequence", call->reply);
    bool has_rows = !PQgetisnull(result, 0, COL_HIGHEST);
    if (has_rows && !vs_pg_cell(result, 0, COL_HIGHEST, &highest))
        return vs_answer(call->reply, VS_STORE_REFUSED,
                         "the highest number in the table %s is '%s', which is not a 64-bit number", call->table,
                         VS_QUOTE(PQgetvalue(result, 0, COL_HIGHEST), (size_t)PQgetlength(result, 0, COL_HIGHEST)));
    if (increment < 1 || cycles)
        return vs_answer(call->reply, VS_STORE_REFUSED,
                         "the sequence of %s %s, so its highest number is unknown: find the highest number in use, and "
                         "run vesta segments add TAG --from N",
                         call->table, increment < 1 ? "counts down" : "starts again at its end");
    if (!is_called && !has_rows && last == start)
        return vs_answer(call->reply, VS_STORE_REFUSED,
                         "the sequence of %s was never used, or was reset: find the highest number in use, and run "
                         "vesta segments add TAG --from N",
                         call->table);
    int64_t next = !is_called ? last : last > INT64_MAX - increment ? INT64_MAX : last + increment;
    if (has_rows && highest >= next) next = highest < INT64_MAX ? highest + 1 : INT64_MAX;
    if (next < 0 || next == INT64_MAX)
        return vs_answer(call->reply, VS_STORE_REFUSED,
                         "the sequence of %s is at %" PRId64 ", but a counter's numbers must be 0 to 2^63 - 2",
                         call->table, next);
    *row = (struct vs_tag){.max = next, .delta = 1};
    return true;
}

static void pg_list_sequence(const struct vs_pg_call *call, struct vs_tag_list *list) {
    struct vs_sql sql = {.length = 0};
    struct pg_sequence sequence;
    struct vs_tag row;
    if (!pg_find_sequence(call, &sequence)) return;
    vs_sql_add(&sql, "SELECT s.last_value, s.is_called::int, q.seqincrement, q.seqstart, q.seqcycle::int, ");
    if (*sequence.column)
        vs_sql_add(&sql, "(SELECT MAX(c.%s) FROM \"%s\" AS c)", sequence.column, call->table);
    else
        vs_sql_add(&sql, "NULL");
    vs_sql_add(&sql, " FROM %s AS s JOIN pg_sequence AS q ON q.seqrelid = s.tableoid", sequence.name);
    PGresult *result = vs_pg_row(call->self, &sql, 6, call->reply);
    if (!result) {
        pg_counter_trouble(call);
        return;
    }
    bool well = pg_judge_sequence(call, result, &row);
    PQclear(result);
    if (well && vs_tags_add(list, (struct vs_slice){call->table, strlen(call->table)}, &row, call->reply))
        vs_done(call->reply);
}

void vs_pg_tags(struct vs_store *store, const char *table, struct vs_tag_list *list, struct vs_reply *reply) {
    struct vs_pg_call call;
    assert(list->count == 0); /* rows that are already in the list would appear as rows of this table */
    if (!pg_begin_table(&call, store, table, VS_STORE_LIST_MS, reply)) return;
    if (pg_is_own(call.is))
        pg_list_sequence(&call, list);
    else
        pg_list_counters(&call, list);
}

/* ------------------------------------------------------------------ making the tables */

bool vs_pg_make_table(struct pg_store *self, const char *table, const char *columns, const char *index,
                      struct vs_reply *reply) {
    struct vs_sql sql = {.length = 0};
    vs_sql_add(&sql, "SELECT COUNT(to_regclass('\"%s\"'))", table);
    PGresult *result = vs_pg_row(self, &sql, 1, reply);
    if (!result) return false;
    bool is_there = strcmp(PQgetvalue(result, 0, 0), "0") != 0;
    PQclear(result);
    if (is_there) return true; /* only the first init needs the right to CREATE */
    sql.length = 0;
    vs_sql_add(&sql, "CREATE TABLE \"%s\".\"%s\" (%s)", self->place.schema, table, columns);
    if (index) vs_sql_add(&sql, ";CREATE INDEX ON \"%s\".\"%s\" (%s)", self->place.schema, table, index);
    result = vs_pg_run(self, &sql, 0, reply);
    PQclear(result);
    if (result) return true;
    vs_pg_say_grant(self, VS_PG_OWN_RIGHTS, table, reply);
    if (reply->outcome != VS_STORE_CONFLICT) return false;
    vs_reply_clear(reply); /* another client has created it at the same time */
    return true;
}

/* Creates the counters' table with Leaf's columns, but with a collation that distinguishes all tags.  Also creates the
 * tables of reservations and shares. */
void vs_pg_tag_init(struct vs_store *store, const char *table, struct vs_reply *reply) {
    struct pg_store *self = (struct pg_store *)store;
    struct vs_pg_call call;
    vs_reply_clear(reply);
    const char *name = vs_counter_table(table, reply);
    if (!name || !vs_pg_begin(self, VS_STORE_LIST_MS, false, reply)) return;
    self->known.is = NULL;
    if (!vs_pg_make_table(self, name,
                          "biz_tag varchar(128) COLLATE \"C\" NOT NULL DEFAULT '' PRIMARY KEY,"
                          " max_id bigint NOT NULL DEFAULT 1, step integer NOT NULL, description varchar(256),"
                          " update_time timestamptz NOT NULL DEFAULT now()",
                          NULL, reply) ||
        !vs_pg_make_reservations(self, reply) || !vs_pg_make_shares(self, reply))
        return;
    if (pg_begin_table(&call, store, table, VS_STORE_LIST_MS, reply)) vs_done(reply);
}
