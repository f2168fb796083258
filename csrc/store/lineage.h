/* lineage.h -- the successive layouts of a public namespace. `orders` is leased as `orders` first, then as `orders.2`,
 * `orders.3`.  Each of these generations is a namespace of the store with one layout.  Hosts may issue ids of several
 * generations at once, so no id of one may be an id of another.  Each host proves that for itself before it issues ids,
 * from the layouts in the store. */
#ifndef VS_LINEAGE_H
#define VS_LINEAGE_H

#include "store/store.h"

#define VS_GENERATIONS_MAX 99

struct vs_lineage {
    const char *uri, *secret;
    const char *name;
    const struct vesta_clock *clock;
    int64_t call_ms_max;    /* 0: VS_STORE_CALL_MS */
    struct vs_store *store; /* open at `uri`.  NULL: one is opened when needed */
};

/* Returns the namespace in which generation n is leased, from 1 on, in buf of VESTA_NAMESPACE_MAX bytes.  NULL: the
 * name is too long for the suffix. */
const char *vs_generation_name(const char *name, unsigned n, char *buf);
/* Returns the generation of `name` that the namespace `leased` is: 1 for the name itself, 0 for another namespace. */
unsigned vs_generation_of(const char *name, const char *leased);

/* Reads the record of a generation. ver 0: it does not exist.  Errors: VESTA_EIO. */
int vs_lineage_read(const struct vs_lineage *lineage, unsigned n, struct vs_ns_record *out, struct vesta_error *err);
/* Returns VESTA_OK if no id of `layout` can be an id of a generation below n.  Errors: VESTA_EMISMATCH: an id can be
 * both, and the text has an example.  VESTA_EIO: a generation cannot be read or does not exist. */
int vs_lineage_prove(const struct vs_lineage *lineage, unsigned n, const struct vesta_layout *layout,
                     struct vesta_error *err);
/* Returns VESTA_OK if ids of `layout` may be issued as generation n: the generation exists, has exactly this layout,
 * and is proved.  Errors: as above.  VESTA_EMISMATCH: it has another layout. */
int vs_lineage_check(const struct vs_lineage *lineage, unsigned n, const struct vesta_layout *layout,
                     struct vesta_error *err);

/* Creates the next generation of an existing namespace after it has proved that its ids differ.  Idempotent: if the
 * newest generation already has this layout, it creates none.  So it may be interrupted and repeated, and several hosts
 * may call it at once. *n: the generation with the layout. *is_new: this call created it.  Errors: VESTA_EMISMATCH: ids
 * could be duplicates.  VESTA_EFULL: there are VS_GENERATIONS_MAX.  VESTA_ENOGEN: the namespace does not exist.
 * VESTA_EIO: the store's state is unknown, or another host created a generation just now.  Then try again. */
int vs_lineage_extend(const struct vs_lineage *lineage, const struct vesta_layout *layout, unsigned *n, bool *is_new,
                      struct vesta_error *err);

/* Returns VESTA_OK if a new namespace may be created with this layout.  Its name alone can make it a generation of an
 * existing namespace, or the first generation of existing ones.  Errors: VESTA_EMISMATCH: ids could be duplicates.
 * VESTA_EIO: an earlier generation does not exist, or the store cannot be read. */
int vs_lineage_admit(const struct vs_lineage *lineage, const struct vesta_layout *layout, struct vesta_error *err);
/* Returns VESTA_OK if a first lease may be claimed in the namespace with the record ns in `store`: it already has
 * leases, or vs_lineage_admit accepts it with everything that its layout leaves open.  Two namespaces that are created
 * at the same time are invisible to each other's vs_lineage_admit.  This later check finds both.  Errors: as above. */
int vs_lineage_enter(const struct vs_lineage *lineage, struct vs_store *store, const struct vs_ns_record *ns,
                     struct vesta_error *err);

#endif
