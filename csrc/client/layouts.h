/* layouts.h -- the layouts of the ids that a client has issued.  A namespace may have several layouts while it moves to
 * a new layout (`vesta store relayout`).  Their ids are then proved to be disjoint.  If they are not, the servers have
 * leases from unrelated namespaces, and their ids could be duplicates, so the client rejects the other layout.  Pure.
 */
#ifndef VS_CLIENT_LAYOUTS_H
#define VS_CLIENT_LAYOUTS_H

#include "base/slice.h"
#include "vesta.h"

#define VS_LAYOUTS_MAX 16

/* All zero is the initial state.  Layouts with different fingerprints are disjoint.  If there are too many, two layouts
 * that fix different values of a field are joined into one that leaves the field free. */
struct vs_layouts {
    int count;
    struct vesta_layout at[VS_LAYOUTS_MAX + 1]; /* one spare entry, used until two layouts are joined */
    char last[VESTA_LAYOUT_TEXT_MAX];           /* the previous layout text, because most replies repeat it */
};

/* Adds a block's layout, if its ids cannot be duplicates of ids of the earlier layouts.  Accepts a reply without a
 * layout.
 * Errors: VESTA_EMISMATCH if duplicates are possible.  VESTA_ELAYOUT if the layouts cannot be compared.  VESTA_EFULL if
 * there are too many layouts. */
int vs_layouts_take(struct vs_layouts *known, struct vs_slice text, struct vesta_error *err);

#endif
