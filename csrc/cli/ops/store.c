/* store.c -- `vesta store init|show|advance|lower|relayout`: what a person does to a store, once, and never a server.
 */
#include "cli/cli.h"
#include "cli/ops/relayout.h"
#include "cli/ops/stores.h"

#include "base/array.h"
#include "base/nearest.h"
#include "id/id.h"
#include "keeper/options.h"
#include "os/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct asked {
    struct vs_at at;
    const char *layout, *static_;
    int lease, yes, again, trust_clock, segments;
    int lease_given, namespace_given;
};

/* ------------------------------------------------------------------ show */

static void print_ns(const struct asked *asked, const struct vs_workers *workers) {
    const struct vs_at *at = &asked->at;
    char iso[VESTA_ISO_MAX], n[VS_GROUPED_MAX], named[VS_AT_NAMED_MAX];
    int64_t ahead_ms = vs_at_ahead_ms(at->store_ms);
    vs_outf("namespace    %s\n", vs_at_named(at, named));
    vs_outf("layout       ");
    vs_out_fitted(at->ns.layout, 13, 13);
    vs_outf("fingerprint  %016" PRIx64 "\n", at->ns.fingerprint);
    vs_outf("incarnation  %016" PRIx64 "\n", at->ns.incarnation);
    vs_outf("floor        %s%s\n", at->ns.floor_ms ? "no lease starts before " : "none",
            at->ns.floor_ms ? vs_iso(at->ns.floor_ms, iso) : "");
    if (at->ns.static_count)
        vs_outf("static       %" PRIu64 " to %" PRIu64 ": given out by hand, never chosen\n", at->ns.static_first,
                at->ns.static_first + at->ns.static_count - 1);
    vs_outf("clock        ");
    vs_out_fittedf(13, 13, "%s; this machine's is %.3f s %s", vs_iso(at->store_ms, iso),
                   (double)(ahead_ms < 0 ? -ahead_ms : ahead_ms) / 1000, ahead_ms < 0 ? "behind" : "ahead");
    vs_outf("numbers      %" PRIu64 " held, %" PRIu64 " expired, %" PRIu64 " free, %s never used\n",
            workers->standing[VS_STANDS_HELD], workers->standing[VS_STANDS_EXPIRED], workers->standing[VS_STANDS_FREE],
            vs_grouped(workers->never, n));
}

static void print_ns_json(const struct asked *asked, const struct vs_workers *workers) {
    const struct vs_at *at = &asked->at;
    vs_at_named_json(at);
    vs_outf(",\"layout\":");
    vs_out_json(at->ns.layout);
    vs_outf(",\"fingerprint\":\"%016" PRIx64 "\",\"incarnation\":\"%016" PRIx64 "\"", at->ns.fingerprint,
            at->ns.incarnation);
    if (at->ns.floor_ms) vs_outf(",\"floor_ms\":%" PRId64, at->ns.floor_ms);
    if (at->ns.static_count)
        vs_outf(",\"static\":[%" PRIu64 ",%" PRIu64 "]", at->ns.static_first,
                at->ns.static_first + at->ns.static_count - 1);
    vs_outf(",\"store_ms\":%" PRId64 ",\"ahead_ms\":%" PRId64, at->store_ms, vs_at_ahead_ms(at->store_ms));
    for (int i = 0; i < VS_STANDINGS; i++)
        vs_outf(",\"%s\":%" PRIu64, vs_standing_name((enum vs_standing)i), workers->standing[i]);
    vs_outf(",\"never\":%" PRIu64 "}\n", workers->never);
}

static int show_one(struct asked *asked) {
    struct vs_workers workers;
    int rc = vs_at_need(&asked->at);
    if (rc == VS_GO) rc = vs_at_list(&asked->at, &workers);
    if (rc != VS_GO) return rc;
    (asked->at.json ? print_ns_json : print_ns)(asked, &workers);
    free(workers.listed);
    return VS_DONE;
}

/* Names that a namespace can have; others are somebody else's. */
struct names {
    char (*name)[VESTA_NAMESPACE_MAX];
    size_t count;
    bool is_short; /* of memory */
};

static void keep_name(void *to, const char *name) {
    struct names *names = to;
    if (names->is_short || vs_namespace_check(name, NULL) != VESTA_OK) return;
    void *grown = realloc(names->name, (names->count + 1) * sizeof *names->name);
    names->is_short = !grown;
    if (!grown) return;
    names->name = grown;
    snprintf(names->name[names->count++], sizeof *names->name, "%s", name);
}

