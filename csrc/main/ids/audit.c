/* audit.c -- `audit`: finds equal ids.  The result is exact, because the ids are sorted.  The original order is also
 * kept, so that duplicates can be shown with their line numbers. */
#include "main/cli.h"
#include "main/ids/audit.h"
#include "main/ids/holders.h"
#include "main/ids/sort.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct audit_duplicate {
    uint64_t id, times;
};

struct audit_finding {
    uint64_t distinct, duplicates; /* number of distinct ids, and total minus distinct */
    uint64_t min, max;
    struct audit_duplicate shown[VS_DUPLICATES_SHOWN];
    int shown_count;
    struct vs_wide_finding wides; /* of the ids of 128 bits */
};

/* Counts runs of equal ids in a sorted array. */
static void audit_count_runs(const uint64_t *sorted, size_t count, struct audit_finding *out) {
    for (size_t i = 0, end; i < count; i = end) {
        end = i + 1;
        while (end < count && sorted[end] == sorted[i])
            end++;
        out->distinct++;
        if (end - i > 1 && out->shown_count < VS_DUPLICATES_SHOWN)
            out->shown[out->shown_count++] = (struct audit_duplicate){sorted[i], end - i};
    }
    out->duplicates = count - out->distinct;
    if (count) {
        out->min = sorted[0];
        out->max = sorted[count - 1];
    }
}

static int audit_find(const struct vs_ids *ids, struct audit_finding *out) {
    size_t bytes = ids->count * sizeof *ids->ids;
    uint64_t *copy = malloc(bytes + 1);
    if (!copy) {
        vs_say("not enough memory to sort %zu ids: %zu MiB are needed", ids->count, bytes >> 20);
        return VS_FAILED;
    }
    if (bytes) memcpy(copy, ids->ids, bytes);
    vs_sort(copy, ids->count);
    audit_count_runs(copy, ids->count, out);
    free(copy);
    int rc = vs_wides_find(&ids->wides, &out->wides);
    out->distinct += out->wides.distinct;
    out->duplicates += ids->wides.count - out->wides.distinct;
    return rc;
}

/* ------------------------------------------------------------------ the report */

static void audit_print_count(const char *name, uint64_t n) {
    char grouped[VS_GROUPED_MAX];
    vs_outf("%-12s %14s\n", name, vs_grouped(n, grouped));
}

/* Prints the lines as JSON to stdout, or into `text`. */
static void audit_print_lines_of(const struct vs_ids *ids, const struct audit_duplicate *d, char *text, size_t size) {
    const char *file;
    uint64_t line;
    uint64_t left = d->times < VS_LINES_SHOWN ? d->times : VS_LINES_SHOWN;
    bool first = true;
    for (size_t i = 0; left > 0; i++) {
        if (ids->ids[i] != d->id) continue;
        vs_ids_where(ids, i, &file, &line);
        if (!text) {
            vs_outf("%s{\"file\":", first ? "" : ",");
            vs_out_json(file);
            vs_outf(",\"line\":%" PRIu64 "}", line);
        } else
            snprintf(text + strlen(text), size - strlen(text), "%s%s line %" PRIu64, first ? "" : ", ", file, line);
        first = false;
        left--;
    }
}

static void audit_print_duplicates(const struct vs_ids *ids, const struct audit_finding *found) {
    for (int i = 0; i < found->shown_count; i++) {
        const struct audit_duplicate *d = &found->shown[i];
        char text[2000] = "";
        audit_print_lines_of(ids, d, text, sizeof text);
        vs_outf("  ");
        vs_out_fittedf(4, 2, "%" PRIu64 "  %" PRIu64 " times: %s%s", d->id, d->times, text,
                       d->times > VS_LINES_SHOWN ? ", ..." : "");
    }
}

/* What else is printed, each NULL if it was not requested. */
struct audit_extra {
    struct vs_oddities *odd;
    struct vs_shards *shards;
};

