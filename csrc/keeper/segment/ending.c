/* ending.c -- returns a segment's unused ranges to the store, and resumes a counter that was rolled back, after an
 * operator has corrected it.
 *
 * Unused ranges are returned in three steps.  First, the threads release the parts.  Then one atomic step takes the
 * unused ranges out of the map.  Finally, each part's thread claims the ranges of its database, and sends each range to
 * the store once.  If the process is killed in between, these numbers stay unused. */
#include "keeper/segment/counter.h"
#include "keeper/segment/memory.h"
#include "base/error.h"
#include "keeper/file.h"
#include "os/lock.h"
#include "os/process.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

static bool is_stopped(const struct vesta_segment *seg, const struct vs_segment *words) {
    return atomic_load(&words->stopped) & ((UINT32_C(1) << seg->parts_count) - 1);
}

void vs_segment_leave(struct vesta_segment *seg) {
    struct vs_leaving leaving[VS_DATABASES_MAX];
    assert(seg->parts_count <= VS_DATABASES_MAX);
    vs_process_lock();
    for (uint32_t i = 0; i < seg->parts_count; i++)
        leaving[i] = vs_part_leave(&seg->part[i], VS_LEAVE_QUIETLY);
    vs_process_unlock();
    for (uint32_t i = 0; i < seg->parts_count; i++)
        vs_part_await(&seg->part[i], &leaving[i]);
}

/* Puts a part's unused ranges back into the map, for the next start.  Used if the part has no thread. */
static void seg_keep(struct vs_live *live, uint32_t database) {
    struct vs_unused unused[VS_RESTS_MAX];
    for (int i = vs_rest_claim(live->rest, vs_process_token(), database, unused); i-- > 0;)
        (void)vs_segment_put_back(live->words, &unused[i]);
}

/* Lets a part's thread return the ranges that it can claim.  First makes the thread release the part again, because
 * another caller may have handed the part over in the meantime. */
static int begin_to_give_back(struct vs_segment_part *part, struct vs_live *live, struct vs_leaving *leaving) {
    *leaving = vs_part_leave(part, VS_LEAVE_AND_GIVE_BACK);
    if (leaving->is_awaited) return 0;
    int failed = vs_database_start(part->database);
    if (failed)
        seg_keep(live, part->index);
    else
        *leaving = vs_database_hand_over(part, VS_LEAVE_AND_GIVE_BACK);
    return failed;
}

int vs_segment_give_back(struct vesta_segment *seg, struct vs_live *live, char said[VS_SAID_MAX]) {
    struct vs_leaving leaving[VS_DATABASES_MAX] = {{false, 0}};
    int failed = 0;
    said[0] = '\0';
    vs_segment_leave(seg); /* a range that is being fetched is published before this returns */
    vs_process_lock();
    vs_live_take_rest(live, false);
    for (uint32_t i = 0; i < seg->parts_count; i++) {
        int rc =
            vs_rest_waits(live->rest, vs_process_token(), i) ? begin_to_give_back(&seg->part[i], live, &leaving[i]) : 0;
        if (rc) failed = rc;
    }
    vs_process_unlock();
    for (uint32_t i = 0; i < seg->parts_count; i++) {
        vs_part_await(&seg->part[i], &leaving[i]);
        if (leaving[i].is_awaited && !said[0]) vs_part_said(&seg->part[i], said);
    }
    return failed;
}

/* Returns the unused ranges.  Callers may take numbers at the same time.  The map stays, because it records which
 * numbers this host was granted. */
static int give_back(struct vesta_segment *seg, struct vs_live *live, struct vesta_error *err) {
    char said[VS_SAID_MAX];
    int failed = vs_segment_give_back(seg, live, said);
    if (failed) return vs_fail(err, VESTA_EIO, "cannot start a thread: %s", strerror(failed));
    return said[0] ? vs_fail(err, VESTA_EIO, "'%s': %s", seg->tag, said) : VESTA_OK;
}

int vesta_segment_release(struct vesta_segment *seg, struct vesta_error *err) {
    if (!seg->keeps)
        return vs_fail(err, VESTA_EOPTION,
                       "this handle starts no thread: release '%s' in the process that fetches its ranges", seg->tag);
    struct vs_live *live = atomic_load(&seg->live);
    if (seg->strict || vs_words_are_closed(live->words)) return VESTA_OK; /* no unused ranges */
    if (is_stopped(seg, live->words))
        return vs_fail(err, VESTA_ENOTNOW,
                       "the counter '%s' went back: correct it and run vesta segments resume before you release it",
                       seg->tag);
    if (!vs_lock_byte(live->mapping.fd, VS_BYTE_HERE, true))
        return vs_fail(err, VESTA_ENOTNOW, "other processes use '%s': release it in the last one", seg->tag);
    int rc = give_back(seg, live, err);
    /* make the lock shared again, so that other processes see this one */
    vs_lock_byte(live->mapping.fd, VS_BYTE_HERE, false);
    return rc;
}

int vesta_segment_resume(struct vesta_segment *seg, int even_lower, struct vesta_error *err) {
    struct vs_segment *words = atomic_load(&seg->words);
    if (!is_stopped(seg, words)) return vs_fail(err, VESTA_ENOTNOW, "the counter '%s' has not gone back", seg->tag);
    for (uint32_t i = 0; even_lower && i < seg->parts_count; i++)
        if (vs_words_are_stopped(words, i)) atomic_store(&words->granted[i], 0), atomic_store(&words->answered[i], 0);
    if (even_lower && seg->strict) vs_memory_forget(seg);
    atomic_store(&words->stopped, 0);
    vs_words_tell(words);
    vs_segment_kick(seg);
    return VESTA_OK;
}
