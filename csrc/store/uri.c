/* uri.c -- parses the URIs of stores (base/uri.h splits them), and finds their secrets.  A URI may contain a password,
 * so no message quotes the part before its host. */
#include "base/error.h"
#include "base/slice.h"
#include "base/uri.h"
#include "os/secret.h"
#include "store/reply.h"

#include <assert.h>
#include <stdio.h>

/* Decodes %XX.  Rejects control characters and NUL. */
static int uri_decode(struct vs_slice slice, char *out, size_t size, const char *what, struct vesta_error *err) {
    switch (vs_slice_decode(slice, out, size)) {
    case VS_DECODED: return VESTA_OK;
    case VS_DECODE_HEX:
        return vs_fail(err, VESTA_EOPTION, "the store's %s has a '%%' without two hex digits after it", what);
    case VS_DECODE_CONTROL: return vs_fail(err, VESTA_EOPTION, "the store's %s has a control character", what);
    default: return vs_fail(err, VESTA_EOPTION, "the store's %s is longer than %zu bytes", what, size - 1);
    }
}

/* ------------------------------------------------------------------ scheme://user:password@hosts/path?key=value */

static int unknown_key(struct vs_slice key, const char *const *keys, struct vesta_error *err) {
    char known[160] = "";
    for (int i = 0; keys[i]; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "", keys[i]);
    assert(strlen(known) + 1 < sizeof known);
    return vs_fail(err, VESTA_EOPTION, "the store's URI has an unknown key '%s': valid keys are %s",
                   VS_QUOTE(key.at, key.length), known);
}

static int take_option(struct vs_slice key, struct vs_slice value, const char *const *keys, struct vs_uri *out,
                       struct vesta_error *err) {
    for (int i = 0; keys[i]; i++) {
        if (!vs_slice_is(key, keys[i])) continue;
        assert(i < VS_URI_KEYS_MAX); /* otherwise increase VS_URI_KEYS_MAX */
        if (out->value[i][0]) return vs_fail(err, VESTA_EOPTION, "the store's URI has the key %s twice", keys[i]);
        if (value.length == 0)
            return vs_fail(err, VESTA_EOPTION, "the key %s in the store's URI has no value", keys[i]);
        return uri_decode(value, out->value[i], sizeof out->value[i], keys[i], err);
    }
    return unknown_key(key, keys, err);
}

static int take_options(struct vs_slice rest, const char *const *keys, struct vs_uri *out, struct vesta_error *err) {
    struct vs_slice key, value;
    bool ends_with_mark = rest.length == 0 || rest.at[rest.length - 1] == '&';
    int rc = VESTA_OK;
    while (rc == VESTA_OK && rest.length > 0)
        rc =
            vs_uri_next_key(&rest, &key, &value)
                ? take_option(key, value, keys, out, err)
                : vs_fail(err, VESTA_EOPTION, "'%s' in the store's URI is not key=value", VS_QUOTE(key.at, key.length));
    if (rc == VESTA_OK && ends_with_mark) rc = vs_fail(err, VESTA_EOPTION, "'' in the store's URI is not key=value");
    return rc;
}

static int uri_split(const char *text, struct vs_uri_parts *parts, struct vesta_error *err) {
    const char *wrong = vs_uri_split((struct vs_slice){text, strlen(text)}, parts);
    return wrong ? vs_fail(err, VESTA_EOPTION, "the store's URI %s", wrong) : VESTA_OK;
}

int vs_uri_parse(const char *text, const char *const *keys, struct vs_uri *out, struct vesta_error *err) {
    struct vs_uri_parts parts;
    memset(out, 0, sizeof *out);
    int rc = uri_split(text, &parts, err);
    if (rc == VESTA_OK && !parts.has_authority)
        rc = vs_fail(err, VESTA_EOPTION, "the store's URI has no '//' after its scheme");
    if (rc == VESTA_OK && parts.has_query) rc = take_options(parts.query, keys, out, err);
    if (rc == VESTA_OK) rc = uri_decode(parts.path, out->path, sizeof out->path, "path", err);
    if (rc == VESTA_OK) rc = uri_decode(parts.user, out->user, sizeof out->user, "user name", err);
    if (rc == VESTA_OK) rc = uri_decode(parts.password, out->password, sizeof out->password, "password", err);
    if (rc == VESTA_OK) rc = uri_decode(parts.hosts, out->hosts, sizeof out->hosts, "host", err);
    if (rc == VESTA_OK && (out->hosts[0] == '\0' || strpbrk(out->hosts, " \"'\\")))
        rc = vs_fail(err, VESTA_EOPTION, "the store's URI has no host, or an invalid one");
    assert(!out->path[0] || out->path[0] == '/'); /* the callers skip it */
    return rc;
}