static int by_name(const void *a, const void *b) {
    return strcmp(a, b);
}

static int read_names(struct asked *asked, struct names *names) {
    struct vs_reply reply;
    asked->at.store->ops->names(asked->at.store, keep_name, names, &reply);
    if (reply.outcome != VS_STORE_OK) return vs_at_told(&asked->at, &reply);
    if (names->is_short) return vs_say("no memory for %zu names", names->count + 1), VS_FAILED;
    if (names->count == 0)
        return vs_say("no namespace is in the store; make one: vesta store init --namespace NAME --layout ..."),
               VS_FAILED;
    qsort(names->name, names->count, sizeof *names->name, by_name);
    return VS_GO;
}

/* Every namespace of the store, as if each had been named. */
static int show_all(struct asked *asked) {
    struct names names = {0};
    int worst = read_names(asked, &names);
    if (worst == VS_GO) worst = VS_DONE;
    for (size_t i = 0; i < names.count; i++) {
        vs_at_close(&asked->at);
        asked->at.name = names.name[i];
        asked->at.public_ = vs_where_public(&asked->at.where, names.name[i]);
        if (i && !asked->at.json) vs_outf("\n");
        int rc = vs_at_open(&asked->at);
        if (rc == VS_GO) rc = show_one(asked);
        if (rc == VS_DONE) continue;
        vs_say("so the namespace %s is not shown", names.name[i]);
        worst = rc;
    }
    free(names.name);
    return worst;
}

static int show(struct asked *asked) {
    return asked->namespace_given ? show_one(asked) : show_all(asked);
}

/* ------------------------------------------------------------------ init */

/* "924-1023", within the layout's field. */
static int read_static(const struct asked *asked, const struct vesta_layout *layout, struct vs_ns_record *ns) {
    uint64_t max = layout->worker >= 0 ? layout->field[layout->worker].max : 0, last;
    char first[24] = "";
    const char *dash = asked->static_ ? strchr(asked->static_, '-') : NULL;
    if (!asked->static_) return VS_GO;
    if (dash) snprintf(first, sizeof first, "%.*s", (int)(dash - asked->static_), asked->static_);
    if (!dash || dash - asked->static_ > 20 || !vs_read_count(first, max, &ns->static_first) ||
        !vs_read_count(dash + 1, max, &last) || last < ns->static_first)
        return vs_usage("--static is %s, which must be FIRST-LAST, numbers of the layout: 0 to %" PRIu64,
                        vs_shown_text(asked->static_), max);
    ns->static_count = last - ns->static_first + 1;
    return VS_GO;
}

/* A namespace's first record, by the layout that was asked for. */
static int fresh_record(const struct asked *asked, struct vs_ns_record *ns) {
    struct vesta_layout layout;
    int rc = vs_read_layout(asked->layout, &layout);
    if (rc != VS_DONE) return rc;
    *ns = (struct vs_ns_record){.ver = 1, .fingerprint = layout.fingerprint};
    vesta_layout_text(&layout, ns->layout);
    if ((rc = read_static(asked, &layout, ns)) != VS_GO) return rc;
    if (vs_random(&ns->incarnation, sizeof ns->incarnation) != 0) return vs_say("no random bits"), VS_FAILED;
    ns->incarnation |= 1;
    return VS_GO;
}

/* The widest lease in use: what may have been granted by it is what a floor must clear. */
static const struct vs_lease_timing *timing_of(const struct asked *asked) {
    return vs_lease_preset_at(asked->lease_given ? asked->lease : VS_LEASE_BALANCED);
}

/* A floor is counted from the store's clock: from one that is ahead it holds everybody up, from one that is behind it
 * does not clear what was granted.  This machine's is the second opinion. */
static int check_clock(const struct asked *asked) {
    int64_t ahead_ms = vs_at_ahead_ms(asked->at.store_ms), off_ms = ahead_ms < 0 ? -ahead_ms : ahead_ms;
    if (off_ms <= timing_of(asked)->skew_ms || asked->trust_clock) return VS_GO;
    vs_say("nothing was done: the store's clock is %.1f s %s this machine's, and the floor is counted from it; correct "
           "the one that is wrong, or add --trust-store-clock if it is this machine's",
           (double)off_ms / 1000, ahead_ms < 0 ? "ahead of" : "behind");
    return VS_FAILED;
}

