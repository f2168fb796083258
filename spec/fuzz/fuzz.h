/* fuzz.h -- shared by all fuzz targets. */
#ifndef SPEC_FUZZ_H
#define SPEC_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Like assert, but active in every build. */
#define MUST(cond)                                                                                                     \
    do {                                                                                                               \
        if (!(cond)) {                                                                                                 \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #cond);                                  \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Returns a NUL-terminated copy of exactly that size, so that the sanitizer finds a read past its end. The caller frees
 * it. */
__attribute__((unused)) static char *text_of(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    MUST(text);
    if (size > 0) memcpy(text, data, size);
    text[size] = 0;
    return text;
}

#endif
