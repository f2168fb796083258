/* world.h -- the environment of one generator, controlled by a spec: a manual clock, a map in memory, and a lease that
 * is granted by writing it. */
#ifndef SPEC_WORLD_H
#define SPEC_WORLD_H

#include "id/id.h"
#include "generator/generator.h"
#include "mapping/mapping.h"
#include "tools.h"

#define MS 1000ll
#define SECOND 1000000ll
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

struct fake_time {
    int64_t unix_us, boot_us;
};

static int64_t fake_unix_us(void *self) {
    return ((struct fake_time *)self)->unix_us;
}

static int64_t fake_boot_us(void *self) {
    return ((struct fake_time *)self)->boot_us;
}

/* Advances both clocks. */
static void pass_us(struct fake_time *time, int64_t us) {
    time->unix_us += us;
    time->boot_us += us;
}

static void fake_sleep_us(void *self, int64_t us) {
    pass_us(self, us);
}

struct world {
    struct vesta_layout layout;
    struct fake_time time;
    struct vesta_clock clock;
    struct vs_map *map;
    struct vesta_gen gen;
    uint64_t tokens;
};

#define WORLD_BOOT_US (777 * SECOND) /* a whole second, so that a leap second's minute is exact */

/* `ahead_units`: how many time units ids may be ahead of the clock. */
__attribute__((unused)) static void world_open(struct world *w, const char *layout, enum vesta_pacing pacing,
                                               uint64_t ahead_units, int64_t unix_us) {
    memset(w, 0, sizeof *w);
    w->layout = parsed(layout);
    w->time = (struct fake_time){unix_us, WORLD_BOOT_US};
    w->clock = (struct vesta_clock){&w->time, fake_unix_us, fake_boot_us, fake_sleep_us};
    w->map = vs_mapping_private();
    if (!w->map) abort();
    w->map->header.pacing = pacing;
    w->map->header.ahead_ticks_max = ahead_units << vs_seq(&w->layout)->width;
    vs_map_format(w->map, &w->clock);
    uint64_t constants[VESTA_FIELDS_MAX];
    CHECK(vs_fields_parse(&w->layout, NULL, NULL, constants, NULL) == VESTA_OK);
    vs_gen_init(&w->gen, w->map, &w->layout, vs_layout_base(&w->layout, 0, constants), &w->clock);
}

__attribute__((unused)) static void world_close(struct world *w) {
    vs_mapping_unmap(w->map);
}

/* Grants worker id `worker` the ticks [from, limit).  Returns the slot's index. */
__attribute__((unused)) static int grant(struct world *w, uint64_t worker, uint64_t from, uint64_t limit) {
    int slot = vs_slot_take(w->map, &(struct vs_claim){.worker = worker, .owner = {++w->tokens, 0}, .from = from});
    if (slot >= 0) vs_slot_publish(w->map, slot, limit, 0);
    return slot;
}

__attribute__((unused)) static uint64_t now_tick(const struct world *w) {
    return vs_tick_at(&w->gen.shape, w->time.unix_us);
}

/* Grants from now to the layout's end. */
__attribute__((unused)) static int grant_all(struct world *w, uint64_t worker) {
    return grant(w, worker, now_tick(w), vs_tick_end(&w->gen.shape));
}

__attribute__((unused)) static uint64_t cursor_of(const struct world *w) {
    return atomic_load(&w->map->slot[vs_map_active(w->map)].tick);
}

/* Returns the tick of an id. */
__attribute__((unused)) static uint64_t tick_of(const struct vesta_layout *layout, uint64_t id) {
    struct vesta_parts parts = {.time = 0};
    CHECK(vesta_explain(layout, id, &parts, NULL) == VESTA_OK);
    return parts.time << vs_seq(layout)->width | parts.seq;
}

/* Returns the tick of the next id, or UINT64_MAX and the pause. */
__attribute__((unused)) static uint64_t next_tick(struct world *w, struct vesta_pause *pause) {
    const uint64_t untouched = 0x5eed;
    uint64_t id = untouched;
    if (vesta_next(&w->gen, &id, pause) == VESTA_OK) return tick_of(&w->layout, id);
    CHECK_EQ_U64(id, untouched);
    return UINT64_MAX;
}

/* Takes up to n ids with one call.  Returns their number. */
__attribute__((unused)) static size_t take_n(struct world *w, uint64_t *ids, size_t n, struct vesta_pause *pause) {
    size_t got = 0;
    return vesta_next_n(&w->gen, ids, n, &got, pause) == VESTA_OK ? got : 0;
}

__attribute__((unused)) static void check_pause(const struct vesta_pause *p, enum vesta_why why, int64_t wait_us,
                                                int64_t back_us, uint64_t ahead_ticks) {
    CHECK_STR(vesta_why_name(p->why), vesta_why_name(why));
    CHECK_EQ_I64(p->wait_us, wait_us);
    CHECK_EQ_I64(p->back_us, back_us);
    CHECK_EQ_U64(p->ahead_ticks, ahead_ticks);
}

/* ------------------------------------------------------------------ counting */

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Sorts, and returns how many ids are equal to their neighbour. */
__attribute__((unused)) static size_t count_repeats(uint64_t *ids, size_t count) {
    size_t repeats = 0;
    qsort(ids, count, sizeof *ids, by_value);
    for (size_t i = 1; i < count; i++)
        repeats += ids[i] == ids[i - 1];
    return repeats;
}

#endif
