/* config.h -- the config: a Lua file that returns data, the environment and flags, read into one struct.  README lists
 * the files.
 *
 * The members of the structs, and their rows in fill.c, are generated from lua/config/schema.lua (config/keys.h).
 * Texts belong to the config and are valid as long as it is. */
#ifndef VS_CONFIG_H
#define VS_CONFIG_H

#include "config/keys.h"
#include "log/log.h"
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
    const char *name;           /* a shipped policy or the path of a file (NULL: none, the fixed rules apply) */
    const char *options;        /* Lua text of a table, for vs_policy_read (NULL: none) */
    struct vs_policy_text text; /* as it was read and tried */
};

/* Without a value and a default, a text is NULL, and a number is one less than its minimum: -1 or 0.  A switch is 0 or
 * 1, and a choice the index of its word. */

struct vs_conf_store { /* stores.NAME */
    const char *name;
    VS_CONF_STORE_MEMBERS
};

/* A namespace of the config, from which the server makes its struct vs_namespace. */
struct vs_conf_namespace { /* namespaces.NAME */
    const char *name;
    struct vesta_opts opts; /* for vesta_open */
    const char *store;      /* as written: a URI, or a name under `stores` (NULL: opts.store is NULL) */
    VS_CONF_NAMESPACE_MEMBERS
};

enum vs_conf_order { VS_CONF_TREND, VS_CONF_STRICT, VS_CONF_DENSE };

struct vs_conf_segment { /* segments[I] */
    const char *name;    /* its position: "1" */
    VS_CONF_SEGMENT_MEMBERS
    /* the stores to open */
    const char *uri[VS_CONF_SEGMENT_STORES_MAX], *secret[VS_CONF_SEGMENT_STORES_MAX];
    int uri_count;
};

struct vs_accounts;
struct vs_conf_text;

struct vs_config {
    const char *name;             /* path of the file (NULL: there is none) */
    struct vs_conf_namespace *ns; /* `default` first, then by name (a request without a namespace means the first) */
    struct vs_conf_store *store;
    struct vs_conf_segment *segment;
    int ns_count, store_count, segment_count;
    VS_CONF_MEMBERS
    struct vs_accounts *clients;   /* the accounts of clients_file (NULL: there is no such file) */
    struct vs_conf_list notes;     /* warnings */
    /* Why a socket that is handed over must not be reachable from other machines, or NULL. */
    const char *unnumbered; /* a namespace uses a worker id that another host may have drawn too */
    const char *closed;     /* for HTTP: any client could get ids */
    const char *said;              /* the values that differ from defaults, packed by lua/config/effective.lua */
    size_t said_length;
    struct vs_conf_text *texts; /* owned by config.c */
};

/* A flag of the command line: {"--threads", "threads", "2"}.  "namespaces.*.layout" belongs to the single namespace of
 * a server without a file. */
struct vs_conf_flag {
    const char *flag, *key, *text;
};

struct vs_conf_opts {
    const char *path;                /* NULL: no file */
    /* options of the single namespace of a server without a file (must outlive the config) */
    const struct vesta_opts *opts;
    const struct vs_conf_flag *flag; /* flag > environment > file > default */
    int flag_count;
    const char *store_variable; /* the environment variable of the store of `opts` (NULL: it is from a flag) */
    bool serves_no_clients;     /* a file of clients that is unreadable or missing is not an error */
};

/* Reads all sources.  Call it again with the same opts to read them anew.  Own: free with vs_config_free.  Errors:
 * VESTA_EOPTION, with file and line, flag or variable, the key's path, the expected value and a suggestion; VESTA_EIO;
 * VESTA_ENOMEM. */
int vs_config_read(const struct vs_conf_opts *opts, struct vs_config **config, struct vesta_error *err);
void vs_config_free(struct vs_config *config); /* may be NULL */

/* Shortens a file's path for a message to its end, without characters that could break a line. */
#define VS_CONF_SHOWN_MAX 160
#define VS_CONF_SHOWN(path) vs_conf_shown((path), (char[VS_CONF_SHOWN_MAX]){0})
const char *vs_conf_shown(const char *path, char *buf);

/* Whether a row of segments serves every tag of its table. */
bool vs_conf_segment_is_any(const struct vs_conf_segment *segment);
bool vs_conf_segment_has(const struct vs_conf_segment *segment, const char *tag); /* by name */
/* Returns the row's table for the store (NULL: the default table, which is also used if the store has no tables). */
const char *vs_conf_segment_table(const struct vs_conf_segment *segment);
/* Finds the row that may have a tag: the row that names it, else the only row that serves any tag.  Errors:
 * VESTA_EOPTION. */
int vs_conf_segment_of(const struct vs_config *config, const char *tag, const struct vs_conf_segment **segment,
                       struct vesta_error *err);

/* An effective value and its origin. */
struct vs_conf_value {
    const char *path;                /* namespaces.orders.wait_ms_max */
    const char *text;                /* including secrets (NULL: no value, see `absent`) */
    const char *absent;              /* what applies without a value, in words */
    const struct vs_conf_list *list; /* for keys that may have several values, else NULL */
    enum vs_origin origin;
    const char *variable; /* the environment variable of the key, or NULL */
    const char *by;       /* the source in words, if more is known than the origin, else NULL */
    bool is_secret;
    bool is_bare; /* a number, true or false, which JSON has without quotes */
};

/* Calls visit for every value, in the order of the schema.  The value is valid during the call.  Errors:
 * VESTA_ENOMEM. */
typedef void vs_conf_visit(void *self, const struct vs_conf_value *value);
int vs_config_each(const struct vs_config *config, vs_conf_visit *visit, void *self);

/* Lists the keys that differ and that only a restart changes: "threads, http.listen", cut with "..." if buf is too
 * small.  Returns their number, or 0 if a reload is sufficient.  Without memory it reports one difference without a
 * name. */
int vs_config_differences(const struct vs_config *old, const struct vs_config *new_, char *buf, size_t size);

#endif
