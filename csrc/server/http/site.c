/* site.c -- rejects requests that a browser sends for a web page of a different site.  Any page can make a browser send
 * requests to all servers that the browser's machine can reach.  Contains no route code except for "/".
 *
 * Origin and Sec-Fetch-Site are trusted, because a page cannot change them.  DNS rebinding makes the name of a foreign
 * site resolve to this server, and only the Host header reveals it.  But proxies may change Host, and clients in a
 * cluster may use any name for a server.  So Host is only checked if the listener can only be reached from this
 * machine, or if names are configured. */
#include "base/array.h"
#include "base/error.h"
#include "log/log.h"
#include "server/commands.h"
#include "server/rights.h"

#include <string.h>
#include <strings.h>

/* ------------------------------------------------------------------ names */

/* Returns the host without its port and without a final dot. */
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

/* Returns whether the page's origin is this host: https://HOST, or if the listener does not use TLS, http://HOST.  A
 * proxy may have changed https to http. */
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

/* Returns the element of http.allow_origins that equals `origin`, or NULL. */
static const char *listed(const struct vs_request *r, struct vs_slice origin) {
    const struct vs_server *server = r->session->server;
    for (int i = 0; origin.at && r->session->protocol == VS_HTTP && i < server->rules.origin_count; i++)
        if (vs_slice_is(origin, server->rules.origin[i])) return server->rules.origin[i];
    return NULL;
}

/* Links to the index page are allowed on all sites, because the page changes nothing and a foreign site cannot read
 * it. */
static bool is_link(const struct vs_http *http) {
    return vs_slice_is(http->path, "/") && http->method & VS_READ_METHODS && !http->origin.at;
}

static bool refuse_page(struct vs_request *r, const struct vs_http *http) {
    const char *whose =
        http->origin.at ? VS_QUOTE(http->origin.at, http->origin.length) : "another site or port (Sec-Fetch-Site)";
    vs_log(VS_LOG_WARN, "a request from a web page of another site was rejected", "page", whose, VS_WHO(r->session),
           NULL);
    if (r->session->protocol == VS_ADMIN)
        vs_refuse(r, "cross_site",
                  "a web page of %s sent this request, but the admin routes only accept requests from their own page",
                  whose);
    else
        vs_refuse(
            r, "cross_site",
            "a web page of %s sent this request: list its origin in http.allow_origins (--allow-origins), and use "
            "fetch in the page",
            whose);
    return false;
}

static bool refuse_host(struct vs_request *r, const struct vs_http *http) {
    const char *host = VS_QUOTE(http->host.at, http->host.length);
    vs_log(VS_LOG_WARN, "a request for another host's name was rejected", "host", host, VS_WHO(r->session), NULL);
    vs_refuse(r, "foreign_host",
              "'%s' is not a name of this server: use an address or localhost, or list the name in http.hosts "
              "(--http-hosts)",
              host);
    return false;
}

bool vs_http_admits(struct vs_request *r, const struct vs_http *http) {
    const struct vs_server *server = r->session->server;
    r->json = true; /* rejections are always JSON */
    if (http->is_public_name && server->rules.judges_hosts[r->session->protocol] && !site_is_ours(server, http->host))
        return refuse_host(r, http);
    r->origin = listed(r, http->origin);
    if (r->origin || http->site == VS_SITE_OWN || is_link(http)) return true;
    return (http->site == VS_SITE_UNSAID && (!http->origin.at || is_own(http, r->session->secure))) || refuse_page(r, http);
}
