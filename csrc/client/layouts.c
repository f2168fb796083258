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

static bool layouts_have(const struct vs_layouts *known, const struct vesta_layout *layout) {
    for (int i = 0; i < known->count; i++)
        if (vs_layout_is_part(layout, &known->at[i])) return true;
    return false;
}

/* What two of one namespace are parts of. */
static struct vesta_layout layouts_joined(const struct vesta_layout *a, const struct vesta_layout *b) {
    struct vesta_layout both = *a;
    for (int i = 0; i < both.field_count; i++) {
        struct vesta_field *f = &both.field[i];
        if (!f->fixed || (b->field[i].fixed && b->field[i].value == f->value)) continue;
        f->fixed = 0;
        f->value = 0;
    }
    return both;
}

/* Two of one namespace become one, where that is apart from the others as they were: its parts are never proved again.
 * False: there are no such two. */
static bool join_two(struct vs_layouts *known) {
    for (int i = 0; i < known->count; i++)
        for (int j = i + 1; j < known->count; j++) {
            if (known->at[i].fingerprint != known->at[j].fingerprint) continue;
            struct vesta_layout both = layouts_joined(&known->at[i], &known->at[j]);
            if (prove_apart(known, &both, NULL) != VESTA_OK) continue;
            known->at[i] = both;
            known->at[j] = known->at[--known->count];
            return true;
        }
    return false;
}

static int layouts_add(struct vs_layouts *known, const struct vesta_layout *fresh, struct vesta_error *err) {
    int rc = prove_apart(known, fresh, err);
    if (rc != VESTA_OK) return rc;
    known->at[known->count++] = *fresh;
    if (known->count <= VS_LAYOUTS_MAX || join_two(known)) return VESTA_OK;
    known->count--;
    return vs_fail(err, VESTA_EFULL, "it is of one layout more than the %d of a client", VS_LAYOUTS_MAX);
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
    if (is_read && !layouts_have(known, &fresh)) {
        int rc = layouts_add(known, &fresh, err);
        if (rc != VESTA_OK) return rc;
    }
    memcpy(known->last, copy, sizeof copy);
    return VESTA_OK;
}
