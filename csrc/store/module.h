/* module.h -- loads backends that are not linked into this program. */
#ifndef VS_STORE_MODULE_H
#define VS_STORE_MODULE_H

#include "base/slice.h"
#include "store/abi.h"
#include "store/store.h"

/* A module exports this as `vs_store_module`.  Both sides must be compiled with the same struct vs_reply and struct
 * vs_record.  VS_MODULE_ABI is a hash of the headers that define them (vesta_abi). */
struct vs_module {
    uint32_t abi, reply_bytes;
    const struct vs_backend *backend;
};

/* A file in this program's folders.  It is loaded on first use, because it needs a third party's library. */
struct vs_module_file {
    const char *name; /* "store/mysql" */
    const char *symbol;
    const char *what;   /* its name in messages: "mysql: store" */
    const char *remedy; /* printed if the file is missing */
};

/* Returns the exported symbol.  The file is never unloaded.  NULL with err. */
const void *vs_module_load(const struct vs_module_file *file, struct vesta_error *err);
/* Returns NULL with err: the module is of another build. */
const void *vs_module_foreign(const struct vs_module_file *file, struct vesta_error *err);

/* Returns the backend of a scheme other than file, linked or loaded.  NULL with err, which names the package to
 * install. */
const struct vs_backend *vs_module_find(struct vs_slice scheme, struct vesta_error *err);
/* Returns the nth backend that is linked or already loaded, in the order of CMakeLists.txt.  NULL after the last. */
const struct vs_backend *vs_module_present(size_t n);
/* Returns the nth backend that is linked or can be loaded.  It loads all of them, so use it for messages only. */
const struct vs_backend *vs_module_here(size_t n);
/* Whether a backend of that scheme exists, installed or not. */
bool vs_module_is_known(struct vs_slice scheme);
/* Fills err with "there is no store ...".  Always returns NULL. */
const struct vs_backend *vs_module_unknown(struct vs_slice scheme, struct vesta_error *err);

#endif
