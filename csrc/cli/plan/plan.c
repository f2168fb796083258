/* plan.c -- `vesta plan`: which layouts, numbers, leases and stores a need comes to. */
#include "cli/cli.h"
#include "id/id.h"
#include "cli/plan/plan.h"

#include "base/array.h"
#include "command/options.h"
#include "generator/map.h"
#include "lease/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ISSUERS_MAX UINT64_C(1000000000)
#define RESTARTS_MAX 86400
#define CLOCK_MS_MAX 86400000
#define PEAK_UNLESS_GIVEN 10 /* times the average */
#define FITS_MAX 64
#define LOADS (VS_LEASE_AUTONOMOUS - VS_LEASE_STRICT + 1)

struct plan {
    struct vs_need need;
    const char *rate, *peak, *busiest, *years, *epoch;
    struct vs_texts layouts;
    int lease, json, simulates;
    uint64_t seed;
    struct vs_load loads[LOADS];
    const struct vs_load *load; /* that of the lease */
    struct vs_fit fits[FITS_MAX];
    size_t fit_count;
    char own[VESTA_LAYOUT_TEXT_MAX], own_trouble[160];
    struct vs_simulated simulated;
};

/* ------------------------------------------------------------------ what is needed */

static int read_rates(struct plan *p) {
    struct vs_need *need = &p->need;
    int rc = vs_read_rate("--rate", p->rate, &need->rate);
    need->peak = need->rate * PEAK_UNLESS_GIVEN;
    if (rc == VS_GO && p->peak) rc = vs_read_rate("--peak", p->peak, &need->peak);
    if (rc != VS_GO) return rc;
    if (need->peak < need->rate)
        return vs_usage("--peak is %s, which is less than the average, --rate %s", vs_shown_text(p->peak),
                        vs_shown_text(p->rate));
    need->busiest = need->peak / (double)need->issuers;
    if (!p->busiest) return VS_GO;
    double even = need->busiest;
    if ((rc = vs_read_rate("--busiest", p->busiest, &need->busiest)) != VS_GO) return rc;
    if (need->busiest < even * (1 - 1e-9) || need->busiest > need->peak)
        return vs_usage("--busiest is %s, which must be from %g/s, the peak over all issuers, to the peak, %g/s",
                        vs_shown_text(p->busiest), even, need->peak);
    return VS_GO;
}

static int read_need(struct plan *p) {
    struct vesta_error err;
    if (!p->rate || !p->years || !p->need.issuers)
        return vs_usage("--%s is missing; --rate, --issuers and --years are needed", !p->rate           ? "rate"
                                                                                     : !p->need.issuers ? "issuers"
                                                                                                        : "years");
    int rc = read_rates(p);
    if (rc == VS_GO) rc = vs_read_years("--years", p->years, &p->need.years);
    if (rc != VS_GO) return rc;
    if (p->epoch && vesta_time_parse(p->epoch, &p->need.epoch_ms, &err) != VESTA_OK) return vs_report(&err);
    if (p->simulates && p->need.issuers > VS_PLAN_ISSUERS_MAX)
        return vs_usage("--simulate takes up to %d issuers, not %" PRIu64, VS_PLAN_ISSUERS_MAX, p->need.issuers);
    return VS_GO;
}

/* ------------------------------------------------------------------ what it comes to */

static int add_fit(struct plan *p, const char *name, const char *text) {
    struct vs_fit *fit = &p->fits[p->fit_count];
    struct vesta_layout layout;
    *fit = (struct vs_fit){.name = name, .text = text};
    int rc = vs_read_layout(text, &layout); /* says what is wrong */
    if (rc != VS_DONE) return rc;
    if (vs_plan_fit(&p->need, p->load->numbers, fit) == VESTA_OK) p->fit_count++;
    return VS_GO;
}

/* A layout made for the need; it is the first choice. */
static int add_own(struct plan *p) {
    struct vesta_fit_need need = {.rate = p->need.busiest, .nodes = p->load->numbers, .epoch_ms = p->need.epoch_ms};
    struct vesta_proposal proposal;
    struct vesta_error err;
    double until_ms = (double)p->need.now_ms + p->need.years * 31556952000.0;
    need.years = (until_ms - (double)need.epoch_ms) / 31556952000.0;
    if (vesta_fit(&need, &proposal, &err) != VESTA_OK) {
        snprintf(p->own_trouble, sizeof p->own_trouble, "%.159s", err.text);
        return VS_GO;
    }
    vesta_layout_text(&proposal.layout, p->own);
    return add_fit(p, "(made for it)", p->own);
}

