/* scarce.h -- memory that fails at the n-th allocation, for a program that is linked with
 * -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc.  Knows nothing of vesta. */
#ifndef SCARCE_H
#define SCARCE_H

#include "own_malloc.h"

#include <stdatomic.h>

/* The n-th allocation from now on fails (0: none). */
static atomic_int fails_at;
static bool fails_ever_after; /* all later ones fail too, until fails_at is set again; fails_at is then -1 */

static bool fails(void) {
    if (atomic_load(&fails_at) < 0) return true;
    if (atomic_load(&fails_at) == 0 || atomic_fetch_sub(&fails_at, 1) != 1) return false;
    if (fails_ever_after) atomic_store(&fails_at, -1);
    return true;
}

#endif
