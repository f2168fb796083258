/* overview.c -- a server on one screen: a line for each namespace, and what is asked of it. */
#include "cli/top/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_MIN 15
#define BARS_MIN 16 /* what 80 columns have room for */

struct widths {
    int name, bars;
};

/* What is more than 80 columns goes to names, as far as they need it, and to the seconds before. */
static struct widths widths_of(const struct vs_lines *lines, const struct vs_top_state *s) {
    size_t longest = NAME_MIN, more = lines->columns > 80 ? lines->columns - 80 : 0;
    for (size_t i = 0; i < s->ns_count; i++)
        if (strlen(s->ns[i].name) > longest) longest = strlen(s->ns[i].name);
    size_t name = longest - NAME_MIN < more || !lines->columns ? longest : NAME_MIN + more;
    size_t bars = BARS_MIN + (lines->columns ? more - (name - NAME_MIN) : 0);
    return (struct widths){(int)name, bars < VS_TOP_HISTORY ? (int)bars : VS_TOP_HISTORY};
}

/* Ids a second of the last seconds, each against the most of them. */
static void draw_bars(const struct vs_top_namespace *ns, int count, char *buf) {
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    float most = 1;
    for (int i = VS_TOP_HISTORY - count; i < VS_TOP_HISTORY; i++)
        if (ns->history[i] > most) most = ns->history[i];
    for (int i = VS_TOP_HISTORY - count; i < VS_TOP_HISTORY; i++)
        buf = stpcpy(buf, ns->history[i] < 0 ? " " : bars[(int)(ns->history[i] / most * 7)]);
}

static const char *life_of(const struct vs_top_state *s, const struct vs_top_namespace *ns, char buf[24]) {
    double years = (double)(ns->layout_end_ms - s->unix_ms) / (double)VS_TOP_YEAR_MS;
    snprintf(buf, 24, ns->layout_end_ms ? "%.*f y" : "-", years < 100 ? 1 : 0, years > 0 ? years : 0);
    return buf;
}

/* What somebody should know who sees only this line of a namespace. */
static void draw_news(struct vs_lines *lines, const struct vs_top_namespace *ns) {
    if (!ns->is_ready && *ns->detail) vs_line_fact(lines, VS_RED, "  why", "%s", ns->detail);
    if (!ns->is_ready && *ns->keeper && !strstr(ns->detail, ns->keeper))
        vs_line_fact(lines, "", "  its keeper", "%s", ns->keeper);
    if (*ns->pausing) vs_line_fact(lines, VS_YELLOW, "  pauses", "%s", ns->pausing);
    if (*ns->warning) vs_line_fact(lines, VS_YELLOW, "  warning", "%s", ns->warning);
    if (ns->drift_ms > VS_TOP_DRIFT_MS_MAX || ns->drift_ms < -VS_TOP_DRIFT_MS_MAX)
        vs_line_fact(lines, VS_YELLOW, "  clock", "%" PRId64 " ms off uptime", ns->drift_ms);
}

static void draw_namespace(struct vs_lines *lines, const struct vs_top_state *s, const struct vs_top_namespace *ns) {
    char ids[VS_GROUPED_MAX], bars[4 * VS_TOP_HISTORY + 1], worker[24] = "-", lease[VS_LEFT_MAX] = "none", life[24];
    struct widths width = widths_of(lines, s);
    bool is_ending = ns->layout_end_ms && ns->layout_end_ms - s->unix_ms < VS_TOP_YEAR_MS;
    draw_bars(ns, width.bars, bars);
    if (ns->has_lease) snprintf(worker, sizeof worker, "%" PRIu64, ns->worker);
    if (ns->has_lease) vs_left(ns->lease_end_ms - s->unix_ms, lease);
    const char *paint = !ns->is_ready ? VS_RED : ns->pauses_s > 0 || is_ending ? VS_YELLOW : "";
    vs_line(lines, paint, "%-*.*s %11s %s %7s %7s %7s %s", width.name, width.name, ns->name, vs_many(ns->ids_s, ids),
            bars, worker, lease, life_of(s, ns, life), ns->is_ready ? "ready" : ns->why);
    draw_news(lines, ns);
}

static void draw_given(struct vs_lines *lines, const struct vs_top_state *s) {
    char a[VS_GROUPED_MAX], b[VS_GROUPED_MAX], c[VS_GROUPED_MAX];
    double ids_s = s->others.ids_s, refused_s = s->others.refused_s;
    uint64_t ids = s->others.ids;
    size_t ready = s->others.count - s->others.unready, count = s->ns_count + s->others.count;
    for (size_t i = 0; i < s->ns_count; i++) {
        ids_s += s->ns[i].ids_s, refused_s += s->ns[i].refused_s;
        ids += s->ns[i].ids;
        ready += s->ns[i].is_ready;
    }
    vs_line_fact(lines, ready < count ? VS_RED : "", "ready", "%zu of %zu namespaces", ready, count);
    vs_line_fact(lines, "", "ids", "%s/s of %s, %s/s refused", vs_many(ids_s, a), vs_grouped(ids, b),
                 vs_many(refused_s, c));
}

static void draw_answers(struct vs_lines *lines, const struct vs_top_state *s) {
    char text[2048] = "", a[VS_GROUPED_MAX], b[VS_GROUPED_MAX];
    size_t used = 0;
    bool is_now = false;
    for (size_t i = 0; i < s->code_count && used + 100 < sizeof text; i++) {
        const struct vs_top_code *code = &s->code[i];
        is_now |= code->a_second > 0;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s/s of %s", i ? ", " : "", code->name,
                                 vs_many(code->a_second, a), vs_grouped(code->count, b));
    }
    vs_line_fact(lines, "", "answered", "%s/s of %s", vs_many(s->answered_s, a), vs_grouped(s->answered, b));
    vs_line_fact(lines, is_now ? VS_YELLOW : "", "refused", "%s", *text ? text : "nothing since the start");
}

static void draw_policies(struct vs_lines *lines, const struct vs_top_state *s) {
    bool is_wrong = s->is_stuck || !s->has_reloaded || *s->policy_error;
    size_t differ = 0;
    for (size_t i = 0; i < s->ns_count; i++)
        differ += s->ns[i].differs;
    if (s->has_policies)
        vs_line_fact(lines, is_wrong ? VS_YELLOW : "", "policies", "generation %" PRId64 "%s%s%s%s", s->generation,
                     s->is_stuck ? ", one does not come back" : "", s->has_reloaded ? "" : ", the last reload failed",
                     *s->policy_error ? ": " : "", s->policy_error);
    if (differ) vs_line_fact(lines, VS_YELLOW, "in shadow", "differed in %zu of the namespaces", differ);
}

void vs_draw_overview(struct vs_lines *lines, const struct vs_top_seen *seen) {
    const struct vs_top_state *s = seen->state;
    struct widths width = widths_of(lines, s);
    vs_line(lines, VS_CYAN, "%-*s %11s %-*s %7s %7s %7s %s", width.name, "NAMESPACE", "IDS/S", width.bars,
            "LAST SECONDS", "WORKER", "LEASE", "LIFE", "STATE");
    lines->scrolls = true;
    for (size_t i = 0; i < s->ns_count; i++)
        draw_namespace(lines, s, &s->ns[i]);
    if (s->others.count)
        vs_line(lines, "", "and %" PRIu64 " more, %" PRIu64 " of them not ready", s->others.count, s->others.unready);
    vs_line(lines, "", "%s", "");
    draw_given(lines, s);
    draw_answers(lines, s);
    draw_policies(lines, s);
}
