/* segments.c -- `vesta segments`: the counters of stores, how far each has come and how fast it goes. */
#include "main/cli.h"
#include "main/segments/places.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How a place stands, and how it stood when it was looked at before, for the speed. */
struct look {
    struct vs_tag_list list, before;
    int64_t at_ms, before_ms; /* 0: never */
    bool is_old;              /* it did not answer this time */
};

struct view {
    struct vs_places places;
    struct look looks[VS_PLACES_MAX];
};

/* Numbers a second that were granted since the last look; -1: not known. */
static double speed(const struct look *look, const struct vs_tag *now) {
    const char *why;
    const struct vs_tag_listed *before = look->before_ms ? vs_place_find(&look->before, now->tag) : NULL;
    const struct vs_tag *then = before ? vs_tag_usable(before, &why) : NULL;
    if (!then || look->at_ms <= look->before_ms || now->max < then->max) return -1;
    return (double)(now->max - then->max) * 1000 / (double)(look->at_ms - look->before_ms);
}

/* ------------------------------------------------------------------ for people */

static const struct vs_column columns[] = {{"TAG", -24, -16},    {"NEXT RANGE AT", 26, 19}, {"STEP", 13, 7},
                                           {"GRANTED/S", 10, 9}, {"UPDATED", -24, -20},     {NULL, 0, 0}};

/* With commas between groups of digits, where there is room for them. */
static const char *number(int64_t n, size_t room, char buf[VS_GROUPED_MAX]) {
    if (n < 0) return "below 0";
    vs_grouped((uint64_t)n, buf);
    if (vs_table_is_narrow(columns) && strlen(buf) > room) snprintf(buf, VS_GROUPED_MAX, "%" PRId64, n);
    return buf;
}

static void print_unusable(const struct vs_tag_listed *listed, const char *why) {
    vs_outf("%-24s  ", listed->tag);
    vs_out_fittedf(26, 26, "cannot be used: %s", why);
}

static void print_row(const struct vs_tag *row, double a_second) {
    char max[VS_GROUPED_MAX], step[VS_GROUPED_MAX], last[VESTA_ISO_MAX + 64] = "-", rate[32] = "-";
    int64_t updated_ms = row->updated_ms;
    if (updated_ms) vs_iso(vs_table_is_narrow(columns) ? updated_ms - updated_ms % 1000 : updated_ms, last);
    if (a_second >= 0) snprintf(rate, sizeof rate, "%.0f", a_second);
    if (row->delta != 1)
        snprintf(last + strlen(last), 64, "  delta %" PRId64 ", remainder %" PRId64, row->delta, row->remainder);
    vs_table_row(columns, (struct vs_cell[]){{row->tag, NULL},
                                             {number(row->max, 19, max), NULL},
                                             {number(row->step, 7, step), NULL},
                                             {rate, NULL},
                                             {last, NULL}});
}

static void print_table(const struct vs_place *place, const struct look *look) {
    const struct vs_tag_list *list = &look->list;
    char iso[VESTA_ISO_MAX];
    vs_table_head(columns);
    for (size_t i = 0; i < list->count; i++) {
        const char *why;
        const struct vs_tag *row = vs_tag_usable(&list->rows[i], &why);
        if (row)
            print_row(row, speed(look, row));
        else
            print_unusable(&list->rows[i], why);
    }
    vs_out_fittedf(2, 0, "%zu %s in %s%s%s", list->count, list->count == 1 ? "tag" : "tags", place->shown,
                   place->table ? ", table " : "", place->table ? place->table : "");
    if (list->passed)
        vs_out_fittedf(2, 0, "%zu %s no tag of vesta's and passed over, such as '%s'", list->passed,
                       list->passed == 1 ? "row is" : "rows are", list->strange);
    if (look->is_old) vs_outf("%sit does not answer: this is of %s%s\n", VS_YELLOW, vs_iso(look->at_ms, iso), VS_PLAIN);
}

/* ------------------------------------------------------------------ for programs */

static void print_json(const struct vs_place *place, const struct look *look) {
    const struct vs_tag_list *list = &look->list;
    if (look->is_old) return;
    vs_outf("{\"store\":");
    vs_out_json(place->shown);
    if (place->table) {
        vs_outf(",\"table\":");
        vs_out_json(place->table);
    }
    vs_outf(",\"tags\":[");
    for (size_t i = 0, told = 0; i < list->count; i++) {
        const char *why;
        const struct vs_tag *row = vs_tag_usable(&list->rows[i], &why);
        if (!row) continue; /* told below */
        double a_second = speed(look, row);
        vs_outf("%s{\"tag\":\"%s\",\"max\":\"%" PRId64 "\",\"step\":%" PRId64 ",\"delta\":%" PRId64
                ",\"remainder\":%" PRId64,
                told++ ? "," : "", row->tag, row->max, row->step, row->delta, row->remainder);
        if (row->updated_ms) vs_outf(",\"updated_ms\":%" PRId64, row->updated_ms);
        if (a_second >= 0) vs_outf(",\"granted_s\":%.1f", a_second);
        vs_outf("}");
    }
    vs_outf("],\"unusable\":[");
    for (size_t i = 0, told = 0; i < list->count; i++) {
        const char *why;
        if (vs_tag_usable(&list->rows[i], &why)) continue;
        vs_outf("%s{\"tag\":\"%s\",\"why\":", told++ ? "," : "", list->rows[i].tag);
        vs_out_json(why);
        vs_outf("}");
    }
    vs_outf("],\"passed_over\":%zu}\n", list->passed);
}

