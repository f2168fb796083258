/* block.c -- blocks in virtual time: a block has the ids of vesta_next_n, and is issued only once. */
#include "world.h"

#define NOON (INT64_C(1800000000) * SECOND + 250)
#define UNITS_AHEAD 3 /* so that a block crosses time units */
#define MOST 5000

static size_t take_block(struct world *w, uint64_t n, uint64_t *ids, struct vesta_pause *pause) {
    struct vesta_block block = {0, 0, 0};
    if (vesta_next_block(&w->gen, n, &block, pause) != VESTA_OK) {
        CHECK_EQ_U64(block.count, 0);
        return 0;
    }
    CHECK(block.count >= 1 && block.count <= n);
    for (uint64_t i = 0; i < block.count; i++)
        ids[i] = vesta_block_id(&w->layout, &block, i);
    return (size_t)block.count;
}

/* Compares two equal generators until they have no ids left. One issues blocks, the other issues batches. */
static void compare_twins(const char *layout, enum vesta_pacing pacing) {
    static uint64_t ids[2][MOST];
    struct world blocks, batches;
    struct vesta_pause pause[2];
    uint64_t dice = 3;
    world_open(&blocks, layout, pacing, UNITS_AHEAD, NOON);
    world_open(&batches, layout, pacing, UNITS_AHEAD, NOON);
    grant_all(&blocks, 5);
    grant_all(&batches, 5);
    for (int i = 0; i < 50; i++) {
        uint64_t n = 1 + roll_below(&dice, MOST);
        size_t count = take_block(&blocks, n, ids[0], &pause[0]), want = take_n(&batches, ids[1], n, &pause[1]);
        CHECK_EQ_U64(count, want);
        CHECK(memcmp(ids[0], ids[1], want * sizeof ids[0][0]) == 0);
        CHECK_EQ_U64(cursor_of(&blocks), cursor_of(&batches));
        if (want == 0) CHECK(memcmp(&pause[0], &pause[1], sizeof pause[0]) == 0);
        pass_us(&blocks.time, 700);
        pass_us(&batches.time, 700);
    }
    world_close(&blocks);
    world_close(&batches);
}

static void issues_the_ids_of_a_batch(void) {
    const struct vesta_preset *preset;
    for (int i = 0; (preset = vesta_preset_at(i)); i++) {
        struct vesta_layout layout = parsed(preset->text);
        /* the layout's time has ended */
        if (!preset->may_issue || vesta_layout_end_ms(&layout) <= NOON / 1000) continue;
        compare_twins(preset->text, VESTA_PACING_CLOCK);
        compare_twins(preset->text, VESTA_PACING_HISTORY);
    }
}

static void is_one_step(void) {
    struct world w;
    struct vesta_pause pause;
    uint64_t ids[16];
    world_open(&w, "sign:1 time:41 seq:3 worker:19 unit=1ms epoch=2020-01-01T00:00:00Z", VESTA_PACING_CLOCK, 0, NOON);
    CHECK_EQ_U64(take_block(&w, 1, ids, &pause), 0);
    CHECK_STR(vesta_why_name(pause.why), "lease");
    grant_all(&w, 5);
    uint64_t first = next_tick(&w, &pause);
    CHECK_EQ_U64(take_block(&w, 4, ids, &pause), 4);
    CHECK_EQ_U64(tick_of(&w.layout, ids[0]), first + 1);
    CHECK_EQ_U64(next_tick(&w, &pause), first + 5);
    CHECK_EQ_U64(take_block(&w, 16, ids, &pause), 2); /* only the rest of the time unit */
    CHECK_EQ_U64(take_block(&w, 1, ids, &pause), 0);
    CHECK_STR(vesta_why_name(pause.why), "full");
    pass_us(&w.time, 1000);
    CHECK_EQ_U64(take_block(&w, UINT64_MAX, ids, &pause), 8);
    CHECK_EQ_U64(tick_of(&w.layout, ids[0]), first + 8);
    world_close(&w);
}

/* A client may keep its block as long as it likes, because the next holder of the worker id starts after it. */
static void is_behind_the_cursor(void) {
    struct world w;
    struct vesta_pause pause;
    uint64_t ids[16], cursor = 0;
    world_open(&w, "sign:1 time:41 seq:3 worker:19 unit=1ms epoch=2020-01-01T00:00:00Z", VESTA_PACING_HISTORY, 0, NOON);
    int slot = grant_all(&w, 5);
    size_t count = take_block(&w, 6, ids, &pause);
    CHECK_EQ_U64(count, 6);
    CHECK(vs_slot_close(&w.map->slot[slot], &cursor));
    CHECK_EQ_U64(cursor, tick_of(&w.layout, ids[5]) + 1);
    CHECK_EQ_U64(take_block(&w, 6, ids, &pause), 0);
    world_close(&w);
}

/* Computes an id as docs/blocks.md describes, without the layout. */
static uint64_t composed(uint64_t base, uint64_t t, const uint64_t *of) {
    uint64_t seq_bits = of[0], time_shift = of[1], seq_shift = of[2], low_bits = of[3], low_shift = of[4];
    return base | (t >> seq_bits) << time_shift | ((t & ((UINT64_C(1) << seq_bits) - 1)) >> low_bits) << seq_shift |
           (t & ((UINT64_C(1) << low_bits) - 1)) << low_shift;
}

enum { KIND, SEQ_BITS, BASE = 6, FIRST, COUNT, STRIDE, I, ID, LAYOUT, COLUMNS };

static void one_vector(char *line) {
    uint64_t value[COLUMNS] = {0};
    char *cell[COLUMNS];
    for (int i = 0; i < COLUMNS; i++) {
        cell[i] = strsep(&line, ",\n");
        if (i != KIND && i != LAYOUT) value[i] = strtoull(cell[i], NULL, 10);
    }
    if (strcmp(cell[KIND], "numbers") == 0) {
        CHECK_EQ_U64(value[FIRST] + value[I] * value[STRIDE], value[ID]);
        return;
    }
    struct vesta_layout layout = parsed(cell[LAYOUT]);
    struct vesta_block block = {value[BASE], value[FIRST], value[COUNT]};
    CHECK_EQ_U64(vesta_block_id(&layout, &block, value[I]), value[ID]);
    CHECK_EQ_U64(composed(block.base, block.first + value[I], &value[SEQ_BITS]), value[ID]);
}

static void vectors_hold(void) {
    char line[256];
    int count = 0;
    FILE *file = fopen(SPEC_DIR "/vectors/blocks.csv", "r");
    CHECK(file);
    while (fgets(line, sizeof line, file))
        if (*line != '#') one_vector(line), count++;
    fclose(file);
    CHECK(count >= 20);
}

static const struct check_case cases[] = {
    {"a block has the ids of a batch, with every preset and pacing", issues_the_ids_of_a_batch},
    {"a block is one step of the cursor: it ends and pauses like a batch", is_one_step},
    {"the published vectors for client tests match the library", vectors_hold},
    {"a closed slot's cursor is after its blocks", is_behind_the_cursor},
};

CHECK_MAIN(cases)