static bool read_port(const char *text, unsigned *port) {
    unsigned value = 0;
    size_t length = strspn(text, "0123456789");
    if (length == 0 || length > 5 || text[length]) return false;
    for (size_t i = 0; i < length; i++)
        value = value * 10 + (unsigned)(text[i] - '0');
    *port = value;
    return value > 0 && value < 65536;
}

int vs_uri_host(const char *text, char *host, size_t size, unsigned *port, struct vesta_error *err) {
    bool is_v6 = text[0] == '[';
    const char *end = is_v6 ? strchr(text, ']') : text + strcspn(text, ":");
    const char *begin = text + is_v6, *rest = end ? end + is_v6 : NULL;
    bool well = rest && !strchr(text, ',') && end > begin && (size_t)(end - begin) < size &&
                (rest[0] == '\0' || (rest[0] == ':' && read_port(rest + 1, port)));
    if (!well) /* do not quote the text after a colon, because it may be a password */
        return vs_fail(err, VESTA_EOPTION,
                       "'%s' is not a HOST:PORT of a store. Put a user and a password before an @: USER:PASSWORD@HOST",
                       VS_QUOTE(text, is_v6 && end ? (size_t)(end - text) : strcspn(text, ":")));
    snprintf(host, size, "%.*s", (int)(end - begin), begin);
    assert(host[end - begin] == '\0'); /* a truncated name would be another host */
    return VESTA_OK;
}

/* ------------------------------------------------------------------ secrets and paths */

int vs_uri_secret(const struct vs_store_secret *from, char *buf, size_t size, struct vesta_error *err) {
    const struct vs_secret_file file = {"the store's secret_file", from->file, false};
    struct vesta_error why;
    if (!from->given && from->file[0]) /* an empty file is VESTA_EIO, too: its content may be written soon */
        return vs_secret_of_file(&file, buf, size, &why) == VESTA_OK ? VESTA_OK
                                                                     : vs_fail(err, VESTA_EIO, "%s", why.text);
    const char *secret = from->given ? from->given : from->own;
    if (strlen(secret) >= size)
        return vs_fail(err, VESTA_EOPTION, "the store's secret is longer than %zu bytes", size - 1);
    snprintf(buf, size, "%s", secret);
    return VESTA_OK;
}

/* ------------------------------------------------------------------ paths: of stores on this machine
 *
 * scheme:/PATH, scheme:///PATH and scheme://localhost/PATH are the same place.  A generator file contains scheme:/PATH,
 * or scheme://localhost/PATH if the path needs %XX.  Earlier versions did not decode the path, so a '%' in scheme:/PATH
 * may be a literal one. */

#define HERE "//localhost"

static bool is_here(struct vs_slice hosts) {
    return hosts.length == 0 || vs_slice_is_case(hosts, "localhost");
}

/* Rejects a user or a foreign host in the URI of a store on this machine.  Quotes the host only if it cannot contain a
 * secret. */
static int check_place(const struct vs_uri_parts *parts, const char *form, struct vesta_error *err) {
    if (parts->has_user)
        return vs_fail(err, VESTA_EOPTION, "the store's URI has a user, but a store on this machine has none: write %s",
                       form);
    if (is_here(parts->hosts)) return VESTA_OK;
    bool is_shown = !memchr(parts->hosts.at, ':', parts->hosts.length);
    return vs_fail(err, VESTA_EOPTION, "the store's URI has %s%s%s, but this store is on this machine: write %s",
                   is_shown ? "the host '" : "a host with a port",
                   is_shown ? VS_QUOTE(parts->hosts.at, parts->hosts.length) : "", is_shown ? "'" : "", form);
}

