/* map.c -- the map from which a segment takes numbers: its kind, its words, and how a new map replaces a closed one.
 * Also keeps the list of this process's segments. */
#include "keeper/segment/counter.h"
#include "base/error.h"
#include "keeper/file.h"
#include "os/lock.h"
#include "os/process.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ this process's segments */

static struct vesta_segment *segments; /* process lock */

struct vesta_segment *vs_segments_first(void) {
    assert(vs_process_is_locked());
    return segments;
}

void vs_segments_add(struct vesta_segment *seg) {
    assert(vs_process_is_locked());
    seg->next = segments;
    segments = seg;
}

void vs_segments_remove(struct vesta_segment *seg) {
    struct vesta_segment **at = &segments;
    assert(vs_process_is_locked());
    for (; *at != seg; at = &(*at)->next)
        assert(*at);
    *at = seg->next;
}

static struct vs_live *live_of(const struct vesta_segment *seg) {
    return atomic_load(&seg->live);
}

bool vs_segments_have(const char *name) {
    assert(vs_process_is_locked());
    for (const struct vesta_segment *seg = segments; seg; seg = seg->next) {
        const char *slash = strrchr(live_of(seg)->mapping.name, '/');
        if (slash && strcmp(slash + 1, name) == 0) return true;
    }
    return false;
}

/* ------------------------------------------------------------------ the words */

bool vs_words_are_closed(const struct vs_segment *words) {
    return atomic_load(&words->cursor) & VS_CLOSED;
}

void vs_words_tell(struct vs_segment *words) {
    atomic_fetch_add(&words->told, 1);
    vs_futex_wake(&words->told);
}

bool vs_words_are_stopped(const struct vs_segment *words, uint32_t database) {
    return atomic_load(&words->stopped) >> database & 1;
}

void vs_words_stop(struct vs_segment *words, uint32_t database, uint64_t lowered) {
    assert(database < VS_DATABASES_MAX);
    atomic_store(&words->lowered[database], lowered);
    atomic_fetch_or(&words->stopped, UINT32_C(1) << database);
    vs_words_tell(words);
}

_Atomic uint32_t *vs_segment_told(struct vesta_segment *seg) {
    struct vs_segment *words = atomic_load(&seg->words);
    return seg->strict ? &seg->strict->told : &words->told;
}

/* ------------------------------------------------------------------ the kind of map */

static void seg_begin(void *map, const struct vesta_clock *clock) {
    struct vs_segment_map *self = map;
    vs_segment_format(&self->words);
    atomic_store(&self->seen_us, clock->unix_us(clock->self));
}

static bool seg_is_used_up(const void *map) {
    const struct vs_segment_map *self = map;
    return vs_segment_reject(&self->words, sizeof self->words) != NULL || vs_words_are_closed(&self->words);
}

static bool were_granted(const struct vs_segment *words) {
    bool any = false;
    for (uint32_t i = 0; i < VS_DATABASES_MAX; i++)
        any |= vs_segment_granted(words, i) > 0;
    return any;
}

static void seg_inherit(void *map, void *old) {
    struct vs_segment_map *self = map;
    struct vs_segment_map *before = old;
    vs_segment_inherit(&self->words, &before->words);
    if (were_granted(&before->words)) atomic_store(&self->form, atomic_load(&before->form));
}

/* Writes closed words, so that every process that uses this map moves to a new one. */
static void seg_bury(void *map, const char *said) {
    struct vs_segment_map *self = map;
    struct vs_unused unused[2];
    int count;
    (void)said;
    vs_segment_format(&self->words);
    vs_segment_close(&self->words, unused, &count);
}

const struct vs_map_kind vs_segment_map = {
    .magic = VS_SEGMENT_MAGIC,
    .format = VS_SEGMENT_FORMAT,
    .size = sizeof(struct vs_segment_map),
    .alone = "this process takes separate ranges, which it returns when it closes the segment",
    .begin = seg_begin,
    .inherit = seg_inherit,
    .is_used_up = seg_is_used_up,
    .bury = seg_bury,
};
_Static_assert(sizeof VS_SEGMENT_MAGIC == sizeof((struct vs_header){0}).magic, "the magic fits the header exactly");
_Static_assert(offsetof(struct vs_segment_map, seen_us) == 4096, "no other member is in the header's page");

/* ------------------------------------------------------------------ the map of a segment */

