/* module.h -- where a backend that is not part of this code comes from. */
#ifndef VS_STORE_MODULE_H
#define VS_STORE_MODULE_H

#include "base/slice.h"
#include "store/abi.h"
#include "store/store.h"

/* What a module exports as `vs_store_module`.  Both sides must mean the same by a reply and a record: VS_MODULE_ABI is made
 * from the headers in which they stand (vesta_abi). */
struct vs_module {
    uint32_t abi, reply_bytes;
    const struct vs_backend *backend;
};

/* A file beside this code that is loaded when it is first needed, because it needs somebody else's library. */
struct vs_module_file {
    const char *name;   /* "store/mysql" */
    const char *symbol; /* what it exports */
    const char *what;   /* for messages: "mysql: store" */
    const char *remedy; /* what to do where there is no such file */
};

/* What it exports; the file stays loaded for ever.  NULL with err. */
const void *vs_module_load(const struct vs_module_file *file, struct vesta_error *err);
/* NULL with err: that what it exports is not for this build. */
const void *vs_module_foreign(const struct vs_module_file *file, struct vesta_error *err);

/* The backend of a scheme other than file: linked, else loaded.  NULL with err, which names what to install. */
const struct vs_backend *vs_module_find(struct vs_slice scheme, struct vesta_error *err);
/* Those that are linked or were loaded, in the order of CMakeLists.txt; NULL behind the last. */
const struct vs_backend *vs_module_present(size_t n);
/* The same of those that are linked or can be loaded: loads them all, so it is for what people are told. */
const struct vs_backend *vs_module_here(size_t n);
/* Whether there is such a backend at all, here or not. */
bool vs_module_is_known(struct vs_slice scheme);
/* "no store like ..."; always NULL. */
const struct vs_backend *vs_module_unknown(struct vs_slice scheme, struct vesta_error *err);

#endif
