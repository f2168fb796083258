/* layouts.h -- the layouts that a client's ids have had.  Servers of one name may have several while it moves from one
 * to another (`vesta store relayout`), each proved apart from the others.  Where that is not so, they lease from
 * namespaces that have nothing to do with each other: their ids could be equal, and one client does not give both.
 * Pure. */
#ifndef VS_CLIENT_LAYOUTS_H
#define VS_CLIENT_LAYOUTS_H

#include "base/slice.h"
#include "vesta.h"

#define VS_LAYOUTS_MAX 16

/* Zero is how it begins.  Those of different fingerprints are apart.  Where there are too many, hosts that each fix
 * another value of a field are one, of any value. */
struct vs_layouts {
    int count;
    struct vesta_layout at[VS_LAYOUTS_MAX + 1]; /* one more while two are joined */
    char last[VESTA_LAYOUT_TEXT_MAX];           /* the text that came last: mostly it comes again */
};

/* Whether a block of this layout may be given beside those before; it is one of them then.  A server that says none is
 * believed.  Errors: VESTA_EMISMATCH: an id can be of both; VESTA_ELAYOUT: nobody can tell;
 * VESTA_EFULL. */
int vs_layouts_take(struct vs_layouts *known, struct vs_slice text, struct vesta_error *err);

#endif
