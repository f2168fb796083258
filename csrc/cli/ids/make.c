/* make.c -- ids by hand: `make` one from its fields, `range` of all that an interval can have. */
#include "cli/cli.h"
#include "cli/ids/holders.h"
#include "cli/ids/numbers.h"
#include "command/times.h"
#include "command/options.h"
#include "id/id.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS_MAX 4096 /* printed at most; more means that a wide field stands above the time: name it */

static int make_id(const struct vesta_layout *layout, int argc, char **argv, enum vesta_base base, int json) {
    struct vesta_value values[2 * VESTA_FIELDS_MAX];
    struct vesta_error err;
    char digits[VESTA_FORMAT_MAX];
    uint64_t id;
    if (argc == 0)
        return vs_usage("give the fields of the id: time=N seq=N %s=N",
                        layout->worker < 0 ? "..." : layout->field[layout->worker].name);
    if (argc > 2 * VESTA_FIELDS_MAX) return vs_usage("%d values: no layout has so many fields", argc);
    int rc = vs_read_values(layout, argc, argv, values);
    if (rc != VS_DONE) return rc;
    if (vesta_make(layout, values, (size_t)argc, &id, &err) != VESTA_OK) return vs_report(&err);
    vesta_format(base, id, digits);
    vs_outf(json ? "{\"id\":\"%s\"}\n" : "%s\n", digits);
    return VS_DONE;
}

static int run_make(int argc, char **argv) {
    const char *form = NULL, *zone = NULL;
    struct vs_where where = {.config = NULL};
    int base = VESTA_DECIMAL;
    const struct vs_option table[] = {
        VS_TEXT("layout", &where.text[VS_W_LAYOUT], "TEXT|PRESET",
                "the id's layout (default: the namespace's, else vesta-second)"),
        VS_WHERE_OPTIONS(&where),
        VS_FORMAT(&base, "how the id is written"),
        VS_SWITCH("json", &where.json, "print a JSON object"),
        VS_TEXT("form", &form, "TEXT", "write a business number of this form instead, from number=N and time=TIME"),
        VS_TEXT("zone", &zone, "NAME", "the time zone whose days that number counts (default: UTC)"),
        {0},
    };
    struct vesta_layout layout;
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (form && (where.text[VS_W_LAYOUT] || base != VESTA_DECIMAL))
        return vs_usage("a business number has its form only: --form goes with neither --layout nor --format");
    if (form) return vs_make_number(form, zone, argc, argv, where.json);
    if (zone) return vs_usage("--zone goes with --form");
    if ((rc = vs_where_layout(&where, &layout)) == VS_GO)
        rc = make_id(&layout, argc, argv, (enum vesta_base)base, where.json);
    vs_where_free(&where);
    return rc;
}

/* ------------------------------------------------------------------ range */

/* The fields above the time that tell this pair from the others. */
static void print_pair_fields(const struct vesta_layout *layout, uint64_t id, int json) {
    struct vesta_parts parts;
    if (vesta_explain(layout, id, &parts, NULL) != VESTA_OK) return;
    for (int i = 0; i < layout->time; i++)
        if (!layout->field[i].fixed)
            vs_outf(json ? ",\"%s\":%" PRIu64 : "  %s=%" PRIu64, layout->field[i].name, parts.values[i]);
}

static void print_pairs(const struct vesta_layout *layout, const struct vesta_pair *pairs, size_t count,
                        enum vesta_base base, int json) {
    char min[VESTA_FORMAT_MAX], max[VESTA_FORMAT_MAX];
    for (size_t i = 0; i < count; i++) {
        vesta_format(base, pairs[i].min, min);
        vesta_format(base, pairs[i].max, max);
        vs_outf(json ? "{\"min\":\"%s\",\"max\":\"%s\"" : "%s %s", min, max);
        print_pair_fields(layout, pairs[i].min, json);
        vs_outf(json ? "}\n" : "\n");
    }
}

/* The times stand first, then name=value. */
static int count_times(int argc, char **argv) {
    int n = 0;
    while (n < argc && !strchr(argv[n], '='))
        n++;
    return n;
}

static int read_times(int count, char **argv, int64_t *from_ms, int64_t *until_ms) {
    int64_t now_ms = vs_now_ms();
    int rc;
    if (count < 1) return vs_usage("give a time first, such as 2026-01-01, -1h or Unix milliseconds");
    if (count > 2) return vs_usage("unexpected operand %s; a range has one or two times", vs_shown_text(argv[2]));
    if ((rc = vs_time_operand(argv[0], now_ms, from_ms)) != VS_GO) return rc;
    *until_ms = *from_ms + vs_time_length(argv[0]);
    if (count == 1) return VS_DONE;
    if ((rc = vs_time_operand(argv[1], now_ms, until_ms)) != VS_GO) return rc;
    if (*until_ms <= *from_ms) return vs_usage("%s is not after %s", vs_shown_text(argv[1]), vs_shown_text(argv[0]));
    return VS_DONE;
}

static bool is_given(const struct vesta_value *values, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(values[i].name, name) == 0) return true;
    return false;
}

/* Adds the values with which the namespace issues ids, for the fields above the time that split the interval and were
 * not given.  The worker stays open, and so does a method that depends on the protocol. */
