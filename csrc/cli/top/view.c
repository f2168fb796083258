/* view.c -- the table of views, and what several of them draw. */
#include "cli/top/view.h"

#include <inttypes.h>
#include <stdio.h>

#define LATE_MS 4000

const struct vs_top_view vs_top_views[VS_TOP_VIEWS] = {
    {"overview", "each namespace in a line; answers and refusals a second", NULL, 0, VS_PICKS_NOTHING,
     vs_draw_overview},
    {"namespaces", "all of each: pauses, clock, layout, policies in shadow", NULL, 0, VS_PICKS_NOTHING,
     vs_draw_namespaces},
    {"workers", "who holds which worker number until when, by the store", "/admin/workers", 1000, VS_PICKS_A_NAMESPACE,
     vs_draw_workers},
    {"segments", "tags and their buffers", "/v1/segments", 1000, VS_PICKS_A_PAGE, vs_draw_segments},
    {"policies", "what policies said; answers since the start", NULL, 0, VS_PICKS_NOTHING, vs_draw_policies},
    {"hour", "ids and refusals a second over the last hour", "/admin/history", 10000, VS_PICKS_ALL_OR_ONE,
     vs_draw_hour},
};

const char *vs_many(double n, char buf[VS_GROUPED_MAX]) {
    if (n > 0 && n < 9.95)
        snprintf(buf, VS_GROUPED_MAX, "%.1f", n);
    else
        vs_grouped(n > 0 ? (uint64_t)(n + 0.5) : 0, buf);
    return buf;
}

bool vs_draw_answer(struct vs_lines *lines, const struct vs_top_seen *seen, int64_t every_ms) {
    char ago[VS_AGO_MAX];
    bool is_there = seen->said.length > 0, is_old = is_there && seen->now_ms - seen->said_ms > every_ms + LATE_MS;
    if (!is_there && !*seen->trouble) vs_line(lines, "", "it is asked");
    if (is_old)
        vs_line_fact(lines, VS_RED, "STALE", "this was said %s%s%s", vs_ago(seen->said_ms, seen->now_ms, ago),
                     *seen->trouble ? ": " : "", seen->trouble);
    else if (*seen->trouble)
        vs_line_fact(lines, VS_RED, "not told", "%s", seen->trouble);
    return is_there;
}
