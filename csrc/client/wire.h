/* wire.h -- sends commands in the Redis protocol.  Only the wire needs hiredis.  Usually it is linked.  In the Lua rock
 * it is a module that is loaded when the first client is opened, so that the rock itself does not depend on hiredis. */
#ifndef VS_CLIENT_WIRE_H
#define VS_CLIENT_WIRE_H

#include "base/slice.h"
#include "client/link.h"
#include "client/reply.h"

#include <stdatomic.h>

#define VS_WIRE_ABI 2
#define VS_ANSWER_BYTES_MAX 8192 /* maximum size of a reply.  A block needs a few hundred bytes */
#define VS_WIRE_PACKAGE "libhiredis-dev"

/* Returns true for errors that go away without an operator: -TRYAGAIN, -LOADING, -OOM. */
bool vs_wire_passes(const char *error);

enum vs_heard {
    VS_HEARD_VALUES,  /* an array of strings and numbers, in `at` */
    VS_HEARD_STATUS,  /* "OK" or "PONG", in `text` */
    VS_HEARD_ERROR,   /* an error reply, in `text` */
    VS_HEARD_NOTHING, /* no reply before the deadline or the cut.  The reason is in `text` */
    VS_HEARD_END,     /* the connection was closed before the first byte of a reply.  The reason is in `text` */
    VS_HEARD_BROKEN   /* an invalid or incomplete reply, or more than one reply.  The reason is in `text` */
};

/* After NOTHING, END or BROKEN, close the connection.  A late reply would be read as the answer to the next question.
 */
struct vs_wire_answer {
    enum vs_heard heard;
    char text[256];
    struct vs_slice at[VS_REPLY_VALUES_MAX]; /* the elements point into `bytes` */
    int count;
    size_t used;
    char bytes[VS_ANSWER_BYTES_MAX];
};

struct vs_wire_question {
    const struct vs_link *link;
    const char *const *words;
    int count;
    int64_t until_boot_us;
    const atomic_bool *is_cut; /* cancels the wait when set.  Checked a few times a second.  May be NULL */
};

struct vs_wire {
    uint32_t abi, answer_bytes;
    /* Sends one command and reads its reply.  Blocks until the deadline at the latest. */
    void (*ask)(const struct vs_wire_question *question, struct vs_wire_answer *answer);
};

/* Returns the linked wire, or loads the module.  Returns NULL on failure, and err names the package to install. */
const struct vs_wire *vs_wire_find(struct vesta_error *err);

#endif
