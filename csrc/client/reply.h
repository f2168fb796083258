/* reply.h -- what a server says to VESTA.BLOCK -> a block that may be used, or why not.  Pure. */
#ifndef VS_CLIENT_REPLY_H
#define VS_CLIENT_REPLY_H

#include "base/slice.h"
#include "client/block.h"

#define VS_REPLY_VALUES_MAX 64 /* names and values of one reply; there may be more one day than are known now */

/* Reads names and values, in turn, as the answer to who asked for `asked` ids of `name`; names that it does not know
 * are passed over.  Threads: any.  Errors: VESTA_EIO: it is not that answer, and why. */
struct vs_client_values {
    const struct vs_slice *at;
    int count;
};
int vs_reply_read(const struct vs_client_values *values, const char *name, uint64_t asked, struct vs_block *out,
                  struct vesta_error *err);
/* The layout that a reply names; empty: none. */
struct vs_slice vs_reply_layout(const struct vs_client_values *values);

#endif
