/* layouts.c -- checks that ids of a new layout cannot be duplicates of ids that the client has issued. */
#include "client/layouts.h"
#include "base/error.h"
#include "id/id.h"

#include <stdio.h>

/* Proves that the new layout is disjoint from the known ones.  Layouts with the same fingerprint need no proof.  They
 * belong to one namespace, and differ only in fields that a host has fixed, or in a constant. */
static int prove_apart(const struct vs_layouts *known, const struct vesta_layout *fresh, struct vesta_error *err) {
    for (int i = 0; i < known->count; i++) {
        const struct vesta_made a = {&known->at[i], INT64_MIN, INT64_MAX}, b = {fresh, INT64_MIN, INT64_MAX};
        struct vesta_proof proof;
        if (known->at[i].fingerprint == fresh->fingerprint) continue;
        if (vesta_layout_prove(&a, &b, &proof) != VESTA_DISJOINT_BITS)
            return vs_fail(
                err, VESTA_EMISMATCH,
                "its layout differs from the layout of earlier blocks, and an id can belong to both, for example "
                "%llu: see vesta layout prove",
                (unsigned long long)proof.id);
    }
    return VESTA_OK;
}

static bool layouts_have(const struct vs_layouts *known, const struct vesta_layout *layout) {
    for (int i = 0; i < known->count; i++)
        if (vs_layout_is_part(layout, &known->at[i])) return true;
    return false;
}

/* Returns the smallest layout that contains two layouts of one namespace.  Fields that have different fixed values
 * become free. */
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

/* Joins two layouts of one namespace if the result is disjoint from all other layouts.  The proof is needed because
 * layouts within the result are not checked again.  Returns false if no such pair exists. */
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
    return vs_fail(err, VESTA_EFULL, "its layout exceeds the limit of %d different layouts: open another client",
                   VS_LAYOUTS_MAX);
}

/* A layout that cannot be parsed, for example a newer server's, is accepted only if it is the client's only layout. */
int vs_layouts_take(struct vs_layouts *known, struct vs_slice text, struct vesta_error *err) {
    char copy[VESTA_LAYOUT_TEXT_MAX];
    struct vesta_layout fresh;
    if (text.length == 0 || vs_slice_is(text, known->last)) return VESTA_OK;
    if (text.length >= sizeof copy) return vs_fail(err, VESTA_ELAYOUT, "its layout is too long: update this client");
    snprintf(copy, sizeof copy, "%.*s", (int)text.length, text.at);
    bool is_read = vesta_layout_parse(copy, &fresh, NULL) == VESTA_OK;
    if (*known->last && (!is_read || known->count == 0))
        return vs_fail(
            err, VESTA_ELAYOUT,
            "its layout differs from the layout of earlier blocks, and cannot be compared with it: update this client");
    if (is_read && !layouts_have(known, &fresh)) {
        int rc = layouts_add(known, &fresh, err);
        if (rc != VESTA_OK) return rc;
    }
    memcpy(known->last, copy, sizeof copy);
    return VESTA_OK;
}
