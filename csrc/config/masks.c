/* masks.c -- reads the keys of masks. */
#include "base/error.h"
#include "config/inside.h"

#include <assert.h>

int conf_read_key(const char *entry, struct vs_mask_key *key, struct vesta_error *err) {
    bool has_version = entry[0] != '/'; /* checked by lua/config/checks.lua */
    key->version = has_version ? entry[0] - '0' : 0;
    return vs_mask_key_read(has_version ? entry + 2 : entry, key, err);
}

static int masks_read_keys(const struct vs_conf_list *files, struct vs_conf_mask *out,
                           struct vesta_error *err) {
    assert(files->count <= VS_MASK_KEYS_MAX);
    out->opts.key = out->key;
    for (int i = 0; i < files->count; i++) {
        int rc = conf_read_key(files->text[i], &out->key[i], err);
        if (rc != VESTA_OK) return rc;
        out->opts.key_count++;
    }
    return VESTA_OK;
}

#define NONE_BELOW 999999 /* the minimum of mask.max: smaller values mean that it is not set */

/* The members of a mask have the same names in both structs. */
#define MASKS_OPTS(row)                                                                                                \
    (struct vs_conf_mask) {                                                                                            \
        .opts = {.alphabet = (enum vs_mask_alphabet)(row)->mask_alphabet,                                              \
                 .check = (enum vs_mask_check)(row)->mask_check,                                                       \
                 .digits = (int)(row)->mask_digits,                                                                    \
                 .max = (row)->mask_max >= NONE_BELOW ? (uint64_t)(row)->mask_max : 0,                                 \
                 .name = (row)->name,                                                                                  \
                 .threads = 1 }                                                                                        \
    }

int vs_conf_namespace_mask(const struct vs_conf_namespace *ns, struct vs_conf_mask *out, struct vesta_error *err) {
    *out = MASKS_OPTS(ns);
    return masks_read_keys(&ns->mask_secret_file, out, err);
}

int vs_conf_segment_mask(const struct vs_conf_segment *segment, struct vs_conf_mask *out, struct vesta_error *err) {
    *out = MASKS_OPTS(segment);
    out->opts.is_counter = true;
    return masks_read_keys(&segment->mask_secret_file, out, err);
}
