/* rows.c -- tables that are asked for while they are seen: worker numbers, tags. */
#include "cli/top/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define UNTIL_COLUMNS 110 /* so wide is a terminal that has room for a date more */
#define TAG_MIN 18

static int64_t number(struct vs_slice object, const char *name) {
    return vs_value_span(vs_value_member(object, name));
}

/* ------------------------------------------------------------------ worker numbers */

static bool has_until(const struct vs_lines *lines) {
    return lines->columns == 0 || lines->columns >= UNTIL_COLUMNS;
}

/* How a worker number's lease ends: by the store's clock where the server says so, else from when the store was read.
 */
struct end {
    bool is_known;
    int64_t unix_ms; /* by the server's clock */
};

static struct end end_of(const struct vs_top_seen *seen, struct vs_slice worker) {
    struct vs_slice end = vs_value_member(worker, "end_ms"), left = vs_value_member(worker, "left_ms");
    int64_t read_ms = vs_value_span(vs_value_member(seen->said, "read_unix_ms"));
    int64_t store_ms = vs_value_span(vs_value_member(seen->said, "store_ms"));
    int64_t left_ms = end.length ? vs_value_span(end) - store_ms : vs_value_span(left);
    return (struct end){end.length || left.length, read_ms + left_ms};
}

static void draw_worker(struct vs_lines *lines, const struct vs_top_seen *seen, struct vs_slice worker) {
    char n[24], state[16], holder[200], identity[200], left[VS_LEFT_MAX] = "-", clock[32] = "-";
    char iso[VESTA_ISO_MAX] = "-", until[VESTA_ISO_MAX + 2] = "";
    struct vs_slice clock_ms = vs_value_member(worker, "clock_ms");
    struct end end = end_of(seen, worker);
    vs_value_text(vs_value_member(worker, "worker"), n, sizeof n);
    vs_value_text(vs_value_member(worker, "state"), state, sizeof state);
    vs_value_text(vs_value_member(worker, "holder"), holder, sizeof holder);
    vs_value_text(vs_value_member(worker, "identity"), identity, sizeof identity);
    if (end.is_known) vs_left(end.unix_ms - seen->state->unix_ms, left);
    if (end.is_known) vs_iso(end.unix_ms - end.unix_ms % 1000, iso);
    if (has_until(lines)) snprintf(until, sizeof until, "%-22s", iso);
    if (clock_ms.length) snprintf(clock, sizeof clock, "%+.3f s", (double)vs_value_span(clock_ms) / 1000);
    const char *paint = strcmp(state, "expired") == 0 ? VS_YELLOW : "";
    vs_line(lines, paint, "%7s  %-8s %9s  %s%11s  %s  %s", n, state, left, until, clock, *holder ? holder : "-",
            identity);
}

static void draw_standing(struct vs_lines *lines, const struct vs_top_seen *seen, int64_t read_ms) {
    char name[VESTA_NAMESPACE_MAX], as[VESTA_NAMESPACE_MAX], ago[VS_AGO_MAX], error[512], n[3][VS_GROUPED_MAX];
    vs_value_text(vs_value_member(seen->said, "namespace"), name, sizeof name);
    vs_value_text(vs_value_member(seen->said, "error"), error, sizeof error);
    vs_value_text(vs_value_member(seen->said, "leased_as"), as, sizeof as);
    int64_t age_ms = seen->state->unix_ms - read_ms;
    if (vs_value_member(seen->said, "held").length)
        vs_line(lines, "", "%s%s%s: %s held, %s expired, %s free; the store was read %s", name,
                *as ? ", leased as " : "", as, vs_grouped((uint64_t)number(seen->said, "held"), n[0]),
                vs_grouped((uint64_t)number(seen->said, "expired"), n[1]),
                vs_grouped((uint64_t)number(seen->said, "free"), n[2]),
                age_ms < 1500 ? "just now" : vs_ago(read_ms, seen->state->unix_ms, ago));
    else
        vs_line(lines, "", "%s: its store was not read yet", name);
    if (*error) vs_line_fact(lines, VS_RED, "", "%s", error);
}

