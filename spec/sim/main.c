/* main.c -- vesta_sim: runs schedules by seed, and says what they found and what they met.
 *
 *     vesta_sim --seeds 1..20000             every oracle over these seeds; 1 if any found anything
 *     vesta_sim --seeds 1..10000 --mutant X  until the planted bug X is found; 1 if it survives
 *     vesta_sim --seed 4711 --trace          the whole story of one schedule
 *     vesta_sim --story FILE                 a schedule that was written down, and the planted bugs that it kills
 *     vesta_sim --mutants                    their names
 */
#include "sim.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MUTANTS_A_STORY_MAX 8
#define GATE_SEEDS 1000 /* fewer schedules say nothing about averages */

enum vs_mutant vs_mutant;

struct options {
    uint64_t from, until;  /* inclusive */
    bool trace, json, any; /* any: whatever a mutant leads to counts */
    const char *story;
};

/* A mutant is killed by what it leads to, not by any alarm on the way. */
static const struct mutant {
    const char *name;
    enum finding leads_to;
} mutants[] = {
    [VS_MUTANT_NONE] = {"", NOTHING},
    [VS_MUTANT_CLOSE_BY_LIMIT] = {"CLOSE_BY_LIMIT", DUPLICATE},
    [VS_MUTANT_CURSOR_BEFORE_CLOSE] = {"CURSOR_BEFORE_CLOSE", DUPLICATE},
    [VS_MUTANT_LIMIT_BEFORE_CLOSE] = {"LIMIT_BEFORE_CLOSE", DUPLICATE},
    [VS_MUTANT_KEEPS_REFUSED_TICK] = {"KEEPS_REFUSED_TICK", DUPLICATE},
    [VS_MUTANT_SLOT_REUSE] = {"SLOT_REUSE", DUPLICATE},
    [VS_MUTANT_SLOT_BY_STORE] = {"SLOT_BY_STORE", UNGRANTED},
    [VS_MUTANT_FRESH_REVIVES] = {"FRESH_REVIVES", LOWERED},
    [VS_MUTANT_STALE_KEEPER_REOPENS] = {"STALE_KEEPER_REOPENS", DUPLICATE},
    [VS_MUTANT_RETIRES_OPEN] = {"RETIRES_OPEN", DUPLICATE},
    [VS_MUTANT_RETIRES_TAKEABLE] = {"RETIRES_TAKEABLE", DUPLICATE},
    [VS_MUTANT_RESTS_BESIDE] = {"RESTS_BESIDE", DUPLICATE},
    [VS_MUTANT_REST_LEAVES_FRESH] = {"REST_LEAVES_FRESH", DUPLICATE},
    [VS_MUTANT_STORE_BY_WORD] = {"STORE_BY_WORD", STUCK},
    [VS_MUTANT_CLAIMS_COUNT] = {"CLAIMS_COUNT", STUCK},
    [VS_MUTANT_LATE_STOP_STANDS] = {"LATE_STOP_STANDS", STUCK},
    [VS_MUTANT_STOPS_UNASKED] = {"STOPS_UNASKED", STUCK},
    [VS_MUTANT_NEVER_MOOT] = {"NEVER_MOOT", FAILSTOP},
    [VS_MUTANT_LOWERS_BOUND] = {"LOWERS_BOUND", DUPLICATE},
    [VS_MUTANT_FOLLOWS_BY_VERSION] = {"FOLLOWS_BY_VERSION", DUPLICATE},
    [VS_MUTANT_CONFLICT_IS_FENCED] = {"CONFLICT_IS_FENCED", SELF_FENCED},
    [VS_MUTANT_COPIED_FILE_SAME_BOOT] = {"COPIED_FILE_SAME_BOOT", DUPLICATE},
    [VS_MUTANT_UNFENCED_HEARTBEAT] = {"UNFENCED_HEARTBEAT", DUPLICATE},
    [VS_MUTANT_ADOPTS_UNKNOWN] = {"ADOPTS_UNKNOWN", DUPLICATE},
    [VS_MUTANT_STALE_WINDOW] = {"STALE_WINDOW", DUPLICATE},
    [VS_MUTANT_FAILED_HEARTBEAT_COUNTS] = {"FAILED_HEARTBEAT_COUNTS", DUPLICATE},
    [VS_MUTANT_RELATIVE_SKIP] = {"RELATIVE_SKIP", DUPLICATE},
    [VS_MUTANT_CLAIM_BY_OWNER] = {"CLAIM_BY_OWNER", DUPLICATE},
    [VS_MUTANT_LEAVES_OPEN] = {"LEAVES_OPEN", DUPLICATE},
};
_Static_assert(VS_COUNT(mutants) == VS_MUTANT_COUNT, "every mutant is here");

