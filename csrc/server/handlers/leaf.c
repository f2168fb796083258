/* leaf.c -- the routes of Leaf's server, for Leaf clients. */
#include "base/error.h"
#include "server/commands.h"
#include "server/take.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* The key names the namespace, because a vesta server may have several namespaces.  Leaf's own server ignores the
 * key. */
static enum vs_reply_state leaf_take(struct vs_request *r) {
    return vs_take_id(r, vs_put_one);
}

enum vs_reply_state vs_on_leaf_get(struct vs_request *r) {
    struct vs_slice key = vs_arg(r, 0);
    bool is_known = vs_namespace_named(&r->session->server->names, key.at, key.length);
    return vs_request_enter(r, r->session->server->rules.leaf_any_key && !is_known ? VS_NO_NAME : 0, VS_KIND_NAMESPACE,
                            leaf_take);
}

static enum vs_reply_state take_of_tag(struct vs_request *r) {
    if (r->tag) return vs_take_id(r, vs_put_one);
    return vs_refuse(r, "unknown_name", "'%s' is a namespace: /api/snowflake/get/%s issues its ids", r->ns->name,
                     r->ns->name);
}

enum vs_reply_state vs_on_leaf_segment(struct vs_request *r) {
    return vs_request_enter(r, 0, VS_KIND_ANY_TAG, take_of_tag);
}

/* Writes an error body in Leaf's form.  The HTTP status is not Leaf's, but vesta's. */
static void put_error(struct vs_request *r, const char *text) {
    r->type = "application/json";
    vs_put(r->out, "{", 1);
    vs_json_text(r->out, "errorMsg", text);
    vs_put(r->out, "}", 1);
}

/* Writes a time as "1567733700834(2019-09-06 09:35:00.834)", in the server's time zone. */
static void put_timestamp(struct vs_out *out, int64_t unix_ms) {
    char date[64] = "", text[128];
    int64_t ms = ((unix_ms % 1000) + 1000) % 1000;
    time_t seconds = (time_t)((unix_ms - ms) / 1000);
    struct tm tm;
    if (localtime_r(&seconds, &tm)) strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &tm);
    snprintf(text, sizeof text, "%lld(%s.%03d)", (long long)unix_ms, date, (int)ms);
    vs_json_text(out, "timestamp", text);
}

static enum vs_reply_state leaf_decode(struct vs_request *r) {
    struct vesta_parts parts;
    char digits[VESTA_FORMAT_MAX];
    uint64_t id;
    if (!vs_read_id(r, 0, &id, &parts)) return VS_ANSWERED;
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

enum vs_reply_state vs_on_leaf_decode(struct vs_request *r) {
    r->fail = put_error;
    return vs_request_enter(r, 1, VS_KIND_LAYOUT, leaf_decode);
}
