/* store.c -- `vesta store init|show|advance|lower|relayout`: what a person does to a store, once, and never a server.
 */
#include "main/ops/store.h"
#include "main/cli.h"
#include "main/ops/relayout.h"

#include "base/array.h"
#include "base/nearest.h"

#include <string.h>

static int relayout(struct vs_asked *asked) {
    if (asked->at.public_) asked->at.name = asked->at.public_; /* all that it was ever leased as */
    return vs_relayout(&asked->at, asked->layout);
}

static const struct {
    const char *name;
    int (*run)(struct vs_asked *asked);
} subcommands[] = {{"init", vs_init_store},
                   {"show", vs_show_store},
                   {"advance", vs_advance_floor},
                   {"lower", vs_lower_floor},
                   {"relayout", relayout}};

static int run_subcommand(struct vs_asked *asked, const char *name) {
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
static int check_words(const struct vs_asked *asked) {
    struct vesta_layout layout;
    if (asked->static_ && !asked->layout) return vs_usage("--static needs --layout, which says what numbers there are");
    if (!asked->layout) return VS_GO;
    int rc = vs_read_layout(asked->layout, &layout);
    return rc == VS_DONE ? vs_read_static(asked, &layout, &(struct vs_ns_record){0}) : rc;
}

/* Options that mean something to one subcommand only. */
static int check_subcommand(const struct vs_asked *asked, const char *name) {
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
    struct vs_asked asked = {.at = {0}};
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
    "  $ vesta store show --store 'zk://zk1/vesta?secret_file=/etc/vesta/zk.auth'\n"
    "  namespace    orders\n"
    "  ...\n"
    "  numbers      3 held, 0 expired, 1 free, 1,020 never used\n"};
