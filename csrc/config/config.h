/* config.h -- the config: a Lua file that returns data, the environment and flags, read into one struct that cannot be
 * half wrong.
 *
 *   config.c   runs the file in an environment with env() and file() only, under limits; the order of the sources
 *   source.c   the file as text: where a key stands, what a file that is no Lua looks like
 *   schema.c   the one table of keys (schema.h): kinds, ranges, defaults
 *   checks.c   what a text of it must look like
 *   place.c    a single value, checked and put in its place
 *   values.c   a value of Lua becomes a value of the config
 *   walk.c     the file's table, walked by the schema; errors that name the key path, a suggestion and the line
 *   whole.c    what must hold between keys; notes
 *   policies.c policies, and what they may read of the environment
 *   clients.c  who may ask
 *   tls.c      the certificate, and what belongs to it
 *   secrets.c  notes on secrets that others may read or write
 *   segments.c which row may have a tag, and where
 *   origin.c   effective values, each with where it came from; what differs between two configs
 *
 * Texts belong to the config and live as long as it does. */
#ifndef VS_CONFIG_H
#define VS_CONFIG_H

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
#define VS_CONF_NOTES_MAX 64
#define VS_CONF_KEYS_MAX 80 /* rows of the schema */

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
    const char *name;           /* a shipped policy or a file's path; NULL: none, the fixed rules hold */
    const char *options;        /* Lua text of a table, for vs_policy_read; NULL: none */
    struct vs_policy_text text; /* as it was read and tried */
};

/* Numbers are -1 and texts NULL where nothing was said and no default is a value, unless said otherwise.
 * `origin` is indexed by the schema's rows. */

struct vs_conf_store { /* stores.NAME */
    const char *name;
    unsigned char origin[VS_CONF_KEYS_MAX];
    const char *uri, *auth, *password;
    int64_t tls; /* 1: verify, 0: off */
};

/* A namespace as it was asked for; the server has it from here: struct vs_namespace is what becomes of it. */
struct vs_conf_namespace { /* namespaces.NAME */
    const char *name;
    unsigned char origin[VS_CONF_KEYS_MAX];
    struct vesta_opts opts;     /* to open it with; zero where nothing was said */
    const char *leased_as;      /* the namespace of the store that it draws from; NULL: the one of its name */
    const char *store;          /* as written: a URI, or the name of one under stores; NULL: opts.store is NULL, too */
    int64_t wait_ms_max;        /* how long a request may wait before the policy is asked; -1: the server's default */
    int64_t policy_wait_ms_max; /* how long a policy may keep it waiting, in all */
    int64_t rate, requests;     /* a second, of all clients; 0: as many as there are */
    struct vs_conf_policy policy, shadow; /* shadow: is tried without being obeyed */
    struct vs_conf_list policy_env;       /* variables that its policy may read */
};

enum vs_conf_order { VS_CONF_TREND, VS_CONF_STRICT, VS_CONF_DENSE };

struct vs_conf_segment { /* segments[I] */
    const char *name;    /* its place: "1" */
    unsigned char origin[VS_CONF_KEYS_MAX];
    const char *store, *table;
    const char *form, *zone; /* how its numbers are written; form NULL: in digits */
    int64_t order;           /* enum vs_conf_order */
    int64_t step;            /* 0: a tag's row says it */
    int64_t step_max, wait_ms_max;
    struct vs_conf_list stores, tags;
    /* from there: what to open, one or several */
    const char *uri[VS_CONF_SEGMENT_STORES_MAX], *secret[VS_CONF_SEGMENT_STORES_MAX];
    int uri_count;
};

/* How what file() read begins, as a message would show it: that may be a secret, whatever key it was given to. */
#define VS_CONF_READS_MAX 32
#define VS_CONF_READ_BYTES 32

struct vs_accounts;

