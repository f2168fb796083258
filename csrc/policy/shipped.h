/* shipped.h -- the Lua files that are built into the program. */
#ifndef VS_SHIPPED_H
#define VS_SHIPPED_H

#include "host/vm.h"

extern const struct vs_shipped vs_shipped[];        /* lua/vesta/policy: the policies, and `helpers` */
extern const struct vs_shipped vs_shipped_engine[]; /* vesta.engine and the modules that it requires */

#endif