/* Rejects a query.  A '?' or '#' that belongs to a name must be escaped, and then each '%' must be escaped, too. */
static int refuse_query(const char *uri, const struct vs_uri_parts *parts, struct vesta_error *err) {
    char path[VS_URI_MAX] = "";
    struct vs_slice rest = parts->query, key = {"", 0}, value;
    (void)vs_uri_next_key(&rest, &key, &value);
    if (parts->has_authority || !vs_uri_put_path(uri + parts->scheme.length + 1, path, sizeof path)) *path = '\0';
    return vs_fail(err, VESTA_EOPTION,
                   "the store's URI has an unknown key '%s': a %.*s: URI has no keys. If the '?' belongs to a name, "
                   "write it as %%3F%s%.*s%s%.200s",
                   VS_QUOTE(key.at, key.length), (int)parts->scheme.length, parts->scheme.at, *path ? ": " : "",
                   *path ? (int)parts->scheme.length : 0, parts->scheme.at, *path ? ":" : "", path);
}

/* Parses a URI of a store on this machine.  `path` may be NULL. */
static int read_place(const char *uri, const char *form, char *path, size_t size, struct vesta_error *err) {
    struct vs_uri_parts parts;
    int rc = uri_split(uri, &parts, err);
    if (rc == VESTA_OK) rc = check_place(&parts, form, err);
    if (rc == VESTA_OK && parts.has_query) rc = refuse_query(uri, &parts, err);
    if (rc != VESTA_OK) return rc;
    if (parts.path.length && *parts.path.at == '/') return uri_decode(parts.path, path, size, "path", err);
    return vs_fail(err, VESTA_EOPTION, "the store '%s' needs an absolute path: write %s", VS_QUOTE(uri, strlen(uri)),
                   form);
}

int vs_uri_path(const struct vs_backend *backend, const char *uri, char path[VS_URI_MAX], struct vesta_error *err) {
    /* vs_store_of has selected the backend by its scheme */
    assert(strncmp(uri, backend->scheme, strlen(backend->scheme)) == 0);
    assert(uri[strlen(backend->scheme)] == ':');
    return read_place(uri, backend->form, path, VS_URI_MAX, err);
}

bool vs_uri_place(const char *uri, char path[VS_URI_MAX]) {
    return read_place(uri, "", path, VS_URI_MAX, NULL) == VESTA_OK;
}

int vs_uri_of_path(const char *scheme, const char *path, char out[VS_URI_MAX], struct vesta_error *err) {
    assert(*path == '/');
    while (path[1] == '/')
        path++; /* two slashes would start a host */
    size_t used = (size_t)snprintf(out, VS_URI_MAX, "%s:%s", scheme, vs_uri_is_plain(path) ? "" : HERE);
    bool fits = vs_uri_is_plain(path) ? (size_t)snprintf(out + used, VS_URI_MAX - used, "%s", path) < VS_URI_MAX - used
                                      : vs_uri_put_path(path, out + used, VS_URI_MAX - used);
    return fits ? VESTA_OK : vs_fail(err, VESTA_EIO, "the store's path is too long: %.100s", path);
}

void vs_uri_of_kept(char uri[VS_URI_MAX]) {
    char kept[VS_URI_MAX], scheme[8];
    const char *rest = strchr(uri, ':');
    bool is_ours = rest && (strncmp(uri, "file:", 5) == 0 || strncmp(uri, "sqlite:", 7) == 0) && rest[1] == '/';
    if (!is_ours || (strncmp(rest + 1, HERE "/", sizeof HERE) == 0 && strchr(rest, '%'))) return;
    snprintf(scheme, sizeof scheme, "%.*s", (int)(rest - uri), uri);
    if (vs_uri_of_path(scheme, rest + 1, kept, NULL) != VESTA_OK) return; /* vs_store_open reports this error */
    /* clear all bytes, because all of them are hashed and written */
    memset(uri, 0, VS_URI_MAX);
    memcpy(uri, kept, strlen(kept));
}
