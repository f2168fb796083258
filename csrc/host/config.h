/* config.h -- the config file: Lua that returns data, read into one struct that cannot be half wrong.
 *
 *   config.c   runs the file in an environment with env() and file() only, under limits
 *   schema.c   what may stand in it: one table of keys with kinds, ranges and defaults; errors that name the key path
 *   origin.c   effective values, each with where it came from: default, file, env or flag */
#ifndef VS_CONFIG_H
#define VS_CONFIG_H

#include "vesta.h"

#include <stdbool.h>

#define VS_CONF_SPACES_MAX 64
#define VS_CONF_LISTEN_MAX 8
#define VS_CONF_TEXT_MAX 256 /* a path, an address, a name */

enum vs_origin { VS_FROM_DEFAULT, VS_FROM_FILE, VS_FROM_ENV, VS_FROM_FLAG };

struct vs_conf_policy {
    char name[VS_CONF_TEXT_MAX]; /* shipped name or path; "": none */
    char *options;               /* Lua text of a table, or NULL */
};

struct vs_conf_space { /* one of `namespaces` */
    char name[VESTA_NAMESPACE_MAX];
    char layout[VESTA_LAYOUT_TEXT_MAX]; /* "": the file's, else the default */
    char store[VS_CONF_TEXT_MAX];       /* the URI; "": file:<state> */
    char path[VS_CONF_TEXT_MAX], group[64], fields[VS_CONF_TEXT_MAX], lease[16];
    bool has_worker;
    uint64_t worker;
    enum vesta_pacing pacing;
    int64_t ahead_ms_max, wait_ms_max;
    struct vs_conf_policy policy;
};

struct vs_conf_listen { /* `http`, `resp`, `admin` */
    char address[VS_CONF_LISTEN_MAX][VS_CONF_TEXT_MAX];
    int count; /* 0: off */
};

struct vs_config {
    struct vs_conf_space *space;
    int space_count;
    struct vs_conf_listen http, resp, admin;
    char resp_password[256], admin_token[256]; /* "": none */
    int threads;
    char log_level[8], log_format[8], log_file[VS_CONF_TEXT_MAX];
    char user[64], group[64]; /* to become after binding; "": stay */
    bool leaf_any_key;
};

/* Reads a file; defaults where a key is absent.  Errors: VESTA_EOPTION with the key path, what was expected, a
 * suggestion and the line; VESTA_EIO. */
int vs_config_read(const char *path, struct vs_config *out, struct vesta_error *err);
void vs_config_free(struct vs_config *config);

#endif