static int add_issued(const struct vs_where *where, const struct vesta_layout *layout, struct vesta_value *values,
                      size_t *count) {
    uint64_t issued[VESTA_FIELDS_MAX];
    struct vesta_error err;
    char added[VESTA_FIELDS_MAX * (VESTA_NAME_MAX + 24)] = "";
    size_t used = 0;
    bool is_by_protocol = where->method && strcmp(where->method, VS_METHOD_BY_PROTOCOL) == 0;
    if (vs_fields_parse(layout, where->fields, where->method, issued, &err) != VESTA_OK) return vs_report(&err);
    for (int i = 0; i < layout->time; i++) {
        const struct vesta_field *field = &layout->field[i];
        bool is_open = i == layout->worker || (is_by_protocol && i == vs_method_at(layout));
        if (field->fixed || is_open || is_given(values, *count, field->name)) continue;
        values[(*count)++] = (struct vesta_value){field->name, issued[i]};
        used += (size_t)snprintf(added + used, sizeof added - used, " %s=%" PRIu64, field->name, issued[i]);
    }
    if (used) vs_say("only ids with%s, as issued now; see also --all", added);
    return VS_DONE;
}

/* `issuer` is the namespace whose ids are meant; NULL: any id of the layout. */
static int print_range(const struct vs_where *issuer, const struct vesta_layout *layout, int argc, char **argv,
                       enum vesta_base base, int json) {
    static struct vesta_pair room[PAIRS_MAX];
    struct vesta_pairs pairs = {.pair = room, .max = PAIRS_MAX};
    struct vesta_interval interval;
    struct vesta_value values[3 * VESTA_FIELDS_MAX];
    struct vesta_error err;
    int times = count_times(argc, argv), fields = argc - times;
    int rc = read_times(times, argv, &interval.from_ms, &interval.until_ms);
    if (rc != VS_DONE) return rc;
    if (fields > 2 * VESTA_FIELDS_MAX) return vs_usage("%d values: no layout has so many fields", fields);
    if ((rc = vs_read_values(layout, fields, argv + times, values)) != VS_DONE) return rc;
    interval.given = values;
    interval.given_count = (size_t)fields;
    if (issuer && (rc = add_issued(issuer, layout, values, &interval.given_count)) != VS_DONE) return rc;
    if (vesta_range(layout, &interval, &pairs, &err) != VESTA_OK) return vs_report(&err);
    print_pairs(layout, pairs.pair, pairs.count, base, json);
    return VS_DONE;
}

static int run_range(int argc, char **argv) {
    struct vs_where where = {.config = NULL};
    int base = VESTA_DECIMAL, all = 0;
    const struct vs_option table[] = {
        VS_TEXT("layout", &where.text[VS_W_LAYOUT], "TEXT|PRESET",
                "the ids' layout (default: the namespace's, else vesta-second)"),
        VS_SWITCH("all", &all, "a pair for every value of the fields above the time, as with --layout"),
        VS_WHERE_OPTIONS(&where),
        VS_FORMAT(&base, "how the ids are written"),
        VS_SWITCH("json", &where.json, "print one JSON object per line"),
        {0},
    };
    struct vesta_layout layout;
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    bool is_any = all || where.text[VS_W_LAYOUT];
    if ((rc = vs_where_layout(&where, &layout)) == VS_GO)
        rc = print_range(is_any ? NULL : &where, &layout, argc, argv, (enum vesta_base)base, where.json);
    vs_where_free(&where);
    return rc;
}

const struct vs_command vs_make_command = {
    "make", run_make, "make one id by hand from its fields", "make [OPTION...] FIELD=VALUE...",
    "Joins fields into an id, the exact inverse of explain.  The time, the sequence and the worker are\n"
    "required; other fields are 0 or their constant.  Nothing keeps others from making the same id: for\n"
    "new ids use `vesta gen`.  time= is a number, or a date.\n"
    "\n"
    "  $ vesta make time=12758739 seq=0 machine=1022 method=2\n"
    "  2319542600899494910\n"
    "\n"
    "  $ vesta make --layout snowflake time=2026-01-01T00:00:00Z seq=0 worker=7\n"
    "  2006515713438674944\n"};

const struct vs_command vs_range_command = {
    "range", run_range, "the smallest and largest ids of a time", "range [OPTION...] T0 [T1] [FIELD=VALUE...]",
    "The ids that can be made from T0 until just before T1, for a WHERE id BETWEEN; without T1, those of\n"
    "the day T0, or of the one time unit of an instant.  Times are days (2026-01-31, of UTC; today), now,\n"
    "-1h and the like (ms, s, m, h, d, w from now), RFC 3339 or Unix milliseconds.\n"
    "\n"
    "Fields above the time split the ids of a time.  With --layout or --all, you get one pair for each\n"
    "combination of their values, unless you give the values.  Otherwise you get the ids as the namespace\n"
    "issues them: with its fields and its method, 2 by default.  If it issued ids with another method before,\n"
    "or if ids were made elsewhere, use --all.\n"
    "\n"
    "  $ vesta range --layout snowflake 2026-01-01T00:00:00Z 2026-01-02T00:00:00Z\n"
    "  2006515713438646272 2006878101304246271\n"
    "\n"
    "  $ vesta range 2026-01-01T00:00:00Z\n"
    "  vesta range: only ids with version=0 method=2, as issued now; see also --all\n"
    "  2678628990637309952 2678628991711051775  version=0  method=2\n"};
