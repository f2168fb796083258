/* wire.h -- sends commands in the Redis protocol.  Only this part needs hiredis.  It is linked, or, in the Lua rock, a
 * module that is loaded when the first client is opened, so that the rest does not depend on hiredis. */
#ifndef VS_CLIENT_WIRE_H
#define VS_CLIENT_WIRE_H

#include "base/slice.h"
#include "client/link.h"
#include "client/reply.h"

#include <stdatomic.h>

#define VS_WIRE_ABI 2
#define VS_ANSWER_BYTES_MAX 8192 /* size of one reply; a block needs a few hundred */
#define VS_WIRE_PACKAGE "libhiredis-dev"

/* True for errors that pass without an operator: -TRYAGAIN, -LOADING, -OOM. */
bool vs_wire_passes(const char *error);

enum vs_heard {
    VS_HEARD_VALUES,  /* an array of texts and numbers: `at` */
    VS_HEARD_STATUS,  /* "OK", "PONG": `text` */
    VS_HEARD_ERROR,   /* an error reply: `text` */
    VS_HEARD_NOTHING, /* no reply until the deadline, or until cut: `text` */
    VS_HEARD_END,     /* the connection was closed before any byte of a reply: `text` */
    VS_HEARD_BROKEN   /* an invalid or incomplete reply, or more than one: `text` */
};

/* After NOTHING, END and BROKEN, close the connection: a late reply would be read as the answer to the next question.
 */
struct vs_wire_answer {
    enum vs_heard heard;
    char text[256];
    struct vs_slice at[VS_REPLY_VALUES_MAX]; /* in `bytes` */
    int count;
    size_t used;
    char bytes[VS_ANSWER_BYTES_MAX];
};

struct vs_wire_question {
    const struct vs_link *link;
    const char *const *words;
    int count;
    int64_t until_boot_us;
    const atomic_bool *is_cut; /* set to end the wait; checked a few times a second; may be NULL */
};

struct vs_wire {
    uint32_t abi, answer_bytes;
    /* Sends one command and reads its one reply.  Blocks until the deadline at the latest. */
    void (*ask)(const struct vs_wire_question *question, struct vs_wire_answer *answer);
};

/* Returns the linked wire, else loads the module.  NULL with err, which names the package to install. */
const struct vs_wire *vs_wire_find(struct vesta_error *err);

#endif
