/* modules.h -- what the commands in lua/cli require of this folder. */
#ifndef VS_MODULES_H
#define VS_MODULES_H

#include "host/host.h"

/* The modules `where` and `numbers`; see modules.c. */
extern const luaL_Reg vs_modules[];

#endif
