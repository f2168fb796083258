/* random.c -- random bytes from the kernel, for tokens and for drawing worker ids, never for ids.  No bytes are cached
 * here, so two clones of a machine draw different bytes as soon as their kernels do. */
#include "os/random.h"

#include <errno.h>
#include <sys/random.h>

int vs_random(void *buf, size_t size) {
    char *at = buf;
    while (size > 0) {
        ssize_t got = getrandom(at, size, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        at += got;
        size -= (size_t)got;
    }
    return 0;
}
