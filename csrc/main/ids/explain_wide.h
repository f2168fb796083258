/* explain_wide.h -- `explain` for ids of 128 bits. */
#ifndef VS_EXPLAIN_WIDE_H
#define VS_EXPLAIN_WIDE_H

#include "main/ids/compare.h"
#include "main/ids/holders.h"

/* How ids are read. */
struct vs_wide_view {
    const struct vesta_layout *layout; /* of the namespace (NULL: it was not named) */
    const char *name;                  /* of the layout */
    const struct vs_holders *holders;
    int64_t now_ms;
    int json;
};

/* Prints the fields of an id, and sets when it was made.  Returns false if the id contains no time. */
bool vs_wide_explain(const struct vs_wide_view *view, const struct vs_wide_found *found, struct vs_moment *moment);

#endif