static int reckon(struct plan *p) {
    for (int i = 0; i < LOADS; i++)
        vs_plan_load(&p->need, vs_lease_preset_at(VS_LEASE_STRICT + i), &p->loads[i]);
    p->load = &p->loads[p->lease - VS_LEASE_STRICT];
    int rc = VS_GO;
    for (size_t i = 0; i < p->layouts.count && rc == VS_GO; i++)
        rc = add_fit(p, p->layouts.text[i], p->layouts.text[i]);
    if (rc == VS_GO && !p->layouts.count) rc = add_own(p);
    for (int i = 0; !p->layouts.count && vesta_preset_at(i) && rc == VS_GO && p->fit_count < FITS_MAX; i++)
        if (vesta_preset_at(i)->may_issue) rc = add_fit(p, vesta_preset_at(i)->name, vesta_preset_at(i)->text);
    return rc;
}

/* ------------------------------------------------------------------ for people */

static const char *rate_of(double n, char *buf) {
    if (n >= 10) return vs_grouped((uint64_t)(n + 0.5), buf);
    snprintf(buf, VS_GROUPED_MAX, n >= 1 ? "%.1f" : n > 0 ? "%.3g" : "0", n);
    return buf;
}

/* Ids of the busiest issuer that wait for a clock that was set back. */
static double late_by_clock(const struct vs_need *need) {
    return need->busiest * (double)need->clock_ms / 1000;
}

static void print_need(const struct plan *p) {
    const struct vs_need *n = &p->need;
    char a[VS_GROUPED_MAX], b[VS_GROUPED_MAX], c[VS_GROUPED_MAX], d[VS_GROUPED_MAX];
    vs_out_fittedf(13, 0, "ids a second %s on average, %s at the peak; %s then of the busiest of %s issuers",
                   rate_of(n->rate, a), rate_of(n->peak, b), rate_of(n->busiest, c), vs_grouped(n->issuers, d));
    vs_out_fittedf(13, 0,
                   "numbers      %s: %s issuers, %" PRIu64 " %% twice while replaced, %s fenced on average under %s",
                   vs_grouped(p->load->numbers, a), vs_grouped(n->issuers, b), n->surge, rate_of(p->load->fenced, c),
                   p->load->timing->name);
    vs_out_fittedf(13, 0,
                   "memory       %s bytes of /dev/shm on each host, and in the store at most %s bytes for all numbers",
                   vs_grouped(sizeof(struct vs_map), a), vs_grouped(p->load->numbers * VS_RECORD_TEXT_MAX, b));
    vs_out_fittedf(13, 0, "connections  %s to the store at most, one an issuer that renews", vs_grouped(n->issuers, a));
    if (n->clock_ms)
        vs_out_fittedf(13, 0,
                       "clock        set back by %s ms, an issuer has no id for as long, and the busiest's %s ids of that "
                       "time wait, or are refused past wait_ms_max, unless a policy borrows or it has history pacing",
                       vs_grouped(n->clock_ms, a), rate_of(late_by_clock(n), b));
    if (*p->own_trouble) vs_out_fittedf(13, 0, "no layout    can be made for it: %s", p->own_trouble);
}

static const struct vs_column fit_columns[] = {{"LAYOUT", -19, -14},  {"T/W/S", -8, -8}, {"IDS/S EACH", 13, 0},
                                               {"USED", 7, 7},        {"WAITS", 7, 7},   {"UNTIL", -10, -10},
                                               {"VERDICT", -30, -22}, {NULL, 0, 0}};

static const char *percent(double share, char buf[24]) {
    snprintf(buf, 24,
             share >= 10                  ? ">999 %%"
             : share > 0 && share < 0.001 ? "<0.1 %%"
             : share >= 0.1               ? "%.0f %%"
                                          : "%.1f %%",
             share * 100);
    return buf;
}

