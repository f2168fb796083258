/* schema.h -- what the config's files share: the table of keys, and how a value gets into its place.
 * Only csrc/config includes this, and who lists the keys. */
#ifndef VS_SCHEMA_H
#define VS_SCHEMA_H

#include "config/config.h"

#include <stdint.h>

enum vs_conf_kind {
    VS_CONF_TEXT,
    VS_CONF_SECRET,  /* a text that is never shown */
    VS_CONF_INTEGER, /* int64_t, as the next two */
    VS_CONF_SWITCH,
    VS_CONF_CHOICE,  /* min + the index in `words` */
    VS_CONF_WORD,    /* a text that is one of `words` */
    VS_CONF_LIST,    /* a text or a list of texts */
    VS_CONF_SECRETS, /* the same, never shown */
    VS_CONF_POLICY,  /* a name, or a table of a name and options */
    VS_CONF_FIELDS   /* a table of names and numbers, kept as "a=1 b=2" */
};

/* How a number stands at its offset. */
enum vs_conf_stored {
    VS_CONF_AS_INT64,
    VS_CONF_AS_ENUM,
    VS_CONF_AS_WORKER, /* the two members of a struct vesta_opts */
    VS_CONF_AS_AHEAD   /* int64_t, as vesta_opts has it: 0 where nothing was said, -1 for none at all */
};

struct vs_conf_key {
    const char *path; /* * stands for a name, # for a place in a list */
    enum vs_conf_kind kind;
    size_t offset; /* in struct vs_config, or in the struct of the part that the * or # stands for */
    enum vs_conf_stored stored;
    int64_t min, max;                                        /* of a number; max: bytes of a text, entries of a list */
    const char *words;                                       /* of a choice: "off|verify" */
    int (*check)(const char *text, struct vesta_error *err); /* of a text; goes on from the key: "is no layout: ..." */
    const char *initial;                                     /* the default as text, or NULL */
    const char *absent;                                      /* what holds without a value, in words */
    const char *variable;                                    /* of the environment, or NULL */
    bool is_live;                                            /* a reload is enough to change it */
    const char *help;
};
extern const struct vs_conf_key vs_conf_keys[];
extern const int vs_conf_key_count;
const struct vs_conf_key *vs_conf_key_of(const char *path); /* which is one of them */

/* A table whose entries have names (*) or places (#): "stores.*.", ... */
struct vs_conf_part {
    const char *prefix;
    size_t array, count, size; /* in struct vs_config, of a pointer and an int; the size of one */
    int max;
    int (*check)(const char *name, struct vesta_error *err); /* goes on from the name; NULL: places */
};
extern const struct vs_conf_part vs_conf_parts[];
extern const int vs_conf_part_count;

/* The part with that prefix, or NULL: it is the config itself. */
const struct vs_conf_part *vs_conf_part_of(const char *path);
int vs_conf_part_size(const struct vs_config *config, const struct vs_conf_part *part);
void *vs_conf_part_at(const struct vs_config *config, const struct vs_conf_part *part, int i);

/* Adds an entry with its defaults; those before it may have another place in memory then.  Errors: VESTA_EOPTION,
 * VESTA_ENOMEM. */
int vs_conf_part_add(struct vs_config *config, const struct vs_conf_part *part, const char *name, void **entry,
                     struct vesta_error *err);

/* Gives every key that starts with the prefix its default. */
int vs_conf_defaults(struct vs_config *config, const char *prefix, void *base, struct vesta_error *err);

/* ------------------------------------------------------------------ one value
 *
 * `base` is the config or the part's entry.  Errors: VESTA_EOPTION with a text that goes on from the key's name
 * ("is 65, which must be a whole number from 1 to 64"); VESTA_ENOMEM. */

struct vs_conf_place {
    struct vs_config *config;
    const struct vs_conf_key *key;
    void *base;
};

int vs_conf_put_text(const struct vs_conf_place *at, const char *text, size_t length, struct vesta_error *err);
int vs_conf_put_integer(const struct vs_conf_place *at, int64_t value, struct vesta_error *err);
/* Empties a list, and adds to it.  "off" alone leaves a list of addresses empty. */
int vs_conf_list_begin(const struct vs_conf_place *at, struct vesta_error *err);
int vs_conf_list_add(const struct vs_conf_place *at, const char *text, size_t length, struct vesta_error *err);
int vs_conf_put_policy(const struct vs_conf_place *at, const char *name, size_t length, const char *options,
                       struct vesta_error *err);
