/* masks.c -- see masks.h. */
#include "main/ids/masks.h"
#include "command/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ opening */

static int masks_open(const char *what, int rc, struct vs_conf_mask *conf, struct vs_mask **mask, struct vesta_error *err) {
    *mask = NULL;
    if (rc == VESTA_OK && conf->opts.key_count > 0) rc = vs_mask_open(&conf->opts, mask, err);
    explicit_bzero(conf->key, sizeof conf->key);
    if (rc == VESTA_OK) return VS_GO;
    vs_say("the mask of %s: %s", what, err->text);
    return VS_FAILED;
}

int vs_masks_of_namespace(const struct vs_conf_namespace *ns, struct vs_mask **mask) {
    struct vs_conf_mask conf;
    struct vesta_error err;
    int rc = vs_conf_namespace_mask(ns, &conf, &err);
    return masks_open(ns->name, rc, &conf, mask, &err);
}

int vs_masks_of_tag(const struct vs_config *config, const char *tag, const struct vs_conf_segment *segment,
                    struct vs_mask **mask) {
    struct vs_conf_mask conf;
    struct vesta_error err;
    if (!segment && vs_conf_segment_of(config, tag, &segment, &err) != VESTA_OK) return vs_report(&err);
    int rc = vs_conf_segment_mask(segment, &conf, &err);
    conf.opts.name = tag;
    return masks_open(tag, rc, &conf, mask, &err);
}

int vs_masks_uuid_key(const struct vs_conf_namespace *ns, uint8_t key[VS_UUID47_KEY], bool *has_key) {
    struct vesta_error err;
    *has_key = ns->mask_uuid_secret_file != NULL;
    if (!*has_key || vs_mask_uuid_key_read(ns->mask_uuid_secret_file, key, &err) == VESTA_OK) return VS_GO;
    vs_say("the mask of %s: %s", ns->name, err.text);
    return VS_FAILED;
}

const struct vs_conf_namespace *vs_masks_find(const struct vs_config *config, const struct vesta_opts *opts) {
    for (int i = 0; config && i < config->ns_count; i++)
        if (config->ns[i].opts.namespace_ == opts->namespace_) return &config->ns[i]; /* the same string */
    return NULL;
}

/* ------------------------------------------------------------------ reading */

/* Shows the version 7 in a UUID of version 4. */
static int masks_take_uuid(const struct vs_mask_input *input, const char *text) {
    struct vs_slice slice = {text, strlen(text)};
    struct vs_wide_found found;
    struct vesta_error err;
    uint8_t bytes[VESTA_UUID_BYTES];
    if (vs_wide_read(slice, &found, &err) != VESTA_OK) return vs_report(&err);
    if (vs_wide_version(found.id) != 4)
        return vs_say("%s is a UUID of version %u, but masked UUIDs have version 4", vs_shown_text(text),
                      vs_wide_version(found.id)),
               VS_FAILED;
    vs_wide_bytes(found.id, bytes);
    vs_uuid47_show(input->uuid_key, bytes);
    found.id = vs_wide_of(bytes);
    return input->take_uuid(input->self, text, &found);
}

static int masks_take(const struct vs_mask_input *input, const char *text) {
    struct vs_masked masked = {.text = text};
    struct vesta_error err;
    if (input->uuid_key && (!input->mask || vs_wide_is_meant((struct vs_slice){text, strlen(text)})))
        return masks_take_uuid(input, text);
    if (vs_mask_read(input->mask, 0, text, strlen(text), &masked.number, &masked.version, &err) != VESTA_OK)
        return vs_report(&err);
    return input->take(input->self, &masked);
}

static int masks_each_line(const struct vs_mask_input *input) {
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    int code = VS_DONE;
    while (!vs_out_gone() && (n = getline(&line, &size, stdin)) >= 0) {
        char *text = line + strspn(line, " \t");
        text[strcspn(text, " \t\r\n")] = '\0';
        int rc = *text ? masks_take(input, text) : VS_DONE;
        if (rc > code) code = rc;
    }
    if (ferror(stdin)) code = (vs_say("cannot read stdin: %s", strerror(errno)), VS_FAILED);
    free(line);
    return code;
}

int vs_masks_each(const struct vs_mask_input *input, int argc, char **argv) {
    int code = VS_DONE;
    if (argc == 1 && strcmp(argv[0], "-") == 0) argc = 0;
    if (argc == 0) return vs_say_waiting("masked ids from stdin, one per line"), masks_each_line(input);
    for (int i = 0; i < argc && !vs_out_gone(); i++) {
        int rc = masks_take(input, argv[i]);
        if (rc > code) code = rc;
    }
    return code;
}

static int masks_print_number(void *self, const struct vs_masked *masked) {
    const int *json = self;
    if (*json) {
        vs_outf("{\"text\":");
        vs_out_json(masked->text);
        vs_outf(",\"number\":\"%" PRIu64 "\",\"key_version\":%d}\n", masked->number, masked->version);
    } else {
        vs_outf("%s  number %" PRIu64 ", key version %d\n", masked->text, masked->number, masked->version);
    }
    return VS_DONE;
}

int vs_explain_masked_numbers(const char *config_path, const char *tag, int argc, char **argv, int json) {
    struct vs_conf_opts from = {.path = config_path, .serves_no_clients = true};
    struct vs_config *config = NULL;
    struct vs_mask *mask = NULL;
    struct vesta_error err;
    if (vs_config_read(&from, &config, &err) != VESTA_OK) return vs_say("%s", err.text), VS_FAILED;
    int rc = vs_masks_of_tag(config, tag, NULL, &mask);
    if (rc == VS_GO && !mask)
        rc = vs_usage("%s has no mask for the counter %s", vs_shown_text(config_path), vs_shown_text(tag));
    const struct vs_mask_input input = {.mask = mask, .take = masks_print_number, .self = &json};
    if (rc == VS_GO) rc = vs_masks_each(&input, argc, argv);
    vs_mask_close(mask);
    vs_config_free(config);
    return rc;
}
