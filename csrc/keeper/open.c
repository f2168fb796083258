/* open.c -- vesta_open and what belongs to a handle: the registry of this process's files, closing, keeping. */
#include "core/core.h"
#include "core/generator.h"
#include "keeper/file.h"
#include "keeper/options.h"
#include "os/os.h"
#include "store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct vs_file *files; /* process lock */

/* ------------------------------------------------------------------ the registry: one mapping a file and process */

static struct vs_file *find_file(uint64_t dev, uint64_t ino) {
    struct vs_file *file = files;
    while (file && (file->mapping.dev != dev || file->mapping.ino != ino))
        file = file->next;
    return file;
}

/* The header of a file is believed only where it agrees with itself: a damaged number would spill into its neighbours.
 */
static int check_header(const char *path, const struct vs_header *header, const struct vesta_layout *layout,
                        struct vesta_error *err) {
    uint64_t max = vs_worker_max(layout);
    bool has_lease = memchr(header->lease, '\0', sizeof header->lease) && vs_lease_preset(header->lease);
    if (layout->fingerprint == header->fingerprint && header->worker <= max && has_lease) return VESTA_OK;
    return vs_fail(err, VESTA_EIO, "%.150s cannot be used: its header is damaged; move it away, a new one will be made",
                   path);
}

/* Closing any descriptor of a file drops all locks that the process has on it, so a lock file is opened once. */
static int open_lock(const char *path, int group, struct vesta_error *err) {
    char lock[PATH_MAX + 8];
    for (const struct vs_file *file = files; file; file = file->next)
        if (strcmp(file->path, path) == 0) return file->lock_fd;
    snprintf(lock, sizeof lock, "%s.keeper", path);
    int fd = vs_lock_open(lock, group);
    return fd >= 0 ? fd : (vs_fail(err, VESTA_EIO, "cannot open %.150s: %s", lock, strerror(errno)), -1);
}

static void close_lock(int fd) {
    for (const struct vs_file *file = files; file; file = file->next)
        if (file->lock_fd == fd) return;
    close(fd);
}

static int new_file(const char *path, const struct vs_mapping *mapping, const struct vs_wish *wish,
                    struct vs_file **out, struct vesta_error *err) {
    const struct vs_header *header = &mapping->map->header;
    struct vs_file *file = calloc(1, sizeof *file);
    if (!file) return vs_fail(err, VESTA_ENOMEM, "no memory");
    int rc = vesta_layout_parse(header->layout, &file->layout, err);
    if (rc == VESTA_OK) rc = check_header(path, header, &file->layout, err);
    if (rc == VESTA_OK && (file->lock_fd = open_lock(path, header->group, err)) < 0) rc = VESTA_EIO;
    if (rc != VESTA_OK) {
        free(file);
        return rc;
    }
    file->mapping = *mapping;
    vs_lock_byte(file->lock_fd, vs_byte_here(file), false);
    file->clock = wish->clock;
    snprintf(file->path, sizeof file->path, "%s", path);
    file->next = files;
    files = file;
    *out = file;
    return VESTA_OK;
}

/* Takes over the mapping.  VESTA_EPAUSE: another thread is closing the same file just now. */
static int enter_file(const char *path, const struct vs_mapping *mapping, const struct vs_wish *wish,
                      struct vs_file **out, struct vesta_error *err) {
    struct vs_file *file = find_file(mapping->dev, mapping->ino);
    int rc = VESTA_OK;
    if (file) vs_mapping_unmap(mapping->map);
    if (file && file->closing) return VESTA_EPAUSE;
    if (!file && (rc = new_file(path, mapping, wish, &file, err)) != VESTA_OK) {
        vs_mapping_unmap(mapping->map);
        return rc;
    }
    if (wish->secret) snprintf(file->secret, sizeof file->secret, "%s", wish->secret);
    file->handles++;
    *out = file;
    return VESTA_OK;
}

