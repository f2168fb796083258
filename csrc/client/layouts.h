/* layouts.h -- the layouts of the ids that a client has issued.  A namespace may have several layouts while it moves to
 * a new one (`vesta store relayout`).  Their ids are then proved to be disjoint.  If they are not, the servers have
 * leases from unrelated namespaces, and their ids could be duplicates, so the client rejects the other layout.  Pure.
 */
#ifndef VS_CLIENT_LAYOUTS_H
#define VS_CLIENT_LAYOUTS_H

#include "base/slice.h"
#include "vesta.h"

#define VS_LAYOUTS_MAX 16

/* All zero is the initial state.  Layouts of different fingerprints are disjoint.  If there are too many, two layouts
 * that fix different values of a field are joined to one without a fixed value. */
struct vs_layouts {
    int count;
    struct vesta_layout at[VS_LAYOUTS_MAX + 1]; /* one more, until two are joined */
    char last[VESTA_LAYOUT_TEXT_MAX];           /* the last text, because most replies repeat it */
};

/* Adds the layout of a block, if its ids cannot be duplicates of ids of the earlier layouts.  A reply without a layout
 * is accepted.  Errors: VESTA_EMISMATCH: duplicates are possible; VESTA_ELAYOUT: the layouts cannot be compared;
 * VESTA_EFULL: too many layouts. */
int vs_layouts_take(struct vs_layouts *known, struct vs_slice text, struct vesta_error *err);

#endif
