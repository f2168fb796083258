/* ids.c -- reads ids: their time and worker id, all fields, and the range of ids of an interval. */
#include <postgres.h>

#include "extension.h"

#include <datatype/timestamp.h>
#include <catalog/pg_type.h>
#include <lib/stringinfo.h>
#include <sql.h>
#include <utils/builtins.h>
#include <utils/rangetypes.h>
#include <utils/timestamp.h>
#include <utils/typcache.h>
#include <utils/uuid.h>

PG_FUNCTION_INFO_V1(vpg_time);
PG_FUNCTION_INFO_V1(vpg_time_of);
PG_FUNCTION_INFO_V1(vpg_worker);
PG_FUNCTION_INFO_V1(vpg_range);
PG_FUNCTION_INFO_V1(vpg_explain);
PG_FUNCTION_INFO_V1(vpg_uuid_time);
PG_FUNCTION_INFO_V1(vpg_ulid);
PG_FUNCTION_INFO_V1(vpg_typeid);
PG_FUNCTION_INFO_V1(vpg_uuid);

#define EPOCH_US (INT64CONST(86400000000) * (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE)) /* 2000-01-01 */

/* ------------------------------------------------------------------ fields */

/* A negative bigint has the bits of an id above 2^63 - 1. */
static void explain(const struct vesta_layout *layout, int64 id, struct vesta_parts *parts) {
    struct vesta_error err;
    if (vesta_explain(layout, (uint64)id, parts, &err) != VESTA_OK) vpg_raise(&err);
}

static const struct vesta_layout *layout_of(FunctionCallInfo fcinfo, int arg) {
    return vesta_gen_layout(vpg_generator_of(fcinfo, arg)->gen);
}

static TimestampTz time_of(const struct vesta_layout *layout, int64 id) {
    struct vesta_parts parts;
    int64 us;
    explain(layout, id, &parts);
    if (__builtin_mul_overflow(parts.time, layout->unit_us, &us) ||
        __builtin_add_overflow(us, layout->epoch_ms * 1000 - EPOCH_US, &us) || !IS_VALID_TIMESTAMP(us))
        ereport(ERROR, errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
                errmsg("the time of id " INT64_FORMAT " is out of range for a timestamp", id),
                errhint("Check that the id was issued with this layout."));
    return us;
}

Datum vpg_time(PG_FUNCTION_ARGS) {
    PG_RETURN_TIMESTAMPTZ(time_of(layout_of(fcinfo, 1), PG_GETARG_INT64(0)));
}

/* Reads no file, so the result depends on the arguments alone.  The layout is parsed again only if its text changes. */
struct vpg_layout {
    char text[VESTA_LAYOUT_TEXT_MAX];
    struct vesta_layout layout;
};

Datum vpg_time_of(PG_FUNCTION_ARGS) {
    struct vpg_layout *cache = fcinfo->flinfo->fn_extra;
    const char *given = text_to_cstring(PG_GETARG_TEXT_PP(1));
    if (!cache || strcmp(cache->text, given) != 0) {
        struct vesta_error err;
        struct vesta_layout layout;
        if (vesta_layout_parse(given, &layout, &err) != VESTA_OK) vpg_raise(&err);
        if (!cache) cache = fcinfo->flinfo->fn_extra = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof *cache);
        strlcpy(cache->text, given, sizeof cache->text);
        cache->layout = layout;
    }
    PG_RETURN_TIMESTAMPTZ(time_of(&cache->layout, PG_GETARG_INT64(0)));
}

Datum vpg_worker(PG_FUNCTION_ARGS) {
    const struct vesta_layout *layout = layout_of(fcinfo, 1);
    struct vesta_parts parts;
    if (layout->worker < 0) PG_RETURN_NULL();
    explain(layout, PG_GETARG_INT64(0), &parts);
    PG_RETURN_INT64((int64)parts.worker);
}