static const char counts_as_new[] =
    "it was created as new: if this store had lost it, run `vesta store advance` before anything starts\n";

/* There already: it stays as it is, and is what was asked for or not. */
static int keep_namespace(struct asked *asked) {
    const struct vs_ns_record *ns = &asked->at.ns;
    struct vesta_layout layout;
    struct vs_ns_record wanted = {0};
    int rc = asked->layout ? vs_read_layout(asked->layout, &layout) : VS_DONE;
    if (rc != VS_DONE) return rc;
    if (asked->layout && !vs_is_leased_to(&layout, ns)) {
        vs_say("the namespace %s exists with the layout %s; a namespace keeps its layout: use another name",
               asked->at.name, ns->layout);
        return VS_FAILED;
    }
    if ((rc = read_static(asked, &asked->at.layout, &wanted)) != VS_GO) return rc;
    if (asked->static_ && (wanted.static_first != ns->static_first || wanted.static_count != ns->static_count)) {
        vs_say("the namespace %s exists with other static numbers, or none: they stay as they are", asked->at.name);
        return VS_FAILED;
    }
    if (asked->at.json) return VS_GO;
    vs_outf("namespace %s already exists and stays as it is\n", asked->at.name);
    if (asked->again && !ns->floor_ms) vs_outf(counts_as_new);
    return VS_GO;
}

static void print_made(const struct asked *asked, const struct vs_ns_record *made) {
    char iso[VESTA_ISO_MAX];
    vs_outf("namespace %s was created: %s\n", asked->at.name, made->layout);
    if (made->floor_ms)
        vs_outf("no lease starts before %s: until then nobody gets ids\n", vs_iso(made->floor_ms, iso));
    else
        vs_outf(counts_as_new);
}

static int make_namespace(struct asked *asked) {
    struct vs_ns_record fresh;
    struct vs_reply reply;
    int rc = vs_at_read(&asked->at);
    if (rc == VS_GO && asked->at.ns.ver) return keep_namespace(asked);
    if (rc == VS_GO) rc = fresh_record(asked, &fresh);
    if (rc != VS_GO) return rc;
    if (asked->again && (rc = check_clock(asked)) != VS_GO) return rc;
    if (asked->again) {
        fresh.ver = 0;
        vs_ns_put_right(&fresh, timing_of(asked), asked->at.store_ms, fresh.incarnation);
    }
    asked->at.store->ops->ns_swap(asked->at.store, 0, &fresh, &reply);
    if (reply.outcome != VS_STORE_OK && reply.outcome != VS_STORE_CONFLICT) return vs_at_told(&asked->at, &reply);
    rc = vs_at_read(&asked->at);
    if (rc == VS_GO && reply.outcome == VS_STORE_CONFLICT)
        return keep_namespace(asked); /* by somebody else, just now */
    if (rc == VS_GO && !asked->at.json) print_made(asked, &fresh);
    return rc;
}

static int init(struct asked *asked) {
    const struct vs_store_ops *ops = asked->at.store->ops;
    struct vs_reply reply;
    if ((asked->layout || asked->static_) && !asked->namespace_given)
        return vs_usage("--layout and --static describe a namespace: name it with --namespace");
    if (asked->segments && !ops->take)
        return vs_usage("--segments: the store %s: has no counters for segments", ops->scheme);
    if (asked->again && !(asked->namespace_given && asked->layout))
        return vs_usage("--again recreates a lost namespace: give its --namespace, and the --layout that it had");
    vs_store_init(asked->at.store, &reply);
    if (reply.outcome != VS_STORE_OK) return vs_at_told(&asked->at, &reply);
    if (asked->segments && ops->tag_init) {
        ops->tag_init(asked->at.store, NULL, &reply);
        if (reply.outcome != VS_STORE_OK) return vs_at_told(&asked->at, &reply);
    }
    if (!asked->at.json) vs_outf("store is ready: %s; %s\n", ops->made, ops->rights);
    if (asked->segments && !asked->at.json)
        vs_outf("%s\n", ops->tag_init ? "for segments, the table leaf_alloc is there: vesta segments add TAG"
                                      : "for segments, it makes what they need with the first vesta segments add TAG");
    if (!asked->namespace_given) return VS_DONE;
    int rc = make_namespace(asked);
    if (rc == VS_GO && asked->at.json) return show_one(asked);
    return rc == VS_GO ? VS_DONE : rc;
}

