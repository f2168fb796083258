/* config.h -- the config: a Lua file that returns data, the environment and flags, read into one struct.  README lists
 * the files.
 *
 * The members of the structs, and their rows in fill.c, are generated from lua/config/schema.lua (config/keys.h).
 * The config owns its strings, which are valid until vs_config_free. */
#ifndef VS_CONFIG_H
#define VS_CONFIG_H

#include "config/keys.h"
#include "log/log.h"
#include "mask/mask.h"
#include "policy/policy.h"
#include "vesta.h"

#include <stdbool.h>
#include <stddef.h>

#define VS_CONF_NAMESPACES_MAX 16384
#define VS_CONF_STORES_MAX 16
#define VS_CONF_SEGMENTS_MAX 16
#define VS_CONF_SEGMENT_STORES_MAX 8
#define VS_CONF_LISTEN_MAX 8
#define VS_CONF_TOKENS_MAX 64
#define VS_CONF_HOSTS_MAX 64

enum vs_origin {
    VS_FROM_DEFAULT,
    VS_FROM_FILE,
    VS_FROM_ENV,
    VS_FROM_FLAG,
    VS_FROM_MAP /* a generator file */,
    VS_FROM_STORE
};

struct vs_conf_list {
    int count;
    const char **text;
};

struct vs_conf_policy {
    const char *name;           /* a shipped policy or the path of a file (NULL: no policy, so the fixed rules apply) */
    const char *options;        /* Lua text of a table, for vs_policy_read (NULL: none) */
    struct vs_policy_text text; /* the source text, after its test run */
};

/* If a key has neither a value nor a default, a string is NULL, and an integer is one less than its minimum: -1 or 0.
 * A switch is 0 or 1.  A choice is the index of its word. */

struct vs_conf_store { /* stores.NAME */
    const char *name;
    VS_CONF_STORE_MEMBERS
};

/* A namespace of the config, from which the server creates its struct vs_namespace. */
struct vs_conf_namespace { /* namespaces.NAME */
    const char *name;
    struct vesta_opts opts; /* for vesta_open */
    const char *store;      /* as written: a URI, or a name under `stores` (NULL if opts.store is NULL) */
    VS_CONF_NAMESPACE_MEMBERS
};

enum vs_conf_order { VS_CONF_TREND, VS_CONF_STRICT, VS_CONF_DENSE };

struct vs_conf_segment { /* segments[I] */
    const char *name;    /* position in the list, as text: "1" */
    VS_CONF_SEGMENT_MEMBERS
    /* The URIs of the stores to open, and their secrets (NULL: no separate secret). */
    const char *uri[VS_CONF_SEGMENT_STORES_MAX], *secret[VS_CONF_SEGMENT_STORES_MAX];
    int uri_count;
};

struct vs_accounts;
struct vs_conf_text;

struct vs_config {
    const char *name;             /* path of the config file (NULL: no file) */
    /* `default` is first, and the other namespaces are sorted by name (a request without a namespace uses the
     * first). */
    struct vs_conf_namespace *ns;
    struct vs_conf_store *store;
    struct vs_conf_segment *segment;
    int ns_count, store_count, segment_count;
    VS_CONF_MEMBERS
    struct vs_accounts *clients;   /* the accounts of clients_file (NULL: no such file) */
    struct vs_conf_list notes;     /* warnings */
    /* Reasons to reject a socket of a service manager that other machines can reach.  NULL: there is no reason. */
    const char *unnumbered; /* a namespace uses a worker id that another host may have drawn too */
    const char *closed;     /* HTTP only: any client could request ids */
    const char *said;              /* values that differ from their defaults, serialized by lua/config/effective.lua */
    size_t said_length;
    struct vs_conf_text *texts; /* allocations that config.c owns */
};

/* A command-line flag: {"--threads", "threads", "2"}.  The key "namespaces.*.layout" denotes the single namespace of a
 * server without a config file. */
struct vs_conf_flag {
    const char *flag, *key, *text;
};

