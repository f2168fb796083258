/* main.c -- vesta_sim: runs schedules by seed, and prints their findings and their counts of events.
 *
 *     vesta_sim --seeds 1..20000             runs these seeds with every oracle; exit code 1 after any finding
 *     vesta_sim --seeds 1..10000 --kill X    runs seeds until one finds X, the finding of the planted bug; exit
 *                                            code 1 if none does (any: accepts every finding)
 *     vesta_sim --seed 4711 --trace          prints the whole trace of one schedule
 *     vesta_sim --story FILE [--kill X]      runs a written schedule, which must have no finding, or find X
 */
#include "sim.h"
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GATE_SEEDS 1000 /* averages over fewer schedules prove nothing */

struct options {
    uint64_t from, until; /* inclusive */
    bool trace, json, kills;
    const char *story;
};

/* ------------------------------------------------------------------ counting */

/* The averages that schedules must reach, in hundredths. Lower numbers mean that the simulator no longer tests these
 * cases. */
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
    GATE(stills, 50),     GATE(by_lane, 12000), GATE(given_back, 40),
    GATE(led, 500),
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
            fprintf(
                stderr, "vesta_sim: %s per schedule: %.2f instead of at least %.2f: these schedules prove too little\n",
                gate[i].name, (double)count_at(sum, gate[i].offset) / (double)schedules, (double)gate[i].least / 100);
            poor = 1;
        }
    return poor;
}

static int usage(const char *wrong) {
    fprintf(stderr,
            "vesta_sim: %s\nusage: vesta_sim --seeds A..B | --seed N | --story FILE [--kill FINDING|any] [--trace] "
            "[--json]\n",
            wrong);
    return 2;
}

/* Accepts a finding's name. A planted bug counts as killed by this finding only. */
static bool read_kill(const char *name, struct options *opts) {
    opts->kills = true;
    for (int kind = NOTHING + 1; kind < FINDING_COUNT; kind++)
        if (strcmp(name, finding_name((enum finding)kind)) == 0) sim.expected = (enum finding)kind;
    return sim.expected != NOTHING || strcmp(name, "any") == 0;
}

/* ------------------------------------------------------------------ running */

/* Runs the seed again to print its last events. */
static void tell(uint64_t seed) {
    enum finding first = sim.found;
    sim.tracing = sim.quiet = true;
    schedule_run(seed);
    sim.tracing = sim.quiet = false;
    if (sim.found != first)
        printf("seed %llu does not replay: the simulator depends on something other than its seed\n",
               (unsigned long long)seed);
    printf("seed %llu: %s: %s\n", (unsigned long long)seed, finding_name(sim.found), sim.story);
    printf("    the whole story: %s --seed %llu --trace\n", program_invocation_name, (unsigned long long)seed);
    oracle_last_lines();
}

static int run_until_killed(const struct options *opts) {
    for (uint64_t seed = opts->from; seed <= opts->until; seed++) {
        schedule_run(seed);
        if (sim.found) {
            printf("killed at seed %llu\n", (unsigned long long)seed);
            tell(seed);
            return 0;
        }
    }
    printf("SURVIVED seeds %llu to %llu\n", (unsigned long long)opts->from, (unsigned long long)opts->until);
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
    return sim.found != NOTHING;
}

/* A story must end without a finding, or with the finding of this build's planted bug. */
static int run_story(const struct options *opts) {
    enum finding wanted = sim.expected;
    sim.expected = NOTHING;
    bool told = story_tell(opts->story), killed = sim.found && (sim.found == wanted || wanted == NOTHING);
    const char *what = opts->kills ? killed ? "killed" : "SURVIVED" : sim.found || !told ? "FAILED" : "sound";
    printf("%s: %s%s%s%s%s\n", opts->story, what, sim.found ? ": " : "", sim.found ? finding_name(sim.found) : "",
           sim.found ? ": " : "", sim.found ? sim.story : "");
    return !told || (opts->kills ? !killed : sim.found != NOTHING);
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
        if ((strcmp(argv[i], "--seeds") == 0 || strcmp(argv[i], "--seed") == 0) && has_value) {
            if (!read_seeds(argv[++i], &opts)) return usage("seeds are numbers, as in 1..20000");
        } else if (strcmp(argv[i], "--kill") == 0 && has_value) {
            if (!read_kill(argv[++i], &opts)) return usage("--kill is a finding, or any");
        } else if (strcmp(argv[i], "--story") == 0 && has_value) {
            opts.story = argv[++i];
        } else if (strcmp(argv[i], "--trace") == 0) {
            opts.trace = true;
        } else if (strcmp(argv[i], "--json") == 0) {
            opts.json = true;
        } else {
            return usage(argv[i]);
        }
    }
    if (opts.story) return opts.trace ? trace_story(opts.story) : run_story(&opts);
    if (opts.trace) return run_one(&opts);
    if (opts.kills) return run_until_killed(&opts);
    return run_all(&opts);
}
