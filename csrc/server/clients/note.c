/* note.c -- formats a line of the access log.  Contains no file code.
 *
 * A line never contains a secret: it contains the command or route and the namespace or tag, but no other arguments and
 * no query.  The path of an unknown route is logged as received, without its query. */
#include "server/clients/note.h"
#include "log/access.h"
#include "os/thread.h"
#include "server/commands.h"
#include "server/problem.h"
#include "server/rights.h"

#define TARGET_BYTES 256 /* maximum bytes of text from a client */

/* Copies a slice to a C string and replaces NUL bytes by '?'. */
static const char *note_text_of(struct vs_slice slice, char buf[TARGET_BYTES]) {
    size_t length = slice.length < TARGET_BYTES - 1 ? slice.length : TARGET_BYTES - 1;
    for (size_t i = 0; i < length; i++)
        buf[i] = slice.at[i] ? slice.at[i] : '?';
    buf[length] = '\0';
    return buf;
}

static const char *method_of(const struct vs_request *r) {
    if (r->session->protocol == VS_RESP) return r->call ? r->call->name : "(unknown)";
    switch (r->http ? r->http->method : 0) {
    case VS_GET: return "GET";
    case VS_POST: return "POST";
    case VS_HEAD: return "HEAD";
    case VS_OPTIONS: return "OPTIONS";
    case VS_PUT: return "PUT";
    case VS_DELETE: return "DELETE";
    default: return "(other)";
    }
}

/* Does not log the query, because it may contain a secret.  The path of a known route contains no secret. */
static void put_target(struct vs_line *line, const struct vs_request *r) {
    char buf[TARGET_BYTES], path[2 * TARGET_BYTES];
    struct vs_slice first = vs_arg(r, 0);
    bool is_resp = r->session->protocol == VS_RESP, has_key = r->call && r->call->flags & (VS_CALL_KEY | VS_CALL_KEYS);
    const char *name = r->tag ? r->tag->name : r->gen ? r->ns->name : NULL;
    if (is_resp) {
        if (has_key && first.at) vs_line_text(line, "target", note_text_of(first, buf));
    } else if (!r->call) {
        if (r->http && r->http->path.at) vs_line_text(line, "target", note_text_of(r->http->path, buf));
    } else if (r->call->route[strlen(r->call->route) - 1] == '/' && first.at && !(r->call->flags & VS_CALL_HIDES)) {
        size_t length = strlen(r->call->route);
        memcpy(path, r->call->route, length);
        strcpy(path + length, note_text_of(first, buf));
        vs_line_text(line, "target", path);
    } else {
        vs_line_text(line, "target", r->call->route);
    }
    if (!is_resp && name) vs_line_text(line, "name", name);
}

/* Returns the peer's address as text, which is cached for consecutive requests of a connection. */
static const char *address_of(const struct vs_session *s) {
    struct vs_scratch *scratch = s->scratch;
    if (scratch->noted.id != s->id) {
        vs_peer_text(s->peer, scratch->noted.address);
        scratch->noted.id = s->id;
    }
    return scratch->noted.address;
}

void vs_note_request(struct vs_request *r, size_t bytes) {
    struct vs_session *s = r->session;
    const struct vesta_clock *clock = s->server->clock;
    size_t times = 1 + r->also;
    uint64_t ids = vs_get(&s->member.ids), us = (uint64_t)vs_monotonic_us() - s->scratch->began_ns / 1000;
    struct vs_line *line =
        vs_access_begin(s->server->monitor.access, s->scratch->loop, clock->unix_us(clock->self) / 1000);
    vs_line_text(line, "address", address_of(s));
    if (vs_rights_whose(s)) vs_line_text(line, "client", vs_rights_whose(s));
    vs_line_text(line, "proto", vs_protocol_name[s->protocol]);
    vs_line_count(line, "conn", s->id);
    vs_line_text(line, "method", method_of(r));
    put_target(line, r);
    vs_line_text(line, "code", vs_code_name(r->code));
    if (r->status) vs_line_count(line, "status", (uint64_t)r->status);
    vs_line_count(line, "ids", (ids - s->noted_ids) / times);
    vs_line_count(line, "bytes", bytes / times);
    vs_line_count(line, "us", us);
    s->noted_ids = ids;
    vs_access_put(s->server->monitor.access, s->scratch->loop, times);
}
