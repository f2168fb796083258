/* modules.h -- modules of this folder for the commands in lua/cli. */
#ifndef VS_MODULES_H
#define VS_MODULES_H

#include "modules/host.h"

/* The modules `where` and `numbers`, see modules.c, and `native`. */
extern const luaL_Reg vs_modules[];
/* native.c: opens the module `native`.  Stack: +1. */
int modules_open_native(lua_State *L);
/* doctor/probe.c: opens the module `probe`.  Stack: +1. */
int modules_open_probe(lua_State *L);
/* fill/redis.c: opens the module `redis`.  Stack: +1. */
int modules_open_redis(lua_State *L);
/* fill/source.c: opens the module `source`.  Stack: +1. */
int modules_open_source(lua_State *L);
/* native.c: the function for vs_help_by.  Prints the help of the C command that is running, or passes the command's
 * options to native.options. */
int modules_help(const struct vs_option *table);

#endif
