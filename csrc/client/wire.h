/* wire.h -- how a server is spoken to: the one part that needs a client library of the Redis protocol.  It is linked,
 * or a module that is loaded when the first client is opened (Lua's rock), so that nothing else depends on it. */
#ifndef VS_CLIENT_WIRE_H
#define VS_CLIENT_WIRE_H

#include "base/slice.h"
#include "client/link.h"
#include "client/reply.h"

#include <stdatomic.h>

#define VS_WIRE_ABI 2
#define VS_ANSWER_BYTES_MAX 8192 /* of one reply; a block's has some hundred */
#define VS_WIRE_PACKAGE "libhiredis-dev"

/* Errors that pass by themselves: -TRYAGAIN, -LOADING, -OOM. */
bool vs_wire_passes(const char *error);

enum vs_heard {
    VS_HEARD_VALUES,  /* an array of texts and numbers: `at` */
    VS_HEARD_STATUS,  /* "OK", "PONG": `text` */
    VS_HEARD_ERROR,   /* the server refuses: `text` */
    VS_HEARD_NOTHING, /* until the deadline, or until cut */
    VS_HEARD_END,     /* the connection is closed, and nothing of a reply had come */
    VS_HEARD_BROKEN   /* a reply that is none, or only a part of one, or more than one: `text` */
};

/* After NOTHING, END and BROKEN a connection is of no use: what may still come answers no later question. */
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
    const atomic_bool *is_cut; /* nobody wants the answer any more; looked at a few times a second; may be NULL */
};

struct vs_wire {
    uint32_t abi, answer_bytes;
    /* Sends one command and reads its one reply.  Blocks until the deadline at the latest. */
    void (*ask)(const struct vs_wire_question *question, struct vs_wire_answer *answer);
};

/* The one that is linked, else the module beside this code.  NULL with err, which names what to install. */
const struct vs_wire *vs_wire_find(struct vesta_error *err);

#endif
