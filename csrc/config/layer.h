/* layer.h -- provides the modules of lua/config to other Lua states of the program. */
#ifndef VS_CONF_LAYER_H
#define VS_CONF_LAYER_H

#include "host/vm.h"

extern const struct vs_shipped vs_conf_files[]; /* the files of lua/config, required as config.NAME */

/* Opens the module config.options: the rows of vesta_options.h.  Stack: +1. */
int vs_conf_open_options(lua_State *L);

#endif