static int open_live(struct vesta_segment *seg, struct vs_live *live, struct vesta_error *err) {
    int rc = vs_mapping_open(&seg->anchor, seg->clock, &live->mapping, seg->why_alone, err);
    if (rc != VESTA_OK) return rc;
    struct vs_segment_map *map = live->mapping.at;
    assert(live->mapping.fd >= 0);
    live->words = &map->words;
    vs_lock_byte(live->mapping.fd, VS_BYTE_HERE, false);
    atomic_store(&map->seen_us, seg->clock->unix_us(seg->clock->self));
    if (live->mapping.is_new && live->mapping.name[0]) vs_sweep(&live->mapping, seg->clock);
    return VESTA_OK;
}

/* Returns true if the map's numbers have this segment's form.  The first caller with a form sets the map's form. */
static bool is_of_form(const struct vesta_segment *seg, const struct vs_live *live) {
    struct vs_segment_map *map = live->mapping.at;
    uint64_t stands = 0, form = seg->floor.form ? vs_form_fingerprint(seg->floor.form) : 0;
    return !form || atomic_compare_exchange_strong(&map->form, &stands, form) || stands == form;
}

/* Opens the map.  If the map has a different form, but no number was taken from it, closes it, and the next map gets
 * the new form. */
int vs_segment_map_first(struct vesta_segment *seg, struct vesta_error *err) {
    struct vs_live *live = &seg->first;
    struct vs_unused unused[2];
    int count;
    int rc = open_live(seg, live, err);
    if (rc != VESTA_OK || is_of_form(seg, live)) return rc;
    if (!were_granted(live->words)) {
        /* a range that was published in the meantime stays unused */
        (void)vs_segment_close(live->words, unused, &count);
        vs_mapping_close(&live->mapping);
        rc = open_live(seg, live, err);
        if (rc != VESTA_OK || is_of_form(seg, live)) return rc;
    }
    seg->nothing = aligned_alloc(VS_LINE, sizeof *seg->nothing);
    if (!seg->nothing) {
        vs_mapping_close(&live->mapping);
        return vs_fail(err, VESTA_ENOMEM, "no memory");
    }
    vs_segment_format(seg->nothing);
    live->words = seg->nothing;
    return VESTA_OK;
}

int vs_segment_follow(struct vesta_segment *seg, struct vesta_error *err) {
    struct vs_live *old = atomic_load(&seg->live);
    assert(vs_process_is_locked());
    if (!vs_words_are_closed(old->words)) return VESTA_OK;
    struct vs_live *live = calloc(1, sizeof *live);
    if (!live) return vs_fail(err, VESTA_ENOMEM, "no memory");
    int rc = open_live(seg, live, err);
    if (rc == VESTA_OK && !is_of_form(seg, live)) {
        vs_mapping_close(&live->mapping);
        rc = vs_fail(err, VESTA_ENOTNOW, "'%s' continues with a different form: open it with that form", seg->tag);
    }
    if (rc != VESTA_OK) {
        free(live);
        return rc;
    }
    vs_segment_inherit(live->words, old->words); /* inherit even if only this process uses the map */
    live->before = old;
    atomic_store(&seg->live, live);
    atomic_store(&seg->words, live->words);
    vs_words_tell(old->words); /* callers waiting on the old words must wait on the new words */
    return VESTA_OK;
}

void vs_segment_see(struct vesta_segment *seg) {
    struct vs_segment_map *map = atomic_load(&seg->live)->mapping.at;
    atomic_store(&map->seen_us, seg->clock->unix_us(seg->clock->self));
}

void vs_live_take_rest(struct vs_live *live, bool ends) {
    struct vs_unused unused[2];
    int count = 0;
    assert(live->words);
    assert(vs_process_is_locked());
    bool is_ours =
        ends ? vs_segment_close(live->words, unused, &count) : vs_segment_take_rest(live->words, unused, &count);
    for (int i = 0; is_ours && i < count; i++)
        if (!vs_rest_keep(live->rest, vs_process_token(), &unused[i]))
            (void)vs_segment_put_back(live->words, &unused[i]);
    if (ends && is_ours) vs_words_tell(live->words);
}

void vs_segment_unmap(struct vesta_segment *seg) {
    for (struct vs_live *live = atomic_load(&seg->live), *before; live; live = before) {
        before = live->before;
        assert(before || live == &seg->first);
        vs_mapping_close(&live->mapping);
        if (live != &seg->first) free(live);
    }
}
