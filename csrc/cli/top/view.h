/* view.h -- what `vesta top` can show of a server, each a table's row; what a view has to draw with. */
#ifndef VS_TOP_VIEW_H
#define VS_TOP_VIEW_H

#include "cli/top/lines.h"
#include "cli/top/state.h"

/* What a view knows.  Nothing in it is to be believed: it came from whoever listens there. */
struct vs_top_seen {
    const struct vs_top_state *state;
    struct vs_slice event;  /* the newest, as JSON */
    struct vs_slice said;   /* the newest answer to the view's own question; empty: none yet */
    int64_t said_ms;        /* when it came */
    const char *trouble;    /* why there is no newer one; "" */
    const char *of, *after; /* the namespace that was picked, "" for all; the tag that a page begins behind */
    int64_t now_ms;
};

enum vs_top_pick { VS_PICKS_NOTHING, VS_PICKS_A_NAMESPACE, VS_PICKS_ALL_OR_ONE, VS_PICKS_A_PAGE };

struct vs_top_view {
    const char *name, *about;
    const char *path; /* what is asked for it while it is seen; NULL: the events have it */
    int64_t every_ms;
    enum vs_top_pick picks;
    void (*draw)(struct vs_lines *lines, const struct vs_top_seen *seen);
};

#define VS_TOP_VIEW_NAMES "overview|namespaces|workers|segments|policies|hour"
enum { VS_SEES_WORKERS = 2, VS_SEES_SEGMENTS = 3, VS_TOP_VIEWS = 6 };
extern const struct vs_top_view vs_top_views[VS_TOP_VIEWS];

void vs_draw_overview(struct vs_lines *lines, const struct vs_top_seen *seen);
void vs_draw_namespaces(struct vs_lines *lines, const struct vs_top_seen *seen);
void vs_draw_workers(struct vs_lines *lines, const struct vs_top_seen *seen);
void vs_draw_segments(struct vs_lines *lines, const struct vs_top_seen *seen);
void vs_draw_policies(struct vs_lines *lines, const struct vs_top_seen *seen);
void vs_draw_hour(struct vs_lines *lines, const struct vs_top_seen *seen);

/* The answer is old, or there is none: a line that says so.  false: there is nothing to draw. */
bool vs_draw_answer(struct vs_lines *lines, const struct vs_top_seen *seen, int64_t every_ms);
/* Whole from 10 on, else with a digit behind the point. */
const char *vs_many(double n, char buf[VS_GROUPED_MAX]);

#endif
