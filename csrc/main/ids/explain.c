/* explain.c -- `explain`: prints the fields of ids under the layout of their namespace, and which process held their
 * worker ids. */
#include "main/cli.h"
#include "main/ids/compare.h"
#include "main/ids/explain_wide.h"
#include "main/ids/holders.h"
#include "main/ids/marks.h"
#include "main/ids/masks.h"
#include "main/ids/numbers.h"
#include "id/id.h"
#include "os/clock.h"
#include "store/lineage.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DAY_MS INT64_C(86400000)
/* An id rarely has a time in the first weeks of its layout, but often appears to have one if it is read with a wrong
 * layout. */
#define EARLY_MS (30 * DAY_MS)

struct explain_reading {
    struct vs_where where;
    struct vs_holders holders;
    struct vesta_layout layout;
    const char *name; /* the layout, as written by the caller or the namespace */
    int64_t now_ms;
    int notation;
    bool is_default;     /* the layout was not specified */
    unsigned generation; /* generation of the namespace (0: the requested generation) */
    bool first;
    uint64_t ids[2]; /* the first two ids, which are compared */
    const struct vesta_layout *layouts[2];
    struct vs_moment moments[2]; /* when they were made */
    size_t count;                /* number of ids read, with any layout */
    bool has_wide;               /* one of the first two ids has 128 bits */
    bool lacks_time;             /* one of them contains no time */
    const struct vs_masked *masked; /* the masked text of the id (NULL: the id was not masked) */
};

static void explain_print_json(const struct explain_reading *reading, uint64_t id, const struct vesta_parts *parts) {
    const struct vesta_layout *layout = &reading->layout;
    char iso[VESTA_ISO_MAX];
    vs_outf("{\"id\":\"%" PRIu64 "\"", id);
    if (reading->masked) {
        vs_outf(",\"masked\":");
        vs_out_json(reading->masked->text);
        vs_outf(",\"key_version\":%d", reading->masked->version);
    }
    for (int i = 0; i < layout->field_count; i++)
        vs_outf(",\"%s\":%" PRIu64, layout->field[i].name, parts->values[i]);
    if (layout->worker >= 0 && strcmp(layout->field[layout->worker].name, "worker") != 0)
        vs_outf(",\"worker\":%" PRIu64, parts->worker);
    vs_outf(",\"unix_ms\":%" PRId64 ",\"iso\":\"%s\"", parts->unix_ms, vs_iso(parts->unix_ms, iso));
    vs_holders_json(&reading->holders, parts);
    vs_outf("}\n");
}

static void explain_print_forms(uint64_t id) {
    char hex[VESTA_FORMAT_MAX], base32[VESTA_FORMAT_MAX], base62[VESTA_FORMAT_MAX];
    vesta_format(VESTA_HEX, id, hex);
    vesta_format(VESTA_BASE32, id, base32);
    vesta_format(VESTA_BASE62, id, base62);
    vs_outf("\n  hex %s   base32 %s   base62 %s\n", hex, base32, base62);
}

static bool explain_is_late(const struct explain_reading *reading, const struct vesta_parts *parts) {
    return parts->unix_ms > reading->now_ms + DAY_MS;
}

static bool explain_is_early(const struct vesta_layout *layout, const struct vesta_parts *parts) {
    return parts->unix_ms < layout->epoch_ms + EARLY_MS;
}

/* An id does not contain its layout, so only an impossible time reveals that the layout is wrong. */
static void explain_print_doubt(const struct explain_reading *reading, uint64_t id, const struct vesta_parts *parts) {
    struct vesta_candidate guess;
    bool is_ahead = explain_is_late(reading, parts);
    if (!is_ahead && !(reading->is_default && explain_is_early(&reading->layout, parts))) return;
    vs_outf("\n%s  !! The time is %s: is this the id's layout?\n", VS_YELLOW,
            is_ahead ? "in the future" : "in the first month of the layout");
    if (vesta_guess(id, reading->now_ms, &guess, 1) && strcmp(guess.preset->name, reading->name) != 0)
        vs_outf("  !! `vesta guess %" PRIu64 "` suggests %s first.%s\n", id, guess.preset->name, VS_PLAIN);
    else
        vs_outf("  !! `vesta guess %" PRIu64 "` lists the layouts that could have made it.%s\n", id, VS_PLAIN);
}

