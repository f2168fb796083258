/* screen.h -- a terminal's screen for as long as a command needs it, and what `vesta top` puts there. */
#ifndef VS_TOP_SCREEN_H
#define VS_TOP_SCREEN_H

#include "cli/top/state.h"

/* A screen of its own, without echo, keys at once; and back to what was there before.  Signals end nothing here. */
void vs_screen_begin(void);
void vs_screen_end(void);

struct vs_top_view {
    const struct vs_top_state *state;
    const char *address, *trouble; /* trouble: why there is no news; "" */
    int64_t now_ms;
    bool is_screen; /* drawn over, and no more than fits; else lines */
};
void vs_top_draw(const struct vs_top_view *view);

#endif
