/* module.h -- loads backends that are not linked into this program. */
#ifndef VS_STORE_MODULE_H
#define VS_STORE_MODULE_H

#include "base/slice.h"
#include "store/abi.h"
#include "store/store.h"

/* A module exports this struct as `vs_store_module`.  The program and the module must be compiled with the same struct
 * vs_reply and struct vs_record.  VS_MODULE_ABI is a hash of the headers that define them (vesta_abi). */
struct vs_module {
    uint32_t abi, reply_bytes;
    const struct vs_backend *backend;
};

/* A module's file in one of this program's folders.  It is loaded on first use, because it needs another project's
 * library. */
struct vs_module_file {
    const char *name; /* for example "store/mysql" */
    const char *symbol;
    const char *what;   /* its name in messages, for example "mysql: store" */
    const char *remedy; /* printed if the file is missing */
};

/* Loads the module and returns the exported symbol.  The file is never unloaded.  After an error, returns NULL and sets
 * err. */
const void *vs_module_load(const struct vs_module_file *file, struct vesta_error *err);
/* Reports that the module belongs to another build.  Sets err and returns NULL. */
const void *vs_module_foreign(const struct vs_module_file *file, struct vesta_error *err);

/* Returns the backend, linked or loaded, of any scheme except file.  After an error, returns NULL, and err names the
 * package to install. */
const struct vs_backend *vs_module_find(struct vs_slice scheme, struct vesta_error *err);
/* Returns the nth backend that is linked or already loaded, in the order of CMakeLists.txt, or NULL after the last one.
 */
const struct vs_backend *vs_module_present(size_t n);
/* Returns the nth backend that is linked or can be loaded.  Loads all modules, so use this for messages only. */
const struct vs_backend *vs_module_here(size_t n);
/* Returns whether a backend of that scheme exists, installed or not. */
bool vs_module_is_known(struct vs_slice scheme);
/* Fills err with "there is no store ...".  Always returns NULL. */
const struct vs_backend *vs_module_unknown(struct vs_slice scheme, struct vesta_error *err);

#endif
