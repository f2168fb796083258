/* reply.h -- turns a server's reply to VESTA.BLOCK into a valid block, or an error.  Pure. */
#ifndef VS_CLIENT_REPLY_H
#define VS_CLIENT_REPLY_H

#include "base/slice.h"
#include "client/block.h"

/* maximum number of names and values in one reply, with room for additions in later versions */
#define VS_REPLY_VALUES_MAX 64

/* The names and values of a reply, alternating. */
struct vs_client_values {
    const struct vs_slice *at;
    int count;
};

/* Reads the values as the reply to a request for `asked` ids of `name`.  Ignores unknown names.  Threads: any.  Errors:
 * VESTA_EIO, with the reason. */
int vs_reply_read(const struct vs_client_values *values, const char *name, uint64_t asked, struct vs_block *out,
                  struct vesta_error *err);

/* Returns the layout in a reply, or an empty slice if it has none. */
struct vs_slice vs_reply_layout(const struct vs_client_values *values);

#endif