/* The keeper is joined without the process lock, which it may need; `closing` keeps others out meanwhile. */
static void leave_file(const struct vs_handle *handle, struct vs_file *file) {
    vs_process_lock();
    if (handle) file->question.choosers -= handle->chooses;
    bool last = --file->handles == 0;
    file->closing = last;
    vs_process_unlock();
    if (!last) return;
    vs_keeper_stop(file, VS_HAND_OVER);
    vs_process_lock();
    struct vs_file **at = &files;
    while (*at != file)
        at = &(*at)->next;
    *at = file->next;
    vs_unlock_byte(file->lock_fd, vs_byte_here(file));
    close_lock(file->lock_fd);
    vs_process_unlock();
    vs_mapping_unmap(file->mapping.map);
    explicit_bzero(file->secret, sizeof file->secret);
    free(file);
}

/* ------------------------------------------------------------------ from a path to a file */

/* A stale file says what its successor shall be: another boot's by and large the same, but a copy is a generator of
 * its own, with its own identity. */
static int successor(const struct vs_wish *wish, const struct vs_header *stale, struct vs_header *header,
                     struct vesta_error *err) {
    *header = *stale;
    header->group = wish->group >= 0 ? wish->group : stale->group;
    int rc = vs_wish_identity(wish->path, header, err);
    return rc == VESTA_OK ? vs_wish_matches(wish, stale, err) : rc;
}

static int find_mapping(const struct vs_wish *wish, struct vs_mapping *out, struct vesta_error *err) {
    enum vs_found found;
    struct vs_header stale, header;
    int rc = vs_mapping_attach(wish->path, &found, out, &stale, err);
    if (rc != VESTA_OK || found == VS_FOUND_TRUSTED) return rc;
    rc = found == VS_FOUND_STALE ? successor(wish, &stale, &header, err) : vs_wish_header(wish, &header, err);
    return rc == VESTA_OK ? vs_mapping_make(wish->path, &header, wish->clock, out, err) : rc;
}

/* A used-up file still has its name for the moment in which it is put aside. */
static bool is_used_up(const struct vs_map *map) {
    return atomic_load(&map->shared.stopped) == VESTA_CLOSED;
}

static int open_file(const struct vs_wish *wish, struct vs_file **out, struct vesta_error *err) {
    struct vs_mapping mapping;
    int rc;
    do {
        vs_process_lock();
        rc = find_mapping(wish, &mapping, err);
        if (rc == VESTA_OK && (rc = vs_wish_matches(wish, &mapping.map->header, err)) != VESTA_OK)
            vs_mapping_unmap(mapping.map);
        if (rc == VESTA_OK && is_used_up(mapping.map)) {
            vs_mapping_unmap(mapping.map);
            rc = VESTA_EPAUSE;
        }
        if (rc == VESTA_OK) rc = enter_file(wish->path, &mapping, wish, out, err);
        vs_process_unlock();
        if (rc == VESTA_EPAUSE) usleep(1000);
    } while (rc == VESTA_EPAUSE);
    return rc;
}

/* ------------------------------------------------------------------ handles */

static int set_fields(const struct vesta_layout *layout, const char *fields, uint64_t *base, struct vesta_error *err) {
    uint64_t values[VESTA_FIELDS_MAX];
    int rc = vs_fields_parse(layout, fields, values, err);
    if (rc == VESTA_OK) *base = vs_layout_base(layout, 0, values);
    return rc;
}

/* With the process lock held. */
static void enter_question(struct vesta_gen *gen, struct vs_file *file) {
    file->question.choosers += gen->handle->chooses;
    atomic_store_explicit(&gen->asks, &file->question.open, memory_order_release);
}

static bool may_keep(unsigned flags, const char *store) {
    static const char local[] = "file:";
    return !(flags & VESTA_NO_KEEPER) && (!(flags & VESTA_FILE_KEEPER) || strncmp(store, local, sizeof local - 1) == 0);
}

