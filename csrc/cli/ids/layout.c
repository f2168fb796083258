/* layout.c -- `layout` shows what an id's bits mean and how long they last; `fit` proposes a layout for a need. */
#include "cli/cli.h"
#include "cli/ids/prove.h"
#include "command/options.h"
#include "id/id.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TEXT_MAX 4096 /* a layout as it was written, spread over words */

static uint64_t workers_of(const struct vesta_layout *layout) {
    return layout->worker < 0 ? 1 : layout->field[layout->worker].max + 1;
}

/* "ms", "10 ms": what ids are counted by. */
static const char *unit_name(const struct vesta_layout *layout, char *buf) {
    vs_unit(layout, buf);
    size_t digits = strspn(buf, "0123456789");
    if (digits == 1 && *buf == '1') return buf + 1;
    memmove(buf + digits + 1, buf + digits, strlen(buf + digits) + 1);
    buf[digits] = ' ';
    return buf;
}

/* ------------------------------------------------------------------ layout */

static int print_presets(int json, int64_t now_ms) {
    const struct vesta_preset *preset;
    struct vesta_layout layout;
    char iso[VESTA_ISO_MAX], epoch[VESTA_ISO_MAX], unit[VS_UNIT_MAX];
    if (!json) vs_outf("%-19s  %-17s  %s\n", "PRESET", "ENDS", "ABOUT");
    for (int i = 0; (preset = vesta_preset_at(i)); i++) {
        if (vesta_layout_parse(preset->text, &layout, NULL) != VESTA_OK) continue;
        int64_t end_ms = vesta_layout_end_ms(&layout);
        vs_iso(end_ms, iso);
        if (!json) {
            strcpy(iso + strcspn(iso, "T"), end_ms <= now_ms ? " (over)" : "");
            vs_outf("%-19s  %-17s  ", preset->name, iso);
            vs_out_fitted(preset->about, 40, 40);
            continue;
        }
        vs_outf(
            "{\"name\":\"%s\",\"text\":\"%s\",\"unit\":\"%s\",\"epoch\":\"%s\",\"end\":\"%s\",\"over\":%s,\"about\":",
            preset->name, preset->text, vs_unit(&layout, unit), vs_iso(layout.epoch_ms, epoch), iso,
            end_ms <= now_ms ? "true" : "false");
        vs_out_json(preset->about);
        vs_outf(",\"source\":\"%s\",\"issue\":%s,\"why\":", preset->source, preset->may_issue ? "true" : "false");
        vs_out_json(preset->why);
        vs_outf("}\n");
    }
    return VS_DONE;
}

static void print_layout_json(const struct vesta_layout *layout, const char *text) {
    char epoch[VESTA_ISO_MAX], end[VESTA_ISO_MAX], unit[VS_UNIT_MAX];
    vs_outf("{\"text\":\"%s\",\"fields\":[", text);
    for (int i = 0; i < layout->field_count; i++) {
        const struct vesta_field *f = &layout->field[i];
        vs_outf("%s{\"name\":\"%s\",\"width\":%d,\"shift\":%d,\"max\":%" PRIu64, i ? "," : "", f->name, f->width,
                f->shift, f->max);
        if (f->low_width) vs_outf(",\"low_width\":%d,\"low_shift\":%d", f->low_width, f->low_shift);
        if (f->fixed) vs_outf(",\"constant\":%" PRIu64, f->value);
        vs_outf("}");
    }
    vs_outf("],\"unit\":\"%s\",\"unit_ms\":%g,\"epoch\":\"%s\",\"end\":\"%s\",\"per_second\":%" PRIu64
            ",\"workers\":%" PRIu64 ",\"issue\":%s,\"fingerprint\":\"%016" PRIx64 "\"}\n",
            vs_unit(layout, unit), layout->unit_us / 1000.0, vs_iso(layout->epoch_ms, epoch),
            vs_iso(vesta_layout_end_ms(layout), end), vs_per_second(layout), workers_of(layout),
            layout->read_only ? "false" : "true", layout->fingerprint);
}

