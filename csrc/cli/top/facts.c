/* facts.c -- all that is told of each namespace, and of the policies; as the page has it. */
#include "cli/top/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WORDS_MAX 1024

static void text(struct vs_slice object, const char *name, char *buf, size_t size) {
    vs_value_text(vs_value_member(object, name), buf, size);
}

static int64_t number(struct vs_slice object, const char *name) {
    return vs_value_number(vs_value_member(object, name));
}

/* "full 12, lease 3": the members that are more than 0. */
static const char *counts_of(struct vs_slice object, char buf[WORDS_MAX]) {
    struct vs_slice name, value;
    char n[VS_GROUPED_MAX];
    size_t used = 0;
    buf[0] = '\0';
    while (used + 100 < WORDS_MAX && vs_value_next(&object, &name, &value))
        if (vs_value_number(value) > 0)
            used += (size_t)snprintf(buf + used, WORDS_MAX - used, "%s%.*s %s", used ? ", " : "",
                                     (int)(name.length < 40 ? name.length : 40), name.at,
                                     vs_grouped((uint64_t)vs_value_number(value), n));
    return buf;
}

/* ------------------------------------------------------------------ a namespace */

static void draw_clocks(struct vs_lines *lines, const struct vs_top_state *s, const struct vs_top_namespace *ns) {
    char left[VS_LEFT_MAX], span[VS_AGO_MAX], iso[VESTA_ISO_MAX];
    int64_t lease_ms = ns->lease_end_ms - s->unix_ms, life_ms = ns->layout_end_ms - s->unix_ms;
    bool is_off = ns->drift_ms > VS_TOP_DRIFT_MS_MAX || ns->drift_ms < -VS_TOP_DRIFT_MS_MAX;
    if (ns->has_lease && lease_ms > 0)
        vs_line_fact(lines, "", "  worker", "%" PRIu64 ", for %s more unless renewed", ns->worker,
                     vs_left(lease_ms, left));
    else if (ns->has_lease)
        vs_line_fact(lines, "", "  worker", "%" PRIu64 ", until now: it is renewed when it is needed", ns->worker);
    if (ns->has_drift)
        vs_line_fact(lines, is_off ? VS_YELLOW : "", "  clock", "%" PRId64 " ms off uptime since it was confirmed",
                     ns->drift_ms);
    if (ns->layout_end_ms && life_ms > 0)
        vs_line_fact(lines, life_ms < VS_TOP_YEAR_MS ? VS_RED : "", "  layout lasts", "%s more, to %s",
                     vs_span((uint64_t)life_ms, span), vs_iso(ns->layout_end_ms, iso));
    else if (ns->layout_end_ms)
        vs_line_fact(lines, VS_RED, "  layout lasts", "it ended at %s", vs_iso(ns->layout_end_ms, iso));
}

/* What a policy that is not obeyed would have said. */
static void draw_shadow(struct vs_lines *lines, const struct vs_top_seen *seen, const struct vs_top_namespace *ns,
                        struct vs_slice shadow) {
    char policy[200], hook[64], said[200], done[200], why[200], ago[VS_AGO_MAX], n[3][VS_GROUPED_MAX];
    int64_t last_ms = vs_value_span(vs_value_member(shadow, "last_unix_ms"));
    if (shadow.length == 0) return;
    text(shadow, "policy", policy, sizeof policy);
    vs_line_fact(lines, ns->differs ? VS_YELLOW : "", "  in shadow", "%s: agreed %s, differed %s, failed %s", policy,
                 vs_grouped((uint64_t)number(shadow, "agreed"), n[0]),
                 vs_grouped((uint64_t)number(shadow, "differed"), n[1]),
                 vs_grouped((uint64_t)number(shadow, "failed"), n[2]));
    if (last_ms == 0) return;
    text(shadow, "hook", hook, sizeof hook);
    text(shadow, "said", said, sizeof said);
    text(shadow, "done", done, sizeof done);
    text(shadow, "why", why, sizeof why);
    vs_line_fact(lines, "", "", "%s, %s: %s%s%s%s%s%s", vs_ago(last_ms, seen->state->unix_ms, ago), hook, said,
                 *done ? ", done was " : "", done, *why ? " (" : "", why, *why ? ")" : "");
}

