/* guess.c -- `guess`: which layouts could have made ids. */
#include "cli/cli.h"
#include "command/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define GUESSES_MAX 64 /* more than there are presets */

struct reading {
    int64_t now_ms;
    int notation, json;
    bool first;
};

static void print_guess(const struct vesta_candidate *guess, int64_t now_ms) {
    struct vesta_layout layout;
    char iso[VESTA_ISO_MAX], ago[VS_AGO_MAX], when[VESTA_ISO_MAX + VS_AGO_MAX];
    if (vesta_layout_parse(guess->preset->text, &layout, NULL) != VESTA_OK) return;
    snprintf(when, sizeof when, "%s, %s", vs_iso(guess->parts.unix_ms, iso), vs_ago(guess->parts.unix_ms, now_ms, ago));
    vs_outf("  %-19s  %-40s", guess->preset->name, when);
    for (int i = 0; i < layout.field_count; i++)
        if (i != layout.time && !layout.field[i].fixed)
            vs_outf(" %s=%" PRIu64, layout.field[i].name, guess->parts.values[i]);
    vs_outf("\n");
}

static void print_guesses_json(uint64_t id, const struct vesta_candidate *guesses, size_t count) {
    char iso[VESTA_ISO_MAX];
    vs_outf("{\"id\":\"%" PRIu64 "\",\"guesses\":[", id);
    for (size_t i = 0; i < count; i++)
        vs_outf("%s{\"layout\":\"%s\",\"worker\":%" PRIu64 ",\"seq\":%" PRIu64 ",\"unix_ms\":%" PRId64
                ",\"iso\":\"%s\"}",
                i ? "," : "", guesses[i].preset->name, guesses[i].parts.worker, guesses[i].parts.seq,
                guesses[i].parts.unix_ms, vs_iso(guesses[i].parts.unix_ms, iso));
    vs_outf("]}\n");
}

static int guess_id(void *self, const struct vs_found_id *found) {
    struct reading *reading = self;
    uint64_t id = found->id;
    struct vesta_candidate guesses[GUESSES_MAX];
    size_t count = vesta_guess(id, reading->now_ms, guesses, GUESSES_MAX);
    if (reading->json)
        print_guesses_json(id, guesses, count);
    else {
        vs_outf("%s%" PRIu64 "  %s\n", reading->first ? "" : "\n", id,
                count ? "could be, likeliest first:" : "no preset could have made this id by now");
        reading->first = false;
        for (size_t i = 0; i < count; i++)
            print_guess(&guesses[i], reading->now_ms);
    }
    return count ? VS_DONE : VS_FAILED;
}

static int run_guess(int argc, char **argv) {
    struct reading reading = {.now_ms = vs_now_ms(), .first = true};
    const struct vs_option table[] = {
        VS_NOTATION(&reading.notation),
        VS_SWITCH("json", &reading.json, "print one JSON object per line"),
        {0},
    };
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    struct vs_id_input input = {(enum vs_notation)reading.notation, guess_id, &reading};
    return vs_each_id(&input, argc, argv);
}

const struct vs_command vs_guess_command = {
    "guess", run_guess, "which known layouts could have made an id", "guess [OPTION...] [ID...]",
    "Reads an id under every preset and lists those it fits, likeliest first, with the time and the\n"
    "fields each would mean.  It is a guess: an id carries no mark of its layout.\n"
    "\n"
    "  $ vesta guess 1138729511026688\n"
    "  1138729511026688  could be, likeliest first:\n"
    "    vesta-legacy-second  2015-05-22T06:41:04Z, 11 years ago       version=0 method=0 machine=1 seq=0\n"
    "    sonyflake            2014-09-08T20:32:15.680Z, 12 years ago   seq=0 machine=0\n"
    "    ...\n"
    "\n"
    "  $ vesta guess 1138729511026688 --json\n"
    "  {\"id\":\"1138729511026688\",\"guesses\":[{\"layout\":\"vesta-legacy-second\",\"worker\":1,...\n"};