struct vs_config {
    const char *name; /* the file's path; NULL: there is none */
    unsigned char origin[VS_CONF_KEYS_MAX];
    struct vs_conf_namespace *ns; /* `default` first, then by name; the first serves who names none */
    struct vs_conf_store *store;
    struct vs_conf_segment *segment;
    int ns_count, store_count, segment_count;
    struct vs_conf_list http, resp, admin; /* addresses; none: off */
    const char *resp_password, *admin_token;
    const char *clients_file;     /* who may ask; NULL: nobody has a name */
    struct vs_accounts *clients;  /* as it was read */
    int64_t open;                 /* other machines may ask without a secret */
    const char *tls_certificate, *tls_key, *tls_client_ca; /* files */
    int64_t tls_client_certificates;                       /* enum vs_tls_asks */
    int64_t tls_version;                                   /* 0: 1.2 or 1.3; 1: 1.3 */
    const char *http_socket_mode, *resp_socket_mode, *admin_socket_mode; /* octal */
    int64_t http_idle_ms_max, resp_idle_ms_max, resp_auth_ms_max;
    int64_t threads;
    int64_t connections_max, http_connections_max, resp_connections_max, admin_connections_max;
    int64_t address_connections_max, memory_mib_max;
    int64_t address_rate, address_requests; /* of each address, a second; 0: as many as it likes */
    int64_t http_n_max, resp_n_max, http_blocks_max, resp_blocks_max; /* blocks: -1: the server's, 0: none */
    int64_t log_level;  /* enum vs_log_level */
    int64_t log_format; /* 0: logfmt, 1: JSON */
    const char *log_file, *log_access;
    const char *user, *group;          /* to become after binding */
    struct vs_conf_list tinyid_tokens; /* none: none is asked for */
    struct vs_conf_list hosts;         /* names that HTTP clients may call this server by */
    struct vs_conf_list origins;       /* whose pages may ask */
    struct vs_conf_list proxies;       /* balancers that say whose connection it is */
    int64_t http_state;                /* 0: what tells of the server's state is the admin's alone */
    int64_t leaf_any_key, start_wait_ms_max;
    int64_t single_host; /* nobody else gives ids of these namespaces */
    char read[VS_CONF_READS_MAX][VS_CONF_READ_BYTES];
    int read_count;
    const char *note[VS_CONF_NOTES_MAX]; /* warnings */
    int note_count;
    struct vs_conf_text *texts; /* place.c's */
};

/* A command line's word on a key: {"--threads", "threads", "2"}.  "namespaces.*.layout" is of the one namespace there
 * is without a file. */
struct vs_conf_flag {
    const char *flag, *key, *text;
};

struct vs_conf_opts {
    const char *path;                /* NULL: no file */
    const struct vesta_opts *opts;   /* of the one namespace there is without a file; outlives the config */
    const struct vs_conf_flag *flag; /* flag > environment > file > default */
    int flag_count;
    const char *store_variable; /* the variable that the store of `opts` is from; NULL: it is a flag's */
};

/* Reads all sources; call it again with the same opts to read them anew.  Own: free with vs_config_free.
 * Errors: VESTA_EOPTION with file and line or flag or variable, the key path, what was expected, a suggestion;
 * VESTA_EIO; VESTA_ENOMEM. */
int vs_config_read(const struct vs_conf_opts *opts, struct vs_config **config, struct vesta_error *err);
void vs_config_free(struct vs_config *config); /* may be NULL */

/* Whether a row of segments serves every tag of its table. */
bool vs_conf_segment_is_any(const struct vs_conf_segment *segment);
bool vs_conf_segment_has(const struct vs_conf_segment *segment, const char *tag); /* by name */
/* Its table as a store is told; NULL: the one that it has without a name, which stores without tables have, too. */
const char *vs_conf_segment_table(const struct vs_conf_segment *segment);
/* The one row that may have a tag: that which names it, else the only one that serves any.  Errors: VESTA_EOPTION. */
int vs_conf_segment_of(const struct vs_config *config, const char *tag, const struct vs_conf_segment **segment,
                       struct vesta_error *err);

/* Whether no namespace gives ids of a number that another host may have drawn as well; else *why says which does, and
 * what to do, in flags or in a config.  For who listens where other machines can reach it. */
#define VS_NUMBERED_WHY_MAX 640
bool vs_config_is_numbered(const struct vs_config *config, bool by_flags, char *why, size_t size);

/* Why such an address of HTTP is not served as it is; NULL: it is said who may ask there. */
const char *vs_config_closed(const struct vs_config *config, bool by_flags);

/* An effective value, and where it came from. */
struct vs_conf_value {
    const char *path;                /* namespaces.orders.wait_ms_max */
    const char *text;                /* as text, secrets included; NULL: nothing was said, see `absent` */
    const char *absent;              /* in words, what then holds */
    const struct vs_conf_list *list; /* of a key that may have several values, else NULL */
    enum vs_origin origin;
    const char *variable; /* the environment variable of the key, or NULL */
    const char *by;       /* in words, who said so, where more is known than the origin; or NULL */
    bool is_secret;
    bool is_bare; /* a number, true or false: JSON has it without quotes */
};

/* Calls visit for every value there is, in the schema's order.  The value lives for the call.  Errors: VESTA_ENOMEM. */
typedef void vs_conf_visit(void *self, const struct vs_conf_value *value);
int vs_config_each(const struct vs_config *config, vs_conf_visit *visit, void *self);

/* Which keys differ that only a restart changes: "threads, http.listen", cut with "..." where buf is too small.
 * Returns how many; 0: a reload is all that is needed. */
int vs_config_differences(const struct vs_config *old, const struct vs_config *new_, char *buf, size_t size);

#endif
