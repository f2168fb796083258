/* guess.c -- `guess`: which layouts could have made ids, presets and those that the caller names, and how sure that is.
 */
#include "cli/cli.h"
#include "command/times.h"
#include "cli/where.h"
#include "id/id.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IDS_MAX 1000     /* more say no more about a layout, and cost the square */
#define SUSPECTS_MAX 128 /* presets, --layout, a config's namespaces */
#define SURE 0.75        /* less is no answer; without --made there is always doubt about the epoch */
#define LIKELY_MIN 0.1   /* of the first family's share; others are said to be less likely */
#define SHOWN_MIN 0.0005 /* of all shares; what is below is not shown beside ids that tell more */

#define OF_CONFIG_MAX 64 /* namespaces that are asked one by one; of more, each layout is asked for once */
_Static_assert(SUSPECTS_MAX >= VS_TEXTS_MAX + OF_CONFIG_MAX + 32, "there is room for all that can be named");

struct guessing {
    struct vs_texts texts; /* of --layout */
    struct vs_where where; /* whose config's layouts are asked for */
    const char *made;
    int notation, json, each, effective;
    struct vesta_layout layouts[SUSPECTS_MAX];
    struct vs_suspect all[SUSPECTS_MAX], ranked[SUSPECTS_MAX];
    size_t own_count, all_count, count; /* own: of those that the caller named */
    uint64_t ids[IDS_MAX];
    size_t id_count, passed; /* passed: more ids than there is room for */
    struct vs_evidence evidence;
    double none;
    bool first;
};

/* ------------------------------------------------------------------ whom to ask */

static int add(struct guessing *g, const char *name, const char *text) {
    struct vesta_layout *layout = &g->layouts[g->all_count];
    int rc = vs_read_layout(text, layout);
    if (rc != VS_DONE) return rc;
    g->all[g->all_count++] = (struct vs_suspect){.name = name, .layout = layout};
    return VS_GO;
}

static bool has_layout(const struct vs_config *config, const char *text, int before) {
    for (int i = 0; i < before; i++)
        if (config->ns[i].opts.layout && strcmp(config->ns[i].opts.layout, text) == 0) return true;
    return false;
}

static int add_config(struct guessing *g, const struct vs_config *config) {
    int rc = VS_GO, left = OF_CONFIG_MAX;
    for (int i = 0; i < config->ns_count && rc == VS_GO; i++) {
        const char *text = config->ns[i].opts.layout;
        if (!text || (config->ns_count > OF_CONFIG_MAX && has_layout(config, text, i))) continue;
        if (left-- == 0) return vs_say("%s has more than %d layouts: name them with --layout", config->name, OF_CONFIG_MAX), VS_FAILED;
        rc = add(g, config->ns[i].name, text);
    }
    return rc;
}

/* The caller's own stand first: among equals they are meant. */
static int add_all(struct guessing *g) {
    struct vs_conf_opts from = {.path = g->where.text[VS_W_CONFIG]};
    struct vesta_error err;
    struct vs_config *config = NULL;
    int rc = VS_GO;
    for (size_t i = 0; i < g->texts.count && rc == VS_GO; i++)
        rc = add(g, g->texts.text[i], g->texts.text[i]);
    if (rc == VS_GO && from.path && vs_config_read(&from, &config, &err) != VESTA_OK)
        return vs_say("%s", err.text), VS_FAILED;
    g->where.config = config;
    if (config && rc == VS_GO) rc = add_config(g, config);
    g->own_count = g->all_count;
    for (int i = 0; vesta_preset_at(i) && rc == VS_GO; i++)
        rc = add(g, vesta_preset_at(i)->name, vesta_preset_at(i)->text);
    return rc;
}

/* ------------------------------------------------------------------ what was found */

static const char *percent(double share, char buf[16]) {
    if (share > 0.99 && share < 1)
        snprintf(buf, 16, ">99 %%");
    else if (share < 0.01)
        snprintf(buf, 16, "<1 %%");
    else
        snprintf(buf, 16, "%.0f %%", share * 100);
    return buf;
}

