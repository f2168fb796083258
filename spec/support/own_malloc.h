/* own_malloc.h -- malloc, calloc and realloc for a program that is linked with
 * -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc.  Each call asks `fails` whether it must fail.  Knows nothing of
 * vesta. */
#ifndef OWN_MALLOC_H
#define OWN_MALLOC_H

#include <stdbool.h>
#include <stddef.h>

static bool fails(void); /* defined by the program */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *at, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *at, size_t size);

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *at, size_t size) {
    return fails() ? NULL : __real_realloc(at, size);
}

#endif