static void print_limits(const struct vesta_layout *layout, int64_t now_ms) {
    char a[VS_GROUPED_MAX], b[VS_GROUPED_MAX], iso[VESTA_ISO_MAX], ago[VS_AGO_MAX], unit[VS_UNIT_MAX];
    int64_t end_ms = vesta_layout_end_ms(layout);
    vs_outf("  ids per worker  %s in a second (%s per %s)\n", vs_grouped(vs_per_second(layout), a),
            vs_grouped(vs_seq(layout)->max + 1, b), unit_name(layout, unit));
    vs_outf("  workers         %s\n", vs_grouped(workers_of(layout), a));
    vs_outf("  time            %s to %s, ", vs_iso(layout->epoch_ms, iso), vs_iso(end_ms, (char[VESTA_ISO_MAX]){0}));
    vs_outf("%s%s\n", end_ms <= now_ms ? "ended " : "ends ", vs_ago(end_ms, now_ms, ago));
    vs_outf("  fingerprint     %016" PRIx64 "\n", layout->fingerprint);
}

static void print_over(const struct vesta_layout *layout, int64_t now_ms) {
    char iso[VESTA_ISO_MAX];
    int64_t end_ms = vesta_layout_end_ms(layout);
    if (end_ms > now_ms) return;
    vs_outf("\n  !! The time of this layout ended at %s.  It can still read old ids but makes no new ones;\n  !! an "
            "override extends it: a later epoch=, or a wider time field.\n",
            vs_iso(end_ms, iso));
}

/* Words behind `layout` are one text: quotes around it are optional. */
static int join_words(int count, char **words, char *text) {
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        size_t n = strlen(words[i]);
        if (used + n + 2 > TEXT_MAX) return vs_usage("the layout is longer than %d bytes", TEXT_MAX);
        memcpy(text + used, words[i], n);
        used += n;
        text[used++] = ' ';
    }
    text[used ? used - 1 : 0] = '\0';
    return VS_DONE;
}

static int run_layout(int argc, char **argv) {
    int json = 0;
    const char *named = NULL;
    struct vs_prove prove = {0};
    const struct vs_option table[] = {
        VS_TEXT("layout", &named, "TEXT|PRESET", "the same as the operand"),
        VS_TEXT("from", &prove.from, "TIME", "prove: when the second layout's ids begin (default: now)"),
        VS_TEXT("until", &prove.until, "TIME", "prove: ids made until then (default: for ever)"),
        VS_SWITCH("json", &json, "print JSON objects"),
        {0},
    };
    char text[TEXT_MAX], canonical[VESTA_LAYOUT_TEXT_MAX];
    struct vesta_layout layout;
    int64_t now_ms = vs_now_ms();
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (argc && strcmp(argv[0], "prove") == 0) {
        if (named) return vs_usage("prove has two layouts as operands, and no --layout");
        prove.json = json;
        return vs_prove(&prove, argc - 1, argv + 1);
    }
    if (prove.from || prove.until) return vs_usage("--from and --until are for prove");
    if (argc && named) return vs_usage("the layout is given twice: as %s and as --layout", vs_shown_text(argv[0]));
    if (argc == 0 && !named) return print_presets(json, now_ms);
    if ((rc = join_words(argc, argv, text)) != VS_DONE) return rc;
    if ((rc = vs_read_layout(named ? named : text, &layout)) != VS_DONE) return rc;
    vesta_layout_text(&layout, canonical);
    if (json) {
        print_layout_json(&layout, canonical);
        return VS_DONE;
    }
    vs_outf("%s\n\n", canonical);
    vs_draw_layout(&layout);
    vs_outf("\n");
    print_limits(&layout, now_ms);
    if (layout.read_only) vs_outf("\n  Its ids can be read, not issued: %s.\n", layout.read_only);
    print_over(&layout, now_ms);
    return VS_DONE;
}