static void audit_print_json(const struct vs_ids *ids, const struct audit_finding *found,
                             const struct audit_extra *extra) {
    vs_outf("{\"total\":%zu,\"distinct\":%" PRIu64 ",\"duplicates\":%" PRIu64 ",\"unreadable\":%" PRIu64,
            ids->count + ids->wides.count, found->distinct, found->duplicates, ids->bad_lines);
    if (ids->count) vs_outf(",\"min\":\"%" PRIu64 "\",\"max\":\"%" PRIu64 "\"", found->min, found->max);
    vs_outf(",\"shown\":[");
    for (int i = 0; i < found->shown_count; i++) {
        vs_outf("%s{\"id\":\"%" PRIu64 "\",\"times\":%" PRIu64 ",\"lines\":[", i ? "," : "", found->shown[i].id,
                found->shown[i].times);
        audit_print_lines_of(ids, &found->shown[i], NULL, 0);
        vs_outf("]}");
    }
    vs_outf("]");
    vs_wides_print_json(&ids->wides, &found->wides);
    if (extra->odd) vs_oddities_print(extra->odd, 1);
    if (extra->shards) vs_shards_print(extra->shards, true);
    vs_outf("}\n");
}

static void audit_print_report(const struct vs_ids *ids, const struct audit_finding *found,
                               const struct audit_extra *extra) {
    audit_print_count("total", ids->count + ids->wides.count);
    audit_print_count("distinct", found->distinct);
    vs_outf("%s", found->duplicates ? VS_RED : "");
    audit_print_count("duplicates", found->duplicates);
    vs_outf("%s", found->duplicates ? VS_PLAIN : "");
    audit_print_duplicates(ids, found);
    vs_wides_print_duplicates(&ids->wides, &found->wides);
    if (ids->bad_lines) audit_print_count("unreadable", ids->bad_lines);
    vs_wides_print(&ids->wides, &found->wides);
    if (extra->odd) vs_oddities_print(extra->odd, 0);
    if (extra->shards) vs_shards_print(extra->shards, false);
}

struct audit_asked {
    const struct vesta_layout *layout; /* NULL: no layout was given */
    struct vs_mod mod;                 /* n is 0: the ids' shards are not counted */
    int notation, json;
};

static int audit_ids(const struct vs_ids *ids, const struct audit_asked *asked) {
    struct audit_finding found = {0};
    struct audit_extra extra = {NULL, NULL};
    if (asked->mod.n && ids->wides.count)
        return vs_usage("--mod is for ids of 64 bits, and the input has %zu ids of 128 bits: leave out --mod",
                        ids->wides.count);
    int rc = audit_find(ids, &found);
    bool has_odd = asked->layout && (ids->count > 0 || ids->wides.count == 0);
    if (rc == VS_DONE && has_odd) rc = vs_oddities_find(ids, asked->layout, vs_now_ms(), &extra.odd);
    if (rc == VS_DONE && asked->mod.n && !(extra.shards = vs_shards_count(ids, &asked->mod))) rc = VS_FAILED;
    if (rc == VS_DONE) (asked->json ? audit_print_json : audit_print_report)(ids, &found, &extra);
    vs_oddities_free(extra.odd);
    free(extra.shards);
    if (rc != VS_DONE) return rc;
    if (found.duplicates) return VS_FAILED;
    return ids->bad_lines ? VS_USAGE : VS_DONE;
}

static int audit_files(const struct audit_asked *asked, int count, char **files) {
    struct vs_ids ids = {.layout = asked->layout, .now_ms = vs_now_ms()};
    enum vs_notation notation = (enum vs_notation)asked->notation;
    int rc = count ? VS_DONE : vs_ids_read(&ids, notation, "-");
    for (int i = 0; i < count && rc == VS_DONE; i++)
        rc = vs_ids_read(&ids, notation, files[i]);
    if (rc == VS_DONE) rc = audit_ids(&ids, asked);
    vs_ids_free(&ids);
    return rc;
}

