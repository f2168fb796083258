/* module.c -- finds linked backends, and loads the others from modules on first use. */
#include "store/module.h"
#include "base/array.h"
#include "base/error.h"
#include "base/nearest.h"
#include "os/lock.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* backends.h is generated from CMakeLists.txt.  It contains VS_BACKEND(scheme, remedy) for each backend, and
 * VS_FROM_PROGRAM, the relative path from programs to libraries.  Weak: NULL if the backend is not linked.  Hidden:
 * never resolved to another copy of this code in the process. */
#define VS_BACKEND(scheme, remedy)                                                                                     \
    extern const struct vs_backend vs_store_##scheme __attribute__((weak, visibility("hidden")));
#include "store/backends.h"
#undef VS_BACKEND

static struct backend {
    const char *scheme, *remedy;
    _Atomic(const struct vs_backend *) backend; /* NULL: neither linked nor loaded yet */
} backends[] = {
#define VS_BACKEND(scheme, remedy) {#scheme, remedy, &vs_store_##scheme},
#include "store/backends.h"
};

const struct vs_backend *vs_module_unknown(struct vs_slice scheme, struct vesta_error *err) {
    char known[160] = "file:";
    for (size_t i = 0; i < VS_COUNT(backends); i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), ", %s:", backends[i].scheme);
    assert(strlen(known) + 1 < sizeof known);
    char written[VS_HINT_MAX], hint[VS_HINT_MAX]; /* each includes the colon, as in the list */
    int length = snprintf(written, sizeof written, "%.*s:", (int)scheme.length, scheme.at);
    bool is_jdbc = vs_slice_is(scheme, "jdbc");
    vs_fail(err, VESTA_EOPTION, "there is no store '%s': choose one of %s%s", VS_QUOTE(scheme.at, scheme.length), known,
            is_jdbc ? ". Instead of jdbc:mysql://HOST/DB, write mysql://USER@HOST/DB"
                    : vs_nearest_hint(written, (size_t)length, known, hint));
    return NULL;
}

/* ------------------------------------------------------------------ forks: one lock excludes dlopen during a fork
 *
 * If another thread were loading a module during a fork, the child would have that module in memory, half initialized,
 * and no thread would complete it. */

#define FORK_TRIES_MAX 1000 /* one millisecond each */

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool is_alone; /* this thread is forking, and no module is being loaded */
static atomic_bool was_loading;     /* this process was forked while its parent was loading a module */

/* Waits until no other thread is loading a module.  The wait is limited, because the module's file may be on a disk
 * that hangs.  If the wait fails, the child loads no modules. */
static void module_before_fork(void) {
    is_alone = false;
    for (int i = 0; !is_alone && i < FORK_TRIES_MAX; i++) {
        is_alone = pthread_mutex_trylock(&loading) == 0;
        if (!is_alone) usleep(1000);
    }
}

static void module_in_parent(void) {
    if (is_alone) pthread_mutex_unlock(&loading);
}

static void module_in_child(void) {
    loading = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    if (!is_alone) atomic_store(&was_loading, true);
}

/* Registers the fork handlers when this code is loaded, because a fork in progress does not call handlers that are
 * registered later. */
__attribute__((constructor)) static void module_watch_forks(void) {
    pthread_atfork(module_before_fork, module_in_parent, module_in_child);
}

/* Keeps OpenSSL's data until the process has ended, if the module uses OpenSSL.  By default OpenSSL frees its data in an
 * exit handler, while threads of a client library may still connect.  This has no effect if the program has initialized
 * OpenSSL before. */
static void keep_openssl(void *handle) {
    int (*init)(uint64_t, const void *);
    *(void **)&init = dlsym(handle, "OPENSSL_init_crypto");
    if (init) init(UINT64_C(0x80000) /* OPENSSL_INIT_NO_ATEXIT */, NULL);
}

/* Loads a module and returns its symbol.  Returns NULL if it fails, with the reason in dlerror.  Modules are never
 * unloaded, because threads of the client library may run in them. */
static const void *load_symbol(const char *path, const char *symbol) {
    /* a fork takes both locks, so no thread may wait for one while it holds the other */
    assert(!vs_process_is_locked());
    pthread_mutex_lock(&loading);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle) keep_openssl(handle);
    const void *found = handle ? dlsym(handle, symbol) : NULL;
    pthread_mutex_unlock(&loading);
    return found;
}

/* ------------------------------------------------------------------ modules */