/* ------------------------------------------------------------------ looking */

static int look_at(const struct vs_place *place, struct look *look) {
    struct vs_tag_list now;
    look->is_old = vs_place_list(place, &now) != VS_GO;
    if (look->is_old) return free(now.rows), VS_FAILED;
    free(look->before.rows);
    look->before = look->list;
    look->before_ms = look->at_ms;
    look->list = now;
    look->at_ms = vs_now_ms();
    return VS_DONE;
}

/* VS_DONE if any place answers. */
static int look(void *self) {
    struct view *view = self;
    int rc = VS_FAILED;
    for (int i = 0; i < view->places.count; i++)
        if (look_at(&view->places.at[i], &view->looks[i]) == VS_DONE) rc = VS_DONE;
    return rc;
}

static void print(void *self) {
    struct view *view = self;
    for (int i = 0, shown = 0; i < view->places.count; i++) {
        if (!view->looks[i].at_ms) continue;
        if (shown++ && !view->places.json) vs_outf("\n");
        (view->places.json ? print_json : print_table)(&view->places.at[i], &view->looks[i]);
    }
}

static int look_once(struct view *view) {
    int rc = look(view);
    print(view);
    for (int i = 0; i < view->places.count; i++)
        if (view->looks[i].is_old) rc = VS_FAILED;
    return rc;
}

static int list(int argc, char **argv) {
    static struct view view;
    int watches = 0;
    const struct vs_option table[] = {
        VS_PLACES_OPTIONS(&view.places),
        VS_SWITCH("watch", &watches, "refresh every second until interrupted"),
        VS_SWITCH("json", &view.places.json, "print a JSON object for each table; with --watch again and again"),
        {0},
    };
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (argc > 0)
        return vs_usage("unexpected operand %s; there are `vesta segments` add, step, take, import and "
                        "resume",
                        vs_shown_text(argv[0]));
    struct vs_watch watching = {look, print, &view, !view.places.json && isatty(STDOUT_FILENO)};
    if ((rc = vs_places_open(&view.places, NULL)) == VS_GO) rc = watches ? vs_watch(&watching) : look_once(&view);
    vs_places_close(&view.places);
    for (int i = 0; i < VS_PLACES_MAX; i++) {
        free(view.looks[i].list.rows);
        free(view.looks[i].before.rows);
    }
    return rc;
}

static int run_segments(int argc, char **argv) {
    static const struct vs_word words[] = {{"add", vs_segments_add},       {"step", vs_segments_step},
                                           {"take", vs_segments_take},     {"import", vs_segments_import},
                                           {"resume", vs_segments_resume}, {0}};
    int code;
    return vs_word_ran(words, argc, argv, &code) ? code : list(argc, argv);
}

const struct vs_command vs_segments_command = {
    "segments", run_segments, "the counters of segments: how far each is, add one, set a step",
    "segments [OPTION...]\n       vesta segments add TAG [--from N] [--step N] [OPTION...]\n"
    "       vesta segments step TAG N [OPTION...]\n"
    "       vesta segments resume TAG [--even-lower] [OPTION...]\n"
    "       vesta segments take TAG [-n N] [--form TEXT [--zone NAME]] [OPTION...]\n"
    "       vesta segments import TABLE URI... [OPTION...]",
    "Lists the counters of a store's table: where the next range of each begins, its step, when it was last\n"
    "raised; with --watch how many numbers a second are granted.  Changes nothing.\n"
    "\n"
    "add makes a counter, whose first number is --from; step sets how many numbers a range has; take\n"
    "prints numbers, each call one step of the database, as business numbers where --form is given; import takes\n"
    "over the counters of a table of tinyid's, Leaf's or a ticket server's, past every number that was given;\n"
    "without --yes it only shows what it would write.  `vesta help segments import` has its options.\n"
    "resume says that a counter which went back, and so stopped, has been put right.\n"
    "\n"
    "  $ vesta segments add orders --from 1000 --step 500 --store sqlite:/var/v.db\n"
    "  orders begins with 1,000, in steps of 500\n"
    "\n"
    "  $ vesta segments --store sqlite:/var/lib/vesta/v.db\n"
    "  TAG        NEXT RANGE AT         STEP  GRANTED/S  UPDATED\n"
    "  orders             1,000          500          -  2026-11-22T20:10:00.123Z\n"
    "  1 tag in sqlite:/var/lib/vesta/v.db\n"};
