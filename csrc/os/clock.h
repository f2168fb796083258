/* clock.h -- the machine's clocks. */
#ifndef VS_OS_CLOCK_H
#define VS_OS_CLOCK_H

#include "vesta.h"

/* Returns the machine's clocks, read through the vdso.  The result is valid for the life of the process. */
const struct vesta_clock *vs_clock_system(void);
/* Returns CLOCK_REALTIME in seconds as of the kernel's last timer tick, up to 10 ms ago.  Setting the clock takes
 * effect at once. */
int64_t vs_clock_late_s(void *self);
/* Like vs_clock_late_s, in microseconds. */
int64_t vs_clock_late_us(void *self);
/* Returns 1 if CLOCK_REALTIME is synchronized (for example by NTP), 0 if not, and -1 if the kernel does not report it.
 * Sets *error_us to the clock's maximum error unless it returns -1. */
int vs_clock_in_step(int64_t *error_us);

#endif