static int audit_print_no_layout(int json) {
    vs_effective_print(&(struct vs_conf_value){.path = "layout", .absent = "none: only duplicates are found"}, json);
    return VS_DONE;
}

static int audit_run(int argc, char **argv) {
    struct vs_where where = {.config = NULL};
    struct audit_asked asked = {.notation = VS_NOTATION_OF(VESTA_DECIMAL)};
    int rc, has_shift = 0;
    const struct vs_option table[] = {
        VS_TEXT("layout", &where.text[VS_W_LAYOUT], "TEXT|PRESET",
                "the ids' layout, to find oddities in their fields too"),
        VS_WHERE_OPTIONS(&where),
        VS_CHOICE("format", &asked.notation, "any|dec|hex|base32|base62", "how the ids are written (default: dec)"),
        {"mod", 0, VS_OPT_COUNT, &asked.mod.n, "N",
         "draw how many ids each of N shards gets by id % N, and test whether they get "
         "equally many",
         2, VS_MOD_MAX, NULL},
        {"shift", 0, VS_OPT_COUNT, &asked.mod.shift, "BITS", "with --mod: the shards are (id >> BITS) % N", 0, 63,
         &has_shift},
        VS_SWITCH("json", &where.json, "print a JSON object"),
        {0},
    };
    struct vesta_layout layout;
    if ((rc = vs_options(table, &argc, argv)) != VS_GO) return rc;
    if (has_shift && !asked.mod.n)
        return vs_usage("--shift %" PRIu64 " needs --mod N: the number of shards", asked.mod.shift);
    if ((rc = vs_where_environment(&where)) != VS_GO) return rc;
    bool has_layout = where.text[VS_W_LAYOUT] || vs_where_is_named(&where);
    if (has_layout)
        rc = vs_where_layout(&where, &layout);
    else if (where.effective)
        rc = audit_print_no_layout(where.json);
    asked.layout = has_layout ? &layout : NULL;
    asked.json = where.json;
    if (rc == VS_GO) rc = audit_files(&asked, argc, argv);
    vs_where_free(&where);
    return rc;
}

const struct vs_command vs_audit_command = {
    "audit", audit_run, "find duplicates and oddities in lists of ids", "audit [OPTION...] [FILE...]",
    "Reads ids from files or stdin, one per line in the first column, and counts exactly how many occur more\n"
    "than once.  Decimal ids can be negative, in quotes, or end as in 5n or 5LL.  --format reads other formats.\n"
    "In a line of JSON, the command reads all ids of a list, or the first id of an object, if the ids have at\n"
    "least 15 digits.\n"
    "\n"
    "With --layout it also reports ids of a different layout, ids from the future, ids that are out of order\n"
    "within their worker, ids that do not sort by time because a field above the time differs, and the number\n"
    "of ids per worker.\n"
    "\n"
    "With --mod N it also draws how many ids each of N shards gets if your application chooses a shard by id % N,\n"
    "with a chi-square test.  If p is at most 0.01, the shards are uneven.  Even shards get such a p in one of a\n"
    "hundred tests.\n"
    "\n"
    "UUIDs, ULIDs and TypeIDs are read too.  The command reports their kinds, times and rate, and ids that are\n"
    "smaller than the id before them (docs/uuids.md).\n"
    "\n"
    "It needs 16 bytes of memory per id, and 48 bytes per id of 128 bits.  The exit code is 1 if an\n"
    "id occurs twice, and 2 if a line is not an id.\n"
    "\n"
    "  $ vesta gen -n 1000000 | vesta audit\n"
    "  total             1,000,000\n"
    "  distinct          1,000,000\n"
    "  duplicates                0\n"
    "\n"
    "  $ printf '7\\n8\\n7\\n' | vesta audit\n"
    "  total                     3\n"
    "  distinct                  2\n"
    "  duplicates                1\n"
    "    7  2 times: stdin line 1, stdin line 3\n"};
