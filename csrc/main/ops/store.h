/* store.h -- what the subcommands of `vesta store` share: what was asked for, and what each of them does with it.  All
 * return VS_GO or an exit code, after a message. */
#ifndef VS_STORE_COMMAND_H
#define VS_STORE_COMMAND_H

#include "main/ops/stores.h"

struct vs_asked {
    struct vs_at at;
    const char *layout, *static_;
    int lease, yes, again, trust_clock, segments;
    int lease_given, namespace_given;
};

/* show.c: the namespace that was named, or each of the store; the one that is open. */
int vs_show_store(struct vs_asked *asked);
int vs_show_namespace(struct vs_asked *asked);

/* create.c: the store, and a namespace in it. */
int vs_init_store(struct vs_asked *asked);
/* "924-1023", within the layout's field. */
int vs_read_static(const struct vs_asked *asked, const struct vesta_layout *layout, struct vs_ns_record *ns);
/* A namespace's first record, by the layout that was asked for. */
int vs_fresh_namespace(const struct vs_asked *asked, struct vs_ns_record *ns);

/* floor.c: the time below which no lease starts: raised for a store that lost what it had acknowledged, and lowered
 * where it was raised by a clock that was ahead. */
int vs_advance_floor(struct vs_asked *asked);
int vs_lower_floor(struct vs_asked *asked);
/* The widest lease in use: what may have been granted by it is what a floor must clear. */
const struct vs_lease_timing *vs_floor_timing(const struct vs_asked *asked);
/* A floor is counted from the store's clock: from one that is ahead it holds everybody up, from one that is behind it
 * does not clear what was granted.  This machine's is the second opinion. */
int vs_floor_check_clock(const struct vs_asked *asked);

#endif