static void print_fit(const struct vs_fit *fit) {
    const struct vesta_layout *l = &fit->layout;
    char bits[32], each[VS_GROUPED_MAX], used[24], late[24], iso[VESTA_ISO_MAX];
    snprintf(bits, sizeof bits, "%d/%d/%d", l->field[l->time].width, l->worker >= 0 ? l->field[l->worker].width : 0,
             vs_seq(l)->width);
    vs_iso(vesta_layout_end_ms(l), iso);
    iso[strcspn(iso, "T")] = '\0';
    vs_table_row(fit_columns, (struct vs_cell[]){{fit->name, NULL},
                                                 {bits, NULL},
                                                 {rate_of(fit->capacity, each), NULL},
                                                 {percent(fit->used, used), NULL},
                                                 {percent(fit->late, late), NULL},
                                                 {iso, NULL},
                                                 {fit->verdict, NULL}});
}

static void print_fits(const struct plan *p) {
    vs_outf("\n");
    vs_table_head(fit_columns);
    for (int pass = 1; pass >= 0; pass--) /* those that fit stand first */
        for (size_t i = 0; i < p->fit_count; i++)
            if (p->fits[i].fits == pass) print_fit(&p->fits[i]);
    if (*p->own) vs_outf("\n(made for it)  ");
    if (*p->own) vs_out_fitted(p->own, 15, 15);
}

static const struct vs_column load_columns[] = {{"LEASE", -10, -10},  {"NUMBERS", 9, 9},  {"WRITES/S", 9, 9},
                                                {"IDLE", 9, 9},       {"STARTS/S", 9, 9}, {"ALL AT ONCE", 11, 11},
                                                {"OUTAGE", -10, -10}, {NULL, 0, 0}};

static void print_loads(const struct plan *p) {
    vs_outf("\n");
    vs_table_head(load_columns);
    for (int i = 0; i < LOADS; i++) {
        const struct vs_load *l = &p->loads[i];
        char text[5][VS_GROUPED_MAX], outage[VS_AGO_MAX];
        vs_table_row(load_columns, (struct vs_cell[]){{l->timing->name, l == p->load ? VS_CYAN : NULL},
                                                      {vs_grouped(l->numbers, text[0]), NULL},
                                                      {rate_of(l->giving, text[1]), NULL},
                                                      {rate_of(l->idle, text[2]), NULL},
                                                      {rate_of(l->restarts, text[3]), NULL},
                                                      {rate_of(l->together, text[4]), NULL},
                                                      {vs_span((uint64_t)l->outage_ms, outage), NULL}});
    }
}

static void print_simulated(const struct plan *p, const struct vs_fit *fit) {
    const struct vs_simulated *s = &p->simulated;
    double all = s->ids + s->refused > 0 ? s->ids + s->refused : 1, asked = s->asked ? (double)s->asked : 1;
    char a[VS_GROUPED_MAX], b[VS_GROUPED_MAX], late[24], refused[24];
    vs_outf("\nA simulated day of %s, seed %" PRIu64 "\n", fit->name, s->seed);
    vs_out_fittedf(11, 0, "store      %s requests a second on average, %s in the busiest", rate_of(s->writes, a),
                   rate_of(s->writes_max, b));
    vs_out_fittedf(11, 0,
                   "numbers    %s of %s in use or fenced at most; %" PRIu64 " issuers without one at most; %" PRIu64
                   " restarts",
                   vs_grouped(s->numbers_max, a), vs_grouped(fit->numbers, b), s->waiting_max, s->restarts);
    vs_out_fittedf(11, 0, "ids        %s of them wait for the next time unit, %s do not come within their second",
                   percent(s->late / all, late), percent(s->refused / all, refused));
    vs_out_fittedf(11, 0,
                   "generator  itself, in the busiest issuer's busiest seconds: %s ids, %.2g %% waited, 99 %% at most "
                   "%.3f ms, all at most %.3f ms",
                   vs_grouped(s->asked, a), 100 * (double)s->waited / asked, (double)s->wait_us_99 / 1000,
                   (double)s->wait_us_max / 1000);
    vs_outf("\nHOUR       IDS/S   REQUESTS/S\n");
    for (int hour = 0; hour < 24; hour += 2)
        vs_outf("%02d:00  %10s   %10s\n", hour, rate_of(s->hour_ids[hour], a), rate_of(s->hour_writes[hour], b));
}

static void print_plan(const struct plan *p, const struct vs_fit *simulated) {
    print_need(p);
    print_fits(p);
    print_loads(p);
    if (simulated) print_simulated(p, simulated);
    vs_outf("\n");
    for (int i = 0; vs_plan_formulas[i]; i++)
        vs_out_fitted(vs_plan_formulas[i], 2, 0);
}

/* ------------------------------------------------------------------ for programs */

