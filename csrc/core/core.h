/* core.h -- what the core's files share with each other and with the floors above.  No I/O, no clock, no Lua. */
#ifndef VS_CORE_H
#define VS_CORE_H

#include "vesta.h"

/* Fills err (which may be NULL) and returns code, so that a failure is one line: return vs_fail(err, ...).
 * A text that does not fit is cut, never overrun. */
__attribute__((format(printf, 3, 4))) int vs_fail(struct vesta_error *err, int code, const char *fmt, ...);

#endif
