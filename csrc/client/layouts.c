/* layouts.c -- whether ids of one more layout can be equal to those that a client has given. */
#include "client/layouts.h"
#include "base/error.h"
#include "id/id.h"

#include <stdio.h>

/* Of one fingerprint they are of one namespace, whose hosts may fix what it leaves free, or differ by a constant. */
static int prove_apart(const struct vs_layouts *known, const struct vesta_layout *fresh, struct vesta_error *err) {
    for (int i = 0; i < known->count; i++) {
        const struct vesta_made a = {&known->at[i], INT64_MIN, INT64_MAX}, b = {fresh, INT64_MIN, INT64_MAX};
        struct vesta_proof proof;
        if (known->at[i].fingerprint == fresh->fingerprint) continue;
        if (vesta_layout_prove(&a, &b, &proof) != VESTA_DISJOINT_BITS)
            return vs_fail(err, VESTA_EMISMATCH,
                           "its layout is another than that of blocks before, and an id can be of both, such as %llu: "
                           "see vesta layout prove",
                           (unsigned long long)proof.id);
    }
    return VESTA_OK;
}

static bool has(const struct vs_layouts *known, const struct vesta_layout *layout) {
    for (int i = 0; i < known->count; i++)
        if (memcmp(&known->at[i], layout, sizeof *layout) == 0) return true;
    return false;
}

/* One that cannot be read, as a newer server's, is taken where there is no other. */
int vs_layouts_take(struct vs_layouts *known, struct vs_slice text, struct vesta_error *err) {
    char copy[VESTA_LAYOUT_TEXT_MAX];
    struct vesta_layout fresh;
    if (text.length == 0 || vs_slice_is(text, known->last)) return VESTA_OK;
    if (text.length >= sizeof copy) return vs_fail(err, VESTA_ELAYOUT, "its layout is longer than any");
    snprintf(copy, sizeof copy, "%.*s", (int)text.length, text.at);
    bool is_read = vesta_layout_parse(copy, &fresh, NULL) == VESTA_OK;
    if (*known->last && (!is_read || known->count == 0))
        return vs_fail(err, VESTA_ELAYOUT,
                       "its layout is another than that of blocks before, and not comparable here: a newer client is "
                       "needed");
    if (is_read && !has(known, &fresh)) {
        int rc = prove_apart(known, &fresh, err);
        if (rc != VESTA_OK) return rc;
        if (known->count == VS_LAYOUTS_MAX)
            return vs_fail(err, VESTA_EFULL, "it is of one layout more than the %d of a client", VS_LAYOUTS_MAX);
        known->at[known->count++] = fresh;
    }
    memcpy(known->last, copy, sizeof copy);
    return VESTA_OK;
}
