/* at.h -- a namespace of a store as commands see it: its record, its layout and its worker ids.  Prints nothing.
 *
 * Strings that a caller sets must outlive the struct. */
#ifndef VS_AT_H
#define VS_AT_H

#include "store/store.h"

#define VS_OPERATOR_CALL_MS 8000 /* longer than a keeper waits: a TLS connection over a slow route takes seconds */

struct vs_at {
    const char *uri, *name; /* the store, and the namespace's name there (NULL: default) */
    const char *secret;     /* NULL: the URI contains it, or none is needed */
    struct vs_store *store;
    struct vs_ns_record ns; /* ver 0: the namespace is not in the store */
    struct vesta_layout layout;
    struct vs_shape shape;
    uint64_t worker_max;
    int64_t store_ms; /* the store's clock at its last reply */
};

/* Checks uri and name, and opens the store.  Connects to no server.  Errors: those of vs_namespace_check and
 * vs_store_open. */
int vs_at_open(struct vs_at *at, struct vesta_error *err);
void vs_at_close(struct vs_at *at);

/* Reads the namespace's record and layout.  If the namespace is not in the store, sets ns.ver to 0.  Errors:
 * VESTA_EIO. */
int vs_at_read(struct vs_at *at, struct vesta_error *err);
/* As vs_at_read.  Errors: also VESTA_ENOGEN if the namespace is not in the store. */
int vs_at_need(struct vs_at *at, struct vesta_error *err);

/* The worker ids that were ever used, and how many of the layout's worker ids are in each state. */
struct vs_workers {
    struct vs_listed *listed; /* the caller must free() it */
    size_t count;
    uint64_t standing[VS_STANDINGS], never;
};
/* Call vs_at_need first.  Errors: VESTA_EIO. */
int vs_at_list(struct vs_at *at, struct vs_workers *workers, struct vesta_error *err);
/* Returns the record of a worker id, or NULL if it was never leased. */
const struct vs_record *vs_workers_find(const struct vs_workers *workers, uint64_t worker);

/* Returns whether a process with this layout can lease worker ids of the namespace. */
bool vs_is_leased_to(const struct vesta_layout *layout, const struct vs_ns_record *ns);

#endif
