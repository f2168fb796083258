/* open.c -- vesta_open, vesta_close, vesta_keep: creates and frees handles, and moves them to a new map. */
#include "base/error.h"
#include "id/id.h"
#include "generator/generator.h"
#include "keeper/file.h"
#include "keeper/options.h"
#include "os/clock.h"
#include "os/lock.h"
#include "os/random.h"
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int open_file(struct vs_settings *settings, struct vs_file **out, struct vesta_error *err) {
    struct vs_anchor anchor;
    bool found;
    int rc = vs_anchor_find(settings, true, &found, &anchor, err);
    if (rc != VESTA_OK) return rc;
    do {
        vs_process_lock();
        rc = vs_file_enter(&anchor, settings, out, err);
        vs_process_unlock();
        if (rc == VESTA_EPAUSE) usleep(1000);
    } while (rc == VESTA_EPAUSE);
    return rc;
}

/* ------------------------------------------------------------------ handles */

static int set_fields(const struct vesta_layout *layout, const struct vesta_opts *opts, uint64_t *base,
                      struct vesta_error *err) {
    uint64_t values[VESTA_FIELDS_MAX];
    int rc = vs_fields_parse(layout, opts->fields, opts->method, values, err);
    if (rc == VESTA_OK) *base = vs_layout_base(layout, 0, values);
    return rc;
}

/* Registers the handle if it chooses worker ids.  Call with the process lock held. */
static void enter_question(struct vesta_gen *gen, struct vs_file *file) {
    assert(vs_process_is_locked());
    assert(gen->handle->file == file);
    assert(file->handles > file->question.choosers); /* `handles` includes this handle, and `choosers` does not yet */
    file->question.choosers += gen->handle->chooses;
    atomic_store_explicit(&gen->asks, &file->question.open, memory_order_release);
}

/* Warns if the map is private to this process, or if there is no generator file. */
static void keeper_warn(const struct vs_file *file, char *warning, size_t size) {
    if (file->why_lone)
        snprintf(warning, size, "%s", file->why_lone);
    else if (file->anchor.no_file)
        vs_no_file_text(file->path, file->anchor.no_file, warning, size);
}

/* Copies the store's URI under the process lock, because another thread may be opening the file with another store. */
static int fill_handle(struct vs_handle *handle, const struct vs_settings *settings, const struct vs_map *map,
                       const char *warning, struct vesta_error *err) {
    char store[VS_URI_MAX], shown[VS_URI_MAX];
    vs_process_lock();
    snprintf(store, sizeof store, "%s", handle->file ? handle->file->store : map->header.store);
    vs_process_unlock();
    handle->keeps = vs_may_keep(settings->opts.flags, store);
    handle->chooses = settings->opts.flags & VESTA_CHOOSES;
    handle->store = strdup(vs_store_public(store, shown));
    handle->warning = warning[0] ? strdup(warning) : NULL;
    explicit_bzero(store, sizeof store);
    bool is_room = handle->store && (handle->warning || !warning[0]);
    return is_room ? VESTA_OK : vs_fail(err, VESTA_ENOMEM, "no memory");
}

static void free_handle(struct vs_handle *handle) {
    if (!handle) return;
    free(handle->store);
    free(handle->warning);
    free(handle);
}

/* Without random bytes, ids can still be issued, and of the UUIDs only those that have no random bits.  A forked child
 * has the same key, but its ticks are others. */
static void draw_key(struct vs_uuid *uuid) {
    if (vs_random(uuid->key, sizeof uuid->key) != 0)
        uuid->can[VESTA_UUID7] = uuid->can[VESTA_ULID] = uuid->can[VESTA_HEX32] = false;
}

/* Creates a handle for an open map.  Does not call the store. */
static int make_handle(const struct vs_settings *settings, struct vs_map *map, struct vs_file *file,
                       struct vesta_gen **out, struct vesta_error *err) {
    struct vesta_layout layout = settings->layout;
    char warning[256] = "";
    uint64_t base = 0;
    assert(!file || file->mapping.map == map);
    struct vesta_gen *gen = calloc(1, sizeof *gen);
    struct vs_handle *handle = calloc(1, sizeof *handle);
    int rc = gen && handle ? VESTA_OK : vs_fail(err, VESTA_ENOMEM, "no memory");
    if (rc == VESTA_OK && !settings->has_layout) rc = vesta_layout_parse(map->header.layout, &layout, err);
    if (rc == VESTA_OK) rc = vs_check_lifetime(&layout, settings->clock, warning, sizeof warning, err);
    if (rc == VESTA_OK) rc = set_fields(&layout, &settings->opts, &base, err);
    if (rc == VESTA_OK) {
        if (file) keeper_warn(file, warning, sizeof warning);
        handle->file = file;
        handle->is_private = file == NULL;
        rc = fill_handle(handle, settings, map, warning, err);
    }
    if (rc != VESTA_OK) {
        free_handle(handle);
        free(gen);
        return rc;
    }
    vs_gen_init(gen, map, &layout, base, settings->clock);
    draw_key(&gen->uuid);
    if (settings->clock == vs_clock_system()) vs_gen_read_late(gen, vs_clock_late_s, vs_clock_late_us);
    gen->handle = handle;
    if (file) {
        vs_process_lock();
        enter_question(gen, file);
        vs_process_unlock();
    }
    *out = gen;
    return VESTA_OK;
}

