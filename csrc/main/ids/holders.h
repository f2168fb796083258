/* holders.h -- finds in a namespace's store which process held a worker id when an id was made. */
#ifndef VS_HOLDERS_H
#define VS_HOLDERS_H

#include "main/where.h"
#include "modules/at.h"

struct vs_holders {
    struct vs_at at;
    const char *public_; /* the namespace's name in the config (NULL: the same name as in the store) */
    struct vs_workers workers;
    bool is_known;
    char shown[VS_URI_MAX]; /* the store's address without its password */
};

/* Reads the namespace's record and its worker ids from the store in `where`, and sets the layout in `where`.  If no
 * store is known, or if the store does not reply but the layout is known, prints a message, sets is_known to false and
 * returns VS_GO.  Otherwise returns VS_GO, or an exit code after a message.  Call vs_holders_free in either case. */
int vs_holders_read(struct vs_holders *holders, struct vs_where *where);
void vs_holders_free(struct vs_holders *holders);

/* Finds only the layout: the layout in `where`, otherwise the layout in the store, otherwise the default layout.
 * Returns VS_GO, or an exit code after a message or after --effective.  Call vs_where_free in either case. */
int vs_where_layout(struct vs_where *where, struct vesta_layout *layout);

/* Prints what the store contains about an id's worker id, as text below the id's picture, or as a member of a JSON
 * object. */
void vs_holders_draw(const struct vs_holders *holders, const struct vesta_parts *parts);
void vs_holders_json(const struct vs_holders *holders, const struct vesta_parts *parts);

#endif