/* A value as defaults, the environment and flags write it: digits, true, false, lists with commas. */
int vs_conf_put_written(const struct vs_conf_place *at, const char *text, struct vesta_error *err);

/* A number; min - 1 where nothing was said. */
int64_t vs_conf_number(const struct vs_conf_key *key, const void *base);

#define VS_CONF_EXPECTED_MAX 160
const char *vs_conf_expected(const struct vs_conf_key *key, char *buf); /* "a whole number from 1 to 64" */
/* The i-th of "a|b|c", with its length; NULL behind the last. */
const char *vs_conf_word(const char *words, int64_t i, size_t *length);

unsigned char *vs_conf_origin(const struct vs_conf_key *key, void *base);
/* "namespaces.orders.path", "segments[1].table".  Shape: buf of VS_CONF_PATH_MAX. */
#define VS_CONF_PATH_MAX 160
const char *vs_conf_path(const struct vs_conf_key *key, const void *base, char *buf);

/* A file's path for a message: its end, without anything that could break a line. */
#define VS_CONF_SHOWN_MAX 160
#define VS_CONF_SHOWN(path) vs_conf_shown_path((path), (char[VS_CONF_SHOWN_MAX]){0})
const char *vs_conf_shown_path(const char *path, char *buf);

/* Text that lives as long as the config; NULL: no memory. */
void *vs_conf_keep(struct vs_config *config, const void *bytes, size_t length);
void vs_conf_add_note(struct vs_config *config, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ------------------------------------------------------------------ reading */

#define VS_CONF_RUN_MS_MAX 5000 /* of a config, of a policy's file: a busy machine is no reason to refuse one */

struct vs_conf_source {
    const char *path, *text; /* text: NUL-terminated, without a NUL in it; "" where there is no file */
    size_t size;
};

struct vs_conf_reading {
    const struct vs_conf_opts *opts;
    struct vs_conf_source source;
    struct vs_config *config;
};

/* The line where a key stands, if it stands exactly once in the file; else 0. */
int vs_conf_line_of(const char *text, const char *key);
/* What a file that is no Lua seems to be, and what to do; NULL: nothing comes to mind.  `line`: where Lua stumbled. */
const char *vs_conf_hint(const char *text, int line);

/* Puts file and line, or the flag or variable a value came from, and the key in front of err's text; returns its
 * code. */
int vs_conf_blame(const struct vs_conf_reading *reading, const struct vs_conf_key *key, void *base,
                  struct vesta_error *err);
/* The same about the row of a path, with the text that is wrong. */
#define VS_CONF_WRONG(r, path, base, err, ...)                                                                         \
    (vs_fail(err, VESTA_EOPTION, __VA_ARGS__), vs_conf_blame(r, vs_conf_key_of(path), base, err))
int vs_conf_blame_path(const struct vs_conf_reading *reading, const char *path, struct vesta_error *err);
/* "/etc/vesta/vesta.lua:7: " in front. */
int vs_conf_blame_line(const struct vs_conf_source *source, int line, struct vesta_error *err);

/* Takes over the table on top of the stack. */
struct lua_State;
int vs_conf_walk(struct lua_State *L, const struct vs_conf_reading *reading, struct vesta_error *err);
/* The registry's table of what file() read: contents -> "PATH, which others may read", if they may. */
#define VS_CONF_OPEN_FILES "files that others may access"

/* What must hold between keys. */
int vs_conf_whole(const struct vs_conf_reading *reading, struct vesta_error *err);
/* Adds notes on secrets that others may read or write.  Errors: VESTA_ENOMEM. */
int vs_conf_note_secrets(const struct vs_conf_reading *reading, struct vesta_error *err);
/* policies.c, clients.c, tls.c: parts of that. */
int vs_conf_clients(const struct vs_conf_reading *reading, struct vesta_error *err);
int vs_conf_tls(const struct vs_conf_reading *reading, struct vesta_error *err);
/* A file of the config's own stands beside it, wherever the program was started.  *path: of that key; NULL stays. */
int vs_conf_beside(const struct vs_conf_reading *reading, const char *key, const char **path, struct vesta_error *err);
/* Other users of the machine may read a file. */
const char *vs_conf_open_to(const char *path);
int vs_conf_policies(const struct vs_conf_reading *reading, struct vesta_error *err);

#endif
