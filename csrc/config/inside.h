/* inside.h -- shared by the files of csrc/config. */
#ifndef VS_CONF_INSIDE_H
#define VS_CONF_INSIDE_H

#include "config/config.h"
#include "config/layer.h"

#include <lauxlib.h>

/* struct conf_reading stores the beginnings of texts that file() read, escaped as in messages.  Any such text may be a
 * secret. */
#define CONF_READS_MAX 32
#define CONF_READ_BYTES 32

/* The state of one vs_config_read. */
struct conf_reading {
    const struct vs_conf_opts *opts;
    struct vs_config *config;
    const char *text; /* contents of the file, NUL-terminated */
    size_t length;
    char read[CONF_READS_MAX][CONF_READ_BYTES];
    int read_count;
    bool is_compiled;
    int rc; /* error code that ask.fail set, along with `err` (VESTA_OK: the reading has not failed) */
    struct vesta_error *err;
};

/* Returns the struct conf_reading of a Lua state. */
struct conf_reading *conf_reading_of(lua_State *L);
/* Ends the reading by raising a Lua error.  `err` must be set, except for VESTA_ENOMEM. */
int conf_raise(lua_State *L, int code);

/* Allocates a copy that is valid as long as the config.  Returns NULL if there is no memory. */
void *conf_keep(struct vs_config *config, const void *bytes, size_t length);

/* file.c: pushes the environment in which the config file runs, with env() and file().  If other users may access a
 * file that file() reads, the registry's table CONF_OPEN_FILES maps its contents to "PATH, which others may read". */
#define CONF_OPEN_FILES "files that others may access"
void conf_push_world(lua_State *L, const char *path);

/* masks.c: reads the key of an entry of secret_file, FILE or VERSION:FILE. */
int conf_read_key(const char *entry, struct vs_mask_key *key, struct vesta_error *err);

/* ask.c: opens the module config.ask.  Stack: +1. */
int conf_open_ask(lua_State *L);

/* fill.c: fills the config from the result of lua/config/read.lua on top of the stack.  Raises. */
void conf_fill(lua_State *L, struct vs_config *config);
/* Sets options from an entry of `namespaces` on top of the stack.  Lua remains the owner of the strings. */
void conf_fill_opts(lua_State *L, struct vesta_opts *opts);
/* Pushes a table of the options that are set.  It maps their names to their values, as a config file would write
 * them. */
void conf_push_opts(lua_State *L, const struct vesta_opts *opts);

#endif