/* If no namespace was named, the config's first namespace is used, but the id may belong to another namespace.  Prints
 * the names of the namespaces that it may belong to. */
static void explain_tell_of_others(const struct explain_reading *reading, uint64_t id) {
    const struct vs_config *config = reading->where.config;
    struct vesta_layout layout;
    struct vesta_parts parts;
    for (int i = 0; config && i < config->ns_count; i++) {
        const char *text = config->ns[i].opts.layout ? config->ns[i].opts.layout : VS_LAYOUT_DEFAULT;
        if (vesta_layout_parse(text, &layout, NULL) == VESTA_OK &&
            vesta_explain(&layout, id, &parts, NULL) == VESTA_OK && !explain_is_early(&layout, &parts) &&
            !explain_is_late(reading, &parts))
            vs_say("the id was read with the layout of %s, but it may be an id of %s: use --namespace %s",
                   reading->where.text[VS_W_NAMESPACE], config->ns[i].name, config->ns[i].name);
    }
}

/* Finds the layout from the options, the config, the generator file or the store, and the holders of its worker ids. */
static int explain_find_layout(struct explain_reading *reading) {
    struct vs_where *where = &reading->where;
    int rc = vs_where_read(where);
    if (rc == VS_GO) rc = vs_holders_read(&reading->holders, where);
    if (rc != VS_GO) return rc;
    reading->is_default = !where->text[VS_W_LAYOUT];
    vs_where_put(where, VS_W_LAYOUT, VS_LAYOUT_DEFAULT, VS_FROM_DEFAULT, "default");
    reading->name = vs_layout_shown(where->text[VS_W_LAYOUT]);
    rc = vs_read_layout(where->text[VS_W_LAYOUT], &reading->layout);
    return rc == VS_DONE ? VS_GO : rc;
}

/* The reading with the layout of another generation, for the last id that was made by another generation. */
static struct explain_reading elsewhere;

static void explain_forget(struct explain_reading *reading) {
    vs_holders_free(&reading->holders);
    vs_where_free(&reading->where);
}

static int explain_read_generation(const struct explain_reading *reading, unsigned n) {
    static char name[VESTA_NAMESPACE_MAX];
    const struct vs_where *where = &reading->where;
    explain_forget(&elsewhere);
    vs_generation_name(where->text[VS_W_NAMESPACE], n, name);
    elsewhere =
        (struct explain_reading){.where = {.text = {[VS_W_NAMESPACE] = name, [VS_W_STORE] = where->text[VS_W_STORE]},
                                           .secret = where->secret,
                                           .json = where->json},
                                 .now_ms = reading->now_ms,
                                 .generation = n};
    return explain_find_layout(&elsewhere);
}

/* The layouts of all generations of a name, read at most once (store/lineage.h).  No two of these layouts can make the
 * same id. */
static struct {
    bool is_read;
    unsigned count;
    struct vesta_layout layout[VS_GENERATIONS_MAX];
} generations;

static void explain_read_generations(const struct vs_where *where) {
    const struct vs_lineage lineage = {.uri = where->text[VS_W_STORE],
                                       .secret = where->secret,
                                       .name = where->text[VS_W_NAMESPACE],
                                       .clock = vs_clock_system(),
                                       .call_ms_max = VS_OPERATOR_CALL_MS};
    struct vs_ns_record ns;
    generations.is_read = true;
    for (unsigned n = 1; n <= VS_GENERATIONS_MAX; n++) {
        if (vs_lineage_read(&lineage, n, &ns, NULL) != VESTA_OK || ns.ver == 0 ||
            vesta_layout_parse(ns.layout, &generations.layout[n - 1], NULL) != VESTA_OK)
            return;
        generations.count = n;
    }
}

