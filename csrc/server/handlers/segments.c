/* segments.c -- the handler of /v1/segments: the state of tags.  Does not issue numbers. */
#include "server/monitor/segments.h"
#include "server/commands.h"
#include "server/rights.h"

static void segments_end(struct vs_request *r) {
    vs_put_tables(r->out, r->session->server);
    vs_put_text(r->out, "}\n");
}

static enum vs_reply_state put_tag(struct vs_request *r) {
    vs_put(r->out, "{", 1);
    vs_json_open(r->out, "segments", '[');
    vs_put_segment(r->out, r->session->server, r->tag, vs_rights_unmasks(r->session));
    vs_put(r->out, "]", 1);
    segments_end(r);
    return VS_ANSWERED;
}

/* Writes as many tags as fit a reply, from the first name that sorts after `after`. */
enum vs_reply_state vs_on_segments(struct vs_request *r) {
    struct vs_slice after = vs_arg(r, 1);
    if (vs_arg(r, 0).at) return vs_request_enter(r, 0, VS_KIND_TAG, put_tag);
    if (!vs_rights_sees_all(r->session))
        return vs_refuse(r, "not_allowed",
                         "client '%s' may not see all tags: name one with tag=", access_grant_name(&r->session->grant));
    const struct vs_tag_set *tags = vs_request_tags(r);
    size_t from = tags && after.at ? vs_tag_after(tags, after.at, after.length) : 0;
    vs_put(r->out, "{", 1);
    vs_put_segments(r->out, r->session->server, tags, from, VS_REPLY_MAX, vs_rights_unmasks(r->session));
    segments_end(r);
    return VS_ANSWERED;
}
