/* shipped.h -- the Lua texts of policies that the program carries. */
#ifndef VS_SHIPPED_H
#define VS_SHIPPED_H

#include "host/vm.h"

extern const struct vs_shipped vs_shipped[];        /* the policies that come with vesta, and `helpers` */
extern const struct vs_shipped vs_shipped_engine[]; /* vesta.engine and the modules that it requires */
/* NULL: there is none of that name. */
const struct vs_shipped *vs_shipped_find(const char *name);

#endif