/* Opens a private generator, which has one slot without a lease, valid until the layout's time ends. */
static int open_private(const struct vs_settings *settings, struct vesta_gen **out, struct vesta_error *err) {
    struct vs_header header;
    int rc = vs_settings_header(settings, &header, err);
    if (rc != VESTA_OK) return rc;
    struct vs_map *map = vs_mapping_private();
    if (!map) return vs_fail(err, VESTA_ENOMEM, "no memory for a private map");
    map->header = header;
    vs_map_format(map, settings->clock);
    rc = make_handle(settings, map, NULL, out, err);
    if (rc != VESTA_OK) {
        vs_mapping_unmap(map);
        return rc;
    }
    const struct vs_shape *shape = &(*out)->shape;
    uint64_t from = vs_tick_at(shape, settings->clock->unix_us(settings->clock->self));
    int slot = vs_slot_take(map, &(struct vs_claim){.worker = header.worker, .owner = {0, 0}, .from = from});
    assert(slot == 0); /* no other thread uses the map yet */
    vs_slot_publish(map, slot, vs_tick_end(shape), 0);
    return VESTA_OK;
}

int vesta_open(const struct vesta_opts *opts, struct vesta_gen **gen, struct vesta_error *err) {
    struct vs_settings settings;
    struct vs_file *file;
    int rc = vs_settings_read(opts, &settings, err);
    if (rc != VESTA_OK) return rc;
    if (settings.opts.flags & VESTA_UNSAFE_PRIVATE) return open_private(&settings, gen, err);
    if ((rc = open_file(&settings, &file, err)) != VESTA_OK) return rc;
    rc = make_handle(&settings, file->mapping.map, file, gen, err);
    if (rc != VESTA_OK) vs_file_leave(NULL, file);
    return rc;
}

void vesta_close(struct vesta_gen *gen) {
    if (!gen) return;
    assert(!gen->handle->is_private || !gen->handle->past);
    assert(gen->handle->is_private == !gen->handle->file);
    if (gen->handle->is_private)
        vs_mapping_unmap(atomic_load(&gen->map));
    else
        vs_file_leave(gen->handle, gen->handle->file);
    for (struct vs_past *past = gen->handle->past, *next; past; past = next) {
        next = past->next;
        vs_file_leave(gen->handle, past->file);
        free(past);
    }
    free_handle(gen->handle);
    free(gen);
}

/* ------------------------------------------------------------------ keeping */

/* Moves the handle to the map's successor.  The old file stays mapped until the handle is closed, because another
 * thread may be using it.  Call with the process lock held. */
static int move_on(struct vesta_gen *gen, struct vesta_error *err) {
    struct vs_handle *handle = gen->handle;
    struct vs_past *past = malloc(sizeof *past);
    struct vs_file *file;
    assert(!handle->is_private);
    if (!past) return vs_fail(err, VESTA_ENOMEM, "no memory");
    int rc = vs_file_enter_next(handle->file, &file, err);
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

/* Returns true if the handle must move to another map.  Normally the map's keeper marks a replaced map as used up.  If
 * this handle cannot start a keeper, the map may have none, so the handle also checks the map's name. */
static bool is_left(const struct vs_handle *handle) {
    const struct vs_file *file = handle->file;
    assert(vs_process_is_locked()); /* another thread of the handle may be moving it */
    return vs_is_used_up(file->mapping.map) || (!handle->keeps && !vs_mapping_is_named(&file->mapping));
}

int vs_handle_follow(struct vesta_gen *gen, struct vesta_error *err) {
    vs_process_lock();
    int rc = is_left(gen->handle) ? move_on(gen, err) : VESTA_OK;
    vs_process_unlock();
    return rc == VESTA_EPAUSE ? vs_fail(err, VESTA_EIO, "the generator file is being closed: try again") : rc;
}

int vs_handle_kick(struct vesta_gen *gen, struct vesta_error *err) {
    struct vs_handle *handle = gen->handle;
    int rc = VESTA_OK, failed = 0;
    if (handle->is_private) return vs_fail(err, VESTA_EOPTION, "a private generator has no lease to keep");
    /* Do not wait for the lock, because the caller may be an event loop.  If another thread has the lock, only signal
     * that a lease is wanted.  The caller tries again later. */
    if (vs_process_trylock()) {
        if (is_left(handle)) rc = move_on(gen, err);
        if (rc == VESTA_OK && handle->keeps) failed = vs_keeper_start(handle->file, VS_AT_ONCE);
        vs_process_unlock();
    }
    if (rc == VESTA_EPAUSE) rc = VESTA_OK; /* another thread is closing the successor, so the caller tries again */
    vs_keeper_want(atomic_load_explicit(&gen->map, memory_order_acquire));
    return failed ? vs_fail(err, VESTA_EIO, "cannot start the keeper's thread: %s", strerror(failed)) : rc;
}

int vesta_keep(struct vesta_gen *gen) {
    return vs_handle_kick(gen, NULL);
}
