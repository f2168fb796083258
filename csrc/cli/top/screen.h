/* screen.h -- a terminal's screen for as long as a command needs it: its keys, and a frame of `vesta top` in it. */
#ifndef VS_TOP_SCREEN_H
#define VS_TOP_SCREEN_H

#include "cli/top/view.h"

/* A screen of its own, without echo, keys at once; and back to what was there before.  Signals end nothing here. */
void vs_screen_begin(void);
void vs_screen_end(void);

/* Those that are no letter. */
enum {
    VS_KEY_NONE,
    VS_KEY_TAB = '\t',
    VS_KEY_GONE = 256,
    VS_KEY_UP,
    VS_KEY_DOWN,
    VS_KEY_LEFT,
    VS_KEY_RIGHT,
    VS_KEY_PAGE_UP,
    VS_KEY_PAGE_DOWN,
    VS_KEY_HOME,
    VS_KEY_END,
    VS_KEY_BACK_TAB,
    VS_KEY_OTHER
};
/* The next key that was pressed.  Reads where stdin `has_more`; VS_KEY_NONE: there is no further one. */
int vs_screen_key(bool has_more);

struct vs_top_frame {
    struct vs_top_seen seen;
    int view;
    const char *address, *trouble; /* trouble: why there is no news of the server; "" */
    bool polls;                    /* it streams nothing */
    bool is_screen;                /* drawn over, and no more than fits; else lines */
    bool goes_on;                  /* of lines: the head stands above */
    bool helps;                    /* the keys are told instead of a view */
    const char *foot;              /* said in the last line; "": what keys do */
    size_t *scroll;                /* how many lines are passed over: brought back to what there is */
};
void vs_top_draw(const struct vs_top_frame *frame);

#endif
