/* module.h -- where a backend that is not part of this code comes from. */
#ifndef VS_STORE_MODULE_H
#define VS_STORE_MODULE_H

#include "base/slice.h"
#include "store/store.h"

/* What a module exports as `vs_store_module`.  Both sides must mean the same by a reply and a record. */
#define VS_MODULE_ABI 5
struct vs_module {
    uint32_t abi, reply_bytes;
    const struct vs_store_ops *ops;
};

/* The backend of a scheme other than file: linked, else loaded.  NULL with err, which names what to install. */
const struct vs_store_ops *vs_module_find(struct vs_slice scheme, struct vesta_error *err);
/* Those that are linked or were loaded, in the order of CMakeLists.txt; NULL behind the last. */
const struct vs_store_ops *vs_module_present(size_t n);
/* Whether there is such a backend at all, here or not. */
bool vs_module_is_known(struct vs_slice scheme);
/* "no store like ..."; always NULL. */
const struct vs_store_ops *vs_module_unknown(struct vs_slice scheme, struct vesta_error *err);

#endif
