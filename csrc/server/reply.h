/* reply.h -- a reply while it is written: its bytes, JSON, and the forms of the Redis protocol.  Knows no request. */
#ifndef VS_SERVER_REPLY_H
#define VS_SERVER_REPLY_H

#include "vesta.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VS_REPLY_MAX (344 * 1024) /* one reply; none is longer than /metrics may be */
#define VS_OUT_MAX (688 * 1024)   /* the replies of one write */

_Static_assert(VESTA_BATCH_MAX *(VESTA_FORMAT_MAX + 4) + 16 <= VS_REPLY_MAX,
               "a batch fits a reply, as bulk strings too");
_Static_assert(2 * VS_REPLY_MAX <= VS_OUT_MAX, "there is room for a reply until half of it is full");

struct vs_out {
    char *at;
    size_t used, size;
    bool resp3; /* RESP: maps and nulls have a form of their own */
};

void vs_put(struct vs_out *out, const void *bytes, size_t length);
void vs_put_text(struct vs_out *out, const char *text);
void vs_put_uint(struct vs_out *out, uint64_t value);
void vs_put_int(struct vs_out *out, int64_t value);
/* A batch, with a text between each and the next. */
void vs_put_ids(struct vs_out *out, const uint64_t *ids, size_t count, const char *between);

#define VS_REDIS_VERSION "7.0.0" /* clients read a version from it; ours stands in INFO's vesta_version */

/* JSON: a string (control characters become blanks); members of an object, with the comma that is needed; an object
 * or array, as a member or (name NULL) as an element.  The closing bracket is vs_put's. */
void vs_put_json(struct vs_out *out, const char *text);
void vs_json_key(struct vs_out *out, const char *name);
void vs_json_uint(struct vs_out *out, const char *name, uint64_t value);
void vs_json_int(struct vs_out *out, const char *name, int64_t value);
void vs_json_bool(struct vs_out *out, const char *name, bool value);
void vs_json_text(struct vs_out *out, const char *name, const char *value);
void vs_json_open(struct vs_out *out, const char *name, char bracket);

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
