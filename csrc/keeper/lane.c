/* lane.c -- vesta_lane_open and vesta_lane_close: allocates a lane and records the process that owns it. */
#include "base/error.h"
#include "generator/lane.h"
#include "os/process.h"
#include "vesta_lane.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

static int keeper_check_lane(const struct vesta_gen *gen, uint64_t n, struct vesta_error *err) {
    uint64_t max = vs_lane_max(&gen->shape);
    if (gen->pacing != VESTA_PACING_HISTORY)
        return vs_fail(
            err, VESTA_EOPTION,
            "a lane needs history pacing: with clock pacing an id has the time of its call. Use vesta_next, or "
            "vesta_next_n for several at once");
    if (n >= 1 && n <= max) return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION, "a lane's run is %" PRIu64 " ids, which must be 1 to %" PRIu64 "%s", n, max,
                   max < VESTA_LANE_MAX ? ", as many as the layout has for a time unit" : "");
}

int vesta_lane_open(struct vesta_gen *gen, uint64_t n, struct vesta_lane **lane, struct vesta_error *err) {
    static const _Atomic uint64_t nothing;
    int rc = keeper_check_lane(gen, n, err);
    if (rc != VESTA_OK) return rc;
    struct vesta_lane *made = aligned_alloc(VS_LINE, sizeof *made);
    if (!made) return vs_fail(err, VESTA_ENOMEM, "no memory for a lane");
    /* If the kernel cannot clear a word in a forked child, a lane takes one id at a time, so that a child inherits no
     * ids. */
    const _Atomic uint64_t *process = vs_process_word();
    assert(!process || atomic_load(process) == vs_process_token()); /* the process's token was drawn before this */
    vs_lane_init(made, gen, process ? n : 1, process ? process : &nothing, vs_process_token);
    *lane = made;
    return VESTA_OK;
}

void vesta_lane_close(struct vesta_lane *lane) {
    if (!lane) return;
    vs_lane_end(lane);
    free(lane);
}
