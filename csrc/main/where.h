/* where.h -- which namespace a command is about, from whatever names it: a config, a generator file, a store, the
 * environment.  Reads files, asks no store. */
#ifndef VS_WHERE_H
#define VS_WHERE_H

#include "command/options.h"
#include "config/config.h"
#include "generator/map.h"
#include "serve/effective.h"

enum vs_where_word { VS_W_CONFIG, VS_W_NAMESPACE, VS_W_PATH, VS_W_STORE, VS_W_LAYOUT, VS_W_WORDS };

struct vs_where {
    const char *text[VS_W_WORDS]; /* as the options said; then what holds, NULL where nothing does */
    const char *from[VS_W_WORDS]; /* who said so: "--store", "VESTA_STORE", "the config" */
    enum vs_origin origin[VS_W_WORDS];
    const char *secret;       /* the store's, where the config has it apart; else NULL */
    const char *fields, *method; /* those of a config's namespace; else NULL */
    bool asks_no_file;        /* a generator file is not looked at */
    bool may_lack_file;       /* there need be none */
    int effective, json;      /* options: what holds is only shown, as JSON */
    struct vs_config *config; /* what the texts lie in, */
    struct vs_header header;  /* or the generator file's */
    char path[VS_IDENTITY_MAX];
};

/* Rows of options. */
/* clang-format off */
#define VS_WHERE_CONFIG(where) \
    {"config", 'c', VS_OPT_TEXT, &(where)->text[VS_W_CONFIG], "FILE", "a server's config, which has the namespace", 0, 0, NULL}
#define VS_WHERE_OPTIONS(where) \
    VS_WHERE_CONFIG(where), \
    VS_TEXT("namespace", &(where)->text[VS_W_NAMESPACE], "NAME", \
            "the namespace: of the config (default: its first), or of the store or this machine (default: default)"), \
    VS_TEXT("path", &(where)->text[VS_W_PATH], "FILE", "its generator file"), \
    VS_TEXT("store", &(where)->text[VS_W_STORE], "URI", "the store of its worker numbers"), \
    VS_EFFECTIVE(&(where)->effective)
/* clang-format on */

/* Takes the environment (VESTA_CONFIG, VESTA_STORE, VESTA_NAMESPACE) where the options say nothing, and completes what
 * is known from the config and, where no store was named, from the generator file.  VS_GO, or an exit code after a
 * message; end with vs_where_free either way. */
int vs_where_read(struct vs_where *where);
void vs_where_free(struct vs_where *where);

/* The namespace of the store that the named one is leased as; it may be another only where a config says so.  And back:
 * whose it is in the config, or NULL where it goes by its own name. */
const char *vs_where_leased(const struct vs_where *where);
const char *vs_where_public(const struct vs_where *where, const char *leased);

/* The environment alone; may be called before the others. */
int vs_where_environment(struct vs_where *where);
/* VESTA_CONFIG, or NULL. */
const char *vs_where_config(void);
/* Fills in what nobody said. */
void vs_where_put(struct vs_where *where, enum vs_where_word word, const char *text, enum vs_origin origin,
                  const char *from);

/* Whether a generator's flags say more than its namespace. */
bool vs_where_has_flags(const struct vesta_opts *opts);

/* How to open a generator: `opts` as its flags said, completed from the environment; where a config is named, by
 * config_path or VESTA_CONFIG, all of it is the config's, which *config is then, and which lives as long as opts are
 * used.  VS_GO, or an exit code after a message. */
int vs_where_opts(const char *config_path, struct vesta_opts *opts, struct vs_config **config);

/* Whether a namespace was named at all, be it by a store or a file. */
bool vs_where_is_named(const struct vs_where *where);

/* `--effective` of a command that has these words; and of one that opens a generator: the options of vs_where_opts,
 * taken in the same way.  VS_DONE, or an exit code after a message. */
int vs_where_print(const struct vs_where *where);
int vs_where_print_opts(const char *config_path, const struct vesta_opts *opts, int json);

#endif
