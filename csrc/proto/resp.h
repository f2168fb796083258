/* resp.h -- the Redis protocol: bytes -> the arguments of one request, and the forms of a reply.  Pure: keeps no state,
 * allocates nothing, knows no command. */
#ifndef VS_RESP_H
#define VS_RESP_H

#include "base/out.h"
#include "base/slice.h"

#define VS_RESP_ARGS_MAX 1024
#define VS_RESP_BULK_MAX 65536
#define VS_RESP_INLINE_MAX 65536
#define VS_RESP_REQUEST_MAX (1 << 20)

/* ------------------------------------------------------------------ reading */

/* A word whose `at` is NULL was not given. */
struct vs_args {
    int count;
    const char *broken; /* set by a parser that returns < 0: why */
    bool is_inline;     /* a line typed by hand, without lengths */
    struct vs_slice at[VS_RESP_ARGS_MAX];
    char why[96];                   /* what `broken` points to, where the text has numbers in it */
    char typed[VS_RESP_INLINE_MAX]; /* words that were quoted */
};

struct vs_resp_limits {
    size_t args_max, bulk_max, inline_max;
};
extern const struct vs_resp_limits vs_resp_limits, vs_resp_stranger_limits;

/* One request, multibulk or inline.  > 0: bytes used; 0: wants more; < 0: broken, out->broken says why.
 * Shape: out->at points into buf, or into out->typed; count is 0 for an empty line or array. */
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
void vs_resp_map(struct vs_out *out, size_t count); /* of pairs */
void vs_resp_id(struct vs_out *out, uint64_t id);   /* the hot path's bulk string */
void vs_resp_ids(struct vs_out *out, const uint64_t *ids, size_t count);

#endif
