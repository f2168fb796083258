/* clock.h -- the machine's clocks. */
#ifndef VS_OS_CLOCK_H
#define VS_OS_CLOCK_H

#include "vesta.h"

/* The machine's clocks, read through the vdso.  Valid for ever. */
const struct vesta_clock *vs_clock_system(void);
/* CLOCK_REALTIME in seconds at the kernel's last tick, 1 to 10 ms ago.  If the clock is set, this changes at once. */
int64_t vs_clock_late_s(void *self);
/* The same in microseconds. */
int64_t vs_clock_late_us(void *self);
/* Whether CLOCK_REALTIME is synchronized with a source of time.  If so, *error_us is its maximum error.  Returns 1, 0,
 * or -1 if the kernel does not report it. */
int vs_clock_in_step(int64_t *error_us);

#endif
