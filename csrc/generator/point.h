/* point.h -- marks points at which the simulator may switch threads.  Only the simulator defines VS_SIM.  Otherwise
 * VS_POINT does nothing. */
#ifndef VS_POINT_H
#define VS_POINT_H

#ifdef VS_SIM
#include <stdint.h>

void vs_sim_point(const char *name);
uint64_t vs_sim_thread(void); /* the number of the running thread */
#define VS_POINT(name) vs_sim_point(#name)
#else
#define VS_POINT(name) ((void)0)
#endif

#endif
