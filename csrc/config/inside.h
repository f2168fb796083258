/* inside.h -- what the files of csrc/config share. */
#ifndef VS_CONF_INSIDE_H
#define VS_CONF_INSIDE_H

#include "config/config.h"
#include "config/layer.h"

#include <lauxlib.h>

/* What file() read begins with, as a message would show it: that may be a secret, whatever key its value is of. */
#define CONF_READS_MAX 32
#define CONF_READ_BYTES 32

/* A reading under way. */
struct conf_reading {
    const struct vs_conf_opts *opts;
    struct vs_config *config;
    const char *text; /* the file's, with a NUL behind it */
    size_t length;
    char read[CONF_READS_MAX][CONF_READ_BYTES];
    int read_count;
    bool is_compiled;
    int rc; /* of ask.fail: VESTA_OK until the reading fails; then err is filled */
    struct vesta_error *err;
};

/* The reading of a state. */
struct conf_reading *conf_reading_of(lua_State *L);
/* Ends the reading with err filled; raises. */
int conf_raise(lua_State *L, int code);

/* Text that lives as long as the config; NULL: no memory. */
void *conf_keep(struct vs_config *config, const void *bytes, size_t length);

/* file.c: pushes the file's world, env() and file().  The registry's table CONF_OPEN_FILES gets what file() read from
 * files that others may access: contents -> "PATH, which others may read". */
#define CONF_OPEN_FILES "files that others may access"
void conf_push_world(lua_State *L, const char *path);

/* ask.c: opens the module config.ask.  Stack: +1. */
int conf_open_ask(lua_State *L);

/* fill.c: fills the config from the result of lua/config/read.lua on top of the stack.  Raises. */
void conf_fill(lua_State *L, struct vs_config *config);
/* Sets the options of the table on top, an entry of namespaces, as they stand in its texts. */
void conf_fill_opts(lua_State *L, struct vesta_opts *opts);
/* Pushes the given ones of a struct of options by member, as the file would have them. */
void conf_push_opts(lua_State *L, const struct vesta_opts *opts);

#endif
