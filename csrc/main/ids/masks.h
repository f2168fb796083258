/* masks.h -- the masks of a config, for commands that write or read masked ids. */
#ifndef VS_MAIN_MASKS_H
#define VS_MAIN_MASKS_H

#include "config/config.h"

/* Open the mask of a namespace, or of a tag.  `segment` is the tag's row, or NULL to find it.  *mask is NULL if the
 * config has none.  Return VS_GO, or an exit code after a message.  Own: vs_mask_close. */
int vs_masks_of_namespace(const struct vs_conf_namespace *ns, struct vs_mask **mask);
int vs_masks_of_tag(const struct vs_config *config, const char *tag, const struct vs_conf_segment *segment,
                    struct vs_mask **mask);

/* Returns the namespace of the config with these options, or NULL. */
const struct vs_conf_namespace *vs_masks_find(const struct vs_config *config, const struct vesta_opts *opts);

/* Reads masked texts from operands, or from the lines of stdin, and calls `take` for each.  Returns an exit code. */
struct vs_masked {
    const char *text;
    uint64_t number;
    int version;
};
int vs_masks_each(const struct vs_mask *mask, int argc, char **argv,
                  int (*take)(void *self, const struct vs_masked *masked), void *self);

/* Prints the numbers of masked texts of a counter. */
int vs_explain_masked_numbers(const char *config_path, const char *tag, int argc, char **argv, int json);

#endif
