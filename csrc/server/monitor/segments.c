/* segments.c -- the tags as JSON. */
#include "server/monitor/segments.h"

#define ENTRY_BYTES_MAX (16 * 1024) /* one tag with all its databases */

static void put_database(struct vs_out *out, const struct vesta_segment_info *info, int i, const char *name,
                         bool is_plain) {
    vs_json_open(out, NULL, '{');
    vs_json_text(out, "store", name);
    if (is_plain) vs_json_uint(out, "step", info->database[i].step); /* it grows with the rate */
    if (is_plain) vs_json_uint(out, "ranges", info->database[i].ranges);
    vs_json_uint(out, "refused", info->database[i].refused);
    vs_json_uint(out, "down", info->database[i].down);
    vs_json_uint(out, "unknown", info->database[i].unknown);
    vs_json_uint(out, "conflict", info->database[i].conflict);
    if (info->database[i].fetch_us >= 0) vs_json_int(out, "fetch_us", info->database[i].fetch_us);
    vs_json_bool(out, "stopped", info->database[i].is_stopped);
    bool is_shown = is_plain || !*info->database[i].said;
    vs_json_text(out, "trouble", is_shown ? info->database[i].said : "the server's log has the reason");
    vs_put(out, "}", 1);
}

/* Writes a number as a string, because most JSON readers round 64-bit numbers. */
static void segment_json_put_wide(struct vs_out *out, const char *name, uint64_t value) {
    char digits[VESTA_FORMAT_MAX];
    vesta_format(VESTA_DECIMAL, value, digits);
    vs_json_text(out, name, digits);
}

static void put_buffers(struct vs_out *out, const struct vesta_segment_info *info) {
    segment_json_put_wide(out, "position", info->position);
    vs_json_uint(out, "count", info->count);
    vs_json_uint(out, "left", info->left);
    vs_json_uint(out, "next_left", info->next_left);
    vs_json_uint(out, "until_refill", info->until_refill);
    vs_json_uint(out, "stride", info->stride);
    vs_json_uint(out, "per_s", info->per_s > 0 ? (uint64_t)(info->per_s + 0.5) : 0);
}

void vs_put_segment(struct vs_out *out, const struct vs_server *server, const struct vs_served_tag *tag, bool unmasks) {
    bool is_plain = unmasks || !tag->mask;
    struct vesta_segment_info info = {.order = VESTA_TREND};
    struct vs_tag_total total = vs_tag_total(&server->monitor, tag);
    if (tag->seg) vesta_segment_get_info(tag->seg, &info);
    vs_json_open(out, NULL, '{');
    vs_json_text(out, "tag", tag->name);
    vs_json_text(out, "table", tag->table);
    vs_json_text(out, "order", !tag->seg ? "dense" : info.order == VESTA_STRICT ? "strict" : "trend");
    if (tag->mask) vs_json_bool(out, "masked", true);
    if (tag->seg && is_plain) put_buffers(out, &info);
    if (is_plain) segment_json_put_wide(out, "given", total.given[VS_RESP] + total.given[VS_HTTP]);
    vs_json_uint(out, "pauses", total.pauses);
    vs_json_open(out, "databases", '[');
    for (int i = 0; i < info.stores; i++)
        put_database(out, &info, i, tag->stores[i], is_plain);
    vs_put(out, "]", 1);
    if (*info.warning) vs_json_text(out, "warning", info.warning);
    vs_put(out, "}", 1);
}

void vs_put_segments(struct vs_out *out, const struct vs_server *server, const struct vs_tag_set *tags, size_t from,
                     size_t bytes_max, bool unmasks) {
    size_t i = from, count = tags ? tags->count : 0, began = out->used;
    vs_json_open(out, "segments", '[');
    for (; i < count && out->used - began < bytes_max - 2 * ENTRY_BYTES_MAX; i++)
        vs_put_segment(out, server, tags->at[i], unmasks);
    vs_put(out, "]", 1);
    if (i < count) vs_json_text(out, "next", tags->at[i - 1]->name);
}

void vs_put_tables(struct vs_out *out, struct vs_server *server) {
    struct vs_tags_status status = {.rows = 0};
    if (server->tags.status) server->tags.status(server->tags.self, &status);
    vs_json_uint(out, "unread", (uint64_t)status.unread);
    vs_json_uint(out, "passed", status.passed);
    if (status.unread > 0) vs_json_text(out, "unread_why", status.unread_why);
    vs_json_uint(out, "unusable", status.unusable);
    if (status.unusable > 0) vs_json_text(out, "unusable_why", status.unusable_why);
}
