/* params.c -- what an HTTP request says beside its path: parameters of the query and of a form, and which type of
 * answer it wants.  Knows no socket and no parser. */
#include "base/error.h"
#include "server/commands.h"

#include <string.h>

bool vs_http_is_v1(struct vs_slice path) {
    return path.length >= 4 && memcmp(path.at, "/v1/", 4) == 0;
}

/* ------------------------------------------------------------------ parameters */

/* The place of `name` in "ns,n,format", or -1. */
static int params_place_of(const char *params, struct vs_slice name) {
    for (int place = 0; params && *params; place++) {
        size_t length = strcspn(params, ",");
        if (length == name.length && memcmp(params, name.at, length) == 0) return place;
        params += length + (params[length] == ',');
    }
    return -1;
}

/* How many names "ns,n,format" has; "*" has none. */
static int count_places(const char *params) {
    int count = params && *params != '*';
    for (; params && *params; params++)
        count += *params == ',';
    return count;
}

static bool bind_one(struct vs_request *r, struct vs_slice *args, struct vs_slice name, struct vs_slice value,
                     int first) {
    const char *params = r->call->params;
    if (params && *params == '*') {
        if (r->arg_count + 2 > 2 * VESTA_FIELDS_MAX)
            return vs_refuse(r, "bad_field", "too many parameters (%d)", VESTA_FIELDS_MAX), false;
        args[r->arg_count++] = name;
        args[r->arg_count++] = value;
        return true;
    }
    int place = params_place_of(params, name);
    if (place < 0)
        return vs_refuse(r, "bad_field", "unknown parameter '%s': %s", VS_QUOTE(name.at, name.length), r->call->help),
               false;
    if (args[first + place].at)
        return vs_refuse(r, "bad_field", "parameter '%s' is given twice", VS_QUOTE(name.at, name.length)), false;
    args[first + place] = value;
    return true;
}

/* Takes in "name=value&...".  *room is for decoded texts. */
static bool bind_all(struct vs_request *r, struct vs_slice *args, struct vs_slice rest, char **room, int first) {
    struct vs_slice name, value;
    int rc = 0;
    while (rest.length > 0 && (rc = vs_http_next_pair(&rest, room, &name, &value)) > 0)
        if (!bind_one(r, args, name, value, first)) return false;
    if (rc < 0) vs_refuse(r, "bad_field", "a %% in a parameter is not followed by two hex digits");
    return rc >= 0;
}

bool vs_http_bind(struct vs_request *r, const struct vs_http *http, struct vs_slice rest) {
    struct vs_slice *args = r->session->scratch->args.at;
    char *room = r->session->scratch->text;
    int first = rest.at ? 1 : 0, places = count_places(r->call->params);
    memset(args, 0, (size_t)(first + places) * sizeof *args); /* what is not given is a NULL text */
    r->arg = args;
    r->arg_count = first + places;
    if (first && !vs_http_decode(rest, '+', &room, args))
        return vs_refuse(r, "bad_field", "a %% in the path is not followed by two hex digits"), false;
    if (!bind_all(r, args, http->query, &room, first)) return false;
    if (http->method == VS_POST && http->body.length > 0) {
        if (!vs_http_is_form(http->type))
            return vs_refuse(r, "bad_type", "a body must be application/x-www-form-urlencoded, not '%s'",
                             VS_QUOTE(http->type.at, http->type.length)),
                   false;
        if (!bind_all(r, args, http->body, &room, first)) return false;
    }
    return true;
}

struct vs_slice vs_http_token(const struct vs_request *r) {
    int place = r->call->flags & VS_CALL_TINYID ? params_place_of(r->call->params, (struct vs_slice){"token", 5}) : -1;
    return place < 0 ? (struct vs_slice){NULL, 0} : vs_arg(r, place);
}

/* ------------------------------------------------------------------ types */

/* Vesta (Java)'s and Leaf's routes answer in their one type whatever is asked for, as Vesta (Java) and Leaf do; so do those that
 * machines look at.  Where there is a choice, `format` outweighs Accept. */
bool vs_http_negotiate(struct vs_request *r, const struct vs_http *http) {
    r->json = r->call->json;
    if (!vs_http_is_v1(http->path)) return true;
    int json = vs_accept_q(&http->accept, VS_TYPE_JSON), text = vs_accept_q(&http->accept, VS_TYPE_TEXT);
    int format = params_place_of(r->call->params, (struct vs_slice){"format", 6});
    bool may_be_text = format >= 0;
    if (may_be_text && vs_arg(r, format).at) return true;
    r->json = !may_be_text || json >= text;
    if (json > 0 || (may_be_text && text > 0)) return true;
    vs_refuse(r, "not_acceptable", "%s answers in application/json%s", r->call->route,
              may_be_text ? " or text/plain" : "");
    return false;
}
