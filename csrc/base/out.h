/* out.h -- bytes while they are written into memory of a fixed size: texts, numbers, ids. */
#ifndef VS_OUT_H
#define VS_OUT_H

#include "vesta.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The caller makes sure that there is room. */
struct vs_out {
    char *at;
    size_t used, size;
    bool resp3; /* for proto/resp.h: maps and nulls have a form of their own */
};

void vs_put(struct vs_out *out, const void *bytes, size_t length);
void vs_put_text(struct vs_out *out, const char *text);
void vs_put_uint(struct vs_out *out, uint64_t value);
void vs_put_int(struct vs_out *out, int64_t value);
/* A batch, with a text between each and the next. */
void vs_put_ids(struct vs_out *out, const uint64_t *ids, size_t count, const char *between);

#endif