/* Sets `elsewhere` to the generation that made this id.  Returns false if no generation made it, or if the store is
 * unknown. */
static bool explain_find_generation(const struct explain_reading *reading, uint64_t id, struct vesta_parts *parts) {
    if (!reading->holders.is_known) return false;
    if (elsewhere.name && vesta_explain(&elsewhere.layout, id, parts, NULL) == VESTA_OK) return true;
    if (!generations.is_read) explain_read_generations(&reading->where);
    for (unsigned n = 1; n <= generations.count; n++)
        if (vesta_explain(&generations.layout[n - 1], id, parts, NULL) == VESTA_OK)
            return explain_read_generation(reading, n) == VS_GO;
    return false;
}

static void explain_keep_first(struct explain_reading *reading, uint64_t id, const struct vesta_layout *layout) {
    if (reading->count < 2) {
        reading->ids[reading->count] = id;
        reading->layouts[reading->count] = layout;
        reading->moments[reading->count] = vs_moment_of(layout, id);
    }
    reading->count++;
}

static void explain_begin(struct explain_reading *reading) {
    if (!reading->first && !reading->where.json) vs_outf("\n");
    reading->first = false;
}

static int explain_take_wide(void *self, const struct vs_wide_found *found) {
    struct explain_reading *reading = self;
    struct vs_wide_view view = {.layout = reading->is_default ? NULL : &reading->layout,
                                .name = reading->name,
                                .holders = &reading->holders,
                                .now_ms = reading->now_ms,
                                .json = reading->where.json};
    struct vs_moment moment;
    explain_begin(reading);
    bool has_time = vs_wide_explain(&view, found, &moment);
    if (reading->count < 2) {
        reading->moments[reading->count] = moment;
        reading->has_wide = true;
        reading->lacks_time |= !has_time;
    }
    reading->count++;
    return VS_DONE;
}

static void explain_print_id(const struct explain_reading *reading, const struct vs_found_id *found,
                             const struct vesta_parts *parts) {
    uint64_t id = found->id;
    if (reading->masked)
        vs_outf("%s  masked with key version %d\n", reading->masked->text, reading->masked->version);
    bool is_told = found->notation && strcmp(found->notation, "decimal") != 0;
    vs_outf("%" PRIu64 "  %s%sread as %s\n\n", id, is_told ? found->notation : "", is_told ? ", " : "", reading->name);
    vs_draw_id(&reading->layout, id, parts, reading->now_ms);
    explain_print_forms(id);
    vs_holders_draw(&reading->holders, parts);
    explain_print_doubt(reading, id, parts);
}

static int explain_id(void *self, const struct vs_found_id *found) {
    struct explain_reading *asked = self;
    const struct explain_reading *reading = asked;
    uint64_t id = found->id;
    struct vesta_parts parts;
    struct vesta_error err;
    if (vesta_explain(&asked->layout, id, &parts, &err) != VESTA_OK) {
        if (!explain_find_generation(asked, id, &parts)) {
            int rc = vs_report(&err);
            explain_tell_of_others(asked, id);
            return rc;
        }
        reading = &elsewhere;
        elsewhere.masked = asked->masked;
    }
    explain_begin(asked);
    explain_keep_first(asked, id, reading == asked ? &asked->layout : &generations.layout[elsewhere.generation - 1]);
    if (asked->where.json) {
        explain_print_json(reading, id, &parts);
        return VS_DONE;
    }
    explain_print_id(reading, found, &parts);
    return VS_DONE;
}

static int explain_ids(struct explain_reading *reading, int compares, int argc, char **argv) {
    struct vs_id_input input = {(enum vs_notation)reading->notation, explain_id, explain_take_wide, reading};
    int rc = vs_each_id(&input, argc, argv);
    if (reading->count != 2 || argc == 0) {
        if (compares && rc == VS_DONE) return vs_usage("--compare needs two ids, but there are %zu", reading->count);
        return rc;
    }
    if (compares && reading->lacks_time) return vs_usage("--compare needs ids that contain a time");
    if ((!compares && reading->where.json) || reading->lacks_time) return rc;
    if (reading->has_wide)
        vs_compare_times(reading->moments, "they show no common worker", reading->where.json);
    else
        vs_compare_print(reading->layouts, reading->ids, reading->where.json);
    return rc;
}

