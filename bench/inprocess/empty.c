/* empty.c -- the yardstick of an FFI: a function that takes an object, as C functions do, returns a number as
 * large as an id, and does nothing. */
#include <stdint.h>

__attribute__((visibility("default"))) uint64_t empty(const void *object);

uint64_t empty(const void *object) {
    (void)object;
    return 7402110230120120321; /* some languages convert a small number faster */
}
