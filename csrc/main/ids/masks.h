/* masks.h -- the masks of a config, for commands that write or read masked ids. */
#ifndef VS_MAIN_MASKS_H
#define VS_MAIN_MASKS_H

#include "config/config.h"
#include "id/wide.h"
#include "mask/uuid47.h"

/* Open the mask of a namespace, or of a tag.  `segment` is the tag's row, or NULL to find it.  *mask is NULL if the
 * config has none.  Return VS_GO, or an exit code after a message.  Own: vs_mask_close. */
int vs_masks_of_namespace(const struct vs_conf_namespace *ns, struct vs_mask **mask);
int vs_masks_of_tag(const struct vs_config *config, const char *tag, const struct vs_conf_segment *segment,
                    struct vs_mask **mask);

/* Returns the namespace of the config with these options, or NULL. */
const struct vs_conf_namespace *vs_masks_find(const struct vs_config *config, const struct vesta_opts *opts);

/* Sets *key to the namespace's key for UUIDs, or *has_key to false if the config has none.  Returns VS_GO, or an exit code
 * after a message. */
int vs_masks_uuid_key(const struct vs_conf_namespace *ns, uint8_t key[VS_UUID47_KEY], bool *has_key);

/* A masked text, its number, and the version of its key. */
struct vs_masked {
    const char *text;
    uint64_t number;
    int version;
};
/* Reads masked texts from operands, or from the lines of stdin, and calls a function for each. */
struct vs_mask_input {
    const struct vs_mask *mask; /* NULL: only UUIDs are masked */
    const uint8_t *uuid_key;    /* NULL: UUIDs are not masked */
    int (*take)(void *self, const struct vs_masked *masked);
    int (*take_uuid)(void *self, const char *text, const struct vs_wide_found *uuid);
    void *self;
};
int vs_masks_each(const struct vs_mask_input *input, int argc, char **argv); /* returns an exit code */

/* Prints the numbers of masked texts of a counter. */
int vs_explain_masked_numbers(const char *config_path, const char *tag, int argc, char **argv, int json);

#endif
