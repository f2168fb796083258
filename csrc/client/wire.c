/* wire.c -- finds the wire, which is linked or loaded as a module. */
#include "client/wire.h"
#include "store/module.h"

#include "base/array.h"

#include <stddef.h>

/* Weak: NULL if the wire is not linked.  Hidden: never resolves to the symbol of another library in the process. */
extern const struct vs_wire vs_wire_redis __attribute__((weak, visibility("hidden")));

bool vs_wire_passes(const char *error) {
    static const char *const passing[] = {"TRYAGAIN", "LOADING", "OOM"};
    for (size_t i = 0; i < VS_COUNT(passing); i++)
        if (strncmp(error, passing[i], strlen(passing[i])) == 0) return true;
    return false;
}

const struct vs_wire *vs_wire_find(struct vesta_error *err) {
    static const struct vs_module_file file = {"client/redis", "vs_wire_module", "client of servers",
                                               "apt-get install " VS_WIRE_PACKAGE " and build vesta again"};
    if (&vs_wire_redis) return &vs_wire_redis;
    const struct vs_wire *const *module = vs_module_load(&file, err);
    if (!module) return NULL;
    const struct vs_wire *wire = *module;
    if (wire->abi == VS_WIRE_ABI && wire->answer_bytes == sizeof(struct vs_wire_answer)) return wire;
    return vs_module_foreign(&file, err);
}
