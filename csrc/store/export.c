/* export.c -- what makes a module of a backend: compiled once for each, with its operations as VS_MODULE_OPS. */
#include "store/module.h"

extern const struct vs_backend VS_MODULE_OPS;
__attribute__((visibility("default"))) extern const struct vs_module vs_store_module;
const struct vs_module vs_store_module = {VS_MODULE_ABI, sizeof(struct vs_reply), &VS_MODULE_OPS};
