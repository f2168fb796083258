/* site.c -- whose page asks: a browser does what any page tells it, and reaches what its machine does.
 * Knows no route but "/".
 *
 * What nobody but a browser says (Origin, Sec-Fetch-Site) is believed: a page can change neither.  That another site's
 * name was made to lead here is seen from Host alone, which proxies set as they like and services in a cluster have as
 * they are called; so it is judged where only this machine can reach the listener, or where names are written down. */
#include "base/array.h"
#include "base/error.h"
#include "log/log.h"
#include "server/commands.h"
#include "server/rights.h"

#include <string.h>
#include <strings.h>

/* ------------------------------------------------------------------ names */

/* Without its port, and the dot that a name may end in. */
static struct vs_slice site_name_of(struct vs_slice host) {
    const char *port = memchr(host.at, ':', host.length);
    size_t length = port ? (size_t)(port - host.at) : host.length;
    return (struct vs_slice){host.at, length > 0 && host.at[length - 1] == '.' ? length - 1 : length};
}

static bool site_is_ours(const struct vs_server *server, struct vs_slice host) {
    struct vs_slice name = site_name_of(host);
    for (int i = 0; i < server->rules.host_count; i++)
        if (strcmp(server->rules.host[i], "*") == 0 || vs_slice_is_case(name, server->rules.host[i])) return true;
    return false;
}

/* ------------------------------------------------------------------ pages */

/* https://HOST is a page of that host, and http://HOST where TLS is not spoken here: which of the two, a proxy may have
 * changed then. */
static bool is_own(const struct vs_http *http, bool is_secure) {
    static const char *const schemes[] = {"https://", "http://"};
    for (size_t i = 0; i < VS_COUNT(schemes) - is_secure; i++) {
        size_t length = strlen(schemes[i]);
        if (http->origin.length != length + http->host.length || http->host.length == 0) continue;
        if (strncasecmp(http->origin.at, schemes[i], length) != 0) continue;
        return strncasecmp(http->origin.at + length, http->host.at, http->host.length) == 0;
    }
    return false;
}

/* A listed origin, as it is written in the list; NULL. */
static const char *listed(const struct vs_request *r, struct vs_slice origin) {
    const struct vs_server *server = r->session->server;
    for (int i = 0; origin.at && r->session->protocol == VS_HTTP && i < server->rules.origin_count; i++)
        if (vs_slice_is(origin, server->rules.origin[i])) return server->rules.origin[i];
    return NULL;
}

/* A link may lead to the page or the list, wherever it stands: it costs nothing, and another site cannot read it. */
static bool is_link(const struct vs_http *http) {
    return vs_slice_is(http->path, "/") && http->method & VS_READ_METHODS && !http->origin.at;
}

static bool refuse_page(struct vs_request *r, const struct vs_http *http) {
    const char *whose =
        http->origin.at ? VS_QUOTE(http->origin.at, http->origin.length) : "another site or port (Sec-Fetch-Site)";
    vs_log(VS_LOG_WARN, "a page of another site had a browser ask, and was refused", "page", whose, VS_WHO(r->session),
           NULL);
    if (r->session->protocol == VS_ADMIN)
        vs_refuse(r, "cross_site",
                  "a page of %s had a browser ask this: the admin's routes answer their own page alone", whose);
    else
        vs_refuse(
            r, "cross_site",
            "a page of %s had a browser ask this: list its origin in http.allow_origins (--allow-origins), and have "
            "it ask by fetch",
            whose);
    return false;
}

static bool refuse_host(struct vs_request *r, const struct vs_http *http) {
    const char *host = VS_QUOTE(http->host.at, http->host.length);
    vs_log(VS_LOG_WARN, "a request for another host's name was refused", "host", host, VS_WHO(r->session), NULL);
    vs_refuse(r, "foreign_host",
              "'%s' is no name of this server: call it by an address or as localhost, or list the name in http.hosts "
              "(--http-hosts)",
              host);
    return false;
}

bool vs_http_admits(struct vs_request *r, const struct vs_http *http) {
    const struct vs_server *server = r->session->server;
    r->json = true; /* of a refusal: whatever the path, its answer is a problem */
    if (http->is_public_name && server->rules.judges_hosts[r->session->protocol] && !site_is_ours(server, http->host))
        return refuse_host(r, http);
    r->origin = listed(r, http->origin);
    if (r->origin || http->site == VS_SITE_OWN || is_link(http)) return true;
    return (http->site == VS_SITE_UNSAID && (!http->origin.at || is_own(http, r->session->secure))) || refuse_page(r, http);
}