/* What an answer is worth: layouts that read the same time out of the ids are one answer. */
static double share_of_first(const struct guessing *g) {
    const struct vesta_layout *best = g->ranked[0].layout;
    double sum = 0;
    for (size_t i = 0; i < g->count; i++) {
        const struct vesta_layout *other = g->ranked[i].layout;
        const struct vesta_field *a = &best->field[best->time], *b = &other->field[other->time];
        if (a->shift == b->shift && a->width == b->width && best->unit_us == other->unit_us &&
            best->epoch_ms == other->epoch_ms)
            sum += g->ranked[i].share;
    }
    return sum;
}

/* One id alone may look like another layout's by chance. */
static bool is_sure(const struct guessing *g) {
    return g->count && (g->id_count > 1 || g->evidence.has_made) && share_of_first(g) >= SURE;
}

static bool is_likely(const struct guessing *g, size_t i) {
    return g->ranked[i].family >= LIKELY_MIN * g->ranked[0].family;
}

/* The first suspect behind the family of one. */
static size_t family_end(const struct guessing *g, size_t first) {
    size_t end = first;
    while (end < g->count && vs_guess_is_family(g->ranked[first].layout, g->ranked[end].layout))
        end++;
    return end;
}

/* The odd values of one id are marked: they are why a layout is less likely than another. */
static const char *mark_of(const struct guessing *g, const struct vs_suspect *suspect, int field) {
    struct vesta_parts parts;
    bool is_odd = g->id_count == 1 && vesta_explain(suspect->layout, g->ids[0], &parts, NULL) == VESTA_OK &&
                  vs_guess_is_odd(suspect, field, parts.values[field], g->evidence.now_ms);
    return is_odd ? "?" : "";
}

#define LINE_AT 32 /* the column of what a layout says */
#define TEXT_MAX 512

static void append_fields(const struct guessing *g, const struct vs_suspect *suspect, char text[TEXT_MAX]) {
    const struct vesta_layout *layout = suspect->layout;
    struct vesta_parts parts;
    if (vesta_explain(layout, g->ids[0], &parts, NULL) != VESTA_OK) return;
    for (int i = 0; i < layout->field_count; i++) {
        size_t used = strlen(text);
        if (i != layout->time && !layout->field[i].fixed)
            snprintf(text + used, TEXT_MAX - used, " %s=%" PRIu64 "%s", layout->field[i].name, parts.values[i],
                     mark_of(g, suspect, i));
    }
}

