/* rest.h -- how long to wait before a retry after a server or store failed.  The waits are short enough that a
 * recovered server is used again soon, and random enough that hosts do not all retry at once. */
#ifndef VS_REST_H
#define VS_REST_H

#include <stdint.h>

#define VS_REST_MIN_US INT64_C(100000)      /* after the first failure */
#define VS_REST_REFUSED_US INT64_C(1000000) /* after the first rejection, which only a person can resolve */
#define VS_REST_MAX_US INT64_C(6400000)     /* after many failures. The manual promises this limit */

/* Returns the wait after a failure that follows `failures` others in a row.  The wait starts at first_us and doubles
 * with each failure, up to VS_REST_MAX_US.  The random number `dice` then shortens the wait by up to a quarter. */
static inline int64_t vs_rest_us(unsigned failures, int64_t first_us, uint64_t dice) {
    int64_t us = first_us;
    for (unsigned i = 0; i < failures && us < VS_REST_MAX_US; i++)
        us *= 2;
    us = us < VS_REST_MAX_US ? us : VS_REST_MAX_US;
    return us - (int64_t)(dice % (uint64_t)(us / 4));
}

#endif
