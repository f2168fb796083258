/* lineage.h -- the successive layouts of a public namespace.  `orders` is leased as `orders` first, then as `orders.2`,
 * `orders.3`.  Each of these generations is a namespace of the store with one layout.  Hosts may issue ids of several
 * generations at once, so no id of one generation may also be an id of another generation.  Before a host issues ids,
 * it proves this from the layouts in the store. */
#ifndef VS_LINEAGE_H
#define VS_LINEAGE_H

#include "store/store.h"

#define VS_GENERATIONS_MAX 99

struct vs_lineage {
    const char *uri, *secret;
    const char *name;
    const struct vesta_clock *clock;
    int64_t call_ms_max;    /* 0: VS_STORE_CALL_MS */
    struct vs_store *store; /* open at `uri`.  NULL: a store is opened when needed */
};

/* Writes the namespace in which generation n is leased to buf of VESTA_NAMESPACE_MAX bytes.  Range: n is at least 1.
 * Returns buf, or NULL if the name is too long for the suffix. */
const char *vs_generation_name(const char *name, unsigned n, char *buf);
/* Returns which generation of `name` the namespace `leased` is: 1 for the name itself, 0 for an unrelated namespace. */
unsigned vs_generation_of(const char *name, const char *leased);

/* Sets *n to the newest generation that exists, or to 0.  Errors: VESTA_EIO. */
int vs_lineage_newest(const struct vs_lineage *lineage, unsigned *n, struct vesta_error *err);
/* Reads the record of a generation.  Sets ver to 0 if the generation does not exist.  Errors: VESTA_EIO. */
int vs_lineage_read(const struct vs_lineage *lineage, unsigned n, struct vs_ns_record *out, struct vesta_error *err);
/* Returns VESTA_OK if no id of `layout` can be an id of a generation below n.  Errors: VESTA_EMISMATCH if an id can
 * belong to both, with an example in the text.  VESTA_EIO if a generation cannot be read or does not exist. */
int vs_lineage_prove(const struct vs_lineage *lineage, unsigned n, const struct vesta_layout *layout,
                     struct vesta_error *err);
/* Returns VESTA_OK if ids of `layout` may be issued as generation n, because the generation exists, has exactly this
 * layout, and vs_lineage_prove accepts it.  Errors: those of vs_lineage_prove.  VESTA_EMISMATCH if the generation has a
 * different layout. */
int vs_lineage_check(const struct vs_lineage *lineage, unsigned n, const struct vesta_layout *layout,
                     struct vesta_error *err);

/* Proves that ids of `layout` differ from the ids of all existing generations, and then creates the namespace's next
 * generation.  Sets *n to the generation with the layout, and *is_new if this call created it.  Idempotent: if the
 * newest generation already has this layout, no generation is created.  So the call may be interrupted and repeated,
 * and several hosts may make this call at once.  Errors: VESTA_EMISMATCH if ids could be duplicates.  VESTA_EFULL if
 * there are VS_GENERATIONS_MAX generations.  VESTA_ENOGEN if the namespace does not exist.  VESTA_EIO if the store's
 * state is unknown, or if another host has just created a generation.  After VESTA_EIO, try again. */
int vs_lineage_extend(const struct vs_lineage *lineage, const struct vesta_layout *layout, unsigned *n, bool *is_new,
                      struct vesta_error *err);

/* Returns VESTA_OK if a new namespace may be created with this layout.  The check is needed because its name alone can
 * make the new namespace a generation of an existing namespace, or the first generation before existing ones.  Errors:
 * VESTA_EMISMATCH if ids could be duplicates.  VESTA_EIO if an earlier generation does not exist, or if the store
 * cannot be read. */
int vs_lineage_admit(const struct vs_lineage *lineage, const struct vesta_layout *layout, struct vesta_error *err);
/* Returns VESTA_OK if a first lease may be claimed in the namespace with the record ns in `store`.  This requires that
 * the namespace already has leases, or that vs_lineage_admit accepts it with everything that its layout leaves open.
 * Two namespaces that are created at the same time are invisible to each other's vs_lineage_admit, but this later check
 * finds both.  Errors: the same as vs_lineage_admit. */
int vs_lineage_enter(const struct vs_lineage *lineage, struct vs_store *store, const struct vs_ns_record *ns,
                     struct vesta_error *err);

/* The lease engine's two calls about a namespace, for lineage->store.  In a store on this host, the first process
 * creates the namespace, if vs_lineage_admit accepts its layout. */
void vs_lineage_ns_create(const struct vs_lineage *lineage, const struct vesta_layout *layout,
                          const struct vs_ns_record *fresh, struct vs_reply *reply);
/* Reads the namespace.  In a store on this host, another process may create a conflicting namespace at the same moment.
 * So until a process's first lease (is_first), each read calls vs_lineage_enter.  If the process that created the
 * namespace was killed before its check, the next process that reads the namespace checks it. */
void vs_lineage_ns_read(const struct vs_lineage *lineage, bool is_first, struct vs_reply *reply);

#endif
