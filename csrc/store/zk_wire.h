/* zk_wire.h -- what ZooKeeper's protocol looks like: requests into a buffer, answers out of one.  Knows no socket;
 * reads nothing past the end of what came. */
#ifndef VS_STORE_ZK_WIRE_H
#define VS_STORE_ZK_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VS_ZK_PATH_MAX 512
#define VS_ZK_FRAME_MAX (16 << 20) /* a server's jute.maxbuffer is 1 MiB */

/* What a server says of a request; -4 and the like are its client library's, and ours. */
enum {
    ZK_OK = 0,
    ZK_RUNTIME = -2, /* of an operation behind the one that failed */
    ZK_NONODE = -101,
    ZK_NOAUTH = -102,
    ZK_BADVERSION = -103,
    ZK_NODEEXISTS = -110,
    ZK_SESSIONEXPIRED = -112,
    ZK_INVALIDACL = -114,
    ZK_AUTHFAILED = -115,
    ZK_SESSIONMOVED = -118,
    ZK_QUOTA = -125,
    ZK_THROTTLED = -127
};
const char *vs_zk_error(int32_t rc);

enum {
    ZK_CREATE = 1,
    ZK_DELETE = 2,
    ZK_EXISTS = 3,
    ZK_GET = 4,
    ZK_SET = 5,
    ZK_GET_ACL = 6,
    ZK_CHILDREN = 8,
    ZK_SYNC = 9,
    ZK_CHECK = 13,
    ZK_MULTI = 14,
    ZK_AUTH = 100,
    ZK_CLOSE = -11
};

/* ------------------------------------------------------------------ out */

struct zk_out {
    char *at;
    size_t length, room, frame; /* frame: where the last one begins */
    bool is_short;              /* of memory: nothing of it may be sent */
};

void vs_zk_begin_frame(struct zk_out *out, int32_t xid, int32_t type);
void vs_zk_end_frame(struct zk_out *out);
void vs_zk_put_int(struct zk_out *out, int32_t value);
void vs_zk_put_long(struct zk_out *out, int64_t value);
void vs_zk_put_bool(struct zk_out *out, bool value);
void vs_zk_put_bytes(struct zk_out *out, const void *bytes, size_t length);
void vs_zk_put_text(struct zk_out *out, const char *text);

/* The hello of a connection: no session of before. */
void vs_zk_put_hello(struct zk_out *out, int32_t session_ms);

/* Operations of a multi, between begin_frame and vs_zk_end_multi. */
void vs_zk_op_check(struct zk_out *out, const char *path, int32_t version);
void vs_zk_op_create(struct zk_out *out, const char *path, const void *body, size_t length, bool for_anyone);
void vs_zk_op_set(struct zk_out *out, const char *path, const void *body, size_t length, int32_t version);
void vs_zk_op_delete(struct zk_out *out, const char *path, int32_t version);
void vs_zk_end_multi(struct zk_out *out);

/* ------------------------------------------------------------------ in */

/* An answer, or what is left of it.  Whoever reads past its end has not read it. */
struct zk_in {
    const char *at;
    size_t left;
    bool is_short;
};

int32_t vs_zk_take_int(struct zk_in *in);
int64_t vs_zk_take_long(struct zk_in *in);
bool vs_zk_take_bool(struct zk_in *in);
/* A view; NULL with length 0 for one that is not there. */
const char *vs_zk_take_bytes(struct zk_in *in, size_t *length);
/* A copy with an end; one that is too long makes it short. */
void vs_zk_take_text(struct zk_in *in, char *buf, size_t size);
/* Read to its end, and not past it. */
bool vs_zk_is_whole(const struct zk_in *in);

struct zk_stat {
    int64_t czxid, mzxid, ctime, mtime;
    int32_t version;
    int32_t length; /* of the data */
};
void vs_zk_take_stat(struct zk_in *in, struct zk_stat *stat);

/* What became of a multi's operations. */
#define VS_ZK_OPS_MAX 6
struct zk_multi {
    int32_t rc; /* the first error */
    int count;
    int32_t each[VS_ZK_OPS_MAX];
    struct zk_stat stat; /* of its last set */
};
/* False: it is not the answer to operations of these types. */
bool vs_zk_take_multi(struct zk_in *in, const int32_t *types, int count, struct zk_multi *multi);

#endif