/* ------------------------------------------------------------------ advance */

static int64_t margin_ms(const struct vs_lease_timing *timing) {
    return timing->skew_ms + 2 * timing->window_ms;
}

static void print_plan(const struct asked *asked, const struct vs_lease_timing *timing) {
    const struct vs_at *at = &asked->at;
    char iso[VESTA_ISO_MAX];
    int64_t floor_ms = at->store_ms + margin_ms(timing);
    if (floor_ms < at->ns.floor_ms) floor_ms = at->ns.floor_ms;
    fprintf(
        stderr,
        "This is for a store that lost what it had acknowledged: wiped, restored from a backup, or failed over to a\n"
        "copy that was behind.  It does two things to namespace %s:\n"
        "  - gives it a new incarnation, so that every holder of a number must claim again;\n"
        "  - lets no lease start before %s: the store's clock plus %.0f s, later than anything\n"
        "    ever granted under the lease '%s'.  Until then nobody gets ids.\n"
        "The store's clock must be right: it says %s.\n",
        at->name, vs_iso(floor_ms, iso), (double)margin_ms(timing) / 1000, timing->name,
        vs_iso(at->store_ms, (char[VESTA_ISO_MAX]){0}));
}

/* The namespace's name, typed: nobody does that by accident. */
static int confirm(const struct asked *asked) {
    char line[VESTA_NAMESPACE_MAX + 2] = "";
    if (asked->yes) return VS_GO;
    if (!isatty(STDIN_FILENO)) return vs_usage("nothing was done: add --yes to confirm");
    fprintf(stderr, "Type the namespace's name to continue: ");
    if (!fgets(line, sizeof line, stdin)) line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    if (strcmp(line, asked->at.name) == 0) return VS_GO;
    vs_say("nothing was done");
    return VS_FAILED;
}

/* The record that an emptied store gets, or the incarnation of one that went back. */
static int plan_record(const struct asked *asked, struct vs_ns_record *fresh) {
    const struct vs_at *at = &asked->at;
    struct vesta_layout layout;
    int rc = fresh_record(asked, fresh);
    if (rc != VS_GO) return rc;
    if (at->ns.ver == 0 && !asked->layout)
        return vs_usage("the namespace %s is not in the store: give the --layout that it had", at->name);
    if (at->ns.ver == 0 || !asked->layout || vs_read_layout(asked->layout, &layout) != VS_DONE) return VS_GO;
    if (vs_is_leased_to(&layout, &at->ns)) return VS_GO;
    return vs_usage("the namespace %s has the layout %s, which cannot change", at->name, at->ns.layout);
}

static int advance(struct asked *asked) {
    struct vs_at *at = &asked->at;
    struct vs_ns_record fresh;
    struct vs_reply reply;
    const struct vs_lease_timing *timing = timing_of(asked);
    int rc = vs_at_read(at);
    if (rc == VS_GO) rc = plan_record(asked, &fresh);
    if (rc != VS_GO) return rc;
    if ((rc = check_clock(asked)) != VS_GO) return rc;
    print_plan(asked, timing);
    if ((rc = confirm(asked)) != VS_GO) return rc;
    vs_store_advance(at->store, &fresh, timing, &reply);
    if (reply.outcome != VS_STORE_OK) return vs_at_told(at, &reply);
    if ((rc = vs_at_need(at)) != VS_GO) return rc;
    return show_one(asked);
}

/* ------------------------------------------------------------------ lower */

/* Nothing was granted above the floor to be, or what was is named. */
static int check_granted(const struct asked *asked, const struct vs_workers *workers, int64_t floor_ms) {
    const struct vs_at *at = &asked->at;
    char iso[VESTA_ISO_MAX];
    uint64_t floor = vs_tick_at(&at->shape, floor_ms * 1000);
    for (size_t i = 0; i < workers->count; i++) {
        const struct vs_record *record = &workers->listed[i].record;
        if (record->until <= floor) continue;
        vs_say("nothing was done: number %" PRIu64 " was granted ids up to %s, above the new floor; %s",
               workers->listed[i].worker, vs_iso(vs_tick_unix_us(&at->shape, record->until) / 1000, iso),
               record->held ? "stop its holder and try again" : "leave the floor as it is, or wait until that time");
        return VS_FAILED;
    }
    return VS_GO;
}

