/* export.c -- exports a backend from its module.  Compiled once for each module, with VS_MODULE_OPS defined as its
 * operations. */
#include "store/module.h"

extern const struct vs_backend VS_MODULE_OPS;
__attribute__((visibility("default"))) extern const struct vs_module vs_store_module;
const struct vs_module vs_store_module = {VS_MODULE_ABI, sizeof(struct vs_reply), &VS_MODULE_OPS};
