/* out.h -- writes strings, numbers and ids into a buffer of fixed size. */
#ifndef VS_OUT_H
#define VS_OUT_H

#include "vesta.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The caller ensures that the buffer is large enough. */
struct vs_out {
    char *at;
    size_t used, size;
    bool resp3; /* used by proto/resp.h: write maps and nulls in the form of RESP3 */
};

void vs_put(struct vs_out *out, const void *bytes, size_t length);
void vs_put_text(struct vs_out *out, const char *text);
void vs_put_uint(struct vs_out *out, uint64_t value);
void vs_put_int(struct vs_out *out, int64_t value);
/* Writes ids, separated by the string `between`. */
void vs_put_ids(struct vs_out *out, const uint64_t *ids, size_t count, const char *between);

#endif