void vs_draw_workers(struct vs_lines *lines, const struct vs_top_seen *seen) {
    struct vs_slice workers = vs_value_member(seen->said, "workers"), name, value;
    int64_t read_ms = vs_value_span(vs_value_member(seen->said, "read_unix_ms"));
    char more[VS_GROUPED_MAX];
    if (seen->state->ns_count == 0) {
        vs_line(lines, "", "this server has no namespaces");
        return;
    }
    if (!vs_draw_answer(lines, seen, vs_top_views[VS_SEES_WORKERS].every_ms)) return;
    draw_standing(lines, seen, read_ms);
    if (number(seen->said, "held") + number(seen->said, "expired") + number(seen->said, "free") == 0) return;
    vs_line(lines, VS_CYAN, "%7s  %-8s %9s  %s%11s  %s", "NUMBER", "STATE", "LEFT",
            has_until(lines) ? "UNTIL                 " : "", "OFF STORE", "HOLDER, IDENTITY");
    lines->scrolls = true;
    while (vs_value_next(&workers, &name, &value))
        draw_worker(lines, seen, value);
    if (number(seen->said, "more") > 0)
        vs_line(lines, "", "and %s more: vesta workers lists them all",
                vs_grouped((uint64_t)number(seen->said, "more"), more));
}

/* ------------------------------------------------------------------ tags */

static int tag_width(const struct vs_lines *lines) {
    size_t more = lines->columns > 80 ? lines->columns - 80 : lines->columns ? 0 : 22;
    return (int)(TAG_MIN + (more < VESTA_NAMESPACE_MAX - TAG_MIN ? more : VESTA_NAMESPACE_MAX - TAG_MIN));
}

static const char *count_of(struct vs_slice tag, const char *name, char buf[VS_GROUPED_MAX]) {
    struct vs_slice value = vs_value_member(tag, name);
    return value.length ? vs_grouped((uint64_t)vs_value_number(value), buf) : "-";
}

static void draw_troubles(struct vs_lines *lines, struct vs_slice tag) {
    struct vs_slice databases = vs_value_member(tag, "databases"), name, value;
    char text[512], store[64];
    if (*vs_value_text(vs_value_member(tag, "warning"), text, sizeof text))
        vs_line_fact(lines, VS_YELLOW, "  warning", "%s", text);
    for (int i = 0; i < 16 && vs_value_next(&databases, &name, &value); i++)
        if (*vs_value_text(vs_value_member(value, "trouble"), text, sizeof text))
            vs_line_fact(lines, VS_RED, "  trouble", "%s: %s",
                         vs_value_text(vs_value_member(value, "store"), store, sizeof store), text);
}

static void draw_tag(struct vs_lines *lines, struct vs_slice tag) {
    char name[VESTA_NAMESPACE_MAX], order[16], n[5][VS_GROUPED_MAX];
    int width = tag_width(lines);
    vs_value_text(vs_value_member(tag, "tag"), name, sizeof name);
    vs_value_text(vs_value_member(tag, "order"), order, sizeof order);
    bool has_buffers = strcmp(order, "trend") == 0; /* the other orders keep nothing in memory */
    bool is_out = has_buffers && number(tag, "count") > 0 && number(tag, "left") == 0 && number(tag, "next_left") == 0;
    vs_line(lines, is_out ? VS_YELLOW : "", "%-*.*s %-6.6s %13s %11s %11s %8s %7s", width, width, name, order,
            count_of(tag, "given", n[0]), has_buffers ? count_of(tag, "left", n[1]) : "-",
            has_buffers ? count_of(tag, "next_left", n[2]) : "-", has_buffers ? count_of(tag, "per_s", n[3]) : "-",
            count_of(tag, "pauses", n[4]));
    draw_troubles(lines, tag);
}

void vs_draw_segments(struct vs_lines *lines, const struct vs_top_seen *seen) {
    struct vs_slice tags = vs_value_member(seen->said, "segments"), name, value;
    char text[512];
    int width = tag_width(lines);
    size_t count = 0;
    if (!vs_draw_answer(lines, seen, vs_top_views[VS_SEES_SEGMENTS].every_ms)) return;
    if (number(seen->said, "unread") > 0)
        vs_line_fact(lines, VS_RED, "not read", "%" PRId64 " of the tables: %s", number(seen->said, "unread"),
                     vs_value_text(vs_value_member(seen->said, "unread_why"), text, sizeof text));
    if (*seen->after) vs_line(lines, "", "tags behind %s", seen->after);
    vs_line(lines, VS_CYAN, "%-*s %-6s %13s %11s %11s %8s %7s", width, "TAG", "ORDER", "GIVEN", "LEFT HERE",
            "NEXT RANGE", "A SECOND", "PAUSES");
    lines->scrolls = true;
    for (; vs_value_next(&tags, &name, &value); count++)
        draw_tag(lines, value);
    if (count == 0) vs_line(lines, "", "this server has no tags");
    if (*vs_value_text(vs_value_member(seen->said, "next"), text, sizeof text))
        vs_line(lines, "", "more tags come behind %s", text);
}
