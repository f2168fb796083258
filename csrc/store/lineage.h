/* lineage.h -- the layouts that a public namespace has had, one after the other: `orders` is leased as `orders` first,
 * then as `orders.2`, `orders.3`, each a namespace of the store with one layout.  Hosts may give ids of several at
 * once, for ever, so no id of one may be equal to one of another: that is proved before any is given, by each host for
 * itself, over what the store says. */
#ifndef VS_LINEAGE_H
#define VS_LINEAGE_H

#include "store/store.h"

#define VS_GENERATIONS_MAX 99

struct vs_lineage {
    const char *uri, *secret;
    const char *name; /* the public one */
    const struct vesta_clock *clock;
    int64_t call_ms_max; /* 0: VS_STORE_CALL_MS */
    struct vs_store *store; /* open at `uri`; NULL: one is opened where it is needed */
};

/* The namespace in which generation n is leased, from 1 on.  Shape: buf of VESTA_NAMESPACE_MAX bytes; returns buf, or
 * NULL where the name has no room for the number. */
const char *vs_generation_name(const char *name, unsigned n, char *buf);
/* Which generation of `name` a namespace is: 1 for the name itself; 0: none. */
unsigned vs_generation_of(const char *name, const char *leased);

/* The record of a generation; ver 0: it is not there.  Errors: VESTA_EIO. */
int vs_lineage_read(const struct vs_lineage *lineage, unsigned n, struct vs_ns_record *out, struct vesta_error *err);
/* VESTA_OK if no id of `layout` can be equal to one of the generations below n.  Errors: VESTA_EMISMATCH: it can, by an
 * id that is named; VESTA_EIO: one of them cannot be read, or is not there. */
int vs_lineage_prove(const struct vs_lineage *lineage, unsigned n, const struct vesta_layout *layout,
                     struct vesta_error *err);
/* VESTA_OK if ids of `layout` may be given as generation n: it is there, with this layout to the last constant, and
 * proved.  Errors: as above; VESTA_EMISMATCH: it has another layout. */
int vs_lineage_check(const struct vs_lineage *lineage, unsigned n, const struct vesta_layout *layout,
                     struct vesta_error *err);

/* Makes the next generation of a namespace that is there, once its ids are proved to differ.  Cut short at any call and
 * asked again, or asked by several at once, it makes one: where the newest generation has this layout already, that is
 * what was wanted.  *n: which generation has the layout; *is_new: this call made it.  Errors: VESTA_EMISMATCH: ids
 * could be equal; VESTA_EFULL: there are VS_GENERATIONS_MAX; VESTA_ENOGEN: the namespace is not there; VESTA_EIO:
 * nobody knows what the store has, or somebody else made one just now: try again. */
int vs_lineage_extend(const struct vs_lineage *lineage, const struct vesta_layout *layout, unsigned *n, bool *is_new,
                      struct vesta_error *err);

/* VESTA_OK if a namespace that is not there may be made with this layout, by who asks for no other: by its name it can
 * be a generation of another that is there, or have some.  Errors: VESTA_EMISMATCH: ids could be equal; VESTA_EIO: one
 * before it is not there, or the store does not say. */
int vs_lineage_admit(const struct vs_lineage *lineage, const struct vesta_layout *layout, struct vesta_error *err);
/* VESTA_OK if a first lease may be had from a namespace that stands in `store` as ns: somebody has had one, or it may
 * still be made, with all that its layout leaves free, whatever the first one to lease fixes of it.  Two that are made at
 * once are not there for each other's makers; whoever asks this sees both.  Errors: as above. */
int vs_lineage_enter(const struct vs_lineage *lineage, struct vs_store *store, const struct vs_ns_record *ns,
                     struct vesta_error *err);

#endif
