/* random.c -- random bytes from the kernel, for tokens and drawn worker numbers; never for an id.
 * Nothing of ours is mixed in or kept: copies of a machine differ here as soon as their kernels do. */
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
