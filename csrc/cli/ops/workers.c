/* workers.c -- `vesta workers`: who holds which number of a namespace, for how long still, by whose clock.  Reads only.
 */
#include "cli/cli.h"
#include "cli/ops/stores.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

static void on_signal(int number) {
    (void)number;
    interrupted = 1;
}

/* "11:59", "23:10:05" */
static const char *duration(int64_t ms, char *buf, size_t size) {
    int64_t s = ms / 1000;
    if (s >= 100 * 86400)
        snprintf(buf, size, "%" PRId64 " days", s / 86400);
    else if (s >= 3600)
        snprintf(buf, size, "%" PRId64 ":%02d:%02d", s / 3600, (int)(s / 60 % 60), (int)(s % 60));
    else
        snprintf(buf, size, "%d:%02d", (int)(s / 60), (int)(s % 60));
    return buf;
}

/* The high-water mark: nothing at or past it was granted.  False: later than a date can say. */
static bool until_ms(const struct vs_at *at, const struct vs_record *r, int64_t *ms) {
    int64_t us = vs_tick_unix_us(&at->shape, r->until);
    *ms = us / 1000;
    return r->until < vs_tick_end(&at->shape) && us != INT64_MAX;
}

static int64_t left_ms(const struct vs_at *at, const struct vs_record *r) {
    int64_t age_ms = at->store_ms > r->written_ms ? at->store_ms - r->written_ms : 0;
    return r->lease_ms > age_ms ? r->lease_ms - age_ms : 0;
}

/* ------------------------------------------------------------------ for people */

/* A narrow terminal has no room for the clock, nor for milliseconds. */
#define NARROW 100
#define WHO_AT 67 /* the last column's place, */
#define WHO_AT_NARROW 51

static bool is_narrow(void) {
    return vs_out_columns() > WHO_AT_NARROW + 16 && vs_out_columns() < NARROW;
}

/* The holder and its identity, of which a terminal shows as much as it has room for. */
static void print_who(const struct vs_record *r) {
    char who[VS_HOLDER_MAX + VS_IDENTITY_MAX + 4];
    size_t columns = vs_out_columns(), at = is_narrow() ? WHO_AT_NARROW : WHO_AT;
    size_t length = (size_t)snprintf(who, sizeof who, "%s  %s", *r->holder ? r->holder : "-", r->identity);
    if (columns > at + 3 && length > columns - at) memcpy(who + (columns - at - 3), "...", 4);
    vs_out_clean(who);
}

static void print_row(const struct vs_at *at, const struct vs_listed *listed) {
    const struct vs_record *r = &listed->record;
    enum vs_standing standing = vs_standing_of(r, at->store_ms);
    char left[32] = "-", clock[32] = "-", iso[VESTA_ISO_MAX] = "the layout's end";
    int64_t ms;
    if (standing == VS_STANDS_HELD) duration(left_ms(at, r), left, sizeof left);
    if (r->seen_ms && r->written_ms)
        snprintf(clock, sizeof clock, "%+.3f s", (double)(r->seen_ms - r->written_ms) / 1000);
    if (until_ms(at, r, &ms)) vs_iso(is_narrow() ? ms - ms % 1000 : ms, iso);
    const char *paint = standing == VS_STANDS_EXPIRED ? VS_YELLOW : "";
    vs_outf("%6" PRIu64 "  %s%-7s%s  %8s  ", listed->worker, paint, vs_standing_name(standing), *paint ? VS_PLAIN : "",
            left);
    if (is_narrow())
        vs_outf("%-20s  ", iso);
    else
        vs_outf("%10s  %-24s  ", clock, iso);
    print_who(r);
    vs_outf("%s%s\n", r->fingerprint == at->ns.fingerprint ? "" : "  [another layout's]",
            listed->worker <= at->worker_max ? "" : "  [not a number of this layout]");
}