/* ------------------------------------------------------------------ counting */

/* What a schedule must meet on average, in hundredths: less would be a simulator that has stopped simulating. */
static const struct {
    const char *name;
    size_t offset;
    uint64_t least;
} gate[] = {
#define GATE(name, least)                                                                                              \
    { #name, offsetof(struct counts, name), least }
    GATE(ids, 120000),    GATE(claims, 600), GATE(takeovers, 250), GATE(from_living, 100), GATE(pauses, 210),
    GATE(rollbacks, 500), GATE(leaps, 40),   GATE(crashes, 600),   GATE(reboots, 80),      GATE(unknowns, 600),
    GATE(forks, 200),     GATE(copies, 60),  GATE(releases, 400),  GATE(adoptions, 40),    GATE(two_keepers, 100),
    GATE(retired, 10),    GATE(fenced, 100), GATE(left, 6),        GATE(rests, 250),       GATE(restored, 100),
    GATE(drops, 40),      GATE(loans, 120),  GATE(replaced, 250),  GATE(lost, 50),
};

static const struct {
    const char *name;
    size_t offset;
} columns[] = {
#define COLUMN(name) {#name, offsetof(struct counts, name)},
    COUNTS(COLUMN)
#undef COLUMN
};

static uint64_t count_at(const struct counts *counts, size_t offset) {
    return *(const uint64_t *)((const char *)counts + offset);
}

static void add(struct counts *sum, const struct counts *one) {
    for (size_t i = 0; i < VS_COUNT(columns); i++)
        *(uint64_t *)((char *)sum + columns[i].offset) += count_at(one, columns[i].offset);
}

static void print_counts(const struct counts *sum, uint64_t schedules, bool json) {
    for (size_t i = 0; i < VS_COUNT(columns); i++) {
        double mean = (double)count_at(sum, columns[i].offset) / (double)schedules;
        printf(json ? "%s\"%s\":%.2f" : "%s%s %.2f", i ? json ? "," : ", " : "", columns[i].name, mean);
    }
}

static int check_gate(const struct counts *sum, uint64_t schedules) {
    int poor = 0;
    for (size_t i = 0; i < VS_COUNT(gate); i++)
        if (count_at(sum, gate[i].offset) * 100 < gate[i].least * schedules) {
            fprintf(stderr,
                    "vesta_sim: %s per schedule: %.2f, at least %.2f are needed: these schedules prove too little\n",
                    gate[i].name, (double)count_at(sum, gate[i].offset) / (double)schedules,
                    (double)gate[i].least / 100);
            poor = 1;
        }
    return poor;
}

static int usage(const char *wrong) {
    fprintf(stderr,
            "vesta_sim: %s\nusage: vesta_sim --seeds A..B | --seed N [--mutant NAME [--any]] [--trace] [--json]\n"
            "       vesta_sim --story FILE [--mutant NAME] [--trace]\n       vesta_sim --mutants\n",
            wrong);
    return 2;
}

static bool read_mutant(const char *name) {
    for (size_t i = 1; i < VS_COUNT(mutants); i++)
        if (strcmp(name, mutants[i].name) == 0) vs_mutant = (enum vs_mutant)i;
    return vs_mutant != VS_MUTANT_NONE;
}

/* ------------------------------------------------------------------ running */

/* Runs the seed once more, for its last events. */
static void tell(uint64_t seed) {
    enum finding first = sim.found;
    sim.tracing = sim.quiet = true;
    schedule_run(seed);
    sim.tracing = sim.quiet = false;
    if (sim.found != first)
        printf("seed %llu does not replay: the simulator depends on something else\n", (unsigned long long)seed);
    printf("seed %llu: %s: %s\n", (unsigned long long)seed, finding_name(sim.found), sim.story);
    printf("    the whole story: vesta_sim --seed %llu --trace%s%s\n", (unsigned long long)seed,
           vs_mutant ? " --mutant " : "", mutants[vs_mutant].name);
    oracle_last_lines();
}

static int run_mutant(const struct options *opts) {
    for (uint64_t seed = opts->from; seed <= opts->until; seed++) {
        schedule_run(seed);
        if (sim.found) {
            printf("%s killed at seed %llu\n", mutants[vs_mutant].name, (unsigned long long)seed);
            tell(seed);
            return 0;
        }
    }
    printf("%s survived seeds %llu to %llu\n", mutants[vs_mutant].name, (unsigned long long)opts->from,
           (unsigned long long)opts->until);
    return 1;
}

static int run_all(const struct options *opts) {
    struct counts sum = {0};
    uint64_t schedules = 0, found = 0;
    clock_t begun = clock();
    for (uint64_t seed = opts->from; seed <= opts->until; seed++, schedules++) {
        schedule_run(seed);
        add(&sum, &sim.counts);
        if (sim.found && found++ < 10) tell(seed);
    }
    double s = (double)(clock() - begun) / CLOCKS_PER_SEC;
    if (opts->json)
        printf("{\"schedules\":%llu,\"findings\":%llu,", (unsigned long long)schedules, (unsigned long long)found);
    else
        printf("%llu schedules, %llu findings, %.0f schedules/s; per schedule: ", (unsigned long long)schedules,
               (unsigned long long)found, s > 0 ? (double)schedules / s : 0.0);
    print_counts(&sum, schedules, opts->json);
    puts(opts->json ? "}" : "");
    return found > 0 || (schedules >= GATE_SEEDS && check_gate(&sum, schedules));
}

static int run_one(const struct options *opts) {
    sim.tracing = true;
    schedule_run(opts->from);
    printf("seed %llu: %s%s%s\n", (unsigned long long)opts->from, finding_name(sim.found), sim.found ? ": " : "",
           sim.found ? sim.story : "");
    return sim.found != NOTHING && !vs_mutant;
}

/* A story is sound without a planted bug, and finds each that it names by what that leads to. */
static int run_story(const char *file) {
    struct story_kill kills[MUTANTS_A_STORY_MAX];
    int count = story_kills(file, kills, MUTANTS_A_STORY_MAX), failed = !story_tell(file) || sim.found;
    printf("%s: %s%s%s\n", file, failed ? "FAILED: " : "sound", sim.found ? finding_name(sim.found) : "",
           sim.found ? sim.story : "");
    for (int i = 0; i < count && !failed; i++) {
        if (!read_mutant(kills[i].mutant)) return usage(kills[i].mutant);
        bool told = story_tell(file);
        bool killed = told && sim.found && strcmp(finding_name(sim.found), kills[i].finding) == 0;
        printf("%s %s by %s: %s%s%s\n", kills[i].mutant, killed ? "killed" : "SURVIVED", file, finding_name(sim.found),
               sim.found ? ": " : "", sim.found ? sim.story : "");
        failed = !killed;
    }
    return failed || count == 0;
}

static int trace_story(const char *file) {
    sim.tracing = true;
    bool told = story_tell(file);
    printf("%s: %s%s%s\n", file, finding_name(sim.found), sim.found ? ": " : "", sim.found ? sim.story : "");
    return !told || sim.found;
}

/* ------------------------------------------------------------------ options */

static bool read_seeds(const char *text, struct options *opts) {
    char *end;
    opts->from = opts->until = strtoull(text, &end, 10);
    if (end != text && strncmp(end, "..", 2) == 0) {
        text = end + 2;
        opts->until = strtoull(text, &end, 10);
    }
    return end != text && *end == '\0' && opts->from <= opts->until;
}

int main(int argc, char **argv) {
    struct options opts = {.from = 1, .until = 1000};
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;
        if (strcmp(argv[i], "--mutants") == 0) {
            for (size_t n = 1; n < VS_COUNT(mutants); n++)
                puts(mutants[n].name);
            return 0;
        } else if ((strcmp(argv[i], "--seeds") == 0 || strcmp(argv[i], "--seed") == 0) && has_value) {
            if (!read_seeds(argv[++i], &opts)) return usage("seeds are numbers, as in 1..20000");
        } else if (strcmp(argv[i], "--mutant") == 0 && has_value) {
            if (!read_mutant(argv[++i])) return usage("no such mutant; --mutants names them");
        } else if (strcmp(argv[i], "--story") == 0 && has_value) {
            opts.story = argv[++i];
        } else if (strcmp(argv[i], "--trace") == 0) {
            opts.trace = true;
        } else if (strcmp(argv[i], "--any") == 0) {
            opts.any = true;
        } else if (strcmp(argv[i], "--json") == 0) {
            opts.json = true;
        } else {
            return usage(argv[i]);
        }
    }
    sim.expected = opts.any ? NOTHING : mutants[vs_mutant].leads_to;
    if (opts.story) sim.expected = NOTHING;
    if (opts.story) return opts.trace ? trace_story(opts.story) : run_story(opts.story);
    if (opts.trace) return run_one(&opts);
    if (vs_mutant) return run_mutant(&opts);
    return run_all(&opts);
}