static int explain_masked_id(void *self, const struct vs_masked *masked) {
    struct explain_reading *reading = self;
    struct vs_found_id found = {.id = masked->number};
    reading->masked = masked;
    int rc = explain_id(reading, &found);
    reading->masked = NULL;
    return rc;
}

static int explain_masked_uuid(void *self, const char *text, const struct vs_wide_found *uuid) {
    struct explain_reading *reading = self;
    if (!reading->where.json) vs_outf("%s%s  masked\n", reading->first ? "" : "\n", text);
    reading->first = true; /* no empty line follows */
    return explain_take_wide(reading, uuid);
}

/* Reads masked ids of a namespace of the config. */
static int explain_masked(struct explain_reading *reading, int argc, char **argv) {
    const struct vs_config *config = reading->where.config;
    const char *name = reading->where.text[VS_W_NAMESPACE];
    struct vs_mask *mask = NULL;
    uint8_t key[VS_UUID47_KEY];
    bool has_key = false;
    int rc = VS_GO;
    for (int i = 0; config && i < config->ns_count; i++)
        if (strcmp(config->ns[i].name, name) == 0) {
            rc = vs_masks_of_namespace(&config->ns[i], &mask);
            if (rc == VS_GO) rc = vs_masks_uuid_key(&config->ns[i], key, &has_key);
        }
    if (rc == VS_GO && !mask && !has_key)
        rc = vs_usage(config ? "the namespace %s has no mask in the config"
                             : "--mask needs the config that has the mask and its keys: add -c FILE",
                      vs_shown_text(name ? name : ""));
    const struct vs_mask_input input = {mask, has_key ? key : NULL, explain_masked_id, explain_masked_uuid, reading};
    if (rc == VS_GO) rc = vs_masks_each(&input, argc, argv);
    vs_mask_close(mask);
    return rc;
}

/* Reads masked numbers of a counter of the config. */
static int explain_masked_tag(struct explain_reading *reading, const char *tag, int argc, char **argv) {
    int rc = vs_where_environment(&reading->where);
    if (rc != VS_GO) return rc;
    if (!reading->where.text[VS_W_CONFIG])
        return vs_usage("--tag needs the config that has the mask and its keys: add -c FILE");
    return vs_explain_masked_numbers(reading->where.text[VS_W_CONFIG], tag, argc, argv, reading->where.json);
}

static int explain_run_marks(const struct explain_reading *reading, const char *since) {
    struct vs_marks marks = {.layout = &reading->layout,
                             .holders = &reading->holders,
                             .now_ms = reading->now_ms,
                             .since = since,
                             .base =
                                 reading->notation ? vs_base_of((enum vs_notation)reading->notation) : VESTA_DECIMAL,
                             .json = reading->where.json};
    return vs_marks_run(&marks);
}

