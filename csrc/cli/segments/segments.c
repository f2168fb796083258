/* segments.c -- `vesta segments`: the counters of stores, how far each has come and how fast it goes. */
#include "cli/cli.h"
#include "cli/segments/places.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How a place stood when it was looked at last, for the speed. */
struct look {
    struct vs_tag_list list;
    int64_t at_ms; /* 0: never */
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number) {
    (void)number;
    interrupted = 1;
}

/* Numbers a second that were granted since the last look; -1: not known. */
static double speed(const struct look *before, const struct vs_tag *now, int64_t now_ms) {
    const struct vs_tag *then = before->at_ms ? vs_place_find(&before->list, now->tag) : NULL;
    if (!then || now_ms <= before->at_ms || now->max < then->max) return -1;
    return (double)(now->max - then->max) * 1000 / (double)(now_ms - before->at_ms);
}

/* ------------------------------------------------------------------ for people */

static void print_row(const struct vs_tag *row, double a_second) {
    char max[VS_GROUPED_MAX], step[VS_GROUPED_MAX], iso[VESTA_ISO_MAX] = "-", rate[32] = "-";
    if (row->updated_ms) vs_iso(row->updated_ms, iso);
    if (a_second >= 0) snprintf(rate, sizeof rate, "%.0f", a_second);
    vs_outf("%-24s  %26s  %13s  %10s  %s", row->tag, row->max < 0 ? "below 0" : vs_grouped((uint64_t)row->max, max),
            row->step < 0 ? "below 0" : vs_grouped((uint64_t)row->step, step), rate, iso);
    if (row->delta != 1) vs_outf("  delta %" PRId64 ", remainder %" PRId64, row->delta, row->remainder);
    vs_outf("\n");
}

static void print_table(const struct vs_place *place, const struct vs_tag_list *list, const struct look *before,
                        int64_t now_ms) {
    vs_outf("%-24s  %26s  %13s  %10s  %s\n", "TAG", "NEXT RANGE AT", "STEP", "GRANTED/S", "UPDATED");
    for (size_t i = 0; i < list->count; i++)
        print_row(&list->rows[i], speed(before, &list->rows[i], now_ms));
    vs_outf("%zu %s in %s%s%s\n", list->count, list->count == 1 ? "tag" : "tags", place->shown,
            place->table ? ", table " : "", place->table ? place->table : "");
    if (list->passed)
        vs_outf("%zu %s no tag of vesta's and passed over, such as '%s'\n", list->passed,
                list->passed == 1 ? "row is" : "rows are", list->strange);
}

/* ------------------------------------------------------------------ for programs */

static void print_json(const struct vs_place *place, const struct vs_tag_list *list, const struct look *before,
                       int64_t now_ms) {
    vs_outf("{\"store\":");
    vs_out_json(place->shown);
    if (place->table) {
        vs_outf(",\"table\":");
        vs_out_json(place->table);
    }
    vs_outf(",\"tags\":[");
    for (size_t i = 0; i < list->count; i++) {
        const struct vs_tag *row = &list->rows[i];
        double a_second = speed(before, row, now_ms);
        vs_outf("%s{\"tag\":\"%s\",\"max\":\"%" PRId64 "\",\"step\":%" PRId64 ",\"delta\":%" PRId64
                ",\"remainder\":%" PRId64,
                i ? "," : "", row->tag, row->max, row->step, row->delta, row->remainder);
        if (row->updated_ms) vs_outf(",\"updated_ms\":%" PRId64, row->updated_ms);
        if (a_second >= 0) vs_outf(",\"granted_s\":%.1f", a_second);
        vs_outf("}");
    }
    vs_outf("],\"passed_over\":%zu}\n", list->passed);
}

/* ------------------------------------------------------------------ looking */

static int look(struct vs_places *places, struct look *looks, int json) {
    int rc = VS_DONE;
    for (int i = 0; i < places->count; i++) {
        struct look now = {.at_ms = vs_now_ms()};
        if (vs_place_list(&places->at[i], &now.list) != VS_GO) {
            free(now.list.rows);
            rc = VS_FAILED;
            continue;
        }
        if (i && !json) vs_outf("\n");
        (json ? print_json : print_table)(&places->at[i], &now.list, &looks[i], now.at_ms);
        free(looks[i].list.rows);
        looks[i] = now;
    }
    vs_out_flush();
    return rc;
}

/* A store that is away for a while is told of, and looked for again. */
static int watch(struct vs_places *places, struct look *looks, int json) {
    const struct sigaction act = {.sa_handler = on_signal}; /* without SA_RESTART: a sleep ends */
    bool redraw = !json && isatty(STDOUT_FILENO);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    while (!interrupted && !vs_out_gone()) {
        if (redraw) vs_outf("\033[H\033[J"); /* to the top, and clear */
        look(places, looks, json);
        if (!interrupted) sleep(1);
    }
    return VS_DONE;
}

static int list(int argc, char **argv) {
    static struct vs_places places;
    static struct look looks[VS_PLACES_MAX];
    int watches = 0;
    const struct vs_option table[] = {
        VS_PLACES_OPTIONS(&places),
        VS_SWITCH("watch", &watches, "refresh every second until interrupted"),
        VS_SWITCH("json", &places.json, "print a JSON object for each table; with --watch again and again"),
        {0},
    };
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (argc > 0)
        return vs_usage("unexpected operand %s; there are `vesta segments` add, step, take, import and "
                        "resume",
                        vs_shown_text(argv[0]));
    if ((rc = vs_places_open(&places, NULL)) == VS_GO)
        rc = watches ? watch(&places, looks, places.json) : look(&places, looks, places.json);
    vs_places_close(&places);
    for (int i = 0; i < VS_PLACES_MAX; i++)
        free(looks[i].list.rows);
    return rc;
}

static int run_segments(int argc, char **argv) {
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } words[] = {{"add", vs_segments_add},
                 {"step", vs_segments_step},
                 {"take", vs_segments_take},
                 {"import", vs_segments_import},
                 {"resume", vs_segments_resume}};
    for (size_t i = 0; argc > 1 && i < sizeof words / sizeof *words; i++)
        if (strcmp(argv[1], words[i].name) == 0) {
            argv[1] = argv[0];
            return words[i].run(argc - 1, argv + 1);
        }
    return list(argc, argv);
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
