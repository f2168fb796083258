/* inside.h -- shared by the files of csrc/config. */
#ifndef VS_CONF_INSIDE_H
#define VS_CONF_INSIDE_H

#include "config/config.h"
#include "config/layer.h"

#include <lauxlib.h>

/* The beginnings of texts that file() read, in the form in which messages quote them.  Such a text may be a secret,
 * whatever key it is used for. */
#define CONF_READS_MAX 32
#define CONF_READ_BYTES 32

/* The state of one vs_config_read. */
struct conf_reading {
    const struct vs_conf_opts *opts;
    struct vs_config *config;
    const char *text; /* contents of the file, with a NUL after it */
    size_t length;
    char read[CONF_READS_MAX][CONF_READ_BYTES];
    int read_count;
    bool is_compiled;
    int rc; /* of ask.fail: VESTA_OK until the reading fails (`err` is then set) */
    struct vesta_error *err;
};

/* Returns the reading of a Lua state. */
struct conf_reading *conf_reading_of(lua_State *L);
/* Ends the reading with `err` set.  Raises. */
int conf_raise(lua_State *L, int code);

/* Allocates a copy that is valid as long as the config (NULL: no memory). */
void *conf_keep(struct vs_config *config, const void *bytes, size_t length);

/* file.c: pushes the environment of the file, with env() and file().  The registry's table CONF_OPEN_FILES receives
 * what file() read from files that others may access: contents -> "PATH, which others may read". */
#define CONF_OPEN_FILES "files that others may access"
void conf_push_world(lua_State *L, const char *path);

/* ask.c: opens the module config.ask.  Stack: +1. */
int conf_open_ask(lua_State *L);

/* fill.c: fills the config from the result of lua/config/read.lua on top of the stack.  Raises. */
void conf_fill(lua_State *L, struct vs_config *config);
/* Sets options from the table on top, an entry of namespaces.  The texts stay Lua's. */
void conf_fill_opts(lua_State *L, struct vesta_opts *opts);
/* Pushes a table of the options that are set, by member, with the values that a file would have. */
void conf_push_opts(lua_State *L, const struct vesta_opts *opts);

#endif