static void draw_namespace(struct vs_lines *lines, const struct vs_top_seen *seen, const struct vs_top_namespace *ns,
                           struct vs_slice object) {
    char a[VS_GROUPED_MAX], b[VS_GROUPED_MAX], words[WORDS_MAX];
    char layout[VESTA_LAYOUT_TEXT_MAX];
    text(object, "layout", layout, sizeof layout);
    vs_line(lines, ns->is_ready ? "" : VS_RED, "%s: %s", ns->name, ns->is_ready ? "ready" : "not ready");
    if (!ns->is_ready) vs_line_fact(lines, VS_RED, "  why", "%s: %s", ns->why, ns->detail);
    vs_line_fact(lines, "", "  ids", "%s/s of %s", vs_many(ns->ids_s, a), vs_grouped(ns->ids, b));
    vs_line_fact(lines, ns->refused_s > 0 ? VS_YELLOW : "", "  refused", "%s/s of %s", vs_many(ns->refused_s, a),
                 vs_grouped(ns->refused, b));
    if (*counts_of(vs_value_member(object, "pauses"), words))
        vs_line_fact(lines, ns->pauses_s > 0 ? VS_YELLOW : "", "  pauses met", "%s", words);
    draw_clocks(lines, seen->state, ns);
    if (*layout) vs_line_fact(lines, "", "  layout", "%s", layout);
    if (*ns->keeper && !strstr(ns->detail, ns->keeper)) vs_line_fact(lines, "", "  keeper", "%s", ns->keeper);
    draw_shadow(lines, seen, ns, vs_value_member(object, "shadow"));
    if (*ns->warning) vs_line_fact(lines, VS_YELLOW, "  warning", "%s", ns->warning);
}

void vs_draw_namespaces(struct vs_lines *lines, const struct vs_top_seen *seen) {
    struct vs_slice spaces = vs_value_member(seen->event, "namespaces"), name, value;
    lines->scrolls = true;
    for (size_t i = 0; i < seen->state->ns_count && vs_value_next(&spaces, &name, &value); i++) {
        if (i > 0) vs_line(lines, "", "%s", "");
        draw_namespace(lines, seen, &seen->state->ns[i], value);
    }
}

/* ------------------------------------------------------------------ policies, answers */

static void draw_said(struct vs_lines *lines, struct vs_slice calls) {
    struct vs_slice name, value;
    char words[WORDS_MAX], hook[64];
    size_t hooks = 0;
    while (hooks < 64 && vs_value_next(&calls, &name, &value)) {
        snprintf(hook, sizeof hook, "  %.*s", (int)(name.length < 40 ? name.length : 40), name.at);
        if (*counts_of(value, words)) hooks++, vs_line_fact(lines, "", hook, "%s", words);
    }
    if (hooks == 0) vs_line_fact(lines, "", "  asked", "nothing yet");
}

static void draw_policies(struct vs_lines *lines, const struct vs_top_seen *seen, struct vs_slice policies) {
    const struct vs_top_state *s = seen->state;
    char iso[VESTA_ISO_MAX], ago[VS_AGO_MAX];
    int64_t reload_ms = vs_value_span(vs_value_member(policies, "reload_unix_ms"));
    int64_t error_ms = vs_value_span(vs_value_member(policies, "last_error_unix_ms"));
    vs_line(lines, VS_CYAN, "POLICIES");
    if (!s->has_policies) {
        vs_line(lines, "", "  this server has none");
        return;
    }
    vs_line_fact(lines, "", "  generation", "%" PRId64, s->generation);
    vs_line_fact(lines, s->is_stuck ? VS_RED : "", "  stuck", "%s", s->is_stuck ? "yes: one does not come back" : "no");
    vs_line_fact(lines, s->has_reloaded ? "" : VS_RED, "  last reload", "%s, %s",
                 vs_iso(reload_ms - reload_ms % 1000, iso), s->has_reloaded ? "good" : "refused: the old ones stay");
    draw_said(lines, vs_value_member(policies, "calls"));
    if (*s->policy_error)
        vs_line_fact(lines, VS_RED, "  last error", "%s (%s)", s->policy_error, vs_ago(error_ms, s->unix_ms, ago));
}

void vs_draw_policies(struct vs_lines *lines, const struct vs_top_seen *seen) {
    const struct vs_top_state *s = seen->state;
    char a[VS_GROUPED_MAX], b[VS_GROUPED_MAX];
    lines->scrolls = true;
    draw_policies(lines, seen, vs_value_member(seen->event, "policies"));
    vs_line(lines, "", "%s", "");
    vs_line(lines, VS_CYAN, "%-20s %10s %15s", "ANSWERS", "A SECOND", "SINCE THE START");
    vs_line(lines, "", "%-20s %10s %15s", "  ok", vs_many(s->answered_s, a), vs_grouped(s->answered, b));
    for (size_t i = 0; i < s->code_count; i++)
        vs_line(lines, s->code[i].a_second > 0 ? VS_YELLOW : "", "  %-18s %10s %15s", s->code[i].name,
                vs_many(s->code[i].a_second, a), vs_grouped(s->code[i].count, b));
}