/* ------------------------------------------------------------------ fit */

/* The first of January of this year: a date that people remember, and close to now. */
static int64_t year_start_ms(int64_t now_ms) {
    time_t now = (time_t)(now_ms / 1000);
    struct tm tm;
    gmtime_r(&now, &tm);
    tm = (struct tm){.tm_year = tm.tm_year, .tm_mday = 1};
    return (int64_t)timegm(&tm) * 1000;
}

#define WHY_MAX (sizeof((struct vesta_error){0}.text) + 32)

/* Why the unit is this one.  Shape: buf of WHY_MAX bytes. */
static const char *why_unit(const struct vesta_proposal *fit, const struct vesta_fit_need *need, bool was_given,
                            char *buf) {
    struct vesta_proposal other;
    struct vesta_error err = {0};
    if (was_given)
        snprintf(buf, WHY_MAX, "as was asked");
    else if (fit->layout.unit_us == 1000)
        snprintf(buf, WHY_MAX, "clocks of hosts agree no better, and dates elsewhere know no finer");
    else if (vs_fit_in(need, 1000, &other, &err) != VESTA_OK)
        snprintf(buf, WHY_MAX, "with 1ms %s", err.text);
    return buf;
}

static void print_fit(const struct vesta_proposal *fit, const struct vesta_fit_need *need, bool has_unit, int json) {
    char text[VESTA_LAYOUT_TEXT_MAX], iso[VESTA_ISO_MAX], a[VS_GROUPED_MAX], b[VS_GROUPED_MAX], unit[VS_UNIT_MAX];
    char why[WHY_MAX] = "";
    vesta_layout_text(&fit->layout, text);
    vs_iso(fit->end_ms, iso);
    vs_unit(&fit->layout, unit);
    why_unit(fit, need, has_unit, why);
    if (json) {
        vs_outf("{\"text\":\"%s\",\"rate_max\":%.0f,\"nodes_max\":%" PRIu64 ",\"years_max\":%.2f,\"end\":\"%s\",", text,
                fit->rate_max, fit->nodes_max, fit->years_max, iso);
        vs_outf("\"unit\":\"%s\",\"why\":\"%s\"}\n", unit, why);
        return;
    }
    vs_outf("%s\n\n", text);
    vs_draw_layout(&fit->layout);
    vs_outf("\n  %-26s  %14s  %14s\n", "", "needed", "possible");
    vs_outf("  %-26s  %14s  %14s\n", "ids per second and node", vs_grouped((uint64_t)(need->rate + 0.5), a),
            vs_grouped((uint64_t)fit->rate_max, b));
    vs_outf("  %-26s  %14s  %14s\n", "nodes", vs_grouped(need->nodes, a), vs_grouped(fit->nodes_max, b));
    vs_outf("  %-26s  %14.1f  %14.1f  until %s\n\n  ", "years", need->years, fit->years_max, iso);
    vs_out_fittedf(2, 2, "The unit is %s: %s.", unit, why);
}

