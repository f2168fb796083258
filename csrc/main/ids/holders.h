/* holders.h -- who held a worker number when an id of it was made, as its namespace's store tells. */
#ifndef VS_HOLDERS_H
#define VS_HOLDERS_H

#include "main/where.h"
#include "modules/at.h"

struct vs_holders {
    struct vs_at at;
    const char *public_; /* the config's name of the namespace; NULL: the same */
    struct vs_workers workers;
    bool is_known;
    char shown[VS_URI_MAX]; /* the store's address without its password */
};

/* Reads the namespace's record and its numbers from the store that `where` came to, and completes where's layout from
 * it.  No store is known, or it does not answer though the layout is known: VS_GO, with is_known false, after a
 * message.  Else VS_GO, or an exit code after a message; end with vs_holders_free either way. */
int vs_holders_read(struct vs_holders *holders, struct vs_where *where);
void vs_holders_free(struct vs_holders *holders);

/* The layout alone: what `where` comes to, else the store's, else the default.  VS_GO, or an exit code after a message,
 * or after --effective; end with vs_where_free either way. */
int vs_where_layout(struct vs_where *where, struct vesta_layout *layout);

/* What the store says of an id's worker number, for people, below its picture; as a member of a JSON object. */
void vs_holders_draw(const struct vs_holders *holders, const struct vesta_parts *parts);
void vs_holders_json(const struct vs_holders *holders, const struct vesta_parts *parts);

#endif