static void print_fit_json(const struct vs_fit *fit) {
    const struct vesta_layout *l = &fit->layout;
    vs_outf("{\"layout\":");
    vs_out_json(fit->name);
    vs_outf(",\"text\":");
    vs_out_json(fit->text);
    vs_outf(",\"time_bits\":%d,\"worker_bits\":%d,\"seq_bits\":%d,\"ids_s\":%.3f,\"used\":%.6f,\"waits\":%.6f,"
            "\"numbers\":%" PRIu64 ",\"years\":%.3f,\"fits\":%s,\"verdict\":",
            l->field[l->time].width, l->worker >= 0 ? l->field[l->worker].width : 0, vs_seq(l)->width, fit->capacity,
            fit->used, fit->late, fit->numbers, fit->years, fit->fits ? "true" : "false");
    vs_out_json(fit->verdict);
    vs_outf("}");
}

static void print_simulated_json(const struct vs_simulated *s, const struct vs_fit *fit) {
    vs_outf(",\"simulated\":{\"layout\":");
    vs_out_json(fit->name);
    vs_outf(",\"seed\":%" PRIu64
            ",\"ids\":%.0f,\"late\":%.0f,\"refused\":%.0f,\"requests_s\":%.3f,\"requests_s_max\":%.3f,"
            "\"numbers_max\":%" PRIu64 ",\"without_number_max\":%" PRIu64 ",\"restarts\":%" PRIu64 ",\"asked\":%" PRIu64
            ",\"waited\":%" PRIu64 ",\"wait_us_99\":%" PRId64 ",\"wait_us_max\":%" PRId64 ",\"hours\":[",
            s->seed, s->ids, s->late, s->refused, s->writes, s->writes_max, s->numbers_max, s->waiting_max, s->restarts,
            s->asked, s->waited, s->wait_us_99, s->wait_us_max);
    for (int hour = 0; hour < 24; hour++)
        vs_outf("%s{\"ids_s\":%.1f,\"requests_s\":%.3f}", hour ? "," : "", s->hour_ids[hour], s->hour_writes[hour]);
    vs_outf("]}");
}

static void print_json(const struct plan *p, const struct vs_fit *simulated) {
    const struct vs_need *n = &p->need;
    vs_outf("{\"rate\":%.3f,\"peak\":%.3f,\"busiest\":%.3f,\"issuers\":%" PRIu64
            ",\"years\":%.3f,\"lease\":\"%s\",\"numbers\":%" PRIu64
            ",\"fenced\":%.3f,\"map_bytes\":%zu,\"record_bytes_max\":%d,\"clock_ms\":%" PRIu64
            ",\"clock_waits\":%.3f,\"layouts\":[",
            n->rate, n->peak, n->busiest, n->issuers, n->years, p->load->timing->name, p->load->numbers,
            p->load->fenced, sizeof(struct vs_map), VS_RECORD_TEXT_MAX, n->clock_ms, late_by_clock(n));
    for (size_t i = 0; i < p->fit_count; i++) {
        if (i) vs_outf(",");
        print_fit_json(&p->fits[i]);
    }
    vs_outf("],\"leases\":[");
    for (int i = 0; i < LOADS; i++) {
        const struct vs_load *l = &p->loads[i];
        vs_outf("%s{\"lease\":\"%s\",\"numbers\":%" PRIu64 ",\"fenced\":%.3f,\"writes_s\":%.3f,\"idle_writes_s\":%.3f,"
                "\"starts_s\":%.4f,\"all_at_once_s\":%.3f,\"outage_ms\":%" PRId64 "}",
                i ? "," : "", l->timing->name, l->numbers, l->fenced, l->giving, l->idle, l->restarts, l->together,
                l->outage_ms);
    }
    vs_outf("]");
    if (simulated) print_simulated_json(&p->simulated, simulated);
    vs_outf("}\n");
}

/* ------------------------------------------------------------------ the command */

/* The first that fits; else the first at all, which shows how it fails. */
static const struct vs_fit *choose(const struct plan *p) {
    for (size_t i = 0; i < p->fit_count; i++)
        if (p->fits[i].fits) return &p->fits[i];
    return p->fit_count ? &p->fits[0] : NULL;
}