static int explain_run(int argc, char **argv) {
    static struct explain_reading reading;
    const char *form = NULL, *since = NULL, *tag = NULL;
    int compares = 0, is_masked = 0;
    reading.now_ms = vs_now_ms();
    reading.first = true;
    const struct vs_option table[] = {
        VS_TEXT("layout", &reading.where.text[VS_W_LAYOUT], "TEXT|PRESET",
                "the ids' layout (default: the namespace's, else vesta-second)"),
        VS_WHERE_OPTIONS(&reading.where),
        VS_NOTATION(&reading.notation),
        VS_SWITCH("compare", &compares, "with --json: also print an object that compares two ids"),
        VS_TEXT("since", &since, "TIME", "with -: mark only ids generated after this time (default: ten years ago)"),
        VS_TEXT("form", &form, "TEXT", "decode business numbers with this form, and verify their check digits"),
        VS_SWITCH("mask", &is_masked, "the ids are masked: read them with the keys in the namespace's config"),
        VS_TEXT("tag", &tag, "TAG", "with --mask: read masked numbers of this counter of the config"),
        VS_SWITCH("json", &reading.where.json, "print one JSON object per line"),
        {0},
    };
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (tag && !is_masked) return vs_usage("--tag can only be combined with --mask");
    if (is_masked && (form || since || compares || reading.where.text[VS_W_LAYOUT] || reading.notation))
        return vs_usage("--mask cannot be combined with --form, --since, --compare, --layout or --format");
    if (tag) return explain_masked_tag(&reading, tag, argc, argv);
    bool reads_text = argc == 1 && strcmp(argv[0], "-") == 0;
    if (since && !reads_text) return vs_usage("--since can only be combined with -, which marks ids in text");
    if (form && (reading.where.text[VS_W_LAYOUT] || reading.notation))
        return vs_usage("--form cannot be combined with --layout or --format: a business number only has a form");
    if (form) return vs_explain_numbers(form, argc, argv, reading.where.json);
    if ((rc = explain_find_layout(&reading)) == VS_GO) {
        if (reading.where.effective)
            rc = vs_where_print(&reading.where);
        else if (is_masked)
            rc = explain_masked(&reading, argc, argv);
        else
            rc = reads_text ? explain_run_marks(&reading, since) : explain_ids(&reading, compares, argc, argv);
    }
    explain_forget(&reading);
    explain_forget(&elsewhere);
    return rc;
}

const struct vs_command vs_explain_command = {
    "explain", explain_run, "decode ids: fields, time, worker, holder",
    "explain [OPTION...] [ID...]\n       vesta explain [OPTION...] -",
    "Decodes the fields of ids.  Ids are operands, or lines of stdin.  They can be decimal, hex, base32, base62\n"
    "or negative, and can have quotes or other text around them.  UUIDs, ULIDs, TypeIDs and 32 hex digits are\n"
    "decoded too, also those made elsewhere (docs/uuids.md).  If there are two ids, the command also compares\n"
    "them.\n"
    "\n"
    "An id does not contain its layout, so a wrong --layout shows wrong fields.  `vesta guess` lists likely\n"
    "layouts.  If you name the namespace (with -c, --store, --path, --namespace, or with VESTA_CONFIG,\n"
    "VESTA_STORE, VESTA_NAMESPACE in the environment), the command uses its layout and also shows the\n"
    "process that held the worker id.\n"
    "\n"
    "With --mask the ids are masked: the keys in the namespace's config reveal them.  With --tag they are\n"
    "numbers of a counter of the config.  More: docs/masks.md.\n"
    "\n"
    "With - the command copies the text of stdin and marks each id in it.\n"
    "\n"
    "  $ vesta explain --layout snowflake 2006515713438674944\n"
    "  2006515713438674944  read as snowflake\n"
    "\n"
    "    0 00110111101100010010011011010010000111111 0000000111 000000000000\n"
    "    │ │                                         │          └─ seq 0\n"
    "    │ │                                         └─ worker 7\n"
    "    │ └─ time 478390625343  2026-01-01T00:00:00Z\n"
    "    └─ sign 0\n"
    "\n"
    "    hex 1bd893690fc07000   base32 1QP4KD47W0W00   base62 2ODrWLs2sWu\n"
    "\n"
    "  $ vesta explain --json --layout vesta-legacy-second 1138729511026688\n"
    "  {\"id\":\"1138729511026688\",\"version\":0, ... \"worker\":1,\"unix_ms\":1432276864000,\n"
    "  \"iso\":\"2015-05-22T06:41:04Z\"}\n"
    "\n"
    "  $ journalctl -u shop | vesta explain -c /etc/vesta/vesta.lua -\n"
    "  ... order=2124694139118342144[2026-11-23T02:38:52.331Z worker=13 seq=0 web1\n"
    "  pid 812] saved ...\n"
    "\n"
    "  $ vesta explain --form 'INV-{day:%Y%m%d}-{number:6}-{luhn}' \\\n"
    "    INV-20261122-000421-2\n"
    "  INV-20261122-000421-2  number 421 of the day 2026-11-22, counter ...\n"};
