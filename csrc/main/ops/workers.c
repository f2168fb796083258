/* workers.c -- `vesta workers`: who holds which number of a namespace, for how long still, by whose clock.  Reads only.
 */
#include "main/cli.h"
#include "main/ops/stores.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The high-water mark: nothing at or past it was granted.  False: later than a date can say. */
static bool until_ms(const struct vs_at *at, const struct vs_record *r, int64_t *ms) {
    int64_t us = vs_tick_unix_us(&at->shape, r->until);
    *ms = us / 1000;
    return r->until < vs_tick_end(&at->shape) && us != INT64_MAX;
}

/* ------------------------------------------------------------------ for people */

/* A narrow terminal has no room for the clock, nor for milliseconds. */
static const struct vs_column columns[] = {{"NUMBER", 6, 6}, {"STATE", -7, -7},        {"LEFT", 8, 8},
                                           {"CLOCK", 10, 0}, {"USED BELOW", -24, -20}, {"HOLDER, IDENTITY", -35, -35},
                                           {NULL, 0, 0}};

/* The holder and its identity. */
static const char *who_of(const struct vs_at *at, const struct vs_listed *listed, char *buf, size_t size) {
    const struct vs_record *r = &listed->record;
    snprintf(buf, size, "%s  %s%s%s", *r->holder ? r->holder : "-", r->identity,
             r->fingerprint == at->ns.fingerprint ? "" : "  [another layout's]",
             listed->worker <= at->worker_max ? "" : "  [not a number of this layout]");
    return vs_clean(buf);
}

static void print_row(const struct vs_at *at, const struct vs_listed *listed) {
    const struct vs_record *r = &listed->record;
    enum vs_standing standing = vs_standing_of(r, at->store_ms);
    char number[24], left[VS_LEFT_MAX] = "-", clock[32] = "-", iso[VESTA_ISO_MAX] = "the layout's end";
    char who[VS_HOLDER_MAX + VS_IDENTITY_MAX + 80];
    int64_t ms;
    snprintf(number, sizeof number, "%" PRIu64, listed->worker);
    if (standing == VS_STANDS_HELD) vs_left(vs_standing_left_ms(r, at->store_ms), left);
    if (r->seen_ms && r->written_ms)
        snprintf(clock, sizeof clock, "%+.3f s", (double)(r->seen_ms - r->written_ms) / 1000);
    if (until_ms(at, r, &ms)) vs_iso(vs_table_is_narrow(columns) ? ms - ms % 1000 : ms, iso);
    vs_table_row(columns,
                 (struct vs_cell[]){{number, NULL},
                                    {vs_standing_name(standing), standing == VS_STANDS_EXPIRED ? VS_YELLOW : ""},
                                    {left, NULL},
                                    {clock, NULL},
                                    {iso, NULL},
                                    {who_of(at, listed, who, sizeof who), NULL}});
}

static void print_table(const struct vs_at *at, const struct vs_workers *workers) {
    char iso[VESTA_ISO_MAX], never[VS_GROUPED_MAX], named[VS_AT_NAMED_MAX];
    vs_table_head(columns);
    for (size_t i = 0; i < workers->count; i++)
        print_row(at, &workers->listed[i]);
    vs_out_fittedf(
        2, 0, "%s: %" PRIu64 " held, %" PRIu64 " expired, %" PRIu64 " free, %s never used; at %s by the store's clock",
        vs_at_named(at, named), workers->standing[VS_STANDS_HELD], workers->standing[VS_STANDS_EXPIRED],
        workers->standing[VS_STANDS_FREE], vs_grouped(workers->never, never), vs_iso(at->store_ms, iso));
}

/* ------------------------------------------------------------------ for programs */

static void print_row_json(const struct vs_at *at, const struct vs_listed *listed) {
    const struct vs_record *r = &listed->record;
    enum vs_standing standing = vs_standing_of(r, at->store_ms);
    int64_t ms;
    vs_outf("{\"worker\":%" PRIu64 ",\"state\":\"%s\"", listed->worker, vs_standing_name(standing));
    if (standing == VS_STANDS_HELD) vs_outf(",\"left_ms\":%" PRId64, vs_standing_left_ms(r, at->store_ms));
    if (r->seen_ms && r->written_ms) vs_outf(",\"clock_ms\":%" PRId64, r->seen_ms - r->written_ms);
    vs_outf(",\"until\":\"%" PRIu64 "\"", r->until);
    if (until_ms(at, r, &ms)) vs_outf(",\"until_ms\":%" PRId64, ms);
    vs_outf(",\"written_ms\":%" PRId64 ",\"lease_ms\":%" PRId64 ",\"epoch\":%" PRIu64 ",\"holder\":", r->written_ms,
            r->lease_ms, r->epoch);
    vs_out_json(r->holder);
    vs_outf(",\"identity\":");
    vs_out_json(r->identity);
    vs_outf(",\"fits\":%s}",
            r->fingerprint == at->ns.fingerprint && listed->worker <= at->worker_max ? "true" : "false");
}

