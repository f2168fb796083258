/* where.h -- finds the namespace that a command is about: by a config, a generator file, a store, or the environment.
 * Reads files, but connects to no store. */
#ifndef VS_WHERE_H
#define VS_WHERE_H

#include "command/options.h"
#include "config/config.h"
#include "generator/map.h"
#include "serve/effective.h"

enum vs_where_word { VS_W_CONFIG, VS_W_NAMESPACE, VS_W_PATH, VS_W_STORE, VS_W_LAYOUT, VS_W_WORDS };

struct vs_where {
    const char *text[VS_W_WORDS]; /* set by the options, then the resolved values (NULL: none) */
    const char *from[VS_W_WORDS]; /* where each value comes from: "--store", "VESTA_STORE", "the config" */
    enum vs_origin origin[VS_W_WORDS];
    const char *secret;       /* the store's secret, if the config contains it separately (otherwise NULL) */
    const char *fields, *method; /* options of the config's namespace (otherwise NULL) */
    bool asks_no_file;        /* the generator file must not be read */
    bool may_lack_file;       /* the generator file may be missing */
    int effective, json;      /* options: only print the resolved values, as JSON */
    struct vs_config *config; /* the config that the texts may point into */
    struct vs_header header;  /* or into this header of the generator file */
    char path[VS_IDENTITY_MAX];
};

/* Rows for a command's table of options. */
/* clang-format off */
#define VS_WHERE_CONFIG(where) \
    {"config", 'c', VS_OPT_TEXT, &(where)->text[VS_W_CONFIG], "FILE", "a server's config that contains the namespace", 0, 0, NULL}
#define VS_WHERE_OPTIONS(where) \
    VS_WHERE_CONFIG(where), \
    VS_TEXT("namespace", &(where)->text[VS_W_NAMESPACE], "NAME", \
            "the namespace (default: the config's first, or default)"), \
    VS_TEXT("path", &(where)->text[VS_W_PATH], "FILE", "the namespace's generator file"), \
    VS_TEXT("store", &(where)->text[VS_W_STORE], "URI", "the store that leases the namespace's worker ids"), \
    VS_EFFECTIVE(&(where)->effective)
/* clang-format on */

/* Adds values that the options lack, first from the environment (VESTA_CONFIG, VESTA_STORE, VESTA_NAMESPACE), and then
 * from the config or, if no store was named, from the generator file.  Returns VS_GO, or an exit code after a message.
 * Call vs_where_free in either case. */
int vs_where_read(struct vs_where *where);
void vs_where_free(struct vs_where *where);

/* vs_where_leased returns the name under which the namespace is leased in the store.  Only a config can set a different
 * name for it.  vs_where_public returns the config's name for a leased name, or NULL if they are equal. */
const char *vs_where_leased(const struct vs_where *where);
const char *vs_where_public(const struct vs_where *where, const char *leased);

/* Adds only the values that come from the environment.  May be called before vs_where_read. */
int vs_where_environment(struct vs_where *where);
/* Returns the value of VESTA_CONFIG, or NULL. */
const char *vs_where_config(void);
/* Sets a value that has not been set. */
void vs_where_put(struct vs_where *where, enum vs_where_word word, const char *text, enum vs_origin origin,
                  const char *from);

/* Returns whether the flags of a generator set more than the namespace. */
bool vs_where_has_flags(const struct vesta_opts *opts);

/* Completes the options of a generator from the environment.  If config_path or VESTA_CONFIG names a config, all
 * options come from that config.  *config then owns their strings and must outlive the options.  Returns VS_GO, or an
 * exit code after a message. */
int vs_where_opts(const char *config_path, struct vesta_opts *opts, struct vs_config **config);

/* Returns whether a namespace was named, directly or by a store or file. */
bool vs_where_is_named(const struct vs_where *where);

/* Prints `--effective` for a command with these options.  vs_where_print_opts prints it for a command that opens a
 * generator.  The options are resolved as in vs_where_opts.  Returns VS_DONE, or an exit code after a message. */
int vs_where_print(const struct vs_where *where);
int vs_where_print_opts(const char *config_path, const struct vesta_opts *opts, int json);

#endif
