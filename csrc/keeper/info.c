/* info.c -- a generator's status for users: the text of a pause, and vesta_get_info. */
#include "keeper/file.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Returns the pid of the file's keeper if the keeper has not responded for too long, and its process exists.  Such a
 * process is suspended, or hangs in a call.  Returns 0 if the keeper responds, or if there is no keeper. */
static pid_t silent_keeper(const struct vesta_clock *clock, const struct vs_shared *shared) {
    pid_t pid = (pid_t)atomic_load(&shared->keeper_pid);
    bool is_late = clock->boot_us(clock->self) > atomic_load(&shared->pulse_boot_us) + VS_PULSE_US / 4;
    bool is_there = pid > 0 && atomic_load(&shared->keeper_token) && (kill(pid, 0) == 0 || errno == EPERM);
    return is_late && is_there ? pid : 0;
}

static void keeper_text(struct vesta_gen *gen, char *out) {
    const struct vs_map *map = atomic_load(&gen->map);
    size_t i = 0;
    pid_t silent = silent_keeper(gen->clock, &map->shared);
    if (silent) {
        snprintf(out, VS_SAID_MAX,
                 "process %d keeps this file, but is silent: it is stopped, or its disk hangs. Continue it, or end it",
                 (int)silent);
        return;
    }
    while (i + 1 < VS_SAID_MAX && (out[i] = atomic_load_explicit(&map->shared.keeper[i], memory_order_relaxed)))
        i++;
    out[i] = '\0';
}

static void lease_text(struct vesta_gen *gen, const char *head, char *buf, size_t size) {
    char said[VS_SAID_MAX];
    keeper_text(gen, said);
    snprintf(buf, size, "%s: %s", head, said[0] ? said : "the keeper is asking the store");
}

/* Writes the reason and the remedy.  The remedy is always included, because the keeper that wrote the reason may have
 * died since. */
static void serve_text(struct vesta_gen *gen, const char *path, char *buf, size_t size) {
    char said[VS_SAID_MAX];
    keeper_text(gen, said);
    snprintf(buf, size, "no lease%s%s. A server must keep this file: vesta serve --path %s", said[0] ? ": " : "", said,
             path);
}

void vesta_pause_text(struct vesta_gen *gen, const struct vesta_pause *pause, char *buf, size_t size) {
    const struct vs_handle *handle = gen->handle;
    double wait_s = (double)pause->wait_us / 1e6, back_s = (double)pause->back_us / 1e6;
    switch (pause->why) {
    case VESTA_FULL:
        snprintf(buf, size, "the sequence of this time unit is exhausted, and the next unit begins in %.6f s", wait_s);
        break;
    case VESTA_CLOCK_BACK:
        snprintf(buf, size, "the clock is %.3f s behind the latest time seen, and ids resume in %.3f s", back_s,
                 wait_s);
        break;
    case VESTA_CLOCK_AHEAD:
        snprintf(buf, size,
                 "the clock jumped forward against the machine's uptime. This is accepted after a minute, in %.1f s, "
                 "unless the clock is corrected first",
                 wait_s);
        break;
    case VESTA_AHEAD:
        snprintf(buf, size, "%" PRIu64 " ticks ahead of the clock, and ids resume in %.3f s", pause->ahead_ticks,
                 wait_s);
        break;
    case VESTA_LEASE:
        if (handle && handle->file && !handle->keeps)
            serve_text(gen, handle->file->path, buf, size);
        else
            lease_text(gen, "no lease", buf, size);
        break;
    case VESTA_FAILSTOP: lease_text(gen, "stopped until an operator acts", buf, size); break;
    case VESTA_CHOOSE: snprintf(buf, size, "a policy must choose a worker id"); break;
    case VESTA_END: snprintf(buf, size, "the layout's time has ended"); break;
    case VESTA_CLOSED: snprintf(buf, size, "the map is used up or was removed, and a new one replaces it"); break;
    case VESTA_RANGE: snprintf(buf, size, "no range is available, and the next one is being fetched"); break;
    }
}

static void get_renewals(const struct vs_map *map, struct vesta_info *out) {
    uint64_t count[VS_RENEWALS];
    for (int i = 0; i < VS_RENEWALS; i++)
        count[i] = atomic_load_explicit(&map->shared.renewals[i], memory_order_relaxed);
    out->renewals.ok = count[VS_STORE_OK];
    out->renewals.conflict = count[VS_STORE_CONFLICT] + count[VS_STORE_MOVED];
    out->renewals.refused = count[VS_STORE_REFUSED];
    out->renewals.down = count[VS_STORE_DOWN];
    out->renewals.unknown = count[VS_STORE_UNKNOWN];
}

/* Returns the time of the last granted tick, or the deadline if there is one and it is earlier. */
static int64_t lease_end_ms(const struct vesta_gen *gen, const struct vs_slot *slot, int64_t offset_us) {
    int64_t limit_us = vs_tick_unix_us(&gen->shape, atomic_load(&slot->limit));
    int64_t deadline_us = atomic_load(&slot->deadline_boot_us);
    return (deadline_us && deadline_us + offset_us < limit_us ? deadline_us + offset_us : limit_us) / 1000;
}

void vesta_get_info(struct vesta_gen *gen, struct vesta_info *out) {
    const struct vs_map *map = atomic_load(&gen->map);
    const struct vs_handle *handle = gen->handle;
    memset(out, 0, sizeof *out);
    out->layout = gen->layout;
    snprintf(out->namespace_, sizeof out->namespace_, "%.*s", VESTA_NAMESPACE_MAX - 1, map->header.namespace_);
    out->path = handle->file ? handle->file->path : "";
    out->lease = map->header.lease;
    out->identity = map->header.identity;
    out->state = handle->file ? vs_lease_state_name(atomic_load(&map->shared.lease_state)) : "";
    out->store = handle->store;
    out->pacing = gen->pacing;
    out->ahead_ms_max = (int64_t)(gen->ahead_ticks_max >> gen->shape.seq_bits) * gen->shape.unit_us / 1000;
    int64_t offset_us = gen->clock->unix_us(gen->clock->self) - gen->clock->boot_us(gen->clock->self);
    out->clock_drift_us = offset_us - atomic_load(&map->shared.offset_us);
    get_renewals(map, out);
    uint32_t used = atomic_load(&map->shared.slots_used);
    out->slots_used = used < VS_SLOTS_MAX ? used : VS_SLOTS_MAX;
    out->drew_worker = atomic_load(&map->shared.drew) == (uint32_t)getpid();
    int active = vs_map_active(map);
    if (active >= 0) {
        const struct vs_slot *slot = &map->slot[active];
        out->slot = (uint32_t)active;
        out->worker = slot->worker;
        out->limit = atomic_load(&slot->limit);
        out->holds_lease = vs_slot_cursor(slot, &out->tick);
        out->lease_end_ms = lease_end_ms(gen, slot, offset_us);
    }
    keeper_text(gen, out->keeper);
    if (handle->warning) snprintf(out->warning, sizeof out->warning, "%s", handle->warning);
}

const struct vesta_layout *vesta_gen_layout(const struct vesta_gen *gen) {
    return &gen->layout;
}
