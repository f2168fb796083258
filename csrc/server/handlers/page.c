/* page.c -- the files of the admin page.  They require no token, because they contain no data of this server. */
#include "server/page/page.h"
#include "base/error.h"
#include "server/commands.h"

#include <string.h>

static const char *type_of(const char *name) {
    const char *end = strrchr(name, '.');
    if (strcmp(end, ".html") == 0) return "text/html; charset=utf-8";
    return strcmp(end, ".css") == 0 ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8";
}

static bool put_file(struct vs_request *r, struct vs_slice name) {
    for (const struct vs_page_file *file = vs_page_files; file->name; file++) {
        if (!vs_slice_is(name, file->name)) continue;
        r->type = type_of(file->name);
        r->is_page = true;
        vs_put(r->out, file->text, file->length);
        return true;
    }
    return false;
}

enum vs_reply_state vs_on_page_file(struct vs_request *r) {
    struct vs_slice name = vs_arg(r, 0);
    if (put_file(r, name)) return VS_ANSWERED;
    return vs_refuse(r, "not_found", "the page has no file %s", VS_QUOTE(name.at, name.length));
}

/* Writes the page if the client prefers HTML, as browsers do.  For curl, the list of routes is written instead. */
bool vs_put_page(struct vs_request *r) {
    const struct vs_accept *accept = &r->http->accept;
    if (r->session->protocol != VS_ADMIN || !accept->given) return false;
    if (vs_accept_q(accept, VS_TYPE_HTML) <= vs_accept_q(accept, VS_TYPE_TEXT)) return false;
    return put_file(r, (struct vs_slice){"index.html", strlen("index.html")});
}