/* Over a mapping of this boot: the parts of a handle that need no store. */
static int make_handle(const struct vs_wish *wish, struct vs_map *map, struct vs_file *file, struct vesta_gen **out,
                       struct vesta_error *err) {
    struct vesta_layout layout = wish->layout;
    uint64_t base = 0;
    struct vesta_gen *gen = calloc(1, sizeof *gen);
    struct vs_handle *handle = calloc(1, sizeof *handle);
    int rc = gen && handle ? VESTA_OK : vs_fail(err, VESTA_ENOMEM, "no memory");
    if (rc == VESTA_OK && !wish->has_layout) rc = vesta_layout_parse(map->header.layout, &layout, err);
    if (rc == VESTA_OK) rc = vs_check_lifetime(&layout, wish->clock, handle->warning, sizeof handle->warning, err);
    if (rc == VESTA_OK) rc = set_fields(&layout, wish->opts->fields, &base, err);
    if (rc != VESTA_OK) {
        free(handle);
        free(gen);
        return rc;
    }
    vs_gen_init(gen, map, &layout, base, wish->clock);
    handle->file = file;
    handle->is_private = file == NULL;
    vs_store_public(map->header.store, handle->store);
    handle->keeps = may_keep(wish->opts->flags, map->header.store);
    handle->chooses = wish->opts->flags & VESTA_CHOOSES;
    gen->handle = handle;
    if (file) {
        vs_process_lock();
        enter_question(gen, file);
        vs_process_unlock();
    }
    *out = gen;
    return VESTA_OK;
}

/* One slot without a lease, up to the layout's end. */
static int open_private(const struct vs_wish *wish, struct vesta_gen **out, struct vesta_error *err) {
    struct vs_header header;
    int rc = vs_wish_header(wish, &header, err);
    if (rc != VESTA_OK) return rc;
    struct vs_map *map = vs_mapping_private();
    if (!map) return vs_fail(err, VESTA_ENOMEM, "no memory for a private map");
    map->header = header;
    vs_map_format(map, wish->clock);
    rc = make_handle(wish, map, NULL, out, err);
    if (rc != VESTA_OK) {
        vs_mapping_unmap(map);
        return rc;
    }
    const struct vs_shape *shape = &(*out)->shape;
    uint64_t from = vs_tick_at(shape, wish->clock->unix_us(wish->clock->self));
    vs_slot_publish(map, vs_slot_take(map, header.worker, (uint64_t[2]){0, 0}, from), vs_tick_end(shape), 0);
    return VESTA_OK;
}

/* Before a file is made that could never get a lease: the namespace may have another layout already.  Only where the
 * store is this machine's own; the keeper, which may wait, says the same of the others. */
static int check_namespace(const struct vs_wish *wish, struct vesta_error *err) {
    struct vs_header header;
    struct vs_store *store;
    struct vs_reply reply;
    if (access(wish->path, F_OK) == 0) return VESTA_OK; /* it was checked when it was made */
    int rc = vs_wish_header(wish, &header, err);
    if (rc != VESTA_OK) return rc;
    struct vs_store_opts opts = {
        .namespace_ = header.namespace_, .group = header.group, .clock = wish->clock, .secret = wish->secret};
    if ((rc = vs_store_open(header.store, &opts, &store, err)) != VESTA_OK) return rc;
    if (store->ops->is_local) store->ops->ns_read(store, &reply);
    if (store->ops->is_local && reply.outcome == VS_STORE_OK && reply.ns.ver &&
        reply.ns.fingerprint != header.fingerprint)
        rc = vs_fail(err, VESTA_EMISMATCH, "namespace %s has the layout %.150s, not %.150s; use another namespace",
                     header.namespace_, reply.ns.layout, header.layout);
    store->ops->close(store);
    return rc;
}

int vesta_open(const struct vesta_opts *opts, struct vesta_gen **gen, struct vesta_error *err) {
    struct vs_wish wish;
    struct vs_file *file;
    int rc = vs_wish_read(opts, &wish, err);
    if (rc != VESTA_OK) return rc;
    if (opts->flags & VESTA_UNSAFE_PRIVATE) return open_private(&wish, gen, err);
    if (wish.has_layout || access(wish.path, F_OK) != 0) { /* before a file is made that no one could use */
        char warning[256];
        uint64_t base;
        rc = vs_check_lifetime(&wish.layout, wish.clock, warning, sizeof warning, err);
        if (rc == VESTA_OK) rc = set_fields(&wish.layout, opts->fields, &base, err);
    }
    if (rc == VESTA_OK) rc = check_namespace(&wish, err);
    if (rc == VESTA_OK) rc = open_file(&wish, &file, err);
    if (rc != VESTA_OK) return rc;
    rc = make_handle(&wish, file->mapping.map, file, gen, err);
    if (rc != VESTA_OK) leave_file(NULL, file);
    return rc;
}

