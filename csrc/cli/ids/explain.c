/* explain.c -- what an id says: `explain` under one layout, `guess` under all presets. */
#include "cli/cli.h"
#include "cli/ids/numbers.h"
#include "command/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define GUESSES_MAX 64 /* more than there are presets */

struct reading {
    struct vesta_layout layout;
    const char *name; /* the layout as the caller wrote it */
    int64_t now_ms;
    int base, json;
    bool first;
};

static void print_json(const struct vesta_layout *layout, uint64_t id, const struct vesta_parts *parts) {
    char iso[VESTA_ISO_MAX];
    vs_outf("{\"id\":\"%" PRIu64 "\"", id);
    for (int i = 0; i < layout->field_count; i++)
        vs_outf(",\"%s\":%" PRIu64, layout->field[i].name, parts->values[i]);
    if (layout->worker >= 0 && strcmp(layout->field[layout->worker].name, "worker") != 0)
        vs_outf(",\"worker\":%" PRIu64, parts->worker);
    vs_outf(",\"unix_ms\":%" PRId64 ",\"iso\":\"%s\"}\n", parts->unix_ms, vs_iso(parts->unix_ms, iso));
}

static void print_forms(uint64_t id) {
    char hex[VESTA_FORMAT_MAX], base32[VESTA_FORMAT_MAX], base62[VESTA_FORMAT_MAX];
    vesta_format(VESTA_HEX, id, hex);
    vesta_format(VESTA_BASE32, id, base32);
    vesta_format(VESTA_BASE62, id, base62);
    vs_outf("\n  hex %s   base32 %s   base62 %s\n", hex, base32, base62);
}

static int explain_id(void *self, uint64_t id, const char *text) {
    struct reading *reading = self;
    struct vesta_parts parts;
    struct vesta_error err;
    (void)text;
    if (vesta_explain(&reading->layout, id, &parts, &err) != VESTA_OK) return vs_report(&err);
    if (reading->json) {
        print_json(&reading->layout, id, &parts);
        return VS_DONE;
    }
    if (!reading->first) vs_outf("\n");
    reading->first = false;
    vs_outf("%" PRIu64 "  read as %s\n\n", id, reading->name);
    vs_draw_id(&reading->layout, id, &parts, reading->now_ms);
    print_forms(id);
    return VS_DONE;
}

static int run_explain(int argc, char **argv) {
    struct reading reading = {.now_ms = vs_now_ms(), .first = true};
    const char *form = NULL;
    const struct vs_option table[] = {
        VS_TEXT("layout", &reading.name, "TEXT|PRESET", "the layout that made the id (default: vesta-second)"),
        VS_TEXT("form", &form, "TEXT", "read business numbers of this form instead, and check their check digits"),
        VS_FORMAT(&reading.base, "how the ids are written"),
        VS_SWITCH("json", &reading.json, "print one JSON object per line"),
        {0},
    };
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (form && (reading.name || reading.base != VESTA_DECIMAL))
        return vs_usage("a business number has its form only: --form goes with neither --layout nor --format");
    if (form) return vs_explain_numbers(form, argc, argv, reading.json);
    if (!reading.name) reading.name = VS_LAYOUT_DEFAULT;
    if ((rc = vs_read_layout(reading.name, &reading.layout)) != VS_DONE) return rc;
    return vs_each_id(argc, argv, (enum vesta_base)reading.base, explain_id, &reading);
}

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

static int guess_id(void *self, uint64_t id, const char *text) {
    struct reading *reading = self;
    struct vesta_candidate guesses[GUESSES_MAX];
    size_t count = vesta_guess(id, reading->now_ms, guesses, GUESSES_MAX);
    (void)text;
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
        VS_FORMAT(&reading.base, "how the ids are written"),
        VS_SWITCH("json", &reading.json, "print one JSON object per line"),
        {0},
    };
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    return vs_each_id(argc, argv, (enum vesta_base)reading.base, guess_id, &reading);
}

const struct vs_command vs_explain_command = {
    "explain", run_explain, "take ids apart: fields, time, worker", "explain [OPTION...] [ID...]",
    "Shows what the bits of an id mean.  Ids are operands, or lines of stdin.  An id carries no mark of\n"
    "its layout: another --layout reads other fields out of it, and `vesta guess` says which are likely.\n"
    "\n"
    "  $ vesta explain 2319542600899494910\n"
    "  2319542600899494910  read as vesta-second\n"
    "\n"
    "    0 0 10 000000110000101010111011010011 00000000000000000000 1111111110\n"
    "    │ │ │  │                              │                    └─ machine 1022  the worker\n"
    "    │ │ │  │                              └─ seq 0\n"
    "    │ │ │  └─ time 12758739  2015-05-28T08:05:39Z, 11 years ago\n"
    "    │ │ └─ method 2\n"
    "    │ └─ type 0\n"
    "    └─ version 0\n"
    "\n"
    "    hex 2030abb4c00003fe   base32 20C5BPK0000ZY   base62 2lLWqFGstB8\n"
    "\n"
    "  $ vesta explain --json --layout vesta-legacy-second 1138729511026688\n"
    "  {\"id\":\"1138729511026688\",\"version\":0, ... \"worker\":1,\"unix_ms\":1432276864000,\n"
    "  \"iso\":\"2015-05-22T06:41:04Z\"}\n"
    "\n"
    "  $ vesta explain --form 'INV-{day:%Y%m%d}-{number:6}-{luhn}' INV-20261122-000421-2\n"
    "  INV-20261122-000421-2  number 421 of the day 2026-11-22, counter 22846752113557925\n"};

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
