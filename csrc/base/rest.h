/* rest.h -- how long to rest after trouble with a server or a store, so that what recovers is asked again soon, and
 * hosts that failed together do not come back together. */
#ifndef VS_REST_H
#define VS_REST_H

#include <stdint.h>

#define VS_REST_MIN_US INT64_C(100000)     /* after the first failure */
#define VS_REST_REFUSED_US INT64_C(1000000) /* after the first answer that a person must act on */
#define VS_REST_MAX_US INT64_C(6400000)    /* after any number of failures: the documents promise it */

/* The rest after `failures` failures in a row before this one: twice as long each time, up to VS_REST_MAX_US, and up to a
 * quarter less, by the dice. */
static inline int64_t vs_rest_us(unsigned failures, int64_t first_us, uint64_t dice) {
    int64_t us = first_us;
    for (unsigned i = 0; i < failures && us < VS_REST_MAX_US; i++)
        us *= 2;
    us = us < VS_REST_MAX_US ? us : VS_REST_MAX_US;
    return us - (int64_t)(dice % (uint64_t)(us / 4));
}

#endif