/* Writes the folder of the file that contains this code.  For the main program, reads it from /proc, because the loader
 * does not record the program's absolute path.  Returns false if the folder is unknown. */
static bool own_folder(char folder[PATH_MAX]) {
    Dl_info info;
    struct link_map *map = NULL;
    if (!dladdr1((void *)(uintptr_t)vs_module_find, &info, (void **)&map, RTLD_DL_LINKMAP) || !map) return false;
    ssize_t length = (ssize_t)strlen(map->l_name);
    if (length == 0)
        length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    else if (length < PATH_MAX)
        memcpy(folder, map->l_name, (size_t)length);
    if (length < 0 || length >= PATH_MAX) return false;
    folder[length] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash) *slash = '\0';
    return slash;
}

/* Finds a module's file.  Modules are at store/X.so next to vesta/core.so or a program in the build folder, at
 * vesta/store/X.so next to libvesta.so, and at ../lib/vesta/store/X.so for an installed program.  The folder of this
 * code is searched first, and then the folder where this build installs. */
static bool module_find_file(const char *folder, const char *name, char path[PATH_MAX]) {
    static const char *const places[] = {"", "vesta/", "../lib/vesta/", VS_FROM_PROGRAM "/vesta/"};
    for (size_t i = 0; i < VS_COUNT(places); i++)
        if (snprintf(path, PATH_MAX, "%s/%s%s.so", folder, places[i], name) < PATH_MAX && access(path, R_OK) == 0)
            return true;
    return false;
}

/* ------------------------------------------------------------------ is a module safe to load
 *
 * If the program is in /tmp, any user can put a folder with a module next to it, and replace it after it was checked.
 * So every link and folder between the program's folder and the file must be writable only by root, by the user who
 * runs the program, or by a user who could replace the program itself.  Then the checked file is the loaded one. */

/* Returns whether other users can replace an entry of the folder `part`.  `own` is the program's folder.  A user with
 * write access there could replace the program itself, unless the folder is sticky. */
static bool is_open_to_others(const struct stat *part, const struct stat *own) {
    mode_t beside = own->st_mode & S_ISVTX ? 0 : own->st_mode;
    if (own->st_gid != part->st_gid) beside &= ~(mode_t)S_IWGRP;
    return !S_ISLNK(part->st_mode) && part->st_mode & (S_IWGRP | S_IWOTH) & ~beside;
}

static int check_part(const char *part, const struct stat *own, const char *what, struct vesta_error *err) {
    struct stat st;
    if (lstat(part, &st) != 0)
        return vs_fail(err, VESTA_EOPTION, "the %s cannot be loaded: %.120s: %s", what, part, strerror(errno));
    if (st.st_uid != 0 && st.st_uid != geteuid() && st.st_uid != own->st_uid)
        return vs_fail(err, VESTA_EOPTION,
                       "%.120s belongs to user %u, so the %s there was not loaded: remove or chown it", part,
                       (unsigned)st.st_uid, what);
    if (is_open_to_others(&st, own))
        return vs_fail(err, VESTA_EOPTION,
                       "%.120s is writable by other users, so the %s there was not loaded: run chmod go-w on it", part,
                       what);
    return VESTA_OK;
}

static int check_parts(const char *path, size_t shared, const struct stat *own, const char *what,
                       struct vesta_error *err) {
    char part[PATH_MAX];
    int rc = VESTA_OK;
    for (size_t end = shared; rc == VESTA_OK && path[end];) {
        end += 1 + strcspn(path + end + 1, "/");
        snprintf(part, sizeof part, "%.*s", (int)end, path);
        if (strcmp(strrchr(part, '/'), "/..") != 0) rc = check_part(part, own, what, err);
    }
    return rc;
}

/* Returns the length of the innermost folder that contains both paths.  The folders above it need no check, because a
 * user who can change them can change both paths. */
static size_t bytes_shared(const char *folder, const char *path) {
    size_t i = 0, shared = 0;
    for (; folder[i] && folder[i] == path[i]; i++)
        if (folder[i] == '/') shared = i;
    return folder[i] == '\0' && path[i] == '/' ? i : shared;
}

