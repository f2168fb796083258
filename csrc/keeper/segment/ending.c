/* ending.c -- a segment's ranges given back, and a counter that went back, after a person has put it right. */
#include "keeper/segment/counter.h"
#include "base/error.h"
#include "keeper/file.h"
#include "os/lock.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

static bool is_stopped(const struct vesta_segment *seg, const struct vs_segment *words) {
    return atomic_load(&words->stopped) & ((UINT32_C(1) << seg->parts_count) - 1);
}

/* A part that has something to give back, and whose thread does not run in this process. */
static int wake_for(struct vesta_segment *seg, const struct vs_live *live, struct vesta_error *err) {
    int failed = 0;
    vs_process_lock();
    for (int i = 0; i < atomic_load(&live->unused_count) && !failed; i++) {
        uint32_t database = live->unused[i].database;
        if (database >= seg->parts_count) continue; /* somebody has written into the map */
        struct vs_part *part = &seg->part[database];
        failed = vs_database_start(part->database);
        if (!failed && !atomic_load(&part->is_handed)) vs_database_hand_over(part);
    }
    vs_process_unlock();
    return failed ? vs_fail(err, VESTA_EIO, "cannot start a thread: %s", strerror(failed)) : VESTA_OK;
}

/* Nothing more comes from these words; what is left of them goes back. */
static int give_back(struct vesta_segment *seg, struct vs_live *live, struct vesta_error *err) {
    char said[VS_SAID_MAX] = "";
    assert(!vs_process_is_locked());
    vs_live_close(live);
    int rc = wake_for(seg, live, err);
    for (uint32_t i = 0; i < seg->parts_count; i++) {
        vs_part_take_back(&seg->part[i], VS_LEAVE_AND_GIVE_BACK);
        if (!said[0]) vs_part_said(&seg->part[i], said);
    }
    vs_mapping_remove(&live->mapping);
    if (rc != VESTA_OK || !said[0]) return rc;
    return vs_fail(err, VESTA_EIO, "'%s': %s", seg->tag, said);
}

int vesta_segment_release(struct vesta_segment *seg, struct vesta_error *err) {
    if (!seg->keeps)
        return vs_fail(err, VESTA_EOPTION,
                       "this handle starts no thread: let the process that fetches ranges release '%s'", seg->tag);
    struct vs_live *live = atomic_load(&seg->live);
    if (seg->strict || vs_words_are_closed(live->words)) return VESTA_OK; /* there is nothing to give back */
    if (is_stopped(seg, live->words))
        return vs_fail(err, VESTA_ENOTNOW,
                       "the counter '%s' went back: that must not be forgotten before it is put right", seg->tag);
    if (!vs_lock_byte(live->mapping.fd, VS_BYTE_HERE, true))
        return vs_fail(err, VESTA_ENOTNOW, "other processes use '%s': the last of them gives it back", seg->tag);
    return give_back(seg, live, err);
}

int vesta_segment_resume(struct vesta_segment *seg, int even_lower, struct vesta_error *err) {
    struct vs_segment *words = atomic_load(&seg->words);
    if (!is_stopped(seg, words)) return vs_fail(err, VESTA_ENOTNOW, "the counter '%s' has not gone back", seg->tag);
    for (uint32_t i = 0; even_lower && i < seg->parts_count; i++)
        if (atomic_load(&words->stopped) >> i & 1) atomic_store(&words->granted[i], 0);
    atomic_store(&words->stopped, 0);
    vs_words_tell(words);
    vs_segment_kick(seg);
    return VESTA_OK;
}