static void print_json(const struct vs_at *at, const struct vs_workers *workers) {
    vs_at_named_json(at);
    vs_outf(",\"store_ms\":%" PRId64 ",\"ahead_ms\":%" PRId64, at->store_ms, vs_at_ahead_ms(at->store_ms));
    for (int i = 0; i < VS_STANDINGS; i++)
        vs_outf(",\"%s\":%" PRIu64, vs_standing_name((enum vs_standing)i), workers->standing[i]);
    vs_outf(",\"never\":%" PRIu64 ",\"workers\":[", workers->never);
    for (size_t i = 0; i < workers->count; i++) {
        if (i) vs_outf(",");
        print_row_json(at, &workers->listed[i]);
    }
    vs_outf("]}\n");
}

/* ------------------------------------------------------------------ the command */

struct view {
    struct vs_at at;
    struct vs_workers workers;
};

static int look(void *self) {
    struct view *view = self;
    free(view->workers.listed);
    view->workers.listed = NULL;
    int rc = vs_at_need(&view->at);
    if (rc == VS_GO) rc = vs_at_list(&view->at, &view->workers);
    return rc == VS_GO ? VS_DONE : rc;
}

static void print(void *self) {
    const struct view *view = self;
    (view->at.json ? print_json : print_table)(&view->at, &view->workers);
}

static int look_once(struct view *view) {
    int rc = look(view);
    if (rc == VS_DONE) print(view);
    return rc;
}

static int run_workers(int argc, char **argv) {
    static const struct vs_word words[] = {{"import", vs_workers_import}, {0}};
    struct view view = {.workers.count = 0};
    int watches = 0, code;
    if (vs_word_ran(words, argc, argv, &code)) return code;
    const struct vs_option table[] = {
        VS_AT_OPTIONS(&view.at),
        VS_SWITCH("watch", &watches, "refresh every second until interrupted"),
        VS_SWITCH("json", &view.at.json, "print a JSON object; with --watch one per line"),
        {0},
    };
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (argc > 0) return vs_usage("unexpected operand %s; there is `vesta workers import`", vs_shown_text(argv[0]));
    struct vs_watch watching = {look, print, &view, !view.at.json && isatty(STDOUT_FILENO)};
    if ((rc = vs_at_find(&view.at, true)) == VS_GO && (rc = vs_at_open(&view.at)) == VS_GO)
        rc = watches ? vs_watch(&watching) : look_once(&view);
    free(view.workers.listed);
    vs_at_free(&view.at);
    return rc;
}

const struct vs_command vs_workers_command = {
    "workers", run_workers, "who holds which worker number",
    "workers [OPTION...]\n       vesta workers import --from KIND --source URI [OPTION...]",
    "Lists the numbers of a namespace that were ever used: held by whom and for how much longer, expired or\n"
    "free; how far the holder's clock was from the store's when it last wrote; and the time before which\n"
    "all ids granted to it lie.  Changes nothing.\n"
    "\n"
    "import reads which numbers another generator has given out (Butterfly's table or nodes, Leaf's nodes,\n"
    "UidGenerator's or Vesta (Java)'s table) and marks them as held, or as used up to now, so that none is leased\n"
    "twice.  Without --yes it only shows what it would write.  `vesta help workers import` has its options.\n"
    "\n"
    "  $ vesta workers --store mysql://vesta@db/vesta?secret_file=/etc/vesta/db\n"
    "  NUMBER  STATE        LEFT       CLOCK  USED BELOW                HOLDER, ...\n"
    "     417  held        11:58    -0.002 s  2026-11-21T20:10:00.123Z  web1 pid ...\n"
    "  default: 1 held, 0 expired, 0 free, 1,023 never used; at ...\n"
    "\n"
    "  $ vesta workers import --from leaf --source zk://zk1:2181/snowflake \\\n"
    "    --name orders --store 'zk://zk1/vesta?secret_file=/etc/vesta/zk.auth' \\\n"
    "    --namespace orders\n"
    "       3  mark   held until the layout's end          10.0.0.4:8080-0000000003\n"
    "  ...\n"
    "\n"
    "  $ vesta workers --store file:/var/lib/vesta --watch --json\n"
    "  {\"namespace\":\"default\",\"store_ms\":1795300000000,...\n"};