/* Checks the path as it is written, with its links.  Then checks the resolved path, and stores it in `path`. */
static int check_way(const char *folder, char path[PATH_MAX], const char *what, struct vesta_error *err) {
    char here[PATH_MAX + 2], real_folder[PATH_MAX], real_path[PATH_MAX];
    struct stat own;
    snprintf(here, sizeof here, "%s/.", folder); /* the folder is "" for a program in / */
    if (stat(here, &own) != 0 || !realpath(here, real_folder))
        return vs_fail(err, VESTA_EOPTION, "the %s cannot be loaded: %.120s: %s", what, here, strerror(errno));
    int rc = check_parts(path, strlen(folder), &own, what, err);
    if (rc != VESTA_OK) return rc;
    if (!realpath(path, real_path))
        return vs_fail(err, VESTA_EOPTION, "the %s cannot be loaded: %.120s: %s", what, path, strerror(errno));
    memcpy(path, real_path, strlen(real_path) + 1);
    return check_parts(path, bytes_shared(real_folder, path), &own, what, err);
}

/* Reads the whole file, because dlopen blocks the creation of threads while it reads.  This moves the wait for a slow
 * disk out of dlopen. */
static void read_through(const char *path) {
    char bytes[16384];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return; /* dlopen reports this error */
    while (read(fd, bytes, sizeof bytes) > 0)
        ;
    close(fd);
}

const void *vs_module_load(const struct vs_module_file *file, struct vesta_error *err) {
    char folder[PATH_MAX] = ".", path[PATH_MAX];
    if (atomic_load(&was_loading)) {
        vs_fail(err, VESTA_EIO, "this process was forked while its parent loaded a vesta module: start it again");
        return NULL;
    }
    if (!own_folder(folder) || !module_find_file(folder, file->name, path)) {
        vs_fail(err, VESTA_EOPTION, "there is no %s here (%.160s/%s.so): %s", file->what, folder, file->name,
                file->remedy);
        return NULL;
    }
    if (check_way(folder, path, file->what, err) != VESTA_OK) return NULL;
    read_through(path);
    const void *found = load_symbol(path, file->symbol);
    if (!found) vs_fail(err, VESTA_EOPTION, "the %s cannot be loaded: %.180s", file->what, dlerror());
    return found;
}

const void *vs_module_foreign(const struct vs_module_file *file, struct vesta_error *err) {
    vs_fail(err, VESTA_EOPTION, "the %s belongs to another version of vesta: %s, in the version of this program",
            file->what, file->remedy);
    return NULL;
}

static const struct vs_backend *module_load(const struct backend *b, struct vesta_error *err) {
    char name[64], what[64];
    struct vs_module_file file = {name, "vs_store_module", what, b->remedy};
    snprintf(name, sizeof name, "store/%s", b->scheme);
    snprintf(what, sizeof what, "%s: store", b->scheme);
    const struct vs_module *module = vs_module_load(&file, err);
    if (!module || (module->abi == VS_MODULE_ABI && module->reply_bytes == sizeof(struct vs_reply)))
        return module ? module->backend : NULL;
    return vs_module_foreign(&file, err);
}

static struct backend *module_named(struct vs_slice scheme) {
    for (size_t i = 0; i < VS_COUNT(backends); i++)
        if (vs_slice_is(scheme, backends[i].scheme)) return &backends[i];
    return NULL;
}

bool vs_module_is_known(struct vs_slice scheme) {
    return module_named(scheme);
}

/* Loads a backend.  Two threads may load the same module at once.  dlopen returns the same module to both, or different
 * modules if the file was replaced in between.  The module that was registered first is used. */
static const struct vs_backend *load_once(struct backend *b, struct vesta_error *err) {
    const struct vs_backend *none = NULL, *backend = module_load(b, err);
    if (!backend || atomic_compare_exchange_strong(&b->backend, &none, backend)) return backend;
    return none;
}

const struct vs_backend *vs_module_present(size_t n) {
    for (size_t i = 0; i < VS_COUNT(backends); i++) {
        const struct vs_backend *backend = atomic_load(&backends[i].backend);
        if (backend && n-- == 0) return backend;
    }
    return NULL;
}

static const struct vs_backend *module_ready(struct backend *b, struct vesta_error *err) {
    const struct vs_backend *backend = atomic_load(&b->backend);
    return backend ? backend : load_once(b, err);
}

const struct vs_backend *vs_module_here(size_t n) {
    for (size_t i = 0; i < VS_COUNT(backends); i++) {
        const struct vs_backend *backend = module_ready(&backends[i], NULL);
        if (backend && n-- == 0) return backend;
    }
    return NULL;
}

const struct vs_backend *vs_module_find(struct vs_slice scheme, struct vesta_error *err) {
    assert(!vs_slice_is(scheme, vs_store_file.scheme)); /* the file: store is never a module */
    struct backend *b = module_named(scheme);
    return b ? module_ready(b, err) : vs_module_unknown(scheme, err);
}
