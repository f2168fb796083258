/* secrets.c -- notes on secrets that other users of the machine may read or write.  Asks the machine for the rights of files. */
#include "base/error.h"
#include "base/uri.h"
#include "config/schema.h"
#include "os/files.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *vs_conf_open_to(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? vs_open_to_others(&st) : NULL;
}

/* ------------------------------------------------------------------ files that a store's URI names */

static bool secret_file_of(const char *uri, char *path, size_t size) {
    struct vs_uri_parts parts;
    struct vs_slice key, value;
    if (vs_uri_split((struct vs_slice){uri, strlen(uri)}, &parts)) return false;
    while (parts.query.length > 0)
        if (vs_uri_next_key(&parts.query, &key, &value) && vs_slice_is(key, "secret_file"))
            return vs_slice_decode(value, path, size) == VS_DECODED;
    return false;
}

static void note_named(const struct vs_conf_reading *r, const char *uri) {
    char path[256];
    const char *others = uri && secret_file_of(uri, path, sizeof path) ? vs_conf_open_to(path) : NULL;
    if (others)
        vs_conf_add_note(r->config, "others may %s %s, which a store's secret_file names: chmod o= on it", others,
                         VS_CONF_SHOWN(path));
}

/* ------------------------------------------------------------------ secrets that stand in the config */

struct looking {
    const struct vs_conf_reading *r;
    bool found;
};

static bool stands_there(const struct looking *looking, const char *text, size_t length) {
    return length > 0 && memmem(looking->r->source.text, looking->r->source.size, text, length);
}

/* What env() or file() gave is no text of the file. */
static void look_at(void *self, const struct vs_conf_value *value) {
    struct looking *looking = self;
    size_t at, length = value->text && !value->is_secret ? vs_store_password(value->text, &at) : 0;
    if (looking->found || value->origin != VS_FROM_FILE || !value->text) return;
    looking->found = value->is_secret ? stands_there(looking, value->text, strlen(value->text))
                                      : length > 0 && stands_there(looking, value->text + at, length);
}

int vs_conf_note_secrets(const struct vs_conf_reading *r, struct vesta_error *err) {
    struct looking looking = {.r = r};
    for (int i = 0; i < r->config->store_count; i++)
        note_named(r, r->config->store[i].uri);
    for (int i = 0; i < r->config->ns_count; i++)
        note_named(r, r->config->ns[i].store); /* a URI, or a store's name, which names no file */
    const char *others = r->source.path ? vs_conf_open_to(r->source.path) : NULL;
    if (!others) return VESTA_OK;
    if (vs_config_each(r->config, look_at, &looking) != VESTA_OK)
        return vs_fail(err, VESTA_ENOMEM, "no memory for the config");
    if (looking.found)
        vs_conf_add_note(r->config,
                         "others may %s %s, and a secret stands in it: chmod o= on it, or read the secret with "
                         "file()",
                         others, VS_CONF_SHOWN(r->source.path));
    return VESTA_OK;
}