static int run_fit(int argc, char **argv) {
    const char *rate = NULL, *years = NULL, *epoch = NULL, *unit = NULL;
    int json = 0;
    struct vesta_fit_need need = {.epoch_ms = year_start_ms(vs_now_ms())};
    const struct vs_option table[] = {
        VS_TEXT("rate", &rate, "N/s", "ids per second that one node must be able to give: 50000/s, 50k/s, 200/ms"),
        {"nodes", 0, VS_OPT_COUNT, &need.nodes, "N", "workers running at the same time", 1, UINT64_MAX, NULL},
        VS_TEXT("years", &years, "N", "how long the time field must last"),
        VS_TEXT("epoch", &epoch, "TIME", "when time 0 is (default: January 1 of this year)"),
        VS_TEXT("unit", &unit, "UNIT", "what the time counts, from 1us to 1s (default: 1ms, if it does)"),
        VS_SWITCH("json", &json, "print a JSON object"),
        {0},
    };
    struct vesta_proposal fit;
    struct vesta_error err;
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (argc) return vs_usage("unexpected operand %s; use options to say what is needed", vs_shown_text(argv[0]));
    if (!rate || !years || !need.nodes)
        return vs_usage("--%s is missing; --rate, --nodes and --years are needed", !rate    ? "rate"
                                                                                   : !years ? "years"
                                                                                            : "nodes");
    if ((rc = vs_read_rate("--rate", rate, &need.rate)) != VS_GO) return rc;
    if ((rc = vs_read_years("--years", years, &need.years)) != VS_GO) return rc;
    if (epoch && vesta_time_parse(epoch, &need.epoch_ms, &err) != VESTA_OK) return vs_report(&err);
    int32_t unit_us = unit ? vs_unit_read((struct vs_slice){unit, strlen(unit)}) : 0;
    if (unit && !unit_us) return vs_usage("--unit is %s, which must be " VS_UNITS, vs_shown_text(unit));
    if ((unit ? vs_fit_in(&need, unit_us, &fit, &err) : vesta_fit(&need, &fit, &err)) != VESTA_OK) {
        vs_say("%s", err.text);
        return VS_FAILED;
    }
    print_fit(&fit, &need, unit, json);
    return VS_DONE;
}

const struct vs_command vs_fit_command = {
    "fit", run_fit, "propose a layout that meets given needs", "fit --rate N/s --nodes N --years N [OPTION...]",
    "Splits 63 bits so that each node can give that many ids per second, that many nodes can run at the\n"
    "same time, and the time field lasts that long; shows how much is left to spare.  The time counts\n"
    "milliseconds if that does, else 10 ms, 100 ms or seconds, else 100, 10 or 1 us: it says why.\n"
    "\n"
    "  $ vesta fit --rate 50k/s --nodes 4000 --years 30 --epoch 2026-01-01T00:00:00Z\n"
    "  sign:1=0 time:40 seq:11 worker:12 unit=1ms epoch=2026-01-01T00:00:00Z\n"
    "  ...\n"
    "\n"
    "  $ vesta fit --rate 2000/day --nodes 3 --years 100 --json\n"
    "  {\"text\":\"sign:1=0 time:42 seq:19 worker:2 unit=1ms ...\n"};

const struct vs_command vs_layout_command = {
    "layout", run_layout, "the presets, or what a layout means and how long it lasts",
    "layout [OPTION...] [TEXT|PRESET | prove A B]",
    "Without a layout: the presets, one per line.  With one: its canonical text, a picture of the bits, how\n"
    "many ids it has room for, when its time ends, and the fingerprint that generator files are checked\n"
    "against.  A preset may be followed by overrides.\n"
    "\n"
    "prove: whether an id of layout A can ever be equal to one of layout B: by\n"
    "which bit they differ, or by which times, or an id that both can make.  Exit\n"
    "code 0 says that they differ, 1 that they can be equal.  The ids of A are of\n"
    "any time, those of B are made --from then on, and both --until then.\n"
    "\n"
    "  $ vesta layout\n"
    "  PRESET               ENDS               ABOUT\n"
    "  vesta-second         2049-01-09         Vesta (Java)'s max-peak since ...\n"
    "  ...\n"
    "\n"
    "  $ vesta layout uid epoch=2026-01-01T00:00:00Z\n"
    "  sign:1=0 time:28 worker:22 seq:13 unit=1s epoch=2026-01-01T00:00:00Z\n"
    "  ...\n"
    "\n"
    "  $ vesta layout prove vesta-second vesta-milli\n"
    "  never equal: bit 62 is 0 in ids of the first (type=0), 1 in the ...\n"};
