/* old_kernel.c -- the forks once more where the kernel clears no memory in a child: madvise knows no MADV_WIPEONFORK.
 */
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
