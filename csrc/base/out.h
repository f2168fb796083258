/* out.h -- writes texts, numbers and ids into memory of a fixed size. */
#ifndef VS_OUT_H
#define VS_OUT_H

#include "vesta.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The caller ensures that the memory suffices. */
struct vs_out {
    char *at;
    size_t used, size;
    bool resp3; /* for proto/resp.h: RESP3 has its own maps and nulls */
};

void vs_put(struct vs_out *out, const void *bytes, size_t length);
void vs_put_text(struct vs_out *out, const char *text);
void vs_put_uint(struct vs_out *out, uint64_t value);
void vs_put_int(struct vs_out *out, int64_t value);
/* Writes a batch of ids, with the text `between` after each but the last. */
void vs_put_ids(struct vs_out *out, const uint64_t *ids, size_t count, const char *between);

#endif