/* As an advance, but that the floor sinks: who had claimed at the higher one claims anew. */
static int lower_to(struct asked *asked, int64_t floor_ms) {
    struct vs_at *at = &asked->at;
    struct vs_ns_record next = at->ns;
    struct vs_reply reply;
    next.ver++;
    next.floor_ms = floor_ms;
    if (vs_random(&next.incarnation, sizeof next.incarnation) != 0) return vs_say("no random bits"), VS_FAILED;
    next.incarnation |= 1;
    at->store->ops->ns_swap(at->store, at->ns.ver, &next, &reply);
    return reply.outcome == VS_STORE_OK ? vs_at_need(at) : vs_at_told(at, &reply);
}

/* The floor that an advance would set now, by a clock that is right, in place of one that was set too high. */
static int lower(struct asked *asked) {
    struct vs_at *at = &asked->at;
    struct vs_workers workers = {0};
    char iso[VESTA_ISO_MAX];
    int rc = vs_at_need(at);
    if (rc == VS_GO) rc = vs_at_list(at, &workers);
    if (rc == VS_GO) rc = check_clock(asked);
    int64_t floor_ms = at->store_ms + margin_ms(timing_of(asked));
    if (rc == VS_GO && at->ns.floor_ms <= floor_ms) {
        vs_say("nothing was done: the floor is %s an advance would set it now",
               at->ns.floor_ms ? "not above where" : "not set;");
        rc = VS_FAILED;
    }
    if (rc == VS_GO) rc = check_granted(asked, &workers, floor_ms);
    if (rc == VS_GO)
        fprintf(stderr,
                "This is for a floor that was set by a clock that was ahead.  It sets the floor of namespace %s where\n"
                "an advance would set it now: at %s, the store's clock plus %.0f s.  Every holder of a number must\n"
                "claim again.\n",
                at->name, vs_iso(floor_ms, iso), (double)margin_ms(timing_of(asked)) / 1000);
    if (rc == VS_GO) rc = confirm(asked);
    if (rc == VS_GO) rc = lower_to(asked, floor_ms);
    free(workers.listed);
    return rc == VS_GO ? show_one(asked) : rc;
}

/* ------------------------------------------------------------------ the command */

static int relayout(struct asked *asked) {
    if (asked->at.public_) asked->at.name = asked->at.public_; /* all that it was ever leased as */
    return vs_relayout(&asked->at, asked->layout);
}

static const struct {
    const char *name;
    int (*run)(struct asked *asked);
} subcommands[] = {{"init", init}, {"show", show}, {"advance", advance}, {"lower", lower}, {"relayout", relayout}};

static int run_subcommand(struct asked *asked, const char *name) {
    const char *names[VS_COUNT(subcommands) + 1] = {0};
    for (size_t i = 0; i < VS_COUNT(subcommands); i++) {
        names[i] = subcommands[i].name;
        if (strcmp(name, subcommands[i].name) != 0) continue;
        int rc = vs_at_open(&asked->at);
        if (rc == VS_GO) rc = subcommands[i].run(asked);
        vs_at_close(&asked->at);
        return rc;
    }
    const char *near = vs_nearest(name, names);
    if (near) return vs_usage("there is no subcommand %s; did you mean %s?", vs_shown_text(name), near);
    return vs_usage("there is no subcommand %s; there are init, show, advance, lower and relayout",
                    vs_shown_text(name));
}

/* Before anything is opened or made. */
static int check_words(const struct asked *asked) {
    struct vesta_layout layout;
    if (asked->static_ && !asked->layout) return vs_usage("--static needs --layout, which says what numbers there are");
    if (!asked->layout) return VS_GO;
    int rc = vs_read_layout(asked->layout, &layout);
    return rc == VS_DONE ? read_static(asked, &layout, &(struct vs_ns_record){0}) : rc;
}

/* Options that mean something to one subcommand only. */
static int check_subcommand(const struct asked *asked, const char *name) {
    bool advances = strcmp(name, "advance") == 0 || strcmp(name, "lower") == 0, inits = strcmp(name, "init") == 0;
    if (asked->yes && !advances) return vs_usage("--yes is for advance and lower");
    if (asked->again && !inits) return vs_usage("--again is for init");
    if (asked->segments && !inits) return vs_usage("--segments is for init");
    if (asked->trust_clock && !advances && !asked->again)
        return vs_usage("--trust-store-clock is for advance, lower and init --again");
    if (asked->lease_given && !advances && !asked->again)
        return vs_usage("--lease is for advance, lower and init --again");
    return VS_GO;
}

