/* leaf.c -- the routes of Leaf's server, for its clients.  Knows no socket; never waits. */
#include "base/error.h"
#include "server/commands.h"
#include "server/take.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Leaf ignores the key; a server of several namespaces should not. */
enum vs_reply_state vs_on_leaf_get(struct vs_request *r) {
    struct vs_slice key = vs_arg(r, 0), any = {NULL, 0};
    const struct vs_app *app = r->session->app;
    bool is_known = vs_namespace_named(r->session->app, key.at, key.length);
    uint64_t id;
    if (!vs_request_enter_namespace(r, app->leaf_any_key && !is_known ? any : key)) return VS_ANSWERED;
    if (vs_take_id(r, &id) != VS_ANSWERED) return VS_WAITS;
    vs_put_uint(r->out, id);
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_leaf_segment(struct vs_request *r) {
    uint64_t number;
    if (!vs_request_enter(r, vs_arg(r, 0))) return VS_ANSWERED;
    if (!r->tag)
        return vs_refuse(r, "unknown_name", "'%s' is a namespace: /api/snowflake/get/%s gives its ids", r->ns->name,
                         r->ns->name);
    if (vs_take_id(r, &number) != VS_ANSWERED) return VS_WAITS;
    (void)vs_put_id(r, number);
    return VS_ANSWERED;
}

/* What a failure looks like there; the status is ours. */
static enum vs_reply_state error_message(struct vs_request *r) {
    char text[512];
    size_t length = r->out->used - r->start - 1; /* without the newline */
    if (length >= sizeof text) length = sizeof text - 1;
    memcpy(text, r->out->at + r->start, length);
    text[length] = '\0';
    r->out->used = r->start;
    r->type = "application/json";
    vs_put(r->out, "{", 1);
    vs_json_text(r->out, "errorMsg", text);
    vs_put(r->out, "}", 1);
    return VS_ANSWERED;
}

/* "1567733700834(2019-09-06 09:35:00.834)", in the server's zone */
static void put_timestamp(struct vs_out *out, int64_t unix_ms) {
    char date[64] = "", text[128];
    int64_t ms = ((unix_ms % 1000) + 1000) % 1000;
    time_t seconds = (time_t)((unix_ms - ms) / 1000);
    struct tm tm;
    if (localtime_r(&seconds, &tm)) strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &tm);
    snprintf(text, sizeof text, "%lld(%s.%03d)", (long long)unix_ms, date, (int)ms);
    vs_json_text(out, "timestamp", text);
}

enum vs_reply_state vs_on_leaf_decode(struct vs_request *r) {
    struct vesta_parts parts;
    char digits[VESTA_FORMAT_MAX];
    uint64_t id;
    if (!vs_request_enter_layout(r, vs_arg(r, 1)) || !vs_read_id(r, 0, &id, &parts))
        return r->held ? VS_WAITS : error_message(r);
    vs_put(r->out, "{", 1);
    put_timestamp(r->out, parts.unix_ms);
    vesta_format(VESTA_DECIMAL, parts.worker, digits);
    vs_json_text(r->out, "workerId", digits);
    vesta_format(VESTA_DECIMAL, parts.seq, digits);
    vs_json_text(r->out, "sequenceId", digits);
    vs_put(r->out, "}", 1);
    r->type = "application/json";
    return VS_ANSWERED;
}
