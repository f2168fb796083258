/* random.h -- random bytes. */
#ifndef VS_OS_RANDOM_H
#define VS_OS_RANDOM_H

#include <stddef.h>

/* Fills buf with random bytes from the kernel.  Returns 0, or -1 with errno. */
int vs_random(void *buf, size_t size);

#endif
