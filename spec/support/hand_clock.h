/* hand_clock.h -- a clock in the hands of one thread: it stands still until it is told to pass. */
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
    abort(); /* who is asked with such a clock never sleeps */
}

static const struct vesta_clock fake = {NULL, unix_us, boot_us, sleep_us};

__attribute__((unused)) static void pass_us(int64_t us) {
    unix_now_us += us;
    boot_now_us += us;
}

#endif