static void print_table(const struct vs_at *at, const struct vs_workers *workers) {
    char iso[VESTA_ISO_MAX], never[VS_GROUPED_MAX];
    if (is_narrow())
        vs_outf("%6s  %-7s  %8s  %-20s  %s\n", "NUMBER", "STATE", "LEFT", "USED BELOW", "HOLDER, IDENTITY");
    else
        vs_outf("%6s  %-7s  %8s  %10s  %-24s  %s\n", "NUMBER", "STATE", "LEFT", "CLOCK", "USED BELOW",
                "HOLDER, IDENTITY");
    for (size_t i = 0; i < workers->count; i++)
        print_row(at, &workers->listed[i]);
    vs_outf("%s: %" PRIu64 " held, %" PRIu64 " expired, %" PRIu64 " free, %s never used;%sat %s by the store's clock\n",
            at->name, workers->standing[VS_STANDS_HELD], workers->standing[VS_STANDS_EXPIRED],
            workers->standing[VS_STANDS_FREE], vs_grouped(workers->never, never), is_narrow() ? "\n  " : " ",
            vs_iso(at->store_ms, iso));
}

/* ------------------------------------------------------------------ for programs */

static void print_row_json(const struct vs_at *at, const struct vs_listed *listed) {
    const struct vs_record *r = &listed->record;
    enum vs_standing standing = vs_standing_of(r, at->store_ms);
    int64_t ms;
    vs_outf("{\"worker\":%" PRIu64 ",\"state\":\"%s\"", listed->worker, vs_standing_name(standing));
    if (standing == VS_STANDS_HELD) vs_outf(",\"left_ms\":%" PRId64, left_ms(at, r));
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
    vs_outf("{\"namespace\":");
    vs_out_json(at->name);
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

static int look(struct vs_at *at, int json, bool redraw) {
    struct vs_workers workers;
    int rc = vs_at_need(at);
    if (rc == VS_GO) rc = vs_at_list(at, &workers);
    if (rc != VS_GO) return rc;
    if (redraw) vs_outf("\033[H\033[J"); /* to the top, and clear */
    (json ? print_json : print_table)(at, &workers);
    free(workers.listed);
    vs_out_flush();
    return VS_DONE;
}

/* A store that is away for a while is told of, and looked for again. */
static int watch(struct vs_at *at, int json) {
    const struct sigaction act = {.sa_handler = on_signal}; /* without SA_RESTART: a sleep ends */
    bool redraw = !json && isatty(STDOUT_FILENO);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    while (!interrupted && !vs_out_gone()) {
        if (look(at, json, redraw) != VS_DONE && redraw)
            vs_say("what stands above is old: it is looked for again each second");
        if (!interrupted) sleep(1);
    }
    return VS_DONE;
}

static int run_workers(int argc, char **argv) {
    struct vs_at at = {0};
    int watches = 0;
    if (argc > 1 && strcmp(argv[1], "import") == 0) {
        argv[1] = argv[0];
        return vs_workers_import(argc - 1, argv + 1);
    }
    const struct vs_option table[] = {
        VS_AT_OPTIONS(&at),
        VS_SWITCH("watch", &watches, "refresh every second until interrupted"),
        VS_SWITCH("json", &at.json, "print a JSON object; with --watch one per line"),
        {0},
    };
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (argc > 0) return vs_usage("unexpected operand %s; there is `vesta workers import`", vs_shown_text(argv[0]));
    if ((rc = vs_at_find(&at, true)) == VS_GO && (rc = vs_at_open(&at)) == VS_GO)
        rc = watches ? watch(&at, at.json) : look(&at, at.json, false);
    vs_at_free(&at);
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
    "UidGenerator's or Vesta's table) and marks them as held, or as used up to now, so that none is leased\n"
    "twice.  Without --yes it only shows what it would write.  `vesta help workers import` has its options.\n"
    "\n"
    "  $ vesta workers --store mysql://vesta@db/vesta?secret_file=/etc/vesta/db\n"
    "  NUMBER  STATE        LEFT       CLOCK  USED BELOW                HOLDER, ...\n"
    "     417  held        11:58    -0.002 s  2026-11-21T20:10:00.123Z  web1 pid ...\n"
    "  default: 1 held, 0 expired, 0 free, 1,023 never used; at ...\n"
    "\n"
    "  $ vesta workers import --from leaf --source zk://zk1:2181/snowflake \\\n"
    "    --name orders --store zk://user:password@zk1:2181/vesta --namespace orders\n"
    "       3  mark   held until the layout's end          10.0.0.4:8080-0000000003\n"
    "  ...\n"
    "\n"
    "  $ vesta workers --store file:/var/lib/vesta --watch --json\n"
    "  {\"namespace\":\"default\",\"store_ms\":1795300000000,...\n"};
