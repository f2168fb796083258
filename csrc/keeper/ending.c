/* ending.c -- ends a lease early.  Releases it, drops it, changes to another worker id, or pauses the lease before a
 * snapshot of this machine is made. */
#include "base/error.h"
#include "keeper/file.h"
#include "os/lock.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define REST_US_MAX 15000000 /* maximum time until a keeper's store call returns or times out */
#define REST_STEP_US 1000

static struct vs_slot *open_slot(struct vs_map *map) {
    uint64_t cursor;
    int active = vs_map_active(map);
    return active >= 0 && vs_slot_cursor(&map->slot[active], &cursor) ? &map->slot[active] : NULL;
}

static uint64_t open_worker(struct vs_map *map) {
    const struct vs_slot *slot = open_slot(map);
    return slot ? slot->worker : 0;
}

static int start_keeper(struct vs_file *file, struct vesta_error *err) {
    vs_process_lock();
    int failed = vs_keeper_start(file, VS_AT_ONCE);
    vs_process_unlock();
    return failed ? vs_fail(err, VESTA_EIO, "cannot start the keeper's thread: %s", strerror(failed)) : VESTA_OK;
}

static struct vs_file *file_of(struct vesta_gen *gen) {
    vs_process_lock();
    struct vs_file *file = gen->handle->file;
    vs_process_unlock();
    assert(file); /* the callers reject private generators */
    return file;
}

static int not_the_keeper(struct vesta_error *err) {
    return vs_fail(err, VESTA_EOPTION,
                   "another process keeps this file's lease, for example vesta serve: stop that process first");
}

int vesta_release(struct vesta_gen *gen, struct vesta_error *err) {
    struct vs_map *map = atomic_load_explicit(&gen->map, memory_order_acquire);
    if (gen->handle->is_private) return vs_fail(err, VESTA_EOPTION, "a private generator has no lease to release");
    if (!gen->handle->keeps) return not_the_keeper(err);
    if (!open_slot(map)) return VESTA_OK; /* no lease */
    struct vs_file *file = file_of(gen);
    int rc = start_keeper(file, err);
    if (rc != VESTA_OK) return rc;
    uint64_t worker = open_worker(map);
    struct vs_kept kept = vs_keeper_stop(file, VS_GIVE_BACK);
    if (kept.ms == 0) return VESTA_OK;
    return vs_fail(err, VESTA_EIO,
                   "%.150s. Other processes can claim worker id %" PRIu64 " %.1f min after its last renewal", kept.why,
                   worker, (double)kept.ms / 60000);
}

int vesta_drop(struct vesta_gen *gen) {
    struct vs_map *map = atomic_load_explicit(&gen->map, memory_order_acquire);
    if (gen->handle->is_private) return VESTA_EOPTION;
    vs_map_drop(map);
    vs_keeper_want(map);
    return VESTA_OK;
}

int vesta_switch(struct vesta_gen *gen, const struct vesta_pause *pause) {
    struct vs_map *map = atomic_load_explicit(&gen->map, memory_order_acquire);
    if (gen->handle->is_private || map->header.has_worker) return VESTA_EOPTION;
    if (pause->slot >= VS_SLOTS_MAX) return VESTA_ENOTNOW;
    if (vs_map_active(map) != (int)pause->slot) return VESTA_OK;
    if (!vs_map_leave(map, pause->slot, gen->clock->boot_us(gen->clock->self))) return VESTA_ENOTNOW;
    vs_keeper_want(map);
    return VESTA_OK;
}

int vesta_prepare_snapshot(struct vesta_gen *gen, struct vesta_error *err) {
    if (gen->handle->is_private)
        return vs_fail(err, VESTA_EOPTION, "a private generator has no lease, so copies of it would issue duplicates");
    if (!gen->handle->keeps) return not_the_keeper(err);
    int rc = vs_handle_follow(gen, err);
    if (rc != VESTA_OK) return rc;
    struct vs_file *file = file_of(gen);
    struct vs_map *map = file->mapping.map;
    atomic_store(&map->shared.rest, VS_REST_ASKED);
    rc = start_keeper(file, err);
    if (rc != VESTA_OK) return rc;
    for (int64_t waited_us = 0; vs_map_must_rest(map); waited_us += REST_STEP_US) {
        if (waited_us >= REST_US_MAX)
            return vs_fail(err, VESTA_EIO,
                           "the keeper of this file did not pause within 15 s: a copy could issue duplicates");
        vs_futex_wake(
            &map->shared.want); /* not vs_keeper_want, which a paused keeper would treat as a request for ids */
        usleep(REST_STEP_US);
    }
    if (atomic_load(&map->shared.rest) != VS_RESTING)
        return vs_fail(err, VESTA_EIO, "an id was requested meanwhile, so a lease may have been claimed again");
    if (vs_is_used_up(map) || !vs_mapping_is_named(&file->mapping))
        return vs_fail(err, VESTA_EIO,
                       "other processes have moved to another map meanwhile, which is not paused: call again");
    return VESTA_OK;
}