struct vs_conf_opts {
    const char *path;                /* path of the config file (NULL: no file) */
    /* Options of the single namespace of a server without a config file (must outlive the config). */
    const struct vesta_opts *opts;
    /* Flags override the environment, the environment overrides the file, and the file overrides defaults. */
    const struct vs_conf_flag *flag;
    int flag_count;
    const char *store_variable; /* environment variable that set the store in `opts` (NULL: a flag set it) */
    /* An unreadable or missing file of clients is not an error, and keys of masks are not read. */
    bool serves_no_clients;
};

/* Reads all sources.  To reload them, call it again with the same opts.  Own: free with vs_config_free.  Errors:
 * VESTA_EOPTION, with file and line, flag or variable, the key's path, the expected value and a suggestion, VESTA_EIO,
 * VESTA_ENOMEM. */
int vs_config_read(const struct vs_conf_opts *opts, struct vs_config **config, struct vesta_error *err);
void vs_config_free(struct vs_config *config); /* may be NULL */

/* Returns the end of a file's path for a message, without characters that could break a line. */
#define VS_CONF_SHOWN_MAX 160
#define VS_CONF_SHOWN(path) vs_conf_shown((path), (char[VS_CONF_SHOWN_MAX]){0})
const char *vs_conf_shown(const char *path, char *buf);

/* Returns whether a row of segments serves every tag of its table. */
bool vs_conf_segment_is_any(const struct vs_conf_segment *segment);
bool vs_conf_segment_has(const struct vs_conf_segment *segment, const char *tag); /* whether the row lists the tag */
/* Returns the row's table for the store (NULL: the default table, which is also used if the store has no tables). */
const char *vs_conf_segment_table(const struct vs_conf_segment *segment);
/* Finds the row that serves a tag: the row that lists it, otherwise the only row that serves every tag of its table.
 * Errors: VESTA_EOPTION. */
int vs_conf_segment_of(const struct vs_config *config, const char *tag, const struct vs_conf_segment **segment,
                       struct vesta_error *err);

/* The options of a mask and its keys, for vs_mask_open.  Do not copy or move it, because `opts` points into `key`. */
struct vs_conf_mask {
    struct vs_mask_opts opts; /* key_count is 0 if there is no mask */
    struct vs_mask_key key[VS_MASK_KEYS_MAX];
};
/* Read the key files of the mask of a namespace, or of a row of segments.  For a row, the caller sets opts.name to a
 * tag. Errors: VESTA_EIO, VESTA_EOPTION. */
int vs_conf_namespace_mask(const struct vs_conf_namespace *ns, struct vs_conf_mask *out, struct vesta_error *err);
int vs_conf_segment_mask(const struct vs_conf_segment *segment, struct vs_conf_mask *out, struct vesta_error *err);

/* An effective value and its origin. */
struct vs_conf_value {
    const char *path;                /* namespaces.orders.wait_ms_max */
    const char *text;                /* the value, including secrets (NULL: no value, see `absent`) */
    const char *absent;              /* description of what applies if there is no value */
    const struct vs_conf_list *list; /* the values of a key that accepts several (otherwise NULL) */
    enum vs_origin origin;
    const char *variable; /* the environment variable of the key, or NULL */
    const char *by;       /* description of the source, if it is more specific than the origin (otherwise NULL) */
    bool is_secret;
    bool is_bare; /* JSON prints the value without quotes: a number, true or false */
};

/* Calls visit for every value, in the order of the schema.  The value is valid only during the call.  Errors:
 * VESTA_ENOMEM. */
typedef void vs_conf_visit(void *self, const struct vs_conf_value *value);
int vs_config_each(const struct vs_config *config, vs_conf_visit *visit, void *self);

/* Lists the keys that differ and take effect only after a restart: "threads, http.listen".  If buf is too
 * small, the list is truncated with "...".  Returns the number of keys, or 0 if a reload is sufficient.  If memory is
 * exhausted, reports one difference and names no key. */
int vs_config_differences(const struct vs_config *old, const struct vs_config *new_, char *buf, size_t size);

#endif
