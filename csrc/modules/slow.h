/* slow.h -- a line at a terminal while a call of the main thread blocks for longer than two seconds. */
#ifndef VS_SLOW_H
#define VS_SLOW_H

/* Call both functions on the main thread, around a call that neither prints nor returns early.  `what` is copied. */
void vs_slow_begin(const char *what);
void vs_slow_end(void);

#endif
