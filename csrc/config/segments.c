/* segments.c -- finds the row of a config's segments that serves a tag. */
#include "base/error.h"
#include "base/nearest.h"
#include "config/config.h"

#include <stdio.h>
#include <string.h>

bool vs_conf_segment_is_any(const struct vs_conf_segment *s) {
    return strcmp(s->tags.text[0], "*") == 0;
}

bool vs_conf_segment_has(const struct vs_conf_segment *s, const char *tag) {
    for (int t = 0; t < s->tags.count; t++)
        if (strcmp(s->tags.text[t], tag) == 0) return true;
    return false;
}

const char *vs_conf_segment_table(const struct vs_conf_segment *segment) {
    return strcmp(segment->table, "leaf_alloc") == 0 ? NULL : segment->table;
}

/* Appends a name to a list if it fits. */
static void segments_append(char *list, size_t size, const char *name) {
    size_t used = strlen(list);
    if (used + strlen(name) + 3 <= size) snprintf(list + used, size - used, "%s%s", used ? ", " : "", name);
}

int vs_conf_segment_of(const struct vs_config *config, const char *tag, const struct vs_conf_segment **segment,
                       struct vesta_error *err) {
    const struct vs_conf_segment *any = NULL;
    int count = 0;
    for (int i = 0; i < config->segment_count; i++) {
        const struct vs_conf_segment *s = &config->segment[i];
        if (vs_conf_segment_has(s, tag)) return *segment = s, VESTA_OK;
        if (vs_conf_segment_is_any(s)) count++, any = s;
    }
    if (count == 1) return *segment = any, VESTA_OK;
    if (count)
        return vs_fail(err, VESTA_EOPTION,
                       "several rows of segments may have the tag '%s': list it in `tags` of one of them",
                       VS_QUOTE(tag, strlen(tag)));
    char tags[256] = "", hint[VS_HINT_MAX];
    for (int i = 0; i < config->segment_count; i++)
        for (int t = 0; t < config->segment[i].tags.count; t++)
            segments_append(tags, sizeof tags, config->segment[i].tags.text[t]);
    return vs_fail(err, VESTA_EOPTION, "no row of segments has the tag '%s'. Listed tags: %s%s",
                   VS_QUOTE(tag, strlen(tag)), tags[0] ? tags : "none", vs_nearest_hint(tag, strlen(tag), tags, hint));
}
