/* rest.h -- how long to wait after a failure of a server or a store.  A recovered server is soon tried again, and hosts
 * that failed together do not retry at the same time. */
#ifndef VS_REST_H
#define VS_REST_H

#include <stdint.h>

#define VS_REST_MIN_US INT64_C(100000)      /* after the first failure */
#define VS_REST_REFUSED_US INT64_C(1000000) /* after the first rejection that a person must resolve */
#define VS_REST_MAX_US INT64_C(6400000)     /* after many failures; the documents promise this limit */

/* The wait after `failures` earlier failures in a row.  It doubles each time, up to VS_REST_MAX_US.  The random number
 * `dice` then shortens it by up to a quarter. */
static inline int64_t vs_rest_us(unsigned failures, int64_t first_us, uint64_t dice) {
    int64_t us = first_us;
    for (unsigned i = 0; i < failures && us < VS_REST_MAX_US; i++)
        us *= 2;
    us = us < VS_REST_MAX_US ? us : VS_REST_MAX_US;
    return us - (int64_t)(dice % (uint64_t)(us / 4));
}

#endif
