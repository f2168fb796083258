/* uuid.c -- vesta_next_uuid and vesta_next_uuid_n: issue ids and convert each to a UUID. */
#include "generator/lane.h"
#include "generator/point.h"
#include "base/error.h"
#include "vesta_lane.h"

#include <assert.h>

#define UNLIKELY(x) __builtin_expect(!!(x), 0)

static bool uuid_is_had(const struct vesta_gen *gen, enum vesta_shape shape) {
    return (unsigned)shape <= VESTA_SHAPES && gen->uuid.can[shape];
}

int vesta_gen_shape_check(const struct vesta_gen *gen, enum vesta_shape shape, struct vesta_error *err) {
    int rc = vesta_shape_check(&gen->layout, shape, err);
    if (rc != VESTA_OK || gen->uuid.can[shape]) return rc;
    return vs_fail(
        err, VESTA_EOPTION,
        "the kernel returned no random bytes for %s when the generator was opened: permit getrandom and open "
        "the generator again, or use uuid8",
        vesta_shape_name(shape));
}

/* Sets the pause for an id of a time that a UUID cannot have, in the year 10889. */
static __attribute__((cold, noinline)) int uuid_pause_end(struct vesta_pause *pause) {
    *pause = (struct vesta_pause){.why = VESTA_END, .wait_us = -1};
    return VESTA_EPAUSE;
}

int vesta_next_uuid(struct vesta_gen *gen, enum vesta_shape shape, unsigned char *out, struct vesta_pause *pause) {
    uint64_t id;
    if (UNLIKELY(!uuid_is_had(gen, shape))) return VESTA_EOPTION;
    int rc = vesta_next(gen, &id, pause);
    if (UNLIKELY(rc != VESTA_OK || !vs_gen_is_in_span(gen, id))) {
        rc = vs_gen_next_lead(gen, rc, &id, pause);
        if (rc != VESTA_OK) return rc;
    }
    VS_POINT(composes);
    return UNLIKELY(!vs_uuid_put(&gen->uuid, shape, id, out)) ? uuid_pause_end(pause) : VESTA_OK;
}

int vesta_lane_next_uuid(struct vesta_lane *lane, enum vesta_shape shape, unsigned char *out,
                         struct vesta_pause *pause) {
    struct vesta_gen *gen = lane->gen;
    uint64_t id;
    if (UNLIKELY(!uuid_is_had(gen, shape))) return VESTA_EOPTION;
    int rc = vesta_lane_next(lane, &id, pause);
    /* The lane's run is used up, so the next tick of the cursor is above it. */
    if (UNLIKELY(rc == VESTA_EPAUSE)) rc = vs_gen_next_lead(gen, rc, &id, pause);
    if (UNLIKELY(rc != VESTA_OK)) return rc;
    VS_POINT(composes);
    return UNLIKELY(!vs_uuid_put(&gen->uuid, shape, id, out)) ? uuid_pause_end(pause) : VESTA_OK;
}

int vesta_next_uuid_n(struct vesta_gen *gen, enum vesta_shape shape, unsigned char *out, size_t n, size_t *got,
                      struct vesta_pause *pause) {
    struct vesta_block block;
    if (!uuid_is_had(gen, shape)) return VESTA_EOPTION;
    int rc = vs_gen_take_lead(gen, n, &block, pause);
    if (rc != VESTA_OK) return rc;
    assert(block.count <= n);
    for (uint64_t i = 0; i < block.count; i++) {
        uint64_t id = block.base + vs_place_tick(&gen->shape, block.first + i);
        if (!vs_uuid_put(&gen->uuid, shape, id, out + i * VESTA_UUID_BYTES)) return uuid_pause_end(pause);
    }
    *got = (size_t)block.count;
    return VESTA_OK;
}
