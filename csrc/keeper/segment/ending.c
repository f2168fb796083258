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

/* Parts that have something to give back, and whose thread does not run in this process, or has not got them. */
static int hand_over_rests(struct vesta_segment *seg, const struct vs_live *live, struct vs_leaving *leaving) {
    int failed = 0;
    for (int i = 0; i < atomic_load(&live->unused_count) && !failed; i++) {
        uint32_t database = live->unused[i].database;
        if (database >= seg->parts_count || leaving[database].is_awaited) continue; /* or somebody wrote into the map */
        struct vs_part *part = &seg->part[database];
        failed = vs_database_start(part->database);
        if (!failed) leaving[database] = vs_database_hand_over(part, VS_LEAVE_AND_GIVE_BACK);
    }
    return failed;
}

/* The threads are told first: one that found the words closed, and was not told to leave, would go on in a new map, and
 * forget what became of the rest. */
int vs_segment_end(struct vesta_segment *seg, struct vs_live *live) {
    struct vs_leaving leaving[VS_DATABASES_MAX];
    assert(seg->parts_count <= VS_DATABASES_MAX);
    vs_process_lock();
    for (uint32_t i = 0; i < seg->parts_count; i++)
        leaving[i] = vs_part_leave(&seg->part[i], live ? VS_LEAVE_AND_GIVE_BACK : VS_LEAVE_QUIETLY);
    if (live) vs_live_close(live);
    int failed = live ? hand_over_rests(seg, live, leaving) : 0;
    vs_process_unlock();
    for (uint32_t i = 0; i < seg->parts_count; i++)
        vs_part_await(&seg->part[i], &leaving[i]);
    return failed;
}

/* Nothing more comes from these words; what is left of them goes back. */
static int give_back(struct vesta_segment *seg, struct vs_live *live, struct vesta_error *err) {
    char said[VS_SAID_MAX] = "";
    int failed = vs_segment_end(seg, live);
    for (uint32_t i = 0; i < seg->parts_count && !said[0]; i++)
        vs_part_said(&seg->part[i], said);
    vs_mapping_remove(&live->mapping);
    if (failed) return vs_fail(err, VESTA_EIO, "cannot start a thread: %s", strerror(failed));
    return said[0] ? vs_fail(err, VESTA_EIO, "'%s': %s", seg->tag, said) : VESTA_OK;
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
