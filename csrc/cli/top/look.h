/* look.h -- which view is looked at, what it asks the server for, and what it was told.  Only what is seen is asked
 * for. */
#ifndef VS_TOP_LOOK_H
#define VS_TOP_LOOK_H

#include "cli/top/ask.h"
#include "cli/top/view.h"

struct vs_look {
    int view;                        /* of vs_top_views */
    size_t scroll;                   /* lines that are passed over */
    char of[VESTA_NAMESPACE_MAX];    /* the namespace that was picked; "": none */
    char after[VESTA_NAMESPACE_MAX]; /* a page of tags begins behind this one */
    struct vs_ask ask;
    bool is_asked;   /* the answer is still to be read */
    int64_t next_ms; /* of the clock since the boot: when it is asked again */
    char *said;      /* NULL: nothing yet */
    int64_t said_ms;
    char trouble[256];
};

/* Turns to a view; what another was told is forgotten. */
void vs_look_at(struct vs_look *look, int view);
/* The next namespace (1) or the one before (-1); the next page of tags, or the first. */
void vs_look_pick(struct vs_look *look, const struct vs_top_state *state, int step);
/* Asks when it is time, where `to` is given, and reads what came.  true: there is an answer, or a trouble, that is
 * new. */
bool vs_look_step(struct vs_look *look, const struct vs_wire_to *to, const struct vs_top_state *state);
/* What the view has to draw with; the event is the caller's. */
struct vs_top_seen vs_look_seen(const struct vs_look *look, const struct vs_top_state *state, struct vs_slice event);
void vs_look_close(struct vs_look *look);

#endif
