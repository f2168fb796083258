/* segments.c -- how the tags stand, for people and programs.  Knows no socket; takes no number. */
#include "server/commands.h"

#include <string.h>

#define ENTRY_BYTES_MAX (16 * 1024) /* of one tag, with all its databases */

static void put_database(struct vs_out *out, const struct vesta_segment_info *info, int i, const char *name) {
    vs_json_open(out, NULL, '{');
    vs_json_text(out, "store", name);
    vs_json_uint(out, "step", info->database[i].step);
    vs_json_uint(out, "ranges", info->database[i].ranges);
    vs_json_uint(out, "refused", info->database[i].refused);
    vs_json_uint(out, "down", info->database[i].down);
    vs_json_uint(out, "unknown", info->database[i].unknown);
    vs_json_uint(out, "conflict", info->database[i].conflict);
    if (info->database[i].fetch_us >= 0) vs_json_int(out, "fetch_us", info->database[i].fetch_us);
    vs_json_bool(out, "stopped", info->database[i].is_stopped);
    vs_json_text(out, "trouble", info->database[i].said);
    vs_put(out, "}", 1);
}

/* As a string: 64 bits do not fit JSON's numbers everywhere. */
static void put_wide(struct vs_out *out, const char *name, uint64_t value) {
    char digits[VESTA_FORMAT_MAX];
    vesta_format(VESTA_DECIMAL, value, digits);
    vs_json_text(out, name, digits);
}

static void put_buffers(struct vs_out *out, const struct vesta_segment_info *info) {
    put_wide(out, "position", info->position);
    vs_json_uint(out, "count", info->count);
    vs_json_uint(out, "left", info->left);
    vs_json_uint(out, "next_left", info->next_left);
    vs_json_uint(out, "until_refill", info->until_refill);
    vs_json_uint(out, "stride", info->stride);
    vs_json_uint(out, "per_s", info->per_s > 0 ? (uint64_t)(info->per_s + 0.5) : 0);
}

static void put_tag(struct vs_request *r, const struct vs_served_tag *tag) {
    struct vesta_segment_info info = {.order = VESTA_TREND};
    struct vs_tag_total total = vs_tag_total(r->session->app, tag);
    if (tag->seg) vesta_segment_get_info(tag->seg, &info);
    vs_json_open(r->out, NULL, '{');
    vs_json_text(r->out, "tag", tag->name);
    vs_json_text(r->out, "table", tag->table);
    vs_json_text(r->out, "order", !tag->seg ? "dense" : info.order == VESTA_STRICT ? "strict" : "trend");
    if (tag->seg) put_buffers(r->out, &info);
    put_wide(r->out, "given", total.given[VS_RESP] + total.given[VS_HTTP]);
    vs_json_uint(r->out, "pauses", total.pauses);
    vs_json_open(r->out, "databases", '[');
    for (int i = 0; i < info.stores; i++)
        put_database(r->out, &info, i, tag->stores[i]);
    vs_put(r->out, "]", 1);
    if (*info.warning) vs_json_text(r->out, "warning", info.warning);
    vs_put(r->out, "}", 1);
}

/* One page: as many as fit a reply, from the first behind `after` on. */
static void put_page(struct vs_request *r, struct vs_slice after) {
    const struct vs_tag_set *tags = vs_request_tags(r);
    size_t i = tags && after.at ? vs_tag_after(tags, after.at, after.length) : 0, count = tags ? tags->count : 0;
    vs_put_text(r->out, "{\"segments\":[");
    for (; i < count && r->out->used - r->start < VS_REPLY_MAX - 2 * ENTRY_BYTES_MAX; i++)
        put_tag(r, tags->at[i]);
    vs_put(r->out, "]", 1);
    if (i < count) vs_json_text(r->out, "next", tags->at[i - 1]->name);
}

static void put_status(struct vs_request *r) {
    struct vs_app *app = r->session->app;
    struct vs_tags_status status = {.rows = 0};
    if (app->tags_status) app->tags_status(app->tags_self, &status);
    vs_json_uint(r->out, "unread", (uint64_t)status.unread);
    vs_json_uint(r->out, "passed", status.passed);
    if (status.unread > 0) vs_json_text(r->out, "unread_why", status.unread_why);
}

enum vs_reply_state vs_on_segments(struct vs_request *r) {
    struct vs_slice name = vs_arg(r, 0);
    if (name.at && !vs_request_enter_tag(r, name)) return VS_ANSWERED;
    if (name.at) {
        vs_put_text(r->out, "{\"segments\":[");
        put_tag(r, r->tag);
        vs_put_text(r->out, "]");
    } else {
        put_page(r, vs_arg(r, 1));
    }
    put_status(r);
    vs_put_text(r->out, "}\n");
    return VS_ANSWERED;
}