void vesta_close(struct vesta_gen *gen) {
    if (!gen) return;
    if (gen->handle->is_private)
        vs_mapping_unmap(atomic_load(&gen->map));
    else
        leave_file(gen->handle, gen->handle->file);
    for (struct vs_past *past = gen->handle->past, *next; past; past = next) {
        next = past->next;
        leave_file(gen->handle, past->file);
        free(past);
    }
    free(gen->handle);
    free(gen);
}

/* ------------------------------------------------------------------ keeping */

static bool same_generator(const struct vs_header *a, const struct vs_header *b) {
    return a->fingerprint == b->fingerprint && a->pacing == b->pacing && strcmp(a->namespace_, b->namespace_) == 0 &&
           strcmp(a->store, b->store) == 0;
}

/* Enters the file that stands in the place of a used-up one, or makes it. */
static int enter_successor(const struct vs_file *old, const struct vesta_clock *clock, struct vs_file **file,
                           struct vesta_error *err) {
    struct vs_wish wish = {.clock = clock, .secret = *old->secret ? old->secret : NULL};
    enum vs_found found;
    struct vs_mapping mapping;
    struct vs_header stale, header = old->mapping.map->header;
    int rc = vs_mapping_attach(old->path, &found, &mapping, &stale, err);
    if (rc == VESTA_OK && found != VS_FOUND_TRUSTED) rc = vs_mapping_make(old->path, &header, clock, &mapping, err);
    if (rc == VESTA_OK && !same_generator(&header, &mapping.map->header)) {
        vs_mapping_unmap(mapping.map);
        rc = vs_fail(err, VESTA_EMISMATCH, "another generator was made at %.150s", old->path);
    }
    return rc == VESTA_OK ? enter_file(old->path, &mapping, &wish, file, err) : rc;
}

/* The handle goes on with the successor.  The old file stays entered, and so mapped, until the handle is closed:
 * another thread may be inside it.  With the process lock held. */
static int move_on(struct vesta_gen *gen, struct vesta_error *err) {
    struct vs_handle *handle = gen->handle;
    struct vs_past *past = malloc(sizeof *past);
    struct vs_file *file;
    if (!past) return vs_fail(err, VESTA_ENOMEM, "no memory");
    int rc = enter_successor(handle->file, gen->clock, &file, err);
    if (rc != VESTA_OK) {
        free(past);
        return rc;
    }
    *past = (struct vs_past){handle->past, handle->file};
    handle->past = past;
    handle->file = file;
    vs_gen_move(gen, file->mapping.map);
    enter_question(gen, file);
    return VESTA_OK;
}

int vs_handle_kick(struct vesta_gen *gen, struct vesta_error *err) {
    struct vs_handle *handle = gen->handle;
    int rc = VESTA_OK, failed = 0;
    if (handle->is_private) return vs_fail(err, VESTA_EOPTION, "a private generator has no lease to keep");
    /* Callers may be event loops.  Where the lock is taken, a keeper is at work or a file is being opened: then it is
     * enough to say that a lease is wanted, and to come again. */
    if (vs_process_trylock()) {
        if (is_used_up(handle->file->mapping.map)) rc = move_on(gen, err);
        if (rc == VESTA_OK && handle->keeps) failed = vs_keeper_start(handle->file);
        vs_process_unlock();
    }
    if (rc == VESTA_EPAUSE) /* somebody is closing the successor just now */
        rc = VESTA_OK;
    vs_keeper_want(atomic_load_explicit(&gen->map, memory_order_acquire));
    return failed ? vs_fail(err, VESTA_EIO, "cannot start the keeper's thread: %s", strerror(failed)) : rc;
}

int vesta_keep(struct vesta_gen *gen) {
    return vs_handle_kick(gen, NULL);
}