/* The fields in the order of the layout, with the names of `vesta explain --json`. */
Datum vpg_explain(PG_FUNCTION_ARGS) {
    const struct vesta_layout *layout = layout_of(fcinfo, 1);
    struct vesta_parts parts;
    StringInfoData json;
    char iso[VESTA_ISO_MAX];
    int64 id = PG_GETARG_INT64(0);
    explain(layout, id, &parts);
    initStringInfo(&json);
    appendStringInfo(&json, "{\"id\": \"" UINT64_FORMAT "\"", (uint64)id);
    for (int i = 0; i < layout->field_count; i++) /* names consist of letters, digits and _ */
        appendStringInfo(&json, ", \"%s\": " UINT64_FORMAT, layout->field[i].name, parts.values[i]);
    if (layout->worker >= 0 && strcmp(layout->field[layout->worker].name, "worker") != 0)
        appendStringInfo(&json, ", \"worker\": " UINT64_FORMAT, parts.worker);
    vesta_iso(parts.unix_ms, iso);
    appendStringInfo(&json, ", \"unix_ms\": " INT64_FORMAT ", \"iso\": \"%s\"}", parts.unix_ms, iso);
    PG_RETURN_TEXT_P(cstring_to_text_with_len(json.data, json.len)); /* json is stored as text */
}

/* ------------------------------------------------------------------ UUIDs */

Datum vpg_uuid_time(PG_FUNCTION_ARGS) {
    const pg_uuid_t *uuid = PG_GETARG_UUID_P(0);
    struct vesta_error err;
    int64_t unix_us;
    if (vesta_uuid_unix_us(uuid->data, &unix_us, &err) != VESTA_OK) vpg_raise(&err);
    PG_RETURN_TIMESTAMPTZ(unix_us - EPOCH_US);
}

Datum vpg_ulid(PG_FUNCTION_ARGS) {
    char ulid[VESTA_UUID_TEXT_MAX];
    vesta_uuid_format(VESTA_ULID, PG_GETARG_UUID_P(0)->data, ulid);
    PG_RETURN_TEXT_P(cstring_to_text(ulid));
}

Datum vpg_typeid(PG_FUNCTION_ARGS) {
    const char *prefix = text_to_cstring(PG_GETARG_TEXT_PP(0));
    char text[VESTA_UUID_TEXT_MAX];
    struct vesta_error err;
    if (vesta_typeid_format(prefix, PG_GETARG_UUID_P(1)->data, text, &err) != VESTA_OK) vpg_raise(&err);
    PG_RETURN_TEXT_P(cstring_to_text(text));
}

/* Reads a ULID, a TypeID or a UUID. */
Datum vpg_uuid(PG_FUNCTION_ARGS) {
    const text *given = PG_GETARG_TEXT_PP(0);
    pg_uuid_t *uuid = palloc(sizeof *uuid);
    struct vesta_error err;
    if (vesta_uuid_parse(VARDATA_ANY(given), VARSIZE_ANY_EXHDR(given), uuid->data, &err) != VESTA_OK) vpg_raise(&err);
    PG_RETURN_UUID_P(uuid);
}

/* ------------------------------------------------------------------ ranges */

/* PostgreSQL's infinite times have the same values as the open ends of vs_sql_range.  Its last finite times exceed
 * INT64_MAX as Unix microseconds, so they become the last time before the open end. */
static int64 unix_us(TimestampTz time) {
    if (TIMESTAMP_NOT_FINITE(time)) return time;
    return Min(time, PG_INT64_MAX - 1 - EPOCH_US) + EPOCH_US;
}

Datum vpg_range(PG_FUNCTION_ARGS) {
    TimestampTz from = PG_GETARG_TIMESTAMPTZ(0), until = PG_GETARG_TIMESTAMPTZ(1);
    RangeBound lower = {.inclusive = true, .lower = true}, upper = {.inclusive = true};
    TypeCacheEntry *type = lookup_type_cache(INT8RANGEOID, TYPECACHE_RANGE_INFO);
    struct vpg_generator *generator = vpg_generator_of(fcinfo, 2);
    struct vs_sql_range range;
    struct vesta_error err;
    bool is_empty = from == until;
    if (!is_empty && vs_sql_range(generator->gen, unix_us(from), unix_us(until), &range, &err) != VESTA_OK)
        vpg_raise(&err);
    if (!is_empty) {
        lower.val = Int64GetDatum(range.min);
        /* PostgreSQL stores the bound max + 1, so a range cannot contain the largest bigint. */
        upper.val = Int64GetDatum(Min(range.max, PG_INT64_MAX - 1));
    }
    PG_RETURN_RANGE_P(make_range(type, &lower, &upper, is_empty));
}
