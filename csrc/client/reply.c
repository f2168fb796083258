/* reply.c -- turns the names and values of a reply into a block.  Each value is checked before it is used. */
#include "client/reply.h"
#include "base/array.h"
#include "base/error.h"

enum value { NS, KIND, BASE, FIRST, COUNT, STRIDE, SEQ_BITS, TIME_SHIFT, SEQ_SHIFT, LOW_BITS, LOW_SHIFT, VALUES };

static const char *const NAMES[VALUES] = {"ns",       "kind",       "base",      "first",    "count",    "stride",
                                          "seq_bits", "time_shift", "seq_shift", "low_bits", "low_shift"};
#define OF_BOTH (1u << NS | 1u << KIND | 1u << FIRST | 1u << COUNT)
#define OF_TICKS                                                                                                       \
    (OF_BOTH | 1u << BASE | 1u << SEQ_BITS | 1u << TIME_SHIFT | 1u << SEQ_SHIFT | 1u << LOW_BITS | 1u << LOW_SHIFT)
#define OF_NUMBERS (OF_BOTH | 1u << STRIDE)

struct reply_reading {
    struct vs_slice text[VALUES];
    uint64_t number[VALUES];
    unsigned seen; /* bit set, indexed by enum value */
};

static int reply_find(struct vs_slice name) {
    for (int i = 0; i < VALUES; i++)
        if (vs_slice_is(name, NAMES[i])) return i;
    return -1;
}

static int read_values(const struct vs_client_values *values, struct reply_reading *r, struct vesta_error *err) {
    if (values->count % 2) return vs_fail(err, VESTA_EIO, "a reply has a name without a value");
    for (int i = 0; i < values->count; i += 2) {
        struct vs_slice value = values->at[i + 1];
        int at = reply_find(values->at[i]);
        if (at < 0) continue;
        if (r->seen & 1u << at) return vs_fail(err, VESTA_EIO, "a reply has %s twice", NAMES[at]);
        r->seen |= 1u << at;
        r->text[at] = value;
        if (at == NS || at == KIND) continue;
        if (vesta_parse(VESTA_DECIMAL, value.at, value.length, &r->number[at]) != VESTA_OK)
            return vs_fail(err, VESTA_EIO, "a reply has %s '%s', which is not a number", NAMES[at],
                           VS_QUOTE(value.at, value.length));
    }
    return VESTA_OK;
}

static int reply_need(const struct reply_reading *r, unsigned wanted, struct vesta_error *err) {
    for (int i = 0; i < VALUES; i++)
        if (wanted & 1u << i && !(r->seen & 1u << i))
            return vs_fail(err, VESTA_EIO,
                           "a reply does not have %s: check that this is a vesta server, and its version", NAMES[i]);
    return VESTA_OK;
}

/* Converts a value to 8 bits.  A larger value becomes UINT8_MAX, which vs_block_reject rejects. */
static uint8_t reply_narrow(uint64_t value) {
    return value < UINT8_MAX ? (uint8_t)value : UINT8_MAX;
}

static void reply_fill(const struct reply_reading *r, struct vs_block *out) {
    *out = (struct vs_block){.is_ticks = vs_slice_is(r->text[KIND], "ticks"),
                             .seq_bits = reply_narrow(r->number[SEQ_BITS]),
                             .time_shift = reply_narrow(r->number[TIME_SHIFT]),
                             .seq_shift = reply_narrow(r->number[SEQ_SHIFT]),
                             .low_bits = reply_narrow(r->number[LOW_BITS]),
                             .low_shift = reply_narrow(r->number[LOW_SHIFT]),
                             .base = r->number[BASE],
                             .first = r->number[FIRST],
                             .count = r->number[COUNT],
                             .stride = r->number[STRIDE]};
    if (out->is_ticks) out->stride = 1;
}

int vs_reply_read(const struct vs_client_values *values, const char *name, uint64_t asked, struct vs_block *out,
                  struct vesta_error *err) {
    struct reply_reading r = {.seen = 0};
    struct vs_block block;
    int rc = read_values(values, &r, err);
    if (rc == VESTA_OK) rc = reply_need(&r, 1u << NS | 1u << KIND, err);
    if (rc != VESTA_OK) return rc;
    if (!vs_slice_is(r.text[NS], name))
        return vs_fail(err, VESTA_EIO, "a reply is about '%s', not '%s'", VS_QUOTE(r.text[NS].at, r.text[NS].length),
                       name);
    if (!vs_slice_is(r.text[KIND], "ticks") && !vs_slice_is(r.text[KIND], "numbers"))
        return vs_fail(err, VESTA_EIO,
                       "the block has the kind '%s', which this client does not support: update the client",
                       VS_QUOTE(r.text[KIND].at, r.text[KIND].length));
    reply_fill(&r, &block);
    rc = reply_need(&r, block.is_ticks ? OF_TICKS : OF_NUMBERS, err);
    if (rc != VESTA_OK) return rc;
    const char *why = vs_block_reject(&block, asked);
    if (why) return vs_fail(err, VESTA_EIO, "a received block cannot be used: %s", why);
    *out = block;
    return VESTA_OK;
}

struct vs_slice vs_reply_layout(const struct vs_client_values *values) {
    for (int i = 0; i + 1 < values->count; i += 2)
        if (vs_slice_is(values->at[i], "layout")) return values->at[i + 1];
    return (struct vs_slice){"", 0};
}