static int by_value(const void *a, const void *b) {
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

struct summary {
    int64_t from_ms, until_ms;
    size_t workers;
};

/* What all ids say together under a layout. */
static struct summary summary_of(const struct guessing *g, const struct vesta_layout *layout) {
    struct summary s = {INT64_MAX, INT64_MIN, 0};
    struct vesta_parts parts;
    uint64_t workers[IDS_MAX];
    for (size_t i = 0; i < g->id_count; i++) {
        if (vesta_explain(layout, g->ids[i], &parts, NULL) != VESTA_OK) continue;
        if (parts.unix_ms < s.from_ms) s.from_ms = parts.unix_ms;
        if (parts.unix_ms > s.until_ms) s.until_ms = parts.unix_ms;
        workers[i] = parts.worker;
    }
    qsort(workers, g->id_count, sizeof *workers, by_value);
    for (size_t i = 0; i < g->id_count; i++)
        s.workers += i == 0 || workers[i] != workers[i - 1];
    return s;
}

static void print_suspect(const struct guessing *g, const struct vs_suspect *suspect, const char *indent) {
    char iso[VESTA_ISO_MAX], until[VESTA_ISO_MAX], ago[VS_AGO_MAX], share[16], when[VESTA_ISO_MAX + VS_AGO_MAX];
    struct summary s = summary_of(g, suspect->layout);
    char text[TEXT_MAX];
    vs_outf("  %5s  %s%-*s  ", percent(suspect->share, share), indent, 21 - (int)strlen(indent), suspect->name);
    if (g->id_count == 1) {
        snprintf(when, sizeof when, "%s, %s%s", vs_iso(s.from_ms, iso), vs_ago(s.from_ms, g->evidence.now_ms, ago),
                 mark_of(g, suspect, suspect->layout->time));
        snprintf(text, sizeof text, "%-39s", when);
        append_fields(g, suspect, text);
    } else {
        snprintf(text, sizeof text, "%s to %s", vs_iso(s.from_ms, iso), vs_iso(s.until_ms, until));
        if (suspect->layout->worker >= 0)
            snprintf(text + strlen(text), 64, ", %zu worker%s", s.workers, s.workers == 1 ? "" : "s");
    }
    vs_out_fitted(text, LINE_AT, LINE_AT);
}

/* Ids tell where the time is; whose epoch it counts from they do not: so those that agree on that are one answer. */
static void print_groups(const struct guessing *g) {
    char share[16], unit[VS_UNIT_MAX];
    bool said_less = false;
    for (size_t i = 0, end; i < g->count; i = end) {
        const struct vesta_layout *layout = g->ranked[i].layout;
        end = family_end(g, i);
        bool has_head = is_likely(g, i) && end - i > 1;
        if (g->id_count > 1 && i > 0 && g->ranked[i].family < SHOWN_MIN) continue;
        if (!is_likely(g, i) && !said_less) vs_outf("\n  less likely:\n"), said_less = true;
        if (has_head)
            vs_outf("  %5s  a time in units of %s from bit %u on:\n", percent(g->ranked[i].family, share),
                    vs_unit(layout, unit), layout->field[layout->time].shift);
        for (size_t k = i; k < end; k++)
            print_suspect(g, &g->ranked[k], has_head ? "  " : "");
    }
    vs_outf("\n  %5s  none of these%s\n", percent(g->none, share),
            g->evidence.has_made ? "" : ", or one of them with another epoch");
}

static void print_doubt(const struct guessing *g) {
    if (g->count && g->id_count == 1)
        vs_outf("\n  ? speaks against it: early in the layout's life, or more than half of its bits\n");
    if (is_sure(g)) return;
    const char *doubt = "That is no answer yet";
    if (g->count == 0)
        doubt = "A layout that is not asked for may be missing";
    else if (g->id_count > 1 && g->ranked[0].family >= SURE)
        doubt = "Where the time is, is clear; whose epoch it counts from is not";
    vs_outf("\n  %s.  To know more:\n", doubt);
    if (g->id_count < 10) vs_outf("    give more ids of the same kind\n");
    if (!g->evidence.has_made) vs_outf("    say when they were made: --made now, --made 2026-01-31\n");
    vs_outf("    name layouts of your own: --layout TEXT, -c FILE\n");
}

static void print_for_people(const struct guessing *g) {
    char count[VS_GROUPED_MAX];
    if (g->id_count == 1)
        vs_outf("%" PRIu64 "  %s\n", g->ids[0],
                g->count ? "could be, likeliest first:" : "none of the layouts could have made this id by now");
    else
        vs_outf("%s ids of one layout  %s\n", vs_grouped(g->id_count, count),
                g->count ? "could be, likeliest first:" : "none of the layouts could have made all of them by now");
    if (g->count) print_groups(g);
    print_doubt(g);
}

static void print_family_json(const struct guessing *g, size_t first) {
    const struct vesta_layout *layout = g->ranked[first].layout;
    char unit[VS_UNIT_MAX];
    vs_outf("%s{\"unit\":\"%s\",\"bit\":%u,\"share\":%.6f,\"likely\":%s,\"layouts\":[", first ? "," : "",
            vs_unit(layout, unit), layout->field[layout->time].shift, g->ranked[first].family,
            is_likely(g, first) ? "true" : "false");
    for (size_t i = first, end = family_end(g, first); i < end; i++) {
        if (i > first) vs_outf(",");
        vs_out_json(g->ranked[i].name);
    }
    vs_outf("]}");
}

static void print_odd_json(const struct guessing *g, const struct vs_suspect *suspect) {
    const struct vesta_layout *layout = suspect->layout;
    vs_outf(",\"against\":[");
    for (int i = 0, count = 0; i < layout->field_count; i++)
        if (*mark_of(g, suspect, i)) vs_outf("%s\"%s\"", count++ ? "," : "", layout->field[i].name);
    vs_outf("]}");
}

static void print_suspect_json(const struct guessing *g, const struct vs_suspect *suspect) {
    struct summary s = summary_of(g, suspect->layout);
    struct vesta_parts parts;
    char iso[VESTA_ISO_MAX];
    vs_outf("{\"layout\":");
    vs_out_json(suspect->name);
    vs_outf(",\"share\":%.6f", suspect->share);
    if (g->id_count > 1)
        vs_outf(",\"from_ms\":%" PRId64 ",\"until_ms\":%" PRId64 ",\"workers\":%zu}", s.from_ms, s.until_ms, s.workers);
    else if (vesta_explain(suspect->layout, g->ids[0], &parts, NULL) == VESTA_OK)
        vs_outf(",\"worker\":%" PRIu64 ",\"seq\":%" PRIu64 ",\"unix_ms\":%" PRId64 ",\"iso\":\"%s\"", parts.worker,
                parts.seq, parts.unix_ms, vs_iso(parts.unix_ms, iso));
    if (g->id_count == 1) print_odd_json(g, suspect);
}

static void print_json(const struct guessing *g) {
    if (g->id_count == 1)
        vs_outf("{\"id\":\"%" PRIu64 "\"", g->ids[0]);
    else
        vs_outf("{\"ids\":%zu", g->id_count);
    vs_outf(",\"none\":%.6f,\"sure\":%s,\"families\":[", g->none, is_sure(g) ? "true" : "false");
    for (size_t i = 0; i < g->count; i = family_end(g, i))
        print_family_json(g, i);
    vs_outf("],\"guesses\":[");
    for (size_t i = 0; i < g->count; i++) {
        if (i) vs_outf(",");
        print_suspect_json(g, &g->ranked[i]);
    }
    vs_outf("]}\n");
}

static int judge(struct guessing *g) {
    qsort(g->ids, g->id_count, sizeof *g->ids, by_value);
    g->evidence.count = g->id_count;
    memcpy(g->ranked, g->all, sizeof g->ranked);
    g->count = g->all_count;
    g->none = vs_guess_rank(&g->evidence, g->ranked, &g->count);
    if (!g->json && !g->first) vs_outf("\n");
    g->first = false;
    (g->json ? print_json : print_for_people)(g);
    return g->count ? VS_DONE : VS_FAILED;
}

/* ------------------------------------------------------------------ the command */

static int take_id(void *self, const struct vs_found_id *found) {
    struct guessing *g = self;
    if (g->id_count == IDS_MAX) {
        g->passed++;
        return VS_DONE;
    }
    g->ids[g->id_count++] = found->id;
    if (!g->each) return VS_DONE;
    int rc = judge(g);
    g->id_count = 0;
    return rc;
}

static int guess_ids(struct guessing *g, int argc, char **argv) {
    struct vs_id_input input = {(enum vs_notation)g->notation, take_id, g};
    char passed[VS_GROUPED_MAX];
    int rc = vs_each_id(&input, argc, argv);
    if (g->passed) vs_say("the first %d ids are looked at, %s more are not", IDS_MAX, vs_grouped(g->passed, passed));
    if (g->each || g->id_count == 0) return rc;
    int judged = judge(g);
    return rc > judged ? rc : judged;
}

/* VESTA_STORE is nobody's concern here. */
static void find_config(struct guessing *g) {
    if (g->where.text[VS_W_CONFIG])
        g->where.from[VS_W_CONFIG] = "--config", g->where.origin[VS_W_CONFIG] = VS_FROM_FLAG;
    vs_where_put(&g->where, VS_W_CONFIG, vs_where_config(), VS_FROM_ENV, "VESTA_CONFIG");
    g->where.json = g->json;
}

/* The presets are asked for in any case. */
static int print_effective(const struct guessing *g) {
    int rc = vs_where_print(&g->where);
    for (size_t i = 0; i < g->own_count; i++) {
        char text[VESTA_LAYOUT_TEXT_MAX];
        struct vs_conf_value row = {.path = "layout", .text = g->all[i].name, .origin = VS_FROM_FLAG, .by = "--layout"};
        if (i >= g->texts.count) row.path = g->all[i].name, row.origin = VS_FROM_FILE, row.by = "the config";
        if (i >= g->texts.count && vesta_layout_text(g->all[i].layout, text)) row.text = text;
        vs_effective_print(&row, g->json);
    }
    return rc;
}

static int run_guess(int argc, char **argv) {
    static struct guessing g;
    const struct vs_option table[] = {
        VS_OPTION_TEXTS("layout", &g.texts, "TEXT", "a layout to be asked for besides the presets; may be repeated"),
        {"config", 'c', VS_OPT_TEXT, &g.where.text[VS_W_CONFIG], "FILE",
         "a server's config, whose namespaces' layouts are asked for, too", 0, 0, NULL},
        VS_TEXT("made", &g.made, "TIME", "the ids were made within a day of this time: -1h, 2026-01-31"),
        VS_SWITCH("each", &g.each, "each id by itself, as if others were of other layouts"),
        VS_NOTATION(&g.notation),
        VS_EFFECTIVE(&g.effective),
        VS_SWITCH("json", &g.json, "print a JSON object; with --each one per line"),
        {0},
    };
    g.first = true;
    g.evidence = (struct vs_evidence){.ids = g.ids, .now_ms = vs_now_ms(), .has_made = false};
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (g.made && (rc = vs_time_operand(g.made, g.evidence.now_ms, &g.evidence.made_ms)) != VS_GO) return rc;
    if (g.made) g.evidence.made_ms += vs_time_length(g.made) / 2;
    g.evidence.has_made = g.made;
    find_config(&g);
    if ((rc = add_all(&g)) == VS_GO) rc = g.effective ? print_effective(&g) : guess_ids(&g, argc, argv);
    vs_where_free(&g.where);
    return rc;
}

const struct vs_command vs_guess_command = {
    "guess", run_guess, "which layouts could have made ids, and how sure that is", "guess [OPTION...] [ID...]",
    "Reads ids under every preset, and under layouts of your own, and lists those that could have made all\n"
    "of them, likeliest first, each with its share of all possibilities.  It is a guess: an id carries no\n"
    "mark of its layout.  What is looked for are habits: recent times near each other, low sequences, few\n"
    "workers; what has none of them is marked with ?.  So more ids of one kind tell more, and that they\n"
    "were made lately (--made) tells most: the bits say nothing about the epoch, so layouts that find the\n"
    "time in the same bits and units are one group.\n"
    "\n"
    "  $ vesta guess 1138729511026688\n"
    "  1138729511026688  could be, likeliest first:\n"
    "     69 %  vesta-legacy-second    2015-05-22T06:41:04Z, 11 years ago? ...\n"
    "      9 %  a time in units of 10ms from bit 24 on:\n"
    "      8 %    sonyflake-v2         2025-01-08T20:32:15.680Z, 683 days ago? ...\n"
    "     ...\n"
    "     18 %  none of these, or one of them with another epoch\n"
    "\n"
    "  $ psql -Atc 'select id from orders limit 100' | vesta guess \\\n"
    "    --layout 'snowflake epoch=2020-01-01T00:00:00Z'\n"
    "  100 ids of one layout  could be, likeliest first:\n"
    "  ...\n"};
