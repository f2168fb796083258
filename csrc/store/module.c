/* module.c -- backends that are linked into this program, and modules beside this code that are loaded on first use. */
#include "store/module.h"
#include "base/array.h"
#include "base/error.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

/* A line each in CMakeLists.txt, VS_BACKEND(scheme, Debian package).  Weak: NULL where the backend is not linked.
 * Hidden: never another copy's, from somewhere else in the process. */
#define VS_BACKEND(scheme, package)                                                                                    \
    extern const struct vs_store_ops vs_store_##scheme __attribute__((weak, visibility("hidden")));
#include "store/backends.h"
#undef VS_BACKEND

static struct backend {
    const char *scheme, *package;
    const struct vs_store_ops *ops; /* linked or loaded */
} backends[] = {
#define VS_BACKEND(scheme, package) {#scheme, package, &vs_store_##scheme},
#include "store/backends.h"
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

const struct vs_store_ops *vs_module_unknown(struct vs_slice scheme, struct vesta_error *err) {
    char known[160] = "file:";
    for (size_t i = 0; i < VS_COUNT(backends); i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), ", %s:", backends[i].scheme);
    assert(strlen(known) + 1 < sizeof known);
    vs_fail(err, VESTA_EOPTION, "there is no store '%s': there are %s", VS_QUOTE(scheme.at, scheme.length), known);
    return NULL;
}

/* The folder that this code was loaded from, or "". */
static void own_folder(char *folder, size_t size) {
    Dl_info info;
    snprintf(folder, size, "%s",
             dladdr((void *)(uintptr_t)vs_module_find, &info) && info.dli_fname ? info.dli_fname : "");
    char *slash = strrchr(folder, '/');
    if (slash) *slash = '\0';
    if (!slash) folder[0] = '\0';
}

/* Beside vesta/core.so it is store/X.so, beside libvesta.so vesta/store/X.so. */
static bool find_file(const struct backend *b, char *path, size_t size) {
    char folder[PATH_MAX];
    static const char *const places[] = {"store", "vesta/store"};
    own_folder(folder, sizeof folder);
    for (size_t i = 0; folder[0] && i < VS_COUNT(places); i++)
        if (snprintf(path, size, "%s/%s/%s.so", folder, places[i], b->scheme) < (int)size && access(path, R_OK) == 0)
            return true;
    return false;
}

static const struct vs_store_ops *load(const struct backend *b, struct vesta_error *err) {
    char path[PATH_MAX];
    assert(pthread_mutex_trylock(&mutex) == EBUSY); /* one thread loads */
    assert(!b->ops);                                /* and once: it stays */
    if (!find_file(b, path, sizeof path)) {
        vs_fail(err, VESTA_EOPTION, "this build has no %s: store; build vesta again with Debian's %s installed",
                b->scheme, b->package);
        return NULL;
    }
    /* never unloaded: its client may have threads that run in it */
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const struct vs_module *module = handle ? dlsym(handle, "vs_store_module") : NULL;
    if (!module) {
        vs_fail(err, VESTA_EOPTION, "the %s: store cannot be loaded: %.180s", b->scheme, dlerror());
        return NULL;
    }
    if (module->abi == VS_MODULE_ABI && module->reply_bytes == sizeof(struct vs_reply)) return module->ops;
    vs_fail(err, VESTA_EOPTION, "%.150s belongs to another version of vesta: reinstall both", path);
    return NULL;
}

static struct backend *named(struct vs_slice scheme) {
    for (size_t i = 0; i < VS_COUNT(backends); i++)
        if (vs_slice_is(scheme, backends[i].scheme)) return &backends[i];
    return NULL;
}

bool vs_module_is_known(struct vs_slice scheme) {
    return named(scheme);
}

static const struct vs_store_ops *ops_of(struct backend *b, bool loads, struct vesta_error *err) {
    pthread_mutex_lock(&mutex);
    if (!b->ops && loads) b->ops = load(b, err);
    const struct vs_store_ops *ops = b->ops;
    pthread_mutex_unlock(&mutex);
    return ops;
}

const struct vs_store_ops *vs_module_present(size_t n) {
    for (size_t i = 0; i < VS_COUNT(backends); i++) {
        const struct vs_store_ops *ops = ops_of(&backends[i], false, NULL);
        if (ops && n-- == 0) return ops;
    }
    return NULL;
}

const struct vs_store_ops *vs_module_find(struct vs_slice scheme, struct vesta_error *err) {
    assert(!vs_slice_is(scheme, vs_store_file.scheme)); /* which is no module */
    struct backend *b = named(scheme);
    return b ? ops_of(b, true, err) : vs_module_unknown(scheme, err);
}
