/* modules.h -- what the commands in lua/cli require of this folder. */
#ifndef VS_MODULES_H
#define VS_MODULES_H

#include "modules/host.h"

/* The modules `where` and `numbers`, see modules.c, and `commands`. */
extern const luaL_Reg vs_modules[];
/* commands.c: opens the module `commands`.  Stack: +1. */
int modules_open_commands(lua_State *L);

#endif
