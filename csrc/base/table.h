/* table.h -- a hash table from keys to numbers, with open addressing.  The caller owns the memory and the keys.  The
 * table stores only the hash of each key and the number that the caller assigns to it, so the caller compares the keys:
 *
 *     size_t at = vs_table_begin(table, hash);
 *     uint32_t item;
 *     while (vs_table_next(table, hash, &at, &item))
 *         if (has_key(item, key)) return item; */
#ifndef VS_TABLE_H
#define VS_TABLE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vs_table_slot {
    uint32_t hash, item; /* item is the key's number + 1, or 0 in a free slot */
};

struct vs_table {
    struct vs_table_slot *slot; /* an array of vs_table_width slots, initially zero */
    size_t mask;                /* number of slots - 1 */
};

/* Returns the number of slots for a table of `items` keys: a power of two, of which at most half are used. */
static inline size_t vs_table_width(size_t items) {
    size_t width = 16;
    while (width < 2 * items)
        width *= 2;
    return width;
}

/* Returns a hash of a key: FNV-1a with additional mixing.  If clients choose the keys, the seed must be random. */
static inline uint64_t vs_table_hash(const void *bytes, size_t length, uint64_t seed) {
    uint64_t hash = seed ^ UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
        hash ^= hash >> 29;
    }
    return hash ^ hash >> 32;
}

static inline size_t vs_table_begin(const struct vs_table *table, uint64_t hash) {
    return (size_t)hash & table->mask;
}

/* Sets *item to the next number with a key that has this hash.  Returns false if there is none. */
static inline bool vs_table_next(const struct vs_table *table, uint64_t hash, size_t *at, uint32_t *item) {
    for (; table->slot[*at].item; *at = (*at + 1) & table->mask) {
        const struct vs_table_slot *slot = &table->slot[*at];
        if (slot->hash != (uint32_t)hash) continue;
        *item = slot->item - 1;
        *at = (*at + 1) & table->mask;
        return true;
    }
    return false;
}

/* Adds a key's number.  The key must not be in the table yet, and at least one slot must stay free. */
static inline void vs_table_put(struct vs_table *table, uint64_t hash, uint32_t item) {
    size_t at = vs_table_begin(table, hash);
    while (table->slot[at].item)
        at = (at + 1) & table->mask;
    table->slot[at] = (struct vs_table_slot){(uint32_t)hash, item + 1};
}

/* Removes a number, which must be in the table.  Later entries move into the gap, so that no search ends too early at
 * an empty slot. */
static inline void vs_table_drop(struct vs_table *table, uint64_t hash, uint32_t item) {
    size_t gap = vs_table_begin(table, hash);
    while (table->slot[gap].item != item + 1) {
        assert(table->slot[gap].item);
        gap = (gap + 1) & table->mask;
    }
    for (size_t at = (gap + 1) & table->mask; table->slot[at].item; at = (at + 1) & table->mask) {
        size_t home = table->slot[at].hash & table->mask;
        if (((at - home) & table->mask) < ((at - gap) & table->mask)) continue;
        table->slot[gap] = table->slot[at];
        gap = at;
    }
    table->slot[gap] = (struct vs_table_slot){0, 0};
}

#endif
