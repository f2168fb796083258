/* hand_clock.h -- a clock for one thread that only advances when the spec advances it. */
#ifndef HAND_CLOCK_H
#define HAND_CLOCK_H

#include "vesta.h"

#include <stdlib.h>

static int64_t unix_now_us = INT64_C(1700000000000000), boot_now_us = INT64_C(1000000000);

static int64_t unix_us(void *self) {
    (void)self;
    return unix_now_us;
}

static int64_t boot_us(void *self) {
    (void)self;
    return boot_now_us;
}

static void sleep_us(void *self, int64_t us) {
    (void)self;
    (void)us;
    abort(); /* code under this clock never sleeps */
}

static const struct vesta_clock fake = {NULL, unix_us, boot_us, sleep_us};

__attribute__((unused)) static void pass_us(int64_t us) {
    unix_now_us += us;
    boot_now_us += us;
}

#endif
