/* wait.c -- waits for ids: sleeps during a generator's pauses, for callers that may sleep. */
#include "generator/lane.h"
#include "keeper/file.h"
#include "os/clock.h"
#include "os/lock.h"
#include "os/process.h"
#include "vesta_lane.h"
#include "vesta_plain.h"
#include "vesta_uuid.h"

#include <assert.h>

/* A sleep this short would overshoot, so the last part of a wait is a loop of calls. */
#define SPIN_US 70

/* Returns true if this process has a keeper, or must not have one. */
static bool is_kept(const struct vesta_gen *gen) {
    const struct vs_handle *handle = gen->handle;
    if (!handle || handle->is_private || !handle->keeps) return true;
    return atomic_load(&atomic_load(&handle->file)->keeper_in) == vs_process_token();
}

/* Starts a keeper on standby.  A process that issues ids on an existing lease never asks for a lease.  But if all other
 * processes end, only a keeper in this process can renew the lease, and notice that new processes use another map.  If
 * the process lock is taken, or no thread can be started, the next call tries again. */
static void wait_stand_by(const struct vesta_gen *gen) {
    if (is_kept(gen) || !vs_process_trylock()) return;
    (void)vs_keeper_start(gen->handle->file, VS_STAND_BY);
    vs_process_unlock();
}

/* Waits until a pause ends.  Returns false if the waiting time is over, or if waiting does not help.  *until_boot_us is
 * 0 at the first pause. */
static bool wait_out_pause(struct vesta_gen *gen, const struct vesta_pause *pause, int64_t wait_us_max,
                           int64_t *until_boot_us) {
    const struct vesta_clock *clock = gen->clock;
    assert(pause->why);
    int64_t now = clock->boot_us(clock->self);
    if (*until_boot_us == 0 && __builtin_add_overflow(now, wait_us_max, until_boot_us))
        *until_boot_us = INT64_MAX; /* wait without a limit */
    /* Do not wait for a failstop to end, but wake the keeper, so that it notices when the failstop ends. */
    if (vs_pause_wakes_keeper(pause->why) && (!gen->handle || vs_handle_kick(gen, NULL) != VESTA_OK)) return false;
    /* the caller itself must answer the question */
    if (pause->why == VESTA_CHOOSE && gen->handle->chooses) return false;
    int64_t wait_us = vs_pause_step_us(pause, *until_boot_us - now);
    if (wait_us < 0) return false;
    assert(wait_us > 0); /* 0 would cause a busy loop */
    if (clock != vs_clock_system())
        clock->sleep_us(clock->self, wait_us);
    else if (wait_us > SPIN_US)
        clock->sleep_us(clock->self, wait_us - SPIN_US);
    return true;
}

int vesta_next_wait(struct vesta_gen *gen, uint64_t *id, int64_t wait_us_max, struct vesta_pause *pause) {
    int64_t until_boot_us = 0;
    wait_stand_by(gen);
    while (vesta_next(gen, id, pause) != VESTA_OK)
        if (!wait_out_pause(gen, pause, wait_us_max, &until_boot_us)) return VESTA_EPAUSE;
    return VESTA_OK;
}

int vesta_next_uuid_wait(struct vesta_gen *gen, enum vesta_shape shape, unsigned char *out, int64_t wait_us_max,
                         struct vesta_pause *pause) {
    int64_t until_boot_us = 0;
    int rc;
    wait_stand_by(gen);
    while ((rc = vesta_next_uuid(gen, shape, out, pause)) == VESTA_EPAUSE)
        if (!wait_out_pause(gen, pause, wait_us_max, &until_boot_us)) break;
    return rc;
}

/* Here because a process that never waits needs the keeper on standby, too. */
uint64_t vesta_plain_next(uint64_t handle) {
    struct vesta_gen *gen = (struct vesta_gen *)(uintptr_t)handle;
    struct vesta_pause pause;
    uint64_t id = 0;
    if (!gen) return 0;
    wait_stand_by(gen);
    while (vesta_next(gen, &id, &pause) == VESTA_OK && id == 0)
        continue;
    return id;
}

int vesta_lane_next_wait(struct vesta_lane *lane, uint64_t *id, int64_t wait_us_max, struct vesta_pause *pause) {
    int64_t until_boot_us = 0;
    int rc;
    assert(lane->gen->pacing == VESTA_PACING_HISTORY); /* vesta_lane_open rejects other kinds of pacing */
    wait_stand_by(lane->gen);
    while ((rc = vesta_lane_next(lane, id, pause)) == VESTA_EPAUSE)
        if (!wait_out_pause(lane->gen, pause, wait_us_max, &until_boot_us)) break;
    return rc;
}

int vesta_batch_wait(struct vesta_gen *gen, uint64_t *ids, size_t n, int64_t wait_us_max, struct vesta_pause *pause) {
    int64_t until_boot_us = 0;
    size_t have = 0, got;
    wait_stand_by(gen);
    while (have < n) {
        if (vesta_next_n(gen, ids + have, n - have, &got, pause) == VESTA_OK)
            have += got;
        else if (!wait_out_pause(gen, pause, wait_us_max, &until_boot_us))
            return VESTA_EPAUSE;
    }
    return VESTA_OK;
}

int vesta_batch_uuid_wait(struct vesta_gen *gen, enum vesta_shape shape, unsigned char *out, size_t n,
                          int64_t wait_us_max, struct vesta_pause *pause) {
    int64_t until_boot_us = 0;
    size_t have = 0, got;
    int rc = VESTA_OK;
    wait_stand_by(gen);
    while (have < n) {
        rc = vesta_next_uuid_n(gen, shape, out + have * VESTA_UUID_BYTES, n - have, &got, pause);
        if (rc == VESTA_OK)
            have += got;
        else if (rc != VESTA_EPAUSE || !wait_out_pause(gen, pause, wait_us_max, &until_boot_us))
            break;
    }
    return rc;
}
