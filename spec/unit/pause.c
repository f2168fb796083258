/* pause.c -- which pauses are waited out, how long until the next try, and when the keeper is woken, case by case. */
#include "base/array.h"
#include "check.h"
#include "generator/generator.h"

static const struct {
    enum vesta_why why;
    int64_t wait_us, left_us, step_us;
    bool wakes_keeper;
} cases_of[] = {
    /* The clock ends this pause. Wait in slices for as long as it needs, if there is enough time. */
    {VESTA_FULL, 700, 700, 700, false},
    {VESTA_FULL, 700, 699, -1, false},
    {VESTA_FULL, 0, 0, 0, false},
    {VESTA_CLOCK_BACK, 100001, 100001, 100000, false},
    {VESTA_CLOCK_BACK, 2000000, 1500000, -1, false},
    {VESTA_CLOCK_AHEAD, 60000000, INT64_MAX, 100000, false},
    {VESTA_END, -1, INT64_MAX, -1, false},
    /* The keeper ends this pause. Check often, however long it was expected to take. */
    {VESTA_LEASE, 1000, 1000, 1000, true},
    {VESTA_LEASE, 1000, 999, -1, true},
    {VESTA_LEASE, 3000000, 5000, 5000, true},
    {VESTA_CHOOSE, 1000, INT64_MAX, 1000, true},
    {VESTA_CLOSED, -1, 1000, 1000, true},
    {VESTA_LEASE, 1000, 0, -1, true},
    /* Only a person can end this pause. Wake the keeper, and do not wait. */
    {VESTA_FAILSTOP, -1, INT64_MAX, -1, true},
    {VESTA_FAILSTOP, 5, INT64_MAX, -1, true},
};

static void follows_the_table(void) {
    for (size_t i = 0; i < VS_COUNT(cases_of); i++) {
        struct vesta_pause pause = {.why = cases_of[i].why, .wait_us = cases_of[i].wait_us};
        CHECK_EQ_I64(vs_pause_step_us(&pause, cases_of[i].left_us), cases_of[i].step_us);
        CHECK_EQ_I64(vs_pause_wakes_keeper(cases_of[i].why), cases_of[i].wakes_keeper);
    }
}

static const struct check_case cases[] = {
    {"a pause is waited out in steps that depend on its cause and the time left", follows_the_table},
};

CHECK_MAIN(cases)
