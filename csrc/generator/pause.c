/* pause.c -- decides how a caller that can wait handles a pause.  vesta_next_wait, the server, the rock and vesta.resty
 * all use this code. */
#include "generator/generator.h"

/* The shortest and the longest wait for a lease, which may be granted earlier or later than expected. */
#define STEP_US_MIN 1000
#define STEP_US_MAX 5000
#define SLICE_US 100000 /* the longest sleep, because the clock may be corrected at any time */

bool vs_pause_wakes_keeper(enum vesta_why why) {
    return why == VESTA_LEASE || why == VESTA_CHOOSE || why == VESTA_CLOSED || why == VESTA_FAILSTOP;
}

int64_t vs_pause_step_us(const struct vesta_pause *pause, int64_t left_us) {
    int64_t step_us = pause->wait_us;
    if (pause->why == VESTA_FAILSTOP) return -1; /* waiting does not help, because a person must act */
    if (vs_pause_wakes_keeper(pause->why))
        step_us = step_us < STEP_US_MIN ? STEP_US_MIN : step_us > STEP_US_MAX ? STEP_US_MAX : step_us;
    if (step_us < 0 || step_us > left_us) return -1;
    return step_us < SLICE_US ? step_us : SLICE_US;
}