static int run_store(int argc, char **argv) {
    struct asked asked = {.at = {0}};
    const struct vs_option table[] = {
        VS_AT_OPTIONS(&asked.at),
        VS_TEXT("layout", &asked.layout, "TEXT|PRESET", "of a new namespace (default: vesta-second)"),
        VS_TEXT("static", &asked.static_, "FIRST-LAST", "of a new namespace: numbers that are given out by hand"),
        {"lease", 0, VS_OPT_CHOICE, &asked.lease, VS_LEASE_WORDS,
         "advance, lower, init --again: the widest preset in use there (default: balanced)", 0, 0, &asked.lease_given},
        VS_SWITCH("again", &asked.again,
                  "init: the store lost this namespace: no lease starts before the store's clock plus a margin"),
        VS_SWITCH("segments", &asked.segments, "init: also the table of counters for segments, leaf_alloc"),
        VS_SWITCH("yes", &asked.yes, "advance, lower: do it without asking"),
        VS_SWITCH("trust-store-clock", &asked.trust_clock,
                  "advance, lower, init --again: the store's clock is right, and this machine's is off"),
        VS_SWITCH("json", &asked.at.json, "print one JSON object"),
        {0},
    };
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (argc == 0) return vs_usage("the subcommand is missing: init, show, advance, lower or relayout");
    if (argc > 1) return vs_usage("unexpected operand %s", vs_shown_text(argv[1]));
    if ((rc = check_subcommand(&asked, argv[0])) != VS_GO || (rc = check_words(&asked)) != VS_GO) return rc;
    bool moves = strcmp(argv[0], "relayout") == 0;
    if (moves && !asked.layout && !asked.at.effective)
        return vs_usage("relayout needs --layout, the namespace's next one");
    if ((rc = vs_at_find(&asked.at, moves)) == VS_GO) {
        asked.namespace_given = asked.at.name != NULL;
        if (asked.namespace_given && !asked.layout) asked.layout = asked.at.where.text[VS_W_LAYOUT];
        rc = run_subcommand(&asked, argv[0]);
    }
    vs_at_free(&asked.at);
    return rc;
}

const struct vs_command vs_store_command = {
    "store", run_store, "create, inspect and repair the stores of worker numbers",
    "store init|show|advance|lower|relayout [OPTION...]",
    "A shared store is prepared once, by an operator; a server never does it silently.\n"
    "\n"
    "  init     creates what the store needs (tables, a root node; with --segments\n"
    "           also the table of counters that a database which Leaf uses has\n"
    "           already), and with --namespace the record of that namespace, with\n"
    "           the --static numbers that are given out by hand; what exists stays\n"
    "           as it is; a namespace that this store had and lost is created\n"
    "           --again: no lease starts before the store's clock plus a margin, so\n"
    "           that ids which somebody may still hold are not repeated\n"
    "  show     the namespace's record, and how many numbers are held, expired and\n"
    "           free; without --namespace, those of every namespace in the store\n"
    "  advance  continues with a store that lost what it had acknowledged: every\n"
    "           holder must claim again, and no lease starts before the store's\n"
    "           clock plus a margin; asks first, unless --yes is given\n"
    "  lower    lowers a floor that was set by a clock that was ahead; asks first,\n"
    "           unless --yes is given\n"
    "  relayout the next --layout of a namespace in use: proves that its ids differ\n"
    "           from all that the namespace can have given, then creates NAME.2,\n"
    "           which hosts move to one by one, by leased_as in their configs\n"
    "\n"
    "  $ vesta store init --store sqlite:/var/lib/vesta/vesta.db \\\n"
    "    --namespace orders --layout snowflake\n"
    "  store is ready: the database and its tables are there; ...\n"
    "  namespace orders was created: sign:1=0 time:41 worker:10 seq:12 unit=1ms ...\n"
    "\n"
    "  $ vesta store show --store zk://user:secret@zk1:2181/vesta --namespace orders\n"
    "  namespace    orders\n"
    "  ...\n"
    "  numbers      3 held, 0 expired, 1 free, 1,020 never used\n"};
