/* clock.h -- the machine's clocks. */
#ifndef VS_OS_CLOCK_H
#define VS_OS_CLOCK_H

#include "vesta.h"

/* The machine's clocks, through the vdso.  Lives for ever. */
const struct vesta_clock *vs_clock_system(void);
/* The second of CLOCK_REALTIME as the kernel's last tick left it, which was 1 to 10 ms ago; a clock that is set is seen
 * at once. */
int64_t vs_clock_late_s(void *self);
/* The same clock's microsecond. */
int64_t vs_clock_late_us(void *self);
/* Whether something keeps CLOCK_REALTIME in step with a source of time; *error_us is then how wrong it may be.
 * 1, 0, or -1: the kernel does not say. */
int vs_clock_in_step(int64_t *error_us);

#endif
