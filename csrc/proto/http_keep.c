/* http_keep.c -- heads that were read before: a client sends the same one time and again, and it is not read a second time.
 * Knows no socket. */
#include "proto/http.h"

#include <assert.h>
#include <string.h>

/* A view of the old bytes, as one of the new. */
static struct vs_slice http_moved(struct vs_slice view, const char *from, const char *to) {
    return view.at ? (struct vs_slice){to + (view.at - from), view.length} : view;
}

static void http_keep(struct vs_head *head, const char *buf, size_t length, const struct vs_http *http) {
    assert(length <= sizeof head->bytes);
    memcpy(head->bytes, buf, length);
    head->length = length;
    head->http = *http;
    head->http.path = http_moved(http->path, buf, head->bytes);
    head->http.query = http_moved(http->query, buf, head->bytes);
    head->http.body = http_moved(http->body, buf, head->bytes);
    head->http.type = http_moved(http->type, buf, head->bytes);
    head->http.authorization = http_moved(http->authorization, buf, head->bytes);
    head->http.host = http_moved(http->host, buf, head->bytes);
    head->http.origin = http_moved(http->origin, buf, head->bytes);
}

/* What a head says depends on its own bytes alone, so where these are equal so is the rest. */
int vs_http_read(struct vs_heads *heads, uint64_t client, const char *buf, size_t len, struct vs_http *out) {
    struct vs_head *head = &heads->at[client % VS_HEADS];
    if (head->length > 0 && len >= head->length && memcmp(buf, head->bytes, head->length) == 0) {
        *out = head->http;
        return (int)head->length;
    }
    int used = vs_http_parse(buf, len, out);
    bool is_whole = used > 0 && out->body.length == 0;
    if (is_whole && (size_t)used <= sizeof head->bytes) http_keep(head, buf, (size_t)used, out);
    return used;
}
