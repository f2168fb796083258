/* resp.h -- the Redis protocol: parses the arguments of one request, and writes the types of a reply.  Pure: keeps no
 * state, allocates nothing, and contains no command code. */
#ifndef VS_RESP_H
#define VS_RESP_H

#include "base/out.h"
#include "base/slice.h"

#define VS_RESP_ARGS_MAX 1024
#define VS_RESP_BULK_MAX 65536
#define VS_RESP_INLINE_MAX 65536
#define VS_RESP_REQUEST_MAX (1 << 20)

/* ------------------------------------------------------------------ parsing */

/* The arguments of a request.  If `at` of an argument is NULL, the argument is missing. */
struct vs_args {
    int count;
    const char *broken; /* the error, set by a parser that returns < 0 */
    bool is_inline;     /* an inline request: a line without lengths */
    struct vs_slice at[VS_RESP_ARGS_MAX];
    char why[96];                   /* buffer for `broken` */
    char typed[VS_RESP_INLINE_MAX]; /* buffer for quoted words */
};

struct vs_resp_limits {
    size_t args_max, bulk_max, inline_max;
};
extern const struct vs_resp_limits vs_resp_limits, vs_resp_stranger_limits;

/* Parses one request, multibulk or inline.  Returns the number of bytes used, or 0 if more bytes are needed, or < 0 if
 * the request is malformed, with the error in out->broken.  The arguments point into buf or out->typed.  An empty line
 * or array has no arguments. */
int vs_resp_parse(const char *buf, size_t len, const struct vs_resp_limits *limits, struct vs_args *out);

/* ------------------------------------------------------------------ writing */

void vs_resp_simple(struct vs_out *out, const char *text);
void vs_resp_error(struct vs_out *out, const char *prefix, const char *text);
void vs_resp_bulk(struct vs_out *out, const void *bytes, size_t length);
void vs_resp_word(struct vs_out *out, const char *text);
void vs_resp_null(struct vs_out *out);
void vs_resp_null_array(struct vs_out *out);
void vs_resp_int(struct vs_out *out, int64_t value);
void vs_resp_array(struct vs_out *out, size_t count);
void vs_resp_map(struct vs_out *out, size_t count); /* `count` pairs follow */
void vs_resp_id(struct vs_out *out, uint64_t id);   /* a bulk string */
void vs_resp_ids(struct vs_out *out, const uint64_t *ids, size_t count);

#endif
