/* prove.c -- decides whether an id can belong to both of two layouts.  This is impossible if a bit has different
 * constants, or if the times are disjoint. */
#include "base/error.h"
#include "id/id.h"

/* The known bits of one layout's ids: the constants, and the time field, whose value is in [first, last]. */
struct side {
    uint64_t constant, value; /* a mask of the constant bits, and their values */
    unsigned low, high;       /* the time field has the bits [low, high) */
    uint64_t first, last;
};

/* Returns the first time unit that begins at or after an instant, or max + 1 if there is none. */
static uint64_t first_at(const struct vesta_layout *l, int64_t unix_ms) {
    uint64_t low = 0, high = l->field[l->time].max + 1;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (vs_time_ms(l, middle) >= unix_ms)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Sets the known bits of a layout's ids.  Returns false, without setting first and last, if no id has a time in the
 * interval. */
static bool read_side(const struct vesta_made *made, struct side *out) {
    const struct vesta_layout *l = made->layout;
    const struct vesta_field *time = &l->field[l->time];
    struct side s = {.low = time->shift, .high = (unsigned)time->shift + time->width};
    for (int i = 0; i < l->field_count; i++) {
        if (!l->field[i].fixed) continue;
        s.constant |= vs_field_put(&l->field[i], l->field[i].max);
        s.value |= vs_field_put(&l->field[i], l->field[i].value);
    }
    uint64_t first = first_at(l, made->from_ms), until = first_at(l, made->until_ms);
    /* the time unit that began before the instant overlaps the interval */
    if (first > 0 && vs_time_ms(l, first) > made->from_ms) first--;
    bool has_any = made->from_ms < made->until_ms && first < until;
    if (has_any) s.first = first, s.last = until - 1;
    *out = s;
    return has_any;
}

/* find_common chooses the bits of an id from the highest to the lowest.  The flags mean that the time bits chosen so
 * far equal the leading bits of `first` or `last`. */
enum { AT_FIRST = 1, AT_LAST = 2, TIGHT = AT_FIRST | AT_LAST, STATES = 4 };

/* Returns the state of a side after the next bit is chosen, or -1 if no id of this side has that bit. */
static int prove_choose(const struct side *s, unsigned bit, unsigned chosen, int state) {
    if (s->constant >> bit & 1 && (s->value >> bit & 1) != chosen) return -1;
    if (bit < s->low || bit >= s->high) return state;
    unsigned first = s->first >> (bit - s->low) & 1, last = s->last >> (bit - s->low) & 1;
    if (state & AT_FIRST && chosen < first) return -1;
    if (state & AT_LAST && chosen > last) return -1;
    if (chosen > first) state &= ~AT_FIRST;
    if (chosen < last) state &= ~AT_LAST;
    return state;
}

/* Like prove_choose, for both sides.  Their states are combined into one number. */
static int choose_both(const struct side side[2], unsigned bit, unsigned chosen, int state) {
    int a = prove_choose(&side[0], bit, chosen, state / STATES),
        b = prove_choose(&side[1], bit, chosen, state % STATES);
    return a < 0 || b < 0 ? -1 : a * STATES + b;
}

/* Finds the smallest common id.  can[bit] is the set of states from which all bits below `bit` can be chosen. */
static bool find_common(const struct side side[2], uint64_t *id) {
    uint16_t can[65] = {UINT16_MAX};
    for (unsigned bit = 0; bit < 64; bit++)
        for (int state = 0; state < STATES * STATES; state++)
            for (unsigned chosen = 0; chosen < 2; chosen++) {
                int next = choose_both(side, bit, chosen, state);
                if (next >= 0 && can[bit] >> next & 1) can[bit + 1] |= (uint16_t)(1U << state);
            }
    int state = TIGHT * STATES + TIGHT;
    if (!(can[64] >> state & 1)) return false;
    *id = 0;
    for (unsigned bit = 64; bit-- > 0;) {
        int next = choose_both(side, bit, 0, state);
        unsigned chosen = next < 0 || !(can[bit] >> next & 1);
        state = choose_both(side, bit, chosen, state);
        assert(state >= 0);
        *id |= (uint64_t)chosen << bit;
    }
    return true;
}

static int constant_at(const struct vesta_layout *l, int bit) {
    int i = 0;
    while (!l->field[i].fixed || !(vs_field_put(&l->field[i], l->field[i].max) >> bit & 1))
        i++;
    return i;
}

int vesta_layout_prove(const struct vesta_made *a, const struct vesta_made *b, struct vesta_proof *out) {
    struct side side[2] = {0};
    struct vesta_proof proof = {0};
    bool has[2] = {read_side(a, &side[0]), read_side(b, &side[1])};
    uint64_t differ = side[0].constant & side[1].constant & (side[0].value ^ side[1].value);
    if (differ) {
        proof.by = VESTA_DISJOINT_BITS;
        proof.bit = 63 - __builtin_clzll(differ);
        proof.field[0] = constant_at(a->layout, proof.bit);
        proof.field[1] = constant_at(b->layout, proof.bit);
    } else if (!has[0] || !has[1] || !find_common(side, &proof.id))
        proof.by = VESTA_DISJOINT_TIMES;
    *out = proof;
    return proof.by;
}
