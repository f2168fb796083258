/* named.c -- writes replies with named values in both protocols.  Contains no command code. */
#include "server/named.h"
#include "id/id.h"

void vs_named_open(struct vs_request *r, int count) {
    if (r->protocol == VS_RESP)
        vs_resp_map(r->out, (size_t)count);
    else
        vs_put(r->out, "{", 1);
}

void vs_named_close(struct vs_request *r) {
    if (r->protocol != VS_RESP) vs_put_text(r->out, "}\n");
}

static void put_key(struct vs_request *r, const char *name) {
    if (r->protocol == VS_RESP)
        vs_resp_word(r->out, name);
    else
        vs_json_key(r->out, name);
}

void vs_named_int(struct vs_request *r, const char *name, int64_t value) {
    put_key(r, name);
    if (r->protocol == VS_RESP)
        vs_resp_int(r->out, value);
    else
        vs_put_int(r->out, value);
}

void vs_named_text(struct vs_request *r, const char *name, const char *value) {
    put_key(r, name);
    if (r->protocol == VS_RESP)
        vs_resp_word(r->out, value);
    else
        vs_put_json(r->out, value);
}

void vs_named_wide(struct vs_request *r, const char *name, uint64_t value) {
    char digits[VESTA_FORMAT_MAX];
    vesta_format(VESTA_DECIMAL, value, digits);
    vs_named_text(r, name, digits);
}

void vs_named_block(struct vs_request *r, const char *ns, const struct vesta_layout *layout,
                    const struct vesta_block *block) {
    const struct vesta_field *time = &layout->field[layout->time], *seq = vs_seq(layout);
    char text[VESTA_LAYOUT_TEXT_MAX];
    vesta_layout_text(layout, text);
    vs_named_text(r, "ns", ns);
    vs_named_text(r, "kind", "ticks");
    vs_named_text(r, "layout", text);
    vs_named_wide(r, "base", block->base);
    vs_named_wide(r, "first", block->first);
    vs_named_int(r, "count", (int64_t)block->count);
    vs_named_int(r, "seq_bits", seq->width);
    vs_named_int(r, "time_shift", time->shift);
    vs_named_int(r, "seq_shift", seq->shift);
    vs_named_int(r, "low_bits", seq->low_width);
    vs_named_int(r, "low_shift", seq->low_shift);
}
