/* old_kernel.c -- repeats the forks with a kernel that does not clear memory in a child: madvise without
 * MADV_WIPEONFORK. */
#include <errno.h>
#include <stddef.h>

int madvise(void *at, size_t size, int advice);
int madvise(void *at, size_t size, int advice) {
    (void)at;
    (void)size;
    (void)advice;
    errno = EINVAL;
    return -1;
}
