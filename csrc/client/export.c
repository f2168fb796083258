/* export.c -- exports the wire's symbol if the wire is built as a module. */
#include "client/wire.h"

extern const struct vs_wire vs_wire_redis;
VESTA_API extern const struct vs_wire *const vs_wire_module;
const struct vs_wire *const vs_wire_module = &vs_wire_redis;