static int run(struct plan *p) {
    const struct vs_fit *simulated = NULL;
    int rc = reckon(p);
    if (rc != VS_GO) return rc;
    if (p->simulates) {
        simulated = choose(p);
        p->simulated.seed = p->seed;
        if (!simulated || simulated->years <= 0)
            return vs_say("no layout is left to be simulated: name one with --layout"), VS_FAILED;
        if ((rc = vs_plan_simulate(&p->need, simulated, p->load, &p->simulated)) != VS_DONE) return rc;
    }
    (p->json ? print_json : print_plan)(p, simulated);
    for (size_t i = 0; i < p->fit_count; i++)
        if (p->fits[i].fits) return VS_DONE;
    return VS_FAILED;
}

static int run_plan(int argc, char **argv) {
    static struct plan plan = {.lease = VS_LEASE_BALANCED, .seed = 1};
    struct vs_need *need = &plan.need;
    int given = 0;
    need->restarts = 1;
    need->surge = 25;
    need->now_ms = need->epoch_ms = vs_now_ms();
    const struct vs_option table[] = {
        VS_TEXT("rate", &plan.rate, "N/s", "ids a second of all issuers together, on a day's average: 20k/s, 5M/day"),
        VS_TEXT("peak", &plan.peak, "N/s", "the same in the busiest second (default: ten times the average)"),
        VS_TEXT("busiest", &plan.busiest, "N/s",
                "what the busiest issuer gives then (default: the peak over all issuers)"),
        {"issuers", 0, VS_OPT_COUNT, &need->issuers, "N", "hosts, pods or files that hold a number at a time", 1,
         ISSUERS_MAX, NULL},
        VS_TEXT("years", &plan.years, "N", "how long ids are to last from now on"),
        {"restarts", 0, VS_OPT_COUNT, &need->restarts, "N",
         "how often a day an issuer ends without giving back and comes back as another (default: 1)", 0, RESTARTS_MAX,
         NULL},
        {"surge", 0, VS_OPT_COUNT, &need->surge, "PERCENT",
         "how many are there twice while they are replaced (default: 25)", 0, 100, NULL},
        {"clock-ms", 0, VS_OPT_COUNT, &need->clock_ms, "MS", "how far a clock may be set back (default: 0)", 0,
         CLOCK_MS_MAX, NULL},
        VS_SWITCH("given", &given, "numbers are given by hand: an issuer comes back with its own"),
        {"lease", 0, VS_OPT_CHOICE, &plan.lease, "strict|balanced|autonomous", "the lease (default: balanced)",
         VS_LEASE_STRICT, 0, NULL},
        VS_OPTION_TEXTS("layout", &plan.layouts, "TEXT|PRESET",
                        "a layout to be judged; may be repeated (default: one made for it, and all presets)"),
        VS_TEXT("epoch", &plan.epoch, "TIME", "when the made layout's time begins (default: now)"),
        VS_SWITCH("simulate", &plan.simulates, "a day of up to 100,000 issuers, with the first layout that fits"),
        {"seed", 0, VS_OPT_COUNT, &plan.seed, "N", "which day is simulated (default: 1)", 0, UINT64_MAX, NULL},
        VS_SWITCH("json", &plan.json, "print a JSON object"),
        {0},
    };
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (argc) return vs_usage("unexpected operand %s; use options to say what is needed", vs_shown_text(argv[0]));
    need->is_given = given;
    rc = read_need(&plan);
    return rc == VS_GO ? run(&plan) : rc;
}

const struct vs_command vs_plan_command = {
    "plan", run_plan, "which layouts, numbers and stores a need comes to",
    "plan --rate N/s --issuers N --years N [OPTION...]",
    "Reckons, from ids a second, issuers and years: which layouts fit, and what is too small of others; how\n"
    "many worker numbers are needed, those included that are still fenced after restarts; how often stores\n"
    "are asked, by lease; memory and connections.  Every figure's formula stands below.  With --simulate a\n"
    "day of all issuers is run in virtual time, and the generator itself in its busiest seconds.\n"
    "Exit code 1 if no layout fits.\n"
    "\n"
    "  $ vesta plan --rate 20k/s --peak 200k/s --issuers 500 --years 20\n"
    "  ids a second 20,000 on average, 200,000 at the peak; ...\n"
    "  numbers      640: 500 issuers, 25 % twice while replaced, 4.2 fenced ...\n"
    "  ...\n"
    "\n"
    "  $ vesta plan --rate 5M/day --issuers 100000 --years 10 --simulate --json\n"
    "  {\"rate\":57.870,...\n"};
